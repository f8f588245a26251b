use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::event::{KnobValue, MixedAction};
use crate::measure::mixed_knobs::KnobRange;
use crate::measure::{Interval, Steps};
use crate::model::{ActionSpace, EmbeddingRows, Space, SpaceError};
use crate::oracle::features::knob_features;

/// What one knob of a mixed space can be; μ is uniform over it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Knob {
    /// Numbers from `low` to `high`.
    Interval {
        /// The least.
        low: f64,
        /// The greatest.
        high: f64,
    },
    /// `low`, `low + step`, and so on to `high`.
    Steps {
        /// The least.
        low: f64,
        /// The greatest: a whole number of steps above the least.
        high: f64,
        /// From one to the next.
        step: f64,
    },
    /// One of these names.
    Categories(Vec<String>),
}

/// Several knobs with names: numbers, steps and categories. An action has a value for each.
///
/// ```
/// use egret::{Context, Knob, Knobs, Loss, Model};
///
/// let knobs = Knobs::new()
///     .with("price", Knob::Steps { low: 5.0, high: 50.0, step: 0.5 })?
///     .with("colour", Knob::categories(["red", "green", "blue"]))?
///     .with("speed", Knob::Interval { low: 0.0, high: 1.0 })?;
/// let mut model = Model::new(knobs, 1)?;
/// let x = Context::dense(vec![0.5])?;
/// for event in 0..300 {
///     let decision = model.decide(event, &x)?;
///     let right = decision.action.get("colour") == Some(&"blue".into());
///     model.learn(&decision.observed(&x, Loss::new(if right { 0.1 } else { 0.9 })?))?;
/// }
/// assert_eq!(model.best(&x)?.get("colour"), Some(&"blue".into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Knobs(BTreeMap<String, Knob>);

impl Knobs {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more, or another in place of that of the same name.
    pub fn with(mut self, name: impl Into<String>, knob: Knob) -> Result<Self, SpaceError> {
        knob.check()?;
        self.0.insert(name.into(), knob);
        Ok(self)
    }
}

impl ActionSpace for Knobs {
    type Action = MixedAction;

    fn into_parts(self) -> (Space, Option<EmbeddingRows>) {
        (Space::Mixed { knobs: self.0 }, None)
    }
}

/// `0..1` from one number to another, `5..50/0.5` in steps, `red|green` categories.
impl FromStr for Knob {
    type Err = SpaceError;

    fn from_str(text: &str) -> Result<Self, SpaceError> {
        let unknown = || SpaceError::KnobText {
            text: text.to_owned(),
        };
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| unknown());
        let knob = match text.split_once("..") {
            Some((low, rest)) => match rest.split_once('/') {
                Some((high, step)) => Self::Steps {
                    low: number(low)?,
                    high: number(high)?,
                    step: number(step)?,
                },
                None => Self::Interval {
                    low: number(low)?,
                    high: number(rest)?,
                },
            },
            None if text.trim().is_empty() => return Err(unknown()),
            None => Self::categories(text.split('|').map(str::trim)),
        };
        knob.check()?;
        Ok(knob)
    }
}

/// As [`FromStr`] reads it.
impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interval { low, high } => write!(f, "{low}..{high}"),
            Self::Steps { low, high, step } => write!(f, "{low}..{high}/{step}"),
            Self::Categories(names) => f.write_str(&names.join("|")),
        }
    }
}

impl Knob {
    /// One of these names.
    pub fn categories<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::Categories(names.into_iter().map(Into::into).collect())
    }

    /// Its part of μ.
    pub(crate) fn range(&self) -> Result<KnobRange, SpaceError> {
        self.check()?;
        Ok(match self {
            Self::Interval { low, high } => KnobRange::Interval(*low, *high),
            Self::Steps { low, high, step } => KnobRange::Steps(Steps::new(*low, *high, *step)?),
            Self::Categories(names) => KnobRange::Categories {
                names: names.clone(),
                allowed: (0..names.len()).collect(),
            },
        })
    }

    /// How many features oracles see of it.
    pub(crate) fn columns(&self) -> usize {
        match self {
            Self::Categories(names) => knob_features::columns(names.len()),
            _ => 1,
        }
    }

    pub(crate) fn check(&self) -> Result<(), SpaceError> {
        match self {
            Self::Interval { low, high } => {
                Interval::new(*low, *high)?;
            }
            Self::Steps { low, high, step } => {
                Steps::new(*low, *high, *step)?;
            }
            Self::Categories(names) => {
                let mut sorted: Vec<&String> = names.iter().collect();
                sorted.sort_unstable();
                if names.is_empty() || sorted.windows(2).any(|pair| pair[0] == pair[1]) {
                    return Err(SpaceError::Categories(names.clone()));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn contains(&self, value: &KnobValue) -> bool {
        match (self, value) {
            (Self::Interval { low, high }, KnobValue::Number(value)) => {
                (low..=high).contains(&value)
            }
            (Self::Steps { low, high, step }, KnobValue::Number(value)) => {
                Steps::new(*low, *high, *step).is_ok_and(|steps| steps.index(*value).is_some())
            }
            (Self::Categories(names), KnobValue::Category(name)) => names.contains(name),
            _ => false,
        }
    }
}
