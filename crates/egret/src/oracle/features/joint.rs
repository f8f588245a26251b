use std::ops::Range;

use crate::event::{Action, ContextError};
use crate::oracle::ItemTree;

/// φ(x, a), what a linear model sees of a context and an action.
///
/// φ(x, a) = Uₓ ψ(x, a), where Uₓ is a matrix that does not depend on the action and ψ is short.
/// For a weight vector θ then θ·φ(x, a) = (Uₓᵀθ)·ψ(x, a): a model computes Uₓᵀθ once for each context, and each action
/// costs only the length of ψ.
///
/// By default Uₓ is the identity and φ = ψ. [`Bilinear`](crate::Bilinear) is the usual choice,
/// [`features_from`](crate::features_from()) turns any function into features.
///
/// Numbers of contexts and actions must be within ±10³⁰, so that squares of their products are finite. Contexts beyond
/// that are refused; an action beyond it, or of the wrong form, gets NaN.
pub trait JointFeatures<X: ?Sized, A: Action>: Send + Sync {
    /// The length of φ.
    fn dim(&self) -> usize;

    /// The length of ψ.
    fn action_dim(&self) -> usize {
        self.dim()
    }

    /// An error if the context cannot be used.
    fn check_context(&self, x: &X) -> Result<(), ContextError>;

    /// Writes ψ(x, a) for the actions in `range`, feature after feature: `out[j * range.len() + i]`
    /// is the j-th feature of the i-th of them.
    fn fill(&self, x: &X, actions: &A::Batch, range: Range<usize>, out: &mut [f64]);

    /// Takes contexts of `dim` features from now on, the new ones last. φ gets features for them at its end if it has at
    /// most `most` then, and leaves them unread otherwise; returns whether it got them, or none if it cannot take longer
    /// contexts. Where they are 0, φ is as before, with zeros at its end.
    fn grow(&mut self, _dim: usize, _most: usize) -> Option<bool> {
        None
    }

    /// A tree over items by what ψ sees of them, if the actions are items.
    fn item_tree(&self) -> Option<&ItemTree> {
        None
    }

    /// Writes Uₓᵀ w.
    fn collapse(&self, _x: &X, w: &[f64], out: &mut [f64]) {
        out.copy_from_slice(w);
    }

    /// Writes Uₓ ψ.
    fn expand(&self, _x: &X, psi: &[f64], out: &mut [f64]) {
        out.copy_from_slice(psi);
    }
}
