//! The public interface, tested from outside.

mod constructors;
mod curves;
mod dec_bound;
mod determinism;
mod extremes;
mod normalizers;
mod regret;
mod sampler;
mod weights;
mod worlds;
