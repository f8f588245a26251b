use std::any::Any;
use std::ops::Deref;
use std::{fmt, slice};

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::event::ItemSet;
use crate::numeric::OutOfRange;

/// A type of action, and how many of them are stored.
///
/// | action            | type                  |
/// |-------------------|-----------------------|
/// | point of an interval | `f64`              |
/// | vector of a box, sphere or simplex | [`Vector`] |
/// | index into a catalogue | [`Item`]         |
/// | mixed             | a pair of actions, nested as deep as need be |
/// | your own          | one line, see below   |
///
/// ```
/// #[derive(Debug, Clone)]
/// struct Route { stops: Vec<u32> }
///
/// impl egret::Action for Route {
///     type Batch = Vec<Route>;
/// }
/// ```
pub trait Action: Clone + fmt::Debug + Send + Sync + 'static {
    /// Storage for many actions: `Vec<Self>`, unless another layout is faster.
    type Batch: Batch<Self>;
}

/// Storage for many actions.
pub trait Batch<A>: Default + Send + Sync + 'static {
    /// How many.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Removes all and keeps the memory.
    fn clear(&mut self);
    /// Whether the action can be added to those that are in it, as all can unless they differ in shape.
    fn fits(&self, action: &A) -> bool {
        let _ = action;
        true
    }
    /// Adds one that fits.
    fn push(&mut self, action: &A);
    /// The one at `index`.
    fn get(&self, index: usize) -> A;
}

impl<A: Clone + Send + Sync + 'static> Batch<A> for Vec<A> {
    fn len(&self) -> usize {
        self.len()
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn push(&mut self, action: &A) {
        self.push(action.clone());
    }

    fn get(&self, index: usize) -> A {
        self[index].clone()
    }
}

impl Action for f64 {
    type Batch = Vec<f64>;
}

/// An index into a catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Item(pub u32);

impl Action for Item {
    type Batch = Vec<Item>;
}

/// A point of a box, a sphere or a simplex: a slice of finite numbers. Up to eight need no heap.
///
/// ```
/// use egret::Vector;
///
/// let knobs = Vector::new(&[0.5, 2.0])?;
/// assert_eq!(knobs[1], 2.0);
/// assert_eq!(knobs.iter().sum::<f64>(), 2.5);
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SmallVec<[f64; 8]>", into = "SmallVec<[f64; 8]>")]
pub struct Vector(SmallVec<[f64; 8]>);

impl Vector {
    /// Refuses NaN and infinities.
    pub fn new(coordinates: &[f64]) -> Result<Self, OutOfRange> {
        for &value in coordinates {
            OutOfRange::unless(value.is_finite(), "coordinate", value, "(-inf, inf)")?;
        }
        Ok(Self(SmallVec::from_slice(coordinates)))
    }

    /// Its coordinates.
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }
}

impl Deref for Vector {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.0
    }
}

impl AsRef<[f64]> for Vector {
    fn as_ref(&self) -> &[f64] {
        &self.0
    }
}

impl<'a> IntoIterator for &'a Vector {
    type Item = &'a f64;
    type IntoIter = slice::Iter<'a, f64>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl TryFrom<&[f64]> for Vector {
    type Error = OutOfRange;

    fn try_from(coordinates: &[f64]) -> Result<Self, OutOfRange> {
        Self::new(coordinates)
    }
}

impl TryFrom<SmallVec<[f64; 8]>> for Vector {
    type Error = OutOfRange;

    fn try_from(coordinates: SmallVec<[f64; 8]>) -> Result<Self, OutOfRange> {
        Self::new(&coordinates)
    }
}

impl From<Vector> for SmallVec<[f64; 8]> {
    fn from(vector: Vector) -> Self {
        vector.0
    }
}

impl Action for Vector {
    type Batch = Vectors;
}

/// Vectors of one length, each a row of one block of memory.
#[derive(Debug, Clone, Default)]
pub struct Vectors {
    dim: usize,
    rows: Vec<f64>,
}

impl Vectors {
    /// The length of each; 0 while there are none.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// All coordinates, row after row.
    pub fn rows(&self) -> &[f64] {
        &self.rows
    }

    /// Adds `n` rows of zeros and returns them for filling.
    ///
    /// # Panics
    /// If the batch holds vectors of another length.
    pub fn extend(&mut self, n: usize, dim: usize) -> &mut [f64] {
        assert!(
            self.rows.is_empty() || self.dim == dim,
            "a batch holds vectors of one length"
        );
        self.dim = dim;
        let start = self.rows.len();
        self.rows.resize(start + n * dim, 0.0);
        &mut self.rows[start..]
    }
}

impl Batch<Vector> for Vectors {
    fn len(&self) -> usize {
        self.rows.len().checked_div(self.dim).unwrap_or(0)
    }

    fn clear(&mut self) {
        self.rows.clear();
    }

    fn fits(&self, action: &Vector) -> bool {
        self.rows.is_empty() || self.dim == action.0.len()
    }

    fn push(&mut self, action: &Vector) {
        self.extend(1, action.0.len()).copy_from_slice(&action.0);
    }

    fn get(&self, index: usize) -> Vector {
        let start = index * self.dim;
        Vector(SmallVec::from_slice(&self.rows[start..start + self.dim]))
    }
}

impl<A: Action, B: Action> Action for (A, B) {
    type Batch = (A::Batch, B::Batch);
}

impl<A: 'static, B: 'static, S: Batch<A>, T: Batch<B>> Batch<(A, B)> for (S, T) {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn clear(&mut self) {
        self.0.clear();
        self.1.clear();
    }

    fn fits(&self, action: &(A, B)) -> bool {
        self.0.fits(&action.0) && self.1.fits(&action.1)
    }

    fn push(&mut self, action: &(A, B)) {
        self.0.push(&action.0);
        self.1.push(&action.1);
    }

    fn get(&self, index: usize) -> (A, B) {
        (self.0.get(index), self.1.get(index))
    }
}

/// Converts a value to the action type, if they are the same type.
pub(crate) fn as_action<T: 'static, A: Action>(value: T) -> Option<A> {
    (&value as &dyn Any).downcast_ref::<A>().cloned()
}

/// The batch as vectors, if its actions are vectors.
pub(crate) fn as_vectors<A: Action>(batch: &mut A::Batch) -> Option<&mut Vectors> {
    (batch as &mut dyn Any).downcast_mut()
}

/// The batch as a list of items, if its actions are items.
pub(crate) fn as_items<A: Action>(batch: &mut A::Batch) -> Option<&mut Vec<Item>> {
    (batch as &mut dyn Any).downcast_mut()
}

/// The batch as a list of sets, if its actions are sets of items.
pub(crate) fn as_sets<A: Action>(batch: &mut A::Batch) -> Option<&mut Vec<ItemSet>> {
    (batch as &mut dyn Any).downcast_mut()
}

/// The batch as a list of numbers, if its actions are numbers.
pub(crate) fn as_points<A: Action>(batch: &mut A::Batch) -> Option<&mut Vec<f64>> {
    (batch as &mut dyn Any).downcast_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<A: Action + PartialEq>(actions: &[A]) {
        let mut batch = A::Batch::default();
        assert!(batch.is_empty());
        for action in actions {
            batch.push(action);
        }
        assert_eq!(batch.len(), actions.len());
        for (index, action) in actions.iter().enumerate() {
            assert_eq!(&batch.get(index), action);
        }
        batch.clear();
        assert_eq!(batch.len(), 0);
    }

    #[test]
    fn batches_give_back_what_they_were_given() {
        let vector = |x: f64| Vector::new(&[x, -x, 0.0]).expect("finite");
        round_trip(&[0.25, 0.5]);
        round_trip(&[Item(3), Item(7)]);
        round_trip(&[vector(1.0), vector(2.0)]);
        round_trip(&[
            (0.5, (Item(1), vector(3.0))),
            (0.25, (Item(2), vector(4.0))),
        ]);
    }

    #[test]
    fn vectors_are_finite() {
        assert!(Vector::new(&[0.0, f64::NAN]).is_err());
        assert!(Vector::new(&[f64::INFINITY]).is_err());
    }
}
