use std::collections::VecDeque;

use egret::{Context, EventRng, Stream, Vector};

use crate::learner::{Choice, PlayError, Player, Round};
use crate::worlds::baselines::{dense, quadratic, ridge::Ridge};

/// What one would write in forty lines for knobs in [−1, 1]: ridge regression on squares and products, a box around its minimum
/// whose sides shrink as n^(−1/4) down to a tenth, and 2% of draws from all.
///
/// The box is cut at the ends by moving draws there, so that its actions have no density.
pub(in crate::worlds) struct ShrinkingBox {
    knobs: usize,
    seed: u64,
    ridge: Ridge,
    /// How many of the last events the ridge has learned from.
    memory: usize,
    /// φ and ℓ of those that it will forget.
    remembered: VecDeque<(Vec<f64>, f64)>,
    events: usize,
}

const EPSILON: f64 = 0.02;

impl ShrinkingBox {
    pub fn new(knobs: usize, features: usize, seed: u64) -> Self {
        Self::with_memory(knobs, features, seed, usize::MAX)
    }

    /// It goes by the last events alone, as many as are given.
    pub fn with_memory(knobs: usize, features: usize, seed: u64, memory: usize) -> Self {
        let phi = quadratic::features(&vec![0.0; features], &vec![0.0; knobs]);
        Self {
            knobs,
            seed,
            ridge: Ridge::new(phi.len()),
            memory,
            remembered: VecDeque::new(),
            events: 0,
        }
    }
}

impl Player<Vector> for ShrinkingBox {
    fn decide(&mut self, event: u64, x: &Context) -> Result<Choice<Vector>, PlayError> {
        let mut rng = EventRng::new(self.seed, event, Stream::Action);
        let explores = rng.unit() < EPSILON;
        let mut knobs: Vec<f64> = (0..self.knobs).map(|_| 2.0 * rng.unit() - 1.0).collect();
        if !explores {
            let best = quadratic::minimum(&self.ridge.theta, dense(x)?, self.knobs);
            let reach = (1.0 + self.events as f64).powf(-0.25).max(0.1);
            for (knob, best) in knobs.iter_mut().zip(best) {
                *knob = (best + reach * *knob).clamp(-1.0, 1.0);
            }
        }
        Ok(Choice::Plain(Vector::new(&knobs).expect("within [−1, 1]")))
    }

    fn learn(&mut self, rounds: &[Round<'_, Vector>]) -> Result<(), PlayError> {
        for round in rounds {
            let phi = quadratic::features(dense(round.x)?, round.choice.action());
            let loss = round.loss.get();
            self.ridge.learn(&phi, loss);
            self.events += 1;
            if self.memory < usize::MAX {
                self.remembered.push_back((phi, loss));
            }
            if self.memory < self.events {
                let (phi, loss) = self.remembered.pop_front().expect("more than its memory");
                self.ridge.forget(&phi, loss);
                self.events -= 1;
            }
        }
        Ok(())
    }
}
