//! Off-policy evaluation, audits, training and selection over logged events, wherever they come from.
//!
//! | you want to                                   | start with                                                   |
//! |-----------------------------------------------|--------------------------------------------------------------|
//! | weigh logged events for a policy              | [`Policy`] and its implementations, [`expected_loss`]        |
//! | estimate the value of a policy, with intervals | [`Evaluation`] over [`WeightedEvents`]                      |
//! | compare two policies                          | [`PolicyComparison`]                                         |
//! | check that a log is correct                   | [`Auditor`]                                                  |
//! | fit an oracle to a log                        | [`TrainingCandidate`], or [`Training`] epoch by epoch        |
//! | choose among fitted oracles                   | [`Selection`]                                                |
//! | weigh a log without densities                 | [`LoggingDensity`], an assumption                            |
//!
//! Each folder uses only those above it: `numerals`, `weighted_events`, `paired_events`, `estimator`, `sums`, `policy`, `interval`, `evaluation`,
//! `audit`, `training`, `selection`, `logging_density`.

mod audit;
mod estimator;
mod evaluation;
mod interval;
mod logging_density;
mod numerals;
mod paired_events;
mod policy;
mod selection;
mod sums;
mod training;
mod weighted_events;

pub use audit::{
    ActionEnds, AuditReport, Audited, Auditor, Binnable, CappedIgwDraw, Consistency,
    EvidenceHistory, Finding, LogOrder, Losses, MeanInverse, MeanTerm, MeanTest, OrderCheck,
    ProposalTest, Proposals, RandomNumberCheck, RandomNumbers, Recorded, ReplayCounts, Replayer,
    SequenceCheck, TestMartingale, TestRow, Version,
};
pub use estimator::{Estimator, Hyperparameter, UnknownEstimator};
pub use evaluation::{
    Diagnostics, Difference, DistributionEstimate, Estimate, Evaluation, EvaluationError,
    OutcomeDistribution, Plan, PlanError, PolicyComparison, PolicyComparisonReport, Report,
    Skipped, Standing, Verdict, VerdictKind, Worst,
};
pub use interval::{
    Confidence, IntervalKind, LowerMean, PathPoint, UnknownInterval, running_intersection,
};
pub use logging_density::{LoggingDensity, LoggingDensityError, Played};
pub use numerals::{about, thousands};
pub use paired_events::{
    PairedEvents, PairedMeans, PairedTruncatedColumns, PairedTruncatedMeans, paired_truncated_means,
};
pub use policy::{
    BestOf, Candidate, CappedIgwPolicy, GreedyPolicy, Kernel, KernelPolicy, KernelShape,
    PointPolicy, Policy, PolicyBuffers, PolicyError, PolicySeed, UniformPolicy, expected_loss,
    geometric_bandwidths, slope, truncated_means,
};
pub use selection::{
    CandidateStanding, Entry, HeldOutValue, Selection, SelectionError, SelectionSettings,
};
pub use training::{
    CandidateError, Checkpoint, Criterion, EarlyStopping, Epoch, Judge, LearningError,
    OfflineProtocol, Order, PointMasses, ProtocolOutcome, ServedPolicy, Split, SplitRows, Trained,
    Training, TrainingCandidate, TrainingMethod, TrainingSettings, TrainingTask, UnknownPolicy,
    Validation,
};
pub use weighted_events::{TRUNCATIONS, TruncatedMeans, WeightedEvents, WeightedEventsError};
