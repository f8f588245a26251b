//! The public interface, tested from outside.

mod catalogues;
mod constructors;
mod curves;
mod dec_bound;
mod determinism;
mod exploration_budget;
mod extremes;
mod growth;
mod hostile_input;
mod largest_inverse_density;
mod limits;
mod mixed;
mod model;
mod named_features;
mod named_items;
mod normalizers;
mod own_normalizer;
mod regret;
mod sampler;
mod scales;
mod weights;
mod wide_contexts;
mod worlds;
mod zoom;
