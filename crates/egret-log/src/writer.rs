use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;

use egret::{ActionKind, Context, Decision, EventLog, Model, ModelSpec, Objective, Outcome, Space};

use crate::format::Format;
use crate::json::{self, dsjson};
use crate::output_file::OutputFile;
use crate::parquet::writer::ParquetWriter;
use crate::record::{Record, WriteError};

/// Writes records to one file, which appears under its name when [`finish`](Self::finish) succeeds.
///
/// ```
/// use egret::{Context, Propensity};
/// use egret_log::{Format, OnBad, Reader, Record, Writer};
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("log.parquet");
/// let record = Record::bare(Context::dense(vec![1.0])?, 0.5.into(), Propensity::PointMass);
/// let mut writer = Writer::create(&file, Format::Parquet)?;
/// writer.write(&record)?;
/// assert_eq!(writer.finish()?, 1);
/// let read: Vec<Record> = Reader::open(&[&file], OnBad::Stop)?.collect::<Result<_, _>>()?;
/// assert_eq!(read, [record]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer {
    sink: Sink,
    missing: dsjson::Missing,
    /// The space of the event appended last.
    space: Option<Arc<Space>>,
    /// The hash of the model that the loop began with.
    model_hash: Option<String>,
    first_seq: u64,
    rows: u64,
}

enum Sink {
    Parquet(Box<ParquetWriter>),
    Lines {
        out: BufWriter<OutputFile>,
        line: Vec<u8>,
        dsjson: bool,
    },
}

impl Writer {
    /// Starts a file.
    pub fn create(path: impl AsRef<Path>, format: Format) -> Result<Self, WriteError> {
        let path = path.as_ref();
        let sink = match format {
            Format::Csv | Format::Arrow => {
                return Err(WriteError::Io {
                    file: path.to_owned(),
                    source: io::Error::new(
                        io::ErrorKind::Unsupported,
                        "records are written as Parquet, JSON lines or dsjson: choose one of them",
                    ),
                });
            }
            Format::Parquet => Sink::Parquet(Box::new(ParquetWriter::create(path)?)),
            Format::JsonLines | Format::DsJson => Sink::Lines {
                out: BufWriter::new(OutputFile::create(path).map_err(|source| WriteError::Io {
                    file: path.to_owned(),
                    source,
                })?),
                line: Vec::new(),
                dsjson: format == Format::DsJson,
            },
        };
        Ok(Self {
            sink,
            missing: dsjson::Missing::default(),
            space: None,
            model_hash: None,
            first_seq: 0,
            rows: 0,
        })
    }

    /// The interval of the actions, for records without `mu` that are written as dsjson.
    pub fn with_interval(mut self, low: f64, high: f64) -> Self {
        self.missing.interval = Some((low, high));
        self
    }

    /// The events of a loop are numbered from `seq` on: for a log in several files, one after the other.
    pub fn from_seq(mut self, seq: u64) -> Self {
        self.first_seq = seq;
        self
    }

    /// Adds a record. An error if a reader would refuse it; the writer can go on without it.
    pub fn write(&mut self, record: &Record) -> Result<(), WriteError> {
        record.check()?;
        match &mut self.sink {
            Sink::Parquet(writer) => writer.write(record)?,
            Sink::Lines { out, line, dsjson } => {
                line.clear();
                if *dsjson {
                    dsjson::write(record, self.missing, line)?;
                } else {
                    json::write(record, line);
                }
                line.push(b'\n');
                out.write_all(line).map_err(|source| WriteError::Io {
                    file: out.get_ref().path().to_owned(),
                    source,
                })?;
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Completes the file on disk; returns how many records it has.
    pub fn finish(self) -> Result<u64, WriteError> {
        match self.sink {
            Sink::Parquet(writer) => writer.finish()?,
            Sink::Lines { out, .. } => {
                let file = out.get_ref().path().to_owned();
                out.into_inner()
                    .map_err(|failed| failed.into_error())
                    .and_then(OutputFile::finish)
                    .map_err(|source| WriteError::Io { file, source })?;
            }
        }
        Ok(self.rows)
    }
}

/// The log of a [`DecisionLoop`](egret::DecisionLoop): `seq` counts the events as they come, and `modelHash` is that of
/// the model the loop began with. Of named features it keeps what
/// the schema lets reach a log.
impl<A: ActionKind> EventLog<A> for Writer {
    type Error = WriteError;

    fn begin(&mut self, model: &Model<A>) {
        self.model_hash = Some(model.content_hash());
    }

    fn append(
        &mut self,
        spec: &ModelSpec,
        x: &Context,
        decision: &Decision<A>,
        outcome: Option<Outcome>,
    ) -> Result<(), WriteError> {
        if self.space.as_deref() != Some(&spec.space) {
            self.space = Some(Arc::new(spec.space.clone()));
        }
        let x = match (x.as_named(), &spec.features) {
            (Some(features), Some(schema)) => schema.for_log(features).into(),
            _ => x.clone(),
        };
        let mut record = Record {
            seq: Some(self.first_seq + self.rows),
            mu: self.space.clone(),
            model_hash: self.model_hash.clone(),
            schema_hash: spec
                .features
                .as_ref()
                .map(|schema| schema.content_hash().to_owned()),
            loss: outcome.map(|outcome| outcome.loss),
            ..Record::new(x, decision)
        };
        if spec.objective != Objective::LOSS {
            record.objective = Some(spec.objective);
            record.outcome = outcome.map(|outcome| outcome.value);
        }
        self.write(&record)
    }
}
