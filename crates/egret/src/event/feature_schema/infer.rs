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

/// Numbers that correlate with their rank by less than this have heavy tails.
///
/// Over large samples uniform numbers do by 1, as do numbers of two values, normal ones by 0.98, exponential ones by 0.87,
/// lognormal ones of σ = 1 by 0.7; a single number far from all others brings it near 0. Where it is low, the few that lie
/// far out take the scale for themselves, and a column in logarithms tells the others apart.
const LEAST_EVEN: f64 = 0.8;

fn scale(numbers: &[f64]) -> NumberScale {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.len() < 20 || sorted[0] == sorted[sorted.len() - 1] {
        return NumberScale::Plain;
    }
    // Amounts, counts and times have ratios, others distances from the middle.
    let center = if 0.0 <= sorted[0] {
        0.0
    } else {
        median(&sorted)
    };
    // Of amounts that are mostly 0, the others have a scale.
    let mut distances: Vec<f64> = (sorted.iter())
        .map(|number| (number - center).abs())
        .filter(|distance| 0.0 < *distance)
        .collect();
    distances.sort_by(f64::total_cmp);
    let width = median(&distances);
    let scaled: Vec<f64> = sorted.iter().map(|x| (x - center) / width).collect();
    match LEAST_EVEN <= correlation(&scaled, &ranks(&sorted)) {
        true => NumberScale::Plain,
        // Also numbers so far apart that their squares are infinite.
        false if width.is_finite() => NumberScale::Log { center, width },
        false => NumberScale::Plain,
    }
}

/// The place of each number; equal ones share the middle of theirs.
fn ranks(sorted: &[f64]) -> Vec<f64> {
    let mut ranks = Vec::with_capacity(sorted.len());
    for equal in sorted.chunk_by(|one, other| one == other) {
        let middle = ranks.len() as f64 + 0.5 * (equal.len() - 1) as f64;
        ranks.resize(ranks.len() + equal.len(), middle);
    }
    ranks
}

fn median(sorted: &[f64]) -> f64 {
    sorted[(sorted.len() - 1) / 2]
}

fn correlation(xs: &[f64], ys: &[f64]) -> f64 {
    let n = xs.len() as f64;
    let mean = |of: &[f64]| of.iter().sum::<f64>() / n;
    let (x0, y0) = (mean(xs), mean(ys));
    let product = |one: &[f64], a: f64, other: &[f64], b: f64| -> f64 {
        let both = one.iter().zip(other);
        both.map(|(x, y)| (x - a) * (y - b)).sum()
    };
    let spread = product(xs, x0, xs, x0) * product(ys, y0, ys, y0);
    product(xs, x0, ys, y0) / spread.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a thousand numbers with these quantiles.
    fn scale_of(quantile: impl Fn(f64) -> f64) -> NumberScale {
        let numbers: Vec<f64> = (0..1000)
            .map(|n| quantile((f64::from(n) + 0.5) / 1000.0))
            .collect();
        scale(&numbers)
    }

    #[test]
    fn logarithms_are_for_heavy_tails() {
        let plain: [fn(f64) -> f64; 5] = [
            |u| u,
            |u| 1e6 + u,
            |u| -libm::log(1.0 - u),
            |u| if u < 0.03 { 32.0 } else { 16.0 },
            |_| 7.0,
        ];
        for (case, number) in plain.into_iter().enumerate() {
            assert_eq!(scale_of(number), NumberScale::Plain, "{case}");
        }
        // Pareto; a Cauchy; mostly 0, and amounts; a typing error; infinite squares.
        let heavy: [fn(f64) -> f64; 5] = [
            |u| 1.0 / (1.0 - u),
            |u| libm::tan(3.1 * (u - 0.5)),
            |u| if u < 0.9 { 0.0 } else { 1.0 / (1.0 - u) },
            |u| if u < 0.001 { 1e7 } else { 20.0 + 60.0 * u },
            |u| libm::exp(600.0 * u),
        ];
        for (case, number) in heavy.into_iter().enumerate() {
            assert_ne!(scale_of(number), NumberScale::Plain, "{case}");
        }
    }

    #[test]
    fn amounts_have_ratios_and_others_distances() {
        let NumberScale::Log { center, width } = scale_of(|u| 500.0 / (1.0 - u)) else {
            panic!("plain");
        };
        assert_eq!(center, 0.0);
        assert!((900.0..1100.0).contains(&width), "{width}");
        let NumberScale::Log { center, .. } = scale_of(|u| 500.0 / (1.0 - u) - 700.0) else {
            panic!("plain");
        };
        assert!((200.0..400.0).contains(&center), "{center}");
    }
}
