use std::sync::OnceLock;

use egret::{
    Catalogue, Context, EmbeddingRows, EventRng, Item, Items, Loss, ModelSpec, OracleSpec,
    OracleSpecError, ReferenceMeasure, RegressionOracle, Stream,
};

use crate::environment::{Environment, World};
use crate::worlds::normals::{item_rows, normals};
use crate::worlds::{KnownRounds, KnownWorld};

/// A catalogue whose visitors click or not.
///
/// An item has 32 features e and a context x has 8, all standard normal. A click has the probability σ(−2.5 + 1.5·⟨Wx, e⟩), and no
/// click is a loss of 1. The items are the same for every seed; W, contexts and clicks are the seed's.
#[derive(Debug)]
pub struct ItemWorld {
    name: &'static str,
    items: usize,
    /// Whether W changes halfway.
    shifts: bool,
    rows: OnceLock<EmbeddingRows>,
}

const FEATURES: usize = 32;
const CONTEXT: usize = 8;

/// The seed of the items. From a seed that is also played, such as 0, W would be made of the same numbers.
const ROWS: u64 = 0x17E35;

impl ItemWorld {
    /// The names of all.
    pub const NAMES: [&'static str; 3] =
        ["catalogue_2000", "catalogue_200000", "catalogue_shift_2000"];

    /// The world of this name.
    pub fn named(name: &str) -> Option<Self> {
        let name = Self::NAMES.into_iter().find(|of| *of == name)?;
        let items = name.rsplit('_').next()?.parse().ok()?;
        Some(Self {
            name,
            items,
            shifts: name.contains("shift"),
            rows: OnceLock::new(),
        })
    }

    fn rows(&self) -> &EmbeddingRows {
        self.rows
            .get_or_init(|| item_rows(self.items, FEATURES, ROWS))
    }

    fn rounds(&self, seed: u64, rounds: usize) -> ItemRounds<'_> {
        let mut rng = EventRng::new(seed, 0, Stream::World);
        // ⟨Wx, e⟩ has about the deviation 1.7.
        let scale = 1.7 / ((CONTEXT * FEATURES) as f64).sqrt();
        let mut matrix = || normals(FEATURES * CONTEXT, &mut rng).collect::<Vec<f64>>();
        let (first, second) = (matrix(), matrix());
        let round = |round: usize| {
            let mut rng = EventRng::new(seed, 1 + round as u64, Stream::World);
            let chance = rng.unit();
            let x: Vec<f64> = normals(CONTEXT, &mut rng).collect();
            let matrix = if self.shifts && rounds / 2 <= round {
                &second
            } else {
                &first
            };
            let rows = matrix.chunks_exact(CONTEXT);
            let product =
                rows.map(|row| scale * row.iter().zip(&x).map(|(w, x)| w * x).sum::<f64>());
            ItemRound {
                direction: product.map(|value| value as f32).collect(),
                context: Context::dense(x).expect("finite"),
                chance,
            }
        };
        ItemRounds {
            rows: self.rows(),
            rounds: (0..rounds).map(round).collect(),
            best: (0..rounds.div_ceil(self.together()))
                .map(|_| OnceLock::new())
                .collect(),
            together: self.together(),
            seed,
        }
    }

    /// So many rounds share a search for the best item: it predicts all of them.
    fn together(&self) -> usize {
        self.items.div_ceil(SEARCHED)
    }
}

/// The most items that are searched in every round.
const SEARCHED: usize = 4_096;

/// The uniform policy's loss in a round is the mean over so many draws.
const DRAWS: usize = 16;

/// Rounds of a seed.
struct ItemRounds<'a> {
    rows: &'a EmbeddingRows,
    rounds: Vec<ItemRound>,
    /// The least loss, of the first round of each group.
    best: Vec<OnceLock<f64>>,
    together: usize,
    seed: u64,
}

struct ItemRound {
    context: Context,
    /// Wx.
    direction: Vec<f32>,
    /// The same for every item.
    chance: f64,
}

impl ItemRounds<'_> {
    /// ⟨Wx, e⟩.
    fn score(&self, round: usize, item: usize) -> f32 {
        let row = &self.rows.values()[item * FEATURES..][..FEATURES];
        let mut sums = [0.0; 8];
        for (a, b) in row
            .chunks_exact(8)
            .zip(self.rounds[round].direction.chunks_exact(8))
        {
            for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
                *sum += a * b;
            }
        }
        sums.iter().sum()
    }
}

/// The probability of no click.
fn no_click(score: f32) -> f64 {
    1.0 / (1.0 + libm::exp(-2.5 + 1.5 * f64::from(score)))
}

impl KnownRounds<Item> for ItemRounds<'_> {
    fn mean_loss(&self, round: usize, action: &Item) -> f64 {
        no_click(self.score(round, action.0 as usize))
    }

    fn best(&self, round: usize) -> f64 {
        let group = round / self.together;
        *self.best[group].get_or_init(|| {
            let scores = (0..self.rows.len()).map(|item| self.score(group * self.together, item));
            no_click(scores.fold(f32::NEG_INFINITY, f32::max))
        })
    }

    fn uniform(&self, round: usize) -> f64 {
        let mut rng = EventRng::new(self.seed, 1 + round as u64, Stream::Replay);
        let losses = (0..DRAWS).map(|_| {
            let item = (rng.unit() * self.rows.len() as f64) as usize;
            no_click(self.score(round, item))
        });
        losses.sum::<f64>() / DRAWS as f64
    }
}

impl World<Item> for ItemRounds<'_> {
    fn rounds(&self) -> usize {
        self.rounds.len()
    }

    fn context(&self, round: usize) -> &Context {
        &self.rounds[round].context
    }

    fn loss(&self, round: usize, action: &Item) -> Loss {
        let clicked = self.mean_loss(round, action) <= self.rounds[round].chance;
        Loss::new(f64::from(u8::from(!clicked))).expect("0 or 1")
    }
}

impl KnownWorld<Item> for ItemWorld {
    fn about(&self) -> String {
        let shifts = if self.shifts {
            "; from halfway on W is another"
        } else {
            ""
        };
        format!(
            "{} items of 32 features e, 8 features x of a context, P(click) = σ(−2.5 + 1.5·⟨Wx, e⟩), loss 1 without a click{shifts}",
            self.items
        )
    }

    fn truth(&self, seed: u64, rounds: usize) -> Box<dyn KnownRounds<Item> + '_> {
        Box::new(self.rounds(seed, rounds))
    }
}

impl Environment<Item> for ItemWorld {
    fn name(&self) -> &str {
        self.name
    }

    fn fingerprint(&self) -> String {
        format!("item world {}, items {ROWS}: {}", self.name, self.about())
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
        let items = Items::new(self.rows().clone()).expect("at least one item");
        ModelSpec::new(items, CONTEXT)
            .with_oracle(spec.clone())
            .build_oracle()
    }

    fn default_oracle(&self, seed: u64) -> OracleSpec {
        OracleSpec::default_on_features(self.items, FEATURES, seed)
    }

    fn world(&self, seed: u64, rounds: usize) -> Box<dyn World<Item> + '_> {
        Box::new(self.rounds(seed, rounds))
    }

    fn embeddings(&self) -> Option<&EmbeddingRows> {
        Some(self.rows())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clicks_have_their_probability_and_the_best_item_is_the_best() {
        let world = ItemWorld::named("catalogue_2000").expect("listed");
        let (count, rounds) = (4_000, world.rounds(3, 4_000));
        let (mut off, mut variance, mut uniform) = (0.0, 0.0, 0.0);
        for round in 0..count {
            let item = Item((round % 2_000) as u32);
            let mean = rounds.mean_loss(round, &item);
            assert!(rounds.best(round) <= mean);
            off += rounds.loss(round, &item).get() - mean;
            variance += mean * (1.0 - mean);
            uniform += rounds.uniform(round) / count as f64;
        }
        // Seven standard errors: an alarm once in 10¹¹.
        assert!(off.abs() < 7.0 * variance.sqrt(), "{off}");
        assert!((0.75..0.85).contains(&uniform), "{uniform}");
        let items = (0..2_000).map(|item| rounds.mean_loss(7, &Item(item)));
        assert_eq!(items.fold(1.0, f64::min), rounds.best(7));
    }
}
