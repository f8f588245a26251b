use std::sync::Arc;

use egret::{
    Catalogue, Context, EmbeddingRows, EventRng, Item, Items, OracleSpec, OracleSpecError,
    ReferenceMeasure, RegressionOracle, Stream,
};

use crate::environment::simulator::{LossModel, affine, constants, oracle_over, sigmoid};

const DIM: usize = 8;
const CONTEXT: usize = 4;

/// Items with embeddings e in [−1, 1]⁸; f(x, e) = 0.9 − 0.8 σ(2 ⟨e, W (1, 2x − 1)⟩ − 2).
///
/// Few items are good anywhere, and x decides which. The embeddings are made once and shared between copies; each oracle has
/// its own table.
#[derive(Debug, Clone)]
pub struct CatalogueLossModel {
    embeddings: Arc<[[f64; DIM]]>,
    weights: [f64; DIM * (1 + CONTEXT)],
}

impl CatalogueLossModel {
    /// A catalogue with this many items.
    ///
    /// # Panics
    /// If `items` is 0, or more than a [`Catalogue`] may have.
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

    /// The embedding of an item.
    ///
    /// # Panics
    /// If there is no such item.
    pub fn embedding(&self, item: Item) -> &[f64] {
        &self.embeddings[item.0 as usize]
    }

    fn items(&self) -> Items {
        let values = self.embeddings.as_flattened().to_vec();
        let rows = EmbeddingRows::new(DIM, values).expect("at least one whole row");
        Items::new(rows).expect("a number of items that a catalogue may have")
    }
}

fn score(embedding: &[f64; DIM], v: &[f64; DIM]) -> f64 {
    embedding.iter().zip(v).map(|(e, v)| e * v).sum()
}

impl LossModel for CatalogueLossModel {
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
        Box::new(Catalogue::uniform(items).expect("checked by `new`"))
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, Item>>, OracleSpecError> {
        oracle_over(self.items(), CONTEXT, spec)
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

    /// Searches all items.
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
    use egret::{Forecaster, Model, ModelSpec, Settings};

    use super::*;
    use crate::environment::simulator::checks::{check_default_oracle, check_model, regrets};
    use crate::environment::{Environment, Simulator};

    #[test]
    fn no_action_beats_the_best() {
        check_model(CatalogueLossModel::new(100_000), 400, |best, rng| {
            Item((best.0 + (100_000.0 * rng.unit()) as u32) % 100_000)
        });
        // With few items, compare with all of them.
        let few = CatalogueLossModel::new(50);
        let x = [0.2, 0.9, 0.5, 0.4];
        let least = few.expected(&x, &few.best(&x));
        let all = (0..50).map(|item| few.expected(&x, &Item(item)));
        assert_eq!(all.reduce(f64::min), Some(least));
    }

    #[test]
    fn other_numbers_of_items_are_other_problems() {
        let print = |items| Simulator::new(CatalogueLossModel::new(items)).fingerprint();
        assert_eq!(print(50), print(50));
        assert_ne!(print(50), print(51));
    }

    #[test]
    fn the_default_oracle_is_that_of_the_default_model() {
        let catalogue = CatalogueLossModel::new(500);
        let settings = Settings::default().with_seed(7);
        let spec = ModelSpec::new(catalogue.items(), CONTEXT).with_seed(7);
        let model = Model::from_spec(spec, settings).expect("rows for all");
        check_default_oracle(catalogue, model.learner());
    }

    #[test]
    fn a_learner_beats_uniform_play() {
        let linear = OracleSpec::LeastSquares {
            forecaster: Forecaster::Ridge,
            lambda: 1.0,
            squares: false,
        };
        let (learned, uniform) = regrets(CatalogueLossModel::new(100_000), &linear, 2_000);
        assert!(learned < uniform / 2.0, "{learned} {uniform}");
    }
}
