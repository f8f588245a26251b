use egret::{ContextError, LoadError, OutOfRange};

use crate::policy::PolicyError;

/// Why training failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LearningError {
    /// A number is not in its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The split belongs to another log.
    #[error("the split names row {row}, but the log has only {rows} rows")]
    NoSuchRow {
        /// The row, from 0.
        row: usize,
        /// How many rows the log has.
        rows: usize,
    },
    /// Fewer training rows than folds.
    #[error("there are {found} training rows, expected at least {least}")]
    TooFewRows {
        /// How many there are.
        found: usize,
        /// How many are needed.
        least: usize,
    },
    /// All weights are zero, or there are no rows.
    #[error(
        "none of the {rows} training rows counts: there are none, or all are point masses, from which only the direct \
         method learns (--method dm; --estimate-density gives a log without densities some)"
    )]
    NothingCounts {
        /// How many there are.
        rows: usize,
    },
    /// The oracle cannot read a context.
    #[error("row {row}: {error}")]
    Context {
        /// Which row of the log, from 0.
        row: usize,
        /// Why.
        error: ContextError,
    },
    /// The oracle refused a batch for another reason.
    #[error("the oracle refused a batch: {0}")]
    Refused(ContextError),
    /// The oracle predicted NaN.
    #[error("row {row}: the oracle predicted NaN")]
    NanPrediction {
        /// Which row of the log, from 0.
        row: usize,
    },
    /// The served policy has no density.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The oracle cannot load a state that it saved.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The bytes are not a checkpoint.
    #[error("not a checkpoint: {0}")]
    NotACheckpoint(String),
    /// The checkpoint was taken with other settings.
    #[error("the checkpoint was taken with other settings: use those, or start again without it")]
    OtherSettings,
    /// The checkpoint was taken with another log, split or oracle.
    #[error(
        "the checkpoint was taken with another log, split or oracle: use those, or start again without it"
    )]
    OtherTask,
    /// No epoch was trained yet.
    #[error("no epoch was trained yet")]
    NotTrained,
}
