use serde::{Deserialize, Serialize};

use crate::event::{Item, Vector};
use crate::measure::{
    BetaPrior, Catalogue, Dirichlet, Interval, LineMeasure, TruncatedNormal, UniformBox,
    UniformSphere,
};
use crate::model::{ActionKind, Space, SpaceError};
use crate::numeric::OutOfRange;

/// An action space for [`Model::new`](crate::Model::new).
///
/// | your actions                        | space                                            | action     |
/// |-------------------------------------|--------------------------------------------------|------------|
/// | a number between two ends           | [`Interval`]                                     | `f64`      |
/// | the same, some more likely at first | [`TruncatedNormal`], [`BetaPrior`]               | `f64`      |
/// | several knobs at once               | [`UniformBox`]                                   | [`Vector`] |
/// | a direction                         | [`UniformSphere`]                                | [`Vector`] |
/// | shares of a budget                  | [`Dirichlet`]                                    | [`Vector`] |
/// | one item of a list                  | [`Items`], with features of each                 | [`Item`]   |
///
/// If the space is known only at run time, use [`Space`] and [`AnyModel`](crate::AnyModel).
pub trait ActionSpace {
    /// The type of its actions.
    type Action: ActionKind;

    /// The space as data, and the embeddings of its items.
    fn into_parts(self) -> (Space, Option<EmbeddingRows>);
}

impl ActionSpace for Interval {
    type Action = f64;

    fn into_parts(self) -> (Space, Option<EmbeddingRows>) {
        let (low, high) = self.bounds();
        (Space::Interval { low, high }, None)
    }
}

impl ActionSpace for TruncatedNormal {
    type Action = f64;

    fn into_parts(self) -> (Space, Option<EmbeddingRows>) {
        let (low, high) = self.bounds();
        let space = Space::TruncatedNormal {
            mean: self.mean(),
            sd: self.sd(),
            low,
            high,
        };
        (space, None)
    }
}

impl ActionSpace for BetaPrior {
    type Action = f64;

    fn into_parts(self) -> (Space, Option<EmbeddingRows>) {
        let (low, high) = self.bounds();
        let (a, b) = self.shapes();
        (Space::Beta { a, b, low, high }, None)
    }
}

impl ActionSpace for UniformBox {
    type Action = Vector;

    fn into_parts(self) -> (Space, Option<EmbeddingRows>) {
        (
            Space::Box {
                sides: self.sides(),
            },
            None,
        )
    }
}

impl ActionSpace for UniformSphere {
    type Action = Vector;

    fn into_parts(self) -> (Space, Option<EmbeddingRows>) {
        (Space::Sphere { dim: self.dim() }, None)
    }
}

impl ActionSpace for Dirichlet {
    type Action = Vector;

    fn into_parts(self) -> (Space, Option<EmbeddingRows>) {
        let alpha = self.alpha().to_vec();
        (Space::Simplex { alpha }, None)
    }
}

/// The items of a catalogue, each with a row of features.
///
/// ```
/// use egret::{EmbeddingRows, Items, Model};
///
/// let songs = EmbeddingRows::new(2, vec![0.1, 0.9, 0.4, 0.4, 0.8, 0.2])?; // three songs, two numbers each
/// let model = Model::new(Items::new(songs)?, 5)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Items {
    embeddings: EmbeddingRows,
    weights: Option<Vec<f64>>,
}

impl Items {
    /// One item for each row, all equally likely under μ.
    pub fn new(embeddings: EmbeddingRows) -> Result<Self, SpaceError> {
        Catalogue::uniform(embeddings.len())?;
        Ok(Self {
            embeddings,
            weights: None,
        })
    }

    /// One item for each row, with probabilities under μ proportional to the weights.
    pub fn weighted(embeddings: EmbeddingRows, weights: Vec<f64>) -> Result<Self, SpaceError> {
        let space = Space::Items {
            count: embeddings.len(),
            weights: Some(weights.clone()),
        };
        space.check()?;
        Ok(Self {
            embeddings,
            weights: Some(weights),
        })
    }
}

impl ActionSpace for Items {
    type Action = Item;

    fn into_parts(self) -> (Space, Option<EmbeddingRows>) {
        let space = Space::Items {
            count: self.embeddings.len(),
            weights: self.weights,
        };
        (space, Some(self.embeddings))
    }
}

/// A row of numbers for each item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbeddingRows {
    pub(crate) dim: usize,
    pub(crate) values: Vec<f64>,
}

impl EmbeddingRows {
    /// `values` holds row after row of `dim` numbers.
    pub fn new(dim: usize, values: Vec<f64>) -> Result<Self, OutOfRange> {
        let whole = 0 < dim && !values.is_empty() && values.len().is_multiple_of(dim);
        OutOfRange::unless(
            whole,
            "numbers in the table of embeddings",
            values.len() as f64,
            "whole rows, at least one",
        )?;
        Ok(Self { dim, values })
    }

    /// How many numbers a row has.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// How many rows, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "no table is empty")]
    pub fn len(&self) -> usize {
        self.values.len() / self.dim.max(1)
    }

    /// Row after row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}
