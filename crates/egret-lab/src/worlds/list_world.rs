use egret::{
    Catalogue, Context, EventRng, Item, ItemList, Loss, ModelSpec, OracleSpec, OracleSpecError,
    ReferenceMeasure, RegressionOracle, Stream,
};

use crate::environment::{Environment, World};
use crate::worlds::normals::normals;
use crate::worlds::{KnownRounds, KnownWorld};

/// A short list of items without features.
///
/// Contexts are uniform on [0, 1]⁵. P(loss) = σ(½ + n₀ + 1.3·Σ nᵢ(2xᵢ − 1)), where a seed draws the six standard normal n of each item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListWorld {
    name: &'static str,
    items: usize,
}

const CONTEXT: usize = 5;

impl ListWorld {
    /// The names of all.
    pub const NAMES: [&'static str; 4] = ["list_2", "list_10", "list_100", "list_1000"];

    /// The world of this name.
    pub fn named(name: &str) -> Option<Self> {
        let name = Self::NAMES.into_iter().find(|of| *of == name)?;
        let items = name.rsplit('_').next()?.parse().ok()?;
        Some(Self { name, items })
    }

    fn list(&self) -> ItemList {
        ItemList::new(self.items).expect("at most 1,000")
    }

    fn rounds(&self, seed: u64, rounds: usize) -> ListRounds {
        let mut rng = EventRng::new(seed, 0, Stream::World);
        let weights: Vec<f64> = normals(self.items * (1 + CONTEXT), &mut rng).collect();
        let round = |round: usize| {
            let mut rng = EventRng::new(seed, 1 + round as u64, Stream::World);
            let chance = rng.unit();
            let x: Vec<f64> = (0..CONTEXT).map(|_| rng.unit()).collect();
            (Context::dense(x).expect("within (0, 1)"), chance)
        };
        ListRounds {
            rounds: (0..rounds).map(round).collect(),
            weights,
        }
    }
}

/// Rounds of a seed.
struct ListRounds {
    /// Contexts, each with a chance that is the same for every item.
    rounds: Vec<(Context, f64)>,
    /// n of each item.
    weights: Vec<f64>,
}

impl ListRounds {
    /// The mean loss of every item.
    fn losses(&self, round: usize) -> impl Iterator<Item = f64> {
        let x = self.rounds[round].0.as_dense().expect("it was made so");
        self.weights.chunks_exact(1 + CONTEXT).map(move |n| {
            let moved = n[1..].iter().zip(x).map(|(n, x)| n * (2.0 * x - 1.0));
            1.0 / (1.0 + libm::exp(-0.5 - n[0] - 1.3 * moved.sum::<f64>()))
        })
    }
}

impl KnownRounds<Item> for ListRounds {
    fn mean_loss(&self, round: usize, action: &Item) -> f64 {
        let mut losses = self.losses(round);
        losses.nth(action.0 as usize).expect("an item of the list")
    }

    fn best(&self, round: usize) -> f64 {
        self.losses(round).fold(1.0, f64::min)
    }

    fn uniform(&self, round: usize) -> f64 {
        let items = self.weights.len() / (1 + CONTEXT);
        self.losses(round).sum::<f64>() / items as f64
    }
}

impl World<Item> for ListRounds {
    fn rounds(&self) -> usize {
        self.rounds.len()
    }

    fn context(&self, round: usize) -> &Context {
        &self.rounds[round].0
    }

    fn loss(&self, round: usize, action: &Item) -> Loss {
        let lost = self.rounds[round].1 < self.mean_loss(round, action);
        Loss::new(f64::from(u8::from(lost))).expect("0 or 1")
    }
}

impl KnownWorld<Item> for ListWorld {
    fn about(&self) -> String {
        format!(
            "{} items without features, P(loss) = σ(½ + n₀ + 1.3·Σ nᵢ(2xᵢ − 1)), n of each item standard normal",
            self.items
        )
    }

    fn truth(&self, seed: u64, rounds: usize) -> Box<dyn KnownRounds<Item> + '_> {
        Box::new(self.rounds(seed, rounds))
    }
}

impl Environment<Item> for ListWorld {
    fn name(&self) -> &str {
        self.name
    }

    fn fingerprint(&self) -> String {
        format!("list world {}: {}", self.name, self.about())
    }

    fn context_dim(&self) -> usize {
        CONTEXT
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, Item>> {
        Box::new(Catalogue::uniform(self.items).expect("at least one item"))
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, Item>>, OracleSpecError> {
        ModelSpec::new(self.list(), CONTEXT)
            .with_oracle(spec.clone())
            .build_oracle()
    }

    fn default_oracle(&self, seed: u64) -> OracleSpec {
        OracleSpec::default_on_list(self.items, seed)
    }

    fn world(&self, seed: u64, rounds: usize) -> Box<dyn World<Item> + '_> {
        Box::new(self.rounds(seed, rounds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_have_their_probability_between_the_best_and_the_worst() {
        let world = ListWorld::named("list_10").expect("listed");
        let (count, rounds) = (4_000, world.rounds(3, 4_000));
        let (mut off, mut variance) = (0.0, 0.0);
        for round in 0..count {
            let item = Item((round % 10) as u32);
            let mean = rounds.mean_loss(round, &item);
            assert!(rounds.best(round) <= mean && rounds.best(round) < rounds.uniform(round));
            off += rounds.loss(round, &item).get() - mean;
            variance += mean * (1.0 - mean);
        }
        // Seven standard errors: an alarm once in 10¹¹.
        assert!(off.abs() < 7.0 * f64::sqrt(variance), "{off}");
    }
}
