//! Many logs as one, in order of seq.

use std::path::PathBuf;

use egret_log::{Format, Merge, Writer};
use serde::{Deserialize, Serialize};

use crate::convert::format_of;
use crate::error::JobError;
use crate::progress::{Progress, Step, tell, tell_rows};

/// What is to be merged, and where it goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergeRequest {
    /// Files and folders, each file in order of seq.
    pub paths: Vec<PathBuf>,
    /// The file to write; it appears when it is complete.
    pub output: PathBuf,
    /// Its format. If absent, the ending of its name tells it.
    #[serde(default)]
    pub format: Option<Format>,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeReport {
    /// Records in the file.
    pub rows: u64,
    /// The file.
    pub output: PathBuf,
    /// Records that came twice and were written once.
    pub duplicates: u64,
}

/// Makes one log of many. Where they overlap, a record that is in both is written once. Two different records with one
/// seq are an error.
pub fn merge(request: &MergeRequest, progress: &dyn Progress) -> Result<MergeReport, JobError> {
    let format = format_of(request.format, &request.output)?;
    let mut records = Merge::open(&request.paths)?;
    let mut writer = Writer::create(&request.output, format)?;
    let mut rows = 0_u64;
    while let Some(record) = records.next() {
        writer.write(&record?)?;
        rows += 1;
        tell_rows(progress, rows, || records.progress())?;
    }
    tell(progress, Step::Read(1.0))?;
    if rows == 0 {
        return Err(JobError::Log(
            "the logs hold no record: nothing was written".to_owned(),
        ));
    }
    Ok(MergeReport {
        rows: writer.finish()?,
        output: request.output.clone(),
        duplicates: records.duplicates(),
    })
}
