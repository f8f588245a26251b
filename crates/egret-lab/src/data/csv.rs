use csv::{ReaderBuilder, StringRecord};

use crate::data::table::CategoryBuilder;
use crate::data::{Column, Table, TableError, Values};

/// Reads a CSV file: a header, then one row per line. Fields may be quoted with ".
///
/// A column holds numbers if all of its values are numbers, else categories. A field that is empty, `?`, `NA` or `NaN` is
/// missing. A column without a name is named by its position: `column_1`.
pub(crate) fn parse(source: &str, text: &str, delimiter: Option<u8>) -> Result<Table, TableError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let delimiter = delimiter.unwrap_or_else(|| sniff(text));
    let names = header(source, text, delimiter)?;
    let mut numeric = vec![true; names.len()];
    for_each_row(source, text, delimiter, names.len(), |row| {
        for (column, field) in row.iter().enumerate() {
            numeric[column] &= is_missing(field) || field.trim().parse::<f64>().is_ok();
        }
    })?;
    let mut gathered: Vec<Gathered> = (numeric.iter())
        .map(|&numeric| match numeric {
            true => Gathered::Numbers(Vec::new()),
            false => Gathered::Words(CategoryBuilder::default()),
        })
        .collect();
    for_each_row(source, text, delimiter, names.len(), |row| {
        for (column, field) in gathered.iter_mut().zip(row) {
            column.push(field);
        }
    })?;
    let columns = names
        .into_iter()
        .zip(gathered)
        .map(|(name, values)| Column {
            name,
            values: values.finish(),
        });
    Table::new(source, columns.collect())
}

enum Gathered {
    Numbers(Vec<f64>),
    Words(CategoryBuilder),
}

impl Gathered {
    fn push(&mut self, field: &str) {
        let known = (!is_missing(field)).then_some(field.trim());
        match self {
            Self::Numbers(values) => {
                let number = known.and_then(|known| known.parse().ok());
                values.push(number.unwrap_or(f64::NAN));
            }
            Self::Words(words) => words.push(known),
        }
    }

    fn finish(self) -> Values {
        match self {
            Self::Numbers(values) => Values::Numbers(values),
            Self::Words(words) => words.finish(),
        }
    }
}

fn is_missing(field: &str) -> bool {
    let field = field.trim();
    matches!(field, "" | "?" | "NA") || field.eq_ignore_ascii_case("nan")
}

/// The comma, semicolon or tab: whichever occurs most often in the first line outside of quotes.
fn sniff(text: &str) -> u8 {
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0)];
    let mut quoted = false;
    let first = text.trim_start_matches(['\r', '\n']);
    for byte in first.bytes().take_while(|&byte| byte != b'\n') {
        quoted ^= byte == b'"';
        for (delimiter, count) in &mut counts {
            *count += usize::from(!quoted && byte == *delimiter);
        }
    }
    let more = |best: (u8, usize), other: (u8, usize)| if best.1 < other.1 { other } else { best };
    counts.into_iter().reduce(more).map_or(b',', |best| best.0)
}

fn header(source: &str, text: &str, delimiter: u8) -> Result<Vec<String>, TableError> {
    let mut names = StringRecord::new();
    let mut reader = reader(delimiter).from_reader(text.as_bytes());
    let found = reader.read_record(&mut names);
    if !found.map_err(|error| bad(source, &error))? {
        return Err(TableError::new(source, "line 1: expected a header"));
    }
    let name = |(place, name): (usize, &str)| match name.trim() {
        "" => format!("column_{}", place + 1),
        name => name.to_owned(),
    };
    Ok(names.iter().enumerate().map(name).collect())
}

fn for_each_row(
    source: &str,
    text: &str,
    delimiter: u8,
    width: usize,
    mut visit: impl FnMut(&StringRecord),
) -> Result<(), TableError> {
    let mut reader = reader(delimiter).from_reader(text.as_bytes());
    let mut row = StringRecord::new();
    let mut first = true;
    while (reader.read_record(&mut row)).map_err(|error| bad(source, &error))? {
        if row.len() != width {
            let line = line(text, row.position().map_or(0, |position| position.byte()));
            let found = row.len();
            let what = format!("line {line}: {found} fields, expected {width} as in the header");
            return Err(TableError::new(source, what));
        }
        if !first {
            visit(&row);
        }
        first = false;
    }
    Ok(())
}

/// The line, from 1, of the row that starts at this byte. Blank lines before the row do not belong to it.
fn line(text: &str, byte: u64) -> usize {
    let (before, rest) = text.as_bytes().split_at(byte as usize);
    let blank = (rest.iter()).take_while(|byte| matches!(byte, b'\r' | b'\n'));
    let ends = before.iter().chain(blank).filter(|&&byte| byte == b'\n');
    1 + ends.count()
}

fn reader(delimiter: u8) -> ReaderBuilder {
    let mut builder = ReaderBuilder::new();
    builder
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true);
    builder
}

fn bad(source: &str, error: &csv::Error) -> TableError {
    TableError::new(source, format!("not CSV: {error}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(text: &str) -> Table {
        parse("f.csv", text, None).expect("sound")
    }

    fn words(values: &Values) -> Vec<Option<&str>> {
        match values {
            Values::Categories { levels, codes } => (codes.iter())
                .map(|code| code.map(|code| levels[code as usize].as_str()))
                .collect(),
            Values::Numbers(_) => panic!("numbers"),
        }
    }

    fn numbers(values: &Values) -> Vec<Option<f64>> {
        match values {
            Values::Numbers(values) => (values.iter())
                .map(|&value| (!value.is_nan()).then_some(value))
                .collect(),
            Values::Categories { .. } => panic!("categories"),
        }
    }

    #[test]
    fn types_are_inferred_over_the_whole_column() {
        let table = table(
            "\u{feff}size, colour ,\"a, b\",\n1,red,\"x \"\"y\"\"\",1\r\n?,NA,two,\n-2.5e1, blue,3,NaN\n",
        );
        let names: Vec<_> = (table.columns().iter())
            .map(|column| column.name.as_str())
            .collect();
        assert_eq!(names, ["size", "colour", "a, b", "column_4"]);
        let values = |place: usize| &table.columns()[place].values;
        assert_eq!(numbers(values(0)), [Some(1.0), None, Some(-25.0)]);
        assert_eq!(words(values(1)), [Some("red"), None, Some("blue")]);
        assert_eq!(words(values(2)), [Some("x \"y\""), Some("two"), Some("3")]);
        assert_eq!(numbers(values(3)), [Some(1.0), None, None]);
    }

    #[test]
    fn delimiters_are_detected_or_given() {
        for text in ["a;b\n1,5;2\n", "a\tb\n1,5\t2\n", "\"a,,\";b\n1,5;2\n"] {
            let table = table(text);
            assert_eq!(words(&table.columns()[0].values), [Some("1,5")], "{text}");
            assert_eq!(numbers(&table.columns()[1].values), [Some(2.0)], "{text}");
        }
        let table = parse("f.csv", "a|b\n1|2\n", Some(b'|')).expect("sound");
        assert_eq!(table.columns().len(), 2);
    }

    #[test]
    fn ragged_rows_and_empty_files_are_refused_by_line() {
        let message = |text| parse("f.csv", text, None).expect_err("bad").to_string();
        assert_eq!(
            message("a,b\n1,2\n\n3\n"),
            "f.csv: line 4: 1 fields, expected 2 as in the header"
        );
        assert_eq!(message(""), "f.csv: line 1: expected a header");
        assert_eq!(message("a,a\n1,2\n"), "f.csv: two columns are called \"a\"");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a,;\t\"\n\r?1. \\PC]{0,60}") {
            let _ = parse("f.csv", &text, None);
        }
    }
}
