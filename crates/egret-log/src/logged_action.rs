use egret::{Item, Space, Vector};

/// An action as a log holds it.
#[derive(Debug, Clone, PartialEq)]
pub enum LoggedAction {
    /// A point of an interval.
    Number(f64),
    /// A point of a box, a sphere or a simplex.
    Vector(Vector),
    /// An index into a catalogue.
    Item(Item),
}

impl LoggedAction {
    /// An error unless the action is finite and, where μ is known, lies in its space.
    pub fn check(&self, mu: Option<&Space>) -> Result<(), ActionError> {
        if let Self::Number(value) = *self
            && !value.is_finite()
        {
            return Err(ActionError::NotFinite { value });
        }
        let Some(space) = mu else { return Ok(()) };
        let fits = match (self, space) {
            (Self::Number(value), _) => space
                .bounds()
                .is_some_and(|(low, high)| (low..=high).contains(value)),
            (Self::Item(Item(index)), Space::Items { count, .. }) => (*index as usize) < *count,
            (Self::Vector(vector), Space::Box { sides }) => {
                sides.len() == vector.as_slice().len()
                    && sides
                        .iter()
                        .zip(vector.as_slice())
                        .all(|(&(low, high), value)| (low..=high).contains(value))
            }
            (Self::Vector(vector), Space::Sphere { .. } | Space::Simplex { .. }) => {
                vector.as_slice().len() == space.action_dim()
            }
            _ => false,
        };
        if fits {
            Ok(())
        } else {
            Err(ActionError::Outside {
                action: self.to_string(),
                space: named(space),
            })
        }
    }

    /// The same action as μ's space has it: a whole number is an item of a catalogue, an index a point of an interval.
    pub(crate) fn in_space(self, mu: Option<&Space>) -> Self {
        match (self, mu) {
            (Self::Number(value), Some(Space::Items { .. })) => {
                as_index(value).map_or(Self::Number(value), |index| Self::Item(Item(index)))
            }
            (Self::Item(Item(index)), Some(space)) if space.bounds().is_some() => {
                Self::Number(f64::from(index))
            }
            (action, _) => action,
        }
    }
}

impl std::fmt::Display for LoggedAction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{value:?}"),
            Self::Vector(vector) => write!(f, "{:?}", vector.as_slice()),
            Self::Item(Item(index)) => write!(f, "{index}"),
        }
    }
}

/// A catalogue in a message goes without its weights.
fn named(space: &Space) -> String {
    match space {
        Space::Items { count, .. } => format!("a catalogue of {count} items"),
        space => match space.bounds() {
            Some((low, high)) => format!("[{low}, {high}]"),
            None => format!("a space of {} coordinates", space.action_dim()),
        },
    }
}

fn as_index(value: f64) -> Option<u32> {
    let index = value as u32;
    (f64::from(index) == value).then_some(index)
}

/// A kind of action that a log can hold.
///
/// Writers of JSON and tables do not always tell 3 from 3.0, so that a whole number is taken for an item, and an
/// index for a number, where that is what is asked for.
pub trait FromLogged: Sized {
    /// The action, if it is of this kind.
    fn from_logged(action: &LoggedAction) -> Result<Self, ActionError>;
}

impl FromLogged for f64 {
    fn from_logged(action: &LoggedAction) -> Result<Self, ActionError> {
        match action {
            LoggedAction::Number(value) => Ok(*value),
            LoggedAction::Item(Item(index)) => Ok(Self::from(*index)),
            LoggedAction::Vector(_) => Err(ActionError::kind(action, "a number")),
        }
    }
}

impl FromLogged for Vector {
    fn from_logged(action: &LoggedAction) -> Result<Self, ActionError> {
        match action {
            LoggedAction::Vector(vector) => Ok(vector.clone()),
            _ => Err(ActionError::kind(action, "a vector")),
        }
    }
}

impl FromLogged for Item {
    fn from_logged(action: &LoggedAction) -> Result<Self, ActionError> {
        match action {
            LoggedAction::Item(item) => Ok(*item),
            LoggedAction::Number(value) => as_index(*value)
                .map(Item)
                .ok_or_else(|| ActionError::kind(action, "an item")),
            LoggedAction::Vector(_) => Err(ActionError::kind(action, "an item")),
        }
    }
}

macro_rules! logged {
    ($action:ty, $variant:ident) => {
        impl From<$action> for LoggedAction {
            fn from(action: $action) -> Self {
                Self::$variant(action)
            }
        }

        impl TryFrom<LoggedAction> for $action {
            type Error = ActionError;

            fn try_from(action: LoggedAction) -> Result<Self, ActionError> {
                Self::from_logged(&action)
            }
        }
    };
}

logged!(f64, Number);
logged!(Vector, Vector);
logged!(Item, Item);

/// Why an action is not what it has to be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ActionError {
    /// Of another kind.
    #[error("the action {action} is not {expected}")]
    Kind {
        /// What it was.
        action: String,
        /// What was asked for.
        expected: &'static str,
    },
    /// NaN or an infinity.
    #[error("the action is {value}, expected a finite number")]
    NotFinite {
        /// What it was.
        value: f64,
    },
    /// Nothing that μ could have drawn.
    #[error("the action {action} is not in mu's space, {space}")]
    Outside {
        /// What it was.
        action: String,
        /// Where it has to be.
        space: String,
    },
}

impl ActionError {
    fn kind(action: &LoggedAction, expected: &'static str) -> Self {
        Self::Kind {
            action: action.to_string(),
            expected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_convert_where_nothing_is_lost() {
        let vector = Vector::new(&[1.0, 2.0]).expect("finite");
        assert_eq!(f64::try_from(LoggedAction::from(0.5)), Ok(0.5));
        assert_eq!(f64::try_from(LoggedAction::from(Item(3))), Ok(3.0));
        assert_eq!(Item::try_from(LoggedAction::from(3.0)), Ok(Item(3)));
        assert!(Item::try_from(LoggedAction::from(3.5)).is_err());
        assert!(Item::try_from(LoggedAction::from(-1.0)).is_err());
        assert!(f64::try_from(LoggedAction::from(vector.clone())).is_err());
        assert_eq!(
            Vector::try_from(LoggedAction::from(vector.clone())),
            Ok(vector)
        );
        let error = Vector::try_from(LoggedAction::from(3.0)).expect_err("a number");
        assert_eq!(error.to_string(), "the action 3.0 is not a vector");
    }

    #[test]
    fn an_action_lies_in_the_space_of_mu() {
        let interval = Space::Interval {
            low: 0.0,
            high: 1.0,
        };
        let items = Space::Items {
            count: 4,
            weights: None,
        };
        let sphere = Space::Sphere { dim: 2 };
        let vector = LoggedAction::from(Vector::new(&[0.6, 0.8]).expect("finite"));
        assert!(LoggedAction::from(0.5).check(Some(&interval)).is_ok());
        assert!(LoggedAction::from(Item(3)).check(Some(&items)).is_ok());
        assert!(vector.check(Some(&sphere)).is_ok());
        for (action, space) in [
            (LoggedAction::from(1.5), &interval),
            (LoggedAction::from(Item(4)), &items),
            (vector.clone(), &interval),
            (vector, &Space::Sphere { dim: 3 }),
        ] {
            assert!(action.check(Some(space)).is_err(), "{action} {space:?}");
        }
        assert!(LoggedAction::from(f64::NAN).check(None).is_err());
    }
}
