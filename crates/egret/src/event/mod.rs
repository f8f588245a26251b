pub(crate) mod action;
pub(crate) mod context;
pub(crate) mod loss;
pub(crate) mod propensity;

pub use action::{Action, Batch, Item, Vector, Vectors};
pub use context::{Context, ContextError};
pub use loss::{Loss, PseudoLoss};
pub use propensity::{Density, Propensity, Weight};
