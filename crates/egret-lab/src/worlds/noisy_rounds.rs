use egret::{Context, Loss};

use crate::environment::World;
use crate::worlds::KnownRounds;
use crate::worlds::mean_loss::MeanLoss;

/// The rounds of a seed, with their truth.
pub struct NoisyRounds {
    actions: (f64, f64),
    noise: Noise,
    rounds: Vec<NoisyRound>,
}

pub(super) struct NoisyRound {
    pub context: Context,
    pub mean_loss: MeanLoss,
    /// Uniform on [0, 1], the same for every action.
    pub chance: f64,
}

impl NoisyRounds {
    pub(super) fn new(actions: (f64, f64), noise: Noise, rounds: Vec<NoisyRound>) -> Self {
        Self {
            actions,
            noise,
            rounds,
        }
    }

    /// f*(x, a).
    pub fn mean_loss(&self, round: usize, action: f64) -> f64 {
        self.rounds[round].mean_loss.at(action)
    }

    /// An action of the least mean loss.
    pub fn best_action(&self, round: usize) -> f64 {
        self.rounds[round].mean_loss.best()
    }

    /// The least mean loss of any action.
    pub fn best(&self, round: usize) -> f64 {
        self.mean_loss(round, self.best_action(round))
    }

    /// The mean loss of the uniform policy.
    pub fn uniform(&self, round: usize) -> f64 {
        self.rounds[round].mean_loss.uniform(self.actions)
    }
}

impl KnownRounds<f64> for NoisyRounds {
    fn mean_loss(&self, round: usize, action: &f64) -> f64 {
        self.mean_loss(round, *action)
    }

    fn best(&self, round: usize) -> f64 {
        self.best(round)
    }

    fn uniform(&self, round: usize) -> f64 {
        self.uniform(round)
    }
}

impl World<f64> for NoisyRounds {
    fn rounds(&self) -> usize {
        self.rounds.len()
    }

    fn context(&self, round: usize) -> &Context {
        &self.rounds[round].context
    }

    fn loss(&self, round: usize, action: &f64) -> Loss {
        let NoisyRound {
            mean_loss, chance, ..
        } = &self.rounds[round];
        let loss = match self.noise {
            Noise::ZeroOne => f64::from(u8::from(*chance < mean_loss.at(*action))),
            Noise::Sale if *chance < mean_loss.sale(*action) => mean_loss.sold(*action),
            Noise::Sale => 1.0,
            Noise::Nothing => mean_loss.at(*action),
        };
        // Rounding errors may leave [0, 1].
        Loss::new(loss.clamp(0.0, 1.0)).expect("within [0, 1]")
    }

    fn regret(&self, round: usize, action: &f64) -> Option<f64> {
        Some(self.mean_loss(round, *action) - self.best(round))
    }
}

/// How an observed loss comes from its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noise {
    /// 1 with the probability f*(x, a), else 0.
    ZeroOne,
    /// The loss of a sale where it is sold, else 1.
    Sale,
    /// The mean itself.
    Nothing,
}
