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
    events: f64,
}

const EPSILON: f64 = 0.02;

impl ShrinkingBox {
    pub fn new(knobs: usize, features: usize, seed: u64) -> Self {
        let phi = quadratic::features(&vec![0.0; features], &vec![0.0; knobs]);
        Self {
            knobs,
            seed,
            ridge: Ridge::new(phi.len()),
            events: 0.0,
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
            let reach = (1.0 + self.events).powf(-0.25).max(0.1);
            for (knob, best) in knobs.iter_mut().zip(best) {
                *knob = (best + reach * *knob).clamp(-1.0, 1.0);
            }
        }
        Ok(Choice::Plain(Vector::new(&knobs).expect("within [−1, 1]")))
    }

    fn learn(&mut self, rounds: &[Round<'_, Vector>]) -> Result<(), PlayError> {
        for round in rounds {
            let phi = quadratic::features(dense(round.x)?, round.choice.action());
            self.ridge.learn(&phi, round.loss.get());
            self.events += 1.0;
        }
        Ok(())
    }
}
