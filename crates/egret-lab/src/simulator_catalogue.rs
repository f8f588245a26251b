use std::sync::Arc;

use egret::{
    Blueprint, Catalogue, Context, EventRng, Item, OracleSpec, OracleSpecError, ReferenceMeasure,
    RegressionOracle, Space, Stream, Table,
};

use crate::Truth;
use crate::simulator::{affine, constants, sigmoid};

const DIM: usize = 8;
const CONTEXT: usize = 4;

/// Items with embeddings e in [−1, 1]⁸; f(x, e) = 0.9 − 0.8 σ(2 ⟨e, W (1, 2x − 1)⟩ − 2).
///
/// Few items are good anywhere, and which are turns with x. The embeddings are made once and shared by copies; each
/// oracle has a table of its own.
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

    /// What is known of all items.
    fn table(&self) -> Table {
        Table {
            dim: DIM,
            rows: self.embeddings.as_flattened().to_vec(),
        }
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
        let blueprint = Blueprint {
            space: Space::Items {
                count: self.embeddings.len(),
                weights: None,
            },
            context_dim: CONTEXT,
            embeddings: Some(self.table()),
            oracle: spec.clone(),
        };
        blueprint.item_oracle()
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

#[cfg(test)]
mod tests {
    use egret::{AnyLearner, Forecaster, Model};

    use super::*;
    use crate::simulator::tests::{check_truth, check_untuned, regrets};
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
    fn the_default_is_the_model_without_tuning() {
        let truth = CatalogueTruth::new(500);
        let model = Model::untuned_items(truth.table(), CONTEXT, 7).expect("rows for all");
        let AnyLearner::Item(learner) = &model.learner else {
            unreachable!("a catalogue has items");
        };
        check_untuned(truth, learner);
    }

    #[test]
    fn a_learner_beats_uniform_play() {
        let linear = OracleSpec::LeastSquares {
            forecaster: Forecaster::Ridge,
            lambda: 1.0,
            squares: false,
        };
        let (learned, uniform) = regrets(CatalogueTruth::new(100_000), &linear, 2_000);
        assert!(learned < uniform / 2.0, "{learned} {uniform}");
    }
}
