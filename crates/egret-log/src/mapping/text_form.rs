//! Values that a file or a request has as text.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(super) fn serialize<T: Display, S: Serializer>(
    value: &Option<T>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => to.collect_str(value),
        None => to.serialize_none(),
    }
}

pub(super) fn deserialize<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    let text = Option::<String>::deserialize(from)?;
    text.map(|text| text.parse().map_err(Error::custom))
        .transpose()
}

/// Names: one as text, several as a list.
pub(super) mod one_or_many {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        One(String),
        Many(Vec<String>),
    }

    pub(in crate::mapping) fn serialize<S: Serializer>(
        names: &[String],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        names.serialize(to)
    }

    pub(in crate::mapping) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<String>, D::Error> {
        Ok(match Names::deserialize(from)? {
            Names::One(name) => vec![name],
            Names::Many(names) => names,
        })
    }
}
