use egret::{
    Action, Batch, ContextError, DecideError, EventRng, LossCurve, NanPrediction, OutOfRange,
    RegressionOracle, Stream, Workspace,
};

/// A policy with a density against μ, so that events of another policy can be weighed for it.
///
/// | target                                     | density                     | bound     |
/// |--------------------------------------------|-----------------------------|-----------|
/// | [`UniformTarget`](crate::UniformTarget)    | 1                           | 1         |
/// | [`BestOf`](crate::BestOf): best of m, τ-smooth optimum | unbiased q̂      | m/k       |
/// | [`CappedTarget`](crate::CappedTarget): CappedIGW at any settings | exact, or unbiased q̂ | κτ or none |
/// | [`KernelTarget`](crate::KernelTarget): a deterministic policy, smoothed | exact | known  |
///
/// Answers are pure functions of (target, [`Chance`], context, action): threads change nothing. A greedy policy has no
/// density and so is no target; its smoothed versions are.
pub trait Target<X: ?Sized, A: Action>: Send + Sync {
    /// q(a) = dQ/dμ at the action, or an unbiased estimate of it that is independent of how the action came about.
    ///
    /// A weight q/p is linear in q: an unbiased q̂ leaves every weighted mean unbiased.
    fn density(
        &self,
        chance: Chance,
        x: &X,
        action: &A,
        work: &mut TargetWork<A>,
    ) -> Result<f64, TargetError>;

    /// Appends `n` actions or more. One picked among them at random has the distribution Q, so that the mean of any
    /// function over them is unbiased for its mean under Q. They need not be independent.
    fn draw(
        &self,
        chance: Chance,
        x: &X,
        n: usize,
        work: &mut TargetWork<A>,
        out: &mut A::Batch,
    ) -> Result<(), TargetError>;

    /// A number that `density` never exceeds, if one is known: intervals for bounded weights need it.
    fn largest_density(&self) -> Option<f64>;

    /// The policy in a few words.
    fn name(&self) -> String;

    /// What to know before its value is believed; none where nothing is special.
    fn caveat(&self) -> Option<String> {
        None
    }
}

/// E_Q f̂(x, ·) without bias, from `n` draws of the target or more: the baseline of a doubly robust estimate.
pub fn expected_loss<X: ?Sized, A: Action>(
    target: &dyn Target<X, A>,
    oracle: &dyn RegressionOracle<X, A>,
    chance: Chance,
    x: &X,
    n: usize,
    work: &mut TargetWork<A>,
) -> Result<f64, TargetError> {
    let mut drawn = std::mem::take(&mut work.drawn);
    drawn.clear();
    let done = target.draw(chance, x, n, work, &mut drawn);
    work.drawn = drawn;
    done?;
    let curve = LossCurve::new(oracle, x, &mut work.prepared)?;
    curve.predict(&work.drawn, &mut work.fhats)?;
    Ok(work.fhats.iter().sum::<f64>() / work.fhats.len() as f64)
}

/// Where the chances of a target at one event come from.
///
/// Each use has a generator of its own: the seed, the use and the repetition are hashed to the seed of an
/// [`EventRng`] at the event. With the log's own seed a generator coincides with one that made the log with
/// probability 2⁻⁶⁴, and so what is drawn here is independent of what was logged. Targets that are evaluated under one
/// seed share their draws, which makes their differences steadier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chance {
    /// Of the evaluation; the log's will do.
    pub seed: u64,
    /// The event in the log.
    pub event: u64,
}

/// What a chance is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Density = 1,
    Ties = 2,
    Draw = 3,
    Audit = 4,
}

impl Chance {
    /// The seed of the generators for one repetition of one use.
    pub(crate) fn seed_for(self, purpose: Use, repetition: u64) -> u64 {
        let stage = mixed(self.seed ^ 0xa076_1d64_78bd_642f);
        mixed(mixed(stage ^ purpose as u64).wrapping_add(repetition))
    }

    /// A generator for one repetition of one use.
    pub(crate) fn rng(self, purpose: Use, repetition: u64) -> EventRng {
        EventRng::new(
            self.seed_for(purpose, repetition),
            self.event,
            Stream::World,
        )
    }
}

/// The finaliser of splitmix64 (Steele, Lea and Flood 2014): one to one, and each bit depends on all.
fn mixed(mut word: u64) -> u64 {
    word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The buffers of a target, kept from one event to the next. Each thread has its own.
pub struct TargetWork<A: Action> {
    pub(crate) prepared: Vec<f64>,
    pub(crate) actions: A::Batch,
    pub(crate) fhats: Vec<f64>,
    pub(crate) order: Vec<u32>,
    pub(crate) decision: Workspace<A>,
    drawn: A::Batch,
}

impl<A: Action> Default for TargetWork<A> {
    fn default() -> Self {
        Self {
            prepared: Vec::new(),
            actions: A::Batch::default(),
            fhats: Vec::new(),
            order: Vec::new(),
            decision: Workspace::default(),
            drawn: A::Batch::default(),
        }
    }
}

/// Why a target has no density here.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
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
    /// Some of what it plays are point masses.
    #[error(
        "{explorer} plays its greedy action with a probability, and a point mass has no density: take the model as \
         best of m, as a tau-smooth optimum or as CappedIGW, or smooth its greedy action with a kernel"
    )]
    PointMass {
        /// Which.
        explorer: &'static str,
    },
    /// The density is known at one action alone.
    #[error(
        "SquareCB tells its density only at what it played: take the model as best of m, as a tau-smooth optimum or as \
         CappedIGW"
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
