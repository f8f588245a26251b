//! The parts of one event: context, action, loss, propensity.
//!
//! An event is (x, a, ℓ, p). The [`Context`] x is known before the decision. The action a is a number, a [`Vector`] or an
//! [`Item`]; the trait [`Action`] lets you add your own type. The [`Loss`] ℓ ∈ [0, 1] arrives later, smaller is better.
//! The [`Propensity`] p says how probable the action was: a [`Density`] dP/dμ against the reference measure, or a point
//! mass, which no importance weight can use.
//!
//! Each type checks its numbers when it is made, so NaN and infinities never get past this folder.

pub(crate) mod action;
pub(crate) mod context;
pub(crate) mod loss;
pub(crate) mod propensity;

pub use action::{Action, Batch, Item, Vector, Vectors};
pub use context::{Context, ContextError};
pub use loss::{Loss, PseudoLoss};
pub use propensity::{Density, Propensity, Weight};
