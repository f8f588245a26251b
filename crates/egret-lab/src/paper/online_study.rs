use serde::Serialize;

use super::contenders::Explored;
use crate::{
    EgretContender, Journal, PairedDifference, Progress, Run, RunRecord, Standing, StudyError,
    SupervisedToBandit, Task, bootstrap_interval, run_all,
};

/// The paper's online experiment: every way of exploring on every data set under every seed.
#[derive(Debug, Clone)]
pub struct OnlineStudy<'a> {
    /// The data.
    pub sets: &'a [SupervisedToBandit],
    /// Who plays; the first is what the others are compared with.
    pub explored: Vec<Explored>,
    /// Seeds 1, 2, …
    pub seeds: u64,
    /// At most so many decisions a run.
    pub decisions: usize,
}

/// Mean loss of one contender on one data set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OnlineRow {
    /// Which data.
    pub dataset: String,
    /// SmoothIGW or CappedIGW.
    pub learner: &'static str,
    /// The bound on κ; none for SmoothIGW.
    pub kappa_inf: Option<f64>,
    /// How β is found; none for SmoothIGW.
    pub normalizer: Option<&'static str>,
    /// How many runs.
    pub seeds: usize,
    /// Decisions of each.
    pub decisions: u64,
    /// The mean over runs of their mean loss.
    pub loss: f64,
    /// The lower end of its 90% bootstrap interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Loss of SmoothIGW less this one's; none for SmoothIGW.
    pub difference: Option<PairedDifference>,
    /// Microseconds for a decision and its share of learning, over the threads' own clocks.
    pub microseconds: f64,
}

/// How one contender stands against SmoothIGW over all data sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tally {
    /// In a few words.
    pub name: String,
    /// SmoothIGW or CappedIGW.
    pub learner: &'static str,
    /// The bound on κ.
    pub kappa_inf: Option<f64>,
    /// How β is found.
    pub normalizer: Option<&'static str>,
    /// Data sets on which it is better.
    pub wins: usize,
    /// On which 0 lies in the interval.
    pub ties: usize,
    /// On which it is worse.
    pub losses: usize,
}

/// What the intervals of the paper hold.
pub const CONFIDENCE: f64 = 0.9;

impl OnlineStudy<'_> {
    /// All runs, seed by seed, so that an interrupted study has whole seeds.
    pub fn run(
        &self,
        journal: Option<&Journal<RunRecord>>,
        progress: &dyn Progress,
    ) -> Result<Vec<RunRecord>, StudyError> {
        let contenders: Vec<EgretContender> = self
            .explored
            .iter()
            .map(|explored| explored.contender())
            .collect();
        let mut tasks = Vec::new();
        for seed in 1..=self.seeds {
            for environment in self.sets {
                for (explored, contender) in self.explored.iter().zip(&contenders) {
                    let run = Run {
                        contender,
                        environment,
                        seed,
                        decisions: self.decisions,
                    };
                    let decisions = self.decisions.min(environment.data().rows().len());
                    tasks.push(Task {
                        key: run.key(),
                        label: run.label(),
                        cost: decisions as f64 * cost(*explored),
                        work: Box::new(move || run.play(|_| ())),
                    });
                }
            }
        }
        // The longest of a seed first would end evenly, but a seed is short beside the whole.
        run_all(&tasks, journal, progress)
    }

    /// One row for each data set and contender.
    pub fn rows(&self, records: &[RunRecord]) -> Vec<OnlineRow> {
        let mut rows = Vec::new();
        for set in self.sets {
            let name = set.data().name();
            let losses = |explored: Explored| -> Vec<&RunRecord> {
                let learner = explored.name();
                let ours =
                    |record: &&RunRecord| record.environment == name && record.learner == learner;
                records.iter().filter(ours).collect()
            };
            let base: Vec<f64> = losses(self.explored[0])
                .iter()
                .map(|run| run.loss)
                .collect();
            for (place, &explored) in self.explored.iter().enumerate() {
                let runs = losses(explored);
                let values: Vec<f64> = runs.iter().map(|run| run.loss).collect();
                let Some(first) = runs.first() else { continue };
                let (low, high) = bootstrap_interval(&values, CONFIDENCE, 1);
                let seconds: f64 = runs.iter().map(|run| run.seconds).sum();
                let decisions: u64 = runs.iter().map(|run| run.decisions).sum();
                let difference = PairedDifference::new(&values, &base, CONFIDENCE, 1);
                rows.push(OnlineRow {
                    dataset: name.to_owned(),
                    learner: explored.learner(),
                    kappa_inf: explored.kappa_inf(),
                    normalizer: explored.normalizer(),
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

    /// Wins, ties and losses of each contender but the first.
    pub fn tallies(&self, rows: &[OnlineRow]) -> Vec<Tally> {
        self.explored[1..]
            .iter()
            .map(|&explored| {
                let ours = rows.iter().filter(|row| {
                    row.kappa_inf == explored.kappa_inf() && row.normalizer == explored.normalizer()
                });
                let standings: Vec<Standing> = ours
                    .filter_map(|row| Some(row.difference?.standing()))
                    .collect();
                let count = |standing| standings.iter().filter(|s| **s == standing).count();
                Tally {
                    name: explored.name(),
                    learner: explored.learner(),
                    kappa_inf: explored.kappa_inf(),
                    normalizer: explored.normalizer(),
                    wins: count(Standing::Win),
                    ties: count(Standing::Tie),
                    losses: count(Standing::Loss),
                }
            })
            .collect()
    }
}

/// About how long a decision takes beside others: for the time that is left.
fn cost(explored: Explored) -> f64 {
    match (explored.normalizer(), explored.kappa_inf()) {
        (Some("betting"), _) => 600.0,
        (Some("mixture"), Some(kappa_inf)) if kappa_inf < 3.0 => 50.0,
        (Some("mixture"), _) => 15.0,
        (Some(_), _) => 7.0,
        (None, _) => 1.5,
    }
}
