use serde::{Deserialize, Serialize};

use crate::comparison::bootstrap_interval;
use crate::environment::Environment;
use crate::learner::{EffectiveEvents, LearnerFactory, PlayError};
use crate::run::{Journal, Progress, Run, RunRecord, StudyError, Task, run_all};
use crate::worlds::{NoisyWorld, WorldLearner};

/// Learners play in noisy worlds, paired by seed: the seeds 1, 2, … of a world give every learner the same rounds.
pub struct WorldStudy {
    /// The worlds.
    pub worlds: Vec<NoisyWorld>,
    /// Who plays.
    pub learners: Vec<WorldLearner>,
    /// The number of seeds.
    pub seeds: u64,
    /// The number of decisions of each run.
    pub decisions: usize,
}

/// The result of one run, with its truth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorldRecord {
    /// The run. Its losses are those observed.
    pub record: RunRecord,
    /// True means over the last quarter of the decisions.
    pub late: Block,
    /// True means over blocks of 5,000 decisions, or of a quarter of the run if that is less.
    pub blocks: Vec<Block>,
    /// How many of 1,000 decisions at random would say as much about the uniform policy as 1,000 of the last 5,000; `None` if
    /// the learner does not know its densities.
    pub effective_per_1000: Option<f64>,
}

/// True means over a block of decisions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// The number of decisions up to its end.
    pub until: usize,
    /// The mean of f*(x, a) over the actions played.
    pub loss: f64,
    /// The mean of the least f*(x, ·).
    pub best: f64,
    /// The mean of f*(x, ·) over all actions.
    pub uniform: f64,
}

impl Block {
    /// The share of what is possible, in percent: 0 is uniform play, 100 the best action in each round.
    pub fn share(&self) -> f64 {
        100.0 * (self.uniform - self.loss) / (self.uniform - self.best)
    }

    fn mean(rounds: &[Truth], until: usize) -> Self {
        let mean = |of: fn(&Truth) -> f64| rounds.iter().map(of).sum::<f64>() / rounds.len() as f64;
        Self {
            until,
            loss: mean(|round| round.loss),
            best: mean(|round| round.best),
            uniform: mean(|round| round.uniform),
        }
    }
}

/// Mean losses of one round: of the action played, of the best, of all.
struct Truth {
    loss: f64,
    best: f64,
    uniform: f64,
}

/// The longest block.
const BLOCK: usize = 5_000;

/// The result of a learner in a world: means over seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorldRow {
    /// The world.
    pub world: String,
    /// The learner; `default` is egret's.
    pub learner: String,
    /// The number of runs.
    pub seeds: usize,
    /// The number of decisions of each run.
    pub decisions: u64,
    /// The share of what is possible over the last quarter, from 0 (uniform play) to 100.
    pub share: f64,
    /// The lower end of its bootstrap interval over seeds.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The mean loss over the last quarter.
    pub late: f64,
    /// The mean loss of the best actions there.
    pub best: f64,
    /// The mean loss of the uniform policy there.
    pub uniform: f64,
    /// Effective events for the uniform policy, in 1,000 of the last 5,000 decisions.
    pub effective_per_1000: Option<f64>,
    /// The time for deciding and learning, per decision.
    pub microseconds: f64,
    /// The share of what is possible in each block: (decisions up to its end, share).
    pub blocks: Vec<(usize, f64)>,
    /// The mean loss in each block.
    pub block_losses: Vec<(usize, f64)>,
}

impl WorldStudy {
    /// The coverage of every interval.
    pub const CONFIDENCE: f64 = 0.9;

    /// Plays all runs that the journal does not have, in parallel.
    pub fn run(
        &self,
        journal: Option<&Journal<WorldRecord>>,
        progress: &dyn Progress,
    ) -> Result<Vec<WorldRecord>, StudyError> {
        let mut tasks = Vec::new();
        for world in &self.worlds {
            for seed in 1..=self.seeds {
                for learner in &self.learners {
                    let run = Run {
                        learner: learner as &dyn LearnerFactory<f64>,
                        environment: world as &dyn Environment<f64>,
                        seed,
                        decisions: self.decisions,
                    };
                    tasks.push(Task {
                        key: run.key(),
                        label: run.label(),
                        cost: self.decisions as f64 * learner.cost(),
                        work: Box::new(move || play(world, &run)),
                    });
                }
            }
        }
        run_all(&tasks, journal, progress)
    }

    /// A row for each learner in each world, in the order of the study.
    pub fn rows(&self, records: &[WorldRecord]) -> Vec<WorldRow> {
        let mut rows = Vec::new();
        for world in &self.worlds {
            for learner in &self.learners {
                let runs: Vec<&WorldRecord> = records
                    .iter()
                    .filter(|run| run.record.environment == world.name)
                    .filter(|run| run.record.learner == learner.name())
                    .collect();
                rows.extend(WorldRow::new(world.name, learner.name(), &runs));
            }
        }
        rows
    }
}

impl WorldRow {
    /// `None` without a run.
    fn new(world: &str, learner: &str, runs: &[&WorldRecord]) -> Option<Self> {
        let first = runs.first()?;
        let mean = |of: &dyn Fn(&WorldRecord) -> f64| {
            runs.iter().map(|run| of(run)).sum::<f64>() / runs.len() as f64
        };
        let shares: Vec<f64> = runs.iter().map(|run| run.late.share()).collect();
        let (low, high) = bootstrap_interval(&shares, WorldStudy::CONFIDENCE, 0);
        let effective: Option<Vec<f64>> = runs.iter().map(|run| run.effective_per_1000).collect();
        let blocks = |of: fn(&Block) -> f64| -> Vec<(usize, f64)> {
            let means = (0..first.blocks.len()).map(|place| {
                (
                    first.blocks[place].until,
                    mean(&|run| of(&run.blocks[place])),
                )
            });
            means.collect()
        };
        Some(Self {
            world: world.to_owned(),
            learner: learner.to_owned(),
            seeds: runs.len(),
            decisions: first.record.decisions,
            share: mean(&|run| run.late.share()),
            low,
            high,
            late: mean(&|run| run.late.loss),
            best: mean(&|run| run.late.best),
            uniform: mean(&|run| run.late.uniform),
            effective_per_1000: effective
                .map(|values| values.iter().sum::<f64>() / values.len() as f64),
            microseconds: mean(&|run| {
                1e6 * run.record.seconds / run.record.decisions.max(1) as f64
            }),
            blocks: blocks(Block::share),
            block_losses: blocks(|block| block.loss),
        })
    }
}

/// Plays a run and measures it by what is true.
fn play(world: &NoisyWorld, run: &Run<'_, f64>) -> Result<WorldRecord, PlayError> {
    let decisions = run.decisions;
    let rounds = world.rounds(run.seed, decisions);
    let mut truths = Vec::with_capacity(decisions);
    let (mut effective, mut known) = (EffectiveEvents::default(), true);
    let record = run.play_watched(|player, played| {
        for round in played {
            let event = round.event as usize;
            truths.push(Truth {
                loss: rounds.mean_loss(event, *round.choice.action()),
                best: rounds.best(event),
                uniform: rounds.uniform(event),
            });
            if decisions <= event + EffectiveEvents::LAST && known {
                match player.mean_inverse_density(round.x, &round.choice)? {
                    Some(inverse) => effective.add(inverse),
                    None => known = false,
                }
            }
        }
        Ok(())
    })?;
    let size = (decisions / 4).clamp(1, BLOCK);
    let blocks = truths.chunks(size).enumerate();
    Ok(WorldRecord {
        record,
        late: Block::mean(&truths[decisions - (decisions / 4).max(1)..], decisions),
        blocks: blocks
            .map(|(place, block)| Block::mean(block, place * size + block.len()))
            .collect(),
        effective_per_1000: effective.per_1000().filter(|_| known),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Silent;

    fn study(worlds: &[&str], learners: &[&str], decisions: usize) -> WorldStudy {
        WorldStudy {
            worlds: (worlds.iter())
                .map(|name| NoisyWorld::named(name).expect("listed"))
                .collect(),
            learners: (learners.iter())
                .map(|name| WorldLearner::named(name).expect("listed"))
                .collect(),
            seeds: 2,
            decisions,
        }
    }

    #[test]
    fn naive_learns_and_uniform_does_not() {
        let study = study(&["price", "distance", "late"], &["naive", "uniform"], 8_000);
        let rows = study.rows(&study.run(None, &Silent).expect("played"));
        for pair in rows.chunks(2) {
            let (naive, uniform) = (&pair[0], &pair[1]);
            // Measured: 77 to 88.
            assert!(70.0 < naive.share && naive.share < 95.0, "{naive:?}");
            // The mean of 4,000 losses with a spread below ¼ is within 0.02 of the truth: five standard errors.
            assert!((uniform.late - uniform.uniform).abs() < 0.02, "{uniform:?}");
            assert!(uniform.share.abs() < 10.0, "{uniform:?}");
            assert_eq!(uniform.effective_per_1000, Some(1_000.0));
            let effective = naive.effective_per_1000.expect("known");
            assert!((effective - 53.32).abs() < 0.01, "{effective}");
            assert_eq!((naive.best, naive.uniform), (uniform.best, uniform.uniform));
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_bits_and_blocks_make_up_the_run() {
        let study = study(&["click", "batches"], &["default", "naive"], 1_200);
        let play = || {
            let mut records = study.run(None, &Silent).expect("played");
            records.iter_mut().for_each(|run| run.record.seconds = 0.0);
            records
        };
        let records = play();
        assert_eq!(records, play());
        for run in &records {
            assert_eq!(run.blocks.len(), 4);
            assert_eq!(run.blocks.last(), Some(&run.late));
            let regret: f64 = run.blocks.iter().map(|of| of.loss - of.best).sum();
            let regret = regret / 4.0;
            assert!((run.record.regret.expect("known") - regret).abs() < 1e-12);
            assert!(run.effective_per_1000.is_some());
        }
    }

    #[test]
    fn outcomes_that_come_late_are_learned_late() {
        // Nothing is learned in the first 500 decisions of either world, so that the naive learner plays its first bucket.
        let study = study(&["late", "batches", "distance"], &["naive"], 500);
        let records = study.run(None, &Silent).expect("played");
        let losses: Vec<f64> = records.iter().map(|run| run.record.loss).collect();
        assert_eq!(losses[0..2], losses[2..4]);
        assert_ne!(losses[0..2], losses[4..6]);
        let longer = WorldStudy {
            decisions: 4_000,
            ..study
        };
        let rows = longer.rows(&longer.run(None, &Silent).expect("played"));
        assert!(rows.iter().all(|row| 60.0 < row.share), "{rows:?}");
    }
}
