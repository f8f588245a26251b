//! The public interface, tested from outside.

mod audit;
mod targets;
