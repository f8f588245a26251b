//! Records as text: one JSON object on each line.
//!
//! [`write`] and [`read`] turn a record into a line and back, and [`Record::to_json`] is the same for callers. A line is
//! read into a draft field by field, and the draft checks the whole. [`dsjson`] is the format of Vowpal Wabbit's decision
//! service; it holds less than a record does. [`line_source`] reads a file of either, line by line.

pub(crate) mod dsjson;
pub(crate) mod line_source;

use std::fmt;
use std::sync::Arc;

use egret::{
    AnyAction, Context, FeatureValue, Features, Item, MixedAction, Propensity, Space, Vector,
};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::record::{
    Extra, Record, RowError, VERSION,
    draft::{ContextForm, Draft},
    field::{self, Access, FIELDS},
    mu_cache::MuCache,
    named_context,
};

impl Record {
    /// The record as one line of JSON, without the end of the line.
    pub fn to_json(&self) -> String {
        let mut text = Vec::new();
        write(self, &mut text);
        String::from_utf8(text).expect("JSON is text")
    }

    /// The record of such a line.
    pub fn from_json(text: &str) -> Result<Self, RowError> {
        read(text.as_bytes(), &mut MuCache::default())
    }
}

/// The record as one JSON object, without the end of the line. Numbers are as short as exactness allows.
pub(crate) fn write(record: &Record, out: &mut Vec<u8>) {
    let mut object = Object { out, empty: true };
    for field in FIELDS {
        let name = field.name;
        match field.access {
            Access::Version => object.entry(name, &VERSION),
            Access::Context => write_context(&record.context, object.key(name)),
            // One object holds all features here.
            Access::ContextRest => {}
            Access::Mu => object.optional(name, record.mu.as_deref()),
            Access::Limits => object.optional(name, record.limits.as_ref()),
            Access::Action => object.entry(name, &record.action),
            Access::Propensity => object.entry(
                name,
                match record.propensity {
                    Propensity::Density(_) => "density",
                    Propensity::PointMass => "pointMass",
                },
            ),
            // The null of a point mass is written out, for tools that take their columns from the first line.
            Access::Density => object.entry(name, &record.propensity.density()),
            Access::Objective => object.optional(name, record.objective.as_ref()),
            Access::Loss => object.optional(name, record.loss.as_ref()),
            Access::Number { get, .. } => object.optional(name, get(record).as_ref()),
            Access::Count { get, .. } => object.optional(name, get(record).as_ref()),
            Access::Small { get, .. } => object.optional(name, get(record).as_ref()),
            Access::Text { get, .. } => object.optional(name, get(record).as_ref()),
            Access::Flag { get, .. } => object.optional(name, get(record).as_ref()),
            Access::Instant { get, .. } => {
                object.optional(name, get(record).map(|time| time.to_string()).as_ref());
            }
            Access::Word { get, .. } => object.optional(name, get(record).as_ref()),
        }
    }
    for (name, value) in record.extras() {
        match value {
            Extra::Number(number) => object.entry(name, number),
            Extra::Text(text) => object.entry(name, text),
        }
    }
    object.close();
}

/// An object that is being written.
struct Object<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

impl Object<'_> {
    fn key(&mut self, name: &str) -> &mut Vec<u8> {
        self.out.push(if self.empty { b'{' } else { b',' });
        self.empty = false;
        write_value(self.out, name);
        self.out.push(b':');
        self.out
    }

    fn entry<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) {
        write_value(self.key(name), value);
    }

    fn optional<T: Serialize + ?Sized>(&mut self, name: &str, value: Option<&T>) {
        if let Some(value) = value {
            self.entry(name, value);
        }
    }

    fn close(self) {
        self.out
            .extend_from_slice(if self.empty { b"{}" } else { b"}" });
    }
}

fn write_value<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("numbers and text are written to memory");
}

fn write_context(context: &Context, out: &mut Vec<u8>) {
    match (context.as_dense(), context.as_named()) {
        (Some(values), _) => write_value(out, values),
        (None, Some(features)) => write_value(out, features),
        (None, None) => {
            let (indices, values) = sparse_parts(context);
            let mut object = Object { out, empty: true };
            object.entry("dim", &context.dim());
            object.entry("indices", &indices);
            object.entry("values", &values);
            object.close();
        }
    }
}

/// The features a sparse context holds, and their values.
pub(crate) fn sparse_parts(context: &Context) -> (Vec<u32>, Vec<f64>) {
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    context.for_each(|feature, value| {
        indices.push(u32::try_from(feature).expect("sparse features are numbered by u32"));
        values.push(value);
    });
    (indices, values)
}

/// Reads a record from a JSON object.
pub(crate) fn read(line: &[u8], mu: &mut MuCache) -> Result<Record, RowError> {
    let mut reader = serde_json::Deserializer::from_slice(line);
    let mut fault = None;
    let object = ObjectOf {
        mu,
        fault: &mut fault,
    };
    let draft = object.deserialize(&mut reader);
    let draft = draft.and_then(|draft| reader.end().map(|()| draft));
    draft
        .map_err(|error| match fault {
            Some(fault) if error.is_data() => fault,
            _ => RowError::Unreadable(error.to_string()),
        })?
        .finish()
}

/// The fields of an object, as a draft.
pub(crate) struct ObjectOf<'a> {
    pub(crate) mu: &'a mut MuCache,
    /// The field that could not be read, and why: serde's own error only holds text.
    pub(crate) fault: &'a mut Option<RowError>,
}

impl<'de> DeserializeSeed<'de> for ObjectOf<'_> {
    type Value = Draft;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Draft, D::Error> {
        source.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ObjectOf<'_> {
    type Value = Draft;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object with the fields of a record")
    }

    fn visit_map<M: MapAccess<'de>>(mut self, mut map: M) -> Result<Draft, M::Error> {
        let mut draft = Draft::new();
        let mut seen = [false; FIELDS.len()];
        let mut next = 0;
        while let Some(name) = map.next_key::<String>()? {
            let Some(place) = field::find(&name, next) else {
                let value: serde_json::Value = map.next_value()?;
                if let Some(value) = extra(value) {
                    draft.record.extras.insert(Arc::from(name), value);
                }
                continue;
            };
            if seen[place] {
                return Err(Error::custom(format_args!("{name} is given twice")));
            }
            (seen[place], next) = (true, place + 1);
            if let Err(error) = self.read_field(place, &mut draft, &mut map) {
                self.fault
                    .get_or_insert_with(|| unreadable(FIELDS[place].name, &error.to_string()));
                return Err(error);
            }
        }
        Ok(draft)
    }
}

impl ObjectOf<'_> {
    fn read_field<'de, M: MapAccess<'de>>(
        &mut self,
        place: usize,
        draft: &mut Draft,
        map: &mut M,
    ) -> Result<(), M::Error> {
        let record = &mut draft.record;
        match FIELDS[place].access {
            Access::Version => draft.version = map.next_value()?,
            Access::Context => draft.context = map.next_value()?,
            Access::ContextRest => {
                if let Some(text) = map.next_value::<Option<String>>()? {
                    draft.set_rest(&text).map_err(|error| self.faulty(error))?;
                }
            }
            Access::Mu => {
                let space: Option<Space> = map.next_value()?;
                record.mu = space
                    .map(|space| self.mu.intern(space))
                    .transpose()
                    .map_err(Error::custom)?;
            }
            Access::Limits => record.limits = map.next_value()?,
            Access::Action => {
                draft.action = map
                    .next_value::<Option<ReadAction>>()?
                    .map(|action| action.0);
            }
            Access::Propensity => {
                if let Some(word) = map.next_value::<Option<String>>()? {
                    draft
                        .set_propensity(&word)
                        .map_err(|error| self.faulty(error))?;
                }
            }
            Access::Density => draft.density = map.next_value()?,
            Access::Objective => record.objective = map.next_value()?,
            Access::Loss => draft.loss = map.next_value()?,
            Access::Number { set, .. } => *set(record) = map.next_value()?,
            Access::Count { set, .. } => *set(record) = map.next_value()?,
            Access::Small { set, .. } => *set(record) = map.next_value()?,
            Access::Text { set, .. } => *set(record) = map.next_value()?,
            Access::Flag { set, .. } => *set(record) = map.next_value()?,
            Access::Instant { set, .. } => {
                let text: Option<String> = map.next_value()?;
                *set(record) = text
                    .map(|text| text.parse())
                    .transpose()
                    .map_err(Error::custom)?;
            }
            Access::Word { set, .. } => {
                if let Some(word) = map.next_value::<Option<String>>()? {
                    set(record, &word).map_err(|error| self.faulty(error))?;
                }
            }
        }
        Ok(())
    }

    /// Keeps what is wrong with a field.
    fn faulty<E: Error>(&mut self, error: RowError) -> E {
        let text = E::custom(&error);
        *self.fault = Some(error);
        text
    }
}

/// A field that serde could not read. Its error tells the line, which is always 1 here.
fn unreadable(field: &'static str, error: &str) -> RowError {
    let problem = error.split(" at line ").next().unwrap_or(error);
    RowError::Field {
        field,
        problem: problem.to_owned(),
    }
}

/// The value of a column of the user's own: numbers and text as they are, all else as JSON text.
fn extra(value: serde_json::Value) -> Option<Extra> {
    use serde_json::Value;
    match value {
        Value::Null => None,
        Value::String(text) => Some(Extra::Text(text)),
        Value::Bool(flag) => Some(Extra::Number(f64::from(u8::from(flag)))),
        // Beyond 2⁵³ a whole number need not be an f64.
        Value::Number(number) => Some(match (number.as_i128(), number.as_f64()) {
            (Some(whole), _) if 1 << 53 < whole.abs() => Extra::Text(number.to_string()),
            (_, Some(value)) => Extra::Number(value),
            (_, None) => Extra::Text(number.to_string()),
        }),
        other => Some(Extra::Text(other.to_string())),
    }
}

/// An action as JSON has it. A list of items looks like a vector: the space tells.
struct ReadAction(AnyAction);

impl<'de> Deserialize<'de> for ReadAction {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct AnyForm;

        impl<'de> Visitor<'de> for AnyForm {
            type Value = AnyAction;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a list of numbers, or an object with a value for each knob")
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<AnyAction, E> {
                let item = |index| Item(index).into();
                Ok(u32::try_from(value).map_or_else(|_| (value as f64).into(), item))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<AnyAction, E> {
                Ok((value as f64).into())
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<AnyAction, E> {
                Ok(value.into())
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<AnyAction, S::Error> {
                let mut values: Vec<f64> = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(Vector::new(&values).map_err(Error::custom)?.into())
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<AnyAction, M::Error> {
                let action = MixedAction::deserialize(MapAccessDeserializer::new(map))?;
                Ok(action.into())
            }
        }

        source.deserialize_any(AnyForm).map(Self)
    }
}

impl<'de> Deserialize<'de> for ContextForm {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Form;

        impl<'de> Visitor<'de> for Form {
            type Value = ContextForm;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a list of numbers, an object of named features, or dim, indices and values",
                )
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<ContextForm, S::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(ContextForm::Dense(values))
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<ContextForm, M::Error> {
                let features = Features::deserialize(MapAccessDeserializer::new(map))?;
                if named_context::is_sparse(features.iter().map(|(name, _)| name)) {
                    return sparse_form(&features).map_err(Error::custom);
                }
                Ok(ContextForm::Named(features))
            }
        }

        source.deserialize_any(Form)
    }
}

/// The parts of a sparse context.
fn sparse_form(parts: &Features) -> Result<ContextForm, &'static str> {
    let whole = |value: &FeatureValue| match *value {
        FeatureValue::Integer(whole) => u32::try_from(whole).ok(),
        FeatureValue::Number(number) => {
            let whole = number as u32;
            (f64::from(whole) == number).then_some(whole)
        }
        _ => None,
    };
    let number = |value: &FeatureValue| match *value {
        FeatureValue::Integer(whole) => Some(whole as f64),
        FeatureValue::Number(number) => Some(number),
        _ => None,
    };
    let list = |name: &str| match parts.get(name) {
        Some(FeatureValue::List(values)) => Ok(values),
        _ => Err("indices and values of a sparse context are lists"),
    };
    let dim = match parts.get("dim") {
        Some(FeatureValue::Integer(dim)) => usize::try_from(*dim).ok(),
        other => other.and_then(whole).map(|dim| dim as usize),
    };
    let indices: Option<Vec<u32>> = list("indices")?.iter().map(whole).collect();
    let values: Option<Vec<f64>> = list("values")?.iter().map(number).collect();
    Ok(ContextForm::Sparse {
        dim: dim.ok_or("dim of a sparse context is no whole number")?,
        indices: indices.ok_or("an index of a sparse context is no whole number")?,
        values: values.ok_or("a value of a sparse context is no number")?,
    })
}
