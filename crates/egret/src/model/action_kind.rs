use std::fmt;

use serde::{Serialize, Serializer};

use crate::event::{Action, Context, Item, ItemSet, MixedAction, Vector};
use crate::measure::{
    BetaPrior, Catalogue, Dirichlet, Interval, LineMeasure, LogInterval, ReferenceMeasure, Steps,
    TruncatedNormal, UniformBox, UniformSphere,
};
use crate::model::{ModelSpec, Space, SpaceError, space::MOST_COORDINATES};
use crate::numeric::OutOfRange;
use crate::oracle::{OracleSpecError, RegressionOracle};

/// An action whose kind is known only at run time: from a file, a request, another language.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyAction {
    /// A point of an interval.
    Number(f64),
    /// A point of a box, a sphere or a simplex.
    Vector(Vector),
    /// An index into a catalogue.
    Item(Item),
    /// A value for each knob of a mixed space.
    Mixed(MixedAction),
    /// A set of items of a catalogue.
    Set(ItemSet),
}

/// The kinds of action that files, requests and other languages support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `f64`.
    Number,
    /// [`Vector`].
    Vector,
    /// [`Item`].
    Item,
    /// [`MixedAction`].
    Mixed,
    /// [`ItemSet`].
    Set,
}

/// Runs generic code for a [`Kind`] known at run time: inside, `A` is the type of its actions.
///
/// ```
/// use egret::{ActionKind, Kind, for_kind};
///
/// fn named<A: ActionKind>() -> Kind {
///     A::KIND
/// }
///
/// assert_eq!(for_kind!(Kind::Vector, A => named::<A>()), Kind::Vector);
/// ```
#[macro_export]
macro_rules! for_kind {
    ($kind:expr, $A:ident => $body:expr) => {
        match $kind {
            $crate::Kind::Number => {
                type $A = f64;
                $body
            }
            $crate::Kind::Vector => {
                type $A = $crate::Vector;
                $body
            }
            $crate::Kind::Item => {
                type $A = $crate::Item;
                $body
            }
            $crate::Kind::Mixed => {
                type $A = $crate::MixedAction;
                $body
            }
            $crate::Kind::Set => {
                type $A = $crate::ItemSet;
                $body
            }
        }
    };
}

/// The action types that a [`Kind`] names: `f64`, [`Vector`], [`Item`], [`MixedAction`], [`ItemSet`].
///
/// JSON and tables do not always distinguish 3 from 3.0. So `from_any` converts whole numbers to items and items to
/// numbers, and vectors of whole numbers to sets of items.
pub trait ActionKind: Action + PartialEq + Into<AnyAction> + sealed::Sealed {
    /// Which kind.
    const KIND: Kind;

    /// The action as this type; an error if it is of another kind.
    fn from_any(action: &AnyAction) -> Result<Self, KindError>;

    /// Builds μ of a space.
    fn measure(space: &Space) -> Result<Box<dyn ReferenceMeasure<Context, Self>>, SpaceError>;

    /// Builds the oracle of a specification, before any learning.
    fn oracle(
        spec: &ModelSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, Self>>, OracleSpecError>;
}

mod sealed {
    pub trait Sealed {}

    impl Sealed for f64 {}
    impl Sealed for crate::event::Vector {}
    impl Sealed for crate::event::Item {}
    impl Sealed for crate::event::MixedAction {}
    impl Sealed for crate::event::ItemSet {}
}

impl ActionKind for f64 {
    const KIND: Kind = Kind::Number;

    fn from_any(action: &AnyAction) -> Result<Self, KindError> {
        match action {
            AnyAction::Number(value) => Ok(*value),
            AnyAction::Item(Item(index)) => Ok(Self::from(*index)),
            _ => Err(KindError::new(action, Self::KIND)),
        }
    }

    fn measure(space: &Space) -> Result<Box<dyn ReferenceMeasure<Context, Self>>, SpaceError> {
        Ok(line_measure(space)?)
    }

    fn oracle(
        spec: &ModelSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, Self>>, OracleSpecError> {
        spec.number_oracle()
    }
}

/// A measure on a line, both to draw from and to integrate over.
pub(crate) trait NumberMeasure: LineMeasure + ReferenceMeasure<Context, f64> {}

impl<M: LineMeasure + ReferenceMeasure<Context, f64>> NumberMeasure for M {}

/// μ of a space of numbers.
pub(crate) fn line_measure(space: &Space) -> Result<Box<dyn NumberMeasure>, SpaceError> {
    Ok(match *space {
        Space::Interval { low, high } => Box::new(Interval::new(low, high)?),
        Space::LogUniform { low, high } => Box::new(LogInterval::new(low, high)?),
        Space::Steps { low, high, step } => Box::new(Steps::new(low, high, step)?),
        Space::TruncatedNormal {
            mean,
            sd,
            low,
            high,
        } => Box::new(TruncatedNormal::new(mean, sd, low, high)?),
        Space::Beta { a, b, low, high } => Box::new(BetaPrior::new(a, b, low, high)?),
        _ => return Err(SpaceError::kind(space, Kind::Number)),
    })
}

impl ActionKind for Vector {
    const KIND: Kind = Kind::Vector;

    fn from_any(action: &AnyAction) -> Result<Self, KindError> {
        match action {
            AnyAction::Vector(vector) => Ok(vector.clone()),
            _ => Err(KindError::new(action, Self::KIND)),
        }
    }

    fn measure(space: &Space) -> Result<Box<dyn ReferenceMeasure<Context, Self>>, SpaceError> {
        let dim = space.action_dim();
        let fits = dim <= MOST_COORDINATES;
        OutOfRange::unless(fits, "number of coordinates", dim as f64, "[1, 4096]")?;
        Ok(match space {
            Space::Box { sides } => Box::new(UniformBox::new(sides)?),
            Space::Sphere { dim } => Box::new(UniformSphere::new(*dim)?),
            Space::Simplex { alpha } => Box::new(Dirichlet::new(alpha)?),
            _ => return Err(SpaceError::kind(space, Self::KIND)),
        })
    }

    fn oracle(
        spec: &ModelSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, Self>>, OracleSpecError> {
        spec.vector_oracle()
    }
}

impl ActionKind for Item {
    const KIND: Kind = Kind::Item;

    fn from_any(action: &AnyAction) -> Result<Self, KindError> {
        let index = match action {
            AnyAction::Item(item) => return Ok(*item),
            AnyAction::Number(value) => whole(*value),
            _ => None,
        };
        index
            .map(Item)
            .ok_or_else(|| KindError::new(action, Self::KIND))
    }

    fn measure(space: &Space) -> Result<Box<dyn ReferenceMeasure<Context, Self>>, SpaceError> {
        let Some((count, weights, removed)) = space.as_items() else {
            return Err(SpaceError::kind(space, Self::KIND));
        };
        let catalogue = match weights {
            None => Catalogue::uniform(count)?,
            Some(weights) if weights.len() == count => Catalogue::weighted(weights.to_vec())?,
            Some(weights) => {
                return Err(SpaceError::Weights {
                    found: weights.len(),
                    expected: count,
                });
            }
        };
        if removed.is_empty() {
            return Ok(Box::new(catalogue));
        }
        let in_order = removed.windows(2).all(|pair| pair[0] < pair[1]);
        match removed.iter().find(|item| count <= item.0 as usize) {
            None if in_order => Ok(Box::new(catalogue.without(removed)?)),
            unknown => Err(SpaceError::Removed {
                item: unknown.unwrap_or(&removed[0]).0,
            }),
        }
    }

    fn oracle(
        spec: &ModelSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, Self>>, OracleSpecError> {
        spec.item_oracle()
    }
}

impl ActionKind for MixedAction {
    const KIND: Kind = Kind::Mixed;

    fn from_any(action: &AnyAction) -> Result<Self, KindError> {
        match action {
            AnyAction::Mixed(mixed) => Ok(mixed.clone()),
            _ => Err(KindError::new(action, Self::KIND)),
        }
    }

    fn measure(space: &Space) -> Result<Box<dyn ReferenceMeasure<Context, Self>>, SpaceError> {
        Ok(Box::new(space.mixed_knobs()?))
    }

    fn oracle(
        spec: &ModelSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, Self>>, OracleSpecError> {
        spec.mixed_oracle()
    }
}

impl ActionKind for ItemSet {
    const KIND: Kind = Kind::Set;

    fn from_any(action: &AnyAction) -> Result<Self, KindError> {
        let items = match action {
            AnyAction::Set(set) => return Ok(set.clone()),
            AnyAction::Vector(vector) => vector.iter().map(|&value| whole(value).map(Item)),
            _ => return Err(KindError::new(action, Self::KIND)),
        };
        items
            .collect::<Option<Vec<Item>>>()
            .and_then(|items| Self::new(items).ok())
            .ok_or_else(|| KindError::new(action, Self::KIND))
    }

    fn measure(space: &Space) -> Result<Box<dyn ReferenceMeasure<Context, Self>>, SpaceError> {
        Ok(Box::new(space.uniform_sets()?))
    }

    fn oracle(
        spec: &ModelSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, Self>>, OracleSpecError> {
        spec.set_oracle()
    }
}

fn whole(value: f64) -> Option<u32> {
    let index = value as u32;
    (f64::from(index) == value).then_some(index)
}

impl From<f64> for AnyAction {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<Vector> for AnyAction {
    fn from(vector: Vector) -> Self {
        Self::Vector(vector)
    }
}

impl From<Item> for AnyAction {
    fn from(item: Item) -> Self {
        Self::Item(item)
    }
}

impl From<MixedAction> for AnyAction {
    fn from(action: MixedAction) -> Self {
        Self::Mixed(action)
    }
}

impl From<ItemSet> for AnyAction {
    fn from(set: ItemSet) -> Self {
        Self::Set(set)
    }
}

impl AnyAction {
    /// Which kind it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Number(_) => Kind::Number,
            Self::Vector(_) => Kind::Vector,
            Self::Item(_) => Kind::Item,
            Self::Mixed(_) => Kind::Mixed,
            Self::Set(_) => Kind::Set,
        }
    }

    /// Converts the action to this kind if possible; otherwise returns it unchanged.
    pub fn into_kind(self, kind: Kind) -> Self {
        for_kind!(kind, A => A::from_any(&self).map_or(self, Into::into))
    }
}

impl fmt::Display for AnyAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{value:?}"),
            Self::Vector(vector) => write!(f, "{:?}", vector.as_slice()),
            Self::Item(Item(index)) => write!(f, "{index}"),
            Self::Mixed(action) => action.fmt(f),
            Self::Set(set) => set.fmt(f),
        }
    }
}

/// A number, a list of numbers, an index, an object by knobs, or a list of indices.
impl Serialize for AnyAction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(value) => value.serialize(serializer),
            Self::Vector(vector) => vector.as_slice().serialize(serializer),
            Self::Item(Item(index)) => index.serialize(serializer),
            Self::Mixed(action) => action.serialize(serializer),
            Self::Set(set) => set.items().serialize(serializer),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Number => "number",
            Self::Vector => "vector",
            Self::Item => "item",
            Self::Mixed => "mixed action",
            Self::Set => "set",
        })
    }
}

/// An action is of another kind than expected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("expected an action that is {}, found {action}", with_article(*expected))]
pub struct KindError {
    /// What it was.
    pub action: String,
    /// What it must be.
    pub expected: Kind,
}

fn with_article(kind: Kind) -> &'static str {
    match kind {
        Kind::Number => "a number",
        Kind::Vector => "a vector",
        Kind::Item => "an item",
        Kind::Mixed => "a value for each knob",
        Kind::Set => "a set of items",
    }
}

impl KindError {
    fn new(action: &AnyAction, expected: Kind) -> Self {
        Self {
            action: action.to_string(),
            expected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_items_and_indices_are_numbers() {
        assert_eq!(Item::from_any(&3.0.into()), Ok(Item(3)));
        assert_eq!(f64::from_any(&Item(3).into()), Ok(3.0));
        assert_eq!(AnyAction::from(3.0).into_kind(Kind::Item), Item(3).into());
        let error = Item::from_any(&0.5.into()).expect_err("no index");
        assert_eq!(
            error.to_string(),
            "expected an action that is an item, found 0.5"
        );
        assert_eq!(AnyAction::from(0.5).into_kind(Kind::Item), 0.5.into());
        let vector = Vector::new(&[1.0, 2.0]).expect("finite");
        assert_eq!(Vector::from_any(&vector.clone().into()), Ok(vector.clone()));
        assert!(f64::from_any(&vector.into()).is_err());
    }

    #[test]
    fn every_kind_has_its_type() {
        for kind in [
            Kind::Number,
            Kind::Vector,
            Kind::Item,
            Kind::Mixed,
            Kind::Set,
        ] {
            assert_eq!(for_kind!(kind, A => A::KIND), kind);
        }
    }
}
