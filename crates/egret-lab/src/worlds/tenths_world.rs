use std::sync::Arc;

use egret::{
    Catalogue, Context, Item, ItemList, Loss, ModelSpec, OracleSpec, OracleSpecError,
    ReferenceMeasure, RegressionOracle,
};

use crate::environment::{Environment, Supervised, World};
use crate::worlds::{KnownRounds, KnownWorld};

/// A data set made into classification: the learner guesses in which tenth of all labels one is, and loses 1 where it is wrong.
///
/// Tenths are of equal size but for labels that are equal.
#[derive(Debug, Clone)]
pub struct TenthsWorld {
    name: String,
    data: Arc<Supervised>,
    /// The least label of each tenth but the first.
    edges: Vec<f64>,
}

const TENTHS: usize = 10;

impl TenthsWorld {
    /// The last part of its name.
    pub const WORD: &'static str = "tenths";

    /// Named after the data set: `44025_california/tenths`.
    pub fn new(data: Arc<Supervised>) -> Self {
        let mut labels: Vec<f64> = data.rows().iter().map(|(_, label)| *label).collect();
        labels.sort_unstable_by(f64::total_cmp);
        let edges = (1..TENTHS).map(|tenth| labels[tenth * labels.len() / TENTHS]);
        Self {
            name: format!("{}/{}", data.name(), Self::WORD),
            edges: edges.collect(),
            data,
        }
    }

    fn rounds(&self, seed: u64, rounds: usize) -> TenthsRounds<'_> {
        let order = self.data.shuffled(seed, rounds).into_iter();
        let round = |row: u32| {
            let (context, label) = &self.data.rows()[row as usize];
            let tenth = self.edges.partition_point(|edge| edge <= label);
            (context, Item(tenth as u32))
        };
        TenthsRounds {
            rounds: order.map(round).collect(),
        }
    }
}

/// Rounds of a seed: contexts and right answers.
struct TenthsRounds<'a> {
    rounds: Vec<(&'a Context, Item)>,
}

impl KnownRounds<Item> for TenthsRounds<'_> {
    fn mean_loss(&self, round: usize, action: &Item) -> f64 {
        f64::from(u8::from(self.rounds[round].1 != *action))
    }

    fn best(&self, _round: usize) -> f64 {
        0.0
    }

    fn uniform(&self, _round: usize) -> f64 {
        1.0 - 1.0 / TENTHS as f64
    }
}

impl World<Item> for TenthsRounds<'_> {
    fn rounds(&self) -> usize {
        self.rounds.len()
    }

    fn context(&self, round: usize) -> &Context {
        self.rounds[round].0
    }

    fn loss(&self, round: usize, action: &Item) -> Loss {
        Loss::new(self.mean_loss(round, action)).expect("0 or 1")
    }
}

impl KnownWorld<Item> for TenthsWorld {
    fn about(&self) -> String {
        "ten items, loss 0 for the tenth of all labels that the label is in, otherwise 1".to_owned()
    }

    fn truth(&self, seed: u64, rounds: usize) -> Box<dyn KnownRounds<Item> + '_> {
        Box::new(self.rounds(seed, rounds))
    }
}

impl Environment<Item> for TenthsWorld {
    fn name(&self) -> &str {
        &self.name
    }

    fn fingerprint(&self) -> String {
        format!(
            "{} {:08x}, {}",
            self.name,
            self.data.checksum(),
            self.about()
        )
    }

    fn context_dim(&self) -> usize {
        self.data.width()
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, Item>> {
        Box::new(Catalogue::uniform(TENTHS).expect("ten items"))
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, Item>>, OracleSpecError> {
        let list = ItemList::new(TENTHS).expect("ten items");
        ModelSpec::new(list, self.data.width())
            .with_oracle(spec.clone())
            .build_oracle()
    }

    fn default_oracle(&self, seed: u64) -> OracleSpec {
        OracleSpec::default_on_list(TENTHS, seed)
    }

    fn world(&self, seed: u64, rounds: usize) -> Box<dyn World<Item> + '_> {
        Box::new(self.rounds(seed, rounds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tenth_has_its_share_of_the_rows() {
        let rows = (0..1_000).map(|row| {
            let x = Context::dense(vec![f64::from(row)]).expect("finite");
            (x, f64::from(row * row) / 1e6)
        });
        let data = Supervised::new("squares", rows.collect()).expect("sound");
        let world = TenthsWorld::new(Arc::new(data));
        assert_eq!(world.name(), "squares/tenths");
        let rounds = world.rounds(4, 1_000);
        let mut counts = [0; TENTHS];
        for round in 0..1_000 {
            let row = rounds.context(round).as_dense().expect("numbers")[0];
            let right = Item(row as u32 / 100);
            counts[right.0 as usize] += 1;
            assert_eq!(rounds.mean_loss(round, &right), 0.0);
            let wrong = Item((right.0 + 1) % 10);
            assert_eq!(rounds.loss(round, &wrong).get(), 1.0);
        }
        assert_eq!(counts, [100; TENTHS]);
    }
}
