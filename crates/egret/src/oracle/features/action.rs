use std::ops::Range;

use crate::event::{Action, Vector, Vectors};
use crate::numeric::OutOfRange;
use crate::oracle::ItemTree;
use crate::oracle::features::limits::{check_count, readable};

/// φ(a), the features of an action, as columns of numbers.
///
/// | action   | features       | how many               |
/// |----------|----------------|------------------------|
/// | `f64`    | [`ScalarFeatures`]     | 1                      |
/// | [`Vector`] | [`VectorFeatures`] | its length           |
/// | [`Item`](crate::Item) | [`Embeddings`](crate::Embeddings) | the width of the table |
/// | a pair   | a pair of these | the sum               |
pub trait ActionFeatures<A: Action>: Send + Sync {
    /// How many features an action has.
    fn dim(&self) -> usize;

    /// Writes φ(a) for the actions in `range`, feature after feature: `out[j * range.len() + i]` is
    /// the j-th feature of the i-th of them. A feature that cannot be read, or is beyond ±10³⁰, is NaN.
    fn fill(&self, actions: &A::Batch, range: Range<usize>, out: &mut [f64]);

    /// Whether the features are knobs that can be moved: those of items are given.
    fn are_knobs(&self) -> bool {
        false
    }

    /// A tree over items by these features, if the actions are items.
    fn item_tree(&self) -> Option<&ItemTree> {
        None
    }
}

/// A number as its own feature.
///
/// ```
/// use egret::{ActionFeatures, ScalarFeatures};
///
/// let mut column = [0.0; 2];
/// ScalarFeatures.fill(&vec![0.25, 0.5, 0.75], 1..3, &mut column);
/// assert_eq!(column, [0.5, 0.75]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ScalarFeatures;

impl ActionFeatures<f64> for ScalarFeatures {
    fn dim(&self) -> usize {
        1
    }

    fn fill(&self, actions: &Vec<f64>, range: Range<usize>, out: &mut [f64]) {
        for (out, &action) in out.iter_mut().zip(&actions[range]) {
            *out = readable(action);
        }
    }
}

/// The coordinates of a vector.
///
/// ```
/// use egret::{ActionFeatures, Batch, VectorFeatures, Vector, Vectors};
///
/// let mut batch = Vectors::default();
/// batch.push(&Vector::new(&[1.0, 2.0])?);
/// batch.push(&Vector::new(&[3.0, 4.0])?);
/// let mut columns = [0.0; 4];
/// VectorFeatures::new(2)?.fill(&batch, 0..2, &mut columns);
/// assert_eq!(columns, [1.0, 3.0, 2.0, 4.0]);
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct VectorFeatures {
    dim: usize,
}

impl VectorFeatures {
    /// For vectors of this length; other vectors get NaN.
    pub fn new(dim: usize) -> Result<Self, OutOfRange> {
        check_count("coordinates", dim)?;
        Ok(Self { dim })
    }
}

impl ActionFeatures<Vector> for VectorFeatures {
    fn dim(&self) -> usize {
        self.dim
    }

    fn are_knobs(&self) -> bool {
        true
    }

    fn fill(&self, actions: &Vectors, range: Range<usize>, out: &mut [f64]) {
        if actions.dim() != self.dim {
            out.fill(f64::NAN);
            return;
        }
        let n = range.len();
        let rows = &actions.rows()[range.start * self.dim..range.end * self.dim];
        for (i, row) in rows.chunks_exact(self.dim).enumerate() {
            for (j, &value) in row.iter().enumerate() {
                out[j * n + i] = readable(value);
            }
        }
    }
}

/// Columns of the first part, then of the second.
impl<A: Action, B: Action, E: ActionFeatures<A>, F: ActionFeatures<B>> ActionFeatures<(A, B)>
    for (E, F)
{
    fn dim(&self) -> usize {
        self.0.dim() + self.1.dim()
    }

    fn fill(&self, actions: &(A::Batch, B::Batch), range: Range<usize>, out: &mut [f64]) {
        let (first, second) = out.split_at_mut(self.0.dim() * range.len());
        self.0.fill(&actions.0, range.clone(), first);
        self.1.fill(&actions.1, range, second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Batch, Item};
    use crate::oracle::Embeddings;

    #[test]
    fn pairs_lay_their_columns_side_by_side() {
        let features = (
            ScalarFeatures,
            Embeddings::new(2, vec![10.0, 11.0, 20.0, 21.0]).expect("finite"),
        );
        let actions = (vec![0.5, 0.25, 0.125], vec![Item(0), Item(1), Item(1)]);
        let mut columns = [0.0; 6];
        features.fill(&actions, 1..3, &mut columns);
        assert_eq!(columns, [0.25, 0.125, 20.0, 20.0, 21.0, 21.0]);
        assert_eq!(features.dim(), 3);
    }

    #[test]
    fn what_cannot_be_read_is_nan() {
        let mut out = [0.0; 2];
        ScalarFeatures.fill(&vec![f64::INFINITY, 1e31], 0..2, &mut out);
        assert!(out.iter().all(|value| value.is_nan()));
        let mut batch = Vectors::default();
        batch.push(&Vector::new(&[1.0, 2.0, 3.0]).expect("finite"));
        VectorFeatures::new(2)
            .expect("positive")
            .fill(&batch, 0..1, &mut out);
        assert!(out.iter().all(|value| value.is_nan()));
    }

    #[test]
    fn vectors_without_coordinates_are_refused() {
        assert!(VectorFeatures::new(0).is_err());
    }
}
