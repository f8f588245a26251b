//! Contextual bandits for action spaces too large to list: prices, doses, vectors of knobs, large catalogues.
//!
//! For each context egret chooses an action, states the probability density with which it was chosen, and learns from the
//! reward or loss that follows. The method is CappedIGW (Rucker, Zhu and Mineiro 2023, arXiv 2302.08551): the lower the
//! predicted loss of an action, the likelier it is, and every action keeps a positive density. The log of decisions can
//! therefore evaluate and train other policies later, with unbiased importance weights.
//!
//! ```
//! use egret::{DecisionLoop, FeatureSchema, Features, FieldKind, Interval, Model, Objective};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let customers = FeatureSchema::new().with("income", FieldKind::number())?.with("returning", FieldKind::flag())?;
//! let prices = Model::new(Interval::new(5.0, 50.0)?, customers)?.with_objective(Objective::maximize(0.0, 50.0)?);
//! let mut shop = DecisionLoop::new(prices);
//! for n in 0..1_000 {
//!     let income = 20_000 + 10_000 * (n % 7);
//!     let decision = shop.decide(Features::new().with("income", income).with("returning", n % 2 == 0))?;
//!     let buys = decision.action < 10.0 + f64::from(income) / 2_500.0; // what the shop does not know
//!     shop.outcome(decision.event, if buys { decision.action } else { 0.0 })?; // revenue, now or much later
//! }
//! let customer = Features::new().with("income", 50_000).with("returning", true);
//! println!("the best price is {:.2}", shop.model().best(&customer.clone().into())?);
//! # let price = shop.model().best(&customer.into())?;
//! # assert!((20.0..32.0).contains(&price), "{price}"); // 30 is what the customer pays
//! # Ok(())
//! # }
//! ```
//!
//! # Your problem
//!
//! The type of the space decides the type of the action, so there is no enum to match.
//!
//! | you choose                             | space                             | action     |
//! |----------------------------------------|-----------------------------------|------------|
//! | a number: a price, a dose, a bid       | [`Interval`]                      | `f64`      |
//! | a number whose ratios matter: a timeout | [`LogInterval`]                   | `f64`      |
//! | whole numbers or steps: cents, retries | [`Steps`]                         | `f64`      |
//! | a number, and know where to look first | [`TruncatedNormal`], [`BetaPrior`] | `f64`     |
//! | several numbers at once: knobs         | [`UniformBox`]                    | [`Vector`] |
//! | shares of a whole: a budget            | [`Dirichlet`]                     | [`Vector`] |
//! | a direction                            | [`UniformSphere`]                 | [`Vector`] |
//! | one of many items                      | [`Items`], by named features or embeddings | [`Item`]   |
//! | a space that is known at run time only | [`Space`], with [`AnyModel`]      | [`AnyAction`] |
//! | anything else                          | [`ReferenceMeasure`], [`Product`], with [`Learner`] | [`Action`] |
//!
//! ```
//! use egret::{Context, Model, UniformBox};
//!
//! // Gigabytes of cache and threads, for a server that knows its load as one number.
//! let knobs = Model::new(UniformBox::new(&[(1.0, 16.0), (1.0, 64.0)])?, 1)?;
//! let decision = knobs.decide(0, &Context::dense(vec![0.7])?)?;
//! let (cache, threads) = (decision.action[0], decision.action[1].round());
//! assert!((1.0..=16.0).contains(&cache) && (1.0..=64.0).contains(&threads));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Model::new`] is the recommended learner, with nothing to tune. [`Model::from_spec`] takes any oracle
//! ([`OracleSpec`]) and any [`Settings`]: how much to explore, the seed, the paper's settings.
//!
//! # Objective
//!
//! An [`Objective`] says what outcomes are and in which range: rewards to maximize, or costs to minimize. Outside of the
//! range an outcome is refused, or clipped if the objective is [`clipped`](Objective::clipped). Without an objective,
//! outcomes are a [`Loss`] in [0, 1]. Inside, models know losses only; [`Model::predict`] gives the objective's units again.
//!
//! ```
//! use egret::Objective;
//!
//! let revenue = Objective::maximize(0.0, 50.0)?;
//! assert_eq!(revenue.loss(50.0)?.get(), 0.0);
//! let latency = Objective::minimize(0.0, 250.0)?.clipped(); // milliseconds
//! assert_eq!(latency.loss(900.0)?.get(), 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! A context is what is known before the decision: [`Features`] by name, from code or from JSON. A [`FeatureSchema`] turns
//! them into numbers. It is declared, or inferred from examples, and is saved in the model. A feature that is missing or
//! of another type is handled by a stated rule and counted ([`Model::feature_counts`]); a
//! [`strict`](FeatureSchema::strict) schema refuses it. Those who have arrays take [`Context::dense`] or
//! [`Context::sparse`], and tell [`Model::new`] how many numbers there are.
//!
//! ```
//! use egret::{FeatureSchema, Features, Interval, Model};
//!
//! let past: Vec<Features> = serde_json::from_str(
//!     r#"[{"income": 52000, "country": "NZ"}, {"income": 31000, "country": "AU"}, {"country": "NZ"}]"#,
//! )?;
//! let model = Model::new(Interval::new(5.0, 50.0)?, FeatureSchema::infer(&past)?)?;
//! let price = model.decide(0, &past[2].clone().into())?.action; // an income that is not known
//! assert!((5.0..=50.0).contains(&price));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Delayed feedback
//!
//! [`DecisionLoop`] numbers the events and remembers each decision until its outcome comes, in any order. When too many
//! wait, the oldest is given up: it is logged without an outcome, and nothing is learned from it.
//!
//! ```
//! use egret::{Context, DecisionLoop, Interval, LoopError, Model, Objective};
//!
//! let model = Model::new(Interval::new(5.0, 50.0)?, 1)?.with_objective(Objective::maximize(0.0, 50.0)?);
//! let mut shop = DecisionLoop::new(model).with_capacity(2);
//! let first = shop.decide(Context::dense(vec![1.0])?)?;
//! let second = shop.decide(Context::dense(vec![2.0])?)?;
//! let third = shop.decide(Context::dense(vec![3.0])?)?; // the first is given up
//! shop.outcome(third.event, third.action)?;
//! shop.outcome(second.event, 0.0)?;
//! assert!(matches!(shop.outcome(first.event, 0.0), Err(LoopError::NotWaiting { event: 0 })));
//! assert_eq!((shop.waiting(), shop.expired()), (0, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Saving and loading
//!
//! A saved model is bytes: its description, schema, settings, all that it has learned and the number of the next event.
//! Loaded, it goes on bit for bit, and uses no random numbers again. If decisions were made after it was saved, go on after
//! the last of them: [`DecisionLoop::starting_at`].
//!
//! ```
//! use egret::{Context, DecisionLoop, Interval, Model};
//!
//! let mut shop = DecisionLoop::new(Model::new(Interval::new(5.0, 50.0)?, 1)?);
//! shop.decide(Context::dense(vec![1.0])?)?;
//! let saved = shop.model().save();
//!
//! let mut again = DecisionLoop::new(Model::<f64>::load(&saved)?);
//! let x = Context::dense(vec![2.0])?;
//! assert_eq!(again.decide(x.clone())?, shop.decide(x)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Evaluating another policy
//!
//! Each [`Decision`] carries the density p of its action against the reference measure μ, which is uniform on an interval
//! or a box. A policy with density q has the importance weight q/p ([`Decision::importance_weight`]), and the mean of
//! weight × reward estimates, without bias, what it would have earned.
//!
//! ```
//! use egret::{Context, DecisionLoop, Interval, Model, Objective};
//!
//! let model = Model::new(Interval::new(0.0, 1.0)?, 1)?.with_objective(Objective::maximize(0.0, 1.0)?);
//! let mut bids = DecisionLoop::new(model);
//! let mut estimate = 0.0;
//! for n in 0..1_000 {
//!     let decision = bids.decide(Context::dense(vec![f64::from(n % 3)])?)?;
//!     let reward = 1.0 - (decision.action - 0.5).abs();
//!     bids.outcome(decision.event, reward)?;
//!     // Uniform bids from 0.25 to 0.75: density 2 there, and 0 elsewhere.
//!     let q = if (0.25..0.75).contains(&decision.action) { 2.0 } else { 0.0 };
//!     estimate += decision.importance_weight(q).unwrap_or(0.0) * reward / 1_000.0;
//! }
//! assert!((estimate - 0.875).abs() < 0.25, "{estimate}"); // 0.875 is the truth
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! For all else, log the events: [`DecisionLoop::with_log`] takes an [`EventLog`], such as `egret_log::Writer`, which writes
//! Parquet. From that log, `egret ope log.parquet --policy uniform` estimates with intervals and with a verdict on the
//! weights, `egret audit` replays it and tests its propensities, and `egret learn` trains models from it.
//!
//! # Reproducibility
//!
//! A decision depends on (model, settings, seed, event, context) alone, bit for bit, on any machine and any number of
//! threads. [`Model::replay`] repeats a logged decision and compares every field. Learning the same events in the same
//! order gives the same model. The seed is in [`Settings`]:
//!
//! ```
//! use egret::{Context, Interval, Model, Settings};
//!
//! let model = Model::with_settings(Interval::new(5.0, 50.0)?, 1, Settings::default().with_seed(7))?;
//! let x = Context::dense(vec![1.0])?;
//! let decision = model.decide(0, &x)?;
//! assert_eq!(model.replay(&x, &decision), Ok(()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Your own models
//!
//! A [`Learner`] takes any contexts, any measure and any oracle. An oracle predicts the loss of actions and learns from
//! outcomes: implement [`RegressionOracle`], as `examples/own_oracle.rs` does, or hand in a function that never learns:
//!
//! ```
//! use egret::{FunctionOracle, Interval, Learner, Settings};
//!
//! /// A customer, as the program knows it.
//! struct Customer {
//!     worth: f64,
//! }
//!
//! let oracle = FunctionOracle::new(|customer: &Customer, prices: &Vec<f64>, out: &mut [f64]| {
//!     for (loss, price) in out.iter_mut().zip(prices) {
//!         *loss = (price - customer.worth).abs() / 45.0;
//!     }
//! });
//! let learner = Learner::new(Box::new(Interval::new(5.0, 50.0)?), Box::new(oracle), Settings::default())?;
//! let decision = learner.decide(0, &Customer { worth: 20.0 })?;
//! assert!((5.0..=50.0).contains(&decision.action));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to look
//!
//! | you want to                                | take                                                            |
//! |--------------------------------------------|-----------------------------------------------------------------|
//! | decide and learn                           | [`Model`]; [`AnyModel`] if the kind of action is known at run time |
//! | have events numbered, matched and logged   | [`DecisionLoop`], [`EventLog`]                                  |
//! | describe a model as data, or as text       | [`ModelSpec`], [`Space`], [`OracleSpec`]                        |
//! | explore more or less                       | [`Settings`], [`Explorer`], [`CappedIgw`], [`GammaSchedule`]    |
//! | read what was decided                      | [`Decision`], [`Propensity`], [`Density`]                       |
//! | bring your own contexts or action types    | [`Learner`], [`Action`]                                         |
//! | bring your own oracle                      | [`RegressionOracle`], [`FunctionOracle`]                        |
//! | bring your own reference measure           | [`ReferenceMeasure`], [`MeasureFn`], [`Product`]                |
//! | bring your own normalizer                  | [`Normalizer`], [`Learner::with_normalizer`]                    |
//!
//! # Guarantees
//!
//! - **Same seed, same bits**, as above.
//! - **Densities.** A stated [`Density`] is finite and positive. Importance weights made from it are unbiased. An action
//!   without a density is a [`Propensity::PointMass`], so no weight can use it by mistake.
//! - **Clean input.** Losses outside [0, 1], NaN and infinities are refused when a value is made. On an error nothing is
//!   learned.
//! - **No side effects.** No files, no network, no clock, no global state. Saved models are bytes.

mod codec;
mod event;
mod explorer;
mod learner;
mod measure;
mod model;
mod normalizer;
mod numeric;
mod oracle;
mod sampling;

pub use codec::{LoadError, ShortText, ShortTextError};
pub use event::{
    Action, Batch, Categories, Context, ContextError, Density, Direction, FeatureCounts,
    FeatureError, FeatureSchema, FeatureValue, Features, Field, FieldCounts, FieldKind,
    Interaction, Item, ItemLimits, ItemSet, KnobLimits, KnobValue, Limits, LimitsError, LogRule,
    Loss, MixedAction, MixedActionError, NumberScale, Objective, ObjectiveTextError, Outcome,
    OutcomeError, Outside, Propensity, PseudoLoss, RepeatedItem, SchemaError, SchemaSample, Vector,
    Vectors, Weight,
};
pub use explorer::{
    CappedDraw, CappedIgw, Corral, CorralUpdate, DecideError, Decision, DensityKind, Explorer,
    ExplorerError, GammaSchedule, Learned, Normalization, Observed, TauDraw, Zoom, geometric_taus,
};
pub use learner::{ExampleWeight, LearnError, Learner, ReplayError, Settings, SettingsError};
pub use measure::{
    BetaPrior, BoxError, Catalogue, CatalogueError, Dirichlet, DirichletError, Interval,
    LineMeasure, LogInterval, MeasureFn, Product, ReferenceMeasure, Regions, Steps, Support,
    TruncatedNormal, UniformBox, UniformSphere,
};
pub use model::{
    ActionError, ActionKind, ActionSpace, AnyAction, AnyModel, Contexts, DecisionLoop,
    EmbeddingRows, EventLog, ItemList, Items, ItemsError, Kind, KindError, Knob, Knobs, LoopError,
    Model, ModelError, ModelSpec, NoLog, Sets, Space, SpaceError, TrainedRows,
};
pub use normalizer::{
    BettingMartingale, Certificate, CertifiedBy, DrawBuffers, Draws, FixedSample,
    MixtureMartingale, MoreDraws, Normalizer, Tolerance,
};
pub use numeric::{EventRng, OutOfRange, Stream, lanes};
pub use oracle::{
    ActionFeatures, Aggregation, ArgminDispersion, ArgminModel, Bilinear, CoinBetting,
    CurveNetwork, CurveSettings, Embeddings, Example, FeaturesFrom, Forecaster, FourierRegression,
    FourierSettings, FunctionOnInterval, FunctionOracle, GrowError, ItemTree, JointFeatures,
    LatentOutcome, LatentOutcomeSettings, LearningRate, LinearArgmin, LinearRegression,
    LocalRegression, LocalSettings, LossCurve, MonotonePieces, NamedFeatures, NanPrediction,
    NetworkArgmin, OnQuantiles, OracleSpec, OracleSpecError, OracleTextError, PiecewiseConstant,
    QuadraticRegression, QuadraticSettings, RegressionOracle, ScalarFeatures, Scaling,
    VectorFeatures, features_from,
};
pub use sampling::{Igw, NormalizingConstant, RelativeError, SampleError};

/// The program in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The program in docs/features.md compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/features.md")]
struct FeaturesByName;
