//! Decisions in action spaces too large to list, learned online, with a log that stays reusable.

mod action;
mod aggregation;
mod catalogue;
mod certificate;
mod coin_betting;
mod context;
mod density;
mod elementary;
mod event_rng;
mod fourier;
mod function_oracle;
mod igw;
mod joint_features;
mod lanes;
mod linear_regression;
mod load_error;
mod loss;
mod reference_measure;
mod regression_oracle;
mod saved_state;

pub use action::{Action, Batch, Item, Vector, Vectors};
pub use aggregation::Aggregation;
pub use catalogue::Catalogue;
pub use certificate::{Certificate, Guarantee};
pub use coin_betting::CoinBetting;
pub use context::{Context, ContextError};
pub use density::{Density, Propensity, Weight};
pub use event_rng::{EventRng, Stream};
pub use fourier::{FourierRegression, FourierSettings};
pub use function_oracle::{FunctionOnInterval, FunctionOracle};
pub use igw::Igw;
pub use joint_features::{
    ActionFeatures, Bilinear, Coordinates, Embeddings, FeaturesFrom, JointFeatures, Number,
    features_from,
};
pub use linear_regression::{Forecaster, LinearRegression};
pub use load_error::LoadError;
pub use loss::{Loss, OutOfRange};
pub use reference_measure::{Extent, OnTheLine, ReferenceMeasure};
pub use regression_oracle::{Example, LossCurve, MonotonePieces, NotANumber, RegressionOracle};
