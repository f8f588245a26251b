//! What is wrong with a log, all at once.

use std::path::PathBuf;
use std::sync::Arc;

use egret::Space;
use egret_log::{ReadError, Record, RowError};
use serde::{Deserialize, Serialize};

use crate::density_units;
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
    /// What is odd about the log as a whole, and what to do.
    pub remarks: Vec<String>,
}

/// One sort of mistake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mistake {
    /// What sort.
    pub kind: &'static str,
    /// The field or column to blame; none where the row as a whole is unreadable.
    pub field: Option<String>,
    /// What can be done about it.
    pub advice: &'static str,
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
    let mut whole = Whole::default();
    let mut unreadable = None;
    while let Some(row) = reader.next_row() {
        match row {
            Ok(record) => {
                report.rows += 1;
                whole.add(&record, reader.density_unit());
            }
            // Of a table of someone else's there is one thing to say, and not of each row.
            Err(
                error @ ReadError::Row {
                    error: RowError::WhichAction { .. },
                    ..
                },
            ) => return Err(error.into()),
            Err(ReadError::Row { file, row, error }) => {
                report.add(file, Some(row), &error, request.named);
            }
            Err(ReadError::File { file, error }) => {
                report.add(file.clone(), None, &error, request.named);
                unreadable = Some(ReadError::File { file, error });
            }
            Err(error) => return Err(error.into()),
        }
        tell_rows(progress, report.rows + report.bad, || reader.progress())?;
    }
    // A log of one file that says nothing of its rows has no list of mistakes.
    if let Some(error) = unreadable
        && (report.rows, report.bad) == (0, 1)
    {
        return Err(error.into());
    }
    tell(progress, Step::Read(1.0))?;
    report
        .mistakes
        .sort_by_key(|mistake| std::cmp::Reverse(mistake.rows));
    report.remarks = whole.remarks(report.rows);
    Ok(report)
}

/// What no row shows alone.
#[derive(Default)]
struct Whole {
    space: Option<Arc<Space>>,
    /// What densities were multiplied by.
    unit: f64,
    densities: u64,
    inverses: f64,
    outcomes: u64,
}

impl Whole {
    fn add(&mut self, record: &Record, unit: f64) {
        if let Some(density) = record.propensity().density() {
            self.densities += 1;
            self.inverses += 1.0 / density.get();
        }
        self.outcomes += u64::from(record.loss.is_some());
        if self.space.is_none() {
            self.space.clone_from(&record.mu);
        }
        self.unit = unit;
    }

    fn remarks(&self, rows: u64) -> Vec<String> {
        let mut remarks = Vec::new();
        if rows == 0 {
            return remarks;
        }
        if self.outcomes == 0 {
            remarks
                .push("No row has an outcome: name its column with --reward or --loss.".to_owned());
        }
        if self.densities == 0 {
            let why = "No row has a density: no other policy can be evaluated from this log, and nothing can be audited. \
                       `egret ope --estimate-density` estimates densities from it, which is an assumption and never reliable.";
            remarks.push(why.to_owned());
        }
        match &self.space {
            None => remarks.push(
                "The log does not say which actions could have been played: give it with --space, as in interval:5,50.".to_owned(),
            ),
            Some(space) if 0 < self.densities => {
                let mean = self.inverses / self.densities as f64;
                remarks.extend(density_units::remark(space, self.unit, mean));
            }
            Some(_) => {}
        }
        remarks
    }
}

impl CheckReport {
    fn add(&mut self, file: PathBuf, row: Option<u64>, error: &RowError, named: usize) {
        self.bad += 1;
        let (kind, field) = (error.kind(), error.field());
        let same = |mistake: &Mistake| mistake.kind == kind && mistake.field.as_deref() == field;
        let place = self.mistakes.iter().position(same);
        let place = place.unwrap_or_else(|| {
            self.mistakes.push(Mistake {
                kind,
                field: field.map(str::to_owned),
                advice: error.advice(),
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
