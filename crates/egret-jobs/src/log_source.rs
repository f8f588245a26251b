use std::path::{Path, PathBuf};
use std::sync::Arc;

use egret::{AnyModel, Kind, Space};
use egret_log::{OnBad, Reader, Record, Skipped};
use serde::{Deserialize, Serialize};

use crate::error::{JobError, Place};
use crate::progress::Progress;
use crate::progress::{Step, tell};

/// Which log a job reads.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogSource {
    /// Files of Parquet, JSON lines or dsjson, and folders of them, in order.
    pub paths: Vec<PathBuf>,
    /// Where rows that are not records go; without it the first one is an error.
    pub skip_bad: Option<PathBuf>,
    /// The interval of the actions, where dsjson does not say it.
    pub interval: Option<(f64, f64)>,
    /// The features of dsjson are hashed to 2^bits places, so that text can be among them.
    pub hash_bits: Option<u32>,
}

impl LogSource {
    /// The log in these files and folders.
    pub fn new<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self {
            paths: paths.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn reader(&self) -> Result<Reader, JobError> {
        if self.paths.is_empty() {
            return Err(JobError::request("log", "no file or folder is given"));
        }
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
        if let Some(bits) = self.hash_bits {
            reader = reader.with_hashed_features(bits);
        }
        Ok(reader)
    }

    /// Opens the log and looks at its first record.
    pub(crate) fn open(&self) -> Result<LogReader, JobError> {
        let mut reader = self.reader()?;
        let first = reader.next().transpose()?;
        let first = first.ok_or_else(|| JobError::Log("the log holds no record".to_owned()))?;
        Ok(LogReader {
            kind: first.action.kind(),
            space: first.mu.clone(),
            first_place: place_of(&reader),
            first: Some(first),
            reader,
            rows: 0,
        })
    }
}

/// The records of a log, the first of which was looked at already.
pub(crate) struct LogReader {
    reader: Reader,
    first: Option<Record>,
    first_place: Place,
    /// The kind of action of the first record.
    pub kind: Kind,
    /// The space of the first record, if it says it.
    pub space: Option<Arc<Space>>,
    rows: u64,
}

/// Rows between two reports of progress.
const EVERY: u64 = 4_096;

impl LogReader {
    /// The next record and where it is; tells of progress now and then.
    pub(crate) fn next(
        &mut self,
        progress: &dyn Progress,
    ) -> Result<Option<(Place, Record)>, JobError> {
        let next = match self.first.take() {
            Some(record) => Some((self.first_place.clone(), record)),
            None => {
                let record = self.reader.next().transpose()?;
                record.map(|record| (place_of(&self.reader), record))
            }
        };
        if next.is_some() {
            self.rows += 1;
        }
        if self.rows.is_multiple_of(EVERY) {
            tell(progress, Step::Read(self.reader.progress()))?;
        }
        Ok(next)
    }

    /// How many features the first record has; before it is taken.
    pub(crate) fn context_dim(&self) -> usize {
        self.first.as_ref().map_or(0, |first| first.context.dim())
    }

    /// Records read so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn finish(self) -> Result<Skipped, JobError> {
        Ok(self.reader.finish()?)
    }
}

fn place_of(reader: &Reader) -> Place {
    Place {
        file: reader.file(),
        row: reader.row(),
        field: None,
    }
}

/// Loads a saved model.
pub fn load_model(file: &Path) -> Result<AnyModel, JobError> {
    let bytes = std::fs::read(file).map_err(|source| JobError::File {
        file: file.to_owned(),
        source,
    })?;
    AnyModel::load(&bytes).map_err(|source| JobError::Model {
        file: file.to_owned(),
        source,
    })
}
