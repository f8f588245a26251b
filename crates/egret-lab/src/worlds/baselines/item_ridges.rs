use egret::{Context, EventRng, Item, Stream};

use crate::learner::{Choice, PlayError, Player, Round};
use crate::worlds::baselines::{dense_squares, ridge::Ridge};

/// What one would write in twenty lines for a list: ridge regression of each item's loss on (1, x, x²), the least prediction, and
/// 5% at random.
pub(in crate::worlds) struct ItemRidges {
    items: Vec<Ridge>,
    seed: u64,
}

const EPSILON: f64 = 0.05;

impl ItemRidges {
    pub fn new(items: usize, features: usize, seed: u64) -> Self {
        Self {
            items: vec![Ridge::new(1 + 2 * features); items],
            seed,
        }
    }
}

impl Player<Item> for ItemRidges {
    fn decide(&mut self, event: u64, x: &Context) -> Result<Choice<Item>, PlayError> {
        let mut rng = EventRng::new(self.seed, event, Stream::Action);
        let explores = rng.unit() < EPSILON;
        if explores {
            let item = rng.unit() * self.items.len() as f64;
            return Ok(Choice::Plain(Item(item as u32)));
        }
        let phi = dense_squares(x)?;
        let losses = self.items.iter().map(|ridge| ridge.predict(&phi));
        let best = losses.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        Ok(Choice::Plain(Item(best.expect("an item").0 as u32)))
    }

    fn learn(&mut self, rounds: &[Round<'_, Item>]) -> Result<(), PlayError> {
        for round in rounds {
            let item = round.choice.action().0 as usize;
            self.items[item].learn(&dense_squares(round.x)?, round.loss.get());
        }
        Ok(())
    }

    /// P is ε/n for all items, and 1 − ε more for one; the density is n·P.
    fn mean_inverse_density(&self, _round: &Round<'_, Item>) -> Result<Option<f64>, PlayError> {
        let count = self.items.len() as f64;
        let greedy = EPSILON + (1.0 - EPSILON) * count;
        Ok(Some((1.0 / greedy + (count - 1.0) / EPSILON) / count))
    }
}
