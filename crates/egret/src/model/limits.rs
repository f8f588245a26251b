use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{Item, KnobValue};
use crate::model::{AnyAction, Knob, Space};

/// What one request allowed: a part of the action space. μ is restricted to it, and densities are against the restricted μ.
///
/// ```
/// use egret::{Limits, Space};
///
/// let prices: Space = "interval:5,50".parse()?;
/// let limits = Limits::Interval { low: 9.0, high: 11.0 };
/// assert_eq!(limits.check(&prices), Ok(()));
/// assert!(limits.allow(&10.0.into()) && !limits.allow(&20.0.into()));
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

impl Limits {
    /// An error unless they are a part of the space that leaves an action to play.
    pub fn check(&self, space: &Space) -> Result<(), LimitsError> {
        let holds = match (self, space) {
            (Self::Interval { low, high }, _) if space.bounds().is_some() => space
                .bounds()
                .is_some_and(|bounds| within((*low, *high), bounds)),
            (Self::Box { sides }, Space::Box { sides: all }) => {
                sides.len() == all.len()
                    && sides.iter().zip(all).all(|(side, all)| within(*side, *all))
            }
            (Self::Items(items), Space::Items { count, .. }) => items.leave(1, *count),
            (Self::Items(items), Space::Set { count, size }) => items.leave(*size, *count),
            (Self::Mixed { knobs }, Space::Mixed { knobs: all }) => {
                !knobs.is_empty()
                    && knobs
                        .iter()
                        .all(|(name, limits)| all.get(name).is_some_and(|knob| limits.leave(knob)))
            }
            _ => false,
        };
        if holds {
            Ok(())
        } else {
            Err(LimitsError {
                space: space.to_string(),
            })
        }
    }

    /// Whether they allow an action of the space.
    pub fn allow(&self, action: &AnyAction) -> bool {
        match (self, action) {
            (Self::Interval { low, high }, AnyAction::Number(value)) => {
                (low..=high).contains(&value)
            }
            (Self::Box { sides }, AnyAction::Vector(vector)) => {
                sides.len() == vector.len()
                    && sides
                        .iter()
                        .zip(vector)
                        .all(|((low, high), value)| (low..=high).contains(&value))
            }
            (Self::Items(items), AnyAction::Item(item)) => items.allow(item),
            (Self::Items(items), AnyAction::Set(set)) => {
                set.items().iter().all(|item| items.allow(item))
            }
            (Self::Mixed { knobs }, AnyAction::Mixed(action)) => knobs
                .iter()
                .all(|(name, limits)| action.get(name).is_some_and(|value| limits.allow(value))),
            _ => false,
        }
    }
}

/// Whether one interval, perhaps a single point, is part of another.
fn within((low, high): (f64, f64), (least, greatest): (f64, f64)) -> bool {
    least <= low && low <= high && high <= greatest
}

impl ItemLimits {
    /// Whether they leave so many of `count` items.
    fn leave(&self, needed: usize, count: usize) -> bool {
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

    fn allow(&self, item: &Item) -> bool {
        match self {
            Self::Allowed(allowed) => allowed.binary_search(item).is_ok(),
            Self::Excluded(excluded) => excluded.binary_search(item).is_err(),
        }
    }
}

impl KnobLimits {
    /// Whether they leave a value to the knob, and only such as it has.
    fn leave(&self, knob: &Knob) -> bool {
        match (self, knob) {
            (Self::Interval { low, high }, Knob::Interval { low: a, high: b }) => {
                within((*low, *high), (*a, *b))
            }
            (Self::Interval { low, high }, Knob::Steps { .. }) => {
                low <= high && [*low, *high].iter().all(|&end| knob.contains(&end.into()))
            }
            (Self::Categories(names), Knob::Categories(all)) => {
                !names.is_empty() && names.iter().all(|name| all.contains(name))
            }
            _ => false,
        }
    }

    fn allow(&self, value: &KnobValue) -> bool {
        match (self, value) {
            (Self::Interval { low, high }, KnobValue::Number(value)) => {
                (low..=high).contains(&value)
            }
            (Self::Categories(names), KnobValue::Category(name)) => names.contains(name),
            _ => false,
        }
    }
}

/// Limits that are no part of the action space, or leave no action.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the limits are no part of the action space {space}, or leave no action: expected narrower ends, or some of its items \
     in increasing order"
)]
pub struct LimitsError {
    /// The space.
    pub space: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{ItemSet, MixedAction, Vector};

    fn limits(json: &str) -> Limits {
        let limits: Limits = serde_json::from_str(json).expect("limits");
        assert_eq!(serde_json::to_string(&limits).expect("in memory"), json);
        limits
    }

    fn knobs() -> Space {
        let json = r#"{"mixed":{"knobs":{"colour":{"categories":["blue","red"]},"price":{"interval":{"low":5.0,"high":50.0}},"retries":{"steps":{"low":0.0,"high":9.0,"step":1.0}}}}}"#;
        let space: Space = serde_json::from_str(json).expect("a space");
        assert_eq!(serde_json::to_string(&space).expect("in memory"), json);
        space
    }

    #[test]
    fn limits_are_parts_of_their_space() {
        for (space, part, whole) in [
            (
                "interval:0,1",
                r#"{"interval":{"low":0.25,"high":0.25}}"#,
                r#"{"interval":{"low":0.5,"high":0.25}}"#,
            ),
            (
                "beta:2,2,0,1",
                r#"{"interval":{"low":0.0,"high":0.5}}"#,
                r#"{"interval":{"low":0.0,"high":1.5}}"#,
            ),
            (
                "box:0,1,0,2",
                r#"{"box":{"sides":[[0.0,0.5],[1.0,1.0]]}}"#,
                r#"{"box":{"sides":[[0.0,0.5]]}}"#,
            ),
            (
                "items:5",
                r#"{"items":{"allowed":[1,4]}}"#,
                r#"{"items":{"allowed":[1,5]}}"#,
            ),
            (
                "items:2",
                r#"{"items":{"excluded":[1]}}"#,
                r#"{"items":{"excluded":[0,1]}}"#,
            ),
            (
                "set:5,2",
                r#"{"items":{"allowed":[1,4]}}"#,
                r#"{"items":{"allowed":[4]}}"#,
            ),
            (
                "set:5,2",
                r#"{"items":{"excluded":[0,1,2]}}"#,
                r#"{"items":{"excluded":[2,1]}}"#,
            ),
        ] {
            let space: Space = space.parse().expect("a space");
            assert_eq!(limits(part).check(&space), Ok(()), "{part}");
            assert!(limits(whole).check(&space).is_err(), "{whole}");
            assert!(limits(part).check(&knobs()).is_err());
        }
        for (fits, part) in [
            (true, r#"{"price":{"interval":{"low":9.0,"high":11.0}}}"#),
            (true, r#"{"retries":{"interval":{"low":2.0,"high":2.0}}}"#),
            (true, r#"{"colour":{"categories":["red"]}}"#),
            (false, r#"{}"#),
            (false, r#"{"price":{"interval":{"low":1.0,"high":11.0}}}"#),
            (false, r#"{"retries":{"interval":{"low":2.5,"high":2.7}}}"#),
            (false, r#"{"colour":{"categories":[]}}"#),
            (false, r#"{"colour":{"interval":{"low":1.0,"high":2.0}}}"#),
            (false, r#"{"speed":{"interval":{"low":1.0,"high":2.0}}}"#),
        ] {
            let part = format!(r#"{{"mixed":{{"knobs":{part}}}}}"#);
            assert_eq!(limits(&part).check(&knobs()).is_ok(), fits, "{part}");
        }
    }

    #[test]
    fn limits_tell_what_they_allow() {
        let set = |items: &[u32]| ItemSet::new(items.iter().copied().map(Item)).expect("distinct");
        let vector = |values: &[f64]| AnyAction::from(Vector::new(values).expect("finite"));
        let mixed = |price: f64, colour: &str| {
            let knobs = [("price", price.into()), ("colour", colour.into())];
            AnyAction::from(MixedAction::new(knobs).expect("two knobs"))
        };
        let cheap = r#"{"mixed":{"knobs":{"price":{"interval":{"low":9.0,"high":11.0}}}}}"#;
        for (part, inside, outside) in [
            (
                r#"{"interval":{"low":0.25,"high":0.5}}"#,
                0.25.into(),
                0.6.into(),
            ),
            (
                r#"{"box":{"sides":[[0.0,0.5],[1.0,1.0]]}}"#,
                vector(&[0.5, 1.0]),
                vector(&[0.5, 0.9]),
            ),
            (
                r#"{"items":{"allowed":[1,4]}}"#,
                Item(4).into(),
                Item(3).into(),
            ),
            (
                r#"{"items":{"excluded":[1,4]}}"#,
                set(&[0, 2]).into(),
                set(&[0, 4]).into(),
            ),
            (cheap, mixed(10.0, "red"), mixed(12.0, "red")),
        ] {
            assert!(limits(part).allow(&inside), "{part} {inside}");
            assert!(!limits(part).allow(&outside), "{part} {outside}");
        }
    }
}
