use std::collections::{BTreeMap, BTreeSet};

use super::{Categories, FeatureSchema, Field, FieldKind, NumberScale, SchemaError};
use crate::event::{FeatureValue, Features};

/// What is found of each field while contexts are looked at; [`schema`](Self::schema) makes a schema of it.
///
/// | values                                               | field                                              |
/// |------------------------------------------------------|----------------------------------------------------|
/// | true, false                                          | flag                                               |
/// | numbers                                              | number; with heavy tails, also as logarithms       |
/// | text that are all times                              | time                                               |
/// | text of fewer than 64 values                         | category; those met once are left to "others"      |
/// | text of more values                                  | hashed: 2^bits columns, about a quarter of them    |
/// | lists of numbers, all as long                        | vector                                             |
/// | other lists                                          | tokens                                             |
/// | several of these                                     | that of most values                                |
#[derive(Debug, Clone, Default)]
pub struct SchemaSample {
    events: u64,
    fields: BTreeMap<String, Seen>,
}

#[derive(Debug, Clone, Default)]
struct Seen {
    present: u64,
    flags: u64,
    numbers: Vec<f64>,
    number_count: u64,
    texts: BTreeMap<String, u64>,
    text_count: u64,
    more_texts: u64,
    times: u64,
    vectors: BTreeMap<usize, u64>,
    lists: u64,
}

/// Categories of up to so many values have a column each.
const FEW: usize = 64;
/// So many numbers and different texts of a field are kept.
const KEPT: usize = 65_536;

impl SchemaSample {
    /// Nothing seen.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks at one more context.
    pub fn add(&mut self, features: &Features) {
        self.events += 1;
        features.for_each_leaf(|name, value| {
            if !self.fields.contains_key(name) {
                self.fields.insert(name.to_owned(), Seen::default());
            }
            let seen = self.fields.get_mut(name).expect("just there");
            seen.add(value);
        });
    }

    /// How many contexts were looked at.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The schema that suits them, its fields in the order of their names.
    pub fn schema(&self) -> Result<FeatureSchema, SchemaError> {
        self.complete(FeatureSchema::new())
    }

    /// The next version of a schema: with fields for what it lacks.
    pub fn grown(&self, schema: &FeatureSchema) -> Result<FeatureSchema, SchemaError> {
        schema.grown(|schema| self.complete(schema))
    }

    fn complete(&self, schema: FeatureSchema) -> Result<FeatureSchema, SchemaError> {
        let known: BTreeSet<String> = schema.fields().map(|(name, _)| name.to_owned()).collect();
        let unknown = self
            .fields
            .iter()
            .filter(|(name, _)| !known.contains(*name));
        schema.with_fields(unknown.filter_map(|(name, seen)| {
            let mut field = Field::from(seen.kind()?);
            field.optional = seen.present < self.events;
            Some((name.clone(), field))
        }))
    }
}

impl FeatureSchema {
    /// The schema that suits these contexts, by the rules of [`SchemaSample`].
    pub fn infer<'a>(
        contexts: impl IntoIterator<Item = &'a Features>,
    ) -> Result<Self, SchemaError> {
        let mut sample = SchemaSample::new();
        for features in contexts {
            sample.add(features);
        }
        sample.schema()
    }
}

impl Seen {
    fn add(&mut self, value: &FeatureValue) {
        let mut number = |number: f64| {
            self.number_count += 1;
            if self.numbers.len() < KEPT && number.is_finite() {
                self.numbers.push(number);
            }
        };
        match value {
            FeatureValue::Missing | FeatureValue::Object(_) => return,
            FeatureValue::Flag(_) => self.flags += 1,
            FeatureValue::Integer(value) => number(*value as f64),
            FeatureValue::Number(value) => number(*value),
            FeatureValue::Text(text) => {
                self.text_count += 1;
                self.times += u64::from(is_time(text));
                if let Some(count) = self.texts.get_mut(text) {
                    *count += 1;
                } else if self.texts.len() < KEPT {
                    self.texts.insert(text.clone(), 1);
                } else {
                    self.more_texts += 1;
                }
            }
            FeatureValue::List(values) => {
                let numbers = values.iter().all(|value| {
                    matches!(value, FeatureValue::Integer(_) | FeatureValue::Number(_))
                });
                if numbers && !values.is_empty() {
                    *self.vectors.entry(values.len()).or_default() += 1;
                } else {
                    self.lists += 1;
                }
            }
        }
        self.present += 1;
    }

    /// None where nothing was ever known.
    fn kind(&self) -> Option<FieldKind> {
        let vectors: u64 = self.vectors.values().sum();
        let lists = self.lists + vectors;
        let most = [self.flags, self.number_count, self.text_count, lists]
            .into_iter()
            .max()
            .filter(|most| 0 < *most)?;
        Some(if most == self.text_count {
            self.text()
        } else if most == self.number_count {
            FieldKind::Number(scale(&self.numbers))
        } else if most == self.flags {
            FieldKind::Flag
        } else if let (0, 1, Some(len)) =
            (self.lists, self.vectors.len(), self.vectors.keys().next())
        {
            FieldKind::Vector { len: *len as u32 }
        } else {
            FieldKind::Tokens { bits: 10 }
        })
    }

    fn text(&self) -> FieldKind {
        if self.times == self.text_count {
            return FieldKind::Time;
        }
        let different = self.texts.len() as u64 + self.more_texts;
        if FEW as u64 <= different {
            // Four times as many columns as values, within reason: few values share one.
            let bits = (64 - (4 * different - 1).leading_zeros()).clamp(8, 18);
            return FieldKind::Hashed { bits: bits as u8 };
        }
        // What was met once among many is what "others" are made of.
        let rare = |count: u64| count < 2 && 100 <= self.text_count;
        let values: Vec<String> = self
            .texts
            .iter()
            .filter(|(_, count)| !rare(**count))
            .map(|(text, _)| text.clone())
            .collect();
        FieldKind::Category(Categories {
            others: values.len() < self.texts.len(),
            values,
            ..Categories::default()
        })
    }
}

fn is_time(text: &str) -> bool {
    chrono::DateTime::parse_from_rfc3339(text).is_ok()
        || chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok()
}

/// Logarithms where the middle 98 per cent are more than six times as wide as the middle half (normal: 3.4 times,
/// exponential: 4.2, lognormal: 7), or where more than nine tenths of them lie on one side of the median (exponential:
/// 0.85, lognormal: 0.91).
fn scale(numbers: &[f64]) -> NumberScale {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    if sorted.len() < 20 {
        return NumberScale::Plain;
    }
    let middle = at(0.75) - at(0.25);
    let (below, above) = (at(0.5) - at(0.01), at(0.99) - at(0.5));
    let wide = 6.0 * middle < below + above;
    let skewed = 0.9 * (below + above) < below.max(above);
    if !(0.0 < middle && (wide || skewed)) {
        return NumberScale::Plain;
    }
    // Amounts, counts and times have ratios: ln(1 + x/median). Others have distances from the middle.
    if 0.0 <= sorted[0] && 0.0 < at(0.5) {
        NumberScale::Log {
            center: 0.0,
            width: at(0.5),
        }
    } else {
        NumberScale::Log {
            center: at(0.5),
            width: middle,
        }
    }
}
