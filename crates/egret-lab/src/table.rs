use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::{arff_table, csv_table, parquet_table};

/// What a file of data holds: named columns of one length, numbers or categories, values missing here and there.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    source: String,
    columns: Vec<Column>,
    rows: usize,
    target: Option<String>,
    ignored: Vec<String>,
    openml_id: Option<u32>,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// What it is called; no other column of the table is.
    pub name: String,
    /// One for each row.
    pub values: Values,
}

/// What a column holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Numbers; NaN is missing (and, as ever, equal to none).
    Numbers(Vec<f64>),
    /// Categories.
    Categories {
        /// What they are called, each once.
        levels: Vec<String>,
        /// The place of each row's category among the levels; none is missing.
        codes: Vec<Option<u32>>,
    },
}

impl Values {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Categories { codes, .. } => codes.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers as categories that are called as the numbers are written.
    pub(crate) fn into_categories(self) -> Self {
        match self {
            Self::Numbers(values) => {
                let mut words = CategoryBuilder::default();
                for value in values {
                    words.push((!value.is_nan()).then(|| value.to_string()).as_deref());
                }
                words.finish()
            }
            categories => categories,
        }
    }
}

impl Table {
    /// Checks that columns have names of their own and one length. `source` is where it came from, for messages.
    pub fn new(source: impl Into<String>, columns: Vec<Column>) -> Result<Self, TableError> {
        let source = source.into();
        let rows = columns.first().map_or(0, |column| column.values.len());
        for (place, column) in columns.iter().enumerate() {
            let name = &column.name;
            let found = column.values.len();
            if found != rows {
                let what = format!("column {name:?} has {found} rows, expected {rows}");
                return Err(TableError::new(&source, what));
            }
            if columns[..place].iter().any(|other| other.name == *name) {
                let what = format!("two columns are called {name:?}");
                return Err(TableError::new(&source, what));
            }
            if let Values::Categories { levels, codes } = &column.values
                && let Some(row) = (codes.iter())
                    .position(|code| code.is_some_and(|code| levels.len() <= code as usize))
            {
                let (row, levels) = (row + 1, levels.len());
                let what = format!("row {row} of column {name:?} is none of its {levels} levels");
                return Err(TableError::new(&source, what));
            }
        }
        Ok(Self {
            source,
            columns,
            rows,
            target: None,
            ignored: Vec::new(),
            openml_id: None,
        })
    }

    /// Reads a file: Parquet, CSV or ARFF by the ending of its name.
    pub fn read(path: &Path) -> Result<Self, TableError> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("parquet") => parquet_table::read(path),
            Some("csv" | "tsv") => Self::read_csv(path, None),
            Some("arff") => arff_table::parse(&path.display().to_string(), &text(path)?),
            _ => Err(TableError::new(
                path.display(),
                "the name does not say what it is, expected one that ends in .parquet, .csv, .tsv or .arff",
            )),
        }
    }

    /// Reads a CSV file whose fields are parted by this; by comma, semicolon or tab as its header has it, if none
    /// is given.
    pub fn read_csv(path: &Path, delimiter: Option<u8>) -> Result<Self, TableError> {
        csv_table::parse(&path.display().to_string(), &text(path)?, delimiter)
    }

    /// Says which column is the label unless the user says another, and which are no features.
    pub fn with_roles(mut self, target: Option<String>, ignored: Vec<String>) -> Self {
        self.target = target;
        self.ignored = ignored;
        self
    }

    /// Says which data set of OpenML it is.
    pub fn with_openml_id(mut self, id: Option<u32>) -> Self {
        self.openml_id = id;
        self
    }

    /// Where it came from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The columns, in the order of the file.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The column that the file itself calls its label.
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// Columns that are no features, by the file's own word: row numbers and the like.
    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// Which data set of OpenML it is, if the file says.
    pub fn openml_id(&self) -> Option<u32> {
        self.openml_id
    }
}

/// Gathers words into levels and codes.
#[derive(Debug, Default)]
pub(crate) struct CategoryBuilder {
    places: HashMap<String, u32>,
    levels: Vec<String>,
    codes: Vec<Option<u32>>,
}

impl CategoryBuilder {
    pub(crate) fn push(&mut self, word: Option<&str>) {
        let code = word.map(|word| match self.places.get(word) {
            Some(&code) => code,
            None => {
                let code = self.levels.len() as u32;
                self.places.insert(word.to_owned(), code);
                self.levels.push(word.to_owned());
                code
            }
        });
        self.codes.push(code);
    }

    pub(crate) fn finish(self) -> Values {
        Values::Categories {
            levels: self.levels,
            codes: self.codes,
        }
    }
}

/// Why a file is not a table.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{source_name}: {what}")]
pub struct TableError {
    source_name: String,
    what: String,
}

impl TableError {
    pub(crate) fn new(source: impl ToString, what: impl Into<String>) -> Self {
        Self {
            source_name: source.to_string(),
            what: what.into(),
        }
    }

    pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        Self::new(path.display(), format!("cannot be read: {error}"))
    }
}

fn text(path: &Path) -> Result<String, TableError> {
    let bytes = std::fs::read(path).map_err(|error| TableError::unreadable(path, &error))?;
    Ok(decoded(bytes))
}

/// UTF-8, or else Latin-1, as older files have it.
pub(crate) fn decoded(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let bytes = error.into_bytes();
        bytes.into_iter().map(char::from).collect()
    })
}

/// What a file is called without its folder and ending.
pub(crate) fn stem(path: &Path) -> String {
    let stem = path.file_stem().map(PathBuf::from).unwrap_or_default();
    stem.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(name: &str, values: &[f64]) -> Column {
        Column {
            name: name.to_owned(),
            values: Values::Numbers(values.to_vec()),
        }
    }

    #[test]
    fn columns_have_one_length_and_names_of_their_own() {
        let message = |columns| {
            let table = Table::new("x.csv", columns);
            table.expect_err("a bad table").to_string()
        };
        assert_eq!(
            message(vec![numbers("a", &[1.0, 2.0]), numbers("b", &[1.0])]),
            "x.csv: column \"b\" has 1 rows, expected 2"
        );
        assert_eq!(
            message(vec![numbers("a", &[1.0]), numbers("a", &[1.0])]),
            "x.csv: two columns are called \"a\""
        );
        let beyond = Column {
            name: "c".to_owned(),
            values: Values::Categories {
                levels: vec!["red".to_owned()],
                codes: vec![None, Some(1)],
            },
        };
        assert_eq!(
            message(vec![beyond]),
            "x.csv: row 2 of column \"c\" is none of its 1 levels"
        );
    }

    #[test]
    fn numbers_become_categories_called_as_they_are_written() {
        let values = Values::Numbers(vec![2.0, f64::NAN, 0.5, 2.0]);
        assert_eq!(
            values.into_categories(),
            Values::Categories {
                levels: vec!["2".to_owned(), "0.5".to_owned()],
                codes: vec![Some(0), None, Some(1), Some(0)],
            }
        );
    }

    #[test]
    fn a_file_that_is_no_table_is_named() {
        let error = Table::read(Path::new("notes.txt")).expect_err("no table");
        assert!(error.to_string().starts_with("notes.txt: "), "{error}");
    }

    #[test]
    fn files_are_read_by_their_ending_and_in_either_alphabet() {
        let folder = tempfile::tempdir().expect("a folder");
        let arff = b"@attribute caf\xe9 numeric\n@data\n1\n".to_vec();
        for (name, bytes) in [("a.CSV", "café\n1\n".as_bytes().to_vec()), ("a.arff", arff)] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("written");
            let table = Table::read(&path).expect("sound");
            assert_eq!(table.columns(), [numbers("café", &[1.0])]);
        }
    }
}
