use std::collections::{BTreeMap, BTreeSet};

use egret::Objective;
use serde::Serialize;

use crate::comparison::named_run::NamedRun;
use crate::comparison::{PairedDifference, PairedStanding, bootstrap_interval, counted, unique};
use crate::run::RunRecord;

/// An environment at a number of decisions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    /// The name shown in tables.
    pub name: String,
    /// The number of decisions of each run.
    pub decisions: u64,
    /// What losses stand for in the user's units. All numbers here are losses; [`LearnerComparison::report`] is in these units.
    ///
    /// [`LearnerComparison::report`]: crate::LearnerComparison::report
    pub objective: Objective,
    /// The result of each learner, in the order of [`LearnerComparison::learners`](crate::LearnerComparison::learners).
    pub results: Vec<LearnerResult>,
    /// All pairs of learners that share a seed; pairs with the baseline come first.
    pub pairs: Vec<Pair>,
}

/// The result of a learner on a problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearnerResult {
    /// The learner.
    pub learner: String,
    /// The number of runs.
    pub seeds: usize,
    /// The mean loss.
    pub loss: f64,
    /// The lower end of its bootstrap interval over seeds.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The mean outcome, in the units of the problem's objective, with the ends of its interval.
    pub outcome: OutcomeInterval,
    /// The mean regret, if it is known.
    pub regret: Option<f64>,
    /// The time for deciding and learning, per decision.
    pub microseconds: f64,
    /// The mean loss so far: (decisions, loss).
    pub curve: Vec<(u64, f64)>,
}

/// A mean loss and its interval as a user counts them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OutcomeInterval {
    /// The mean outcome.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Two learners on the same rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// The learner that wins, ties or loses.
    pub learner: String,
    /// The learner it is compared with.
    pub against: String,
    /// The loss of `against` minus that of `learner`: above 0, `learner` is better.
    #[serde(flatten)]
    pub difference: PairedDifference,
    /// The standing of `learner`.
    pub standing: PairedStanding,
}

impl Problem {
    /// The result of a learner.
    pub fn result(&self, learner: &str) -> Option<&LearnerResult> {
        self.results.iter().find(|result| result.learner == learner)
    }

    /// The pair of these two learners, if they were compared in this order.
    pub fn against(&self, learner: &str, other: &str) -> Option<&Pair> {
        self.pairs
            .iter()
            .find(|pair| pair.learner == learner && pair.against == other)
    }
}

/// The seed of the bootstrap: the same results give the same intervals.
const BOOTSTRAP_SEED: u64 = 0;

/// The runs of one problem.
pub(super) struct ProblemRuns<'a> {
    name: String,
    decisions: u64,
    objective: Objective,
    runs: Vec<&'a NamedRun<'a>>,
}

/// Sorts runs by problem. Problems of one name are named apart, and `left_out` says that they were not paired.
pub(super) fn problems<'a>(
    runs: &'a [NamedRun<'a>],
    left_out: &mut Vec<String>,
) -> Vec<ProblemRuns<'a>> {
    let mut problems: Vec<(&str, ProblemRuns<'a>)> = Vec::new();
    let mut places = BTreeMap::new();
    for run in runs {
        let record = run.record;
        let objective = record.objective.to_string();
        let key = (
            &record.environment,
            &record.fingerprint,
            record.decisions,
            objective,
        );
        let place = *places.entry(key).or_insert_with(|| {
            let runs = ProblemRuns {
                name: record.environment.clone(),
                decisions: record.decisions,
                objective: record.objective,
                runs: Vec::new(),
            };
            problems.push((&record.fingerprint, runs));
            problems.len() - 1
        });
        problems[place].1.runs.push(run);
    }
    for name in unique(problems.iter().map(|(_, problem)| problem.name.as_str())) {
        let mut same: Vec<_> = problems
            .iter_mut()
            .filter(|(_, problem)| problem.name == name)
            .collect();
        if same.len() < 2 {
            continue;
        }
        let prints: BTreeSet<_> = same.iter().map(|(print, _)| *print).collect();
        let by_content = 1 < prints.len();
        for (print, problem) in &mut same {
            let decisions = counted(problem.decisions, "decision");
            problem.name = if by_content {
                format!("{name} ({decisions}; {print})")
            } else {
                format!("{name} ({decisions})")
            };
        }
        let names: Vec<&str> = same
            .iter()
            .map(|(_, problem)| problem.name.as_str())
            .collect();
        left_out.push(format!(
            "not paired, since these are different problems: {}",
            names.join(", ")
        ));
    }
    problems.into_iter().map(|(_, problem)| problem).collect()
}

impl ProblemRuns<'_> {
    /// Compares all learners, and says which runs were not paired.
    pub(super) fn compared(
        &self,
        learners: &[String],
        baseline: &str,
        confidence: f64,
    ) -> (Problem, Vec<String>) {
        let by_learner = self.by_learner(learners);
        let name = &self.name;
        let (mut pairs, mut unpaired) = (Vec::new(), Vec::new());
        let mut others = 0;
        for (ours, theirs) in sides(&by_learner, baseline) {
            let shared = ours.shared_seeds(theirs);
            let alone = ours.by_seed.len() + theirs.by_seed.len() - 2 * shared.len();
            if 0 < alone && theirs.learner != baseline {
                others += 1;
            } else if 0 < alone {
                let (seeds, runs) = (
                    counted(shared.len() as u64, "seed"),
                    counted(alone as u64, "run"),
                );
                let (ours, theirs) = (ours.learner, theirs.learner);
                unpaired.push(format!(
                    "{name}: {ours} and {theirs} share {seeds}; {runs} without a partner left out"
                ));
            }
            pairs.extend(pair(ours, theirs, &shared, confidence));
        }
        if 0 < others {
            let (pairs, verb) = (
                counted(others, "pair"),
                if others == 1 { "does" } else { "do" },
            );
            unpaired.push(format!(
                "{name}: {pairs} of other learners {verb} not share all seeds either"
            ));
        }
        if let [only] = &by_learner[..] {
            unpaired.push(format!("{name}: only {} was run", only.learner));
        }
        let results = by_learner
            .iter()
            .map(|runs| runs.result(&self.objective, confidence));
        let problem = Problem {
            name: name.clone(),
            decisions: self.decisions,
            objective: self.objective,
            results: results.collect(),
            pairs,
        };
        (problem, unpaired)
    }

    /// The learners that have runs, in the order of `learners`.
    fn by_learner<'a>(&'a self, learners: &'a [String]) -> Vec<LearnerRuns<'a>> {
        learners
            .iter()
            .map(|learner| {
                let runs = self.runs.iter().filter(|run| run.learner == *learner);
                LearnerRuns {
                    learner,
                    by_seed: runs.map(|run| (run.record.seed, run.record)).collect(),
                }
            })
            .filter(|runs| !runs.by_seed.is_empty())
            .collect()
    }
}

/// Every two learners; pairs with the baseline come first, with the baseline second.
fn sides<'a>(
    learners: &'a [LearnerRuns<'a>],
    baseline: &str,
) -> Vec<(&'a LearnerRuns<'a>, &'a LearnerRuns<'a>)> {
    let mut sides = Vec::new();
    for (place, one) in learners.iter().enumerate() {
        for other in &learners[place + 1..] {
            if one.learner == baseline {
                sides.push((other, one));
            } else {
                sides.push((one, other));
            }
        }
    }
    sides.sort_by_key(|(_, theirs)| theirs.learner != baseline);
    sides
}

/// `None` without a shared seed.
fn pair(
    ours: &LearnerRuns<'_>,
    theirs: &LearnerRuns<'_>,
    shared: &[u64],
    confidence: f64,
) -> Option<Pair> {
    let losses = |runs: &LearnerRuns<'_>| -> Vec<f64> {
        shared.iter().map(|seed| runs.by_seed[seed].loss).collect()
    };
    let difference =
        PairedDifference::new(&losses(ours), &losses(theirs), confidence, BOOTSTRAP_SEED)?;
    Some(Pair {
        learner: ours.learner.to_owned(),
        against: theirs.learner.to_owned(),
        standing: difference.standing(),
        difference,
    })
}

/// The runs of one learner on one problem.
struct LearnerRuns<'a> {
    learner: &'a str,
    by_seed: BTreeMap<u64, &'a RunRecord>,
}

impl LearnerRuns<'_> {
    fn shared_seeds(&self, other: &Self) -> Vec<u64> {
        let seeds = self.by_seed.keys().copied();
        seeds
            .filter(|seed| other.by_seed.contains_key(seed))
            .collect()
    }

    fn result(&self, objective: &Objective, confidence: f64) -> LearnerResult {
        let runs = &self.by_seed;
        let mean = |of: &dyn Fn(&RunRecord) -> f64| {
            runs.values().map(|record| of(record)).sum::<f64>() / runs.len() as f64
        };
        let losses: Vec<f64> = runs.values().map(|record| record.loss).collect();
        let (low, high) = bootstrap_interval(&losses, confidence, BOOTSTRAP_SEED);
        let known = runs.values().all(|record| record.regret.is_some());
        let loss = mean(&|record| record.loss);
        let ends = objective.interval(low, high);
        LearnerResult {
            learner: self.learner.to_owned(),
            seeds: runs.len(),
            loss,
            low,
            high,
            outcome: OutcomeInterval {
                mean: objective.value(loss),
                low: ends.0,
                high: ends.1,
            },
            regret: known.then(|| mean(&|record| record.regret.unwrap_or_default())),
            microseconds: mean(&|record| 1e6 * record.seconds / (record.decisions.max(1) as f64)),
            curve: self.curve(),
        }
    }

    /// The mean loss so far, averaged over seeds. Runs of one length have stretches with the same ends.
    fn curve(&self) -> Vec<(u64, f64)> {
        let runs = &self.by_seed;
        let shortest = runs.values().map(|record| record.curve.len()).min();
        let mut totals = vec![0.0; runs.len()];
        let mut curve = Vec::new();
        for place in 0..shortest.unwrap_or(0) {
            let mut until = 0;
            for (total, record) in totals.iter_mut().zip(runs.values()) {
                let before = place.checked_sub(1).map_or(0, |at| record.curve[at].until);
                let stretch = record.curve[place];
                until = stretch.until;
                *total += stretch.loss * until.saturating_sub(before) as f64;
            }
            let over = (until.max(1) * runs.len() as u64) as f64;
            curve.push((until, totals.iter().sum::<f64>() / over));
        }
        curve
    }
}
