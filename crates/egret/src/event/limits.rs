use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::Item;

/// What one request allowed: a part of the action space. μ is restricted to it, and densities are against the restricted μ.
///
/// ```
/// use egret::{Limits, Space};
///
/// let prices: Space = "interval:5,50".parse()?;
/// let limits = Limits::Interval { low: 9.0, high: 11.0 };
/// assert_eq!(limits.check(&prices), Ok(()));
/// assert!(limits.allow(&prices, &10.0.into()) && !limits.allow(&prices, &20.0.into()));
/// # Ok::<(), egret::SpaceError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Limits {
    /// Numbers from `low` to `high`; equal, they leave one number.
    Interval {
        /// The least allowed.
        low: f64,
        /// The greatest allowed.
        high: f64,
    },
    /// Vectors of a box with each coordinate between two ends; equal, they fix the coordinate.
    Box {
        /// (least, greatest) allowed of each coordinate.
        sides: Vec<(f64, f64)>,
    },
    /// Items of a catalogue, played alone or in sets.
    Items(ItemLimits),
    /// Knobs of a mixed space; those not named are free.
    Mixed {
        /// By name.
        knobs: BTreeMap<String, KnobLimits>,
    },
}

/// Which items a request allowed, in increasing order of their indices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemLimits {
    /// These alone.
    Allowed(Vec<Item>),
    /// All but these.
    Excluded(Vec<Item>),
}

/// What a request allowed one knob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum KnobLimits {
    /// Numbers or steps from `low` to `high`; equal, they fix the knob.
    Interval {
        /// The least allowed.
        low: f64,
        /// The greatest allowed.
        high: f64,
    },
    /// These categories.
    Categories(Vec<String>),
}

impl ItemLimits {
    /// Whether they are in order, name only items below `count`, and leave so many of them.
    pub(crate) fn leave(&self, needed: usize, count: usize) -> bool {
        let (Self::Allowed(listed) | Self::Excluded(listed)) = self;
        let increasing = listed.windows(2).all(|pair| pair[0] < pair[1]);
        let known = listed.last().is_none_or(|item| (item.0 as usize) < count);
        increasing
            && known
            && match self {
                Self::Allowed(allowed) => needed <= allowed.len(),
                Self::Excluded(excluded) => needed <= count - excluded.len(),
            }
    }

    pub(crate) fn allow(&self, item: &Item) -> bool {
        match self {
            Self::Allowed(allowed) => allowed.binary_search(item).is_ok(),
            Self::Excluded(excluded) => excluded.binary_search(item).is_err(),
        }
    }
}

/// Why no action is drawn within limits.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitsError {
    /// They are no part of the action space, or leave no action.
    #[error(
        "the limits ({limits}) are no part of {space}, or leave no action: expected narrower ends, or some of its items in \
         increasing order"
    )]
    Outside {
        /// The limits.
        limits: String,
        /// What they have to be a part of.
        space: String,
    },
    /// μ cannot be restricted to them.
    #[error("mu cannot be restricted to the limits ({limits}): {problem}")]
    NoMeasure {
        /// The limits.
        limits: String,
        /// Why.
        problem: String,
    },
}

impl LimitsError {
    pub(crate) fn outside(limits: &Limits, space: impl ToString) -> Self {
        Self::Outside {
            limits: limits.to_string(),
            space: space.to_string(),
        }
    }

    pub(crate) fn no_measure(limits: &Limits, problem: impl ToString) -> Self {
        Self::NoMeasure {
            limits: limits.to_string(),
            problem: problem.to_string(),
        }
    }
}

/// In words for messages; long lists are cut.
impl std::fmt::Display for Limits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Self::Interval { low, high } => format!("from {low} to {high}"),
            Self::Box { sides } => format!("{sides:?}"),
            Self::Items(ItemLimits::Allowed(items)) => format!("items {:?}", indices(items)),
            Self::Items(ItemLimits::Excluded(items)) => format!("not items {:?}", indices(items)),
            Self::Mixed { knobs } => format!("{knobs:?}"),
        };
        match text.char_indices().nth(MOST_SHOWN) {
            Some((end, _)) => write!(f, "{}…", &text[..end]),
            None => f.write_str(&text),
        }
    }
}

fn indices(items: &[Item]) -> Vec<u32> {
    items.iter().map(|item| item.0).collect()
}

/// How many characters of limits a message shows.
const MOST_SHOWN: usize = 120;
