//! Off-policy evaluation, audits and learning over egret's log.

mod best_of;
mod bootstrap;
mod capped_target;
mod checkpoint;
mod columns;
mod confidence_sequence;
mod diagnostics;
mod early_stopping;
mod empirical_bernstein;
mod estimate;
mod estimator;
mod evaluation;
mod greedy_policy;
mod kernel;
mod lanes;
mod learning_method;
mod lower_mean;
mod moments;
mod normal_interval;
mod off_policy_learning;
mod pareto_tail;
mod pseudo_loss;
mod served_policy;
mod slope;
mod split;
mod target;
mod uniform_target;
mod verdict;

pub use best_of::BestOf;
pub use capped_target::{CappedTarget, with_settings};
pub use checkpoint::Checkpoint;
pub use columns::{Columns, ColumnsError};
pub use confidence_sequence::{PathPoint, running_intersection};
pub use diagnostics::Diagnostics;
pub use early_stopping::EarlyStopping;
pub use estimate::{Confidence, Estimate, IntervalKind, UnknownInterval};
pub use estimator::{Estimator, Hyperparameter, UnknownEstimator};
pub use evaluation::{Evaluation, EvaluationError, Plan, PlanError, Report, Skipped};
pub use greedy_policy::GreedyPolicy;
pub use kernel::{Kernel, KernelShape, KernelTarget, PointPolicy};
pub use learning_method::{Atoms, LoggedExample, Method};
pub use lower_mean::LowerMean;
pub use off_policy_learning::{
    Criterion, Epoch, LearningError, Lesson, Trained, Training, TrainingSettings, Validation,
};
pub use served_policy::{ServedPolicy, UnknownPolicy};
pub use slope::{Candidate, geometric_bandwidths, slope};
pub use split::{Order, Parts, Split};
pub use target::{Chance, Target, TargetError, TargetWork, expected_loss};
pub use uniform_target::UniformTarget;
pub use verdict::{Verdict, VerdictKind};
