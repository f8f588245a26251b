//! Models: a learner with its description, for contexts that are named features or lists of numbers.
//!
//! A [`ModelSpec`] is plain data: the action space, what contexts are, the objective, the oracle. A model is built from it,
//! and its file holds it, so a saved model loads without the program that made it.
//!
//! | you know the kind of action      | type                                       |
//! |----------------------------------|--------------------------------------------|
//! | when you write the program       | [`Model<A>`]                               |
//! | when it runs                     | [`AnyModel`]                               |
//!
//! [`DecisionLoop`] wraps a model. It numbers the events, remembers decisions until their losses arrive, and writes
//! finished events to an [`EventLog`]. For your own contexts, measures or oracles take a
//! [`Learner`] instead.

pub(crate) mod action_kind;
pub(crate) mod action_space;
pub(crate) mod any_model;
pub(crate) mod changed_items;
pub(crate) mod decision_loop;
pub(crate) mod knob;
pub(crate) mod limits;
pub(crate) mod space;
pub(crate) mod spec;
pub(crate) mod trained_rows;

pub use action_kind::{ActionKind, AnyAction, Kind, KindError};
pub use action_space::{ActionSpace, EmbeddingRows, ItemList, Items, ItemsError, Sets};
pub use any_model::AnyModel;
pub use decision_loop::{DecisionLoop, EventLog, LoopError, NoLog};
pub use knob::{Knob, Knobs};
pub use space::{ActionError, Space, SpaceError};
pub use spec::{Contexts, ModelSpec};
pub use trained_rows::TrainedRows;

use std::borrow::{Borrow, Cow};

use rayon::prelude::*;

use crate::codec::{LoadError, framed::Frame};
use crate::event::{
    Context, ContextError, EncodeBuffers, FeatureCounts, FeatureSchema, Limits, Objective,
    SchemaError,
};
use crate::explorer::{DecideError, Decision, Learned, Observed};
use crate::learner::{LearnError, Learner, ReplayError, Settings, SettingsError};
use crate::numeric::hash::content_hash;
use crate::numeric::pool::Pool;
use crate::oracle::{GrowError, NamedFeatures, OracleSpecError, RegressionOracle};

// docs/model-format.md describes every byte.
const FRAME: Frame = Frame {
    magic: "egretpkg",
    version: 1,
};

type BoxedOracle<A> = Box<dyn RegressionOracle<Context, A>>;

/// A contextual bandit model over actions of type `A`: decides, learns, predicts, and is saved with its description.
///
/// A decision is a pure function of (model, event, context), so many threads may share one model. You number the events
/// and use each number once; [`DecisionLoop`] does it for you.
///
/// ```
/// use egret::{Context, Interval, Loss, Model};
///
/// let mut model = Model::new(Interval::new(5.0, 50.0)?, 2)?; // prices, two features
/// let x = Context::dense(vec![1000.0, 0.001])?; // in any units
/// for event in 0..10 {
///     let decision = model.decide(event, &x)?;
///     let loss = Loss::new((decision.action - 20.0).abs() / 45.0)?;
///     model.learn(&decision.observed(&x, loss))?;
/// }
/// let again = Model::<f64>::load(&model.save())?;
/// assert_eq!(again.decide(10, &x)?, model.decide(10, &x)?);
/// // Or named features, and rewards in the user's units.
/// use egret::{Features, FeatureSchema, FieldKind, Objective};
/// let schema = FeatureSchema::new().with("income", FieldKind::number())?;
/// let model = Model::new(Interval::new(5.0, 50.0)?, schema)?.with_objective(Objective::maximize(0.0, 50.0)?);
/// let decision = model.decide(0, &Features::new().with("income", 52_000).into())?;
/// assert!((5.0..=50.0).contains(&decision.action));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Model<A: ActionKind> {
    spec: ModelSpec,
    learner: Learner<Context, A>,
    next_event: u64,
    trained_rows: Option<TrainedRows>,
    counts: FeatureCounts,
    buffers: Pool<EncodeBuffers>,
}

impl<A: ActionKind> Model<A> {
    /// The default model for a space and contexts of so many numbers, or of named features by a
    /// [`FeatureSchema`](crate::FeatureSchema). There is nothing to tune.
    pub fn new(
        space: impl ActionSpace<Action = A>,
        contexts: impl Into<Contexts>,
    ) -> Result<Self, ModelError> {
        Self::with_settings(space, contexts, Settings::default())
    }

    /// The default oracle with other settings, such as another seed.
    pub fn with_settings(
        space: impl ActionSpace<Action = A>,
        contexts: impl Into<Contexts>,
        settings: Settings,
    ) -> Result<Self, ModelError> {
        let spec = ModelSpec::new(space, contexts).with_seed(settings.seed);
        Self::from_spec(spec, settings)
    }

    /// Any oracle with any settings.
    pub fn from_spec(spec: ModelSpec, settings: Settings) -> Result<Self, ModelError> {
        Self::assembled(spec, A::oracle, settings)
    }

    /// An oracle of your own in place of the one that the description says. What is saved of it loads only where the
    /// description says the same oracle.
    pub fn with_oracle(
        spec: ModelSpec,
        oracle: BoxedOracle<A>,
        settings: Settings,
    ) -> Result<Self, ModelError> {
        Self::assembled(spec, |_| Ok(oracle), settings)
    }

    /// The space is checked before an oracle is made for it.
    fn assembled(
        spec: ModelSpec,
        oracle: impl FnOnce(&ModelSpec) -> Result<BoxedOracle<A>, OracleSpecError>,
        settings: Settings,
    ) -> Result<Self, ModelError> {
        if let Some(schema) = &spec.features
            && schema.width() != spec.context_dim
        {
            return Err(ModelError::Width {
                width: schema.width(),
                context_dim: spec.context_dim,
            });
        }
        let measure = A::measure(&spec.space)?;
        let learner = Learner::new(measure, oracle(&spec)?, settings)?;
        let counts = FeatureCounts::default();
        Ok(Self {
            spec,
            learner,
            next_event: 0,
            trained_rows: None,
            counts,
            buffers: Pool::default(),
        })
    }

    /// Outcomes are these; losses in [0, 1] otherwise.
    #[must_use]
    pub fn with_objective(mut self, objective: Objective) -> Self {
        self.spec.objective = objective;
        self
    }

    /// A model whose oracle was trained elsewhere. `oracle` is the saved state of the oracle, and `learned` says how much
    /// it has learned: γ goes on from there. The squared error is the oracle's own.
    pub fn trained(
        spec: ModelSpec,
        settings: Settings,
        oracle: &[u8],
        learned: Learned,
    ) -> Result<Self, ModelError> {
        let mut model = Self::from_spec(spec, settings)?;
        model.learner.oracle.load(oracle)?;
        model.learner.batches = learned.batches;
        model.learner.events = learned.events;
        Ok(model)
    }

    /// A copy with the same trained oracle and other settings.
    pub fn under(&self, settings: Settings) -> Result<Self, ModelError> {
        let oracle = self.learner.oracle.save();
        let copy = Self::trained(self.spec.clone(), settings, &oracle, self.learner.learned())?;
        Ok(copy
            .with_next_event(self.next_event)
            .with_trained_rows(self.trained_rows.clone()))
    }

    /// Event numbers below this are used. A [`DecisionLoop`] goes on from here, also after the model was saved and loaded.
    #[must_use]
    pub fn with_next_event(mut self, event: u64) -> Self {
        self.next_event = event;
        self
    }

    /// The rows of a log that it was trained on.
    #[must_use]
    pub fn with_trained_rows(mut self, rows: Option<TrainedRows>) -> Self {
        self.trained_rows = rows;
        self
    }

    /// The rows of a log that it was trained on, if it was: they must not judge it. What it learned online is not among them;
    /// there the log says how much a model had learned at each event.
    pub fn trained_rows(&self) -> Option<&TrainedRows> {
        self.trained_rows.as_ref()
    }

    /// The least event number that is not used, as far as the model knows: from the loop around it, or from
    /// [`with_next_event`](Self::with_next_event). [`decide`](Self::decide) takes any number and does not count.
    pub fn next_event(&self) -> u64 {
        self.next_event
    }

    /// Its description: space, context, oracle.
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        self.learner.settings()
    }

    /// How many batches were learned; decisions carry the number.
    pub fn batches_learned(&self) -> u64 {
        self.learner.batches_learned()
    }

    /// What outcomes are.
    pub fn objective(&self) -> &Objective {
        &self.spec.objective
    }

    /// How often the contexts that were learned from, since the model was made or loaded, were not as the schema says.
    pub fn feature_counts(&self) -> &FeatureCounts {
        &self.counts
    }

    /// The learner inside: μ, f̂, Corral.
    pub fn learner(&self) -> &Learner<Context, A> {
        &self.learner
    }

    /// The learner without the description.
    pub fn into_learner(self) -> Learner<Context, A> {
        self.learner
    }

    /// Chooses an action for a context.
    pub fn decide(&self, event: u64, x: &Context) -> Result<Decision<A>, DecideError> {
        self.encoded(x, |x| self.learner.decide(event, x))
    }

    /// As [`decide`](Self::decide), for a request that allows a part of the actions: a price within 10% of the last, an item that
    /// is in stock, a knob that is pinned. μ is restricted to the limits, and the density is against the restricted μ.
    ///
    /// Numbers, boxes and items can be limited. Equal ends pin a number: it is played with density 1.
    ///
    /// ```
    /// use egret::{Context, Limits, Model, Steps};
    ///
    /// let prices = Model::new(Steps::new(5.0, 50.0, 0.5)?, 1)?;
    /// let x = Context::dense(vec![1.0])?;
    /// let decision = prices.decide_within(0, &x, &Limits::Interval { low: 9.0, high: 11.0 })?;
    /// assert!((9.0..=11.0).contains(&decision.action));
    /// let pinned = prices.decide_within(1, &x, &Limits::Interval { low: 9.5, high: 9.5 })?;
    /// assert_eq!((pinned.action, pinned.importance_weight(1.0)), (9.5, Some(1.0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decide_within(
        &self,
        event: u64,
        x: &Context,
        limits: &Limits,
    ) -> Result<Decision<A>, DecideError> {
        limits.check(&self.spec.space)?;
        self.encoded(x, |x| self.learner.decide_within(event, x, limits))
    }

    fn check_action(&self, action: &A) -> Result<(), ActionError> {
        self.spec.space.check_action(&action.clone().into())
    }

    /// Runs `ask` on the numbers of a context: named features are encoded once, into memory that is used again.
    fn encoded<R>(
        &self,
        x: &Context,
        ask: impl FnOnce(&Context) -> Result<R, DecideError>,
    ) -> Result<R, DecideError> {
        let (Some(features), Some(schema)) = (x.as_named(), &self.spec.features) else {
            return ask(x);
        };
        self.buffers.with(|buffers| {
            schema
                .encode_into(features, None, buffers)
                .map_err(ContextError::from)?;
            ask(&buffers.numbers)
        })
    }

    /// Decides many events in parallel; the answers are those of [`decide`](Self::decide), in order.
    pub fn decide_batch(
        &self,
        events: &[(u64, &Context)],
    ) -> Vec<Result<Decision<A>, DecideError>> {
        let decide = |&(event, x): &(u64, &Context)| self.decide(event, x);
        events.par_iter().map(decide).collect()
    }

    /// Learns from one event.
    pub fn learn<Y: Borrow<Context>>(
        &mut self,
        observed: &Observed<Y, A>,
    ) -> Result<(), LearnError> {
        self.learn_batch(std::slice::from_ref(observed))
    }

    /// Takes one step on many events. An action outside the space is an error, and on an error nothing was learned.
    pub fn learn_batch<Y: Borrow<Context>>(
        &mut self,
        observed: &[Observed<Y, A>],
    ) -> Result<(), LearnError> {
        for event in observed {
            self.spec
                .space
                .check_played(&event.action.clone().into())
                .map_err(|error| LearnError::Action(error.to_string()))?;
        }
        let Some(schema) = &self.spec.features else {
            return self.learner.learn_batch(observed);
        };
        let mut counts = FeatureCounts::default();
        let mut encoded = Vec::with_capacity(observed.len());
        for event in observed {
            let x = event.x.borrow();
            let x = match x.as_named() {
                None => Cow::Borrowed(x),
                Some(features) => {
                    let numbers = schema.encode(features, &mut counts);
                    Cow::Owned(numbers.map_err(ContextError::from)?)
                }
            };
            encoded.push(Observed {
                x,
                action: event.action.clone(),
                limits: event.limits.clone(),
                loss: event.loss,
                propensity: event.propensity,
                tau: event.tau,
            });
        }
        self.learner.learn_batch(&encoded)?;
        self.counts.merge(&counts);
        Ok(())
    }

    /// The same model with a later version of its schema, made by [`FeatureSchema::grown`]: what it has learned stays, and
    /// contexts without the new fields are decided as before. On an error nothing has changed.
    ///
    /// ```
    /// use egret::{Features, FeatureSchema, FieldKind, Interval, Model};
    ///
    /// let schema = FeatureSchema::new().with("income", FieldKind::number())?;
    /// let mut model = Model::new(Interval::new(5.0, 50.0)?, schema.clone())?;
    /// let x = Features::new().with("income", 52_000).into();
    /// let before = model.decide(0, &x)?;
    /// model.grow(schema.grown(|schema| schema.with("country", FieldKind::category(["NZ", "AU"])))?)?;
    /// assert_eq!(model.decide(0, &x)?, before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn grow(&mut self, schema: FeatureSchema) -> Result<(), ModelError> {
        let before = self.spec.features.as_ref().ok_or(ModelError::NoSchema)?;
        schema.check_grown_from(before)?;
        let mut oracle = A::oracle(&self.spec.at_first())?;
        for &width in &before.widths()[1..] {
            oracle.grow(width)?;
        }
        oracle.load(&self.learner.oracle.save())?;
        for &width in &schema.widths()[before.widths().len()..] {
            if !oracle.grow(width)? {
                return Err(GrowError::Unread.into());
            }
        }
        self.learner.oracle = Box::new(NamedFeatures::new(schema.clone(), oracle));
        self.spec.context_dim = schema.width();
        self.spec.features = Some(schema);
        Ok(())
    }

    /// The predicted outcome of each action, in the units of the objective; also of items that were removed.
    pub fn predict(&self, x: &Context, actions: &[A]) -> Result<Vec<f64>, DecideError> {
        for action in actions {
            (self.spec.space.check_played(&action.clone().into()))
                .map_err(|error| DecideError::Action(error.to_string()))?;
        }
        let mut predicted = self.encoded(x, |x| self.learner.predict(x, actions))?;
        for outcome in &mut predicted {
            *outcome = self.spec.objective.value(*outcome);
        }
        Ok(predicted)
    }

    /// The action with the best predicted outcome; see [`Learner::best`] for how it searches.
    pub fn best(&self, x: &Context) -> Result<A, DecideError> {
        self.encoded(x, |x| self.learner.best(x))
    }

    /// As [`best`](Self::best), among what a request allows.
    pub fn best_within(&self, x: &Context, limits: &Limits) -> Result<A, DecideError> {
        limits.check(&self.spec.space)?;
        self.encoded(x, |x| self.learner.best_within(x, limits))
    }

    /// Repeats a past decision and compares every field bit for bit; see [`Learner::replay`].
    pub fn replay(&self, x: &Context, decision: &Decision<A>) -> Result<(), ReplayError> {
        self.check_action(&decision.action)
            .map_err(|error| DecideError::Action(error.to_string()))?;
        self.learner.replay(x, decision)
    }

    /// The whole model as bytes; [`load`](Self::load) restores it bit for bit.
    pub fn save(&self) -> Vec<u8> {
        let mut content = self.content();
        let tail = match (self.next_event, &self.trained_rows) {
            (0, None) => Ok(Vec::new()),
            (next_event, None) => postcard::to_stdvec(&next_event),
            (next_event, Some(rows)) => postcard::to_stdvec(&(next_event, rows)),
        };
        content.extend(tail.expect("numbers are written to memory"));
        FRAME.around(&content)
    }

    /// The description and what the learner saved.
    fn content(&self) -> Vec<u8> {
        postcard::to_stdvec(&(&self.spec, &self.learner.save()[..]))
            .expect("numbers and lists of known length are written to memory")
    }

    /// 64 bits of all that [`save`](Self::save) writes but the number of the next event and the rows trained on, as 16 hexadecimal digits. Two models
    /// with the same hash decide and learn alike. It takes as long as saving does.
    pub fn content_hash(&self) -> String {
        content_hash(&FRAME.around(&self.content()))
    }

    /// Loads a saved model; an error if its actions are of another kind.
    pub fn load(bytes: &[u8]) -> Result<Self, ModelError> {
        Self::from_saved(parse(bytes)?)
    }

    /// The bytes limit what is built: a description of more weights than the file holds is refused first.
    fn from_saved(saved: Saved<'_>) -> Result<Self, ModelError> {
        let Saved {
            spec,
            learner,
            next_event,
            trained_rows,
        } = saved;
        let expected = spec.size().saved_bytes();
        if learner.len() < expected {
            let found = learner.len();
            return Err(LoadError::Weights { found, expected }.into());
        }
        let mut model = Self::from_spec(spec, Settings::paper())?;
        model.learner.load(learner)?;
        Ok(model
            .with_next_event(next_event)
            .with_trained_rows(trained_rows))
    }
}

/// What a file holds.
struct Saved<'a> {
    spec: ModelSpec,
    learner: &'a [u8],
    next_event: u64,
    trained_rows: Option<TrainedRows>,
}

fn parse(bytes: &[u8]) -> Result<Saved<'_>, LoadError> {
    let ((spec, learner), rest) = postcard::take_from_bytes(FRAME.content_of(bytes)?)?;
    let (next_event, rest) = match rest {
        [] => (0, rest),
        _ => postcard::take_from_bytes(rest)?,
    };
    let (trained_rows, rest) = match rest {
        [] => (None, rest),
        _ => {
            let (rows, rest) = postcard::take_from_bytes::<TrainedRows>(rest)?;
            (Some(rows.checked()?), rest)
        }
    };
    if !rest.is_empty() {
        let more = rest.len();
        return Err(LoadError::Invalid(format!(
            "{more} bytes follow the rows trained on"
        )));
    }
    Ok(Saved {
        spec,
        learner,
        next_event,
        trained_rows,
    })
}

/// Why a model cannot be made or loaded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The action space is invalid, or its actions are of another kind.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// The oracle is invalid, or not for this space.
    #[error(transparent)]
    Oracle(#[from] OracleSpecError),
    /// The settings are invalid, or not for this oracle.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Contexts are not as long as the schema is wide.
    #[error(
        "the feature schema is {width} columns wide, and the model takes contexts of {context_dim} numbers"
    )]
    Width {
        /// The schema's.
        width: usize,
        /// The model's.
        context_dim: usize,
    },
    /// A model over numbers was asked to grow.
    #[error("the model takes contexts of numbers: without a schema it cannot grow")]
    NoSchema,
    /// The schema is no later version of the model's.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The oracle does not take the new columns.
    #[error(transparent)]
    Grow(#[from] GrowError),
    /// Items cannot be added or removed.
    #[error(transparent)]
    Items(#[from] ItemsError),
    /// The bytes are not a saved model.
    #[error(transparent)]
    Load(#[from] LoadError),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::{Item, Loss, Vector};
    use crate::measure::{Interval, TruncatedNormal, UniformBox, UniformSphere};
    use crate::numeric::{EventRng, Stream};
    use crate::oracle::{Forecaster, LearningRate, OracleSpec};

    fn argmin(hidden: Option<[usize; 2]>) -> OracleSpec {
        OracleSpec::Argmin {
            hidden,
            learning_rate: LearningRate::default(),
            seed: 3,
        }
    }

    fn ridge() -> OracleSpec {
        OracleSpec::LeastSquares {
            forecaster: Forecaster::Ridge,
            lambda: 1.0,
            squares: true,
        }
    }

    /// Specifications of every kind, the first with the paper's oracle.
    fn specs() -> Vec<ModelSpec> {
        let spec = |space: &str, oracle, embeddings| ModelSpec {
            space: space.parse().expect("a space"),
            embeddings,
            oracle,
            ..ModelSpec::from_parts("interval:0,1".parse().expect("a space"), None, 2)
        };
        let default = |space: &str, embeddings| {
            let space = space.parse().expect("a space");
            ModelSpec::from_parts(space, embeddings, 2).with_seed(4)
        };
        let fourier = OracleSpec::Fourier {
            features: 16,
            scale: 1.0,
            seed: 5,
        };
        let both = OracleSpec::Aggregation(vec![argmin(None), ridge()]);
        let rows = EmbeddingRows::new(1, vec![0.0, 0.5, 1.0]).expect("three rows");
        vec![
            spec("interval:0,1", argmin(None), None),
            spec("interval:0,1", argmin(Some([4, 3])), None),
            spec("interval:0,1", both, None),
            spec("box:0,1,0,2", fourier.clone(), None),
            spec("sphere:3", ridge(), None),
            spec("items:3", fourier, Some(rows.clone())),
            default("beta:2,3,-5,5", None),
            default("simplex:1,1,1", None),
            default("items:3", Some(rows)),
        ]
    }

    fn paper(spec: ModelSpec) -> AnyModel {
        AnyModel::from_spec(spec, Settings::paper()).expect("a good model")
    }

    /// Decides once, learns it, and says what was decided.
    fn step(model: &mut AnyModel, event: u64) -> String {
        let x = Context::dense(vec![0.25, event as f64]).expect("finite");
        let loss = Loss::new(0.5).expect("in range");
        let decision = model.decide(event, &x).expect("an action");
        let observed = decision.observed(&x, loss);
        model.learn(&observed).expect("a good event");
        format!("{decision:?}")
    }

    #[test]
    fn a_loaded_model_goes_on_to_the_bit() {
        for spec in specs() {
            let mut first = paper(spec);
            step(&mut first, 0);
            let mut second = AnyModel::load(&first.save()).expect("just saved");
            assert_eq!(second.spec(), first.spec());
            assert_eq!((second.batches_learned(), second.save()), (1, first.save()));
            assert_eq!(step(&mut first, 1), step(&mut second, 1));
        }
    }

    #[test]
    fn the_next_event_and_the_rows_are_saved_and_leave_the_hash_as_it_is() {
        let model = Model::<f64>::from_spec(specs().remove(0), Settings::paper());
        let model = model.expect("a good model");
        let (hash, without) = (model.content_hash(), model.save());
        assert_eq!(Model::<f64>::load(&without).expect("saved").next_event(), 0);
        let model = model.with_next_event(300);
        assert_eq!(model.content_hash(), hash);
        let bytes = model.save();
        assert_eq!(bytes.len(), without.len() + 2);
        let loaded = AnyModel::load(&bytes).expect("saved");
        assert_eq!(
            (loaded.next_event(), loaded.content_hash()),
            (300, hash.clone())
        );
        assert_eq!(loaded.save(), bytes);
        let mut rows = TrainedRows::default();
        rows.add(b"a row");
        let model = model.with_trained_rows(Some(rows.clone()));
        let bytes = model.save();
        let loaded = AnyModel::load(&bytes).expect("saved");
        assert_eq!(
            (loaded.next_event(), loaded.trained_rows()),
            (300, Some(&rows))
        );
        assert_eq!(
            (loaded.content_hash(), loaded.save()),
            (hash, bytes.clone())
        );
        let copy = model.under(Settings::paper().with_seed(4)).expect("a copy");
        assert_eq!((copy.next_event(), copy.trained_rows()), (300, Some(&rows)));
        let unnumbered = model.with_next_event(0).save();
        let loaded = Model::<f64>::load(&unnumbered).expect("saved");
        assert_eq!(
            (loaded.next_event(), loaded.trained_rows()),
            (0, Some(&rows))
        );
        let mut content = FRAME.content_of(&bytes).expect("framed").to_vec();
        content.push(0);
        let refused = Model::<f64>::load(&FRAME.around(&content)).map(drop);
        let words = refused.expect_err("one byte too many").to_string();
        assert!(words.contains("1 bytes follow"), "{words}");
    }

    #[test]
    fn the_content_hash_is_of_all_that_is_saved() {
        for spec in specs() {
            let mut model = paper(spec.clone());
            let hash = model.content_hash();
            assert_eq!(paper(spec.clone()).content_hash(), hash);
            step(&mut model, 0);
            let learned = model.content_hash();
            assert_ne!(learned, hash);
            let loaded = AnyModel::load(&model.save()).expect("just saved");
            assert_eq!(loaded.content_hash(), learned);
            let settings = Settings {
                settings_version: 1,
                ..Settings::paper()
            };
            let other = AnyModel::from_spec(spec.clone(), settings).expect("a good model");
            assert_ne!(other.content_hash(), hash);
            let revenue = Objective::maximize(0.0, 50.0).expect("a range");
            let other = paper(spec.with_objective(revenue));
            assert_ne!(other.content_hash(), hash);
        }
        // On every machine.
        assert_eq!(paper(specs().remove(0)).content_hash(), "c7719f5dc70d966e");
    }

    #[test]
    fn typed_and_untyped_calls_agree() {
        for spec in specs() {
            let mut any = paper(spec);
            step(&mut any, 0);
            for_every_kind(&any);
        }
    }

    fn for_every_kind(any: &AnyModel) {
        crate::for_kind!(any.kind(), A => {
            let model = any.typed::<A>().expect("of this kind");
            let x = Context::dense(vec![0.5, -1.0]).expect("finite");
            let events: Vec<(u64, &Context)> = (0..4).map(|event| (event, &x)).collect();
            let batch = any.decide_batch(&events);
            for (event, decided) in (0..).zip(batch) {
                let typed = model.decide(event, &x).expect("an action");
                let untyped = any.decide(event, &x).expect("an action");
                assert_eq!(A::from_any(&untyped.action), Ok(typed.action.to_owned()));
                assert_eq!(Ok(untyped), decided);
                model.replay(&x, &typed).expect("the same model");
            }
            // The best action is no worse than those that were tried.
            let best = model.best(&x).expect("an action");
            assert_eq!(any.best(&x), Ok(best.to_owned().into()));
            let mut actions = vec![best];
            actions.extend((0..4).map(|event| model.decide(event, &x).expect("an action").action));
            let predicted = model.predict(&x, &actions).expect("numbers");
            let untyped: Vec<AnyAction> = actions.into_iter().map(Into::into).collect();
            assert_eq!(any.predict(&x, &untyped), Ok(predicted.clone()));
            if any.spec().space.kind() != Kind::Vector {
                assert!(predicted.iter().all(|other| predicted[0] <= *other));
            }
        });
    }

    #[test]
    fn a_model_of_another_kind_is_told() {
        let any = paper(specs().remove(0));
        assert!(any.typed::<Vector>().is_none());
        let error = Model::<Item>::load(&any.save()).expect_err("an interval");
        assert_eq!(
            error.to_string(),
            "interval:0,1 is a space of numbers, expected one of items"
        );
        let any = any.into_typed::<Item>().expect_err("an interval");
        let error = any.predict(
            &Context::dense(vec![0.0; 2]).expect("finite"),
            &[Vector::new(&[1.0]).expect("finite").into()],
        );
        assert_eq!(
            error.expect_err("a vector").to_string(),
            "expected an action that is a number, found [1.0]"
        );
        assert!(any.into_typed::<f64>().is_ok());
    }

    #[test]
    fn an_oracle_that_has_learned_is_taken_on() {
        for spec in specs() {
            let mut first = paper(spec.clone());
            step(&mut first, 0);
            crate::for_kind!(first.kind(), A => {
                let first = first.typed::<A>().expect("of this kind");
                let state = first.learner().oracle().save();
                let learned = Learned {
                    batches: 7,
                    events: 56,
                    squared_error: None,
                    forgotten: 0.0,
                };
                let second = Model::<A>::trained(spec, Settings::paper(), &state, learned);
                let second = second.expect("its own oracle");
                assert_eq!(second.learner().oracle().save(), state);
                assert_eq!(second.batches_learned(), 7);
                assert_eq!(second.learner().learned().events, 56);
                let under = second.under(Settings::default()).expect("good settings");
                assert_eq!(under.learner().learned(), second.learner().learned());
                let loaded = Model::<A>::load(&second.save()).expect("just saved");
                assert_eq!(loaded.save(), second.save());
                let other = Settings { taus: vec![3.0], ..Settings::paper() };
                let other = first.under(other).expect("good settings");
                assert_eq!(other.learner().oracle().save(), state);
                assert_eq!(other.settings().taus, [3.0]);
            });
        }
        let other = specs().remove(1).build_oracle::<f64>().expect("good");
        let refused = Model::<f64>::trained(
            specs().remove(0),
            Settings::paper(),
            &other.save(),
            Learned::default(),
        );
        assert!(matches!(refused.err(), Some(ModelError::Load(_))));
    }

    /// Plays `rounds` of a pricing problem: x is what the customer would pay, in thousandths, beside a feature that
    /// says nothing.
    fn play(model: &mut Model<f64>, rounds: std::ops::Range<u64>) -> f64 {
        let (count, mut total) = ((rounds.end - rounds.start) as f64, 0.0);
        for event in rounds {
            let mut rng = EventRng::new(77, event, Stream::World);
            let (worth, noise) = (rng.unit(), rng.unit());
            let x = Context::dense(vec![1000.0 * worth, noise]).expect("finite");
            let decision = model.decide(event, &x).expect("an action");
            let loss = Loss::new((decision.action - worth).abs()).expect("in range");
            total += loss.get();
            model
                .learn(&decision.observed(&x, loss))
                .expect("a good event");
        }
        total / count
    }

    fn on_unit_interval(seed: u64) -> Model<f64> {
        let space = Interval::new(0.0, 1.0).expect("in order");
        Model::with_settings(space, 2, Settings::default().with_seed(seed)).expect("good settings")
    }

    #[test]
    fn the_default_learns_and_goes_on_from_its_file() {
        let mut model = on_unit_interval(1);
        let early = play(&mut model, 0..100);
        let later = play(&mut model, 100..1_000);
        // The middle for everybody would cost a quarter, and at random a third.
        assert!(later < 0.1 && later < early, "{early} {later}");
        let mut loaded = Model::load(&model.save()).expect("just saved");
        assert_eq!(loaded.settings(), &Settings::default().with_seed(1));
        assert_eq!(
            play(&mut model, 1_000..1_050).to_bits(),
            play(&mut loaded, 1_000..1_050).to_bits()
        );
        assert_eq!(model.save(), loaded.save());
    }

    #[test]
    fn new_is_the_default_under_seed_0() {
        let model = Model::new(Interval::new(0.0, 1.0).expect("in order"), 2).expect("a model");
        assert_eq!(model.settings(), &Settings::default());
        assert_eq!(model.spec().oracle, OracleSpec::default_on_interval(0));
        assert_ne!(Settings::default(), Settings::paper());
        assert_eq!(model.save(), on_unit_interval(0).save());
    }

    #[test]
    fn the_default_computes_every_z_on_an_interval() {
        assert!(on_unit_interval(2).learner().computes_z());
    }

    #[test]
    fn every_space_has_a_default() {
        let check = |model: Result<AnyModel, ModelError>| {
            step(&mut model.expect("any space"), 0);
        };
        let sides = [(0.0, 100.0), (-1.0, 1.0)];
        let knobs = UniformBox::new(&sides).expect("sides");
        check(Model::new(knobs, 2).map(AnyModel::from));
        let sphere = UniformSphere::new(3).expect("a sphere");
        check(Model::new(sphere, 2).map(AnyModel::from));
        let normal = TruncatedNormal::new(0.0, 1.0, -1.0, 1.0).expect("in order");
        check(Model::new(normal, 2).map(AnyModel::from));
        let rows = EmbeddingRows::new(2, vec![0.0, 1.0, 5.0, 1.0, 0.0, 1.0]).expect("rows");
        let items = Items::new(rows.clone()).expect("three items");
        check(Model::new(items, 2).map(AnyModel::from));
        let weighted = Items::weighted(rows.clone(), vec![1.0, 2.0, 3.0]).expect("three weights");
        check(Model::new(weighted, 2).map(AnyModel::from));
        assert!(Items::weighted(rows, vec![1.0]).is_err());
        assert!(EmbeddingRows::new(2, vec![0.0; 3]).is_err());
    }

    /// As docs/model-format.md has it.
    #[test]
    fn the_description_is_frozen() {
        let model = paper(specs().remove(0));
        let bytes = model.save();
        let mut expected = b"egretpkg\x01\x00".to_vec();
        expected.extend((bytes.len() as u64 - 22).to_le_bytes());
        expected.push(0); // an interval
        expected.extend(0.0_f64.to_le_bytes());
        expected.extend(1.0_f64.to_le_bytes());
        expected.push(2); // numbers in a context
        expected.push(0); // no schema
        expected.push(1); // minimize
        expected.extend(0.0_f64.to_le_bytes());
        expected.extend(1.0_f64.to_le_bytes());
        expected.push(0); // and refuse what is outside
        expected.push(0); // no embeddings
        expected.extend([0, 0]); // an argmin, without hidden layers
        expected.extend(0.02_f64.to_le_bytes());
        expected.extend(100.0_f64.to_le_bytes());
        expected.push(3); // its seed
        assert_eq!(bytes[..expected.len()], expected);
        // The learner's state, its length before it, then the checksum.
        let state = model.typed::<f64>().expect("numbers").learner().save();
        assert!(bytes[..bytes.len() - 4].ends_with(&state));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut spec = specs().remove(3);
        spec.oracle = argmin(None);
        let error = AnyModel::from_spec(spec, Settings::paper()).err();
        let expected = ModelError::Oracle(OracleSpecError::NotAnInterval);
        assert_eq!(error, Some(expected));
        let mut spec = specs().remove(5);
        spec.space = "items:1025".parse().expect("a space");
        spec.embeddings = None;
        let error = AnyModel::from_spec(spec, Settings::paper()).err();
        let expected = ModelError::Oracle(OracleSpecError::NoEmbeddings);
        assert_eq!(error, Some(expected));
    }

    proptest! {
        #[test]
        fn damaged_bytes_are_refused(cut in 0_usize..200, place in 0_usize..200, bit in 0_u8..8) {
            let bytes = paper(specs().remove(0)).save();
            let cut = cut.min(bytes.len() - 1);
            prop_assert!(AnyModel::load(&bytes[..cut]).is_err());
            let mut flipped = bytes;
            let place = place.min(flipped.len() - 1);
            flipped[place] ^= 1 << bit;
            prop_assert!(AnyModel::load(&flipped).is_err());
        }
    }
}
