//! What is in a log: counts, gaps, outcomes, the spread of densities, effective events.
//!
//! [`summarize`] reads a log once and gives a [`Summary`]. A `Tally` counts while records come, a `QuantileSketch`
//! keeps the spread of densities and an `EffectiveTally` the effective events over time, both in little memory.

mod effective_events;
mod quantile_sketch;
mod tally;

pub use effective_events::{EffectiveBlock, EffectiveEvents};

use std::collections::BTreeMap;
use std::path::PathBuf;

use egret_offline::RandomNumbers;
use serde::{Deserialize, Serialize};

use self::tally::Tally;
use crate::error::JobError;
use crate::log_source::LogSource;
use crate::progress::{Progress, Step, tell, tell_rows};

/// Which log.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SummarizeRequest {
    /// The log.
    pub log: LogSource,
}

/// The figures of a log.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Records.
    pub rows: u64,
    /// Rows that are not records.
    pub skipped: u64,
    /// Where they are.
    pub skipped_file: Option<PathBuf>,
    /// The earliest time.
    pub first_time: Option<String>,
    /// The latest.
    pub last_time: Option<String>,
    /// Records by kind of action.
    pub actions: BTreeMap<String, u64>,
    /// Records by number of features, where these have no names.
    pub context_dims: BTreeMap<usize, u64>,
    /// Records by named features that are not missing.
    pub features: BTreeMap<String, u64>,
    /// Records without a density.
    pub point_masses: u64,
    /// How densities are spread.
    pub density: Option<Spread>,
    /// How much the log can say about other policies, over time.
    pub effective_events: EffectiveEvents,
    /// The mean of 1/z.
    pub kappa_mean: Option<f64>,
    /// Records by objective.
    pub objectives: BTreeMap<String, u64>,
    /// The mean outcome, in the units of the objective; none where there are several.
    pub outcome_mean: Option<f64>,
    /// Outcomes that are not known yet.
    pub outcomes_missing: u64,
    /// Outcomes outside the objective's range, which count as its nearest end.
    pub outcomes_clipped: u64,
    /// Outcomes that are the loop's default.
    pub outcomes_default: u64,
    /// Outcomes that came after the closing.
    pub outcomes_late: u64,
    /// What sequence numbers tell.
    pub seq: Option<Sequence>,
    /// One more than the largest event number: where a loop after this log goes on.
    pub next_event: Option<u64>,
    /// Whether events share their random numbers.
    pub random_numbers: RandomNumbers,
    /// Records by loop.
    pub loops: BTreeMap<String, u64>,
    /// Records by mode.
    pub modes: BTreeMap<String, u64>,
    /// Records by version of the settings.
    pub settings_versions: BTreeMap<String, u64>,
    /// Records by columns of the user's own.
    pub extras: BTreeMap<String, u64>,
}

/// How densities are spread; right to 0.1 %, the ends exact.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The least.
    pub min: f64,
    /// 1% are below.
    pub p01: f64,
    /// 25% are below.
    pub p25: f64,
    /// Half are below.
    pub median: f64,
    /// 75% are below.
    pub p75: f64,
    /// 99% are below.
    pub p99: f64,
    /// The greatest.
    pub max: f64,
}

/// What sequence numbers tell; of each loop by itself, then added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sequence {
    /// The least number.
    pub first: u64,
    /// The greatest.
    pub last: u64,
    /// Numbers between the first and the last that no record has.
    pub missing: u64,
    /// Records whose number is not above that of the one before: out of order, or twice.
    pub out_of_order: u64,
    /// Records without a number.
    pub without: u64,
}

/// Counts what is in the log.
pub fn summarize(request: &SummarizeRequest, progress: &dyn Progress) -> Result<Summary, JobError> {
    let mut reader = request.log.reader()?;
    let mut tally = Tally::default();
    while let Some(record) = reader.next() {
        tally.add(&record?);
        tell_rows(progress, tally.summary.rows, || reader.progress())?;
    }
    tell(progress, Step::Read(1.0))?;
    let skipped = reader.finish()?;
    let summary = Summary {
        skipped: skipped.rows,
        skipped_file: skipped.file,
        ..tally.finish()
    };
    if summary.rows == 0 && summary.skipped == 0 {
        return Err(JobError::Log("the log holds no record".to_owned()));
    }
    Ok(summary)
}
