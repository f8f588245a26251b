use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::data::{arff, csv, parquet};

/// The contents of a data file: named columns of equal length. A column holds numbers or categories; values may be missing.
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
    /// The name, unique in the table.
    pub name: String,
    /// One value for each row.
    pub values: Values,
}

/// The values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Numbers. NaN means missing (and, as always, equals nothing).
    Numbers(Vec<f64>),
    /// Categories.
    Categories {
        /// The names of the categories, each once.
        levels: Vec<String>,
        /// For each row the index of its category in `levels`; `None` means missing.
        codes: Vec<Option<u32>>,
    },
}

impl Values {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Categories { codes, .. } => codes.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers as categories, named as the numbers are written.
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
    /// Checks that column names are unique and that columns have equal length. `source` says in messages where the table came
    /// from.
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
                let what =
                    format!("row {row} of column {name:?} is not one of its {levels} levels");
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

    /// Reads a Parquet, CSV or ARFF file. The ending of its name says which it is.
    pub fn read(path: &Path) -> Result<Self, TableError> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("parquet") => parquet::read(path),
            Some("csv" | "tsv") => Self::read_csv(path, None),
            Some("arff") => arff::parse(&path.display().to_string(), &text(path)?),
            _ => Err(TableError::new(
                path.display(),
                "unknown file type, expected a name that ends in .parquet, .csv, .tsv or .arff",
            )),
        }
    }

    /// Reads a CSV file. Without a delimiter, it is the comma, semicolon or tab that the header uses.
    pub fn read_csv(path: &Path, delimiter: Option<u8>) -> Result<Self, TableError> {
        csv::parse(&path.display().to_string(), &text(path)?, delimiter)
    }

    /// Sets the label column, for users who name none, and the columns that are not features.
    pub fn with_roles(mut self, target: Option<String>, ignored: Vec<String>) -> Self {
        self.target = target;
        self.ignored = ignored;
        self
    }

    /// Sets the id of the data set on OpenML.
    pub fn with_openml_id(mut self, id: Option<u32>) -> Self {
        self.openml_id = id;
        self
    }

    /// Where the table came from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The columns, in the order of the file.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The label column, if the file names one.
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// Columns that the file marks as no features, such as row numbers.
    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// The id of the data set on OpenML, if the file has it.
    pub fn openml_id(&self) -> Option<u32> {
        self.openml_id
    }
}

/// Collects words into levels and codes.
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

/// Decodes UTF-8, or else Latin-1, which older files use.
pub(crate) fn decoded(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let bytes = error.into_bytes();
        bytes.into_iter().map(char::from).collect()
    })
}

/// The name of a file without its folder and ending.
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
    fn columns_have_equal_length_and_unique_names() {
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
            "x.csv: row 2 of column \"c\" is not one of its 1 levels"
        );
    }

    #[test]
    fn numbers_become_categories_named_as_they_are_written() {
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
    fn an_error_names_the_file_that_is_no_table() {
        let error = Table::read(Path::new("notes.txt")).expect_err("no table");
        assert!(error.to_string().starts_with("notes.txt: "), "{error}");
    }

    #[test]
    fn files_are_read_by_their_ending_in_utf8_and_latin1() {
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
