use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::reader::ReadError;
use crate::record::Cells;
use crate::table::Table;

/// Reads the rows of a CSV, of JSON lines or of Parquet as named values; `-` is the standard input. Memory does not grow with
/// the file.
///
/// In a CSV every value is text: [`typed_cell`](crate::typed_cell) says what it would be elsewhere.
///
/// ```
/// use egret_log::{TableReader, typed_cell};
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("customers.csv");
/// std::fs::write(&file, "age,segment\n31,b\n")?;
/// let mut rows = TableReader::open(&file)?;
/// let row = rows.next().expect("one row")?;
/// assert_eq!((&*row[0].0, rows.row(), rows.is_text()), ("age", 2, true));
/// assert_eq!(typed_cell("31"), 31.into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TableReader {
    file: PathBuf,
    table: Table,
    ended: bool,
}

impl TableReader {
    /// Opens a file. The ending of its name tells the format, or its first bytes do.
    pub fn open(file: &Path) -> Result<Self, ReadError> {
        Ok(Self {
            table: Table::open_any(file).map_err(|error| ReadError::open(file, error))?,
            file: file.to_owned(),
            ended: false,
        })
    }

    /// The names of all columns, where they are known before the rows are read.
    pub fn columns(&self) -> Option<Vec<Arc<str>>> {
        self.table.columns()
    }

    /// Whether every value is text, as in a CSV.
    pub fn is_text(&self) -> bool {
        self.table.is_text()
    }

    /// The place of the row that was read last, from 1: the line in a file of text, where the names of a CSV are in line 1.
    pub fn row(&self) -> u64 {
        self.table.row()
    }

    /// The share of the file that was read.
    pub fn progress(&self) -> f64 {
        self.table.progress()
    }
}

impl Iterator for TableReader {
    type Item = Result<Cells, ReadError>;

    /// Bad rows do not end the reading; what cannot be read at all does.
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        match self.table.next_cells() {
            Ok(None) => None,
            Ok(Some(cells)) => Some(cells.map_err(|bad| bad.into_error(&self.file))),
            Err(error) => {
                self.ended = true;
                Some(Err(ReadError::io(&self.file, error)))
            }
        }
    }
}
