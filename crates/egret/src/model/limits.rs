use crate::event::{KnobLimits, KnobValue, Limits, LimitsError};
use crate::measure::Steps;
use crate::model::{AnyAction, Knob, Space};

impl Limits {
    /// An error unless they are a part of the space that leaves an action to play. On steps, ends may lie between them.
    pub fn check(&self, space: &Space) -> Result<(), LimitsError> {
        let holds = match (self, space) {
            (&Self::Interval { low, high }, &Space::Steps { .. }) => {
                steps_within(space, low, high).is_some()
            }
            (Self::Interval { low, high }, _) if space.bounds().is_some() => space
                .bounds()
                .is_some_and(|bounds| within((*low, *high), bounds)),
            (Self::Box { sides }, Space::Box { sides: all }) => {
                sides.len() == all.len()
                    && sides.iter().zip(all).all(|(side, all)| within(*side, *all))
            }
            (
                Self::Items(items),
                Space::Items { count, .. } | Space::ChangedItems { count, .. },
            ) => items.leave(1, *count),
            (Self::Items(items), Space::Set { count, size }) => items.leave(*size, *count),
            (Self::Mixed { knobs }, Space::Mixed { knobs: all }) => {
                !knobs.is_empty()
                    && knobs
                        .iter()
                        .all(|(name, limits)| all.get(name).is_some_and(|knob| limits.leave(knob)))
            }
            _ => false,
        };
        if let Space::Sphere { .. } | Space::Simplex { .. } = space {
            let problem =
                format!("{space} has no limits; numbers, boxes and items of a catalogue do");
            Err(LimitsError::no_measure(self, problem))
        } else if holds {
            Ok(())
        } else {
            Err(LimitsError::outside(self, space))
        }
    }

    /// Whether they allow an action of the space.
    pub fn allow(&self, space: &Space, action: &AnyAction) -> bool {
        match (self, action) {
            (&Self::Interval { low, high }, AnyAction::Number(value)) => match space {
                Space::Steps { .. } => steps_within(space, low, high)
                    .is_some_and(|steps| steps.index(*value).is_some()),
                _ => (low..=high).contains(value),
            },
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

/// Those of the steps that lie between two numbers.
fn steps_within(space: &Space, low: f64, high: f64) -> Option<Steps> {
    let &Space::Steps {
        low: first,
        high: last,
        step,
    } = space
    else {
        return None;
    };
    Steps::new(first, last, step).ok()?.between(low, high)
}

/// Whether one interval, perhaps a single point, is part of another.
fn within((low, high): (f64, f64), (least, greatest): (f64, f64)) -> bool {
    least <= low && low <= high && high <= greatest
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Item, ItemSet, MixedAction, Vector};

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
    fn steps_are_allowed_between_any_ends() {
        let space: Space = "steps:5,50,0.1".parse().expect("steps");
        let limits = |low, high| Limits::Interval { low, high };
        let tenth = 5.0 + 3.0 * 0.1; // not the number 5.3
        for (fits, low, high) in [
            (true, 5.25, 5.35),
            (true, tenth, tenth),
            (true, 5.0, 50.0),
            (false, 5.31, 5.39),
            (false, 4.9, 6.0),
            (false, 49.0, 50.1),
            (false, 6.0, 5.5),
            (false, f64::NAN, 6.0),
        ] {
            assert_eq!(
                limits(low, high).check(&space).is_ok(),
                fits,
                "{low} {high}"
            );
        }
        assert!(limits(tenth, tenth).allow(&space, &5.3.into()));
        assert!(!limits(5.25, 5.35).allow(&space, &5.4.into()));
        let error = limits(4.0, 6.0).check(&space).expect_err("too low");
        let words = error.to_string();
        assert!(
            words.contains("from 4 to 6") && words.contains("steps:5,50,0.1"),
            "{words}"
        );
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
            // Only steps need to know their space.
            let space = knobs();
            assert!(limits(part).allow(&space, &inside), "{part} {inside}");
            assert!(!limits(part).allow(&space, &outside), "{part} {outside}");
        }
    }
}
