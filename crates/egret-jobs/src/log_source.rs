use std::path::PathBuf;

use egret_log::{ColumnScan, LogMapping, MemoryTable, NO_DENSITY, OnBad, Reader};
use serde::{Deserialize, Serialize};

use crate::error::JobError;
use crate::estimated_density::EstimatedDensity;
use crate::log_reader::LogReader;
use crate::progress::Progress;

/// Which log a job reads.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogSource {
    /// Files of Parquet, Arrow, CSV, JSON lines or dsjson, and folders of them, in order; `-` is the standard input.
    pub paths: Vec<PathBuf>,
    /// A table in memory in place of files, from a program that has one.
    #[serde(skip)]
    pub table: Option<MemoryTable>,
    /// Bad rows are skipped and written to this file. Without it the first bad row is an error.
    pub skip_bad: Option<PathBuf>,
    /// Which columns are what, and the action space, where the files do not say it. What it leaves open, a file of TOML
    /// beside the log may say.
    pub mapping: LogMapping,
    /// Estimate the densities of actions from the log itself, and pass over those that it states. What rests on them is
    /// never called reliable. Evaluation, training and selection heed it.
    pub estimate_density: bool,
}

impl LogSource {
    /// The log in these files and folders.
    pub fn new<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self {
            paths: paths.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// An error unless there is a file, a folder or a table to read.
    pub(crate) fn check(&self) -> Result<(), JobError> {
        match (self.paths.is_empty(), &self.table) {
            (true, None) => Err(JobError::request("log", "no file or folder is given")),
            (false, Some(_)) => Err(JobError::request("log", "give files or a table, not both")),
            _ => Ok(()),
        }
    }

    pub(crate) fn reader(&self) -> Result<Reader, JobError> {
        self.mapped(self.mapping.clone())
    }

    /// Passes over the densities that the log states.
    fn without_densities(&self) -> Result<Reader, JobError> {
        self.mapped(LogMapping {
            density: Some(NO_DENSITY.to_owned()),
            ..self.mapping.clone()
        })
    }

    fn mapped(&self, mapping: LogMapping) -> Result<Reader, JobError> {
        self.check()?;
        let on_bad = match &self.skip_bad {
            None => OnBad::Stop,
            Some(file) => OnBad::Skip(file.clone()),
        };
        if let Some(space) = &self.mapping.space {
            let checked = space.check();
            checked.map_err(|error| JobError::request("space", error))?;
        }
        Ok(match &self.table {
            Some(table) => Reader::of_table(table, on_bad, mapping)?,
            None => Reader::open_mapped(&self.paths, on_bad, mapping)?,
        })
    }

    /// Columns of numbers alone.
    pub(crate) fn columns(
        &self,
        required: &[&str],
        optional: &[&str],
    ) -> Result<ColumnScan, JobError> {
        Ok(match &self.table {
            Some(table) => ColumnScan::of_table(table, required, optional)?,
            None => ColumnScan::open(&self.paths, required, optional)?,
        })
    }

    /// Whether the log can be looked into before it is read: a pipe cannot.
    pub(crate) fn can_be_read_twice(&self) -> bool {
        self.paths.iter().all(|path| {
            let found = path.metadata();
            path.as_os_str() != "-" && found.is_ok_and(|found| found.is_file() || found.is_dir())
        })
    }

    /// Opens the log and looks at its first record. Densities that are to be estimated are so first, from all of the log.
    pub(crate) fn open(&self, progress: &dyn Progress) -> Result<LogReader, JobError> {
        if !self.estimate_density {
            return LogReader::new(self.reader()?, None);
        }
        let estimated = self.estimated(progress)?;
        LogReader::new(self.without_densities()?, Some(estimated))
    }

    fn estimated(&self, progress: &dyn Progress) -> Result<EstimatedDensity, JobError> {
        if !self.can_be_read_twice() {
            let problem = "the log is read twice for it, and a pipe cannot be: save it as a file";
            return Err(JobError::request("estimate_density", problem));
        }
        let past_bad_rows = Self {
            skip_bad: None,
            ..self.clone()
        };
        EstimatedDensity::of(
            past_bad_rows.without_densities()?,
            self.skip_bad.is_some(),
            progress,
        )
    }
}
