use std::path::PathBuf;

use egret::Space;
use egret_log::{OnBad, Reader};
use serde::{Deserialize, Serialize};

use crate::error::JobError;
use crate::log_reader::LogReader;

/// Which log a job reads.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogSource {
    /// Files of Parquet, JSON lines or dsjson, and folders of them, in order.
    pub paths: Vec<PathBuf>,
    /// Bad rows are skipped and written to this file. Without it the first bad row is an error.
    pub skip_bad: Option<PathBuf>,
    /// The interval of the actions, for dsjson that does not say it.
    pub interval: Option<(f64, f64)>,
}

impl LogSource {
    /// The log in these files and folders.
    pub fn new<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self {
            paths: paths.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// An error unless there is a file or folder to read.
    pub(crate) fn check(&self) -> Result<(), JobError> {
        if self.paths.is_empty() {
            return Err(JobError::request("log", "no file or folder is given"));
        }
        Ok(())
    }

    pub(crate) fn reader(&self) -> Result<Reader, JobError> {
        self.check()?;
        let on_bad = match &self.skip_bad {
            None => OnBad::Stop,
            Some(file) => OnBad::Skip(file.clone()),
        };
        let mut reader = Reader::open(&self.paths, on_bad)?;
        if let Some((low, high)) = self.interval {
            let space = Space::Interval { low, high };
            let checked = space.check();
            checked.map_err(|error| JobError::request("interval", error))?;
            reader = reader.with_interval(low, high);
        }
        Ok(reader)
    }

    /// Opens the log and looks at its first record.
    pub(crate) fn open(&self) -> Result<LogReader, JobError> {
        LogReader::new(self.reader()?)
    }
}
