//! Off-policy evaluation, audits and learning over egret's log.

mod best_of;
mod capped_target;
mod greedy_policy;
mod kernel;
mod slope;
mod target;
mod uniform_target;

pub use best_of::BestOf;
pub use capped_target::{CappedTarget, with_settings};
pub use greedy_policy::GreedyPolicy;
pub use kernel::{Kernel, KernelShape, KernelTarget, PointPolicy};
pub use slope::{Candidate, geometric_bandwidths, slope};
pub use target::{Chance, Target, TargetError, TargetWork, expected_loss};
pub use uniform_target::UniformTarget;
