//! A log in another format.

use std::path::PathBuf;

use egret::{Context, Features};
use egret_log::{Format, Record, RowError, WriteError, Writer};
use serde::{Deserialize, Serialize};

use crate::error::JobError;
use crate::log_source::LogSource;
use crate::progress::{Progress, Step, tell, tell_rows};

/// What is to be written, and where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvertRequest {
    /// The log.
    pub log: LogSource,
    /// The file to write; it appears when it is complete.
    pub output: PathBuf,
    /// Its format. If absent, the ending of its name tells it.
    #[serde(default)]
    pub format: Option<Format>,
    /// Names for the numbers of contexts without names, one for each: in Parquet each becomes a column.
    #[serde(default)]
    pub features: Vec<String>,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConvertReport {
    /// Records in the file.
    pub rows: u64,
    /// The file.
    pub output: PathBuf,
    /// Bad rows that were skipped.
    pub skipped: u64,
    /// Where they are.
    pub skipped_file: Option<PathBuf>,
}

/// Copies the records of a log to one file.
pub fn convert(
    request: &ConvertRequest,
    progress: &dyn Progress,
) -> Result<ConvertReport, JobError> {
    let format = format_of(request.format, &request.output)?;
    let mut reader = request.log.reader()?;
    let mut writer = Writer::create(&request.output, format)?;
    let mut rows = 0_u64;
    while let Some(record) = reader.next() {
        let mut record = record?;
        let named = name_features(&mut record, &request.features);
        match named.and_then(|()| writer.write(&record)) {
            Ok(()) => {}
            Err(WriteError::Row(error)) => reader.put_aside(&record, error)?,
            Err(error) => return Err(error.into()),
        }
        rows += 1;
        tell_rows(progress, rows, || reader.progress())?;
    }
    tell(progress, Step::Read(1.0))?;
    if rows == 0 && reader.skipped() == 0 {
        return Err(JobError::Log(
            "the log holds no record: nothing was written".to_owned(),
        ));
    }
    let rows = writer.finish()?;
    let skipped = reader.finish()?;
    Ok(ConvertReport {
        rows,
        output: request.output.clone(),
        skipped: skipped.rows,
        skipped_file: skipped.file,
    })
}

/// Gives names to the numbers of a dense context, if there are names to give.
fn name_features(record: &mut Record, names: &[String]) -> Result<(), WriteError> {
    let Some(values) = record.context.as_dense().filter(|_| !names.is_empty()) else {
        return Ok(());
    };
    if values.len() != names.len() {
        return Err(WriteError::Row(RowError::Type {
            field: "context".to_owned(),
            found: format!("{} numbers", values.len()),
            expected: "one for each name that was given",
        }));
    }
    let features: Features = names.iter().zip(values.iter().copied()).collect();
    record.context = Context::named(features);
    Ok(())
}

/// As asked for, or by the name of the file.
pub(crate) fn format_of(
    asked: Option<Format>,
    output: &std::path::Path,
) -> Result<Format, JobError> {
    let known = asked.or_else(|| Format::of_name(output));
    known
        .filter(|format| !matches!(format, Format::Csv | Format::Arrow))
        .ok_or_else(|| {
            let problem = format!(
                "{}: end the name in .parquet, .jsonl or .dsjson, or give the format",
                output.display()
            );
            JobError::request("output", problem)
        })
}
