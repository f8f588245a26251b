use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::event::Action;

/// A value for each of several knobs, by name.
///
/// ```
/// use egret::MixedAction;
///
/// let action = MixedAction::new([("price", 12.5.into()), ("colour", "red".into())])?;
/// assert_eq!(action.get("price"), Some(&12.5.into()));
/// # Ok::<(), egret::MixedActionError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct MixedAction(BTreeMap<String, KnobValue>);

/// Where a knob stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a number or the name of a category")]
pub enum KnobValue {
    /// A point of an interval, or one of its steps.
    Number(f64),
    /// The name of a category.
    Category(String),
}

impl MixedAction {
    /// An error if there is no knob, one is named twice, or a number is NaN or infinite.
    pub fn new<N: Into<String>>(
        values: impl IntoIterator<Item = (N, KnobValue)>,
    ) -> Result<Self, MixedActionError> {
        let mut knobs = BTreeMap::new();
        for (name, value) in values {
            let name = name.into();
            if matches!(value, KnobValue::Number(number) if !number.is_finite()) {
                return Err(MixedActionError::NotFinite(name));
            }
            if knobs.contains_key(&name) {
                return Err(MixedActionError::Twice(name));
            }
            knobs.insert(name, value);
        }
        if knobs.is_empty() {
            return Err(MixedActionError::NoKnob);
        }
        Ok(Self(knobs))
    }

    /// Where a knob stands.
    pub fn get(&self, name: &str) -> Option<&KnobValue> {
        self.0.get(name)
    }

    /// All knobs, in order of name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &KnobValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl Action for MixedAction {
    type Batch = Vec<Self>;
}

impl From<f64> for KnobValue {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for KnobValue {
    fn from(category: &str) -> Self {
        Self::Category(category.to_owned())
    }
}

impl fmt::Display for MixedAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut knobs = f.debug_map();
        for (name, value) in self.iter() {
            match value {
                KnobValue::Number(number) => knobs.entry(&name, number),
                KnobValue::Category(category) => knobs.entry(&name, category),
            };
        }
        knobs.finish()
    }
}

impl<'de> Deserialize<'de> for MixedAction {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Knobs;

        impl<'de> Visitor<'de> for Knobs {
            type Value = MixedAction;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a value for each knob")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<MixedAction, M::Error> {
                let mut knobs: Vec<(String, KnobValue)> = Vec::new();
                while let Some(knob) = map.next_entry()? {
                    knobs.push(knob);
                }
                MixedAction::new(knobs).map_err(Error::custom)
            }
        }

        source.deserialize_map(Knobs)
    }
}

/// Why values of knobs are no action.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MixedActionError {
    /// No value at all.
    #[error("a mixed action has at least one knob")]
    NoKnob,
    /// Two values for one knob.
    #[error("the knob {0} is given twice")]
    Twice(String),
    /// NaN or infinite.
    #[error("the knob {0} is NaN or infinite")]
    NotFinite(String),
}
