use std::sync::OnceLock;

use egret::{EmbeddingRows, EventRng, ItemSet, Items, ModelSpec, Sets};

use crate::worlds::normals::{item_rows, normals};
use crate::worlds::spaces::{CONTEXT, SpaceLoss};

/// Three examples of many for a prompt: an answer is wrong with probability σ(1.5 − 1.2·s), s the sum of their scores over √3.
///
/// An example has 16 features e, standard normal, the same for every seed, and the score ⟨w₀ + 1.7·Σ wⱼ(2xⱼ − 1), e⟩/√48 with
/// w standard normal.
#[derive(Debug)]
pub struct ExamplesLoss {
    name: &'static str,
    items: usize,
    rows: OnceLock<EmbeddingRows>,
}

const FEATURES: usize = 16;
const SIZE: usize = 3;

/// The seed of the items, which no run has.
const ROWS: u64 = 0x5E75;

impl ExamplesLoss {
    /// The names of all.
    pub const NAMES: [&'static str; 2] = ["sets_300", "sets_3000"];

    /// The loss of this name.
    pub fn named(name: &str) -> Option<Self> {
        let name = Self::NAMES.into_iter().find(|of| *of == name)?;
        let items = name.rsplit('_').next()?.parse().ok()?;
        Some(Self {
            name,
            items,
            rows: OnceLock::new(),
        })
    }

    fn rows(&self) -> &EmbeddingRows {
        self.rows
            .get_or_init(|| item_rows(self.items, FEATURES, ROWS))
    }

    /// The score of every item.
    fn scores<'a>(&'a self, weights: &[f64], x: &[f64]) -> impl Fn(usize) -> f64 + 'a {
        let scale = 1.0 / ((FEATURES * (1 + CONTEXT)) as f64).sqrt();
        let direction: Vec<f64> = (weights.chunks_exact(1 + CONTEXT))
            .map(|w| {
                let moved = w[1..].iter().zip(x).map(|(w, x)| w * (2.0 * x - 1.0));
                scale * (w[0] + 1.7 * moved.sum::<f64>())
            })
            .collect();
        let rows = self.rows().values();
        move |item| {
            let row = &rows[item * FEATURES..][..FEATURES];
            let products = row.iter().zip(&direction);
            products.map(|(e, w)| f64::from(*e) * w).sum()
        }
    }

    /// The best items, the best first.
    fn best(&self, weights: &[f64], x: &[f64]) -> [(f64, usize); SIZE] {
        let score = self.scores(weights, x);
        let mut best = [(f64::NEG_INFINITY, 0); SIZE];
        for item in 0..self.items {
            let mut candidate = (score(item), item);
            for place in &mut best {
                if place.0 < candidate.0 {
                    std::mem::swap(place, &mut candidate);
                }
            }
        }
        best
    }
}

fn wrong(sum: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-1.5 + 1.2 * sum / (SIZE as f64).sqrt()))
}

impl SpaceLoss for ExamplesLoss {
    type Action = ItemSet;

    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> String {
        format!(
            "3 of {} items of 16 features e, P(loss) = σ(1.5 − 1.2·s), s = Σ ⟨w₀ + 1.7·Σ wⱼ(2xⱼ − 1), e⟩/√144 over the three, w standard normal",
            self.items
        )
    }

    fn spec(&self) -> ModelSpec {
        let items = Items::new(self.rows().clone()).expect("at least one item");
        ModelSpec::new(Sets::new(items, SIZE).expect("at least three"), CONTEXT)
    }

    fn weights(&self, rng: &mut EventRng) -> Vec<f64> {
        normals(FEATURES * (1 + CONTEXT), rng).collect()
    }

    fn mean(&self, weights: &[f64], x: &[f64], action: &ItemSet) -> f64 {
        let score = self.scores(weights, x);
        let scores = action.items().iter().map(|item| score(item.0 as usize));
        wrong(scores.sum())
    }

    fn least(&self, weights: &[f64], x: &[f64]) -> f64 {
        wrong(self.best(weights, x).iter().map(|(score, _)| score).sum())
    }

    fn zero_one(&self) -> bool {
        true
    }

    fn embeddings(&self) -> Option<&EmbeddingRows> {
        Some(self.rows())
    }
}

#[cfg(test)]
mod tests {
    use egret::Item;

    use super::*;
    use crate::worlds::spaces::checks::check_world;

    #[test]
    fn the_three_best_items_are_the_best_set() {
        let loss = ExamplesLoss::named("sets_300").expect("listed");
        check_world(loss, |loss, weights, x| {
            let best = loss.best(weights, x).map(|(_, item)| Item(item as u32));
            ItemSet::new(best).expect("all different")
        });
    }
}
