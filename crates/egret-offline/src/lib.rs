//! Off-policy evaluation, audits and learning over egret's log.

mod bets;
mod bootstrap;
mod chunks;
mod columns;
mod comparison;
mod confidence_sequence;
mod diagnostics;
mod empirical_bernstein;
mod estimate;
mod estimator;
mod evaluation;
mod lanes;
mod layout;
mod lower_mean;
mod moments;
mod normal_interval;
mod pareto_tail;
mod plan;
mod ratio_difference;
mod report;
mod totals;
mod verdict;

pub use columns::{Columns, ColumnsError};
pub use comparison::{Comparison, ComparisonReport, Difference, PairedColumns};
pub use confidence_sequence::{PathPoint, running_intersection};
pub use diagnostics::Diagnostics;
pub use estimate::{Confidence, Estimate, IntervalKind, UnknownInterval};
pub use estimator::{Estimator, Hyperparameter, UnknownEstimator};
pub use evaluation::{Evaluation, EvaluationError};
pub use lower_mean::LowerMean;
pub use plan::{Plan, PlanError};
pub use report::{Report, Skipped};
pub use verdict::{Verdict, VerdictKind};
