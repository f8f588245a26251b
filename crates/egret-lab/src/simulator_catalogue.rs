use std::ops::Range;
use std::sync::Arc;

use egret::{
    ActionFeatures, Catalogue, Context, EventRng, Item, OracleSpec, OracleSpecError,
    ReferenceMeasure, RegressionOracle, Stream,
};

use crate::Truth;
use crate::simulator::{affine, constants, sigmoid};

const DIM: usize = 8;
const CONTEXT: usize = 4;

/// Items with embeddings e in [−1, 1]⁸; f(x, e) = 0.9 − 0.8 σ(2 ⟨e, W (1, 2x − 1)⟩ − 2).
///
/// Few items are good anywhere, and which are turns with x. The embeddings are made once and shared by copies and
/// by oracles.
#[derive(Debug, Clone)]
pub struct CatalogueTruth {
    embeddings: Arc<[[f64; DIM]]>,
    weights: [f64; DIM * (1 + CONTEXT)],
}

impl CatalogueTruth {
    /// So many items.
    ///
    /// # Panics
    /// If there are none, or more than a [`Catalogue`] may have.
    pub fn new(items: usize) -> Self {
        Catalogue::uniform(items).expect("a number of items that a catalogue may have");
        let mut rng = EventRng::new(0xca, 1, Stream::World);
        let mut row = || {
            let mut row = [0.0; DIM];
            rng.fill_unit(&mut row);
            row.map(|u| 2.0 * u - 1.0)
        };
        Self {
            embeddings: (0..items).map(|_| row()).collect(),
            weights: constants(0xca),
        }
    }

    /// What is known of an item.
    ///
    /// # Panics
    /// If there is no such item.
    pub fn embedding(&self, item: Item) -> &[f64] {
        &self.embeddings[item.0 as usize]
    }
}

fn score(embedding: &[f64; DIM], v: &[f64; DIM]) -> f64 {
    embedding.iter().zip(v).map(|(e, v)| e * v).sum()
}

impl Truth for CatalogueTruth {
    type Action = Item;

    fn name(&self) -> &str {
        "catalogue"
    }

    fn fingerprint(&self) -> String {
        format!("catalogue of {} items", self.embeddings.len())
    }

    fn context_dim(&self) -> usize {
        CONTEXT
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, Item>> {
        let items = self.embeddings.len();
        Box::new(Catalogue::uniform(items).expect("checked when it was made"))
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, Item>>, OracleSpecError> {
        spec.over(CONTEXT, &SharedEmbeddings(self.embeddings.clone()))
    }

    fn action_dim(&self) -> Option<usize> {
        Some(DIM)
    }

    /// # Panics
    /// If there is no such item.
    fn expected(&self, x: &[f64], action: &Item) -> f64 {
        let v = affine(&self.weights, x);
        let embedding = &self.embeddings[action.0 as usize];
        0.9 - 0.8 * sigmoid(2.0 * score(embedding, &v) - 2.0)
    }

    /// Looks at every item.
    fn best(&self, x: &[f64]) -> Item {
        let v = affine(&self.weights, x);
        let mut best = (0, f64::NEG_INFINITY);
        for (item, embedding) in self.embeddings.iter().enumerate() {
            let score = score(embedding, &v);
            if best.1 < score {
                best = (item as u32, score);
            }
        }
        Item(best.0)
    }
}

/// What an oracle sees of items.
#[derive(Debug, Clone)]
struct SharedEmbeddings(Arc<[[f64; DIM]]>);

impl ActionFeatures<Item> for SharedEmbeddings {
    fn dim(&self) -> usize {
        DIM
    }

    fn fill(&self, actions: &Vec<Item>, range: Range<usize>, out: &mut [f64]) {
        let n = range.len();
        for (i, item) in actions[range].iter().enumerate() {
            let row = self.0.get(item.0 as usize);
            for j in 0..DIM {
                out[j * n + i] = row.map_or(f64::NAN, |row| row[j]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use egret::Forecaster;

    use super::*;
    use crate::simulator::tests::{check_truth, regrets};
    use crate::{Environment, Simulator};

    #[test]
    fn the_truth_is_as_told() {
        check_truth(CatalogueTruth::new(100_000), 400, |best, rng| {
            Item((best.0 + (100_000.0 * rng.unit()) as u32) % 100_000)
        });
        // Of few items, each is looked at.
        let few = CatalogueTruth::new(50);
        let x = [0.2, 0.9, 0.5, 0.4];
        let least = few.expected(&x, &few.best(&x));
        let all = (0..50).map(|item| few.expected(&x, &Item(item)));
        assert_eq!(all.reduce(f64::min), Some(least));
    }

    #[test]
    fn other_numbers_of_items_are_other_problems() {
        let print = |items| Simulator::new(CatalogueTruth::new(items)).fingerprint();
        assert_eq!(print(50), print(50));
        assert_ne!(print(50), print(51));
    }

    #[test]
    fn a_learner_beats_uniform_play() {
        let linear = OracleSpec::Linear {
            forecaster: Forecaster::Ridge,
            lambda: 1.0,
            squares: false,
        };
        let (learned, uniform) = regrets(CatalogueTruth::new(100_000), &linear, 2_000);
        assert!(learned < uniform / 2.0, "{learned} {uniform}");
    }
}
