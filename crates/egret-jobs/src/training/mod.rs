//! What [`train`](crate::train) and [`select`](crate::select) share: which log, which split, which candidate.
//!
//! Requests first: [`TrainingLog`], [`SplitRequest`], [`CandidateRequest`]. Opening a training log gives an [`OpenLog`],
//! which knows the action space. Reading it gives [`TrainingEvents`]: every event with a loss, in memory.

mod candidate_request;
mod embeddings;
mod open_log;
mod split_request;

pub use candidate_request::CandidateRequest;
pub use open_log::Counts;
pub use split_request::SplitRequest;

pub(crate) use embeddings::read_embeddings;
pub(crate) use open_log::{OpenLog, TrainingEvents};

use std::path::PathBuf;

use egret::{FeatureSchema, Space};
use serde::{Deserialize, Serialize};

use crate::error::JobError;
use crate::log_source::LogSource;
use crate::progress::Progress;

/// The log that is learned from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingLog {
    /// The log.
    pub log: LogSource,
    /// The action space, where the log does not say it.
    pub space: Option<Space>,
    /// How named features become numbers; inferred from the log where this is absent.
    pub features: Option<FeatureSchema>,
    /// The features of items: a file with one line of comma-separated numbers for each item.
    pub embeddings: Option<PathBuf>,
}

impl TrainingLog {
    pub(crate) fn open(&self, progress: &dyn Progress) -> Result<OpenLog, JobError> {
        let mut log = self.log.clone();
        if self.space.is_some() {
            log.mapping.space.clone_from(&self.space);
        }
        let reader = log.open(progress)?;
        let space = match (&self.space, &reader.space) {
            (Some(space), _) => space.clone(),
            (None, Some(space)) => Space::clone(space),
            (None, None) => {
                return Err(JobError::request(
                    "space",
                    "the log does not say what its action space is: give it, as in interval:0,1",
                ));
            }
        };
        let embeddings = self
            .embeddings
            .as_deref()
            .map(read_embeddings)
            .transpose()?;
        Ok(OpenLog {
            space,
            embeddings,
            features: self.features.clone(),
            reader,
        })
    }
}
