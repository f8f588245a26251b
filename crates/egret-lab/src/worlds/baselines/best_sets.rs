use egret::{Context, EmbeddingRows, EventRng, Item, ItemSet, Stream};

use crate::learner::{Choice, PlayError, Player, Round};
use crate::worlds::baselines::best_items::{features, product, row, weights};
use crate::worlds::baselines::{dense, posterior::Posterior, ridge::Ridge};

/// What one would write in thirty lines for sets of items: ridge regression on (1, x) ⊗ (1, ē), ē the mean of a set's features.
/// It is a sum over items, so that every item has a score; it plays some of the best 30, and 2% at random.
pub(in crate::worlds) struct BestSets {
    items: SetItems,
    ridge: Ridge,
}

/// Linear Thompson sampling of the same regression: the best items by a draw of θ.
pub(in crate::worlds) struct SetThompson {
    items: SetItems,
    posterior: Posterior,
}

struct SetItems {
    rows: EmbeddingRows,
    size: usize,
    seed: u64,
}

const EPSILON: f64 = 0.02;
const BEST: usize = 30;

impl SetItems {
    fn length(&self, features: usize) -> usize {
        (1 + features) * (1 + self.rows.dim())
    }

    /// φ of a set.
    fn features(&self, x: &[f64], set: &ItemSet) -> Vec<f64> {
        let mut mean = vec![0.0; self.rows.dim()];
        for item in set.items() {
            for (mean, value) in mean.iter_mut().zip(row(&self.rows, *item)) {
                *mean += value / set.items().len() as f32;
            }
        }
        features(x, &mean)
    }

    /// The items of least score, so many of them.
    fn best(&self, theta: &[f64], x: &[f64], count: usize) -> Vec<Item> {
        let (_, weights) = weights(theta, x, self.rows.dim());
        let rows = self.rows.values().chunks_exact(self.rows.dim());
        let mut scores: Vec<(f32, u32)> = rows.map(|row| product(&weights, row)).zip(0..).collect();
        let count = count.min(scores.len());
        if count < scores.len() {
            scores.select_nth_unstable_by(count, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        scores[..count].iter().map(|of| Item(of.1)).collect()
    }

    /// A set drawn from these.
    fn draw(&self, mut from: Vec<Item>, rng: &mut EventRng) -> ItemSet {
        for place in 0..self.size {
            let other = place + (rng.unit() * (from.len() - place) as f64) as usize;
            from.swap(place, other);
        }
        ItemSet::new(from.into_iter().take(self.size)).expect("each item is there once")
    }
}

impl BestSets {
    pub fn new(rows: &EmbeddingRows, size: usize, features: usize, seed: u64) -> Self {
        let items = SetItems {
            rows: rows.clone(),
            size,
            seed,
        };
        let ridge = Ridge::new(items.length(features));
        Self { items, ridge }
    }
}

impl SetThompson {
    pub fn new(rows: &EmbeddingRows, size: usize, features: usize, seed: u64) -> Self {
        let items = SetItems {
            rows: rows.clone(),
            size,
            seed,
        };
        let posterior = Posterior::new(items.length(features));
        Self { items, posterior }
    }
}

impl Player<ItemSet> for BestSets {
    fn decide(&mut self, event: u64, x: &Context) -> Result<Choice<ItemSet>, PlayError> {
        let mut rng = EventRng::new(self.items.seed, event, Stream::Action);
        let from = match rng.unit() < EPSILON {
            true => (0..self.items.rows.len() as u32).map(Item).collect(),
            false => self.items.best(&self.ridge.theta, dense(x)?, BEST),
        };
        Ok(Choice::Plain(self.items.draw(from, &mut rng)))
    }

    fn learn(&mut self, rounds: &[Round<'_, ItemSet>]) -> Result<(), PlayError> {
        for round in rounds {
            let phi = (self.items).features(dense(round.x)?, round.choice.action());
            self.ridge.learn(&phi, round.loss.get());
        }
        Ok(())
    }
}

impl Player<ItemSet> for SetThompson {
    fn decide(&mut self, event: u64, x: &Context) -> Result<Choice<ItemSet>, PlayError> {
        let mut rng = EventRng::new(self.items.seed, event, Stream::Action);
        let theta = self.posterior.draw(&mut rng);
        let best = self.items.best(&theta, dense(x)?, self.items.size);
        Ok(Choice::Plain(self.items.draw(best, &mut rng)))
    }

    fn learn(&mut self, rounds: &[Round<'_, ItemSet>]) -> Result<(), PlayError> {
        for round in rounds {
            let phi = (self.items).features(dense(round.x)?, round.choice.action());
            self.posterior.learn(phi, round.loss.get());
        }
        Ok(())
    }
}
