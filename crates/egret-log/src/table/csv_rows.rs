use std::io::{self, BufRead as _, Read};
use std::sync::Arc;

use csv::{ByteRecord, ReaderBuilder};
use egret::FeatureValue;
use serde_json::Value;

use crate::input::Input;
use crate::record::{Cells, RowError, bad_row::BadRow};

/// A row that is longer is none: a quote was opened and not closed.
const LONGEST: usize = 64 << 20;

/// The rows of a CSV, all of them text.
pub(crate) struct CsvRows {
    reader: csv::Reader<Watched>,
    names: Arc<[Arc<str>]>,
    delimiter: u8,
    record: ByteRecord,
    row: u64,
}

impl CsvRows {
    /// Reads the names. What separates cells is what the line of names has most: a comma, a semicolon or a tab.
    pub(crate) fn open(mut input: Input) -> io::Result<Result<Self, RowError>> {
        let start = input.fill_buf()?;
        let line = start
            .split(|&byte| byte == b'\n')
            .next()
            .unwrap_or_default();
        let count = |separator: &u8| line.iter().filter(|byte| *byte == separator).count();
        // The last of equals, and so a comma where there is none of them.
        let delimiter = [b'\t', b';', b','].into_iter().max_by_key(count);
        let delimiter = delimiter.unwrap_or(b',');
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .from_reader(Watched::new(input));
        let header = reader.byte_headers().map_err(into_io)?.clone();
        Ok(names_of(&header).map(|names| Self {
            reader,
            names,
            delimiter,
            record: ByteRecord::new(),
            row: 1,
        }))
    }

    /// The names of the columns; empty for one that has none.
    pub(crate) fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// The line of the file where the row that was read last begins. The names are in line 1.
    pub(crate) fn row(&self) -> u64 {
        self.row
    }

    pub(crate) fn progress(&self) -> f64 {
        self.reader.get_ref().input.progress()
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<Result<Cells, BadRow>>> {
        self.reader.get_mut().since = 0;
        if !self
            .reader
            .read_byte_record(&mut self.record)
            .map_err(into_io)?
        {
            return Ok(None);
        }
        self.row = self.record.position().map_or(0, csv::Position::line);
        Ok(Some(self.cells().map_err(|error| BadRow {
            row: self.row,
            error,
            content: self.content(),
        })))
    }

    fn cells(&self) -> Result<Cells, RowError> {
        if let Some(problem) = self.open_quote() {
            return Err(RowError::Unreadable(problem));
        }
        if self.record.len() != self.names.len() {
            let (cells, names) = (self.record.len(), self.names.len());
            return Err(RowError::Unreadable(format!(
                "{cells} cells, and {names} names in line 1: quote cells that have a {} of their own",
                separator(self.delimiter)
            )));
        }
        let mut cells = Vec::with_capacity(self.names.len());
        for (name, cell) in self.names.iter().zip(&self.record) {
            let text = str::from_utf8(cell).map_err(|_| RowError::Type {
                field: name.to_string(),
                found: format!("{:?}", String::from_utf8_lossy(cell)),
                expected: "UTF-8: save the file in this encoding",
            })?;
            // A column without a name is an index that somebody's tool has added.
            if !name.is_empty() {
                let value = match text.trim() {
                    "" => FeatureValue::Missing,
                    _ => FeatureValue::Text(text.to_owned()),
                };
                cells.push((name.clone(), value));
            }
        }
        Ok(cells)
    }

    /// Whether a quote was opened here and not closed where it should: what follows would be one cell.
    fn open_quote(&self) -> Option<String> {
        let broken = |cell: &&[u8]| cell.contains(&b'\n');
        let cell = self.record.iter().find(broken)?;
        let separators = |line: &[u8]| line.iter().filter(|byte| **byte == self.delimiter).count();
        let mut lines = cell.split(|&byte| byte == b'\n').skip(1);
        let watched = self.reader.get_ref();
        let swallowed =
            1 < self.names.len() && lines.any(|line| self.names.len() - 1 <= separators(line));
        let never = watched.ended && watched.odd_quotes;
        (swallowed || never).then(|| {
            let lines = cell.split(|&byte| byte == b'\n').count() - 1;
            format!("a quote opens in this row and is not closed before {lines} more lines: close or double it")
        })
    }

    fn content(&self) -> Value {
        let text = |cell: &[u8]| Value::String(String::from_utf8_lossy(cell).into_owned());
        self.record.iter().map(text).collect()
    }
}

fn separator(delimiter: u8) -> &'static str {
    match delimiter {
        b'\t' => "tab",
        b';' => "semicolon",
        _ => "comma",
    }
}

fn names_of(header: &ByteRecord) -> Result<Arc<[Arc<str>]>, RowError> {
    let refused = |problem: String| Err(RowError::Unreadable(problem));
    let mut names: Vec<Arc<str>> = Vec::with_capacity(header.len());
    for name in header {
        let Ok(name) = str::from_utf8(name) else {
            let name = String::from_utf8_lossy(name);
            return refused(format!(
                "the name {name:?} in line 1 is not UTF-8: save the file in this encoding"
            ));
        };
        let name = name.trim();
        if !name.is_empty() && names.iter().any(|known| **known == *name) {
            return refused(format!(
                "two columns are called {name:?} in line 1: rename one"
            ));
        }
        names.push(name.into());
    }
    if names.iter().all(|name| name.is_empty()) {
        return refused("line 1 has no names of columns: write them there".to_owned());
    }
    Ok(names.into())
}

fn into_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// The bytes on their way to the rows: how many since the last row, and whether quotes come in pairs.
struct Watched {
    input: Input,
    since: usize,
    odd_quotes: bool,
    ended: bool,
}

impl Watched {
    fn new(input: Input) -> Self {
        Self {
            input,
            since: 0,
            odd_quotes: false,
            ended: false,
        }
    }
}

impl Read for Watched {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if LONGEST < self.since {
            return Err(io::Error::other(
                "a row is longer than 64 MiB: a quote may be open that is never closed",
            ));
        }
        let read = self.input.read(into)?;
        self.since += read;
        self.ended |= read == 0;
        let quotes = into[..read].iter().filter(|byte| **byte == b'"').count();
        self.odd_quotes ^= quotes % 2 == 1;
        Ok(read)
    }
}
