use std::collections::BTreeMap;
use std::fmt;

use egret::{AnyAction, Context, Density, FeatureValue, Features, Loss, Space};
use serde::Deserialize;
use serde::de::{Deserializer as _, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value, json};

use crate::json::{self, ObjectOf, sparse_parts};
use crate::record::{
    Record, RowError,
    draft::{ContextForm, Draft},
    mu_cache::MuCache,
    outcome,
};

/// What dsjson does not say itself.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Missing {
    /// The interval of the actions.
    pub(crate) interval: Option<(f64, f64)>,
}

/// The record as one line of dsjson, without the end of the line.
///
/// `pdf_value` is a density by length: dP/dμ over the length of the interval. The whole record is under `egret`, which
/// Vowpal Wabbit passes over, so that nothing is lost on the way back.
pub(crate) fn write(record: &Record, missing: Missing, out: &mut Vec<u8>) -> Result<(), RowError> {
    let AnyAction::Number(action) = record.action else {
        return Err(unfit("has no number as its action"));
    };
    if record.limits.is_some() {
        return Err(unfit("had limits"));
    }
    let loss = outcome::loss(record.loss, record.outcome, record.objective.as_ref())?;
    let loss = loss.ok_or(unfit("has no loss yet"))?;
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
    line.insert("c".to_owned(), shared(&record.context));
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
            "the interval of the actions is not known: give it, as in --space interval:0,1"
                .to_owned(),
        )),
        (Some(_), _) => Err(unfit("has a mu that is not uniform on an interval")),
    }
}

/// What stands under `c`: named features as they are, numbers under `x`.
fn shared(context: &Context) -> Value {
    if let Some(features) = context.as_named() {
        let features = features.iter();
        let members = features
            .filter_map(|(name, value)| Some((name, member(name, value, list_for_vowpal_wabbit)?)));
        return json!(members.collect::<Features>());
    }
    if let Some(values) = context.as_dense() {
        return json!({ "x": values });
    }
    let (indices, values) = sparse_parts(context);
    let named = indices.iter().zip(values);
    let named: Map<String, Value> = named.map(|(i, v)| (i.to_string(), json!(v))).collect();
    json!({ "x": named })
}

/// What is needed of a line.
#[derive(Default)]
struct Line {
    label: Option<Label>,
    timestamp: Option<String>,
    event_id: Option<String>,
    pdrop: Option<f64>,
    context: Option<FeatureValue>,
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
            "dsjson does not say which actions there are: give them, as in --space interval:0,1"
                .to_owned(),
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
    draft.context = Some(ContextForm::Named(named(line.context)?));
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

/// The features below `c`.
fn named(context: Option<FeatureValue>) -> Result<Features, RowError> {
    let fields = match context {
        None | Some(FeatureValue::Missing) => return Ok(Features::new()),
        Some(FeatureValue::Object(fields)) => fields,
        Some(_) => {
            return Err(RowError::Field {
                field: "c",
                problem: "expected an object of features".to_owned(),
            });
        }
    };
    if fields.contains_key("_multi") {
        return Err(unfit("has a list of actions to choose from"));
    }
    let fields = fields.iter();
    let members = fields.filter_map(|(name, value)| Some((name, member(name, value, list)?)));
    Ok(members.collect())
}

/// A member of an object, unless it is null or Vowpal Wabbit's own: names that start with `_` are not features.
fn member(
    name: &str,
    value: &FeatureValue,
    list: fn(&[FeatureValue]) -> FeatureValue,
) -> Option<FeatureValue> {
    match value {
        _ if name.starts_with('_') => None,
        FeatureValue::Missing => None,
        FeatureValue::Object(fields) => {
            let fields = fields.iter();
            let members = fields.filter_map(|(name, value)| {
                let value = member(name, value, list)?;
                Some((name.clone(), value))
            });
            Some(FeatureValue::Object(members.collect()))
        }
        FeatureValue::List(values) => Some(list(values)),
        other => Some(other.clone()),
    }
}

/// A list as it is. An element has no name of its own.
fn list(values: &[FeatureValue]) -> FeatureValue {
    let element = |value| member("", value, list).unwrap_or(FeatureValue::Missing);
    FeatureValue::List(values.iter().map(element).collect())
}

/// A list as Vowpal Wabbit reads it: of numbers and objects. In any other each text is a feature that counts how often it
/// comes, and all else goes by its place.
fn list_for_vowpal_wabbit(values: &[FeatureValue]) -> FeatureValue {
    let element = |value| member("", value, list_for_vowpal_wabbit);
    let readable = |value: &FeatureValue| {
        matches!(
            value,
            FeatureValue::Integer(_)
                | FeatureValue::Number(_)
                | FeatureValue::Missing
                | FeatureValue::Object(_)
        )
    };
    if values.iter().all(readable) {
        let elements = values.iter().map(element);
        let elements = elements.map(|value| value.unwrap_or(FeatureValue::Missing));
        return FeatureValue::List(elements.collect());
    }
    let mut members = BTreeMap::new();
    for (place, value) in values.iter().enumerate() {
        match value {
            FeatureValue::Text(text) if text.starts_with('_') => {}
            FeatureValue::Text(text) => {
                let count = members.entry(text.clone());
                if let FeatureValue::Integer(count) = count.or_insert(FeatureValue::Integer(0)) {
                    *count += 1;
                }
            }
            other => {
                if let Some(value) = element(other) {
                    members.entry(place.to_string()).or_insert(value);
                }
            }
        }
    }
    FeatureValue::Object(members)
}

#[cfg(test)]
mod tests {
    use egret::Propensity;

    use super::*;

    fn named(json: &str) -> Record {
        let features: Features = serde_json::from_str(json).expect("features");
        let density = Propensity::Density(Density::new(2.0).expect("positive"));
        let mut record = Record::bare(Context::named(features), 0.5.into(), density);
        record.loss = Some(Loss::new(0.25).expect("in range"));
        record
    }

    const INTERVAL: Missing = Missing {
        interval: Some((0.0, 10.0)),
    };

    fn written(record: &Record) -> Value {
        let mut line = Vec::new();
        write(record, INTERVAL, &mut line).expect("dsjson can hold it");
        serde_json::from_slice(&line).expect("JSON")
    }

    #[test]
    fn named_features_are_written_as_vowpal_wabbit_reads_them() {
        let record = named(
            r#"{"age": 3, "town": "Porto", "none": null, "_own": 1, "scores": [0.5, 2], "user": {"new": true, "_tag": "x"},
                "tags": ["a", "b", "a", "_c"], "odd": [true, [1, 2], "a"]}"#,
        );
        assert_eq!(
            written(&record)["c"],
            json!({
                "age": 3, "town": "Porto", "scores": [0.5, 2], "user": {"new": true},
                "tags": {"a": 2, "b": 1}, "odd": {"0": true, "1": [1, 2], "a": 1},
            })
        );
    }

    #[test]
    fn everything_below_c_is_a_named_feature() {
        let mut line = written(&named(r#"{"age": 3}"#));
        line.as_object_mut().expect("an object").remove("egret");
        let mut read_as = |c: Value| {
            line["c"] = c;
            read(
                line.to_string().as_bytes(),
                INTERVAL,
                &mut MuCache::default(),
            )
        };
        let c = json!({"shared": {"device": "phone", "_tag": "x", "tags": ["a", null]}, "new": true, "_n": {"a": 1}});
        let record = read_as(c).expect("good");
        assert_eq!(
            json!(record.context.as_named()),
            json!({"shared": {"device": "phone", "tags": ["a", null]}, "new": true})
        );
        assert_eq!(record.propensity.density().map(Density::get), Some(2.0));
        let none = read_as(Value::Null).expect("no features are features too");
        assert!(none.context.as_named().is_some_and(Features::is_empty));
        let error = read_as(json!([1, 2])).expect_err("a list");
        assert_eq!(error.field(), Some("c"));
        let error = read_as(json!({"_multi": []})).expect_err("a choice of actions");
        assert!(error.to_string().contains("a list of actions"), "{error}");
    }
}
