use serde::{Deserialize, Serialize, Serializer};

use crate::event::{
    FeatureCounts, FeatureError, FeatureSchema, Features, FieldKind, Item, ItemSet, SchemaError,
    Vector,
};
use crate::measure::{
    BetaPrior, Catalogue, Dirichlet, Interval, LineMeasure, LogInterval, Steps, TruncatedNormal,
    UniformBox, UniformSphere, uniform_sets::UniformSets,
};
use crate::model::{ActionKind, Space, SpaceError};
use crate::numeric::OutOfRange;
use crate::oracle::{Embeddings, spec::MOST_LISTED};

/// An action space for [`Model::new`](crate::Model::new).
///
/// | your actions                        | space                                            | action     |
/// |-------------------------------------|--------------------------------------------------|------------|
/// | a number between two ends           | [`Interval`]                                     | `f64`      |
/// | the same, where ratios matter       | [`LogInterval`]                                  | `f64`      |
/// | whole numbers, or steps of a price  | [`Steps`]                                        | `f64`      |
/// | a number, some more likely at first | [`TruncatedNormal`], [`BetaPrior`]               | `f64`      |
/// | several knobs at once               | [`UniformBox`]                                   | [`Vector`] |
/// | a direction                         | [`UniformSphere`]                                | [`Vector`] |
/// | shares of a budget                  | [`Dirichlet`]                                    | [`Vector`] |
/// | one item of a list                  | [`Items`], with features of each, named or not   | [`Item`]   |
/// | one of a few, without features      | [`ItemList`]                                     | [`Item`]   |
/// | several items of a list at once     | [`Sets`]                                         | [`ItemSet`] |
/// | knobs with steps and categories     | [`Knobs`](crate::Knobs)                          | [`MixedAction`](crate::MixedAction) |
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

impl ActionSpace for LogInterval {
    type Action = f64;

    fn into_parts(self) -> (Space, Option<EmbeddingRows>) {
        let (low, high) = self.bounds();
        (Space::LogUniform { low, high }, None)
    }
}

impl ActionSpace for Steps {
    type Action = f64;

    fn into_parts(self) -> (Space, Option<EmbeddingRows>) {
        let (low, high) = self.bounds();
        let step = self.step();
        (Space::Steps { low, high, step }, None)
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

/// The items of a catalogue, each with features: named values, or a row of numbers.
///
/// ```
/// use egret::{Features, Items, Model};
///
/// let films = [
///     Features::new().with("genre", "drama").with("price", 9.9),
///     Features::new().with("genre", "comedy").with("price", 4.5),
/// ];
/// let model = Model::new(Items::infer(&films)?, 5)?;
/// assert!(model.spec().embeddings.as_ref().is_some_and(|rows| rows.schema().is_some()));
///
/// use egret::EmbeddingRows;
/// let songs = EmbeddingRows::new(2, vec![0.1, 0.9, 0.4, 0.4, 0.8, 0.2])?; // three songs, two numbers each
/// let model = Model::new(Items::new(songs)?, 5)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Items {
    embeddings: EmbeddingRows,
    weights: Option<Vec<f64>>,
    counts: FeatureCounts,
}

impl Items {
    /// One item for each row, all equally likely under μ.
    pub fn new(embeddings: EmbeddingRows) -> Result<Self, SpaceError> {
        Catalogue::uniform(embeddings.len())?;
        Ok(Self {
            embeddings,
            weights: None,
            counts: FeatureCounts::default(),
        })
    }

    /// One item for each row, with probabilities under μ proportional to the weights.
    pub fn weighted(embeddings: EmbeddingRows, weights: Vec<f64>) -> Result<Self, SpaceError> {
        Self::new(embeddings)?.with_weights(weights)
    }

    /// Items of named features, all equally likely under μ. The schema is saved with the model. It has at most 512
    /// columns, since every item holds a row of them: give its hashed fields few bits.
    pub fn named<'a>(
        schema: FeatureSchema,
        items: impl IntoIterator<Item = &'a Features>,
    ) -> Result<Self, ItemsError> {
        let dim = schema.width();
        if MOST_COLUMNS < dim {
            return Err(ItemsError::TooWide { width: dim });
        }
        let (mut values, mut counts) = (Vec::new(), FeatureCounts::default());
        for (place, item) in items.into_iter().enumerate() {
            let row = schema
                .encode(item, &mut counts)
                .map_err(|error| ItemsError::Features { place, error })?;
            values.extend_from_slice(row.as_dense().expect("so few columns are dense"));
        }
        let rows = EmbeddingRows::new(dim, values).map_err(SpaceError::from)?;
        let embeddings = EmbeddingRows {
            schema: Some(schema),
            ..rows
        };
        Ok(Self {
            counts,
            ..Self::new(embeddings)?
        })
    }

    /// As [`named`](Self::named), by the schema that suits these items. Text of very many values, such as titles, and
    /// lists of words are folded to 64 columns each, so that items stay short.
    pub fn infer<'a>(
        items: impl IntoIterator<Item = &'a Features, IntoIter: Clone>,
    ) -> Result<Self, ItemsError> {
        let items = items.into_iter();
        let inferred = FeatureSchema::infer(items.clone())?;
        let folded = inferred.fields().map(|(name, field)| {
            let mut field = field.clone();
            if let FieldKind::Hashed { bits } | FieldKind::Tokens { bits } = &mut field.kind {
                *bits = FOLDED_BITS.min(*bits);
            }
            (name.to_owned(), field)
        });
        Self::named(FeatureSchema::new().with_fields(folded)?, items)
    }

    /// The same items with probabilities under μ proportional to the weights.
    pub fn with_weights(self, weights: Vec<f64>) -> Result<Self, SpaceError> {
        let space = Space::Items {
            count: self.embeddings.len(),
            weights: Some(weights.clone()),
        };
        space.check()?;
        Ok(Self {
            weights: Some(weights),
            ..self
        })
    }

    /// Their weights, if they have some.
    pub(crate) fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// Their features as numbers, and the schema of named ones.
    pub fn embeddings(&self) -> &EmbeddingRows {
        &self.embeddings
    }

    /// How often items were not as their schema says.
    pub fn feature_counts(&self) -> &FeatureCounts {
        &self.counts
    }
}

/// The most columns of named items: a catalogue of a million then takes 4 GB at worst.
const MOST_COLUMNS: usize = 512;

/// Inferred text of very many values has 2^6 columns.
const FOLDED_BITS: u8 = 6;

/// Why named items are refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ItemsError {
    /// A row of each item would take too much memory.
    #[error(
        "the schema of the items has {width} columns, and each item holds all of them: give hashed fields and tokens \
         fewer bits, such as 6, or leave fields out, until there are at most 512"
    )]
    TooWide {
        /// How many columns.
        width: usize,
    },
    /// A strict schema refused an item.
    #[error("item {place}: {error}")]
    Features {
        /// Which, from 0.
        place: usize,
        /// Why.
        error: FeatureError,
    },
    /// No schema suits them.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// New items have other features than those before.
    #[error(
        "the items have rows of {found} numbers, expected {expected} by the same schema as the items before: make them by \
         `Items::named` with the schema of the model's embeddings"
    )]
    OtherFeatures {
        /// Of the items before.
        expected: usize,
        /// Of the new ones.
        found: usize,
    },
    /// A list without features does not grow.
    #[error(
        "items of a list without features cannot be added: make a model of the longer list, and train it on the log"
    )]
    NoFeatures,
    /// An item to remove is not there.
    #[error("item {item} is not in the catalogue")]
    NoItem {
        /// Its index.
        item: u32,
    },
    /// There are none, or too many, or weights are not as those of the others.
    #[error(transparent)]
    Space(#[from] SpaceError),
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

/// A list of up to 1,024 items without features, all equally likely under μ: what is learned of one says nothing of the others.
///
/// ```
/// use egret::{Context, ItemList, Loss, Model};
///
/// let mut model = Model::new(ItemList::new(3)?, 1)?; // three layouts of a page, one feature of the visitor
/// let x = Context::dense(vec![0.5])?;
/// for event in 0..200 {
///     let decision = model.decide(event, &x)?;
///     let loss = Loss::new(if decision.action.0 == 2 { 0.1 } else { 0.9 })?;
///     model.learn(&decision.observed(&x, loss))?;
/// }
/// assert_eq!(model.best(&x)?.0, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemList {
    count: usize,
}

impl ItemList {
    /// So many items, from 1 to 1,024.
    pub fn new(count: usize) -> Result<Self, OutOfRange> {
        let allowed = (1..=MOST_LISTED).contains(&count);
        OutOfRange::unless(allowed, "items without features", count as f64, "[1, 1024]")?;
        Ok(Self { count })
    }
}

impl ActionSpace for ItemList {
    type Action = Item;

    fn into_parts(self) -> (Space, Option<EmbeddingRows>) {
        let space = Space::Items {
            count: self.count,
            weights: None,
        };
        (space, None)
    }
}

/// Sets of distinct items of a catalogue, all sets of the size equally likely under μ: examples for a prompt, stories for a page.
///
/// Oracles see the mean of the features of a set's items, so that the default plays sets whose items are good together on average.
///
/// ```
/// use egret::{Context, EmbeddingRows, Items, Loss, Model, Sets};
///
/// let examples = EmbeddingRows::new(1, (0..50).map(f64::from).collect())?;
/// let mut model = Model::new(Sets::new(Items::new(examples)?, 3)?, 1)?;
/// let x = Context::dense(vec![0.5])?;
/// for event in 0..500 {
///     let decision = model.decide(event, &x)?;
///     let mean = decision.action.items().iter().map(|item| f64::from(item.0)).sum::<f64>() / 3.0;
///     model.learn(&decision.observed(&x, Loss::new(mean / 50.0)?))?;
/// }
/// assert!(model.best(&x)?.items().iter().all(|item| item.0 < 10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Sets {
    items: Items,
    size: usize,
}

impl Sets {
    /// Sets of `size` of these items; items with weights are refused, for sets have none.
    pub fn new(items: Items, size: usize) -> Result<Self, SpaceError> {
        if let Some(weights) = &items.weights {
            let found = weights.len();
            return Err(SpaceError::Weights { found, expected: 0 });
        }
        UniformSets::new(items.embeddings.len(), size)?;
        Ok(Self { items, size })
    }
}

impl ActionSpace for Sets {
    type Action = ItemSet;

    fn into_parts(self) -> (Space, Option<EmbeddingRows>) {
        let space = Space::Set {
            count: self.items.embeddings.len(),
            size: self.size,
        };
        (space, Some(self.items.embeddings))
    }
}

/// A row of numbers for each item, and how they came from named features, if they did. Numbers are kept as `f32`, and copies
/// share them: a model holds them once, in memory and in its file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "SavedRows<Vec<f32>, Option<FeatureSchema>>")]
pub struct EmbeddingRows {
    pub(crate) rows: Embeddings,
    schema: Option<FeatureSchema>,
    /// How many rows the scale of features is taken from: those before any were added.
    pub(crate) first: usize,
}

/// What a file holds of them.
#[derive(Serialize, Deserialize)]
struct SavedRows<V, S> {
    dim: usize,
    values: V,
    schema: S,
    first: usize,
}

impl TryFrom<SavedRows<Vec<f32>, Option<FeatureSchema>>> for EmbeddingRows {
    type Error = OutOfRange;

    fn try_from(saved: SavedRows<Vec<f32>, Option<FeatureSchema>>) -> Result<Self, OutOfRange> {
        let rows = Self::from_singles(saved.dim, saved.values)?;
        let allowed = (1..=rows.len()).contains(&saved.first);
        OutOfRange::unless(allowed, "rows at first", saved.first as f64, "[1, rows]")?;
        Ok(Self {
            schema: saved.schema,
            first: saved.first,
            ..rows
        })
    }
}

impl Serialize for EmbeddingRows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let saved = SavedRows {
            dim: self.dim(),
            values: self.values(),
            schema: &self.schema,
            first: self.first,
        };
        saved.serialize(serializer)
    }
}

impl EmbeddingRows {
    /// `values` holds row after row of `dim` numbers within ±10³⁰.
    pub fn new(dim: usize, values: Vec<f64>) -> Result<Self, OutOfRange> {
        Ok(Self::of(Embeddings::new(dim, values)?))
    }

    /// As [`new`](Self::new), of numbers as they are kept.
    pub fn from_singles(dim: usize, values: Vec<f32>) -> Result<Self, OutOfRange> {
        Ok(Self::of(Embeddings::from_singles(dim, values)?))
    }

    fn of(rows: Embeddings) -> Self {
        Self {
            first: rows.rows().len() / rows.width(),
            rows,
            schema: None,
        }
    }

    /// These rows and then others, of the same features.
    pub(crate) fn followed_by(&self, more: &Self) -> Result<Self, ItemsError> {
        if (self.dim(), &self.schema) != (more.dim(), &more.schema) {
            return Err(ItemsError::OtherFeatures {
                expected: self.dim(),
                found: more.dim(),
            });
        }
        let values = [self.values(), more.values()].concat();
        let rows = Embeddings::from_singles(self.dim(), values).map_err(SpaceError::from)?;
        Ok(Self {
            rows,
            ..self.clone()
        })
    }

    /// How named features of an item become its row.
    pub fn schema(&self) -> Option<&FeatureSchema> {
        self.schema.as_ref()
    }

    /// How many numbers a row has.
    pub fn dim(&self) -> usize {
        self.rows.width()
    }

    /// How many rows, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "no table is empty")]
    pub fn len(&self) -> usize {
        self.values().len() / self.dim()
    }

    /// Row after row.
    pub fn values(&self) -> &[f32] {
        self.rows.rows()
    }
}
