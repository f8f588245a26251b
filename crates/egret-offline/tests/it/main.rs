//! The public interface, tested from outside.

mod targets;
