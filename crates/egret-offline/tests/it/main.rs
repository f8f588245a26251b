//! The public interface, tested from outside.

mod audit;
mod coverage;
mod determinism;
mod formulas;
mod logs;
mod targets;
mod verdicts;
