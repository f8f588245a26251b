//! Decisions in action spaces too large to list, learned online, with a log that stays reusable.

mod action;
mod adam;
mod argmin_dispersion;
mod argmin_model;
mod catalogue;
mod certificate;
mod context;
mod density;
mod dispersion;
mod event_rng;
mod igw;
mod lanes;
mod linear_argmin;
mod load_error;
mod loss;
mod network_argmin;
mod reference_measure;
mod regression_oracle;

pub use action::{Action, Batch, Item, Vector, Vectors};
pub use adam::LearningRate;
pub use argmin_dispersion::ArgminDispersion;
pub use argmin_model::ArgminModel;
pub use catalogue::Catalogue;
pub use certificate::{Certificate, Guarantee};
pub use context::{Context, ContextError};
pub use density::{Density, Propensity, Weight};
pub use event_rng::{EventRng, Stream};
pub use igw::Igw;
pub use linear_argmin::LinearArgmin;
pub use load_error::LoadError;
pub use loss::{Loss, OutOfRange};
pub use network_argmin::NetworkArgmin;
pub use reference_measure::{Extent, OnTheLine, ReferenceMeasure};
pub use regression_oracle::{Example, LossCurve, MonotonePieces, NotANumber, RegressionOracle};
