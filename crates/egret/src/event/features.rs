use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What is known before the decision, as users have it: named values.
///
/// ```
/// use egret::Features;
///
/// let customer = Features::new().with("income", 52_000).with("country", "NZ").with("returning", true);
/// let sent: Features = serde_json::from_str(r#"{"returning": true, "income": 52000, "country": "NZ"}"#)?;
/// assert_eq!(customer, sent);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// The order of names does not matter. A value inside an object has the dotted name of the path to it: `{"a": {"b": 1}}`
/// is the feature `a.b`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Features(BTreeMap<String, FeatureValue>);

/// One named value.
#[derive(Debug, Clone, PartialEq)]
pub enum FeatureValue {
    /// null: not known.
    Missing,
    /// True or false.
    Flag(bool),
    /// A whole number; beyond 64 bits it is a [`Number`](Self::Number).
    Integer(i64),
    /// Any other number.
    Number(f64),
    /// A category, a token, a time.
    Text(String),
    /// Tokens, or the numbers of a vector.
    List(Vec<FeatureValue>),
    /// Named values below this one.
    Object(BTreeMap<String, FeatureValue>),
}

impl Features {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more; a value of the same name is replaced.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<FeatureValue>) -> Self {
        self.set(name, value);
        self
    }

    /// Sets one; a value of the same name is replaced.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<FeatureValue>) {
        self.0.insert(name.into(), value.into());
    }

    /// Replaces the value at a dotted name where there is one, or takes it away.
    pub(crate) fn replace(&mut self, name: &str, value: Option<FeatureValue>) {
        replace(&mut self.0, name, value);
    }

    /// A value by its name, dotted names included.
    pub fn get(&self, name: &str) -> Option<&FeatureValue> {
        get(&self.0, name)
    }

    /// The values at the top, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &FeatureValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// How many values there are at the top.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls `visit` with each value that is no object, by its dotted name.
    pub fn for_each_leaf<'a>(&'a self, mut visit: impl FnMut(&str, &'a FeatureValue)) {
        leaves(&self.0, &mut String::new(), &mut visit);
    }
}

fn get<'a>(values: &'a BTreeMap<String, FeatureValue>, name: &str) -> Option<&'a FeatureValue> {
    if let Some(value) = values.get(name) {
        return Some(value);
    }
    // `a.b.c` may be b.c in a, or c in a.b: names may hold dots themselves.
    name.char_indices()
        .filter(|(_, letter)| *letter == '.')
        .find_map(|(dot, _)| match values.get(&name[..dot]) {
            Some(FeatureValue::Object(inner)) => get(inner, &name[dot + 1..]),
            _ => None,
        })
}

fn replace(values: &mut BTreeMap<String, FeatureValue>, name: &str, value: Option<FeatureValue>) {
    if let Some(present) = values.get_mut(name) {
        match value {
            Some(value) => *present = value,
            None => {
                values.remove(name);
            }
        }
        return;
    }
    let dots = name.char_indices().filter(|(_, letter)| *letter == '.');
    for (dot, _) in dots {
        if let Some(FeatureValue::Object(inner)) = values.get_mut(&name[..dot])
            && get(inner, &name[dot + 1..]).is_some()
        {
            replace(inner, &name[dot + 1..], value);
            return;
        }
    }
}

fn leaves<'a>(
    values: &'a BTreeMap<String, FeatureValue>,
    path: &mut String,
    visit: &mut dyn FnMut(&str, &'a FeatureValue),
) {
    let above = path.len();
    for (name, value) in values {
        match value {
            FeatureValue::Object(inner) => {
                path.push_str(name);
                path.push('.');
                leaves(inner, path, visit);
            }
            // At the top the name is the path, and nothing is allocated.
            other if above == 0 => visit(name, other),
            other => {
                path.push_str(name);
                visit(path, other);
            }
        }
        path.truncate(above);
    }
}

impl<N: Into<String>, V: Into<FeatureValue>> FromIterator<(N, V)> for Features {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(values: I) -> Self {
        let values = values.into_iter();
        Self(
            values
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }
}

impl<N: Into<String>, V: Into<FeatureValue>, const COUNT: usize> From<[(N, V); COUNT]>
    for Features
{
    fn from(values: [(N, V); COUNT]) -> Self {
        values.into_iter().collect()
    }
}

macro_rules! from {
    ($($type:ty => $variant:expr),* $(,)?) => {
        $(impl From<$type> for FeatureValue {
            fn from(value: $type) -> Self {
                $variant(value.into())
            }
        })*
    };
}

from! {
    bool => Self::Flag,
    i8 => Self::Integer,
    i16 => Self::Integer,
    i32 => Self::Integer,
    i64 => Self::Integer,
    u8 => Self::Integer,
    u16 => Self::Integer,
    u32 => Self::Integer,
    &str => Self::Text,
    String => Self::Text,
}

/// NaN and infinities are not known: [`Missing`](FeatureValue::Missing).
impl From<f64> for FeatureValue {
    fn from(value: f64) -> Self {
        if value.is_finite() {
            Self::Number(value)
        } else {
            Self::Missing
        }
    }
}

impl<V: Into<FeatureValue>> From<Option<V>> for FeatureValue {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

impl<V: Into<FeatureValue>> From<Vec<V>> for FeatureValue {
    fn from(values: Vec<V>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl From<Features> for FeatureValue {
    fn from(features: Features) -> Self {
        Self::Object(features.0)
    }
}

impl Serialize for FeatureValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Missing => serializer.serialize_unit(),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Integer(number) => serializer.serialize_i64(*number),
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    list.serialize_element(value)?;
                }
                list.end()
            }
            Self::Object(values) => object(values, serializer),
        }
    }
}

impl Serialize for Features {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        object(&self.0, serializer)
    }
}

fn object<S: Serializer>(
    values: &BTreeMap<String, FeatureValue>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(values.len()))?;
    for (name, value) in values {
        map.serialize_entry(name, value)?;
    }
    map.end()
}

impl<'de> Deserialize<'de> for FeatureValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

impl<'de> Deserialize<'de> for Features {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let features = Self(deserializer.deserialize_map(AnyObject)?);
        match features.twice() {
            None => Ok(features),
            Some(name) => Err(de::Error::custom(format!(
                "the feature {name} is given twice"
            ))),
        }
    }
}

impl Features {
    /// A name that two values have, one through a dot of its own.
    fn twice(&self) -> Option<String> {
        let mut names = std::collections::BTreeSet::new();
        let mut twice = None;
        self.for_each_leaf(|name, _| {
            if !names.insert(name.to_owned()) {
                twice = Some(name.to_owned());
            }
        });
        twice
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = FeatureValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a feature: null, true or false, a number, text, a list or an object")
    }

    fn visit_unit<E>(self) -> Result<FeatureValue, E> {
        Ok(FeatureValue::Missing)
    }

    fn visit_none<E>(self) -> Result<FeatureValue, E> {
        Ok(FeatureValue::Missing)
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<FeatureValue, D::Error> {
        FeatureValue::deserialize(inner)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<FeatureValue, E> {
        Ok(FeatureValue::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<FeatureValue, E> {
        Ok(FeatureValue::Integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<FeatureValue, E> {
        Ok(i64::try_from(number).map_or(
            // A name rather than a quantity, and no digit of it is to be lost.
            FeatureValue::Text(number.to_string()),
            FeatureValue::Integer,
        ))
    }

    fn visit_f64<E>(self, number: f64) -> Result<FeatureValue, E> {
        Ok(FeatureValue::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<FeatureValue, E> {
        Ok(FeatureValue::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<FeatureValue, E> {
        Ok(FeatureValue::Text(text))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<FeatureValue, S::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(FeatureValue::List(values))
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<FeatureValue, M::Error> {
        AnyObject.visit_map(map).map(FeatureValue::Object)
    }
}

struct AnyObject;

impl<'de> Visitor<'de> for AnyObject {
    type Value = BTreeMap<String, FeatureValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of named features")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut values = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            if values.contains_key(&name) {
                return Err(de::Error::custom(format!(
                    "the feature {name} is given twice"
                )));
            }
            values.insert(name, map.next_value()?);
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(json: &str) -> Features {
        serde_json::from_str(json).expect("features")
    }

    #[test]
    fn names_may_be_dotted_or_nested() {
        let features = parsed(r#"{"a": {"b.c": 1, "d": {"e": null}}, "f.g": "h"}"#);
        let mut names = Vec::new();
        features.for_each_leaf(|name, value| names.push((name.to_owned(), value.clone())));
        assert_eq!(
            names,
            [
                ("a.b.c".to_owned(), FeatureValue::Integer(1)),
                ("a.d.e".to_owned(), FeatureValue::Missing),
                ("f.g".to_owned(), FeatureValue::Text("h".to_owned())),
            ]
        );
        for (name, value) in names {
            assert_eq!(features.get(&name), Some(&value));
        }
        assert_eq!(features.get("a.b"), None);
    }

    #[test]
    fn the_same_name_twice_is_refused_by_name() {
        for json in [
            r#"{"a": 1, "a": 2}"#,
            r#"{"a.b": 1, "a": {"b": 2}}"#,
            r#"{"x": {"a": 1, "a": 2}}"#,
        ] {
            let error = serde_json::from_str::<Features>(json).expect_err("twice");
            assert!(error.to_string().contains("is given twice"), "{error}");
        }
    }

    #[test]
    fn all_forms_come_back() {
        let json = r#"{"big":"18446744073709551615","flag":true,"list":["a",1,[0.5]],"n":-3,"o":{"p":{}},"r":1.5,"t":"x","u":null}"#;
        let features = parsed(json);
        assert_eq!(serde_json::to_string(&features).expect("JSON"), json);
        assert_eq!(
            parsed(r#"{"id": 18446744073709551615}"#).get("id"),
            Some(&FeatureValue::Text("18446744073709551615".to_owned()))
        );
    }

    #[test]
    fn what_is_not_finite_is_missing() {
        assert_eq!(FeatureValue::from(0.5), FeatureValue::Number(0.5));
        for odd in [f64::NAN, f64::INFINITY] {
            assert_eq!(FeatureValue::from(odd), FeatureValue::Missing);
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for json in ["1", "[]", "null", "\"a\""] {
            assert!(serde_json::from_str::<Features>(json).is_err(), "{json}");
        }
    }
}
