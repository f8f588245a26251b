use serde::{Deserialize, Serialize};

use crate::{
    BetaPrior, BoxError, Catalogue, CatalogueError, Context, Dirichlet, DirichletError, Item,
    OutOfRange, ReferenceMeasure, TruncatedNormal, UniformBox, UniformInterval, UniformSphere,
    Vector,
};

/// An action space with its μ, as data: what a file or a settings page can hold.
///
/// | space              | action             | μ                                  |
/// |--------------------|--------------------|------------------------------------|
/// | `Interval`         | `f64`              | uniform                            |
/// | `TruncatedNormal`, `Beta` | `f64`       | a prior over an interval           |
/// | `Box`, `Sphere`    | [`Vector`]         | uniform                            |
/// | `Simplex`          | [`Vector`]         | Dirichlet                          |
/// | `Items`            | [`Item`]           | uniform, or by the weights         |
///
/// Products and a user's own measures are code: a [`Learner`](crate::Learner) takes them, a file does not.
///
/// ```
/// use egret::{Measure, Space};
///
/// let space = Space::Interval { low: 0.0, high: 10.0 };
/// assert!(matches!(space.measure()?, Measure::Number(_)));
/// assert!(Space::Interval { low: 1.0, high: 1.0 }.measure().is_err());
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
    /// Numbers from `low` to `high`, near `mean` more often.
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
        /// Their length.
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
        /// How much μ favours each; all alike if absent.
        weights: Option<Vec<f64>>,
    },
}

/// A measure over one of the kinds of action that files know.
pub enum Measure {
    /// Over numbers.
    Number(Box<dyn ReferenceMeasure<Context, f64>>),
    /// Over vectors.
    Vector(Box<dyn ReferenceMeasure<Context, Vector>>),
    /// Over items.
    Item(Box<dyn ReferenceMeasure<Context, Item>>),
}

impl Space {
    /// Checks the space and makes its μ.
    pub fn measure(&self) -> Result<Measure, SpaceError> {
        Ok(match *self {
            Self::Interval { low, high } => {
                Measure::Number(Box::new(UniformInterval::new(low, high)?))
            }
            Self::TruncatedNormal {
                mean,
                sd,
                low,
                high,
            } => Measure::Number(Box::new(TruncatedNormal::new(mean, sd, low, high)?)),
            Self::Beta { a, b, low, high } => {
                Measure::Number(Box::new(BetaPrior::new(a, b, low, high)?))
            }
            Self::Box { ref sides } => Measure::Vector(Box::new(UniformBox::new(sides)?)),
            Self::Sphere { dim } => Measure::Vector(Box::new(UniformSphere::new(dim)?)),
            Self::Simplex { ref alpha } => Measure::Vector(Box::new(Dirichlet::new(alpha)?)),
            Self::Items { count, ref weights } => Measure::Item(Box::new(match weights {
                None => Catalogue::uniform(count)?,
                Some(weights) if weights.len() == count => Catalogue::weighted(weights.clone())?,
                Some(weights) => {
                    return Err(SpaceError::Weights {
                        found: weights.len(),
                        expected: count,
                    });
                }
            })),
        })
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

    /// How many coordinates an action has; an item has one, its number.
    pub fn action_dim(&self) -> usize {
        match self {
            Self::Box { sides } => sides.len(),
            Self::Sphere { dim } => *dim,
            Self::Simplex { alpha } => alpha.len(),
            _ => 1,
        }
    }
}

/// Why there is no such space.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpaceError {
    /// A number is not in its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The sides of a box are not right.
    #[error(transparent)]
    Box(#[from] BoxError),
    /// The parameters of a simplex are not right.
    #[error(transparent)]
    Simplex(#[from] DirichletError),
    /// The weights of items are not right.
    #[error(transparent)]
    Items(#[from] CatalogueError),
    /// Not one weight for each item.
    #[error("there are {found} weights for {expected} items")]
    Weights {
        /// Weights given.
        found: usize,
        /// Items.
        expected: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_space_has_its_measure() {
        let sides = vec![(0.0, 1.0), (-1.0, 1.0)];
        let numbers = [
            Space::Interval {
                low: 0.0,
                high: 1.0,
            },
            Space::TruncatedNormal {
                mean: 0.5,
                sd: 0.1,
                low: 0.0,
                high: 1.0,
            },
            Space::Beta {
                a: 2.0,
                b: 3.0,
                low: 0.0,
                high: 1.0,
            },
        ];
        for space in numbers {
            assert!(matches!(space.measure(), Ok(Measure::Number(_))));
            assert_eq!(space.bounds(), Some((0.0, 1.0)));
        }
        let vectors = [
            (Space::Box { sides }, 2),
            (Space::Sphere { dim: 3 }, 3),
            (
                Space::Simplex {
                    alpha: vec![1.0; 4],
                },
                4,
            ),
        ];
        for (space, dim) in vectors {
            assert!(matches!(space.measure(), Ok(Measure::Vector(_))));
            assert_eq!((space.action_dim(), space.bounds()), (dim, None));
        }
        for weights in [None, Some(vec![1.0, 2.0])] {
            let space = Space::Items { count: 2, weights };
            assert!(matches!(space.measure(), Ok(Measure::Item(_))));
        }
    }

    #[test]
    fn a_bad_space_is_refused() {
        let weights = Some(vec![1.0]);
        for space in [
            Space::Interval {
                low: 1.0,
                high: f64::NAN,
            },
            Space::Box { sides: vec![] },
            Space::Simplex { alpha: vec![-1.0] },
            Space::Items { count: 2, weights },
        ] {
            assert!(space.measure().is_err(), "{space:?}");
        }
    }
}
