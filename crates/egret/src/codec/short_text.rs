use std::collections::BTreeMap;
use std::str::FromStr;

/// Parses `name:value,key=value,…`, the short form of a specification on a command line.
///
/// ```
/// use egret::ShortText;
///
/// let mut text = ShortText::parse("fourier:features=256,scale=0.5")?;
/// assert_eq!(text.name(), "fourier");
/// assert_eq!(text.required::<usize>("features")?, 256);
/// assert_eq!(text.optional::<u64>("seed")?, None);
/// assert!(text.finish().is_err()); // nobody asked for scale
/// # Ok::<(), egret::ShortTextError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ShortText<'a> {
    name: &'a str,
    bare: Option<&'a str>,
    pairs: BTreeMap<&'a str, &'a str>,
}

impl<'a> ShortText<'a> {
    /// Splits the text; at most one value has no key.
    pub fn parse(text: &'a str) -> Result<Self, ShortTextError> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let mut parsed = Self {
            name,
            bare: None,
            pairs: BTreeMap::new(),
        };
        for part in options.split(',').filter(|part| !part.is_empty()) {
            let before = match part.split_once('=') {
                Some((key, value)) => parsed.pairs.insert(key, value),
                None => parsed.bare.replace(part),
            };
            if before.is_some() {
                return Err(parsed.unknown(part));
            }
        }
        Ok(parsed)
    }

    /// The text before the colon.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The value of a key that may be absent.
    pub fn optional<T: FromStr>(&mut self, key: &str) -> Result<Option<T>, ShortTextError> {
        match self.pairs.remove(key) {
            Some(value) => self.parsed(key, value).map(Some),
            None => Ok(None),
        }
    }

    /// The value of a key that must be present.
    pub fn required<T: FromStr>(&mut self, key: &str) -> Result<T, ShortTextError> {
        let found = self.optional(key)?;
        found.ok_or_else(|| ShortTextError::Missing {
            name: self.name.to_owned(),
            key: key.to_owned(),
        })
    }

    /// The value without a key; `what` describes it in errors.
    pub fn bare<T: FromStr>(&mut self, what: &str) -> Result<T, ShortTextError> {
        match self.bare.take() {
            Some(value) => self.parsed(what, value),
            None => Err(ShortTextError::MissingValue {
                name: self.name.to_owned(),
                what: what.to_owned(),
            }),
        }
    }

    /// An error if part of the text was not asked for.
    pub fn finish(self) -> Result<(), ShortTextError> {
        let left = self.pairs.keys().next().copied().or(self.bare);
        left.map_or(Ok(()), |left| Err(self.unknown(left)))
    }

    fn parsed<T: FromStr>(&self, key: &str, value: &str) -> Result<T, ShortTextError> {
        value.parse().map_err(|_| ShortTextError::Value {
            name: self.name.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        })
    }

    fn unknown(&self, part: &str) -> ShortTextError {
        ShortTextError::Unknown {
            name: self.name.to_owned(),
            part: part.to_owned(),
        }
    }
}

/// Why a short text is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShortTextError {
    /// A required key is missing.
    #[error("{name} needs {key}, as in {name}:{key}=…")]
    Missing {
        /// Of what.
        name: String,
        /// What is missing.
        key: String,
    },
    /// A value without a key is missing.
    #[error("{name} needs {what}, as in {name}:…")]
    MissingValue {
        /// Of what.
        name: String,
        /// What is missing.
        what: String,
    },
    /// The value does not parse.
    #[error("{name} cannot have {key}={value}")]
    Value {
        /// Of what.
        name: String,
        /// The key.
        key: String,
        /// Its value.
        value: String,
    },
    /// An unknown key, or one given twice.
    #[error("{name} has no option {part:?}, or it is given twice")]
    Unknown {
        /// Of what.
        name: String,
        /// What it was.
        part: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| {
            let mut parsed = ShortText::parse(text)?;
            parsed.required::<usize>("m")?;
            parsed.finish()
        };
        assert_eq!(error("best-of:m=16"), Ok(()));
        for (text, message) in [
            ("best-of", "best-of needs m, as in best-of:m=…"),
            ("best-of:m=x", "best-of cannot have m=x"),
            (
                "best-of:m=1,m=2",
                "best-of has no option \"m=2\", or it is given twice",
            ),
            (
                "best-of:m=1,n=2",
                "best-of has no option \"n\", or it is given twice",
            ),
            (
                "best-of:m=1,2",
                "best-of has no option \"2\", or it is given twice",
            ),
        ] {
            assert_eq!(
                error(text).map_err(|error| error.to_string()),
                Err(message.to_owned())
            );
        }
    }
}
