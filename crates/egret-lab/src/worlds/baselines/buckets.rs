use egret::{Context, EventRng, Stream};

use crate::learner::{Choice, PlayError, Player, Round};
use crate::worlds::baselines::{dense_squares, ridge::Ridge};

/// What one would write in forty lines: the interval in 16 buckets, ridge regression of the loss on (1, x, x²) in each, and a
/// draw from the bucket of the least prediction, or from all actions with probability 5%.
///
/// It has no step size and forgets nothing, so it is hard to beat where the world does not move.
pub(in crate::worlds) struct Buckets {
    actions: (f64, f64),
    seed: u64,
    buckets: Vec<Ridge>,
}

const BUCKETS: usize = 16;
const EPSILON: f64 = 0.05;

impl Buckets {
    pub fn new(actions: (f64, f64), features: usize, seed: u64) -> Self {
        Self {
            actions,
            seed,
            buckets: vec![Ridge::new(1 + 2 * features); BUCKETS],
        }
    }

    fn bucket(&self, action: f64) -> usize {
        let (low, high) = self.actions;
        let share = (action - low) / (high - low);
        ((share * BUCKETS as f64) as usize).min(BUCKETS - 1)
    }
}

impl Player<f64> for Buckets {
    fn decide(&mut self, event: u64, x: &Context) -> Result<Choice<f64>, PlayError> {
        let phi = dense_squares(x)?;
        let mut rng = EventRng::new(self.seed, event, Stream::Action);
        let explores = rng.unit() < EPSILON;
        let share = if explores {
            rng.unit()
        } else {
            let losses = self.buckets.iter().map(|ridge| ridge.predict(&phi));
            let best = losses.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
            (best.expect("16 buckets").0 as f64 + rng.unit()) / BUCKETS as f64
        };
        let (low, high) = self.actions;
        Ok(Choice::Plain(low + (high - low) * share))
    }

    fn learn(&mut self, rounds: &[Round<'_, f64>]) -> Result<(), PlayError> {
        for round in rounds {
            let bucket = self.bucket(*round.choice.action());
            self.buckets[bucket].learn(&dense_squares(round.x)?, round.loss.get());
        }
        Ok(())
    }

    /// The density is ε everywhere, and 16·(1 − ε) more in one bucket.
    fn mean_inverse_density(&self, _round: &Round<'_, f64>) -> Result<Option<f64>, PlayError> {
        let buckets = BUCKETS as f64;
        let (greedy, other) = (EPSILON + (1.0 - EPSILON) * buckets, EPSILON);
        Ok(Some((1.0 / greedy + (buckets - 1.0) / other) / buckets))
    }
}

#[cfg(test)]
mod tests {
    use egret::Loss;

    use super::*;

    #[test]
    fn actions_are_drawn_with_the_density_that_is_said() {
        let mut naive = Buckets::new((5.0, 50.0), 1, 3);
        // Bucket 3 alone is known to be free; the others cost 1.
        let x = Context::dense(vec![0.5]).expect("finite");
        for bucket in (0..BUCKETS).filter(|&bucket| bucket != 3) {
            naive.buckets[bucket].learn(&[1.0, 0.5, 0.25], 1.0);
        }
        let n = 20_000;
        let mut counts = [0; BUCKETS];
        for event in 0..n {
            let choice = naive.decide(event, &x).expect("decided");
            counts[naive.bucket(*choice.action())] += 1;
        }
        // Five standard errors: an alarm once in a million.
        let (count, share) = (f64::from(counts[3]), 1.0 - EPSILON * 15.0 / 16.0);
        let error = (n as f64 * share * (1.0 - share)).sqrt();
        assert!((count - share * n as f64).abs() < 5.0 * error, "{counts:?}");
        assert!(counts.iter().all(|&count| 0 < count));
        // 1/16 of all actions at 15.25, the rest at 0.05.
        let round = Round {
            event: 0,
            x: &x,
            choice: Choice::Plain(5.0),
            loss: Loss::new(0.5).expect("within [0, 1]"),
        };
        let inverse = naive.mean_inverse_density(&round).expect("known");
        assert_eq!(inverse, Some((1.0 / 15.25 + 15.0 / 0.05) / 16.0));
    }
}
