use std::ops::Range;

use crate::event::{Action, Context, ContextError};
use crate::numeric::OutOfRange;
use crate::oracle::features::limits::{check_count, check_size};
use crate::oracle::{ActionFeatures, ItemTree, JointFeatures};

/// φ(x, a) = (1, x) ⊗ (1, φ(a)), or (1, x) ⊗ (1, φ(a), φ(a)²) with squares.
///
/// That is 1, x, φ(a) and every product of a feature of x with one of φ(a). With squares each context has its own
/// parabola in each feature of the action, so its best action may be anywhere.
///
/// ```
/// use egret::{Bilinear, Context, JointFeatures, ScalarFeatures};
///
/// let features = Bilinear::new(2, ScalarFeatures)?.with_squares();
/// let x = Context::dense(vec![5.0, 7.0])?;
/// let (mut psi, mut phi) = ([0.0; 3], [0.0; 9]);
/// features.fill(&x, &vec![3.0], 0..1, &mut psi);
/// features.expand(&x, &psi, &mut phi);
/// assert_eq!(phi, [1.0, 3.0, 9.0, 5.0, 15.0, 45.0, 7.0, 21.0, 63.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Bilinear<E> {
    context_dim: usize,
    /// How many of them it reads: all, unless contexts grew too long for it.
    reads: usize,
    actions: E,
    squares: bool,
}

impl<E> Bilinear<E> {
    /// For contexts of `context_dim` features, which may be 0, and actions with these features.
    pub fn new<A: Action>(context_dim: usize, actions: E) -> Result<Self, OutOfRange>
    where
        E: ActionFeatures<A>,
    {
        let fits = context_dim <= 1 << 24;
        OutOfRange::unless(fits, "context features", context_dim as f64, "[0, 2^24]")?;
        check_count("action features", actions.dim())?;
        Ok(Self {
            context_dim,
            reads: context_dim,
            actions,
            squares: false,
        })
    }

    /// Adds the square of each feature of the action, and its products with x.
    pub fn with_squares(mut self) -> Self {
        self.squares = true;
        self
    }
}

impl<A: Action, E: ActionFeatures<A>> JointFeatures<Context, A> for Bilinear<E> {
    fn dim(&self) -> usize {
        (1 + self.reads) * JointFeatures::<Context, A>::action_dim(self)
    }

    fn action_dim(&self) -> usize {
        let dim = self.actions.dim();
        1 + if self.squares { 2 * dim } else { dim }
    }

    fn check_context(&self, x: &Context) -> Result<(), ContextError> {
        x.expect_dim(self.context_dim)?;
        check_size(x)
    }

    fn fill(&self, _x: &Context, actions: &A::Batch, range: Range<usize>, out: &mut [f64]) {
        let n = range.len();
        let (ones, rest) = out.split_at_mut(n);
        let (columns, squares) = rest.split_at_mut(n * self.actions.dim());
        ones.fill(1.0);
        self.actions.fill(actions, range, columns);
        for (square, value) in squares.iter_mut().zip(columns) {
            *square = *value * *value;
        }
    }

    fn grow(&mut self, dim: usize, most: usize) -> Option<bool> {
        self.context_dim = dim;
        let length = (1 + dim).saturating_mul(JointFeatures::<Context, A>::action_dim(self));
        let fits = length <= most;
        if fits {
            self.reads = dim;
        }
        Some(fits)
    }

    fn item_tree(&self) -> Option<&ItemTree> {
        self.actions.item_tree()
    }

    fn collapse(&self, x: &Context, w: &[f64], out: &mut [f64]) {
        let m = out.len();
        out.copy_from_slice(&w[..m]);
        x.for_each(|feature, value| {
            if self.reads <= feature {
                return;
            }
            let row = &w[(feature + 1) * m..][..m];
            for (out, w) in out.iter_mut().zip(row) {
                *out += value * w;
            }
        });
    }

    fn expand(&self, x: &Context, psi: &[f64], out: &mut [f64]) {
        let m = psi.len();
        out.fill(0.0);
        out[..m].copy_from_slice(psi);
        x.for_each(|feature, value| {
            if self.reads <= feature {
                return;
            }
            for (out, psi) in out[(feature + 1) * m..][..m].iter_mut().zip(psi) {
                *out = value * psi;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::{Batch, Vector, Vectors};
    use crate::oracle::{ScalarFeatures, VectorFeatures};

    fn dense(values: &[f64]) -> Context {
        Context::dense(values.to_vec()).expect("finite")
    }

    #[test]
    fn contexts_that_cannot_be_read_are_refused() {
        let features = Bilinear::new(1, ScalarFeatures).expect("one feature");
        let check = |x: &Context| JointFeatures::<Context, f64>::check_context(&features, x);
        assert!(check(&dense(&[1e30])).is_ok());
        assert!(check(&dense(&[1e31])).is_err());
        assert_eq!(
            check(&dense(&[1.0, 2.0])),
            Err(ContextError::Dimension {
                found: 2,
                expected: 1
            })
        );
    }

    #[test]
    fn a_context_may_have_no_features_but_not_too_many() {
        assert!(Bilinear::new(0, ScalarFeatures).is_ok());
        assert!(Bilinear::new(usize::MAX, ScalarFeatures).is_err());
    }

    proptest! {
        #[test]
        fn collapsing_weights_is_expanding_features(
            x in prop::collection::vec(-2.0..2.0, 3),
            a in prop::collection::vec(-2.0..2.0, 2),
            w in prop::collection::vec(-2.0..2.0, 20),
        ) {
            let coordinates = VectorFeatures::new(2).expect("positive");
            let features = Bilinear::new(3, coordinates).expect("two features").with_squares();
            let x = dense(&x);
            let mut batch = Vectors::default();
            batch.push(&Vector::new(&a).expect("finite"));
            let (mut psi, mut phi, mut collapsed) = ([0.0; 5], [0.0; 20], [0.0; 5]);
            features.fill(&x, &batch, 0..1, &mut psi);
            features.expand(&x, &psi, &mut phi);
            features.collapse(&x, &w, &mut collapsed);
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            prop_assert!((dot(&phi, &w) - dot(&psi, &collapsed)).abs() < 1e-12);
        }
    }
}
