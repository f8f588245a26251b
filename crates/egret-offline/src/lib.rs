//! Off-policy evaluation, audits and learning over egret's log.

mod bootstrap;
mod columns;
mod confidence_sequence;
mod diagnostics;
mod empirical_bernstein;
mod estimate;
mod estimator;
mod evaluation;
mod lanes;
mod lower_mean;
mod moments;
mod normal_interval;
mod pareto_tail;
mod verdict;

pub use columns::{Columns, ColumnsError};
pub use confidence_sequence::{PathPoint, running_intersection};
pub use diagnostics::Diagnostics;
pub use estimate::{Confidence, Estimate, IntervalKind, UnknownInterval};
pub use estimator::{Estimator, Hyperparameter, UnknownEstimator};
pub use evaluation::{Evaluation, EvaluationError, Plan, PlanError, Report, Skipped};
pub use lower_mean::LowerMean;
pub use verdict::{Verdict, VerdictKind};
