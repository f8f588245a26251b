//! Policies that can be weighed: each knows its density q against μ, so that a logged event gets the weight q/p.
//!
//! | file         | what                                                                                |
//! |--------------|-------------------------------------------------------------------------------------|
//! | `mod`        | the trait [`Policy`], its seeds and buffers, [`expected_loss`]                      |
//! | `uniform`    | [`UniformPolicy`]: μ itself                                                         |
//! | `best_of`    | [`BestOf`]: one of the k best of m draws, and so the τ-smooth optimum               |
//! | `capped_igw` | [`CappedIgwPolicy`]: CappedIGW with a model's predictions, at any settings          |
//! | `kernel`     | [`KernelPolicy`]: a policy that plays one number, smoothed to have a density        |
//! | `greedy`     | [`GreedyPolicy`]: the number with the least predicted loss                          |
//! | `slope`      | [`slope`]: chooses the kernel's bandwidth                                           |

mod best_of;
mod capped_igw;
mod greedy;
mod kernel;
mod slope;
mod uniform;

pub use best_of::BestOf;
pub use capped_igw::CappedIgwPolicy;
pub use greedy::GreedyPolicy;
pub use kernel::{Kernel, KernelPolicy, KernelShape, PointPolicy};
pub use slope::{Candidate, geometric_bandwidths, slope};
pub use uniform::UniformPolicy;

use std::ops::Deref;

use crate::weighted_events::TRUNCATIONS;

use egret::{
    Action, Batch, ContextError, DecideError, EventRng, Limits, LimitsError, LossCurve,
    NanPrediction, OutOfRange, ReferenceMeasure, RegressionOracle, Stream,
};

/// A policy with a density against μ: events that another policy logged can be weighed for it.
///
/// | policy                                                         | density              | bound      |
/// |----------------------------------------------------------------|----------------------|------------|
/// | [`UniformPolicy`]                                              | 1                    | 1          |
/// | [`BestOf`]: best of m, τ-smooth optimum                        | unbiased q̂          | m/k        |
/// | [`CappedIgwPolicy`]: CappedIGW at any settings                 | exact, or unbiased q̂ | κτ or none |
/// | [`KernelPolicy`]: a deterministic policy, smoothed             | exact                | known      |
///
/// Answers are pure functions of (policy, [`PolicySeed`], context, action): threads change nothing. A greedy policy has no
/// density, so it does not implement this trait. Its smoothed versions do.
pub trait Policy<X: ?Sized, A: Action>: Send + Sync {
    /// q(a) = dQ/dμ at the action, or an unbiased estimate q̂ that is independent of how the action came about.
    ///
    /// A weight q/p is linear in q, so an unbiased q̂ leaves every weighted mean unbiased.
    fn density(
        &self,
        seed: PolicySeed,
        x: &X,
        action: &A,
        buffers: &mut PolicyBuffers<A>,
    ) -> Result<f64, PolicyError>;

    /// Appends at least `n` actions. One picked among them at random has the distribution Q, so the mean of any function
    /// over them is an unbiased estimate of its mean under Q. They need not be independent.
    fn draw(
        &self,
        seed: PolicySeed,
        x: &X,
        n: usize,
        buffers: &mut PolicyBuffers<A>,
        out: &mut A::Batch,
    ) -> Result<(), PolicyError>;

    /// The policy as it plays where a request allowed a part of the actions: densities are against μ restricted to the limits.
    ///
    /// | policy            | within limits                                                            |
    /// |-------------------|--------------------------------------------------------------------------|
    /// | uniform           | the restricted μ: q = 1                                                  |
    /// | best of m, smooth | draws from the restricted μ                                              |
    /// | CappedIGW         | decides within them                                                      |
    /// | point policy      | its number, or the nearest that is allowed; its kernel is cut off at the limits |
    fn within(&self, limits: &Limits) -> Result<Box<dyn Policy<X, A> + '_>, PolicyError> {
        let (policy, limits) = (self.name(), limits.to_string());
        Err(PolicyError::NoLimits { policy, limits })
    }

    /// A number that `density` never exceeds, if one is known, also within limits. Intervals for bounded weights need it.
    fn largest_density(&self) -> Option<f64>;

    /// The policy in a few words.
    fn name(&self) -> String;

    /// What a reader must know about its value; none where there is nothing special.
    fn caveat(&self) -> Option<String> {
        None
    }
}

/// The policy's predicted loss E_q f̂(x, ·), estimated without bias from at least `n` of its draws. Doubly robust estimates
/// need it.
pub fn expected_loss<X: ?Sized, A: Action>(
    policy: &dyn Policy<X, A>,
    oracle: &dyn RegressionOracle<X, A>,
    seed: PolicySeed,
    x: &X,
    n: usize,
    buffers: &mut PolicyBuffers<A>,
) -> Result<f64, PolicyError> {
    let mut drawn = std::mem::take(&mut buffers.drawn);
    drawn.clear();
    let done = policy.draw(seed, x, n, buffers, &mut drawn);
    buffers.drawn = drawn;
    done?;
    let curve = LossCurve::new(oracle, x, &mut buffers.prepared)?;
    curve.predict(&buffers.drawn, &mut buffers.fhats)?;
    Ok(buffers.fhats.iter().sum::<f64>() / buffers.fhats.len() as f64)
}

/// What [`TruncatedMeans`](crate::TruncatedMeans) are at one event, as means over decisions that the logging model makes again
/// ([`Learner::decide_again`](egret::Learner::decide_again)): each gives a weight for the policy, 0 for a point mass, and f̂ of its
/// action. Of no decision at all they are 0.
pub fn truncated_means(
    again: impl ExactSizeIterator<Item = (f64, f64)>,
) -> [[f64; TRUNCATIONS.len()]; 2] {
    let share = 1.0 / again.len().max(1) as f64;
    let mut means = [[0.0; TRUNCATIONS.len()]; 2];
    for (weight, fhat) in again {
        for (means, fhat) in means.iter_mut().zip([fhat, 1.0 - fhat]) {
            for (mean, cut) in means.iter_mut().zip(TRUNCATIONS) {
                *mean += share * (weight * fhat).min(cut);
            }
        }
    }
    means
}

/// What a policy draws its random numbers from at one event.
///
/// Each purpose has its own generator: seed, purpose and repetition are hashed to the seed of an [`EventRng`] at the event.
/// The log's own seed may be used: a generator coincides with one that made the log with probability 2⁻⁶⁴, so what is drawn
/// here is independent of what was logged. Policies evaluated under the same seed share their draws, which makes their
/// differences steadier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicySeed {
    /// The seed of the evaluation; that of the log will do.
    pub seed: u64,
    /// The number of the event in the log.
    pub event: u64,
}

/// What random numbers are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RngPurpose {
    Density = 1,
    Ties = 2,
    Draw = 3,
    Audit = 4,
    Again = 5,
}

impl PolicySeed {
    /// The seed for one repetition of one purpose.
    pub(crate) fn seed_for(self, purpose: RngPurpose, repetition: u64) -> u64 {
        let stage = mixed(self.seed ^ 0xa076_1d64_78bd_642f);
        mixed(mixed(stage ^ purpose as u64).wrapping_add(repetition))
    }

    /// The seed for what is drawn again at the event, such as a decision of the log: independent of all else that is drawn here.
    pub fn again(self, repetition: u64) -> Self {
        Self {
            seed: self.seed_for(RngPurpose::Again, repetition),
            ..self
        }
    }

    /// The generator for one repetition of one purpose.
    pub(crate) fn rng(self, purpose: RngPurpose, repetition: u64) -> EventRng {
        EventRng::new(
            self.seed_for(purpose, repetition),
            self.event,
            Stream::World,
        )
    }
}

/// The finalizer of splitmix64 (Steele, Lea and Flood 2014): it is one to one, and each bit depends on all others.
fn mixed(mut word: u64) -> u64 {
    word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Buffers that a policy reuses from one event to the next. Each thread has its own.
pub struct PolicyBuffers<A: Action> {
    pub(crate) prepared: Vec<f64>,
    pub(crate) actions: A::Batch,
    pub(crate) fhats: Vec<f64>,
    pub(crate) order: Vec<u32>,
    drawn: A::Batch,
}

impl<A: Action> Default for PolicyBuffers<A> {
    fn default() -> Self {
        Self {
            prepared: Vec::new(),
            actions: A::Batch::default(),
            fhats: Vec::new(),
            order: Vec::new(),
            drawn: A::Batch::default(),
        }
    }
}

/// μ of a policy: that of the log, or what one event's limits left of it.
pub(crate) enum Mu<'a, X: ?Sized, A: Action> {
    Whole(&'a dyn ReferenceMeasure<X, A>),
    Part(Box<dyn ReferenceMeasure<X, A>>),
}

impl<'a, X: ?Sized, A: Action> Deref for Mu<'a, X, A> {
    type Target = dyn ReferenceMeasure<X, A> + 'a;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Whole(measure) => *measure,
            Self::Part(measure) => &**measure,
        }
    }
}

/// Why a policy has no density here.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A number is not in its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The oracle cannot read the context.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// The oracle predicted NaN.
    #[error(transparent)]
    NanPrediction(#[from] NanPrediction),
    /// The learner cannot decide.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// The limits are no part of the action space, or leave no action.
    #[error(transparent)]
    Limits(#[from] LimitsError),
    /// The policy does not say how it plays within limits.
    #[error(
        "the policy {policy} does not say how it plays within the limits ({limits}): implement Policy::within"
    )]
    NoLimits {
        /// Its name.
        policy: String,
        /// The limits.
        limits: String,
    },
    /// Some of its actions are point masses.
    #[error(
        "{explorer} puts a point mass on its greedy action, which has no density: evaluate the model as best of m, as a \
         tau-smooth optimum or as CappedIGW, or smooth its greedy action with a kernel"
    )]
    PointMass {
        /// Which explorer.
        explorer: &'static str,
    },
    /// The density is known only at the action that was played.
    #[error(
        "SquareCB knows its density only at the action it played: evaluate the model as best of m, as a tau-smooth \
         optimum or as CappedIGW"
    )]
    Untold,
    /// More draws than are sensible for one event.
    #[error("best {k} of {m}: expected 1 <= k <= m <= {most}")]
    BestOf {
        /// How many are played.
        k: usize,
        /// Of how many.
        m: usize,
        /// The largest m.
        most: usize,
    },
}
