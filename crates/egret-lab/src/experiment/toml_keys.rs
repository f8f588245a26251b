use std::cell::RefCell;
use std::fmt;

use egret::OutOfRange;
use egret_log::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A TOML file: its name and its text, so that an error can name the line.
pub(super) struct TomlFile<'a> {
    /// The name for messages.
    pub name: &'a str,
    /// The contents.
    pub text: &'a str,
}

/// What is wrong with a TOML file, and in which line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {what}")]
pub struct TomlError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What was found there, and what was expected.
    pub what: String,
}

impl<'a> TomlFile<'a> {
    /// The tables of the file; an error if it is not TOML.
    pub(super) fn parse(&self) -> Result<DeTable<'a>, TomlError> {
        match DeTable::parse(self.text) {
            Ok(table) => Ok(table.into_inner()),
            Err(error) => {
                let place = error.span().map_or(0, |span| span.start);
                Err(self.error(place, format!("not TOML: {}", error.message())))
            }
        }
    }

    /// An error at this byte of the file.
    pub(super) fn error(&self, place: usize, what: impl Into<String>) -> TomlError {
        let before = &self.text.as_bytes()[..place.min(self.text.len())];
        TomlError {
            file: self.name.to_owned(),
            line: 1 + before.iter().filter(|&&byte| byte == b'\n').count(),
            what: what.into(),
        }
    }
}

/// A table of a file, whose keys are read one by one. A key that was never asked for is unknown, and
/// [`finish`](Self::finish) reports it.
pub(super) struct TomlKeys<'a> {
    file: &'a TomlFile<'a>,
    /// The name for messages, such as `learner`.
    name: &'a str,
    /// The byte at which the table begins.
    place: usize,
    table: &'a DeTable<'a>,
    asked: RefCell<Vec<&'static str>>,
    /// For keys that hold a list of values to try, the element that counts.
    grid: Vec<(&'static str, usize)>,
}

/// A value, and the byte at which it begins.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub place: usize,
    pub value: &'a DeValue<'a>,
}

impl<'a> Found<'a> {
    pub(super) fn new(value: &'a Spanned<DeValue<'a>>) -> Self {
        Self {
            place: value.span().start,
            value: value.get_ref(),
        }
    }
}

impl<'a> TomlKeys<'a> {
    /// The table that begins at `place`.
    pub(super) fn new(
        file: &'a TomlFile<'a>,
        name: &'a str,
        place: usize,
        table: &'a DeTable<'a>,
    ) -> Self {
        Self {
            file,
            name,
            place,
            table,
            asked: RefCell::default(),
            grid: Vec::new(),
        }
    }

    /// The same table, where only one element of each of these keys counts.
    pub(super) fn at(&self, grid: &[(&'static str, usize)]) -> Self {
        Self {
            grid: grid.to_vec(),
            ..Self::new(self.file, self.name, self.place, self.table)
        }
    }

    /// An error at the head of the table.
    pub(super) fn error(&self, what: impl Into<String>) -> TomlError {
        self.file.error(self.place, what)
    }

    /// An error at one of these keys, in the table or in a table inside it: at the key that is or contains the number, else at
    /// the first, else at the head of the table.
    pub(super) fn error_near(
        &self,
        keys: &[&str],
        value: f64,
        what: impl Into<String>,
    ) -> TomlError {
        let mut values = Vec::new();
        values_of(keys, self.table, &mut values);
        let wrong = values.iter().find(|of| number(of.value) == Some(value));
        let place = wrong.or(values.first()).map_or(self.place, |of| of.place);
        self.file.error(place, what)
    }

    /// An error at a value.
    pub(super) fn error_at(&self, found: Found<'_>, what: impl Into<String>) -> TomlError {
        self.file.error(found.place, what)
    }

    /// The error `key is X, expected Y`.
    pub(super) fn unexpected(&self, key: &str, found: Found<'_>, expected: &str) -> TomlError {
        let value = Shown(found.value);
        self.error_at(found, format!("{key} is {value}, expected {expected}"))
    }

    /// A number that the core accepts, or its error with the line.
    pub(super) fn checked<T>(
        &self,
        found: Found<'_>,
        result: Result<T, OutOfRange>,
    ) -> Result<T, TomlError> {
        result.map_err(|error| self.error_at(found, error.to_string()))
    }

    /// The value of a key, of any type.
    pub(super) fn get(&self, key: &'static str) -> Option<Found<'a>> {
        self.asked.borrow_mut().push(key);
        let found = Found::new(self.table.get(key)?);
        let element = self.grid.iter().find(|(of, _)| *of == key);
        match (element, found.value) {
            (Some(&(_, place)), DeValue::Array(values)) => values.get(place).map(Found::new),
            _ => Some(found),
        }
    }

    /// The number of values to try, if the key holds a list.
    pub(super) fn list_len(&self, key: &'static str) -> Option<usize> {
        self.table
            .get(key)?
            .get_ref()
            .as_array()
            .map(|list| list.len())
    }

    pub(super) fn text(&self, key: &'static str) -> Result<Option<&'a str>, TomlError> {
        self.get(key)
            .map(|found| match found.value {
                DeValue::String(text) => Ok(&**text),
                _ => Err(self.unexpected(key, found, "text in quotes")),
            })
            .transpose()
    }

    /// A text that fits into a table: not empty, on one line.
    pub(super) fn label(&self, key: &'static str) -> Result<Option<&'a str>, TomlError> {
        let label = self.text(key)?;
        match (self.get(key), label) {
            (Some(found), Some(text))
                if text.trim().is_empty() || text.chars().any(char::is_control) =>
            {
                let expected = "a name: not empty, on one line";
                Err(self.unexpected(key, found, expected))
            }
            _ => Ok(label),
        }
    }

    pub(super) fn number(&self, key: &'static str) -> Result<Option<f64>, TomlError> {
        self.get(key)
            .map(|found| number(found.value).ok_or_else(|| self.unexpected(key, found, "a number")))
            .transpose()
    }

    pub(super) fn count(&self, key: &'static str) -> Result<Option<u64>, TomlError> {
        self.get(key)
            .map(|found| {
                let expected = "a whole number, 0 or more";
                whole(found.value).ok_or_else(|| self.unexpected(key, found, expected))
            })
            .transpose()
    }

    /// A count from 1 to `most`.
    pub(super) fn size(&self, key: &'static str, most: usize) -> Result<Option<usize>, TomlError> {
        self.get(key)
            .map(|found| {
                let size = whole(found.value).and_then(|size| usize::try_from(size).ok());
                size.filter(|size| (1..=most).contains(size))
                    .ok_or_else(|| {
                        self.unexpected(key, found, &format!("a whole number from 1 to {most}"))
                    })
            })
            .transpose()
    }

    pub(super) fn flag(&self, key: &'static str) -> Result<Option<bool>, TomlError> {
        self.get(key)
            .map(|found| match found.value {
                DeValue::Boolean(flag) => Ok(*flag),
                _ => Err(self.unexpected(key, found, "true or false")),
            })
            .transpose()
    }

    /// One of these words.
    pub(super) fn choice<T: Copy>(
        &self,
        key: &'static str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, TomlError> {
        self.get(key)
            .map(|found| self.chosen(key, found, choices))
            .transpose()
    }

    /// The same for a value that was already found.
    pub(super) fn chosen<T: Copy>(
        &self,
        key: &str,
        found: Found<'_>,
        choices: &[(&str, T)],
    ) -> Result<T, TomlError> {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let expected = format!("one of {}", names.join(", "));
        let DeValue::String(text) = found.value else {
            return Err(self.unexpected(key, found, &expected));
        };
        let choice = choices.iter().find(|(name, _)| name == text);
        choice.map(|(_, choice)| *choice).ok_or_else(|| {
            let expected = expected + &did_you_mean(text, &names);
            self.unexpected(key, found, &expected)
        })
    }

    /// A list of numbers.
    pub(super) fn numbers(&self, key: &str, found: Found<'_>) -> Result<Vec<f64>, TomlError> {
        self.list(key, found, "a list of numbers", number)
    }

    /// A list of whole numbers.
    pub(super) fn counts(&self, key: &str, found: Found<'_>) -> Result<Vec<u64>, TomlError> {
        self.list(key, found, "a list of whole numbers, 0 or more", whole)
    }

    /// A list of words.
    pub(super) fn texts(&self, key: &'static str) -> Result<Option<Vec<String>>, TomlError> {
        let text = |value: &DeValue<'_>| value.as_str().map(str::to_owned);
        self.get(key)
            .map(|found| self.list(key, found, "a list of texts in quotes", text))
            .transpose()
    }

    fn list<T>(
        &self,
        key: &str,
        found: Found<'_>,
        expected: &str,
        element: impl Fn(&DeValue<'_>) -> Option<T>,
    ) -> Result<Vec<T>, TomlError> {
        let DeValue::Array(values) = found.value else {
            return Err(self.unexpected(key, found, expected));
        };
        let mut list = Vec::with_capacity(values.len());
        for value in values.iter() {
            let found = Found::new(value);
            let wrong = || {
                let value = Shown(found.value);
                self.error_at(
                    found,
                    format!("{key} contains {value}, expected {expected}"),
                )
            };
            list.push(element(found.value).ok_or_else(wrong)?);
        }
        Ok(list)
    }

    /// A table inside this one.
    pub(super) fn table(&self, key: &'static str) -> Result<Option<TomlKeys<'a>>, TomlError> {
        self.get(key)
            .map(|found| {
                self.inner(key, found)
                    .ok_or_else(|| self.unexpected(key, found, "a table"))
            })
            .transpose()
    }

    /// The keys of a value, if it is a table.
    pub(super) fn inner(&self, name: &'static str, found: Found<'a>) -> Option<TomlKeys<'a>> {
        let table = found.value.as_table()?;
        Some(TomlKeys::new(self.file, name, found.place, table))
    }

    /// The tables of a list, written as `[[key]]`.
    pub(super) fn tables(&self, key: &'static str) -> Result<Vec<TomlKeys<'a>>, TomlError> {
        let Some(found) = self.get(key) else {
            return Ok(Vec::new());
        };
        let expected = format!("[[{key}]], in double brackets, once for each");
        let DeValue::Array(values) = found.value else {
            return Err(self.unexpected(key, found, &expected));
        };
        let inner = |value| {
            let found = Found::new(value);
            self.inner(key, found)
                .ok_or_else(|| self.unexpected(key, found, &expected))
        };
        values.iter().map(inner).collect()
    }

    /// An error if the table has a key that was never asked for.
    pub(super) fn finish(&self) -> Result<(), TomlError> {
        let asked = self.asked.borrow();
        let mut names: Vec<&str> = asked.clone();
        names.sort_unstable();
        names.dedup();
        // The map is ordered by name; report the first unknown key of the file.
        let unknown = (self.table.keys())
            .filter(|key| !names.contains(&key.get_ref().as_ref()))
            .min_by_key(|key| key.span().start);
        let Some(key) = unknown else { return Ok(()) };
        let (place, key) = (key.span().start, key.get_ref());
        let (all, near) = (names.join(", "), did_you_mean(key, &names));
        let what = format!(
            "{} has no key {key:?}, expected one of {all}{near}",
            self.name
        );
        Err(self.file.error(place, what))
    }
}

/// All values under one of the keys, and the elements of lists among them; those of the table itself come first.
fn values_of<'a>(keys: &[&str], table: &'a DeTable<'a>, values: &mut Vec<Found<'a>>) {
    for key in keys {
        let Some(value) = table.get(*key) else {
            continue;
        };
        values.push(Found::new(value));
        if let DeValue::Array(elements) = value.get_ref() {
            values.extend(elements.iter().map(Found::new));
        }
    }
    for value in table.values() {
        values_within(keys, value.get_ref(), values);
    }
}

fn values_within<'a>(keys: &[&str], value: &'a DeValue<'a>, values: &mut Vec<Found<'a>>) {
    match value {
        DeValue::Table(table) => values_of(keys, table, values),
        DeValue::Array(elements) => {
            for element in elements.iter() {
                values_within(keys, element.get_ref(), values);
            }
        }
        _ => {}
    }
}

/// A float or an integer; `None` if it is NaN or too large for an f64.
fn number(value: &DeValue<'_>) -> Option<f64> {
    let text = match value {
        DeValue::Float(number) => number.as_str(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
        _ => return None,
    };
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn whole(value: &DeValue<'_>) -> Option<u64> {
    let number = value.as_integer()?;
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// A value as a message shows it.
struct Shown<'a>(&'a DeValue<'a>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            DeValue::String(text) => write!(f, "{text:?}"),
            DeValue::Integer(number) => write!(f, "{}", number.as_str()),
            DeValue::Float(number) => write!(f, "{}", number.as_str()),
            DeValue::Boolean(flag) => write!(f, "{flag}"),
            DeValue::Datetime(time) => write!(f, "{time}"),
            DeValue::Array(_) => write!(f, "a list"),
            DeValue::Table(_) => write!(f, "a table"),
        }
    }
}

/// `; did you mean X?` for the name closest to the word, if it is close.
pub(super) fn did_you_mean(word: &str, names: &[&str]) -> String {
    let meant = nearest(word, names.iter().copied());
    meant.map_or(String::new(), |name| format!("; did you mean {name}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_told_from_a_stranger() {
        let names = ["gamma", "kappa_inf"];
        assert_eq!(
            did_you_mean("kapa_inf", &names),
            "; did you mean kappa_inf?"
        );
        assert_eq!(did_you_mean("seeds", &names), "");
    }

    #[test]
    fn the_line_is_that_of_the_value() {
        let file = TomlFile {
            name: "a.toml",
            text: "# a comment\n[a]\nb = 1\nlist = [\n  1,\n  \"two\",\n]\n",
        };
        let root = file.parse().expect("sound");
        let keys = TomlKeys::new(&file, "the file", 0, &root);
        let a = keys.table("a").expect("a table").expect("there");
        assert_eq!(a.number("b").expect("a number"), Some(1.0));
        let error = a.flag("b").expect_err("no flag");
        assert_eq!(
            error.to_string(),
            "a.toml, line 3: b is 1, expected true or false"
        );
        let list = a.get("list").expect("there");
        let error = a.numbers("list", list).expect_err("a word among them");
        assert_eq!(
            error.to_string(),
            "a.toml, line 6: list contains \"two\", expected a list of numbers"
        );
        let error = TomlFile {
            name: "b.toml",
            text: "a = 1\nb = = 2\n",
        }
        .parse()
        .expect_err("two signs");
        assert!(
            error.to_string().starts_with("b.toml, line 2: not TOML: "),
            "{error}"
        );
    }
}
