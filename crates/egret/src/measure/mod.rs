pub(crate) mod catalogue;
#[cfg(test)]
pub(crate) mod checks;
pub(crate) mod dirichlet;
pub(crate) mod line;
pub(crate) mod measure_fn;
pub(crate) mod product;
pub(crate) mod uniform_box;
pub(crate) mod uniform_sphere;

pub use catalogue::{Catalogue, CatalogueError};
pub use dirichlet::{Dirichlet, DirichletError};
pub use line::beta_prior::BetaPrior;
pub use line::interval::Interval;
pub use line::truncated_normal::TruncatedNormal;
pub use measure_fn::MeasureFn;
pub use product::Product;
pub use uniform_box::{BoxError, UniformBox};
pub use uniform_sphere::UniformSphere;

use crate::event::Action;
use crate::numeric::EventRng;

/// μ(·|x), the measure that every density is taken against.
///
/// Draws are independent given `x`. If they are not, sampling still ends, but the guarantees of
/// the normaliser and of the weights are void.
pub trait ReferenceMeasure<X: ?Sized, A: Action>: Send + Sync {
    /// Appends `n` independent draws to `out`.
    fn sample(&self, x: &X, n: usize, rng: &mut EventRng, out: &mut A::Batch);

    /// Appends `n` draws that together are spread more evenly than chance would have it.
    ///
    /// A draw picked among them at random has the distribution μ, so that a mean over them is
    /// unbiased for every integrand, and for most it varies less. They are not independent.
    fn sample_stratified(&self, x: &X, n: usize, rng: &mut EventRng, out: &mut A::Batch) {
        self.sample(x, n, rng, out);
    }

    /// How large the space is: what turns dP/dμ into a density by volume, or a probability.
    fn support(&self) -> Support;

    /// The measure as a distribution on the line, if it is one. Its stratified draws are then one from each of `n`
    /// parts of equal mass: how many ẑ takes rests on it.
    fn as_line(&self) -> Option<&dyn LineMeasure> {
        None
    }

    /// The measure as a list of items, if it is one.
    fn catalogue(&self) -> Option<&Catalogue> {
        None
    }
}

/// How large an action space is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Support {
    /// Length, area, volume.
    Volume(f64),
    /// So many items.
    Count(u64),
    /// Nobody said.
    Unknown,
}

/// A continuous distribution on an interval: what an exact integral over actions needs.
pub trait LineMeasure {
    /// Where actions lie.
    fn bounds(&self) -> (f64, f64);
    /// μ((−∞, a]).
    fn cdf(&self, a: f64) -> f64;
    /// Replaces each u ∈ [0, 1] by the action a with cdf(a) = u.
    fn quantiles(&self, u: &mut [f64]);
}

/// The volume, or `Unknown` where it is too large or too small for an `f64`.
pub(crate) fn support_of(volume: f64) -> Support {
    if 0.0 < volume && volume.is_finite() {
        Support::Volume(volume)
    } else {
        Support::Unknown
    }
}
