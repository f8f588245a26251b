//! Off-policy evaluation, audits and learning over egret's log.

mod best_of;
mod bootstrap;
mod capped_target;
mod columns;
mod confidence_sequence;
mod diagnostics;
mod empirical_bernstein;
mod estimate;
mod estimator;
mod evaluation;
mod greedy_policy;
mod kernel;
mod lanes;
mod lower_mean;
mod moments;
mod normal_interval;
mod pareto_tail;
mod slope;
mod target;
mod uniform_target;
mod verdict;

pub use best_of::BestOf;
pub use capped_target::{CappedTarget, with_settings};
pub use columns::{Columns, ColumnsError};
pub use confidence_sequence::{PathPoint, running_intersection};
pub use diagnostics::Diagnostics;
pub use estimate::{Confidence, Estimate, IntervalKind, UnknownInterval};
pub use estimator::{Estimator, Hyperparameter, UnknownEstimator};
pub use evaluation::{Evaluation, EvaluationError, Plan, PlanError, Report, Skipped};
pub use greedy_policy::GreedyPolicy;
pub use kernel::{Kernel, KernelShape, KernelTarget, PointPolicy};
pub use lower_mean::LowerMean;
pub use slope::{Candidate, geometric_bandwidths, slope};
pub use target::{Chance, Target, TargetError, TargetWork, expected_loss};
pub use uniform_target::UniformTarget;
pub use verdict::{Verdict, VerdictKind};
