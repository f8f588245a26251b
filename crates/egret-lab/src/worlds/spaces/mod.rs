//! Worlds on other spaces than intervals, boxes and catalogues: shares, directions, knobs with steps and categories, sets of items.
//!
//! Contexts are uniform on [0, 1]². A seed draws the weights of a [`SpaceLoss`], contexts, and outcomes.

mod budget;
mod direction;
mod examples;
mod mixed;

use egret::{
    ActionKind, Batch, Context, EmbeddingRows, EventRng, Loss, ModelSpec, OracleSpec,
    OracleSpecError, ReferenceMeasure, RegressionOracle, Stream,
};

pub use self::budget::BudgetLoss;
pub use self::direction::DirectionLoss;
pub use self::examples::ExamplesLoss;
pub use self::mixed::MixedKnobsLoss;
use crate::environment::{Environment, World};
use crate::worlds::{KnownRounds, KnownWorld};

/// How many features a context has.
const CONTEXT: usize = 2;

/// Mean losses over a space, by weights that a seed draws.
pub trait SpaceLoss: Send + Sync {
    /// What is chosen.
    type Action: ActionKind;

    /// The name shown in tables.
    fn name(&self) -> &str;

    /// The mean loss in words and a formula.
    fn about(&self) -> String;

    /// The model that a user would make.
    fn spec(&self) -> ModelSpec;

    /// The weights of a seed.
    fn weights(&self, rng: &mut EventRng) -> Vec<f64>;

    /// f*(x, a), in [0, 1].
    fn mean(&self, weights: &[f64], x: &[f64], action: &Self::Action) -> f64;

    /// The least f*(x, ·).
    fn least(&self, weights: &[f64], x: &[f64]) -> f64;

    /// Whether a loss is 1 with its mean as the probability, else 0; or the mean and a number from [−.1, .1], cut to [0, 1].
    fn zero_one(&self) -> bool {
        false
    }

    /// The numbers that baselines take an action for.
    fn coordinates(&self) -> Option<Coordinates<Self::Action>> {
        None
    }

    /// The features of items.
    fn embeddings(&self) -> Option<&EmbeddingRows> {
        None
    }
}

/// What baselines take an action for.
type Coordinates<A> = fn(&A) -> Vec<f64>;

/// A world of such a loss.
#[derive(Debug)]
pub struct SpaceWorld<L>(pub L);

impl<L: SpaceLoss> SpaceWorld<L> {
    fn space(&self) -> Box<dyn ReferenceMeasure<Context, L::Action>> {
        L::Action::measure(&self.0.spec().space).expect("a space that is listed")
    }

    fn rounds(&self, seed: u64, rounds: usize) -> SpaceRounds<'_, L> {
        // Rounds take the events from 1 on.
        let weights = self.0.weights(&mut EventRng::new(seed, 0, Stream::World));
        let round = |round: usize| {
            let mut rng = EventRng::new(seed, 1 + round as u64, Stream::World);
            let x = (0..CONTEXT).map(|_| rng.unit()).collect();
            (Context::dense(x).expect("within (0, 1)"), rng.unit())
        };
        SpaceRounds {
            loss: &self.0,
            space: self.space(),
            weights,
            rounds: (0..rounds).map(round).collect(),
            seed,
        }
    }
}

/// Rounds of a seed.
struct SpaceRounds<'a, L: SpaceLoss> {
    loss: &'a L,
    space: Box<dyn ReferenceMeasure<Context, L::Action>>,
    weights: Vec<f64>,
    /// Contexts, each with a chance that is the same for every action.
    rounds: Vec<(Context, f64)>,
    seed: u64,
}

/// The uniform policy's loss in a round is the mean over so many draws.
const DRAWS: usize = 16;

impl<L: SpaceLoss> SpaceRounds<'_, L> {
    fn numbers(&self, round: usize) -> &[f64] {
        self.rounds[round].0.as_dense().expect("it was made so")
    }
}

impl<L: SpaceLoss> KnownRounds<L::Action> for SpaceRounds<'_, L> {
    fn mean_loss(&self, round: usize, action: &L::Action) -> f64 {
        self.loss.mean(&self.weights, self.numbers(round), action)
    }

    fn best(&self, round: usize) -> f64 {
        self.loss.least(&self.weights, self.numbers(round))
    }

    fn uniform(&self, round: usize) -> f64 {
        let mut rng = EventRng::new(self.seed, 1 + round as u64, Stream::Replay);
        let mut drawn = <L::Action as egret::Action>::Batch::default();
        (self.space).sample(&self.rounds[round].0, DRAWS, &mut rng, &mut drawn);
        let losses = (0..DRAWS).map(|place| self.mean_loss(round, &drawn.get(place)));
        losses.sum::<f64>() / DRAWS as f64
    }
}

impl<L: SpaceLoss> World<L::Action> for SpaceRounds<'_, L> {
    fn rounds(&self) -> usize {
        self.rounds.len()
    }

    fn context(&self, round: usize) -> &Context {
        &self.rounds[round].0
    }

    fn loss(&self, round: usize, action: &L::Action) -> Loss {
        let (mean, chance) = (self.mean_loss(round, action), self.rounds[round].1);
        let loss = match self.loss.zero_one() {
            true => f64::from(u8::from(chance < mean)),
            false => (mean + 0.2 * chance - 0.1).clamp(0.0, 1.0),
        };
        Loss::new(loss).expect("within [0, 1]")
    }

    fn regret(&self, round: usize, action: &L::Action) -> Option<f64> {
        Some(self.mean_loss(round, action) - self.best(round))
    }
}

impl<L: SpaceLoss> KnownWorld<L::Action> for SpaceWorld<L> {
    fn about(&self) -> String {
        self.0.about()
    }

    fn truth(&self, seed: u64, rounds: usize) -> Box<dyn KnownRounds<L::Action> + '_> {
        Box::new(self.rounds(seed, rounds))
    }
}

impl<L: SpaceLoss> Environment<L::Action> for SpaceWorld<L> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn fingerprint(&self) -> String {
        format!("space world {}: {}", self.0.name(), self.0.about())
    }

    fn context_dim(&self) -> usize {
        CONTEXT
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, L::Action>> {
        self.space()
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, L::Action>>, OracleSpecError> {
        self.0.spec().with_oracle(spec.clone()).build_oracle()
    }

    fn default_oracle(&self, seed: u64) -> OracleSpec {
        self.0.spec().with_seed(seed).oracle
    }

    fn world(&self, seed: u64, rounds: usize) -> Box<dyn World<L::Action> + '_> {
        Box::new(self.rounds(seed, rounds))
    }

    fn coordinates(&self) -> Option<fn(&L::Action) -> Vec<f64>> {
        self.0.coordinates()
    }

    fn embeddings(&self) -> Option<&EmbeddingRows> {
        self.0.embeddings()
    }
}

#[cfg(test)]
pub(super) mod checks {
    use super::*;

    /// Checks that no draw loses less than the least, that this action loses it, that uniform play does not, and that observed
    /// losses have their mean.
    pub(in crate::worlds::spaces) fn check_world<L: SpaceLoss>(
        loss: L,
        best: impl Fn(&L, &[f64], &[f64]) -> L::Action,
    ) {
        let world = SpaceWorld(loss);
        let count = 2_000;
        let rounds = world.rounds(3, count);
        let (mut off, mut seen, mut possible) = (0.0, 0, 0.0);
        for round in 0..count {
            let least = rounds.best(round);
            let action = best(&world.0, &rounds.weights, rounds.numbers(round));
            let found = rounds.mean_loss(round, &action);
            assert!(
                (found - least).abs() < 1e-9,
                "{}: {found} {least}",
                world.name()
            );
            let mut rng = EventRng::new(4, round as u64, Stream::World);
            let mut drawn = <L::Action as egret::Action>::Batch::default();
            (rounds.space).sample(rounds.context(round), 20, &mut rng, &mut drawn);
            for place in 0..20 {
                let mean = rounds.mean_loss(round, &drawn.get(place));
                assert!(
                    least <= mean + 1e-12 && mean <= 1.0,
                    "{}: {mean}",
                    world.name()
                );
            }
            let action = drawn.get(0);
            let mean = rounds.mean_loss(round, &action);
            if (0.1..=0.9).contains(&mean) {
                off += rounds.loss(round, &action).get() - mean;
                seen += 1;
            }
            possible += (rounds.uniform(round) - least) / count as f64;
        }
        // By Hoeffding's inequality, 4e-9 at most.
        let off: f64 = off / f64::from(seen);
        assert!(
            500 < seen && off.abs() < (10.0 / f64::from(seen)).sqrt(),
            "{off}"
        );
        // What there is to learn.
        assert!(0.1 < possible, "{}: {possible}", world.name());
    }
}
