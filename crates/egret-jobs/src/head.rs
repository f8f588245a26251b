//! The first records of a log.

use egret_log::Record;
use serde::{Deserialize, Serialize};

use crate::error::JobError;
use crate::log_source::LogSource;
use crate::progress::{Progress, Step, tell, tell_rows};

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
pub fn head(request: &HeadRequest, progress: &dyn Progress) -> Result<Vec<Record>, JobError> {
    let mut reader = request.log.reader()?;
    let mut records = Vec::new();
    while records.len() < request.rows
        && let Some(record) = reader.next()
    {
        records.push(record?);
        tell_rows(progress, records.len() as u64, || reader.progress())?;
    }
    tell(progress, Step::Read(1.0))?;
    reader.finish()?;
    Ok(records)
}
