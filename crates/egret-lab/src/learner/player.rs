use egret::{Context, DecideError, Decision, LearnError, Loss, OracleSpecError, SettingsError};

use crate::environment::Environment;

/// A learner by its settings: makes a player for each run. Your own learner implements this.
pub trait LearnerFactory<A>: Send + Sync {
    /// The name shown in tables, unique in a study.
    fn name(&self) -> &str;

    /// All settings. Results are saved under it, and reused only where it is the same.
    fn fingerprint(&self) -> String;

    /// After how many decisions the player learns their losses; 1 means after each.
    fn batch(&self) -> usize {
        1
    }

    /// Whether it takes features by name where the environment has names. Otherwise contexts are numbers.
    fn by_name(&self) -> bool {
        false
    }

    /// A player that has learned nothing yet. `seed` is its only source of randomness.
    fn player(
        &self,
        environment: &dyn Environment<A>,
        seed: u64,
    ) -> Result<Box<dyn Player<A>>, PlayError>;
}

/// Decides and learns during one run.
pub trait Player<A> {
    /// Chooses an action. Events are numbered from 0.
    fn decide(&mut self, event: u64, x: &Context) -> Result<Choice<A>, PlayError>;

    /// Learns from rounds that it decided.
    fn learn(&mut self, rounds: &[Round<'_, A>]) -> Result<(), PlayError>;

    /// ∫ dμ/p of a round that the player just decided, before it learns more, if it can tell.
    fn mean_inverse_density(&self, _round: &Round<'_, A>) -> Result<Option<f64>, PlayError> {
        Ok(None)
    }

    /// The distance of the action from the one the player now believes to be best, if it can tell.
    fn distance(&self, _x: &Context, _action: &A) -> Result<Option<f64>, PlayError> {
        Ok(None)
    }
}

/// What a player chose.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one is made for a round, and taken apart at once"
)]
pub enum Choice<A> {
    /// A decision of egret's, with its propensity.
    Decided(Decision<A>),
    /// An action without a propensity.
    Plain(A),
}

impl<A> Choice<A> {
    /// The action.
    pub fn action(&self) -> &A {
        match self {
            Self::Decided(decision) => &decision.action,
            Self::Plain(action) => action,
        }
    }

    /// The decision, if there is one.
    pub fn decision(&self) -> Option<&Decision<A>> {
        match self {
            Self::Decided(decision) => Some(decision),
            Self::Plain(_) => None,
        }
    }
}

/// A round that was played.
#[derive(Debug)]
pub struct Round<'a, A> {
    /// The number of the event, from 0.
    pub event: u64,
    /// The context.
    pub x: &'a Context,
    /// What the player chose.
    pub choice: Choice<A>,
    /// The loss of the action.
    pub loss: Loss,
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlayError {
    /// The settings are invalid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The oracle is invalid, or does not fit the environment.
    #[error(transparent)]
    Oracle(#[from] OracleSpecError),
    /// A decision failed.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// Learning failed.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// An error of your own player.
    #[error("{0}")]
    Other(String),
}
