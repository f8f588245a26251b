//! Off-policy evaluation, audits and learning over egret's log.

mod audit;
mod audit_bins;
mod audit_report;
mod best_of;
mod capped_target;
mod evidence_history;
mod greedy_policy;
mod kernel;
mod replayer;
mod sequence_check;
mod slope;
mod target;
mod test_martingale;
mod uniform_target;

pub use audit::{Audited, Auditor};
pub use audit_bins::Placed;
pub use audit_report::{AuditReport, Consistency, Finding, Proposals, ReplayCounts, TestRow};
pub use best_of::BestOf;
pub use capped_target::{CappedTarget, with_settings};
pub use evidence_history::EvidenceHistory;
pub use greedy_policy::GreedyPolicy;
pub use kernel::{Kernel, KernelShape, KernelTarget, PointPolicy};
pub use replayer::{Replayer, Version};
pub use sequence_check::SequenceCheck;
pub use slope::{Candidate, geometric_bandwidths, slope};
pub use target::{Chance, Target, TargetError, TargetWork, expected_loss};
pub use test_martingale::{MeanTerm, MeanTest, ProposalTest, TestMartingale};
pub use uniform_target::UniformTarget;
