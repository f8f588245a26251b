//! Decisions in action spaces too large to list, learned online, with a log that stays reusable.

mod action;
mod adam;
mod aggregation;
mod argmin_dispersion;
mod argmin_model;
mod beta_prior;
mod betting_martingale;
mod capped_igw;
mod catalogue;
mod certificate;
mod checked_number;
mod coin_betting;
mod context;
mod corral;
mod decision;
mod density;
mod dirichlet;
mod dispersion;
mod elementary;
mod epsilon_greedy;
mod event_rng;
mod exact;
mod exact_catalogue;
mod exact_line;
mod explorer;
mod fixed_sample;
mod fourier;
mod framed;
mod function_oracle;
mod gamma_schedule;
mod greedy_mixture;
mod igw;
mod interval;
mod inverse_cdf;
mod joint_features;
mod lanes;
mod learner;
mod linear_argmin;
mod linear_regression;
mod load_error;
mod loss;
#[cfg(test)]
mod measure_checks;
mod mixture_martingale;
mod model;
mod model_file;
mod network_argmin;
mod normalizer;
mod normalizing_constant;
mod normals;
mod oracle_spec;
mod philox;
mod product;
mod proposer;
mod reference_measure;
mod regression_oracle;
mod rejection_sampler;
mod replay;
mod sampled_by;
mod saved_state;
#[cfg(test)]
mod small_world;
mod smooth_igw;
mod space;
mod square_cb;
mod strata;
mod truncated_normal;
mod uniform_box;
mod uniform_index;
mod uniform_interval;
mod uniform_sphere;
mod wealth;

pub use action::{Action, Batch, Item, Vector, Vectors};
pub use adam::LearningRate;
pub use aggregation::Aggregation;
pub use argmin_dispersion::ArgminDispersion;
pub use argmin_model::ArgminModel;
pub use beta_prior::BetaPrior;
pub use betting_martingale::BettingMartingale;
pub use capped_igw::{CappedIgw, Normalization, Workspace};
pub use catalogue::{Catalogue, CatalogueError};
pub use certificate::{Certificate, Guarantee};
pub use coin_betting::CoinBetting;
pub use context::{Context, ContextError};
pub use corral::{Corral, Play, geometric_taus};
pub use decision::{CappedDraw, DecideError, Decision, DensityKind, Event};
pub use density::{Density, Propensity, Weight};
pub use dirichlet::{Dirichlet, DirichletError};
pub use event_rng::{EventRng, Stream};
pub use explorer::{Explorer, ExplorerError};
pub use fixed_sample::FixedSample;
pub use fourier::{FourierRegression, FourierSettings};
pub use function_oracle::{FunctionOnInterval, FunctionOracle};
pub use gamma_schedule::GammaSchedule;
pub use igw::Igw;
pub use joint_features::{
    ActionFeatures, Bilinear, Coordinates, Embeddings, FeaturesFrom, JointFeatures, Number,
    features_from,
};
pub use learner::{ExampleWeight, LearnError, Learner, Settings, SettingsError};
pub use linear_argmin::LinearArgmin;
pub use linear_regression::{Forecaster, LinearRegression};
pub use load_error::LoadError;
pub use loss::{Loss, OutOfRange};
pub use mixture_martingale::MixtureMartingale;
pub use model::{AnyLearner, Blueprint, Model, ModelError, Table};
pub use network_argmin::NetworkArgmin;
pub use normalizer::{DrawBuffers, Draws, MoreDraws, Normalizer, Promise};
pub use normalizing_constant::{NormalizingConstant, RelativeError};
pub use oracle_spec::{OracleSpec, OracleSpecError};
pub use product::Product;
pub use reference_measure::{Extent, OnTheLine, ReferenceMeasure};
pub use regression_oracle::{Example, LossCurve, MonotonePieces, NotANumber, RegressionOracle};
pub use rejection_sampler::SampleError;
pub use replay::ReplayError;
pub use sampled_by::SampledBy;
pub use space::{Measure, Space, SpaceError};
pub use truncated_normal::TruncatedNormal;
pub use uniform_box::{BoxError, UniformBox};
pub use uniform_interval::UniformInterval;
pub use uniform_sphere::UniformSphere;

/// The program in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
