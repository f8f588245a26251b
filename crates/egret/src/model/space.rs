use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::event::Item;
use crate::measure::{BoxError, CatalogueError, DirichletError, Steps};
use crate::measure::{mixed_knobs::MixedKnobs, uniform_sets::UniformSets};
use crate::model::{ActionKind, AnyAction, Kind, Knob};
use crate::numeric::OutOfRange;

/// An action space with its μ, as data for files and settings.
///
/// | space              | action             | μ                                  |
/// |--------------------|--------------------|------------------------------------|
/// | `Interval`         | `f64`              | uniform                            |
/// | `LogUniform`       | `f64`              | uniform logarithm                  |
/// | `TruncatedNormal`, `Beta` | `f64`       | a prior over an interval           |
/// | `Steps`            | `f64`              | uniform over the steps             |
/// | `Box`, `Sphere`    | [`Vector`](crate::Vector)         | uniform                            |
/// | `Simplex`          | [`Vector`](crate::Vector)         | Dirichlet                          |
/// | `Items`, `ChangedItems` | [`Item`]      | uniform, or by the weights         |
/// | `Mixed`            | [`MixedAction`](crate::MixedAction) | uniform over each [`Knob`], independent |
/// | `Set`              | [`ItemSet`](crate::ItemSet)       | uniform over sets of one size      |
///
/// Commands use a short text form: `interval:0,10`,
/// `mixed:price=5..50/0.5;colour=red|blue`. Other products and your own measures cannot be written as data; use a
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
    /// A value for each of several knobs.
    Mixed {
        /// By name.
        knobs: BTreeMap<String, Knob>,
    },
    /// Sets of distinct items of a catalogue.
    Set {
        /// How many items there are.
        count: usize,
        /// How many are chosen.
        size: usize,
    },
    /// Numbers from `low` to `high`, each factor as probable as the next.
    LogUniform {
        /// The least, above 0.
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
    /// Items of a catalogue that has changed: the numbers of items stay, and those removed are not drawn.
    ChangedItems {
        /// How many there were in all, removed ones included.
        count: usize,
        /// Relative probabilities under μ, also of removed items; equal if absent.
        weights: Option<Vec<f64>>,
        /// How often items were added or removed.
        version: u32,
        /// Those that are not in it any more, in increasing order.
        removed: Vec<Item>,
    },
}

/// The most coordinates of a vector. [`Learner::best`](crate::Learner::best) draws 4,096 vectors: of so many coordinates
/// they take 134 MB.
pub(crate) const MOST_COORDINATES: usize = 4096;

/// How many items there ever were, their weights, and those that were removed.
pub(crate) type ItemCounts<'a> = (usize, Option<&'a [f64]>, &'a [Item]);

impl Space {
    /// How many items there ever were, their weights, and those that were removed; none for spaces of other actions.
    pub(crate) fn as_items(&self) -> Option<ItemCounts<'_>> {
        match self {
            Self::Items { count, weights } => Some((*count, weights.as_deref(), &[])),
            Self::ChangedItems {
                count,
                weights,
                removed,
                ..
            } => Some((*count, weights.as_deref(), removed)),
            _ => None,
        }
    }

    /// Whether it is the other space, or a catalogue that became the other one as items were added and removed: its actions are
    /// actions of the other, or were.
    pub fn is_or_became(&self, later: &Self) -> bool {
        let version = |space: &Self| match space {
            Self::ChangedItems { version, .. } => *version,
            _ => 0,
        };
        match (self.as_items(), later.as_items()) {
            _ if self == later => true,
            (Some((count, weights, removed)), Some((more, later_weights, more_removed))) => {
                version(self) < version(later)
                    && count <= more
                    && weights == later_weights.map(|weights| &weights[..count])
                    && removed
                        .iter()
                        .all(|of| more_removed.binary_search(of).is_ok())
            }
            _ => false,
        }
    }

    /// The space of all actions that were ever in it: of a catalogue that has changed, also those of items that were removed. It
    /// [became](Self::is_or_became) this one.
    pub fn with_removed_items(&self) -> Self {
        match self {
            Self::ChangedItems { count, weights, .. } => Self::Items {
                count: *count,
                weights: weights.clone(),
            },
            _ => self.clone(),
        }
    }

    /// The measure of a mixed space.
    pub(crate) fn mixed_knobs(&self) -> Result<MixedKnobs, SpaceError> {
        let Self::Mixed { knobs } = self else {
            return Err(SpaceError::kind(self, Kind::Mixed));
        };
        if knobs.is_empty() {
            return Err(SpaceError::NoKnob);
        }
        let fits = knobs.len() <= MOST_COORDINATES;
        OutOfRange::unless(fits, "number of knobs", knobs.len() as f64, "[1, 4096]")?;
        let ranges = knobs
            .iter()
            .map(|(name, knob)| Ok((name.clone(), knob.range()?)));
        Ok(MixedKnobs::new(ranges.collect::<Result<_, SpaceError>>()?))
    }

    /// The measure of a space of sets.
    pub(crate) fn uniform_sets(&self) -> Result<UniformSets, SpaceError> {
        match self {
            Self::Set { count, size } => Ok(UniformSets::new(*count, *size)?),
            _ => Err(SpaceError::kind(self, Kind::Set)),
        }
    }

    /// The kind of its actions.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Interval { .. }
            | Self::LogUniform { .. }
            | Self::TruncatedNormal { .. }
            | Self::Beta { .. }
            | Self::Steps { .. } => Kind::Number,
            Self::Box { .. } | Self::Sphere { .. } | Self::Simplex { .. } => Kind::Vector,
            Self::Items { .. } | Self::ChangedItems { .. } => Kind::Item,
            Self::Mixed { .. } => Kind::Mixed,
            Self::Set { .. } => Kind::Set,
        }
    }

    /// An error if its numbers are invalid.
    pub fn check(&self) -> Result<(), SpaceError> {
        match self {
            Self::Mixed { knobs } if knobs.is_empty() => Err(SpaceError::NoKnob),
            Self::Mixed { knobs } => knobs.values().try_for_each(Knob::check),
            // A measure of it holds all items, and logs have a space in every line.
            Self::Set { count, size } => {
                let (count, size) = (*count as f64, *size as f64);
                let most = f64::from(u32::MAX) + 1.0;
                OutOfRange::unless(1.0 <= size, "size", size, "[1, inf)")?;
                OutOfRange::unless(
                    (size..=most).contains(&count),
                    "count",
                    count,
                    "[size, 2^32]",
                )?;
                Ok(())
            }
            _ => crate::for_kind!(self.kind(), A => A::measure(self).map(|_| ())),
        }
    }

    /// An error if the action is not in the space.
    pub fn check_action(&self, action: &AnyAction) -> Result<(), ActionError> {
        let fits = match (action, self) {
            (AnyAction::Number(value), &Self::Steps { low, high, step }) => {
                Steps::new(low, high, step).is_ok_and(|steps| steps.index(*value).is_some())
            }
            (AnyAction::Number(value), _) => self
                .bounds()
                .is_some_and(|(low, high)| (low..=high).contains(value)),
            (AnyAction::Item(item), _) => {
                let items = self.as_items();
                items.is_some_and(|(count, _, removed)| {
                    (item.0 as usize) < count && removed.binary_search(item).is_err()
                })
            }
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
            (AnyAction::Mixed(action), Self::Mixed { knobs }) => {
                let value = |name: &String| action.get(name);
                action.iter().count() == knobs.len()
                    && knobs
                        .iter()
                        .all(|(name, knob)| value(name).is_some_and(|value| knob.contains(value)))
            }
            (AnyAction::Set(set), Self::Set { count, size }) => {
                let items = set.items();
                items.len() == *size && items.iter().all(|item| (item.0 as usize) < *count)
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

    /// As [`check_action`](Self::check_action), for an action that was played: its item may have been removed since.
    pub(crate) fn check_played(&self, action: &AnyAction) -> Result<(), ActionError> {
        match (action, self.as_items()) {
            (AnyAction::Item(item), Some((count, ..))) if (item.0 as usize) < count => Ok(()),
            _ => self.check_action(action),
        }
    }

    /// The least and the greatest number; none for spaces of other actions.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        match *self {
            Self::Interval { low, high }
            | Self::LogUniform { low, high }
            | Self::TruncatedNormal { low, high, .. }
            | Self::Beta { low, high, .. }
            | Self::Steps { low, high, .. } => Some((low, high)),
            _ => None,
        }
    }

    /// How many numbers an oracle sees of an action, without the features of items.
    pub(crate) fn feature_dim(&self) -> usize {
        match self {
            Self::Mixed { knobs } => knobs.values().map(Knob::columns).sum(),
            _ => self.action_dim(),
        }
    }

    /// How many coordinates an action has; 1 for all that is no vector.
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
    /// An item that was removed is none, or the list is not in order.
    #[error(
        "item {item} cannot be removed: expected items of the catalogue in increasing order, each once"
    )]
    Removed {
        /// Its index.
        item: u32,
    },
    /// A mixed space without knobs.
    #[error("a mixed space has at least one knob")]
    NoKnob,
    /// The categories of a knob.
    #[error("the categories of a knob are {0:?}, expected at least one, and none twice")]
    Categories(Vec<String>),
    /// The text is not a knob.
    #[error("{text:?} is not a knob, expected LOW..HIGH, LOW..HIGH/STEP or categories as red|blue")]
    KnobText {
        /// What was read.
        text: String,
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
        "{text:?} is not an action space, expected interval:LOW,HIGH, log:LOW,HIGH, steps:LOW,HIGH,STEP, \
         normal:MEAN,SD,LOW,HIGH, beta:A,B,LOW,HIGH, box:LOW,HIGH,LOW,HIGH,…, sphere:DIM, simplex:ALPHA,ALPHA,…, items:COUNT, set:COUNT,SIZE or mixed:NAME=LOW..HIGH;NAME=LOW..HIGH/STEP;NAME=A|B"
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

/// The short form. Weights of items and what knobs can be are left out, so that a message stays short.
impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |numbers: &mut dyn Iterator<Item = f64>| {
            let words: Vec<String> = numbers.map(|number| number.to_string()).collect();
            words.join(",")
        };
        match self {
            Self::Interval { low, high } => write!(f, "interval:{low},{high}"),
            Self::LogUniform { low, high } => write!(f, "log:{low},{high}"),
            Self::Steps { low, high, step } => write!(f, "steps:{low},{high},{step}"),
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
            Self::ChangedItems {
                count,
                version,
                removed,
                ..
            } => {
                let left = count.saturating_sub(removed.len());
                write!(f, "items:{left} of version {version}")
            }
            Self::Mixed { knobs } => {
                let knobs = knobs.iter().map(|(name, knob)| format!("{name}={knob}"));
                write!(f, "mixed:{}", knobs.collect::<Vec<_>>().join(";"))
            }
            Self::Set { count, size } => write!(f, "set:{count},{size}"),
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
        if name == "mixed" {
            let mut knobs = BTreeMap::new();
            for knob in rest.split(';') {
                let (name, knob) = knob.split_once('=').ok_or_else(unknown)?;
                let name = name.trim().to_owned();
                if name.is_empty() || knobs.insert(name, knob.parse()?).is_some() {
                    return Err(unknown());
                }
            }
            return Ok(Self::Mixed { knobs });
        }
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
            ("log" | "log-uniform", &[low, high]) => Self::LogUniform { low, high },
            ("steps", &[low, high, step]) => Self::Steps { low, high, step },
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
            ("set", &[count, size]) => Self::Set {
                count: whole(count)?,
                size: whole(size)?,
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
    use crate::event::{ItemSet, MixedAction, Vector};
    use crate::learner::Settings;
    use crate::model::{AnyModel, ModelSpec};

    #[test]
    fn a_catalogue_is_known_after_items_came_and_went() {
        let changed = |count, version, removed: &[u32]| Space::ChangedItems {
            count,
            weights: None,
            version,
            removed: removed.iter().copied().map(Item).collect(),
        };
        let first: Space = "items:10".parse().expect("a space");
        let later = changed(12, 2, &[3, 7]);
        assert!(first.is_or_became(&first) && first.is_or_became(&later));
        assert!(changed(12, 1, &[3]).is_or_became(&later));
        for other in [
            changed(13, 1, &[3]),
            changed(12, 1, &[4]),
            changed(12, 3, &[3, 7]),
            "interval:0,1".parse().expect("a space"),
        ] {
            assert!(!other.is_or_became(&later), "{other}");
        }
        let ever = later.with_removed_items();
        assert_eq!(ever, "items:12".parse().expect("a space"));
        assert!(ever.is_or_became(&later) && first.with_removed_items() == first);
        assert!(!later.is_or_became(&first));
    }

    #[test]
    fn every_space_has_a_kind_a_measure_and_a_short_form() {
        for (text, kind, dim, bounds) in [
            ("interval:0,1", Kind::Number, 1, Some((0.0, 1.0))),
            ("log:1000,1000000000", Kind::Number, 1, Some((1e3, 1e9))),
            ("steps:5,50,0.5", Kind::Number, 1, Some((5.0, 50.0))),
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

    /// Price, colour and retries.
    fn knobs() -> Space {
        let knob = |name: &str, knob| (name.to_owned(), knob);
        Space::Mixed {
            knobs: BTreeMap::from([
                knob(
                    "price",
                    Knob::Steps {
                        low: 5.0,
                        high: 50.0,
                        step: 0.1,
                    },
                ),
                knob(
                    "colour",
                    Knob::Categories(vec!["red".into(), "blue".into()]),
                ),
                knob(
                    "speed",
                    Knob::Interval {
                        low: 0.0,
                        high: 1.0,
                    },
                ),
            ]),
        }
    }

    fn mixed(price: f64, colour: &str, speed: f64) -> AnyAction {
        let values = [
            ("price", price.into()),
            ("colour", colour.into()),
            ("speed", speed.into()),
        ];
        MixedAction::new(values).expect("three knobs").into()
    }

    #[test]
    fn mixed_spaces_are_read_from_text() {
        let text = "mixed: price = 5..50/0.1; colour=red|blue; speed=0..1";
        assert_eq!(text.parse(), Ok(knobs()));
        let written = "mixed:colour=red|blue;price=5..50/0.1;speed=0..1";
        assert_eq!(
            (knobs().kind(), knobs().to_string()),
            (Kind::Mixed, written.into())
        );
        assert_eq!(written.parse(), Ok(knobs()));
        for wrong in [
            "mixed:",
            "mixed:=0..1",
            "mixed:a",
            "mixed:a=",
            "mixed:a=1..x",
            "mixed:a=2..1",
            "mixed:a=x|x",
            "mixed:a=0..1;a=b",
        ] {
            assert!(wrong.parse::<Space>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn sets_need_the_features_of_items() {
        let space: Space = "set:30000,3".parse().expect("a space");
        assert_eq!(
            (space.kind(), space.to_string()),
            (Kind::Set, "set:30000,3".into())
        );
        let json = serde_json::to_string(&space).expect("in memory");
        assert_eq!(
            serde_json::from_str::<Space>(&json).expect("its own"),
            space
        );
        let spec = ModelSpec::from_parts(space, None, 1);
        let error = AnyModel::from_spec(spec, Settings::default()).expect_err("no features");
        assert!(error.to_string().contains("embeddings"), "{error}");
        assert!("set:3,4".parse::<Space>().is_err());
        // A log may have more items than a model takes.
        let long: Space = "set:99999999,3".parse().expect("a space");
        assert!(ItemSet::measure(&long).is_err());
        let error = ItemSet::measure(&knobs()).err().expect("another kind");
        assert_eq!(
            error.to_string(),
            "mixed:colour=red|blue;price=5..50/0.1;speed=0..1 is a space of mixed actions, expected one of sets"
        );
    }

    #[test]
    fn bad_knobs_are_refused() {
        let steps = |low, high, step| Knob::Steps { low, high, step };
        let names =
            |names: &[&str]| Knob::Categories(names.iter().copied().map(str::to_owned).collect());
        for (good, knob) in [
            (true, steps(5.0, 5.0, 0.5)),
            (true, steps(0.0, 0.3, 0.1)),
            (false, steps(0.0, 0.35, 0.1)),
            (false, steps(1.0, 0.0, 1.0)),
            (false, steps(0.0, 1.0, 0.0)),
            (false, steps(0.0, 1.0, f64::NAN)),
            (false, steps(f64::NEG_INFINITY, 1.0, 1.0)),
            (true, names(&["a"])),
            (false, names(&[])),
            (false, names(&["a", "b", "a"])),
        ] {
            let knobs = BTreeMap::from([("knob".to_owned(), knob)]);
            let space = Space::Mixed { knobs };
            assert_eq!(space.check().is_ok(), good, "{space:?}");
        }
        let knobs = BTreeMap::new();
        assert_eq!(Space::Mixed { knobs }.check(), Err(SpaceError::NoKnob));
    }

    #[test]
    fn a_bad_space_is_refused() {
        for text in [
            "interval",
            "interval:",
            "interval:1",
            "interval:1,nan",
            "interval:2,1",
            "log:0,1",
            "log:2,1",
            "steps:0,1",
            "steps:0,1,0.3",
            "box:0,1,2",
            "sphere:2.5",
            "sphere:-1",
            "simplex:-1,1",
            "items:0",
            "set:3",
            "set:3,0",
            "set:3,4",
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
        let set = |items: &[u32]| {
            AnyAction::from(ItemSet::new(items.iter().copied().map(Item)).expect("distinct"))
        };
        for (space, inside, outside) in [
            ("interval:0,1", 1.0.into(), 1.5.into()),
            ("interval:0,1", 0.0.into(), f64::NAN.into()),
            ("interval:0,1", 0.5.into(), Item(0).into()),
            ("log:1,10", 2.5.into(), 0.5.into()),
            ("steps:5,50,0.1", (5.0 + 3.0 * 0.1).into(), 5.35.into()),
            ("steps:5,50,0.1", 50.0.into(), 50.1.into()),
            ("items:3", Item(2).into(), Item(3).into()),
            ("box:0,1,0,2", vector(&[1.0, 2.0]), vector(&[1.0, 2.5])),
            ("box:0,1,0,2", vector(&[0.0, 0.0]), vector(&[1.0])),
            ("simplex:1,1", vector(&[0.5, 0.5]), vector(&[1.0])),
            ("sphere:2", vector(&[0.0, 1.0]), 1.0.into()),
            ("set:5,2", set(&[4, 0]), set(&[4, 5])),
            ("set:5,2", set(&[4, 0]), set(&[1])),
            ("set:5,2", set(&[1, 2]), vector(&[1.0, 2.0])),
        ] {
            let space: Space = space.parse().expect("a space");
            assert_eq!(space.check_action(&inside), Ok(()));
            assert!(space.check_action(&outside).is_err(), "{outside}");
        }
        for (inside, action) in [
            (true, mixed(5.0, "red", 0.5)),
            (true, mixed(5.0 + 3.0 * 0.1, "blue", 0.0)),
            (false, mixed(5.05, "red", 0.5)),
            (false, mixed(50.1, "red", 0.5)),
            (false, mixed(5.0, "green", 0.5)),
            (false, mixed(5.0, "red", 1.5)),
            (false, 5.0.into()),
        ] {
            assert_eq!(knobs().check_action(&action).is_ok(), inside, "{action}");
        }
        let one = MixedAction::new([("speed", 0.5.into())]).expect("a knob");
        assert!(knobs().check_action(&one.into()).is_err());
    }
}
