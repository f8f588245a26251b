use egret::{Context, EmbeddingRows, EventRng, Item, Stream};

use crate::learner::{Choice, PlayError, Player, Round};
use crate::worlds::baselines::best_items::{self, product, row, weights};
use crate::worlds::baselines::dense;
use crate::worlds::baselines::posterior::Posterior;

/// Linear Thompson sampling over items drawn at random: the best of 1,000 by a draw of θ, with (1, x) ⊗ (1, e).
pub(in crate::worlds) struct ItemThompson {
    rows: EmbeddingRows,
    seed: u64,
    posterior: Posterior,
}

const DRAWN_ITEMS: usize = 1_000;

impl ItemThompson {
    pub fn new(rows: &EmbeddingRows, features: usize, seed: u64) -> Self {
        Self {
            rows: rows.clone(),
            seed,
            posterior: Posterior::new((1 + features) * (1 + rows.dim())),
        }
    }
}

impl Player<Item> for ItemThompson {
    fn decide(&mut self, event: u64, x: &Context) -> Result<Choice<Item>, PlayError> {
        let mut rng = EventRng::new(self.seed, event, Stream::Action);
        let theta = self.posterior.draw(&mut rng);
        let (_, weights) = weights(&theta, dense(x)?, self.rows.dim());
        let items = self.rows.len();
        let drawn = (0..DRAWN_ITEMS.min(items)).map(|place| {
            // A short catalogue is seen whole.
            let item = match items <= DRAWN_ITEMS {
                true => place,
                false => (rng.unit() * items as f64) as usize,
            };
            let item = Item(item as u32);
            (product(&weights, row(&self.rows, item)), item)
        });
        let (_, best) = drawn.min_by(|a, b| a.0.total_cmp(&b.0)).expect("some");
        Ok(Choice::Plain(best))
    }

    fn learn(&mut self, rounds: &[Round<'_, Item>]) -> Result<(), PlayError> {
        for round in rounds {
            let row = row(&self.rows, *round.choice.action());
            let phi = best_items::features(dense(round.x)?, row);
            self.posterior.learn(phi, round.loss.get());
        }
        Ok(())
    }
}
