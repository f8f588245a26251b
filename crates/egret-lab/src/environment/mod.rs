//! Problems to decide on.
//!
//! An [`Environment`] says which actions there are and makes one [`World`] per seed: a sequence of contexts and, for every
//! action, its loss. Two kinds exist. [`SupervisedToBandit`] turns a table of features and labels into a bandit problem, with a
//! [`LossFunction`] between action and label. A [`Simulator`] makes up its rounds from a [`LossModel`], so that the best
//! action, and with it the regret, is known.

mod loss_function;
mod named_bandit;
mod simulator;
mod supervised;

use egret::{
    Context, EmbeddingRows, Loss, Objective, OracleSpec, OracleSpecError, ReferenceMeasure,
    RegressionOracle,
};

pub use self::loss_function::{LossFunction, LossFunctionError, QuantileLevel};
pub(crate) use self::named_bandit::NamedRows;
pub use self::simulator::{
    BimodalLossModel, BoxLossModel, CatalogueLossModel, Customer, IntervalLossModel, LossModel,
    MixedLossModel, PricingSimulator, Simulator, SphereLossModel,
};
pub use self::supervised::{Supervised, SupervisedError, SupervisedToBandit};

/// A problem to decide on: an action space, and a world for each seed.
///
/// Everything is a pure function of its arguments: a seed gives the same world to every caller, on any thread.
pub trait Environment<A>: Send + Sync {
    /// The name shown in tables.
    fn name(&self) -> &str;

    /// Everything that distinguishes this environment from others. Results are saved under it, and reused only where it is
    /// the same.
    fn fingerprint(&self) -> String;

    /// The number of features of a context.
    fn context_dim(&self) -> usize;

    /// The reference measure μ.
    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, A>>;

    /// An untrained oracle for these contexts and actions.
    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, A>>, OracleSpecError>;

    /// The oracle that egret's default learner uses for these contexts and actions.
    fn default_oracle(&self, seed: u64) -> OracleSpec;

    /// The world of this seed, with at most this many rounds.
    fn world(&self, seed: u64, rounds: usize) -> Box<dyn World<A> + '_>;

    /// What losses stand for in the user's units: reports are in these. Losses as they are by default.
    fn objective(&self) -> Objective {
        Objective::LOSS
    }

    /// The ends of each knob, where actions are vectors of a box.
    fn sides(&self) -> Option<Vec<(f64, f64)>> {
        None
    }

    /// What numbers an action is taken for by baselines that know no other actions, if there are such.
    fn coordinates(&self) -> Option<fn(&A) -> Vec<f64>> {
        None
    }

    /// The features of each item, where actions are items, or sets of items, that have some.
    fn embeddings(&self) -> Option<&EmbeddingRows> {
        None
    }

    /// When outcomes become known. At once by default.
    fn feedback(&self) -> Feedback {
        Feedback::default()
    }

    /// The same rounds with features by name, for learners that take them so; `None` if features have no names. The schema
    /// is what the first contexts of the seed's world suggest.
    fn named(&self, _seed: u64) -> Option<Box<dyn Environment<A> + '_>> {
        None
    }
}

/// When a player learns what its decisions cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Feedback {
    /// Outcomes come in batches of so many decisions; 0 and 1 mean after each.
    pub batch: usize,
    /// Each outcome comes so many decisions late.
    pub delay: usize,
}

/// A sequence of rounds. Each has a context, and a loss for every action.
pub trait World<A>: Send + Sync {
    /// The number of rounds; it may be smaller than requested.
    fn rounds(&self) -> usize;

    /// What is known before the decision.
    fn context(&self, round: usize) -> &Context;

    /// The loss of an action, noise included. Asking again gives the same loss.
    fn loss(&self, round: usize, action: &A) -> Loss;

    /// The action's expected loss minus the smallest one, if the environment knows them.
    fn regret(&self, _round: usize, _action: &A) -> Option<f64> {
        None
    }
}
