use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use egret::Space;
use serde_json::json;

use crate::format::Format;
use crate::input::{Input, is_stdin};
use crate::json::{
    self, dsjson,
    line_source::{Decode, LineSource},
};
use crate::mapping::{LogMapping, source::MappedSource};
use crate::output_file::OutputFile;
use crate::parquet::{memory_table::MemoryTable, source::BatchSource};
use crate::record::{Record, RowError, bad_row::BadRow};
use crate::table::{OpenError, Table, seekable};

/// Reads the records of files and folders, in order. Memory does not grow with the log.
///
/// A folder stands for its `*.parquet`, `*.jsonl` and `*.dsjson` files in order of name, and for those of its folders; for its
/// `*.csv` too, where a [`LogMapping`] says what their columns are. The last part of a path may have `*` and `?` for the names
/// of files; `-` is the standard input. The ending of a name tells the format; the first bytes do where it does not.
///
/// Records of a table need a mapping: [`open_mapped`](Self::open_mapped), or a file beside the table
/// ([`LogMapping::places`]).
pub struct Reader {
    files: VecDeque<(PathBuf, u64)>,
    source: Option<(Arc<Path>, u64, Source)>,
    on_bad: OnBad,
    aside: Option<BufWriter<OutputFile>>,
    skipped: u64,
    mapping: LogMapping,
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
    Batches(Box<BatchSource>),
    Lines(Box<LineSource<Record>>),
    Mapped(Box<MappedSource>),
}

impl Reader {
    /// Finds the files; each is opened when its turn comes.
    pub fn open<P: AsRef<Path>>(inputs: &[P], on_bad: OnBad) -> Result<Self, ReadError> {
        Self::open_mapped(inputs, on_bad, LogMapping::default())
    }

    /// Finds the files, which are tables or records: a mapping says which column is what. What it leaves open, a file beside
    /// a table may say.
    pub fn open_mapped<P: AsRef<Path>>(
        inputs: &[P],
        on_bad: OnBad,
        mapping: LogMapping,
    ) -> Result<Self, ReadError> {
        let mut files = VecDeque::new();
        for file in expand_mapped(inputs, &mapping)? {
            let size = match is_stdin(&file) {
                true => 0,
                false => fs::metadata(&file)
                    .map_err(|source| ReadError::io(&file, source))?
                    .len(),
            };
            files.push_back((file, size));
        }
        Self::new(files, on_bad, mapping)
    }

    /// Reads a table in memory; a mapping says which column is what.
    pub fn of_table(
        table: &MemoryTable,
        on_bad: OnBad,
        mapping: LogMapping,
    ) -> Result<Self, ReadError> {
        let refused = |error| ReadError::File {
            file: MemoryTable::name().to_path_buf(),
            error,
        };
        let source = if mapping.names_columns() {
            let rows = Table::of_memory(table).map_err(refused)?;
            let source = MappedSource::new(rows, &mapping).map_err(refused)?;
            Source::Mapped(Box::new(source))
        } else {
            Source::Batches(Box::new(BatchSource::memory(table).map_err(refused)?))
        };
        let mut reader = Self::new(VecDeque::new(), on_bad, mapping)?;
        reader.bytes = table.rows();
        reader.source = Some((MemoryTable::name(), table.rows(), source));
        Ok(reader)
    }

    fn new(
        files: VecDeque<(PathBuf, u64)>,
        on_bad: OnBad,
        mapping: LogMapping,
    ) -> Result<Self, ReadError> {
        let aside = match &on_bad {
            OnBad::Stop => None,
            OnBad::Skip(path) => Some(BufWriter::new(
                OutputFile::create(path).map_err(|source| ReadError::aside(path, source))?,
            )),
        };
        Ok(Self {
            bytes: files.iter().map(|(_, size)| size).sum(),
            files,
            source: None,
            on_bad,
            aside,
            skipped: 0,
            mapping,
            done: 0,
            ended: false,
        })
    }

    /// The share of the bytes that were read, for a progress bar.
    pub fn progress(&self) -> f64 {
        let current = self.source.as_ref().map_or(0.0, |(_, size, source)| {
            let share = match source {
                Source::Batches(source) => source.progress(),
                Source::Lines(source) => source.progress(),
                Source::Mapped(source) => source.progress(),
            };
            share * *size as f64
        });
        (self.done as f64 + current) / self.bytes.max(1) as f64
    }

    /// The place of the record that was read last in its file, from 1.
    pub fn row(&self) -> u64 {
        match &self.source {
            Some((_, _, Source::Batches(source))) => source.row(),
            Some((_, _, Source::Lines(source))) => source.row(),
            Some((_, _, Source::Mapped(source))) => source.row(),
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

    /// What densities of the file in hand were multiplied by: the width of its space where they are per unit, else 1.
    pub fn density_unit(&self) -> f64 {
        match &self.source {
            Some((_, _, Source::Mapped(source))) => source.unit(),
            _ => 1.0,
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
                    .map_err(|source| ReadError::aside(&path, source))?;
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
                    Err(ReadError::File { file, error }) => {
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
                Source::Batches(source) => source.next(),
                Source::Lines(source) => {
                    source.next().map_err(|error| ReadError::io(file, error))?
                }
                Source::Mapped(source) => {
                    source.next().map_err(|error| ReadError::io(file, error))?
                }
            };
            let bad = match next {
                None => {
                    self.done += *size;
                    self.source = None;
                    continue;
                }
                Some(Ok(mut record)) => match settle(&mut record, &self.mapping) {
                    Ok(()) => return Ok(Some(Row::Good(Box::new(record)))),
                    Err(error) => self.bad(&record, error),
                },
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
        let refused = |error| ReadError::File {
            file: path.to_owned(),
            error,
        };
        let mapping = self.mapping.or(&beside(path)?);
        let as_table = |table: Result<Table, OpenError>| {
            let table = table.map_err(|error| ReadError::open(path, error))?;
            let source = MappedSource::new(table, &mapping).map_err(refused)?;
            Ok(Source::Mapped(Box::new(source)))
        };
        let named = Format::of_name(path);
        if let Some(format) = named
            && (format == Format::Csv || mapping.names_columns() && format != Format::DsJson)
        {
            return as_table(Table::open_as(path, format));
        }
        if named == Some(Format::Parquet) {
            let source = BatchSource::parquet(File::open(path).map_err(io)?).map_err(refused)?;
            return Ok(Source::Batches(Box::new(source)));
        }
        // Once: a pipe cannot be opened again.
        let mut input = Input::open(path).map_err(io)?;
        let format = match named {
            Some(format) => format,
            None => Format::of_bytes(input.fill_buf().map_err(io)?),
        };
        let decode: Decode<Record> = match format {
            Format::Parquet | Format::Arrow if mapping.names_columns() => {
                return as_table(Table::of_input(path, input, format));
            }
            Format::Parquet => {
                let file = seekable(path, input).map_err(io)?;
                let source = BatchSource::parquet(file).map_err(refused)?;
                return Ok(Source::Batches(Box::new(source)));
            }
            Format::Arrow => {
                let source = BatchSource::arrow(input).map_err(refused)?;
                return Ok(Source::Batches(Box::new(source)));
            }
            Format::Csv => return as_table(Table::of_input(path, input, format)),
            Format::JsonLines if mapping.names_columns() => {
                return as_table(Table::of_input(path, input, format));
            }
            Format::JsonLines => Box::new(json::read),
            Format::DsJson => {
                let mut missing = dsjson::Missing::default();
                if let Some(Space::Interval { low, high }) = mapping.space {
                    missing.interval = Some((low, high));
                }
                Box::new(move |line, cache| dsjson::read(line, missing, cache))
            }
        };
        Ok(Source::Lines(Box::new(LineSource::new(input, decode))))
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
        writeln!(aside, "{entry}")
            .map_err(|source| ReadError::aside(aside.get_ref().path(), source))
    }
}

impl BadRow {
    pub(crate) fn into_error(self, file: &Path) -> ReadError {
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

/// A record with the action space that was given for all of them. An error if it states another.
fn settle(record: &mut Record, mapping: &LogMapping) -> Result<(), RowError> {
    let given = mapping.space.as_ref();
    match (&record.mu, given.or(mapping.unstated_space.as_ref())) {
        (_, None) => Ok(()),
        (Some(own), Some(_)) => match given {
            Some(given) if **own != *given => Err(RowError::Space {
                found: own.to_string(),
                given: given.to_string(),
            }),
            _ => Ok(()),
        },
        (None, Some(given)) => {
            record.action = record.action.clone().into_kind(given.kind());
            record.mu = Some(Arc::new(given.clone()));
            record.check()
        }
    }
}

/// The mapping in the file beside a table, if there is one.
pub(crate) fn beside(file: &Path) -> Result<LogMapping, ReadError> {
    let Some(place) = LogMapping::places(file)
        .into_iter()
        .find(|place| place.is_file())
    else {
        return Ok(LogMapping::default());
    };
    let text = fs::read_to_string(&place).map_err(|source| ReadError::io(&place, source))?;
    LogMapping::from_toml(&text).map_err(|error| ReadError::File { file: place, error })
}

/// The files that files and folders stand for, in order.
pub(crate) fn expand<P: AsRef<Path>>(inputs: &[P]) -> Result<Vec<PathBuf>, ReadError> {
    expand_mapped(inputs, &LogMapping::default())
}

fn expand_mapped<P: AsRef<Path>>(
    inputs: &[P],
    mapping: &LogMapping,
) -> Result<Vec<PathBuf>, ReadError> {
    let mut files = Vec::new();
    for input in inputs {
        let input = input.as_ref();
        if is_stdin(input) {
            files.push(input.to_owned());
            continue;
        }
        if let Some(found) = matching(input)? {
            files.extend(found);
            continue;
        }
        let kind = fs::metadata(input).map_err(|source| ReadError::io(input, source))?;
        if kind.is_dir() {
            let before = files.len();
            walk(input, 0, mapping, &mut files)?;
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

/// The files whose names match a path with `*` or `?` in its last part, in order; none if it is a plain path.
fn matching(path: &Path) -> Result<Option<Vec<PathBuf>>, ReadError> {
    let Some(pattern) = path.file_name().and_then(|name| name.to_str()) else {
        return Ok(None);
    };
    if !pattern.contains(['*', '?']) || path.exists() {
        return Ok(None);
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let entries = fs::read_dir(folder).map_err(|source| ReadError::io(folder, source))?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| ReadError::io(folder, source))?;
        let name = entry.file_name();
        let fits = name
            .to_str()
            .is_some_and(|name| fits(pattern.as_bytes(), name.as_bytes()));
        if fits
            && entry.path().is_file()
            && entry
                .path()
                .extension()
                .is_none_or(|ending| ending != "toml")
        {
            found.push(path.with_file_name(name));
        }
    }
    if found.is_empty() {
        let source = io::Error::new(io::ErrorKind::NotFound, "no file has such a name");
        return Err(ReadError::io(path, source));
    }
    found.sort();
    Ok(Some(found))
}

/// Whether a name fits a pattern: `*` is anything, `?` any one byte.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.first(), name.first()) {
        (None, None) => true,
        (Some(b'*'), _) => {
            fits(&pattern[1..], name) || !name.is_empty() && fits(pattern, &name[1..])
        }
        (Some(b'?'), Some(_)) => fits(&pattern[1..], &name[1..]),
        (Some(one), Some(other)) => one == other && fits(&pattern[1..], &name[1..]),
        _ => false,
    }
}

/// Folders within folders, which a link to itself would make endless.
const DEEPEST: usize = 64;

fn walk(
    folder: &Path,
    depth: usize,
    mapping: &LogMapping,
    files: &mut Vec<PathBuf>,
) -> Result<(), ReadError> {
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
            walk(&entry, depth + 1, mapping, files)?;
            continue;
        }
        let is_log = match Format::of_name(&entry) {
            None => false,
            // Any table may lie beside a log: this one is a log if somebody says what its columns are.
            Some(Format::Csv) => mapping.names_columns() || beside(&entry)?.names_columns(),
            Some(_) => true,
        };
        if is_log {
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
    /// The file for bad rows cannot be written.
    #[error("cannot write bad rows to {}", file.display())]
    Aside {
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
    #[error(
        "{} has no file that ends in .parquet, .arrow, .feather, .jsonl or .dsjson, and no .csv whose columns are named: name them with --action \
         and the like, or let `egret log init FILE` propose it",
        folder.display()
    )]
    Empty {
        /// Which folder.
        folder: PathBuf,
    },
}

impl ReadError {
    pub(crate) fn open(file: &Path, error: OpenError) -> Self {
        match error {
            OpenError::Io(error) => Self::io(file, error),
            OpenError::Content(error) => Self::File {
                file: file.to_owned(),
                error,
            },
        }
    }

    pub(crate) fn io(file: &Path, source: io::Error) -> Self {
        Self::Io {
            file: file.to_owned(),
            source,
        }
    }

    fn aside(file: &Path, source: io::Error) -> Self {
        Self::Aside {
            file: file.to_owned(),
            source,
        }
    }
}
