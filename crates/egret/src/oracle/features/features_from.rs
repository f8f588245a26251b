use std::marker::PhantomData;
use std::ops::Range;

use smallvec::SmallVec;

use crate::event::{Action, Batch, ContextError};
use crate::numeric::OutOfRange;
use crate::oracle::JointFeatures;
use crate::oracle::features::limits::{check_count, readable};

/// Turns a function into features: `write(x, action, out)` fills `out`, `dim` numbers that arrive as zeros.
///
/// Contexts are not checked, so the function must accept any. Numbers beyond ±10³⁰ become NaN. Up to 64 features need no
/// heap.
///
/// ```
/// use egret::{JointFeatures, features_from};
///
/// let features = features_from(2, |x: &f64, a: &f64, out: &mut [f64]| {
///     out[0] = 1.0;
///     out[1] = (a - x).abs();
/// })?;
/// let mut columns = [0.0; 4];
/// features.fill(&0.5, &vec![0.25, 1.0], 0..2, &mut columns);
/// assert_eq!(columns, [1.0, 1.0, 0.25, 0.5]);
/// # Ok::<(), egret::OutOfRange>(())
/// ```
pub fn features_from<X: ?Sized, A: Action, F>(
    dim: usize,
    write: F,
) -> Result<FeaturesFrom<X, A, F>, OutOfRange>
where
    F: Fn(&X, &A, &mut [f64]) + Send + Sync,
{
    check_count("features", dim)?;
    Ok(FeaturesFrom {
        dim,
        write,
        of: PhantomData,
    })
}

/// Made by [`features_from`].
pub struct FeaturesFrom<X: ?Sized, A, F> {
    dim: usize,
    write: F,
    of: PhantomData<fn(&X, &A)>,
}

impl<X: ?Sized, A: Action, F> JointFeatures<X, A> for FeaturesFrom<X, A, F>
where
    F: Fn(&X, &A, &mut [f64]) + Send + Sync,
{
    fn dim(&self) -> usize {
        self.dim
    }

    fn check_context(&self, _x: &X) -> Result<(), ContextError> {
        Ok(())
    }

    fn fill(&self, x: &X, actions: &A::Batch, range: Range<usize>, out: &mut [f64]) {
        let n = range.len();
        let mut row: SmallVec<[f64; 64]> = SmallVec::from_elem(0.0, self.dim);
        for (i, index) in range.enumerate() {
            row.fill(0.0);
            (self.write)(x, &actions.get(index), &mut row);
            for (j, &value) in row.iter().enumerate() {
                out[j * n + i] = readable(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_features_are_refused() {
        assert!(features_from(0, |_: &f64, _: &f64, _: &mut [f64]| ()).is_err());
    }
}
