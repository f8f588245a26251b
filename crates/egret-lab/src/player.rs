use egret::{Context, DecideError, Decision, LearnError, Loss, OracleSpecError, SettingsError};

use crate::Environment;

/// A way to play: makes a player for each run. What a user's own learner implements.
pub trait Contender<A>: Send + Sync {
    /// What tables call it; no two of a study share it.
    fn name(&self) -> &str;

    /// All of its settings: results are saved under this, and taken up again only under the same.
    fn fingerprint(&self) -> String;

    /// After how many decisions their losses are learned; 1 is at once.
    fn batch(&self) -> usize {
        1
    }

    /// A player that knows nothing yet. `seed` is all the chance it has.
    fn player(
        &self,
        environment: &dyn Environment<A>,
        seed: u64,
    ) -> Result<Box<dyn Player<A>>, PlayError>;
}

/// Decides and learns, through one run.
pub trait Player<A> {
    /// Chooses an action. Events are numbered from 0.
    fn decide(&mut self, event: u64, x: &Context) -> Result<Move<A>, PlayError>;

    /// Learns from rounds that it decided.
    fn learn(&mut self, turns: &[Turn<'_, A>]) -> Result<(), PlayError>;

    /// How far the action is from what the player takes for the best one now, if it can tell.
    fn distance(&self, _x: &Context, _action: &A) -> Result<Option<f64>, PlayError> {
        Ok(None)
    }
}

/// What a player did.
#[derive(Debug, Clone, PartialEq)]
pub enum Move<A> {
    /// With all that is known of it.
    Decided(Decision<A>),
    /// And nothing is known of how.
    Plain(A),
}

impl<A> Move<A> {
    /// The action.
    pub fn action(&self) -> &A {
        match self {
            Self::Decided(decision) => &decision.action,
            Self::Plain(action) => action,
        }
    }

    /// The decision, where there is one.
    pub fn decision(&self) -> Option<&Decision<A>> {
        match self {
            Self::Decided(decision) => Some(decision),
            Self::Plain(_) => None,
        }
    }
}

/// A round that was played.
#[derive(Debug)]
pub struct Turn<'a, A> {
    /// Its number.
    pub event: u64,
    /// What was known.
    pub x: &'a Context,
    /// What was done.
    pub played: Move<A>,
    /// What it lost.
    pub loss: Loss,
}

/// Why a run ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlayError {
    /// Settings that cannot be.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// An oracle that cannot be, or not here.
    #[error(transparent)]
    Oracle(#[from] OracleSpecError),
    /// No decision.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// Nothing learned.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// Whatever a user's own player has to say.
    #[error("{0}")]
    Other(String),
}
