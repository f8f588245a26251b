//! μ(·|x), the reference measure: which actions there are, and how they are drawn before anything is learned.
//!
//! Every density in this crate is dP/dμ. A density of 2 means that the action is twice as likely as under μ. Uniform μ is
//! the usual choice; a prior such as [`BetaPrior`] says that some actions are likelier to be good.
//!
//! | actions                | measures                                               |
//! |------------------------|--------------------------------------------------------|
//! | numbers of an interval | [`Interval`], [`LogInterval`], [`TruncatedNormal`], [`BetaPrior`] |
//! | numbers in steps       | [`Steps`]                                              |
//! | vectors                | [`UniformBox`], [`UniformSphere`], [`Dirichlet`]       |
//! | items of a list        | [`Catalogue`]                                          |
//! | pairs, your own        | [`Product`], [`MeasureFn`], or [`ReferenceMeasure`]    |

pub(crate) mod box_part;
pub(crate) mod catalogue;
#[cfg(test)]
pub(crate) mod checks;
pub(crate) mod dirichlet;
pub(crate) mod line;
pub(crate) mod measure_fn;
pub(crate) mod mixed_knobs;
pub(crate) mod product;
pub(crate) mod regions;
pub(crate) mod uniform_box;
pub(crate) mod uniform_sets;
pub(crate) mod uniform_sphere;

pub use catalogue::{Catalogue, CatalogueError};
pub use dirichlet::{Dirichlet, DirichletError};
pub use line::beta_prior::BetaPrior;
pub use line::interval::Interval;
pub use line::log_interval::LogInterval;
pub use line::steps::Steps;
pub use line::truncated_normal::TruncatedNormal;
pub use measure_fn::MeasureFn;
pub use product::Product;
pub use regions::Regions;
pub use uniform_box::{BoxError, UniformBox};
pub use uniform_sphere::UniformSphere;

use crate::event::{Action, Limits, LimitsError, Vectors};
use crate::measure::uniform_sets::UniformSets;
use crate::numeric::EventRng;

/// μ(·|x), the measure that every density is taken against.
///
/// Draws must be independent given `x`. Otherwise sampling still ends, but the guarantees of the normalizer and of the
/// importance weights are void.
pub trait ReferenceMeasure<X: ?Sized, A: Action>: Send + Sync {
    /// Appends `n` independent draws to `out`.
    fn sample(&self, x: &X, n: usize, rng: &mut EventRng, out: &mut A::Batch);

    /// Appends `n` draws that are spread more evenly than independent ones.
    ///
    /// One of them picked at random has the distribution μ, so their mean is unbiased for every integrand; for most it
    /// also varies less. They are not independent.
    fn sample_stratified(&self, x: &X, n: usize, rng: &mut EventRng, out: &mut A::Batch) {
        self.sample(x, n, rng, out);
    }

    /// The size of the space. It converts dP/dμ into a density per volume, or into a probability.
    fn support(&self) -> Support;

    /// The measure as a distribution on an interval, if it is one. Stratified draws must then be one from each of `n`
    /// parts of equal mass: the number of draws for ẑ relies on it.
    fn as_line(&self) -> Option<&dyn LineMeasure> {
        None
    }

    /// The measure as a list of items, if it is one.
    fn catalogue(&self) -> Option<&Catalogue> {
        None
    }

    /// The measure as one over sets of items, if it is one.
    #[doc(hidden)]
    fn sets(&self) -> Option<&UniformSets> {
        None
    }

    /// Regions around every action, if the measure knows them. Vectors are their own coordinates; a measure over other actions
    /// also converts them: [`append_actions`](Self::append_actions), [`coordinates`](Self::coordinates).
    fn regions(&self) -> Option<&dyn Regions> {
        None
    }

    /// Appends the actions that rows of coordinates stand for, where actions are no vectors and have [`regions`](Self::regions).
    fn append_actions(&self, _x: &X, _rows: &Vectors, _out: &mut A::Batch) {}

    /// The coordinates of an action there; none if it is not in the space.
    fn coordinates(&self, _action: &A) -> Option<Vec<f64>> {
        None
    }

    /// μ restricted to what a request allows, and renormalized: μ(· | limits). An error where the limits are no part of the
    /// space or leave no action, and for measures that know no limits.
    fn within(&self, limits: &Limits) -> Result<Box<dyn ReferenceMeasure<X, A>>, LimitsError> {
        let problem = "numbers, boxes and items of a catalogue can be limited, and these actions are none of them";
        Err(LimitsError::no_measure(limits, problem))
    }
}

/// The size of an action space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Support {
    /// Length, area, volume.
    Volume(f64),
    /// A number of items.
    Count(u64),
    /// Not known.
    Unknown,
}

/// A distribution on an interval, as exact integrals over actions need it: continuous, or on [`Steps`].
pub trait LineMeasure: Send + Sync {
    /// The ends of the interval.
    fn bounds(&self) -> (f64, f64);
    /// μ((−∞, a)): what lies below.
    fn cdf(&self, a: f64) -> f64;
    /// Replaces each u ∈ [0, 1] by the action a with cdf(a) = u, or by the step that u is a part of.
    fn quantiles(&self, u: &mut [f64]);
    /// The steps, if the distribution is on them. It is continuous otherwise.
    fn steps(&self) -> Option<&Steps> {
        None
    }
}

/// The volume, or `Unknown` where it is too large or too small for an `f64`.
pub(crate) fn support_of(volume: f64) -> Support {
    if 0.0 < volume && volume.is_finite() {
        Support::Volume(volume)
    } else {
        Support::Unknown
    }
}
