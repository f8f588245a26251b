use std::fmt;
use std::str::FromStr;

use egret::{Objective, ObjectiveTextError};
use egret_log::Record;
use serde::{Deserialize, Serialize};

use super::Checked;
use super::density::Problem;
use super::tally::{Known, Tally};
use super::weighted_batch::WeightedBatch;
use crate::error::{JobError, Place};

/// Another outcome of the same events, valued by the same weights: is a gain paid for elsewhere?
///
/// As text `COLUMN=OBJECTIVE`, as in `returns=minimize:0,50`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FurtherOutcome {
    /// The column that holds it.
    pub column: String,
    /// Its range, and which way is better.
    pub objective: Objective,
}

impl FromStr for FurtherOutcome {
    type Err = FurtherOutcomeError;

    fn from_str(text: &str) -> Result<Self, FurtherOutcomeError> {
        let (column, objective) = text.split_once('=').ok_or(FurtherOutcomeError::NoRange)?;
        Ok(Self {
            column: column.to_owned(),
            objective: objective.parse()?,
        })
    }
}

impl fmt::Display for FurtherOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.column, self.objective)
    }
}

/// Why text is no further outcome.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FurtherOutcomeError {
    /// There is a column alone.
    #[error("expected COLUMN=OBJECTIVE, as in returns=minimize:0,50")]
    NoRange,
    /// The objective cannot be read.
    #[error(transparent)]
    Objective(#[from] ObjectiveTextError),
}

/// The accumulators of a further outcome. No prediction is of it, so estimators that use f̂ are left out.
pub(super) struct OutcomeTally<'a> {
    pub outcome: &'a FurtherOutcome,
    pub tally: Tally,
}

impl<'a> OutcomeTally<'a> {
    pub(super) fn new(
        checked: &Checked<'_>,
        outcome: &'a FurtherOutcome,
        known: &[Known],
        against: Option<usize>,
    ) -> Result<Self, JobError> {
        let unpredicted = known.iter().map(|known| Known {
            predicted: false,
            truncated: false,
            ..*known
        });
        let tally = Tally::new(checked, unpredicted.collect(), against)?;
        Ok(Self { outcome, tally })
    }

    /// Adds the events that tell it; those that do not are counted as left out.
    pub(super) fn observe<'r>(
        &mut self,
        records: impl Iterator<Item = (&'r Place, &'r Record)>,
        events: &WeightedBatch,
    ) -> Result<(), JobError> {
        let FurtherOutcome { column, objective } = self.outcome;
        let (mut rows, mut shares) = (Vec::new(), Vec::new());
        for (row, (place, record)) in records.enumerate() {
            let Some(value) = record.number(column) else {
                self.tally.left_out.without_loss += 1;
                continue;
            };
            let loss = objective.loss(value).map_err(|error| {
                let problem = Problem {
                    field: Some(column.clone()),
                    words: error.to_string(),
                };
                problem.at(place)
            })?;
            rows.push(row);
            shares.push(objective.share(loss.get()));
            let left_out = &mut self.tally.left_out;
            left_out.point_masses += u64::from(record.propensity().density().is_none());
        }
        self.tally.observe(&mut WeightedBatch {
            shares,
            ..events.only(&rows).without_predictions()
        })
    }
}
