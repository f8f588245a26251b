//! The first records of a log.

use egret_log::Record;
use serde::{Deserialize, Serialize};

use crate::error::JobError;
use crate::log_source::LogSource;
use crate::progress::Progress;

/// Which log, and how much of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HeadRequest {
    /// The log.
    pub log: LogSource,
    /// How many records.
    pub rows: usize,
}

impl Default for HeadRequest {
    fn default() -> Self {
        Self {
            log: LogSource::default(),
            rows: 10,
        }
    }
}

/// The first records, in order.
pub fn head(request: &HeadRequest, _: &dyn Progress) -> Result<Vec<Record>, JobError> {
    let mut reader = request.log.reader()?;
    let records = reader
        .by_ref()
        .take(request.rows)
        .collect::<Result<_, _>>()?;
    reader.finish()?;
    Ok(records)
}
