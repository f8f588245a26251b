use serde::Serialize;

use crate::comparison::{PairedDifference, PairedStanding, bootstrap_interval};
use crate::environment::SupervisedToBandit;
use crate::learner::{EgretFactory, PaperLearner};
use crate::run::{Journal, Progress, Run, RunRecord, StudyError, Task, run_all};

/// The paper's online experiment: every learner on every data set under every seed.
#[derive(Debug, Clone)]
pub struct OnlineStudy<'a> {
    /// The data sets.
    pub sets: &'a [SupervisedToBandit],
    /// The learners; the others are compared with the first.
    pub learners: Vec<PaperLearner>,
    /// The number of seeds: 1, 2, …
    pub seeds: u64,
    /// The largest number of decisions of a run.
    pub decisions: usize,
}

/// The mean loss of one learner on one data set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OnlineRow {
    /// The data set.
    pub dataset: String,
    /// SmoothIGW or CappedIGW.
    pub learner: &'static str,
    /// The bound on κ; `None` for SmoothIGW.
    pub kappa_inf: Option<f64>,
    /// How β is found; `None` for SmoothIGW.
    pub normalizer: Option<&'static str>,
    /// The number of runs.
    pub seeds: usize,
    /// The number of decisions of each run.
    pub decisions: u64,
    /// The mean loss, averaged over runs.
    pub loss: f64,
    /// The lower end of its 90% bootstrap interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The loss of SmoothIGW minus this one; `None` for SmoothIGW.
    pub difference: Option<PairedDifference>,
    /// Microseconds for a decision and its share of learning, by the clock of each thread.
    pub microseconds: f64,
}

/// Wins, ties and losses of one learner against SmoothIGW.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OnlineTally {
    /// The name shown in tables.
    pub name: String,
    /// SmoothIGW or CappedIGW.
    pub learner: &'static str,
    /// The bound on κ.
    pub kappa_inf: Option<f64>,
    /// How β is found.
    pub normalizer: Option<&'static str>,
    /// The number of data sets on which it is better.
    pub wins: usize,
    /// The number of data sets on which the interval contains 0.
    pub ties: usize,
    /// The number of data sets on which it is worse.
    pub losses: usize,
}

/// The coverage of the paper's intervals.
pub const CONFIDENCE: f64 = 0.9;

impl OnlineStudy<'_> {
    /// Plays all runs, seed by seed, so that an interrupted study has finished its first seeds.
    pub fn run(
        &self,
        journal: Option<&Journal<RunRecord>>,
        progress: &dyn Progress,
    ) -> Result<Vec<RunRecord>, StudyError> {
        let factories: Vec<EgretFactory> = self
            .learners
            .iter()
            .map(|learner| learner.factory())
            .collect();
        let mut tasks = Vec::new();
        for seed in 1..=self.seeds {
            for environment in self.sets {
                for (learner, factory) in self.learners.iter().zip(&factories) {
                    let run = Run {
                        learner: factory,
                        environment,
                        seed,
                        decisions: self.decisions,
                    };
                    let decisions = self.decisions.min(environment.data().rows().len());
                    tasks.push(Task {
                        key: run.key(),
                        label: run.label(),
                        cost: decisions as f64 * cost(*learner),
                        work: Box::new(move || run.play(|_| ())),
                    });
                }
            }
        }
        // Starting with the longest tasks of a seed would balance the threads, but a seed is short compared with the whole.
        run_all(&tasks, journal, progress)
    }

    /// A row for each data set and learner.
    pub fn rows(&self, records: &[RunRecord]) -> Vec<OnlineRow> {
        let mut rows = Vec::new();
        for set in self.sets {
            let name = set.data().name();
            let runs_of = |learner: PaperLearner| -> Vec<&RunRecord> {
                let learner = learner.name();
                let ours =
                    |record: &&RunRecord| record.environment == name && record.learner == learner;
                records.iter().filter(ours).collect()
            };
            let base: Vec<f64> = runs_of(self.learners[0])
                .iter()
                .map(|run| run.loss)
                .collect();
            for (place, &learner) in self.learners.iter().enumerate() {
                let runs = runs_of(learner);
                let values: Vec<f64> = runs.iter().map(|run| run.loss).collect();
                let Some(first) = runs.first() else { continue };
                let (low, high) = bootstrap_interval(&values, CONFIDENCE, 1);
                let seconds: f64 = runs.iter().map(|run| run.seconds).sum();
                let decisions: u64 = runs.iter().map(|run| run.decisions).sum();
                let difference = PairedDifference::new(&values, &base, CONFIDENCE, 1);
                rows.push(OnlineRow {
                    dataset: name.to_owned(),
                    learner: learner.algorithm(),
                    kappa_inf: learner.kappa_inf(),
                    normalizer: learner.normalizer(),
                    seeds: values.len(),
                    decisions: first.decisions,
                    loss: values.iter().sum::<f64>() / values.len() as f64,
                    low,
                    high,
                    difference: difference.filter(|_| 0 < place),
                    microseconds: 1e6 * seconds / decisions as f64,
                });
            }
        }
        rows
    }

    /// Wins, ties and losses of each learner but the first.
    pub fn tallies(&self, rows: &[OnlineRow]) -> Vec<OnlineTally> {
        self.learners[1..]
            .iter()
            .map(|&learner| {
                let ours = rows.iter().filter(|row| {
                    row.kappa_inf == learner.kappa_inf() && row.normalizer == learner.normalizer()
                });
                let standings: Vec<PairedStanding> = ours
                    .filter_map(|row| Some(row.difference?.standing()))
                    .collect();
                let count = |standing| standings.iter().filter(|s| **s == standing).count();
                OnlineTally {
                    name: learner.name(),
                    learner: learner.algorithm(),
                    kappa_inf: learner.kappa_inf(),
                    normalizer: learner.normalizer(),
                    wins: count(PairedStanding::Win),
                    ties: count(PairedStanding::Tie),
                    losses: count(PairedStanding::Loss),
                }
            })
            .collect()
    }
}

/// The approximate cost of a decision relative to other learners, to estimate the time left.
fn cost(learner: PaperLearner) -> f64 {
    match (learner.normalizer(), learner.kappa_inf()) {
        (Some("betting"), _) => 600.0,
        (Some("mixture"), Some(kappa_inf)) if kappa_inf < 3.0 => 50.0,
        (Some("mixture"), _) => 15.0,
        (Some(_), _) => 7.0,
        (None, _) => 1.5,
    }
}
