use std::io::{self, BufRead as _, Cursor, Read};
use std::sync::Arc;

use csv::{ByteRecord, ReaderBuilder};
use egret::FeatureValue;
use serde_json::Value;

use crate::input::Input;
use crate::record::{Cells, RowError, bad_row::BadRow};

/// A row that is longer is none: a quote was opened and not closed.
const LONGEST: u64 = 64 << 20;

/// What some programs begin a file of UTF-8 with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The rows of a CSV, all of them text.
pub(crate) struct CsvRows {
    /// None only while it is made anew.
    reader: Option<csv::Reader<Watched>>,
    /// Lines of the file before what the reader counts as its first.
    lines_before: u64,
    names: Arc<[Arc<str>]>,
    delimiter: u8,
    record: ByteRecord,
    row: u64,
}

impl CsvRows {
    /// Reads the names. What separates cells is what the line of names has most: a comma, a semicolon or a tab.
    pub(crate) fn open(mut input: Input) -> io::Result<Result<Self, RowError>> {
        if input.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
            input.consume(BYTE_ORDER_MARK.len());
        }
        let start = input.fill_buf()?;
        let line = start
            .split(|&byte| byte == b'\n')
            .next()
            .unwrap_or_default();
        let count = |separator: &u8| line.iter().filter(|byte| *byte == separator).count();
        // The last of equals, and so a comma where there is none of them.
        let delimiter = [b'\t', b';', b','].into_iter().max_by_key(count);
        let delimiter = delimiter.unwrap_or(b',');
        let mut reader = rows_of(Watched::new(input, Vec::new()), delimiter);
        let mut header = ByteRecord::new();
        reader.read_byte_record(&mut header).map_err(into_io)?;
        Ok(names_of(&header).map(|names| Self {
            reader: Some(reader),
            lines_before: 0,
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
        self.reader().get_ref().input.progress()
    }

    fn reader(&self) -> &csv::Reader<Watched> {
        self.reader.as_ref().expect("it is made anew at once")
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<Result<Cells, BadRow>>> {
        let reader = self.reader.as_mut().expect("it is made anew at once");
        let start = reader.position().byte();
        reader.get_mut().begin_row(start);
        if !reader.read_byte_record(&mut self.record).map_err(into_io)? {
            return Ok(None);
        }
        let line = self.record.position().map_or(0, csv::Position::line);
        let breaks = self.reader().get_ref().breaks_at(self.start()).count();
        self.row = self.lines_before + line + breaks as u64;
        let never_closed = self.is_never_closed();
        let cells = self.cells(never_closed).map_err(|error| BadRow {
            row: self.row,
            error,
            content: self.content(),
        });
        if never_closed {
            self.go_on_after_this_line();
        }
        Ok(Some(cells))
    }

    /// Where the row begins, with what is left of the end of the line before it, and with empty lines.
    fn start(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::byte)
    }

    /// Whether a quote opens in this row and swallows all that follows.
    fn is_never_closed(&self) -> bool {
        let (reader, start) = (self.reader(), self.start());
        let broken = self.record.iter().any(|cell| cell.contains(&b'\n'));
        broken
            && reader
                .get_ref()
                .is_open_from(start, reader.position().byte())
    }

    /// Reads what an open quote has swallowed once more, from the next line on.
    fn go_on_after_this_line(&mut self) {
        let start = self.start();
        let Some(reader) = self.reader.take() else {
            return;
        };
        let watched = reader.into_inner().after_line_at(start);
        self.lines_before = self.row;
        self.reader = Some(rows_of(watched, self.delimiter));
    }

    fn cells(&self, never_closed: bool) -> Result<Cells, RowError> {
        if let Some(problem) = self.open_quote(never_closed) {
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
    fn open_quote(&self, never_closed: bool) -> Option<String> {
        let broken = |cell: &&[u8]| cell.contains(&b'\n');
        let cell = self.record.iter().find(broken)?;
        let separators = |line: &[u8]| line.iter().filter(|byte| **byte == self.delimiter).count();
        let mut lines = cell.split(|&byte| byte == b'\n').skip(1);
        // Of two columns one separator would be enough, and prose has that.
        let swallowed =
            2 < self.names.len() && lines.any(|line| self.names.len() - 1 <= separators(line));
        (swallowed || never_closed).then(|| {
            let lines = cell.split(|&byte| byte == b'\n').count() - 1;
            format!("a quote opens in this row and is not closed before {lines} more lines: close or double it")
        })
    }

    fn content(&self) -> Value {
        let text = |cell: &[u8]| Value::String(String::from_utf8_lossy(cell).into_owned());
        self.record.iter().map(text).collect()
    }
}

/// Rows without a line of names.
fn rows_of(bytes: Watched, delimiter: u8) -> csv::Reader<Watched> {
    ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .has_headers(false)
        .from_reader(bytes)
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

/// The bytes on their way to the rows. Those of the row in hand are kept, to be read again where a quote is open.
struct Watched {
    input: Input,
    /// What is read before the input.
    again: Cursor<Vec<u8>>,
    /// The bytes from `kept_from` on, which is at or before the start of the row in hand.
    kept: Vec<u8>,
    kept_from: u64,
    /// Where the row in hand starts.
    start: u64,
    ended: bool,
}

/// Bytes of rows that are done are dropped when there are so many.
const ENOUGH: u64 = 1 << 16;

impl Watched {
    fn new(input: Input, again: Vec<u8>) -> Self {
        Self {
            input,
            again: Cursor::new(again),
            kept: Vec::new(),
            kept_from: 0,
            start: 0,
            ended: false,
        }
    }

    fn begin_row(&mut self, start: u64) {
        self.start = start;
        if ENOUGH < start - self.kept_from {
            self.kept.drain(..(start - self.kept_from) as usize);
            self.kept_from = start;
        }
    }

    /// Whether these bytes reach to the end of the file and have a quote without another.
    fn is_open_from(&self, start: u64, end: u64) -> bool {
        let row = &self.kept[(start - self.kept_from) as usize..];
        let quotes = row.iter().filter(|byte| **byte == b'"').count();
        self.ended && end == self.kept_from + self.kept.len() as u64 && quotes % 2 == 1
    }

    /// The ends of lines that stand before the row that starts here.
    fn breaks_at(&self, start: u64) -> impl Iterator<Item = usize> {
        let row = &self.kept[(start - self.kept_from) as usize..];
        let before = row.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
        before
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(place, _)| place)
    }

    /// The same bytes, from the line after the row that starts here.
    fn after_line_at(mut self, start: u64) -> Self {
        let before = self.breaks_at(start).last().map_or(0, |place| place + 1);
        let mut rest = self.kept.split_off((start - self.kept_from) as usize);
        let line = rest[before..].iter().position(|&byte| byte == b'\n');
        rest.drain(..line.map_or(rest.len(), |end| before + end + 1));
        self.again.read_to_end(&mut rest).expect("it is in memory");
        Self::new(self.input, rest)
    }
}

impl Read for Watched {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let since = self.kept_from + self.kept.len() as u64 - self.start;
        if LONGEST < since {
            return Err(io::Error::other(
                "a row is longer than 64 MiB: a quote may be open that is never closed",
            ));
        }
        let mut read = self.again.read(into)?;
        if read == 0 {
            read = self.input.read(into)?;
        }
        self.kept.extend_from_slice(&into[..read]);
        self.ended |= read == 0;
        Ok(read)
    }
}
