//! The public interface, tested from outside.

mod coverage;
mod determinism;
mod formulas;
mod logs;
mod verdicts;
