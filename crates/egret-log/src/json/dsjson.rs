use std::fmt;

use egret::{AnyAction, Density, Loss, Space};
use serde::Deserialize;
use serde::de::{Deserializer as _, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value, json};

use crate::json::{self, ObjectOf, sparse_parts};
use crate::record::{
    Record, RowError,
    draft::{ContextForm, Draft},
    mu_cache::MuCache,
};

/// What dsjson does not say itself.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Missing {
    /// The interval of the actions.
    pub(crate) interval: Option<(f64, f64)>,
    /// Features are hashed to so many bits.
    pub(crate) hash_bits: Option<u32>,
}

/// The record as one line of dsjson, without the end of the line.
///
/// `pdf_value` is a density by length: dP/dμ over the length of the interval. The whole record is under `egret`, which
/// Vowpal Wabbit passes over, so that nothing is lost on the way back.
pub(crate) fn write(record: &Record, missing: Missing, out: &mut Vec<u8>) -> Result<(), RowError> {
    let AnyAction::Number(action) = record.action else {
        return Err(unfit("has no number as its action"));
    };
    let loss = record.loss.ok_or(unfit("has no loss yet"))?;
    let density = record.propensity.density();
    let density = density.ok_or(unfit("was a point mass, which has no density"))?;
    let length = length(record.mu.as_deref(), missing.interval)?;
    let mut line = Map::new();
    line.insert(
        "_label_ca".to_owned(),
        json!({
            "cost": loss.get(),
            "pdf_value": density.get() / length,
            "action": action,
        }),
    );
    if let Some(time) = record.time {
        line.insert("Timestamp".to_owned(), json!(time.to_string()));
    }
    let id = record.event_id.clone();
    let id = id.or_else(|| record.event.or(record.seq).map(|number| number.to_string()));
    line.insert("EventId".to_owned(), json!(id.unwrap_or_default()));
    line.insert("Version".to_owned(), json!("1"));
    if let Some(passed) = record.pass_prob {
        line.insert("pdrop".to_owned(), json!(1.0 - passed));
    }
    line.insert("c".to_owned(), json!({ "x": features(record) }));
    let mut own = Vec::new();
    json::write(record, &mut own);
    // As text, for a map would sort its names.
    let text = Value::Object(line).to_string();
    out.extend_from_slice(&text.as_bytes()[..text.len() - 1]);
    out.extend_from_slice(b",\"egret\":");
    out.extend_from_slice(&own);
    out.push(b'}');
    Ok(())
}

fn unfit(why: &str) -> RowError {
    RowError::Unreadable(format!("the event {why}: dsjson cannot hold it"))
}

/// What dP/dμ is divided by.
fn length(mu: Option<&Space>, interval: Option<(f64, f64)>) -> Result<f64, RowError> {
    match (mu, interval) {
        (Some(&Space::Interval { low, high }), _) | (None, Some((low, high))) => Ok(high - low),
        (None, None) => Err(RowError::Unreadable(
            "the interval of the actions is not known: give --low and --high to `egret log convert`".to_owned(),
        )),
        (Some(_), _) => Err(unfit("has a mu that is not uniform on an interval")),
    }
}

fn features(record: &Record) -> Value {
    match (record.context.as_dense(), &record.features) {
        (Some(values), None) => json!(values),
        (Some(values), Some(names)) => {
            let named = names.iter().cloned().zip(values.iter().map(|&v| json!(v)));
            Value::Object(named.collect())
        }
        (None, _) => {
            let (indices, values) = sparse_parts(&record.context);
            let named = indices.iter().zip(values);
            Value::Object(named.map(|(i, v)| (i.to_string(), json!(v))).collect())
        }
    }
}

/// What is needed of a line.
#[derive(Default)]
struct Line {
    label: Option<Label>,
    timestamp: Option<String>,
    event_id: Option<String>,
    pdrop: Option<f64>,
    context: Value,
    own: Option<Draft>,
}

struct LineOf<'a> {
    mu: &'a mut MuCache,
}

impl<'de> Visitor<'de> for LineOf<'_> {
    type Value = Line;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of dsjson")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Line, M::Error> {
        let mut line = Line::default();
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "_label_ca" => line.label = map.next_value()?,
                "Timestamp" => line.timestamp = map.next_value()?,
                "EventId" => line.event_id = map.next_value()?,
                "pdrop" => line.pdrop = map.next_value()?,
                "c" => line.context = map.next_value()?,
                "egret" => {
                    let mut fault = None;
                    let own = map.next_value_seed(ObjectOf {
                        mu: self.mu,
                        fault: &mut fault,
                    });
                    line.own = Some(own.map_err(|error| match fault {
                        Some(fault) => M::Error::custom(fault),
                        None => error,
                    })?);
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(line)
    }
}

#[derive(Deserialize)]
struct Label {
    cost: f64,
    pdf_value: f64,
    action: f64,
}

/// Reads a record from a line of dsjson.
pub(crate) fn read(text: &[u8], missing: Missing, cache: &mut MuCache) -> Result<Record, RowError> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let line = reader.deserialize_map(LineOf { mu: cache });
    let line = line.and_then(|line| reader.end().map(|()| line));
    let line = line.map_err(|error| RowError::Unreadable(error.to_string()))?;
    let label = line.label.ok_or(RowError::Missing { field: "_label_ca" })?;
    if let Some(own) = line.own {
        let record = own.finish()?;
        agrees(&record, &label, missing)?;
        return Ok(record);
    }
    let (low, high) = missing.interval.ok_or_else(|| {
        RowError::Unreadable(
            "dsjson does not say which actions there are: give --low and --high to `egret log convert`".to_owned(),
        )
    })?;
    let mut draft = Draft::new();
    draft.record.event_id = line.event_id;
    draft.record.pass_prob = line.pdrop.map(|dropped| 1.0 - dropped);
    draft.record.time = line
        .timestamp
        .map(|text| text.parse())
        .transpose()
        .map_err(|error| RowError::Time {
            field: "Timestamp",
            error,
        })?;
    draft.record.mu = Some(cache.intern(Space::Interval { low, high })?);
    draft.action = Some(AnyAction::Number(label.action));
    draft.density = Some(label.pdf_value * (high - low));
    draft.loss = Some(label.cost);
    let mut found = Vec::new();
    collect("c", &line.context, &mut found)?;
    draft.context = Some(match missing.hash_bits {
        None => named(found)?,
        Some(bits) => hashed(found, bits),
    });
    draft.finish()
}

/// An error if the label was changed after egret wrote it.
fn agrees(record: &Record, label: &Label, missing: Missing) -> Result<(), RowError> {
    let length = length(record.mu.as_deref(), missing.interval).ok();
    let density = record.propensity.density().map(Density::get);
    let same = record.number("action") == Some(label.action)
        && record.loss.map(Loss::get) == Some(label.cost)
        && length.is_none_or(|length| {
            density.is_some_and(|density| {
                (density / length - label.pdf_value).abs() <= 1e-9 * label.pdf_value.abs()
            })
        });
    if same {
        Ok(())
    } else {
        Err(RowError::Unreadable(
            "_label_ca and egret do not say the same: remove egret to go by the label".to_owned(),
        ))
    }
}

enum Feature {
    Number(f64),
    Text(String),
}

/// The features of a context with their paths. Names that start with `_` are not features.
fn collect(path: &str, value: &Value, out: &mut Vec<(String, Feature)>) -> Result<(), RowError> {
    match value {
        Value::Null => {}
        Value::Bool(flag) => {
            out.push((path.to_owned(), Feature::Number(f64::from(u8::from(*flag)))))
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            out.push((path.to_owned(), Feature::Number(number)));
        }
        Value::String(text) => out.push((path.to_owned(), Feature::Text(text.clone()))),
        Value::Array(values) => {
            for (place, value) in values.iter().enumerate() {
                collect(&format!("{path}[{place}]"), value, out)?;
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "_multi" {
                    return Err(unfit("has a list of actions to choose from"));
                }
                if !name.starts_with('_') {
                    collect(&format!("{path}.{name}"), value, out)?;
                }
            }
        }
    }
    Ok(())
}

fn named(found: Vec<(String, Feature)>) -> Result<ContextForm, RowError> {
    let mut names = Vec::with_capacity(found.len());
    let mut values = Vec::with_capacity(found.len());
    for (path, feature) in found {
        match feature {
            Feature::Number(value) => {
                // The first `c.` says nothing.
                names.push(path.get(2..).unwrap_or_default().to_owned());
                values.push(value);
            }
            Feature::Text(text) => {
                return Err(RowError::Unreadable(format!(
                    "the feature {path} is {text:?}: contexts are numbers, or text hashed with --hash-bits"
                )));
            }
        }
    }
    Ok(ContextForm::Named(names.into(), values))
}

/// A number x under its name, text as 1 under name=text, at places given by FNV-1a; what meets at one place is added up.
fn hashed(found: Vec<(String, Feature)>, bits: u32) -> ContextForm {
    let mut entries: Vec<(u32, f64)> = found
        .into_iter()
        .map(|(path, feature)| match feature {
            Feature::Number(value) => (place(&path, bits), value),
            Feature::Text(text) => (place(&format!("{path}={text}"), bits), 1.0),
        })
        .collect();
    entries.sort_by_key(|&(index, _)| index);
    entries.dedup_by(|later, first| {
        let meet = later.0 == first.0;
        if meet {
            first.1 += later.1;
        }
        meet
    });
    let (indices, values) = entries.into_iter().unzip();
    ContextForm::Sparse {
        dim: 1 << bits,
        indices,
        values,
    }
}

fn place(name: &str, bits: u32) -> u32 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    // The low bits of FNV-1a are its weakest: the halves are folded.
    ((hash ^ (hash >> 32)) & ((1 << bits) - 1)) as u32
}
