//! What oracles see of actions: lists of numbers.
//!
//! [`ActionFeatures`] gives φ(a): the number itself, the coordinates of a vector, the embedding of an item.
//! [`JointFeatures`] gives φ(x, a), what linear models need; [`Bilinear`] is the usual one. `basis` gives ψ(a), the
//! cosines that a [`CurveNetwork`](crate::CurveNetwork) adds up.
//!
//! Features are written in columns, one feature for all actions of a block, so that loops over actions vectorize.

pub(crate) mod action;
pub(crate) mod basis;
pub(crate) mod bilinear;
pub(crate) mod blocks;
pub(crate) mod embeddings;
pub(crate) mod features_from;
pub(crate) mod indicators;
pub(crate) mod item_tree;
pub(crate) mod joint;
pub(crate) mod knob_features;
pub(crate) mod limits;
pub(crate) mod set_features;

pub use action::{ActionFeatures, ScalarFeatures, VectorFeatures};
pub use basis::Scaling;
pub use bilinear::Bilinear;
pub use embeddings::Embeddings;
pub use features_from::{FeaturesFrom, features_from};
pub use item_tree::ItemTree;
pub use joint::JointFeatures;
