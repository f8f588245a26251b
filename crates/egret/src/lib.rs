//! Contextual bandits for action spaces too large to list: prices, doses, vectors of knobs, large catalogues.
//!
//! For each context egret chooses an action, states the probability density with which it was chosen, and learns from the
//! loss that follows. The method is CappedIGW (Rucker, Zhu and Mineiro 2023, arXiv 2302.08551): the lower the
//! predicted loss of an action, the likelier it is, and every action keeps a positive density. The log of decisions can
//! therefore evaluate and train other policies later, with unbiased importance weights.
//!
//! ```
//! use egret::{Context, DecisionLoop, Interval, Loss, Model};
//!
//! let prices = Interval::new(5.0, 50.0)?;
//! let mut shop = DecisionLoop::new(Model::new(prices, 2)?); // contexts have two features
//! for customer in 0..20 {
//!     let x = Context::dense(vec![f64::from(customer % 5), 1.0])?;
//!     let decision = shop.decide(x)?; // an action, its density, and what replays it
//!     let sold = decision.action < 10.0 + 5.0 * f64::from(customer % 5);
//!     let loss = if sold { 1.0 - decision.action / 50.0 } else { 1.0 };
//!     shop.learn(decision.event, Loss::new(loss)?)?; // now, or much later
//! }
//! let x = Context::dense(vec![2.0, 1.0])?;
//! let price = shop.model().best(&x)?;
//! assert!((5.0..=50.0).contains(&price));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to look
//!
//! | you want to                                | take                                                            |
//! |--------------------------------------------|-----------------------------------------------------------------|
//! | decide and learn                           | [`Model`]; [`AnyModel`] if the kind of action is known at run time |
//! | have events numbered, matched and logged   | [`DecisionLoop`], [`EventLog`]                                  |
//! | describe the actions                       | [`Interval`], [`UniformBox`], [`Items`], … ([`ActionSpace`])    |
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
//! - **Same seed, same bits.** A decision depends on (model, settings, seed, event, context) alone, on any machine and any
//!   number of threads.
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
    Interaction, Item, ItemSet, KnobValue, LogRule, Loss, MixedAction, MixedActionError,
    NumberScale, Objective, ObjectiveTextError, Outcome, Outside, Propensity, PseudoLoss,
    RepeatedItem, SchemaError, SchemaSample, Vector, Vectors, Weight,
};
pub use explorer::{
    CappedDraw, CappedIgw, Corral, CorralUpdate, DecideError, Decision, DensityKind, Explorer,
    ExplorerError, GammaSchedule, Normalization, Observed, TauDraw, geometric_taus,
};
pub use learner::{ExampleWeight, LearnError, Learner, ReplayError, Settings, SettingsError};
pub use measure::{
    BetaPrior, BoxError, Catalogue, CatalogueError, Dirichlet, DirichletError, Interval,
    LineMeasure, MeasureFn, Product, ReferenceMeasure, Support, TruncatedNormal, UniformBox,
    UniformSphere,
};
pub use model::{
    ActionError, ActionKind, ActionSpace, AnyAction, AnyModel, Contexts, DecisionLoop,
    EmbeddingRows, EventLog, ItemLimits, Items, Kind, KindError, Knob, KnobLimits, Limits,
    LimitsError, LoopError, Model, ModelError, ModelSpec, NoLog, Space, SpaceError,
};
pub use normalizer::{
    BettingMartingale, Certificate, CertifiedBy, DrawBuffers, Draws, FixedSample,
    MixtureMartingale, MoreDraws, Normalizer, Tolerance,
};
pub use numeric::{EventRng, OutOfRange, Stream, lanes};
pub use oracle::{
    ActionFeatures, Aggregation, ArgminDispersion, ArgminModel, Bilinear, CoinBetting,
    CurveNetwork, CurveSettings, Embeddings, Example, FeaturesFrom, Forecaster, FourierRegression,
    FourierSettings, FunctionOnInterval, FunctionOracle, JointFeatures, LatentOutcome,
    LatentOutcomeSettings, LearningRate, LinearArgmin, LinearRegression, LossCurve, MonotonePieces,
    NamedFeatures, NanPrediction, NetworkArgmin, OracleSpec, OracleSpecError, OracleTextError,
    PiecewiseConstant, RegressionOracle, ScalarFeatures, Scaling, VectorFeatures, features_from,
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
