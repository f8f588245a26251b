use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::event::Item;
use crate::measure::{BoxError, CatalogueError, DirichletError};
use crate::model::{ActionKind, AnyAction, Kind};
use crate::numeric::OutOfRange;

/// An action space with its μ, as data for files and settings.
///
/// | space              | action             | μ                                  |
/// |--------------------|--------------------|------------------------------------|
/// | `Interval`         | `f64`              | uniform                            |
/// | `TruncatedNormal`, `Beta` | `f64`       | a prior over an interval           |
/// | `Box`, `Sphere`    | [`Vector`](crate::Vector)         | uniform                            |
/// | `Simplex`          | [`Vector`](crate::Vector)         | Dirichlet                          |
/// | `Items`            | [`Item`]           | uniform, or by the weights         |
///
/// Commands use its short text form: `interval:0,10`. Products and your own measures cannot be written as data; use a
/// [`Learner`](crate::Learner) for them.
///
/// ```
/// use egret::{Kind, Space};
///
/// let space: Space = "interval:0,10".parse()?;
/// assert_eq!(space, Space::Interval { low: 0.0, high: 10.0 });
/// assert_eq!((space.kind(), space.to_string()), (Kind::Number, "interval:0,10".into()));
/// assert!("interval:1,1".parse::<Space>().is_err());
/// # Ok::<(), egret::SpaceError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// Numbers from `low` to `high`.
    Interval {
        /// The least.
        low: f64,
        /// The greatest.
        high: f64,
    },
    /// Numbers from `low` to `high`, more often near `mean`.
    TruncatedNormal {
        /// Before truncation.
        mean: f64,
        /// Before truncation.
        sd: f64,
        /// The least.
        low: f64,
        /// The greatest.
        high: f64,
    },
    /// Numbers from `low` to `high` by a Beta distribution.
    Beta {
        /// Its first parameter.
        a: f64,
        /// Its second.
        b: f64,
        /// The least.
        low: f64,
        /// The greatest.
        high: f64,
    },
    /// Vectors with each coordinate between two ends.
    Box {
        /// (least, greatest) of each coordinate.
        sides: Vec<(f64, f64)>,
    },
    /// Unit vectors.
    Sphere {
        /// How many coordinates.
        dim: usize,
    },
    /// Shares that sum to 1.
    Simplex {
        /// The parameters of the Dirichlet distribution; all 1 is uniform.
        alpha: Vec<f64>,
    },
    /// Items of a catalogue.
    Items {
        /// How many.
        count: usize,
        /// Relative probabilities under μ; equal if absent.
        weights: Option<Vec<f64>>,
    },
}

impl Space {
    /// The kind of its actions.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Interval { .. } | Self::TruncatedNormal { .. } | Self::Beta { .. } => {
                Kind::Number
            }
            Self::Box { .. } | Self::Sphere { .. } | Self::Simplex { .. } => Kind::Vector,
            Self::Items { .. } => Kind::Item,
        }
    }

    /// An error if its numbers are invalid.
    pub fn check(&self) -> Result<(), SpaceError> {
        crate::for_kind!(self.kind(), A => A::measure(self).map(|_| ()))
    }

    /// An error if the action is not in the space.
    pub fn check_action(&self, action: &AnyAction) -> Result<(), ActionError> {
        let fits = match (action, self) {
            (AnyAction::Number(value), _) => self
                .bounds()
                .is_some_and(|(low, high)| (low..=high).contains(value)),
            (AnyAction::Item(Item(index)), Self::Items { count, .. }) => (*index as usize) < *count,
            (AnyAction::Vector(vector), Self::Box { sides }) => {
                sides.len() == vector.len()
                    && sides
                        .iter()
                        .zip(vector.iter())
                        .all(|(&(low, high), value)| (low..=high).contains(value))
            }
            (AnyAction::Vector(vector), Self::Sphere { .. } | Self::Simplex { .. }) => {
                vector.len() == self.action_dim()
            }
            _ => false,
        };
        if fits {
            Ok(())
        } else {
            Err(ActionError {
                action: action.to_string(),
                space: self.to_string(),
            })
        }
    }

    /// The ends of an interval; none for other spaces.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        match *self {
            Self::Interval { low, high }
            | Self::TruncatedNormal { low, high, .. }
            | Self::Beta { low, high, .. } => Some((low, high)),
            _ => None,
        }
    }

    /// How many coordinates an action has; 1 for numbers and items.
    pub fn action_dim(&self) -> usize {
        match self {
            Self::Box { sides } => sides.len(),
            Self::Sphere { dim } => *dim,
            Self::Simplex { alpha } => alpha.len(),
            _ => 1,
        }
    }
}

/// Why a space is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpaceError {
    /// A number is out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The sides of a box are invalid.
    #[error(transparent)]
    Box(#[from] BoxError),
    /// The parameters of a simplex are invalid.
    #[error(transparent)]
    Simplex(#[from] DirichletError),
    /// The weights of items are invalid.
    #[error(transparent)]
    Items(#[from] CatalogueError),
    /// The number of weights is wrong.
    #[error("there are {found} weights for {expected} items, expected one for each")]
    Weights {
        /// Weights given.
        found: usize,
        /// Items.
        expected: usize,
    },
    /// Its actions are of another kind.
    #[error("{space} is a space of {found}s, expected one of {expected}s")]
    Kind {
        /// The space.
        space: String,
        /// What its actions are.
        found: Kind,
        /// What they have to be.
        expected: Kind,
    },
    /// The text is not a space.
    #[error(
        "{text:?} is not an action space, expected interval:LOW,HIGH, normal:MEAN,SD,LOW,HIGH, beta:A,B,LOW,HIGH, \
         box:LOW,HIGH,LOW,HIGH,…, sphere:DIM, simplex:ALPHA,ALPHA,… or items:COUNT"
    )]
    Text {
        /// What was read.
        text: String,
    },
}

impl SpaceError {
    pub(crate) fn kind(space: &Space, expected: Kind) -> Self {
        Self::Kind {
            space: space.to_string(),
            found: space.kind(),
            expected,
        }
    }
}

/// An action that the reference measure cannot have drawn.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the action {action} is not in the action space {space}")]
pub struct ActionError {
    /// What it was.
    pub action: String,
    /// Where it must be.
    pub space: String,
}

/// The short form. Weights of items are left out, so that a message stays short.
impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |numbers: &mut dyn Iterator<Item = f64>| {
            let words: Vec<String> = numbers.map(|number| number.to_string()).collect();
            words.join(",")
        };
        match self {
            Self::Interval { low, high } => write!(f, "interval:{low},{high}"),
            Self::TruncatedNormal {
                mean,
                sd,
                low,
                high,
            } => write!(f, "normal:{mean},{sd},{low},{high}"),
            Self::Beta { a, b, low, high } => write!(f, "beta:{a},{b},{low},{high}"),
            Self::Box { sides } => {
                let mut ends = sides.iter().flat_map(|&(low, high)| [low, high]);
                write!(f, "box:{}", list(&mut ends))
            }
            Self::Sphere { dim } => write!(f, "sphere:{dim}"),
            Self::Simplex { alpha } => write!(f, "simplex:{}", list(&mut alpha.iter().copied())),
            Self::Items { count, .. } => write!(f, "items:{count}"),
        }
    }
}

impl FromStr for Space {
    type Err = SpaceError;

    fn from_str(text: &str) -> Result<Self, SpaceError> {
        let unknown = || SpaceError::Text {
            text: text.to_owned(),
        };
        let (name, rest) = text.split_once(':').ok_or_else(unknown)?;
        let numbers = rest
            .split(',')
            .map(|number| number.trim().parse().map_err(|_| unknown()))
            .collect::<Result<Vec<f64>, _>>()?;
        let whole = |number: f64| {
            let count = number as usize;
            (count as f64 == number)
                .then_some(count)
                .ok_or_else(unknown)
        };
        let space = match (name, &numbers[..]) {
            ("interval", &[low, high]) => Self::Interval { low, high },
            ("normal", &[mean, sd, low, high]) => Self::TruncatedNormal {
                mean,
                sd,
                low,
                high,
            },
            ("beta", &[a, b, low, high]) => Self::Beta { a, b, low, high },
            ("box", ends) if ends.len().is_multiple_of(2) => Self::Box {
                sides: ends
                    .chunks_exact(2)
                    .map(|side| (side[0], side[1]))
                    .collect(),
            },
            ("sphere", &[dim]) => Self::Sphere { dim: whole(dim)? },
            ("simplex", alpha) => Self::Simplex {
                alpha: alpha.to_vec(),
            },
            ("items", &[count]) => Self::Items {
                count: whole(count)?,
                weights: None,
            },
            _ => return Err(unknown()),
        };
        space.check()?;
        Ok(space)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Vector;

    #[test]
    fn every_space_has_a_kind_a_measure_and_a_short_form() {
        for (text, kind, dim, bounds) in [
            ("interval:0,1", Kind::Number, 1, Some((0.0, 1.0))),
            ("normal:0.5,0.1,0,1", Kind::Number, 1, Some((0.0, 1.0))),
            ("beta:2,3,-1,1", Kind::Number, 1, Some((-1.0, 1.0))),
            ("box:0,1,-1,1", Kind::Vector, 2, None),
            ("sphere:3", Kind::Vector, 3, None),
            ("simplex:1,1,1,0.5", Kind::Vector, 4, None),
            ("items:7", Kind::Item, 1, None),
        ] {
            let space: Space = text.parse().expect("a space");
            assert_eq!(space.to_string(), text);
            assert_eq!((space.kind(), space.action_dim()), (kind, dim));
            assert_eq!(space.bounds(), bounds);
            crate::for_kind!(kind, A => assert!(A::measure(&space).is_ok()));
            let json = serde_json::to_string(&space).expect("in memory");
            assert_eq!(
                serde_json::from_str::<Space>(&json).expect("its own"),
                space
            );
        }
        let weights = Some(vec![1.0, 2.0]);
        assert!(Space::Items { count: 2, weights }.check().is_ok());
    }

    #[test]
    fn a_bad_space_is_refused() {
        for text in [
            "interval",
            "interval:",
            "interval:1",
            "interval:1,nan",
            "interval:2,1",
            "box:0,1,2",
            "sphere:2.5",
            "sphere:-1",
            "simplex:-1,1",
            "items:0",
            "circle:1",
        ] {
            assert!(text.parse::<Space>().is_err(), "{text}");
        }
        let weights = Some(vec![1.0]);
        assert!(Space::Items { count: 2, weights }.check().is_err());
        let error = Vector::measure(&Space::Sphere { dim: 0 }).err();
        assert!(matches!(error, Some(SpaceError::OutOfRange(_))));
        let interval = Space::Interval {
            low: 5.0,
            high: 50.0,
        };
        let error = Item::measure(&interval).err().expect("another kind");
        assert_eq!(
            error.to_string(),
            "interval:5,50 is a space of numbers, expected one of items"
        );
    }

    #[test]
    fn actions_outside_are_refused() {
        let vector = |values: &[f64]| AnyAction::from(Vector::new(values).expect("finite"));
        for (space, inside, outside) in [
            ("interval:0,1", 1.0.into(), 1.5.into()),
            ("interval:0,1", 0.0.into(), f64::NAN.into()),
            ("interval:0,1", 0.5.into(), Item(0).into()),
            ("items:3", Item(2).into(), Item(3).into()),
            ("box:0,1,0,2", vector(&[1.0, 2.0]), vector(&[1.0, 2.5])),
            ("box:0,1,0,2", vector(&[0.0, 0.0]), vector(&[1.0])),
            ("simplex:1,1", vector(&[0.5, 0.5]), vector(&[1.0])),
            ("sphere:2", vector(&[0.0, 1.0]), 1.0.into()),
        ] {
            let space: Space = space.parse().expect("a space");
            assert_eq!(space.check_action(&inside), Ok(()));
            assert!(space.check_action(&outside).is_err(), "{outside}");
        }
    }
}
