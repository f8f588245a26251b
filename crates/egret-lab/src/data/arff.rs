use std::collections::HashMap;

use crate::data::table::CategoryBuilder;
use crate::data::{Column, Table, TableError, Values};

/// Reads an ARFF file, as written by Weka and OpenML.
///
/// Attributes of type `numeric`, `real` or `integer` are numbers; nominal, `string` and `date` attributes are categories. Names
/// and values may be quoted with ' or ", and `\` escapes the next character. `?` means missing, and `%` starts a comment line.
/// Rows may be sparse, as in `{0 1.5, 3 red}`: a value left out is 0, or the first category of a nominal attribute.
pub(crate) fn parse(source: &str, text: &str) -> Result<Table, TableError> {
    let mut columns: Vec<Gathered> = Vec::new();
    let mut data = false;
    for (line, content) in text.lines().enumerate() {
        let content = content.trim_start_matches('\u{feff}').trim();
        if content.is_empty() || content.starts_with('%') {
            continue;
        }
        let result = if data {
            row(&mut columns, content)
        } else {
            header(&mut columns, content).map(|ended| data = ended)
        };
        let located = |what| TableError::new(source, format!("line {}: {what}", line + 1));
        result.map_err(located)?;
    }
    if !data {
        return Err(TableError::new(source, "there is no @data"));
    }
    Table::new(source, columns.into_iter().map(Gathered::finish).collect())
}

/// A column while its rows are read.
struct Gathered {
    name: String,
    values: Growing,
}

enum Growing {
    Numbers(Vec<f64>),
    Nominal {
        levels: Vec<String>,
        places: HashMap<String, u32>,
        codes: Vec<Option<u32>>,
    },
    Words(CategoryBuilder),
}

impl Gathered {
    fn push(&mut self, field: &Field) -> Result<(), String> {
        let name = &self.name;
        let known = (!field.is_missing()).then_some(field.text.as_str());
        match &mut self.values {
            Growing::Numbers(values) => values.push(match known {
                None => f64::NAN,
                Some(text) => (text.parse())
                    .map_err(|_| format!("{name:?} is {text:?}, expected a number or ?"))?,
            }),
            Growing::Nominal {
                levels,
                places,
                codes,
            } => codes.push(match known {
                None => None,
                Some(text) => Some(*places.get(text).ok_or_else(|| {
                    let some = levels[..levels.len().min(10)].join(", ");
                    let more = if 10 < levels.len() { ", …" } else { "" };
                    format!("{name:?} is {text:?}, expected ? or one of {some}{more}")
                })?),
            }),
            Growing::Words(words) => words.push(known),
        }
        Ok(())
    }

    /// Adds the value that a sparse row leaves out.
    fn push_left_out(&mut self) {
        match &mut self.values {
            Growing::Numbers(values) => values.push(0.0),
            Growing::Nominal { levels, codes, .. } => {
                codes.push((!levels.is_empty()).then_some(0));
            }
            Growing::Words(words) => words.push(None),
        }
    }

    fn finish(self) -> Column {
        let values = match self.values {
            Growing::Numbers(values) => Values::Numbers(values),
            Growing::Nominal { levels, codes, .. } => Values::Categories { levels, codes },
            Growing::Words(words) => words.finish(),
        };
        Column {
            name: self.name,
            values,
        }
    }
}

/// Reads a line of the header; true if it is `@data`.
fn header(columns: &mut Vec<Gathered>, line: &str) -> Result<bool, String> {
    let (keyword, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match keyword.to_ascii_lowercase().as_str() {
        "@relation" => Ok(false),
        "@attribute" => {
            columns.push(attribute(rest)?);
            Ok(false)
        }
        "@data" if columns.is_empty() => Err("@data before any @attribute".to_owned()),
        "@data" => Ok(true),
        _ => Err(format!(
            "unknown keyword {keyword:?}, expected @relation, @attribute or @data"
        )),
    }
}

fn attribute(text: &str) -> Result<Gathered, String> {
    let mut scanner = Scanner::new(text);
    let name = scanner.field(|c| c.is_whitespace() || c == '{')?.text;
    if name.is_empty() {
        return Err("an attribute without a name".to_owned());
    }
    scanner.skip_spaces();
    let values = if scanner.take('{') {
        nominal(&mut scanner)?
    } else {
        let kind = scanner.field(char::is_whitespace)?.text;
        match kind.to_ascii_lowercase().as_str() {
            "numeric" | "real" | "integer" => Growing::Numbers(Vec::new()),
            "string" | "date" => Growing::Words(CategoryBuilder::default()),
            _ => {
                return Err(format!(
                    "attribute {name:?} is of type {kind:?}, expected numeric, real, integer, string, date or {{…}}"
                ));
            }
        }
    };
    Ok(Gathered { name, values })
}

fn nominal(scanner: &mut Scanner<'_>) -> Result<Growing, String> {
    let mut levels = Vec::new();
    let mut places = HashMap::new();
    scanner.skip_spaces();
    if !scanner.take('}') {
        loop {
            scanner.skip_spaces();
            let level = scanner.field(|c| c == ',' || c == '}')?.text;
            // A level listed twice is one level.
            if !places.contains_key(&level) {
                places.insert(level.clone(), levels.len() as u32);
                levels.push(level);
            }
            if scanner.take('}') {
                break;
            }
            if !scanner.take(',') {
                return Err("a list of categories without a closing }".to_owned());
            }
        }
    }
    Ok(Growing::Nominal {
        levels,
        places,
        codes: Vec::new(),
    })
}

fn row(columns: &mut [Gathered], line: &str) -> Result<(), String> {
    match line.strip_prefix('{') {
        Some(rest) => sparse_row(columns, rest),
        None => dense_row(columns, line),
    }
}

fn dense_row(columns: &mut [Gathered], line: &str) -> Result<(), String> {
    let mut fields = fields(line, |c| c == ',')?;
    if fields.len() == 1 && 1 < columns.len() {
        // A row without commas has spaces and tabs between its values.
        fields = self::fields(line, char::is_whitespace)?;
    }
    if fields.len() != columns.len() {
        let (found, expected) = (fields.len(), columns.len());
        return Err(format!(
            "{found} values, expected {expected}, one for each attribute"
        ));
    }
    for (column, field) in columns.iter_mut().zip(&fields) {
        column.push(field)?;
    }
    Ok(())
}

fn fields(line: &str, ends: impl Fn(char) -> bool + Copy) -> Result<Vec<Field>, String> {
    let mut scanner = Scanner::new(line);
    let mut fields = Vec::new();
    loop {
        scanner.skip_spaces();
        fields.push(scanner.field(ends)?);
        if scanner.rest.is_empty() {
            return Ok(fields);
        }
        scanner.advance();
    }
}

fn sparse_row(columns: &mut [Gathered], rest: &str) -> Result<(), String> {
    let mut scanner = Scanner::new(rest);
    let mut next = 0;
    scanner.skip_spaces();
    if !scanner.take('}') {
        loop {
            scanner.skip_spaces();
            let place = scanner.field(|c| c.is_whitespace() || c == ',' || c == '}')?;
            scanner.skip_spaces();
            let field = scanner.field(|c| c == ',' || c == '}')?;
            let width = columns.len();
            let index: usize = (place.text.parse().ok())
                .filter(|index| (next..width).contains(index))
                .ok_or_else(|| {
                    let text = &place.text;
                    format!("index {text:?}, expected increasing indices below {width}")
                })?;
            for column in &mut columns[next..index] {
                column.push_left_out();
            }
            columns[index].push(&field)?;
            next = index + 1;
            if scanner.take('}') {
                break;
            }
            if !scanner.take(',') {
                return Err("a sparse row without a closing }".to_owned());
            }
        }
    }
    if !scanner.rest.trim().is_empty() {
        return Err(format!(
            "{:?} after the closing }} of the row",
            scanner.rest
        ));
    }
    for column in &mut columns[next..] {
        column.push_left_out();
    }
    Ok(())
}

/// A name or a value, unquoted.
struct Field {
    text: String,
    quoted: bool,
}

impl Field {
    fn is_missing(&self) -> bool {
        !self.quoted && (self.text == "?" || self.text.is_empty())
    }
}

/// The unread rest of a line.
struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    fn new(rest: &'a str) -> Self {
        Self { rest }
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, wanted: char) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn advance(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    /// Reads a field up to a character that `ends` accepts, or up to the end of the line. That character is not consumed.
    fn field(&mut self, ends: impl Fn(char) -> bool) -> Result<Field, String> {
        let quote = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"'));
        if let Some(quote) = quote {
            self.advance();
            let text = self.quoted(quote)?;
            let spaces = self.rest.len() - self.rest.trim_start().len();
            match self.rest.trim_start().chars().next() {
                None => self.rest = "",
                // Where a space ends a field, the spaces are not consumed.
                Some(_) if 0 < spaces && ends(' ') => {}
                Some(c) if ends(c) => self.skip_spaces(),
                Some(c) => return Err(format!("{c:?} after a closing quote")),
            }
            return Ok(Field { text, quoted: true });
        }
        let end = self.rest.find(&ends).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(Field {
            text: text.trim().to_owned(),
            quoted: false,
        })
    }

    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let mut text = String::new();
        while let Some(c) = self.advance() {
            match c {
                '\\' => match self.advance() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some(other) => text.push(other),
                    None => break,
                },
                c if c == quote => return Ok(text),
                c => text.push(c),
            }
        }
        Err(format!("a quote {quote} that is not closed"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(text: &str) -> Table {
        parse("f.arff", text).unwrap_or_else(|error| panic!("{error}"))
    }

    fn words(table: &Table, place: usize) -> Vec<Option<&str>> {
        match &table.columns()[place].values {
            Values::Categories { levels, codes } => (codes.iter())
                .map(|code| code.map(|code| levels[code as usize].as_str()))
                .collect(),
            Values::Numbers(_) => panic!("numbers"),
        }
    }

    fn numbers(table: &Table, place: usize) -> Vec<Option<f64>> {
        match &table.columns()[place].values {
            Values::Numbers(values) => (values.iter())
                .map(|&value| (!value.is_nan()).then_some(value))
                .collect(),
            Values::Categories { .. } => panic!("categories"),
        }
    }

    #[test]
    fn quotes_comments_cases_and_missing_values_are_read() {
        let table = table(concat!(
            "% about\r\n@RELATION 'a b'\r\n\r\n",
            "@Attribute 'the size' REAL\n",
            "@attribute colour{red, 'light blue',\"it's\"}\n",
            "@attribute note string\n@attribute day date \"yyyy-MM-dd\"\n@attribute y INTEGER\n",
            "@DATA\n% none yet\n",
            "1.5,red,'a, b',2020-01-01,1\n",
            " ? , 'light blue' , \"say \\\"x\\\"\" ,?, 2 \n",
            "-1e3,it's,'?',2020-01-02,?\n",
        ));
        assert_eq!(table.columns()[0].name, "the size");
        assert_eq!(numbers(&table, 0), [Some(1.5), None, Some(-1000.0)]);
        assert_eq!(
            words(&table, 1),
            [Some("red"), Some("light blue"), Some("it's")]
        );
        assert_eq!(
            words(&table, 2),
            [Some("a, b"), Some("say \"x\""), Some("?")]
        );
        assert_eq!(
            words(&table, 3),
            [Some("2020-01-01"), None, Some("2020-01-02")]
        );
        assert_eq!(numbers(&table, 4), [Some(1.0), Some(2.0), None]);
    }

    #[test]
    fn sparse_rows_leave_out_zeros_and_first_categories() {
        let table = table(concat!(
            "@relation r\n@attribute a numeric\n@attribute c {x,y}\n@attribute b numeric\n@data\n",
            "{1 y, 2 5}\n{}\n{0 ?,1 'x' }\n{ 2 -1 }\n",
        ));
        assert_eq!(numbers(&table, 0), [Some(0.0), Some(0.0), None, Some(0.0)]);
        assert_eq!(
            words(&table, 1),
            [Some("y"), Some("x"), Some("x"), Some("x")]
        );
        assert_eq!(
            numbers(&table, 2),
            [Some(5.0), Some(0.0), Some(0.0), Some(-1.0)]
        );
    }

    #[test]
    fn spaces_and_tabs_separate_values_in_rows_without_commas() {
        let table = table("@attribute a real\n@attribute 'b c' {'x y',z}\n@data\n1\t'x y'\n2 z\n");
        assert_eq!(numbers(&table, 0), [Some(1.0), Some(2.0)]);
        assert_eq!(words(&table, 1), [Some("x y"), Some("z")]);
    }

    #[test]
    fn errors_name_the_line() {
        let message = |text: &str| parse("f.arff", text).expect_err("bad").to_string();
        let head = "@relation r\n@attribute a numeric\n@attribute c {x,y}\n@data\n";
        let of = |row: &str| message(&format!("{head}1,x\n{row}\n"));
        assert_eq!(
            of("one,x"),
            "f.arff: line 6: \"a\" is \"one\", expected a number or ?"
        );
        assert_eq!(
            of("1,z"),
            "f.arff: line 6: \"c\" is \"z\", expected ? or one of x, y"
        );
        assert_eq!(
            of("1,x,2"),
            "f.arff: line 6: 3 values, expected 2, one for each attribute"
        );
        assert_eq!(of("1,'x"), "f.arff: line 6: a quote ' that is not closed");
        assert_eq!(of("1,'x'y"), "f.arff: line 6: 'y' after a closing quote");
        assert_eq!(
            of("{1 x, 0 2}"),
            "f.arff: line 6: index \"0\", expected increasing indices below 2"
        );
        assert_eq!(
            of("{0 1"),
            "f.arff: line 6: a sparse row without a closing }"
        );
        assert_eq!(
            message("@attribute a relational\n"),
            "f.arff: line 1: attribute \"a\" is of type \"relational\", expected numeric, real, integer, string, date or {…}"
        );
        assert_eq!(
            message("@attribute a {x, y\n"),
            "f.arff: line 1: a list of categories without a closing }"
        );
        assert_eq!(
            message("hello\n"),
            "f.arff: line 1: unknown keyword \"hello\", expected @relation, @attribute or @data"
        );
        assert_eq!(message("@attribute a real\n"), "f.arff: there is no @data");
        assert_eq!(
            message("@data\n"),
            "f.arff: line 1: @data before any @attribute"
        );
    }

    /// A word in single quotes.
    fn quote(word: &str) -> String {
        let mut quoted = String::from("'");
        for c in word.chars() {
            match c {
                '\n' => quoted.push_str("\\n"),
                '\r' => quoted.push_str("\\r"),
                c => {
                    if matches!(c, '\'' | '\\') {
                        quoted.push('\\');
                    }
                    quoted.push(c);
                }
            }
        }
        quoted + "'"
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse("f.arff", &crate::data::table::decoded(bytes));
        }

        #[test]
        fn no_rows_make_it_panic(rows in "[-{}',\"\\\\?%a-c0-2 \t\n\u{a0}é]{0,60}") {
            let head = "@attribute a numeric\n@attribute 'b' {a,'b c'}\n@attribute c string\n@data\n";
            let _ = parse("f.arff", &format!("{head}{rows}"));
        }

        #[test]
        fn no_header_makes_it_panic(rest in "[{}',\"\\\\a-c \t\u{a0}é]{0,30}") {
            let _ = parse("f.arff", &format!("@attribute {rest}\n@data\n"));
        }

        #[test]
        fn what_is_written_is_read(
            rows in proptest::collection::vec(
                (proptest::option::of(-1e9..1e9), proptest::option::of("\\PC{0,8}|[ '\"\\\\,{}%?\n\r]{0,6}")),
                1..20,
            )
        ) {
            let mut text = "@relation r\n@attribute n numeric\n@attribute w string\n@data\n".to_owned();
            for (number, word) in &rows {
                let number = number.map_or("?".to_owned(), |number: f64| number.to_string());
                let word = word.as_deref().map_or("?".to_owned(), quote);
                text += &format!("{number},{word}\n");
            }
            let table = table(&text);
            let expected: Vec<_> = rows.iter().map(|row| row.0).collect();
            prop_assert_eq!(numbers(&table, 0), expected);
            let expected: Vec<_> = rows.iter().map(|row| row.1.as_deref()).collect();
            prop_assert_eq!(words(&table, 1), expected);
        }
    }
}
