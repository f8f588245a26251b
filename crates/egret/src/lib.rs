//! Decisions in action spaces too large to list, learned online, with a log that stays reusable.

mod action;
mod beta_prior;
mod catalogue;
mod certificate;
mod context;
mod density;
mod dirichlet;
mod event_rng;
mod igw;
mod interval;
mod inverse_cdf;
mod lanes;
mod load_error;
mod loss;
#[cfg(test)]
mod measure_checks;
mod normals;
mod product;
mod reference_measure;
mod regression_oracle;
mod sampled_by;
mod strata;
mod truncated_normal;
mod uniform_box;
mod uniform_index;
mod uniform_interval;
mod uniform_sphere;

pub use action::{Action, Batch, Item, Vector, Vectors};
pub use beta_prior::BetaPrior;
pub use catalogue::{Catalogue, CatalogueError};
pub use certificate::{Certificate, Guarantee};
pub use context::{Context, ContextError};
pub use density::{Density, Propensity, Weight};
pub use dirichlet::{Dirichlet, DirichletError};
pub use event_rng::{EventRng, Stream};
pub use igw::Igw;
pub use load_error::LoadError;
pub use loss::{Loss, OutOfRange};
pub use product::Product;
pub use reference_measure::{Extent, OnTheLine, ReferenceMeasure};
pub use regression_oracle::{Example, LossCurve, MonotonePieces, NotANumber, RegressionOracle};
pub use sampled_by::SampledBy;
pub use truncated_normal::TruncatedNormal;
pub use uniform_box::{BoxError, UniformBox};
pub use uniform_interval::UniformInterval;
pub use uniform_sphere::UniformSphere;
