//! A log that is being written: one file, or a folder of files one after the other.

use std::fs;
use std::path::{Path, PathBuf};

use egret::{ActionKind, AnyModel, EventLog, ModelSpec, Outcome, for_kind};
use egret_jobs::summarize::{SummarizeRequest, summarize};
use egret_jobs::{LogSource, Silent};
use egret_log::{Format, Record, Writer};
use pyo3::prelude::*;

use crate::decision::Decided;
use crate::error::{LogError, log_error, raised};

/// A file is complete when it is closed. In a folder the next one then begins: its name starts with the number of its
/// first record.
pub struct LogParts {
    path: PathBuf,
    /// None where the path is a folder.
    format: Option<Format>,
    writer: Option<Writer>,
    next_seq: u64,
    /// One more than the largest number of an event in the folder.
    next_event: u64,
}

impl LogParts {
    /// A file by its ending (.parquet, .jsonl, .dsjson); any other name is a folder, and records go on after those in it.
    pub fn open(path: &Path) -> PyResult<Self> {
        let mut parts = Self {
            path: path.to_owned(),
            format: Format::of_name(path),
            writer: None,
            next_seq: 0,
            next_event: 0,
        };
        if parts.format.is_some() {
            if path.exists() {
                return Err(LogError::new_err(format!(
                    "{} is there already: name another file, or a folder, in which records go on",
                    path.display()
                )));
            }
            return Ok(parts);
        }
        let failed = |error| LogError::new_err(format!("{}: {error}", path.display()));
        fs::create_dir_all(path).map_err(failed)?;
        let is_log = |entry: &fs::DirEntry| Format::of_name(&entry.path()).is_some();
        if fs::read_dir(path)
            .map_err(failed)?
            .flatten()
            .any(|entry| is_log(&entry))
        {
            let log = LogSource::new([path]);
            let summary = summarize(&SummarizeRequest { log }, &Silent).map_err(log_error)?;
            parts.next_seq = summary.seq.map_or(0, |seq| seq.last + 1);
            parts.next_event = summary.next_event.unwrap_or(0);
        }
        Ok(parts)
    }

    /// The least number that no event of the folder has.
    pub fn next_event(&self) -> u64 {
        self.next_event
    }

    fn writer(&mut self) -> PyResult<&mut Writer> {
        if self.writer.is_none() {
            let writer = match self.format {
                Some(format) => Writer::create(&self.path, format),
                None => {
                    // Two programs may write to one folder: neither loses a file to the other.
                    let name = format!("{:012}-{}.parquet", self.next_seq, std::process::id());
                    Writer::create(self.path.join(name), Format::Parquet)
                }
            };
            self.writer = Some(writer.map_err(log_error)?.from_seq(self.next_seq));
        }
        Ok(self.writer.as_mut().expect("just opened"))
    }

    /// Appends an event of a model; a file that begins with it notes the model as it is.
    pub fn append(
        &mut self,
        model: &AnyModel,
        decided: &Decided,
        outcome: Option<Outcome>,
    ) -> PyResult<()> {
        if self.writer.is_none() {
            let writer = self.writer()?;
            for_kind!(model.kind(), A => {
                EventLog::<A>::begin(writer, model.typed().expect("its own kind"));
            });
        }
        let spec = decided.spec.as_deref().unwrap_or(model.spec());
        self.append_as(spec, decided, outcome)
    }

    /// Appends an event of whatever this describes.
    pub fn append_as(
        &mut self,
        spec: &ModelSpec,
        decided: &Decided,
        outcome: Option<Outcome>,
    ) -> PyResult<()> {
        let Decided { x, decision, .. } = decided;
        let writer = self.writer()?;
        let written = for_kind!(spec.space.kind(), A => {
            let action = A::from_any(&decision.action).map_err(raised)?;
            let decision = decision.clone().map_action(|_| action);
            EventLog::<A>::append(writer, spec, x, &decision, outcome)
        });
        written.map_err(log_error)?;
        self.next_seq += 1;
        Ok(())
    }

    /// Appends a record of somebody else's.
    pub fn write(&mut self, mut record: Record) -> PyResult<()> {
        record.seq = Some(self.next_seq);
        self.writer()?.write(&record).map_err(log_error)?;
        self.next_seq += 1;
        Ok(())
    }

    /// Completes the file that is open.
    pub fn close(&mut self) -> PyResult<()> {
        if let Some(writer) = self.writer.take() {
            writer.finish().map_err(log_error)?;
        }
        Ok(())
    }
}
