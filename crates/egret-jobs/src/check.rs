//! What is wrong with a log, all at once.

use std::path::PathBuf;

use egret_log::{ReadError, RowError};
use serde::{Deserialize, Serialize};

use crate::error::JobError;
use crate::log_source::LogSource;
use crate::progress::{Progress, Step, tell, tell_rows};

/// Which log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckRequest {
    /// The log; `skip_bad` is of no use here.
    pub log: LogSource,
    /// How many bad rows of each sort are named.
    pub named: usize,
}

impl Default for CheckRequest {
    fn default() -> Self {
        Self {
            log: LogSource::default(),
            named: 3,
        }
    }
}

/// The rows of a log, good and bad.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CheckReport {
    /// Records.
    pub rows: u64,
    /// Rows that are not records.
    pub bad: u64,
    /// By sort of mistake, the most frequent first.
    pub mistakes: Vec<Mistake>,
}

/// One sort of mistake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mistake {
    /// What sort.
    pub kind: &'static str,
    /// How many rows have it.
    pub rows: u64,
    /// The first of them.
    pub first: Vec<BadRow>,
}

/// A row that is not a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadRow {
    /// The file.
    pub file: PathBuf,
    /// The row in it, from 1; none where the whole file cannot be read.
    pub row: Option<u64>,
    /// Why.
    pub reason: String,
}

/// Reads the whole log, past every bad row.
pub fn check(request: &CheckRequest, progress: &dyn Progress) -> Result<CheckReport, JobError> {
    let mut reader = request.log.reader()?;
    let mut report = CheckReport::default();
    while let Some(row) = reader.next_row() {
        match row {
            Ok(_) => report.rows += 1,
            Err(ReadError::Row { file, row, error }) => {
                report.add(file, Some(row), &error, request.named);
            }
            Err(ReadError::File { file, error }) => report.add(file, None, &error, request.named),
            Err(error) => return Err(error.into()),
        }
        tell_rows(progress, report.rows + report.bad, || reader.progress())?;
    }
    tell(progress, Step::Read(1.0))?;
    report
        .mistakes
        .sort_by_key(|mistake| std::cmp::Reverse(mistake.rows));
    Ok(report)
}

impl CheckReport {
    fn add(&mut self, file: PathBuf, row: Option<u64>, error: &RowError, named: usize) {
        self.bad += 1;
        let kind = error.kind();
        let place = self
            .mistakes
            .iter()
            .position(|mistake| mistake.kind == kind);
        let place = place.unwrap_or_else(|| {
            self.mistakes.push(Mistake {
                kind,
                rows: 0,
                first: Vec::new(),
            });
            self.mistakes.len() - 1
        });
        let mistake = &mut self.mistakes[place];
        mistake.rows += 1;
        if mistake.first.len() < named {
            let reason = error.to_string();
            mistake.first.push(BadRow { file, row, reason });
        }
    }
}
