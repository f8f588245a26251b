//! Tables from anywhere: rows of named values, before anybody says what they mean.
//!
//! A `Table` reads CSV, JSON lines, Parquet and Arrow. A [`LogMapping`](crate::LogMapping) makes records of its rows; deciding
//! makes contexts of them. In a CSV everything is text, and [`typed_cell`] says what a cell would be elsewhere.

pub(crate) mod cell;
pub(crate) mod csv_rows;

pub use cell::typed_cell;

use std::fs::File;
use std::io::{self, BufRead as _, Seek as _};
use std::path::Path;
use std::sync::Arc;

use egret::{FeatureValue, Features, Objective, Space};

use crate::format::Format;
use crate::input::Input;
use crate::json::line_source::LineSource;
use crate::parquet::{memory_table::MemoryTable, source::BatchSource};
use crate::record::{Cells, RowError, bad_row::BadRow, field};
use crate::table::csv_rows::CsvRows;

/// Reads the rows of a CSV, of JSON lines, of Parquet or of Arrow; `-` is the standard input. Memory does not grow with the file.
pub(crate) struct Table {
    rows: Rows,
}

enum Rows {
    Csv(Box<CsvRows>),
    Lines(Box<LineSource<Cells>>),
    Batches(Box<BatchSource>),
}

/// Why a table cannot be opened: the disk, or what is in the file.
pub(crate) enum OpenError {
    Io(io::Error),
    Content(RowError),
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<RowError> for OpenError {
    fn from(error: RowError) -> Self {
        Self::Content(error)
    }
}

impl Table {
    /// Opens a file whose format is known.
    pub(crate) fn open_as(path: &Path, format: Format) -> Result<Self, OpenError> {
        if format == Format::Parquet {
            let source = BatchSource::parquet(File::open(path)?)?;
            let rows = Rows::Batches(Box::new(source));
            return Ok(Self { rows });
        }
        Self::of_input(path, Input::open(path)?, format)
    }

    /// The table whose format is known, from a pipe or a file.
    pub(crate) fn of_input(path: &Path, input: Input, format: Format) -> Result<Self, OpenError> {
        let rows = match format {
            Format::Csv => Rows::Csv(Box::new(CsvRows::open(input)??)),
            Format::JsonLines | Format::DsJson => Rows::Lines(Box::new(lines(input))),
            Format::Arrow => Rows::Batches(Box::new(BatchSource::arrow(input)?)),
            Format::Parquet => {
                Rows::Batches(Box::new(BatchSource::parquet(seekable(path, input)?)?))
            }
        };
        Ok(Self { rows })
    }

    /// The rows of a table in memory.
    pub(crate) fn of_memory(table: &MemoryTable) -> Result<Self, RowError> {
        let rows = Rows::Batches(Box::new(BatchSource::memory(table)?));
        Ok(Self { rows })
    }

    /// Opens a file, or the standard input, whatever its format is.
    pub(crate) fn open_any(path: &Path) -> Result<Self, OpenError> {
        if let Some(format) = Format::of_name(path) {
            return Self::open_as(path, format);
        }
        // Once: a pipe cannot be opened again.
        let mut input = Input::open(path)?;
        let format = Format::of_bytes(input.fill_buf()?);
        Self::of_input(path, input, format)
    }

    /// The names of all columns, where they are known before the rows are read.
    pub(crate) fn columns(&self) -> Option<Vec<Arc<str>>> {
        match &self.rows {
            Rows::Csv(rows) => Some(
                rows.names()
                    .iter()
                    .filter(|name| !name.is_empty())
                    .cloned()
                    .collect(),
            ),
            Rows::Lines(_) => None,
            Rows::Batches(source) => Some(source.names()),
        }
    }

    /// Whether every value is text, and [`typed_cell`] is to be asked what it says.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.rows, Rows::Csv(_))
    }

    /// The place of the row that was read last, from 1: the line in a file of text, where the names of a CSV are in line 1.
    pub(crate) fn row(&self) -> u64 {
        match &self.rows {
            Rows::Csv(rows) => rows.row(),
            Rows::Lines(lines) => lines.row(),
            Rows::Batches(source) => source.row(),
        }
    }

    /// The share of the file that was read.
    pub(crate) fn progress(&self) -> f64 {
        match &self.rows {
            Rows::Csv(rows) => rows.progress(),
            Rows::Lines(lines) => lines.progress(),
            Rows::Batches(source) => source.progress(),
        }
    }

    pub(crate) fn next_cells(&mut self) -> io::Result<Option<Result<Cells, BadRow>>> {
        match &mut self.rows {
            Rows::Csv(rows) => rows.next(),
            Rows::Lines(lines) => lines.next(),
            Rows::Batches(source) => Ok(source.next_cells()),
        }
    }

    /// The action space and the objective that the file states for all its rows.
    pub(crate) fn stated(&self) -> (Option<Arc<Space>>, Option<Objective>) {
        match &self.rows {
            Rows::Batches(source) => source.stated(),
            _ => (None, None),
        }
    }
}

/// The file, for Parquet, whose index is at its end; what is no file is first copied to one without a name.
pub(crate) fn seekable(path: &Path, mut input: Input) -> io::Result<File> {
    if path.is_file() {
        return File::open(path);
    }
    let mut file = tempfile::tempfile()?;
    io::copy(&mut input, &mut file)?;
    file.rewind()?;
    Ok(file)
}

/// What is inside objects goes by the path to it, with dots, unless the object is a field of a record, or is to be kept by its name.
pub fn flattened(cells: Cells, kept: Option<&str>) -> Cells {
    let nested = |(name, value): &(Arc<str>, FeatureValue)| {
        matches!(value, FeatureValue::Object(_))
            && field::find(name, 0).is_none()
            && kept != Some(&**name)
    };
    if !cells.iter().any(nested) {
        return cells;
    }
    let mut flat = Cells::new();
    for cell in cells {
        if nested(&cell) {
            let inside = Features::new().with(&*cell.0, cell.1);
            inside.for_each_leaf(|name, value| flat.push((name.into(), value.clone())));
        } else {
            flat.push(cell);
        }
    }
    flat
}

/// Each line is a row; a list of numbers is a context alone.
fn lines(input: Input) -> LineSource<Cells> {
    LineSource::new(
        input,
        Box::new(|line, _| {
            let unreadable = |error: serde_json::Error| {
                let text = error.to_string();
                let problem = text.split(" at line ").next().unwrap_or_default();
                RowError::Unreadable(format!("no JSON object: {problem}"))
            };
            if line.trim_ascii_start().starts_with(b"[") {
                let numbers: FeatureValue = serde_json::from_slice(line).map_err(unreadable)?;
                return Ok(vec![("context".into(), numbers)]);
            }
            let features: Features = serde_json::from_slice(line).map_err(unreadable)?;
            let cells = features.iter();
            Ok(cells
                .map(|(name, value)| (name.into(), value.clone()))
                .collect())
        }),
    )
}
