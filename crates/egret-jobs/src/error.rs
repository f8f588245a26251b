use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use egret::{DecideError, ModelError};
use egret_log::{ReadError, RowError, WriteError};
use egret_offline::{CandidateError, EvaluationError, SelectionError};

/// Why a job failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// [`Progress`](crate::Progress) ended it.
    #[error("the job was cancelled: no output was written")]
    Cancelled,
    /// A field of the request is invalid.
    #[error("{field}: {problem}")]
    Request {
        /// Which field.
        field: &'static str,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A record cannot be used for this.
    #[error("{place}: {problem}")]
    Record {
        /// Where it is.
        place: Place,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The log as a whole cannot be used for this.
    #[error("{0}")]
    Log(String),
    /// A policy cannot be evaluated.
    #[error("policy {name}: {problem}")]
    Policy {
        /// Which.
        name: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A file other than a log cannot be read.
    #[error("cannot read {}", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A model cannot be loaded.
    #[error(
        "{} is not a model that this egret can read",
        file.display()
    )]
    Model {
        /// Which.
        file: PathBuf,
        /// Why.
        source: ModelError,
    },
    /// A model of ONNX cannot be used.
    #[error("{0}")]
    Onnx(String),
    /// The evaluation failed.
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    /// Training failed.
    #[error(transparent)]
    Training(#[from] CandidateError),
    /// Nothing could be selected.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// The model cannot decide.
    #[error(transparent)]
    Decide(#[from] DecideError),
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Arc<Path>,
    /// The row in it, from 1.
    pub row: u64,
    /// The field or column, where one is to blame.
    pub field: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, row {}", self.file.display(), self.row)?;
        match &self.field {
            Some(field) => write!(f, ", {field}"),
            None => Ok(()),
        }
    }
}

impl JobError {
    pub(crate) fn request(field: &'static str, problem: impl fmt::Display) -> Self {
        Self::Request {
            field,
            problem: problem.to_string(),
        }
    }

    pub(crate) fn record(place: &Place, problem: impl fmt::Display) -> Self {
        Self::Record {
            place: place.clone(),
            problem: problem.to_string(),
        }
    }

    pub(crate) fn field(place: &Place, field: &str, problem: impl fmt::Display) -> Self {
        Self::Record {
            place: Place {
                field: Some(field.to_owned()),
                ..place.clone()
            },
            problem: problem.to_string(),
        }
    }

    /// The row and field to blame, if it is one row.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Record { place, .. } => Some(place.clone()),
            Self::Read(ReadError::Row { file, row, error }) => Some(Place {
                file: file.as_path().into(),
                row: *row,
                field: error.field().map(str::to_owned),
            }),
            _ => None,
        }
    }

    /// Whether the job could go on without the bad row, by [`LogSource::skip_bad`](crate::LogSource::skip_bad).
    pub fn can_skip(&self) -> bool {
        let Self::Read(ReadError::Row { error, .. }) = self else {
            return false;
        };
        !matches!(error, RowError::WhichAction { .. })
    }
}
