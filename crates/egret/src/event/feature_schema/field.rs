use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A named feature: how it becomes numbers, and what of it reaches the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// How it becomes numbers.
    pub kind: FieldKind,
    /// What of it reaches the log.
    #[serde(default)]
    pub log: LogRule,
    /// Whether it is missing so often that this is told apart from other fields that are: it takes a column of its own.
    #[serde(default)]
    pub optional: bool,
    /// The version of the schema that brought it.
    #[serde(default = "first_version")]
    pub since: u32,
}

fn first_version() -> u32 {
    1
}

impl From<FieldKind> for Field {
    fn from(kind: FieldKind) -> Self {
        Self {
            kind,
            log: LogRule::Keep,
            optional: false,
            since: 1,
        }
    }
}

impl Field {
    /// Often missing: told apart by a column of its own.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// What of it reaches the log.
    #[must_use]
    pub fn logged(mut self, log: LogRule) -> Self {
        self.log = log;
        self
    }
}

/// What of a field reaches the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogRule {
    /// As it was sent.
    #[default]
    Keep,
    /// Nothing. The learner does not see it either: a decision that rests on what the log does not have could not be
    /// replayed.
    Drop,
    /// A salted hash of its text. This hides a value from readers, not from those who can guess it and know the salt.
    Hash,
}

/// How a field becomes numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldKind {
    /// A quantity: one column, or two with heavy tails.
    Number(NumberScale),
    /// True or false: one column.
    Flag,
    /// One of a few values: a column for each.
    Category(Categories),
    /// One of very many values: 2^bits columns, hashed with signs.
    Hashed {
        /// How many columns, as a power of 2.
        bits: u8,
    },
    /// A list of words: 2^bits columns, hashed with signs, over the root of how many there are.
    Tokens {
        /// How many columns, as a power of 2.
        bits: u8,
    },
    /// A list of numbers, always as many.
    Vector {
        /// How many.
        len: u32,
    },
    /// A time: where it stands in the day, the week and the year, as sines and cosines. Text after RFC 3339, a date, or
    /// seconds since 1970.
    Time,
}

/// How a number is brought to a scale.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NumberScale {
    /// As it is: networks scale it further, by mean and spread.
    #[default]
    Plain,
    /// u = (x − center)/width, and sign(u) ln(1 + |u|): for heavy tails, such as incomes. Which of the two
    /// says more, a learner finds out.
    Log {
        /// 0 where ratios count, or a typical value, such as the median.
        center: f64,
        /// A typical distance from it, such as the median distance; positive.
        width: f64,
    },
}

/// The values of a category.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Categories {
    /// From the beginning, in the order of their columns.
    pub values: Vec<String>,
    /// Whether values that are not listed have a column of this field's own: such were there when it was inferred.
    #[serde(default)]
    pub others: bool,
    /// Those that later versions of the schema brought.
    #[serde(default)]
    pub later: BTreeMap<u32, Vec<String>>,
}

impl FieldKind {
    /// A quantity as it is.
    pub fn number() -> Field {
        Self::Number(NumberScale::Plain).into()
    }

    /// True or false.
    pub fn flag() -> Field {
        Self::Flag.into()
    }

    /// One of a few values.
    pub fn category(values: impl IntoIterator<Item = impl Into<String>>) -> Field {
        Self::Category(Categories {
            values: values.into_iter().map(Into::into).collect(),
            ..Categories::default()
        })
        .into()
    }

    /// One of very many values, among 2^bits columns.
    pub fn hashed(bits: u8) -> Field {
        Self::Hashed { bits }.into()
    }

    /// A list of words, among 2^bits columns.
    pub fn tokens(bits: u8) -> Field {
        Self::Tokens { bits }.into()
    }

    /// So many numbers.
    pub fn vector(len: u32) -> Field {
        Self::Vector { len }.into()
    }

    /// A time.
    pub fn time() -> Field {
        Self::Time.into()
    }
}
