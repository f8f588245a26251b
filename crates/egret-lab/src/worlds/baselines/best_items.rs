use egret::{Context, EmbeddingRows, EventRng, Item, Stream};

use crate::learner::{Choice, PlayError, Player, Round};
use crate::worlds::baselines::{dense, ridge::Ridge};

/// What one would write in twenty lines for a catalogue: ridge regression on (1, x) ⊗ (1, e), which scores every item, plays one of
/// the best 100, and 2% at random.
pub(in crate::worlds) struct BestItems {
    rows: EmbeddingRows,
    seed: u64,
    ridge: Ridge,
    scores: Vec<(f32, u32)>,
}

const EPSILON: f64 = 0.02;
const BEST: usize = 100;

impl BestItems {
    pub fn new(rows: &EmbeddingRows, features: usize, seed: u64) -> Self {
        Self {
            rows: rows.clone(),
            seed,
            ridge: Ridge::new((1 + features) * (1 + rows.dim())),
            scores: Vec::new(),
        }
    }
}

/// (1, x) ⊗ (1, e).
pub(super) fn features(x: &[f64], row: &[f32]) -> Vec<f64> {
    let with_one = || std::iter::once(1.0).chain(row.iter().map(|value| f64::from(*value)));
    (std::iter::once(1.0).chain(x.iter().copied()))
        .flat_map(|x| with_one().map(move |e| x * e))
        .collect()
}

/// What an item's score is the product of its row with, and what it is at 0: ⟨θ, φ(x, e)⟩ as a function of e.
pub(super) fn weights(theta: &[f64], x: &[f64], dim: usize) -> (f32, Vec<f32>) {
    let mut sums = vec![0.0; 1 + dim];
    for (x, theta) in
        (std::iter::once(1.0).chain(x.iter().copied())).zip(theta.chunks_exact(1 + dim))
    {
        sums.iter_mut()
            .zip(theta)
            .for_each(|(sum, theta)| *sum += x * theta);
    }
    (
        sums[0] as f32,
        sums[1..].iter().map(|sum| *sum as f32).collect(),
    )
}

pub(super) fn product(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    for (a, b) in a.chunks(8).zip(b.chunks(8)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
}

/// The features of an item.
pub(super) fn row(rows: &EmbeddingRows, item: Item) -> &[f32] {
    &rows.values()[item.0 as usize * rows.dim()..][..rows.dim()]
}

impl Player<Item> for BestItems {
    fn decide(&mut self, event: u64, x: &Context) -> Result<Choice<Item>, PlayError> {
        let items = self.rows.len();
        let mut rng = EventRng::new(self.seed, event, Stream::Action);
        if rng.unit() < EPSILON {
            return Ok(Choice::Plain(Item((rng.unit() * items as f64) as u32)));
        }
        let (_, weights) = weights(&self.ridge.theta, dense(x)?, self.rows.dim());
        self.scores.clear();
        let rows = self.rows.values().chunks_exact(self.rows.dim());
        self.scores
            .extend(rows.map(|row| product(&weights, row)).zip(0..));
        let best = BEST.min(items);
        if best < items {
            self.scores
                .select_nth_unstable_by(best, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        let item = self.scores[(rng.unit() * best as f64) as usize].1;
        Ok(Choice::Plain(Item(item)))
    }

    fn learn(&mut self, rounds: &[Round<'_, Item>]) -> Result<(), PlayError> {
        for round in rounds {
            let row = row(&self.rows, *round.choice.action());
            self.ridge
                .learn(&features(dense(round.x)?, row), round.loss.get());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_by_weights_are_those_of_the_features() {
        let (x, row) = ([0.5, -2.0], [0.25, 3.0, -1.0]);
        let theta: Vec<f64> = (0..12).map(|n| f64::from(n) - 5.0).collect();
        let long: f64 = (features(&x, &row).iter().zip(&theta))
            .map(|(phi, theta)| phi * theta)
            .sum();
        let (constant, weights) = weights(&theta, &x, 3);
        let short = f64::from(constant + product(&weights, &row));
        assert!((long - short).abs() < 1e-5, "{long} {short}");
    }
}
