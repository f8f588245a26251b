//! The public interface, tested from outside.

mod asymptotic;
mod audit;
mod coverage;
mod determinism;
mod distribution;
mod formulas;
mod learning;
mod logging_density;
mod logs;
mod policies;
mod reliability;
mod selection;
mod spaces;
mod truncated;
mod verdicts;
