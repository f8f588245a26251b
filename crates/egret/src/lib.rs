//! Decisions in action spaces too large to list, learned online, with a log that stays reusable.

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
    Action, Batch, Context, ContextError, Density, Item, Loss, Propensity, PseudoLoss, Vector,
    Vectors, Weight,
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
    ActionError, ActionKind, ActionSpace, AnyAction, AnyModel, DecisionLoop, EmbeddingRows,
    EventLog, Items, Kind, KindError, LoopError, Model, ModelError, ModelSpec, NoLog, Space,
    SpaceError,
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
    NanPrediction, NetworkArgmin, OracleSpec, OracleSpecError, OracleTextError, PiecewiseConstant,
    RegressionOracle, ScalarFeatures, Scaling, VectorFeatures, features_from,
};
pub use sampling::{Igw, NormalizingConstant, RelativeError, SampleError};

/// The program in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
