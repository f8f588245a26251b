use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use crate::format::Format;
use crate::json::{
    self, dsjson,
    line_source::{Decode, LineSource},
};
use crate::output_file::OutputFile;
use crate::parquet::source::ParquetSource;
use crate::record::{Record, RowError, bad_row::BadRow};

/// Reads the records of files and folders, in order. Memory does not grow with the log.
///
/// A folder stands for its `*.parquet`, `*.jsonl` and `*.dsjson` files in order of name, and for those of its folders. The
/// ending of a name tells the format; the first bytes do where it does not.
pub struct Reader {
    files: VecDeque<(PathBuf, u64)>,
    source: Option<(Arc<Path>, u64, Source)>,
    on_bad: OnBad,
    aside: Option<BufWriter<OutputFile>>,
    skipped: u64,
    dsjson: dsjson::Missing,
    bytes: u64,
    done: u64,
    ended: bool,
}

/// What happens to a row that is not a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnBad {
    /// Reading ends with an error that names file and row.
    Stop,
    /// The row is skipped and written to this file of JSON lines, as `file`, `row`, `reason` and `content`.
    Skip(PathBuf),
}

/// What was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// How many rows were skipped. A file that cannot be opened counts as one.
    pub rows: u64,
    /// Where they are, if there are any.
    pub file: Option<PathBuf>,
}

enum Source {
    Parquet(Box<ParquetSource>),
    Lines(Box<LineSource>),
}

impl Reader {
    /// Finds the files; each is opened when its turn comes.
    pub fn open<P: AsRef<Path>>(inputs: &[P], on_bad: OnBad) -> Result<Self, ReadError> {
        let mut files = VecDeque::new();
        for file in expand(inputs)? {
            let size = fs::metadata(&file).map_err(|source| ReadError::io(&file, source))?;
            files.push_back((file, size.len()));
        }
        let aside = match &on_bad {
            OnBad::Stop => None,
            OnBad::Skip(path) => Some(BufWriter::new(
                OutputFile::create(path).map_err(|source| ReadError::io(path, source))?,
            )),
        };
        Ok(Self {
            bytes: files.iter().map(|(_, size)| size).sum(),
            files,
            source: None,
            on_bad,
            aside,
            skipped: 0,
            dsjson: dsjson::Missing::default(),
            done: 0,
            ended: false,
        })
    }

    /// The interval of the actions, for dsjson that does not say it.
    pub fn with_interval(mut self, low: f64, high: f64) -> Self {
        self.dsjson.interval = Some((low, high));
        self
    }

    /// The share of the bytes that were read, for a progress bar.
    pub fn progress(&self) -> f64 {
        let current = self.source.as_ref().map_or(0.0, |(_, size, source)| {
            let share = match source {
                Source::Parquet(source) => source.progress(),
                Source::Lines(source) => source.progress(),
            };
            share * *size as f64
        });
        (self.done as f64 + current) / self.bytes.max(1) as f64
    }

    /// The place of the record that was read last in its file, from 1.
    pub fn row(&self) -> u64 {
        match &self.source {
            Some((_, _, Source::Parquet(source))) => source.row(),
            Some((_, _, Source::Lines(source))) => source.row(),
            None => 0,
        }
    }

    /// The file of the record that was read last; empty before the first.
    pub fn file(&self) -> Arc<Path> {
        match &self.source {
            Some((file, _, _)) => file.clone(),
            None => Path::new("").into(),
        }
    }

    /// How many rows were skipped so far.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Skips a record that was read well but cannot be used, for this reason. An error under [`OnBad::Stop`].
    pub fn put_aside(&mut self, record: &Record, error: RowError) -> Result<(), ReadError> {
        let bad = self.bad(record, error);
        self.refuse(&self.file(), bad)
    }

    /// The next row: a record, or what is wrong with it. Bad rows do not end the reading, and are not written anywhere.
    pub fn next_row(&mut self) -> Option<Result<Record, ReadError>> {
        if self.ended {
            return None;
        }
        match self.row_or_bad() {
            Ok(None) => None,
            Ok(Some(Row::Good(record))) => Some(Ok(*record)),
            Ok(Some(Row::Bad(file, bad))) => Some(Err(bad.into_error(&file))),
            Err(error) => {
                self.ended = true;
                Some(Err(error))
            }
        }
    }

    /// Writes the file of bad rows, if there were any.
    pub fn finish(self) -> Result<Skipped, ReadError> {
        let file = match (self.on_bad, self.aside, self.skipped) {
            (OnBad::Skip(path), Some(aside), 1..) => {
                let written = aside.into_inner().map_err(|failed| failed.into_error());
                written
                    .and_then(OutputFile::finish)
                    .map_err(|source| ReadError::io(&path, source))?;
                Some(path)
            }
            _ => None,
        };
        Ok(Skipped {
            rows: self.skipped,
            file,
        })
    }

    fn next_record(&mut self) -> Result<Option<Record>, ReadError> {
        loop {
            match self.row_or_bad()? {
                None => return Ok(None),
                Some(Row::Good(record)) => return Ok(Some(*record)),
                Some(Row::Bad(file, bad)) => self.refuse(&file, bad)?,
            }
        }
    }

    /// The next row, whatever it is.
    fn row_or_bad(&mut self) -> Result<Option<Row>, ReadError> {
        loop {
            let Some((file, size, source)) = &mut self.source else {
                let Some((file, size)) = self.files.pop_front() else {
                    return Ok(None);
                };
                match self.open_file(&file) {
                    Ok(source) => self.source = Some((file.into(), size, source)),
                    Err(ReadError::File { error, .. }) => {
                        self.done += size;
                        let bad = BadRow {
                            row: 0,
                            error,
                            content: serde_json::Value::Null,
                        };
                        return Ok(Some(Row::Bad(file.into(), bad)));
                    }
                    Err(error) => return Err(error),
                }
                continue;
            };
            let next = match source {
                Source::Parquet(source) => source.next(),
                Source::Lines(source) => {
                    source.next().map_err(|error| ReadError::io(file, error))?
                }
            };
            let bad = match next {
                None => {
                    self.done += *size;
                    self.source = None;
                    continue;
                }
                Some(Ok(record)) => return Ok(Some(Row::Good(Box::new(record)))),
                Some(Err(bad)) => bad,
            };
            return Ok(Some(Row::Bad(self.file(), bad)));
        }
    }

    fn bad(&self, record: &Record, error: RowError) -> BadRow {
        let mut line = Vec::new();
        json::write(record, &mut line);
        BadRow {
            row: self.row(),
            error,
            content: serde_json::from_slice(&line).unwrap_or_default(),
        }
    }

    fn open_file(&self, path: &Path) -> Result<Source, ReadError> {
        let io = |source| ReadError::io(path, source);
        let format = Format::of_file(path).map_err(io)?;
        let file = File::open(path).map_err(io)?;
        let decode: Decode = match format {
            Format::Parquet => {
                let source = ParquetSource::open(file).map_err(|error| ReadError::File {
                    file: path.to_owned(),
                    error,
                })?;
                return Ok(Source::Parquet(Box::new(source)));
            }
            Format::JsonLines => Box::new(json::read),
            Format::DsJson => {
                let missing = self.dsjson;
                Box::new(move |line, cache| dsjson::read(line, missing, cache))
            }
        };
        let source = LineSource::open(file, decode).map_err(io)?;
        Ok(Source::Lines(Box::new(source)))
    }

    fn refuse(&mut self, file: &Path, bad: BadRow) -> Result<(), ReadError> {
        let Some(aside) = &mut self.aside else {
            return Err(bad.into_error(file));
        };
        self.skipped += 1;
        let entry = json!({
            "file": file.to_string_lossy(),
            "row": (0 < bad.row).then_some(bad.row),
            "reason": bad.error.to_string(),
            "content": bad.content,
        });
        writeln!(aside, "{entry}").map_err(|source| ReadError::io(aside.get_ref().path(), source))
    }
}

impl BadRow {
    fn into_error(self, file: &Path) -> ReadError {
        let file = file.to_owned();
        match self.row {
            0 => ReadError::File {
                file,
                error: self.error,
            },
            row => ReadError::Row {
                file,
                row,
                error: self.error,
            },
        }
    }
}

/// A record, or a row that is none and the file it is in.
enum Row {
    Good(Box<Record>),
    Bad(Arc<Path>, BadRow),
}

impl Iterator for Reader {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.next_record().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

/// The files that files and folders stand for, in order.
pub(crate) fn expand<P: AsRef<Path>>(inputs: &[P]) -> Result<Vec<PathBuf>, ReadError> {
    let mut files = Vec::new();
    for input in inputs {
        let input = input.as_ref();
        let kind = fs::metadata(input).map_err(|source| ReadError::io(input, source))?;
        if kind.is_dir() {
            let before = files.len();
            walk(input, 0, &mut files)?;
            if files.len() == before {
                let folder = input.to_owned();
                return Err(ReadError::Empty { folder });
            }
        } else {
            files.push(input.to_owned());
        }
    }
    Ok(files)
}

/// Folders within folders, which a link to itself would make endless.
const DEEPEST: usize = 64;

fn walk(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), ReadError> {
    let io = |source| ReadError::io(folder, source);
    if DEEPEST < depth {
        return Err(io(io::Error::other(
            "more than 64 folders within one another",
        )));
    }
    let entries = fs::read_dir(folder).map_err(io)?;
    let entries: io::Result<Vec<_>> = entries.map(|entry| entry.map(|e| e.path())).collect();
    let mut entries = entries.map_err(io)?;
    entries.sort();
    for entry in entries {
        let name = entry.file_name().map(|name| name.to_string_lossy());
        if name.is_some_and(|name| name.starts_with('.')) {
            continue;
        }
        if entry.is_dir() {
            walk(&entry, depth + 1, files)?;
        } else if Format::of_name(&entry).is_some() {
            files.push(entry);
        }
    }
    Ok(())
}

/// Why records cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file or the disk.
    #[error("cannot read {}", file.display())]
    Io {
        /// Which file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The whole file is not what its name or its first bytes say.
    #[error("{}: {error}", file.display())]
    File {
        /// Which file.
        file: PathBuf,
        /// Why.
        error: RowError,
    },
    /// A row is not a record.
    #[error("{}, row {row}: {error}", file.display())]
    Row {
        /// Which file.
        file: PathBuf,
        /// Its place in the file, from 1.
        row: u64,
        /// Why.
        error: RowError,
    },
    /// Nothing to read.
    #[error("{} has no file that ends in .parquet, .jsonl or .dsjson", folder.display())]
    Empty {
        /// Which folder.
        folder: PathBuf,
    },
}

impl ReadError {
    pub(crate) fn io(file: &Path, source: io::Error) -> Self {
        Self::Io {
            file: file.to_owned(),
            source,
        }
    }
}
