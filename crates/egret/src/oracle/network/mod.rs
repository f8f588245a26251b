//! Oracles on a neural network of the context, and what they share.
//!
//! A `ContextNetwork` maps x through two hidden layers to a few outputs y(x). What y means is the oracle's choice:
//!
//! | oracle                                    | y(x)                                           |
//! |-------------------------------------------|------------------------------------------------|
//! | [`CurveNetwork`](crate::CurveNetwork)     | coefficients of a curve over actions           |
//! | [`LatentOutcome`](crate::LatentOutcome)   | probabilities of the hidden best action        |
//!
//! Features are scaled to mean 0 and deviation 1 as they arrive (`feature_scale`), and each step learns from the new
//! event and seven past ones (`replay_memory`). Contexts of more than 512 features go through a `wide_layer`, whose cost
//! grows with the features that are not 0. A network whose contexts get more features keeps what it has learned and reads
//! the new ones through `later_columns`.

pub(crate) mod context;
pub(crate) mod curves;
pub(crate) mod feature_scale;
pub(crate) mod later_columns;
pub(crate) mod outcomes;
pub(crate) mod replay_memory;
pub(crate) mod wide_layer;
