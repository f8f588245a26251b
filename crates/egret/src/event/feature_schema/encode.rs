use std::borrow::Cow;

use smallvec::SmallVec;

use super::{
    FeatureCounts, FeatureError, FeatureSchema, FieldKind, LogRule, MISSING, Named, NumberScale,
    UNSEEN, hashing, layout::Place,
};
use crate::event::{Context, FeatureValue, Features};
use crate::numeric::hash;

/// Sine and cosine of the time in the day, the week and the year.
pub(super) const TIME_COLUMNS: usize = 6;

/// Contexts of up to so many columns are dense, longer ones sparse.
const DENSE: usize = 512;

/// What encoding writes to. The context in it is the last one encoded.
#[derive(Debug)]
pub(crate) struct EncodeBuffers {
    entries: Vec<(u32, f64)>,
    /// Where each field's entries end: interactions look them up.
    ends: Vec<usize>,
    pub(crate) numbers: Context,
}

impl Default for EncodeBuffers {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            ends: Vec::new(),
            numbers: Context::dense(Vec::new()).expect("no number is not finite"),
        }
    }
}

/// What a value was found to be.
#[derive(Clone, Copy)]
enum Found {
    AsDeclared,
    /// A category that is not listed.
    Unseen,
    /// Of another type, and understood all the same.
    Converted,
    /// Of another type.
    Mismatched,
    Missing,
}

impl FeatureSchema {
    /// How contexts differ from the schema; those without names are not looked at.
    pub fn counts<'a>(&self, contexts: impl IntoIterator<Item = &'a Context>) -> FeatureCounts {
        let mut counts = FeatureCounts::default();
        for features in contexts.into_iter().filter_map(Context::as_named) {
            // What a strict schema refuses is counted up to the refusal.
            let _ = self.encode(features, &mut counts);
        }
        counts
    }

    /// The numbers of a context, the same for the same values in any order of names. What is not as the schema says is
    /// counted, or an error if the schema is strict.
    pub fn encode(
        &self,
        features: &Features,
        counts: &mut FeatureCounts,
    ) -> Result<Context, FeatureError> {
        counts.events += 1;
        self.numbers(features, Some(counts))
    }

    /// The same, counted only where somebody counts.
    pub(crate) fn numbers(
        &self,
        features: &Features,
        counts: Option<&mut FeatureCounts>,
    ) -> Result<Context, FeatureError> {
        let mut buffers = EncodeBuffers::default();
        self.encode_into(features, counts, &mut buffers)?;
        Ok(buffers.numbers)
    }

    /// The same into buffers, which soon allocate nothing.
    pub(crate) fn encode_into(
        &self,
        features: &Features,
        mut counts: Option<&mut FeatureCounts>,
        buffers: &mut EncodeBuffers,
    ) -> Result<(), FeatureError> {
        let mut values: SmallVec<[Option<&FeatureValue>; 64]> =
            SmallVec::from_elem(None, self.layout.fields.len());
        let mut unknown = None;
        features.for_each_leaf(|name, value| match self.layout.by_name.get(name) {
            Some(&index) => values[index] = Some(value),
            None => {
                if let Some(counts) = &mut counts {
                    counts.unknown(name, 1);
                }
                if self.is_strict() && unknown.is_none() {
                    unknown = Some(name.to_owned());
                }
            }
        });
        if let Some(field) = unknown {
            return Err(FeatureError::Unknown { field });
        }
        let EncodeBuffers {
            entries,
            ends,
            numbers,
        } = buffers;
        entries.clear();
        ends.clear();
        let mut shared = [false; 2];
        let fields = self.declared.fields.iter().zip(&self.layout.fields);
        for ((named, place), value) in fields.zip(values) {
            if named.field.log != LogRule::Drop {
                let found = self.append(named, place, value, entries, &mut shared);
                if let Some(counts) = &mut counts {
                    found.count(&named.name, counts);
                }
                if self.is_strict() {
                    found.refuse(named, value)?;
                }
            }
            ends.push(entries.len());
        }
        self.multiply(ends, entries);
        for (column, flag) in [MISSING, UNSEEN].into_iter().zip(shared) {
            if flag {
                entries.push((column, 1.0));
            }
        }
        self.write(entries, numbers);
        Ok(())
    }

    /// Appends the columns of a field that are not 0; `shared` are those that all fields share.
    fn append(
        &self,
        named: &Named,
        place: &Place,
        value: Option<&FeatureValue>,
        entries: &mut Vec<(u32, f64)>,
        shared: &mut [bool; 2],
    ) -> Found {
        let start = entries.len();
        let found = match value {
            None | Some(FeatureValue::Missing) => Found::Missing,
            Some(value) => {
                let salt = self.declared.salt;
                let found = encode_value(&named.field.kind, place, salt, value, entries);
                if let Found::Mismatched = found {
                    entries.truncate(start);
                }
                found
            }
        };
        // A category that a later version listed stays among the others too: what was learned of them is not lost.
        let is_category = matches!(named.field.kind, FieldKind::Category(_));
        let later = is_category
            && entries[start..]
                .iter()
                .any(|(column, _)| place.later <= *column);
        let told = match found {
            Found::AsDeclared | Found::Converted if !later => None,
            Found::AsDeclared | Found::Converted | Found::Unseen => Some((place.others, UNSEEN)),
            Found::Missing | Found::Mismatched if place.present.is_some() => None,
            Found::Missing | Found::Mismatched => Some((place.missing, MISSING)),
        };
        if let Some(column) = place.present
            && !matches!(found, Found::Missing | Found::Mismatched)
        {
            entries.push((column, 1.0));
        }
        match told {
            None => {}
            Some((Some(column), _)) => entries.push((column, 1.0)),
            Some((None, column)) => shared[column as usize] = true,
        }
        found
    }

    /// Appends the products of fields.
    fn multiply(&self, ends: &[usize], entries: &mut Vec<(u32, f64)>) {
        for (product, &first) in self
            .declared
            .interactions
            .iter()
            .zip(&self.layout.interactions)
        {
            let range = |name: &str| {
                let index = self.layout.by_name[name];
                index.checked_sub(1).map_or(0, |before| ends[before])..ends[index]
            };
            for one in range(&product.one) {
                for other in range(&product.other) {
                    let ((a, left), (b, right)) = (entries[one], entries[other]);
                    let hash = hash::combine(u64::from(a), u64::from(b));
                    let (column, sign) = hashing::place(hash, product.bits);
                    let product = (sign * left * right).clamp(-1e30, 1e30);
                    entries.push((first + column, product));
                }
            }
        }
    }

    /// Makes `numbers` the context of these entries.
    fn write(&self, entries: &mut Vec<(u32, f64)>, numbers: &mut Context) {
        let width = self.width();
        // Sums of huge values are the one thing that could leave what oracles compute with.
        let sum = |one: f64, other: f64| (one + other).clamp(-1e30, 1e30);
        let made = if width <= DENSE {
            numbers.refill_dense(width, |dense| {
                for &mut (column, value) in entries {
                    let place = &mut dense[column as usize];
                    *place = sum(*place, value);
                }
            })
        } else {
            // By value too, so that the order of sums is one order.
            entries.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            entries.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    kept.1 = sum(kept.1, next.1);
                }
                same
            });
            numbers.refill_sparse(width, |sparse| {
                let bounded = entries
                    .iter()
                    .map(|(column, value)| (*column, sum(*value, 0.0)));
                sparse.extend(bounded);
            })
        };
        made.expect("columns are below the width, values bounded");
    }
}

impl Found {
    fn count(self, name: &str, counts: &mut FeatureCounts) {
        match self {
            Self::AsDeclared => {}
            Self::Missing => counts.field(name).missing += 1,
            Self::Unseen => counts.field(name).unseen += 1,
            Self::Converted | Self::Mismatched => counts.field(name).mismatched += 1,
        }
    }

    /// What a strict schema says to it. An optional field may be missing, and one that a later version brought: contexts
    /// from before it go on as they were.
    fn refuse(self, named: &Named, value: Option<&FeatureValue>) -> Result<(), FeatureError> {
        let field = || named.name.clone();
        match self {
            Self::AsDeclared => Ok(()),
            Self::Missing if named.field.optional || 1 < named.field.since => Ok(()),
            Self::Missing => Err(FeatureError::Missing { field: field() }),
            Self::Unseen => Err(FeatureError::Unseen {
                field: field(),
                value: value.and_then(category).unwrap_or_default().into_owned(),
            }),
            Self::Converted | Self::Mismatched => Err(FeatureError::Mismatched {
                field: field(),
                expected: expected(&named.field.kind),
            }),
        }
    }
}

/// Appends the columns of a value that are not 0; what was appended of a mismatched one is to be taken away.
fn encode_value(
    kind: &FieldKind,
    place: &Place,
    salt: u64,
    value: &FeatureValue,
    out: &mut Vec<(u32, f64)>,
) -> Found {
    match kind {
        FieldKind::Number(scale) => match number(value) {
            Some((number, found)) => {
                match *scale {
                    NumberScale::Plain => out.push((place.first, number)),
                    NumberScale::Log { center, width } => {
                        let distance = (number - center) / width;
                        out.push((place.first, distance));
                        out.push((place.first + 1, drawn_in(distance)));
                    }
                }
                found
            }
            None => Found::Mismatched,
        },
        FieldKind::Flag => match flag(value) {
            Some((flag, found)) => {
                out.push((place.first, f64::from(u8::from(flag))));
                found
            }
            None => Found::Mismatched,
        },
        FieldKind::Category(_) => {
            let Some(name) = category(value) else {
                return Found::Mismatched;
            };
            match place.categories.get(name.as_ref()) {
                Some(&column) => out.push((column, 1.0)),
                None => return Found::Unseen,
            }
            if is_name(value) {
                Found::AsDeclared
            } else {
                Found::Converted
            }
        }
        FieldKind::Hashed { bits } => match hash_of_category(salt, value) {
            Some(hash) => {
                let (column, sign) = hashing::place(hash, *bits);
                out.push((place.first + column, sign));
                if is_name(value) {
                    Found::AsDeclared
                } else {
                    Found::Converted
                }
            }
            None => Found::Mismatched,
        },
        FieldKind::Tokens { bits } => {
            let one = std::slice::from_ref(value);
            let (tokens, found) = match value {
                FeatureValue::List(tokens) => (tokens.as_slice(), Found::AsDeclared),
                _ => (one, Found::Converted),
            };
            let size = 1.0 / (tokens.len().max(1) as f64).sqrt();
            for token in tokens {
                let Some(hash) = hash_of_category(salt, token) else {
                    return Found::Mismatched;
                };
                let (column, sign) = hashing::place(hash, *bits);
                out.push((place.first + column, sign * size));
            }
            found
        }
        FieldKind::Vector { len } => {
            let FeatureValue::List(values) = value else {
                return Found::Mismatched;
            };
            if values.len() != *len as usize {
                return Found::Mismatched;
            }
            for (column, value) in (place.first..).zip(values) {
                let Some((number, Found::AsDeclared)) = number(value) else {
                    return Found::Mismatched;
                };
                out.push((column, number));
            }
            Found::AsDeclared
        }
        FieldKind::Time => match seconds(value) {
            Some(seconds) => {
                let periods = [86_400.0, 604_800.0, 31_556_952.0];
                for (pair, period) in (0..).zip(periods) {
                    let angle = std::f64::consts::TAU * (seconds / period).fract();
                    out.push((place.first + 2 * pair, libm::sin(angle)));
                    out.push((place.first + 2 * pair + 1, libm::cos(angle)));
                }
                Found::AsDeclared
            }
            None => Found::Mismatched,
        },
    }
}

/// sign(u) ln(1 + |u|).
fn drawn_in(distance: f64) -> f64 {
    libm::copysign(libm::log1p(distance.abs()), distance)
}

fn number(value: &FeatureValue) -> Option<(f64, Found)> {
    let (number, found) = match value {
        FeatureValue::Integer(number) => (*number as f64, Found::AsDeclared),
        FeatureValue::Number(number) => (*number, Found::AsDeclared),
        FeatureValue::Flag(flag) => (f64::from(u8::from(*flag)), Found::Converted),
        FeatureValue::Text(text) => (text.trim().parse().ok()?, Found::Converted),
        _ => return None,
    };
    number.is_finite().then_some((number, found))
}

fn flag(value: &FeatureValue) -> Option<(bool, Found)> {
    match value {
        FeatureValue::Flag(flag) => Some((*flag, Found::AsDeclared)),
        FeatureValue::Integer(0) => Some((false, Found::Converted)),
        FeatureValue::Integer(1) => Some((true, Found::Converted)),
        FeatureValue::Number(number) if *number == 0.0 => Some((false, Found::Converted)),
        FeatureValue::Number(number) if *number == 1.0 => Some((true, Found::Converted)),
        FeatureValue::Text(text) if text.eq_ignore_ascii_case("true") => {
            Some((true, Found::Converted))
        }
        FeatureValue::Text(text) if text.eq_ignore_ascii_case("false") => {
            Some((false, Found::Converted))
        }
        _ => None,
    }
}

/// The name of a category. Whole numbers are codes, and as good as text.
fn category(value: &FeatureValue) -> Option<Cow<'_, str>> {
    match value {
        FeatureValue::Text(text) => Some(text.into()),
        FeatureValue::Integer(code) => Some(code.to_string().into()),
        FeatureValue::Number(number) if number.is_finite() => Some(number.to_string().into()),
        FeatureValue::Flag(flag) => Some(if *flag { "true" } else { "false" }.into()),
        _ => None,
    }
}

/// Whether a value is such as categories have: text, or a code. Other programs write codes as floats, 3.0 for 3.
fn is_name(value: &FeatureValue) -> bool {
    match value {
        FeatureValue::Text(_) | FeatureValue::Integer(_) => true,
        FeatureValue::Number(number) => number.fract() == 0.0,
        _ => false,
    }
}

fn hash_of_category(salt: u64, value: &FeatureValue) -> Option<u64> {
    let name = category(value)?;
    // In a log it may be hashed already.
    Some(hashing::read(&name).unwrap_or_else(|| hashing::hash(salt, &name)))
}

/// What is logged of a value in place of it: hashes that encode to the same columns.
pub(super) fn hashed(salt: u64, value: &FeatureValue) -> FeatureValue {
    match value {
        FeatureValue::List(values) => {
            FeatureValue::List(values.iter().map(|value| hashed(salt, value)).collect())
        }
        value => hash_of_category(salt, value).map_or(FeatureValue::Missing, |hash| {
            FeatureValue::Text(hashing::shown(hash))
        }),
    }
}

/// Since 1970.
fn seconds(value: &FeatureValue) -> Option<f64> {
    match value {
        FeatureValue::Integer(seconds) => Some(*seconds as f64),
        FeatureValue::Number(seconds) => seconds.is_finite().then_some(*seconds),
        FeatureValue::Text(text) => {
            let time = chrono::DateTime::parse_from_rfc3339(text).map(|time| time.timestamp());
            let date = || {
                let date = chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
                Some(date.and_hms_opt(0, 0, 0)?.and_utc().timestamp())
            };
            time.ok().or_else(date).map(|seconds| seconds as f64)
        }
        _ => None,
    }
}

fn expected(kind: &FieldKind) -> &'static str {
    match kind {
        FieldKind::Number(_) => "a number",
        FieldKind::Flag => "true or false",
        FieldKind::Category(_) | FieldKind::Hashed { .. } => "text",
        FieldKind::Tokens { .. } => "a list of text",
        FieldKind::Vector { .. } => "a list of as many numbers as the schema says",
        FieldKind::Time => "a time, as in 2026-11-16T08:30:00Z",
    }
}
