use std::sync::Arc;

use egret::{
    Context, EventRng, OracleSpec, OracleSpecError, ReferenceMeasure, RegressionOracle, Stream,
};

use crate::environment::{Environment, LossFunction, Supervised, SupervisedToBandit, World};
use crate::worlds::mean_loss::MeanLoss;
use crate::worlds::noisy_rounds::{Noise, NoisyRound, NoisyRounds};
use crate::worlds::{KnownRounds, KnownWorld};

/// A data set whose labels decide how likely outcomes are, so that the mean loss of every action is known.
///
/// Contexts are those of the data, by name for learners that take them so. Each round draws one chance, the same for every
/// action.
#[derive(Debug, Clone)]
pub struct DataWorld {
    name: String,
    outcome: DataOutcome,
    bandit: SupervisedToBandit,
}

/// What is observed of an action a at a label y, both in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataOutcome {
    /// A loss of 1 with probability |y − a|, else 0.
    ZeroOne,
    /// A customer who values the product at y buys at price a with probability σ((y − a)/0.05). The loss of a sale is 1 − a,
    /// otherwise 1.
    Sale,
}

impl DataOutcome {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::ZeroOne, Self::Sale];

    /// The last part of a world's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::ZeroOne => "zero_one",
            Self::Sale => "sale",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::ZeroOne => "P(loss) = |y − a|, y the label scaled to [0, 1]",
            Self::Sale => {
                "a price in [0, 1], P(sale) = σ((y − a)/.05), loss 1 − a or 1, y the label scaled to [0, 1]"
            }
        }
    }

    fn noise(self) -> Noise {
        match self {
            Self::ZeroOne => Noise::ZeroOne,
            Self::Sale => Noise::Sale,
        }
    }

    fn mean_loss(self, label: f64) -> MeanLoss {
        match self {
            Self::ZeroOne => MeanLoss::distance(label),
            Self::Sale => MeanLoss::Price {
                worth: label,
                buyers: 1.0,
                scale: 0.05,
                highest: 1.0,
            },
        }
    }
}

impl DataWorld {
    /// Named after both: `44025_california/sale`.
    pub fn new(data: Arc<Supervised>, outcome: DataOutcome) -> Self {
        // The loss without noise; of the bandit, only contexts are used.
        let loss = match outcome {
            DataOutcome::ZeroOne => LossFunction::Absolute,
            DataOutcome::Sale => LossFunction::Pricing,
        };
        Self {
            name: format!("{}/{}", data.name(), outcome.word()),
            outcome,
            bandit: SupervisedToBandit::new(data, loss),
        }
    }

    fn fingerprint_of(&self, contexts: &dyn Environment<f64>) -> String {
        format!("{}, {}", contexts.fingerprint(), self.outcome.about())
    }

    fn known_rounds(&self, seed: u64, rounds: usize) -> NoisyRounds {
        self.rounds_with(&self.bandit, seed, rounds)
    }

    /// The rounds of a seed, with the contexts of this environment.
    fn rounds_with(
        &self,
        contexts: &dyn Environment<f64>,
        seed: u64,
        rounds: usize,
    ) -> NoisyRounds {
        let data = self.bandit.data();
        let contexts = contexts.world(seed, rounds);
        let order = data.shuffled(seed, rounds).into_iter().enumerate();
        let rounds = order.map(|(round, row)| NoisyRound {
            context: contexts.context(round).clone(),
            mean_loss: self.outcome.mean_loss(data.rows()[row as usize].1),
            // The generator of event 0 shuffles the rows.
            chance: EventRng::new(seed, round as u64 + 1, Stream::World).unit(),
        });
        NoisyRounds::new((0.0, 1.0), self.outcome.noise(), rounds.collect())
    }
}

impl KnownWorld<f64> for DataWorld {
    fn about(&self) -> String {
        self.outcome.about().to_owned()
    }

    fn truth(&self, seed: u64, rounds: usize) -> Box<dyn KnownRounds<f64> + '_> {
        Box::new(self.known_rounds(seed, rounds))
    }
}

impl Environment<f64> for DataWorld {
    fn name(&self) -> &str {
        &self.name
    }

    fn fingerprint(&self) -> String {
        self.fingerprint_of(&self.bandit)
    }

    fn context_dim(&self) -> usize {
        self.bandit.context_dim()
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, f64>> {
        self.bandit.measure()
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, f64>>, OracleSpecError> {
        self.bandit.oracle(spec)
    }

    fn default_oracle(&self, seed: u64) -> OracleSpec {
        self.bandit.default_oracle(seed)
    }

    fn world(&self, seed: u64, rounds: usize) -> Box<dyn World<f64> + '_> {
        Box::new(self.known_rounds(seed, rounds))
    }

    fn named(&self, seed: u64) -> Option<Box<dyn Environment<f64> + '_>> {
        let contexts = self.bandit.named(seed)?;
        Some(Box::new(NamedDataWorld {
            world: self,
            contexts,
        }))
    }
}

/// The same rounds with features by name.
struct NamedDataWorld<'a> {
    world: &'a DataWorld,
    contexts: Box<dyn Environment<f64> + 'a>,
}

impl Environment<f64> for NamedDataWorld<'_> {
    fn name(&self) -> &str {
        &self.world.name
    }

    fn fingerprint(&self) -> String {
        self.world.fingerprint_of(&*self.contexts)
    }

    fn context_dim(&self) -> usize {
        self.contexts.context_dim()
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, f64>> {
        self.contexts.measure()
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, f64>>, OracleSpecError> {
        self.contexts.oracle(spec)
    }

    fn default_oracle(&self, seed: u64) -> OracleSpec {
        self.contexts.default_oracle(seed)
    }

    fn world(&self, seed: u64, rounds: usize) -> Box<dyn World<f64> + '_> {
        Box::new(self.world.rounds_with(&*self.contexts, seed, rounds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Column, Encoding, Table, Values};

    /// Labels √u over [0, 1], each with its u as the context.
    fn data() -> Arc<Supervised> {
        let rows = (0..2_000).map(|row| {
            let u = (f64::from(row) + 0.5) / 2_000.0;
            (Context::dense(vec![u]).expect("finite"), u.sqrt())
        });
        Arc::new(Supervised::new("roots", rows.collect()).expect("sound"))
    }

    fn worlds() -> [DataWorld; 2] {
        DataOutcome::ALL.map(|outcome| DataWorld::new(data(), outcome))
    }

    const GRID: usize = 1_000;

    fn grid() -> impl Iterator<Item = f64> {
        (0..=GRID).map(|n| n as f64 / GRID as f64)
    }

    #[test]
    fn observed_losses_have_their_mean() {
        // By Hoeffding's inequality the mean of n losses in [0, 1] is further than d from its expectation with probability at
        // most 2·exp(−2nd²): 4e-9 at each of 2·21 places.
        let (seeds, rows) = (10, 2_000);
        let n = (seeds * rows) as f64;
        let allowed = (10.0 / n).sqrt();
        for world in worlds() {
            let runs: Vec<_> = (1..=seeds)
                .map(|seed| world.known_rounds(seed, 2_000))
                .collect();
            for action in grid().step_by(GRID / 20) {
                let off = |rounds: &NoisyRounds| -> f64 {
                    (0..rounds.rounds())
                        .map(|round| {
                            rounds.loss(round, &action).get() - rounds.mean_loss(round, action)
                        })
                        .sum()
                };
                let off = runs.iter().map(off).sum::<f64>() / n;
                assert!(off.abs() <= allowed, "{}, {action}: {off}", world.name);
            }
        }
    }

    #[test]
    fn the_truth_is_that_of_the_labels() {
        let [zero_one, sale] = worlds().map(|world| world.known_rounds(4, 5_000));
        // There are no more rounds than rows.
        assert_eq!(zero_one.rounds(), 2_000);
        for round in 0..zero_one.rounds() {
            let u = zero_one.context(round).as_dense().expect("dense")[0];
            assert_eq!(zero_one.context(round), sale.context(round));
            let y = u.sqrt();
            let (action, sigma) = (0.3, 1.0 / (1.0 + libm::exp(-(y - 0.3) / 0.05)));
            assert!((zero_one.mean_loss(round, action) - (y - action).abs()).abs() < 1e-12);
            assert!((sale.mean_loss(round, action) - (1.0 - action * sigma)).abs() < 1e-12);
            assert_eq!(zero_one.best(round), 0.0);
            let uniform = (y * y + (1.0 - y) * (1.0 - y)) / 2.0;
            assert!((zero_one.uniform(round) - uniform).abs() < 1e-5);
            // A sale costs 1 − a.
            let loss = sale.loss(round, &action).get();
            assert!(loss == 1.0 || (loss - 0.7).abs() < 1e-12);
        }
        for round in (0..sale.rounds()).step_by(20) {
            let losses: Vec<f64> = grid().map(|a| sale.mean_loss(round, a)).collect();
            let least = losses.iter().copied().fold(1.0, f64::min);
            assert!((0.0..=1.0).contains(&sale.best_action(round)));
            assert!(sale.best(round) <= least && least < sale.best(round) + 1e-3);
            let ends = (losses[0] + losses[GRID]) / 2.0;
            let mean = (losses.iter().sum::<f64>() - ends) / GRID as f64;
            assert!((sale.uniform(round) - mean).abs() < 1e-5);
        }
    }

    #[test]
    fn features_by_name_meet_the_same_outcomes() {
        let numbers = |name: &str, of: fn(u32) -> f64| Column {
            name: name.to_owned(),
            values: Values::Numbers((0..300).map(of).collect()),
        };
        let columns = vec![
            numbers("size", |row| f64::from(row % 7)),
            numbers("y", |row| f64::from(row % 11)),
        ];
        let table = Table::new("houses.csv", columns).expect("a table");
        let data = Encoding::default().encode("houses", &table);
        let data = Arc::new(data.expect("sound"));
        for outcome in DataOutcome::ALL {
            let world = DataWorld::new(data.clone(), outcome);
            let named = world.named(3).expect("a table has names");
            assert_eq!(named.name(), world.name());
            assert_ne!(named.fingerprint(), world.fingerprint());
            let (numbers, names) = (world.known_rounds(3, 200), named.world(3, 200));
            assert_eq!((numbers.rounds(), names.rounds()), (200, 200));
            for round in 0..200 {
                assert!(names.context(round).as_named().is_some());
                assert!(numbers.context(round).as_dense().is_some());
                for action in [0.1, 0.5, 0.9] {
                    assert_eq!(numbers.loss(round, &action), names.loss(round, &action));
                    assert_eq!(numbers.regret(round, &action), names.regret(round, &action));
                }
            }
        }
    }

    #[test]
    fn names_and_fingerprints_tell_worlds_apart() {
        let [zero_one, sale] = worlds();
        assert_eq!(zero_one.name(), "roots/zero_one");
        assert_eq!(sale.name(), "roots/sale");
        assert_ne!(zero_one.fingerprint(), sale.fingerprint());
        assert!(zero_one.named(1).is_none());
    }
}
