//! The public interface, tested from outside.

mod curves;
mod normalizers;
mod sampler;
mod weights;
mod worlds;
