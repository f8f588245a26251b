use egret::{Context, Loss, OracleSpec, OracleSpecError, ReferenceMeasure, RegressionOracle};

/// A problem to decide on: what actions there are, and worlds to meet them in.
///
/// Everything is a pure function of its arguments: the world of a seed is the same whoever asks, on any thread.
pub trait Environment<A>: Send + Sync {
    /// What tables call it.
    fn name(&self) -> &str;

    /// What else tells it from others: its results are saved under this, and taken up again only under the same.
    fn fingerprint(&self) -> String;

    /// How many features a context has.
    fn context_dim(&self) -> usize;

    /// μ.
    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, A>>;

    /// An oracle for these contexts and actions, nothing learned.
    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, A>>, OracleSpecError>;

    /// The oracle of the learner that needs no tuning, for these contexts and actions.
    fn untuned(&self, seed: u64) -> OracleSpec;

    /// What happens under this seed, for at most so many rounds.
    fn world(&self, seed: u64, rounds: usize) -> Box<dyn World<A> + '_>;
}

/// One sequence of rounds: a context each, and what each action would lose.
pub trait World<A>: Send + Sync {
    /// How many there are; it may be fewer than were asked for.
    fn rounds(&self) -> usize;

    /// What is known before the decision.
    fn context(&self, round: usize) -> &Context;

    /// What the action loses, noise included: the same each time it is asked.
    fn loss(&self, round: usize, action: &A) -> Loss;

    /// By how much the action's expected loss exceeds the least, where the truth is known.
    fn regret(&self, _round: usize, _action: &A) -> Option<f64> {
        None
    }
}
