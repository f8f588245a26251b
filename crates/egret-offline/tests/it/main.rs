//! The public interface, tested from outside.

mod audit;
mod learning;
mod selection;
mod targets;
