use serde::{Deserialize, Serialize};

use crate::event::{
    Action, Batch, Context, FeatureSchema, Item, ItemSet, MixedAction, Objective, Vector, Vectors,
};
use crate::measure::ReferenceMeasure;
use crate::model::{
    ActionKind, ActionSpace, EmbeddingRows, Kind, Space, action_kind::line_measure,
};
use crate::numeric::{EventRng, OutOfRange, lanes};
use crate::oracle::{
    ActionFeatures, GrowError, NamedFeatures, OracleSpec, OracleSpecError, RegressionOracle,
    Scaling, VectorFeatures,
    features::{knob_features::KnobFeatures, set_features::SetFeatures},
    size::Size,
    spec::MOST_LISTED,
};

/// The description of a model before it learns: action space, context, oracle.
///
/// ```
/// use egret::{Interval, Model, ModelSpec, OracleSpec, Settings};
///
/// let mut spec = ModelSpec::new(Interval::new(0.0, 1.0)?, 2);
/// spec.oracle = OracleSpec::paper();
/// let model: Model<f64> = Model::from_spec(spec, Settings::paper())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelSpec {
    /// Which actions there are.
    pub space: Space,
    /// How many numbers a context has: the width of the schema, where there is one.
    pub context_dim: usize,
    /// How named features become these numbers.
    pub features: Option<FeatureSchema>,
    /// What outcomes are, in the user's units.
    pub objective: Objective,
    /// The features of each item of a catalogue.
    pub embeddings: Option<EmbeddingRows>,
    /// How losses are predicted.
    pub oracle: OracleSpec,
}

/// What contexts are: so many numbers, or named features by a schema.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one is made for a model, and taken apart at once"
)]
#[non_exhaustive]
pub enum Contexts {
    /// So many numbers.
    Numbers(usize),
    /// Named features.
    Named(FeatureSchema),
}

impl Contexts {
    /// How many numbers the oracle sees.
    pub fn width(&self) -> usize {
        match self {
            Self::Numbers(dim) => *dim,
            Self::Named(schema) => schema.width(),
        }
    }

    fn schema(self) -> Option<FeatureSchema> {
        match self {
            Self::Numbers(_) => None,
            Self::Named(schema) => Some(schema),
        }
    }
}

impl From<usize> for Contexts {
    fn from(dim: usize) -> Self {
        Self::Numbers(dim)
    }
}

impl From<FeatureSchema> for Contexts {
    fn from(schema: FeatureSchema) -> Self {
        Self::Named(schema)
    }
}

impl ModelSpec {
    /// The default oracle for a space, with seed 0; see [`with_seed`](Self::with_seed).
    ///
    /// | space     | oracle                                                      |
    /// |-----------|-------------------------------------------------------------|
    /// | intervals | [`OracleSpec::default_on_interval`]                         |
    /// | vectors, mixed | [`OracleSpec::default_on_vectors`]                     |
    /// | items     | [`OracleSpec::default_on_features`], of their embeddings      |
    /// | items without features | [`OracleSpec::default_on_list`]                |
    pub fn new(space: impl ActionSpace, contexts: impl Into<Contexts>) -> Self {
        let (space, embeddings) = space.into_parts();
        Self::from_parts(space, embeddings, contexts)
    }

    /// As [`new`](Self::new), for a space known only at run time. More than 1,024 items need embeddings.
    pub fn from_parts(
        space: Space,
        embeddings: Option<EmbeddingRows>,
        contexts: impl Into<Contexts>,
    ) -> Self {
        let contexts = contexts.into();
        let context_dim = contexts.width();
        let oracle = match (&embeddings, space.as_items()) {
            _ if space.bounds().is_some() => OracleSpec::default_on_interval(0),
            (Some(rows), _) => OracleSpec::default_on_features(rows.len(), rows.dim(), 0),
            (None, Some((count, ..))) => OracleSpec::default_on_list(count, 0),
            (None, None) => OracleSpec::default_on_vectors(space.feature_dim(), 0),
        };
        Self {
            space,
            context_dim,
            features: contexts.schema(),
            objective: Objective::LOSS,
            embeddings,
            oracle,
        }
    }

    /// Losses are predicted by this oracle.
    pub fn with_oracle(self, oracle: OracleSpec) -> Self {
        Self { oracle, ..self }
    }

    /// Outcomes are these; losses in [0, 1] otherwise.
    pub fn with_objective(self, objective: Objective) -> Self {
        Self { objective, ..self }
    }

    /// Adds `seed` to every seed of the oracle.
    pub fn with_seed(self, seed: u64) -> Self {
        Self {
            oracle: self.oracle.with_seed(seed),
            ..self
        }
    }

    /// Builds the oracle, before any learning.
    pub fn build_oracle<A: ActionKind>(
        &self,
    ) -> Result<Box<dyn RegressionOracle<Context, A>>, OracleSpecError> {
        A::oracle(self)
    }

    pub(crate) fn number_oracle(
        &self,
    ) -> Result<Box<dyn RegressionOracle<Context, f64>>, OracleSpecError> {
        self.size().check()?;
        let oracle = match self.space {
            // Quantiles of a uniform measure are a scale that oracles have by themselves.
            Space::Interval { low, high } => self.oracle.on((low, high), self.first_dim())?,
            _ => {
                let line = line_measure(&self.space);
                let line = line.map_err(|_| OracleSpecError::NotAnInterval)?;
                self.oracle.on_quantiles(line, self.first_dim())?
            }
        };
        self.named(oracle)
    }

    pub(crate) fn vector_oracle(
        &self,
    ) -> Result<Box<dyn RegressionOracle<Context, Vector>>, OracleSpecError> {
        let coordinates = VectorFeatures::new(self.space.action_dim())?;
        self.size().check()?;
        let mut draws = Vectors::default();
        if let Ok(measure) = Vector::measure(&self.space) {
            let x = Context::dense(Vec::new()).expect("no feature is not finite");
            let n = DRAWS.min(DRAWN / coordinates.dim());
            measure.sample(&x, n, &mut EventRng::before_events(0), &mut draws);
        }
        let scaling = scaling_of(&coordinates, &draws);
        let oracle = self
            .oracle
            .over_scaled(self.first_dim(), &coordinates, &scaling)?;
        self.named(oracle)
    }

    pub(crate) fn item_oracle(
        &self,
    ) -> Result<Box<dyn RegressionOracle<Context, Item>>, OracleSpecError> {
        self.size().check()?;
        let Some(rows) = &self.embeddings else {
            return match self.space.as_items() {
                Some((count, ..)) if count <= MOST_LISTED => {
                    self.named(self.oracle.on_list(count, self.first_dim())?)
                }
                _ => Err(OracleSpecError::NoEmbeddings),
            };
        };
        if let Some((count, ..)) = self.space.as_items() {
            OutOfRange::unless(
                rows.len() == count,
                "number of rows in the table of embeddings",
                rows.len() as f64,
                "one for each item",
            )?;
        }
        let embeddings = rows.rows.clone();
        let every = rows.first.div_ceil(DRAWS);
        let draws: Vec<Item> = (0..rows.first)
            .step_by(every)
            .map(|item| Item(item as u32))
            .collect();
        let scaling = scaling_of(&embeddings, &draws);
        let oracle = self
            .oracle
            .over_scaled(self.first_dim(), &embeddings, &scaling)?;
        self.named(oracle)
    }

    pub(crate) fn mixed_oracle(
        &self,
    ) -> Result<Box<dyn RegressionOracle<Context, MixedAction>>, OracleSpecError> {
        self.size().check()?;
        let measure = self
            .space
            .mixed_knobs()
            .map_err(|_| OracleSpecError::NotKnobs)?;
        let features = KnobFeatures::new(measure.clone());
        let mut draws = Vec::new();
        let x = Context::dense(Vec::new()).expect("no feature is not finite");
        let n = DRAWS.min(DRAWN / features.dim());
        measure.sample(&x, n, &mut EventRng::before_events(0), &mut draws);
        let scaling = scaling_of(&features, &draws);
        let oracle = (self.oracle).over_scaled(self.first_dim(), &features, &scaling)?;
        self.named(oracle)
    }

    pub(crate) fn set_oracle(
        &self,
    ) -> Result<Box<dyn RegressionOracle<Context, ItemSet>>, OracleSpecError> {
        self.size().check()?;
        let rows = (self.embeddings.as_ref()).ok_or(OracleSpecError::NoEmbeddings)?;
        let features = SetFeatures::new(rows.rows.clone());
        let mut draws = Vec::new();
        let measure = self.space.uniform_sets();
        let measure = measure.map_err(|_| OracleSpecError::NoEmbeddings)?;
        OutOfRange::unless(
            rows.len() == measure.items().len(),
            "number of rows in the table of embeddings",
            rows.len() as f64,
            "one for each item",
        )?;
        let x = Context::dense(Vec::new()).expect("no feature is not finite");
        measure.sample(&x, DRAWS, &mut EventRng::before_events(0), &mut draws);
        let scaling = scaling_of(&features, &draws);
        let oracle = (self.oracle).over_scaled(self.first_dim(), &features, &scaling)?;
        self.named(oracle)
    }

    /// How many numbers the oracle holds.
    pub(crate) fn size(&self) -> Size {
        let action_dim = match (&self.embeddings, self.space.as_items()) {
            (Some(rows), _) if matches!(self.space.kind(), Kind::Item | Kind::Set) => rows.dim(),
            (None, Some((count, ..))) => count,
            _ => self.space.feature_dim(),
        };
        match &self.features {
            Some(schema) => self.oracle.size(schema.widths(), action_dim),
            None => self.oracle.size(&[self.context_dim], action_dim),
        }
    }

    /// How many numbers a context had by the first version of the schema: an oracle starts there and grows.
    fn first_dim(&self) -> usize {
        let widths = self.features.as_ref().map(FeatureSchema::widths);
        widths.map_or(self.context_dim, |widths| widths[0])
    }

    /// The oracle, for named features where there is a schema: grown as that has, so that it has the shape of one that
    /// grew while it learned.
    fn named<A: Action>(
        &self,
        mut oracle: Box<dyn RegressionOracle<Context, A>>,
    ) -> Result<Box<dyn RegressionOracle<Context, A>>, OracleSpecError> {
        let Some(schema) = &self.features else {
            return Ok(oracle);
        };
        for &width in &schema.widths()[1..] {
            if !oracle.grow(width)? {
                return Err(GrowError::Unread.into());
            }
        }
        Ok(Box::new(NamedFeatures::new(schema.clone(), oracle)))
    }

    /// The description of the same oracle without names: of contexts as the first version of the schema has them.
    pub(crate) fn at_first(&self) -> Self {
        Self {
            context_dim: self.first_dim(),
            features: None,
            ..self.clone()
        }
    }
}

/// How many actions the scaling is computed from.
const DRAWS: usize = 4096;

/// How many coordinates these may have together, as 8 MB hold them: vectors of more than 256 are fewer.
const DRAWN: usize = 1 << 20;

/// Scales each feature of these actions to mean 0 and deviation 1; a feature that does not vary becomes 0. A single
/// feature is scaled to [0, 1].
fn scaling_of<A: Action>(features: &impl ActionFeatures<A>, actions: &A::Batch) -> Vec<Scaling> {
    let (n, m) = (actions.len(), features.dim());
    let mut columns = vec![0.0; n * m];
    features.fill(actions, 0..n, &mut columns);
    let inverse = |spread: f64, size: f64| {
        if 1e-12 * size < spread {
            1.0 / spread
        } else {
            0.0
        }
    };
    let mut scaling: Vec<Scaling> = columns
        .chunks(n.max(1))
        .map(|column| {
            let mean = lanes::sum(column) / n as f64;
            let squares: Vec<f64> = column.iter().map(|v| (v - mean) * (v - mean)).collect();
            let sd = (lanes::sum(&squares) / n as f64).sqrt();
            Scaling {
                shift: mean,
                factor: inverse(sd, mean.abs()),
            }
        })
        .collect();
    if m == 1 {
        let low = columns.iter().copied().fold(f64::INFINITY, f64::min);
        let high = columns.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        scaling[0] = Scaling {
            shift: low,
            factor: inverse(high - low, high.abs().max(low.abs())),
        };
    }
    scaling
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Embeddings;

    #[test]
    fn large_problems_leave_out_least_squares() {
        let few = OracleSpec::default_on_features(1_000, 8, 0);
        assert!(matches!(few, OracleSpec::Quadratic { cosines: 64, .. }));
        let many = OracleSpec::default_on_features(1_001, 8, 0);
        assert!(matches!(many, OracleSpec::Quadratic { cosines: 0, .. }));
        let most = OracleSpec::default_on_features(usize::MAX, usize::MAX, 0);
        assert!(matches!(most, OracleSpec::Curves { .. }));
    }

    #[test]
    fn actions_are_brought_to_one_scale() {
        let embeddings = Embeddings::new(2, vec![1.0, 7.0, 3.0, 7.0]).expect("two rows");
        let scaling = scaling_of(&embeddings, &vec![Item(0), Item(1)]);
        let expected = [(2.0, 1.0), (7.0, 0.0)];
        assert_eq!(scaling.len(), 2);
        for (found, (shift, factor)) in scaling.iter().zip(expected) {
            assert_eq!((found.shift, found.factor), (shift, factor));
        }
        let single = Embeddings::new(1, vec![10.0, 30.0]).expect("two rows");
        let scaling = scaling_of(&single, &vec![Item(0), Item(1)]);
        assert_eq!((scaling[0].shift, scaling[0].factor), (10.0, 0.05));
    }
}
