//! Results side by side: who did better on the same rounds.
//!
//! A [`LearnerComparison`] takes saved [`RunRecord`](crate::RunRecord)s and pairs runs with the same problem and the same seed. For
//! each pair of learners, a [`PairedDifference`] has the mean difference of their losses with a bootstrap interval, and says
//! whether it is a win, a tie or a loss. [`LearnerComparison::report`] makes a page of tables and figures.

mod named_run;
mod paired_difference;
mod problem;
mod report;
mod units;

use std::collections::BTreeSet;

use egret_report::numerals::thousands;
use rayon::prelude::*;
use serde::Serialize;

use self::named_run::named_runs;
pub use self::paired_difference::{PairedDifference, PairedStanding, bootstrap_interval};
use self::problem::problems;
pub use self::problem::{LearnerResult, OutcomeInterval, Pair, Problem};
use self::units::Units;
use crate::run::RunRecord;

/// Saved results side by side: the loss of each learner on each problem, and who did better on the same rounds.
///
/// A problem is an environment, identified by content as well as by name, and a number of decisions. Two runs of one problem with
/// the same seed are a pair. Only pairs are compared; `left_out` lists the rest.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearnerComparison {
    /// The coverage of every interval.
    pub confidence: f64,
    /// The learner that the others are compared with.
    pub baseline: String,
    /// The learners, in the order in which they were given.
    pub learners: Vec<String>,
    /// The problems, in the order in which they were given.
    pub problems: Vec<Problem>,
    /// Wins, ties and losses of each learner but the baseline, over all problems.
    pub tallies: Vec<Tally>,
    /// What was not compared, and why.
    pub left_out: Vec<String>,
}

/// A learner against the baseline, over all problems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// The learner.
    pub learner: String,
    /// The number of problems on which its interval lies above 0.
    pub wins: usize,
    /// The number of problems on which its interval contains 0.
    pub ties: usize,
    /// The number of problems on which its interval lies below 0.
    pub losses: usize,
}

impl LearnerComparison {
    /// Compares results from one source. Without a baseline, it is the first learner.
    pub fn new(
        records: &[RunRecord],
        baseline: Option<&str>,
        confidence: f64,
    ) -> Result<Self, ComparisonError> {
        Self::of_sources(&[(String::new(), records)], baseline, confidence)
    }

    /// Compares results from several named sources.
    ///
    /// If learners of one name have different settings, or different losses in the same run, the source becomes part of the
    /// name. If they are in one source, the hash of their settings does.
    pub fn of_sources(
        sources: &[(String, &[RunRecord])],
        baseline: Option<&str>,
        confidence: f64,
    ) -> Result<Self, ComparisonError> {
        if !(0.0 < confidence && confidence < 1.0) {
            return Err(ComparisonError::Confidence { confidence });
        }
        let runs = named_runs(sources);
        let learners = unique(runs.iter().map(|run| run.learner.as_str()));
        let Some(first) = learners.first() else {
            return Err(ComparisonError::Empty);
        };
        let baseline = baseline.unwrap_or(first).to_owned();
        if !learners.contains(&baseline) {
            return Err(ComparisonError::Baseline { baseline, learners });
        }
        let mut left_out = Vec::new();
        let compared: Vec<(Problem, Vec<String>)> = problems(&runs, &mut left_out)
            .into_par_iter()
            .map(|problem| problem.compared(&learners, &baseline, confidence))
            .collect();
        let mut problems = Vec::with_capacity(compared.len());
        for (problem, unpaired) in compared {
            problems.push(problem);
            left_out.extend(unpaired);
        }
        let tallies = learners
            .iter()
            .filter(|learner| **learner != baseline)
            .map(|learner| Tally::of(learner, &baseline, &problems))
            .collect();
        Ok(Self {
            confidence,
            baseline,
            learners,
            problems,
            tallies,
            left_out,
        })
    }
}

impl Tally {
    fn of(learner: &str, baseline: &str, problems: &[Problem]) -> Self {
        let standings: Vec<PairedStanding> = problems
            .iter()
            .filter_map(|problem| problem.against(learner, baseline))
            .map(|pair| pair.standing)
            .collect();
        let count =
            |of: PairedStanding| standings.iter().filter(|standing| **standing == of).count();
        Self {
            learner: learner.to_owned(),
            wins: count(PairedStanding::Win),
            ties: count(PairedStanding::Tie),
            losses: count(PairedStanding::Loss),
        }
    }
}

/// `1 seed`, `2 seeds`.
pub(crate) fn counted(count: u64, one: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {one}{ending}", thousands(count as f64))
}

/// Each name once, in order of first appearance.
fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut known = BTreeSet::new();
    names
        .filter(|name| known.insert(*name))
        .map(str::to_owned)
        .collect()
}

/// Why results cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ComparisonError {
    /// There are no runs.
    #[error("there are no results to compare")]
    Empty,
    /// The baseline is not a learner.
    #[error("the baseline {baseline:?} is not among the learners: {}", learners.join(", "))]
    Baseline {
        /// The name given as baseline.
        baseline: String,
        /// The learners.
        learners: Vec<String>,
    },
    /// The confidence is not a probability.
    #[error("confidence is {confidence}, expected a number in (0, 1)")]
    Confidence {
        /// The confidence.
        confidence: f64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Stretch;

    fn record(environment: &str, learner: &str, seed: u64, loss: f64) -> RunRecord {
        let stretch = |until, loss| Stretch {
            until,
            loss,
            point_masses: 0.0,
        };
        RunRecord {
            environment: environment.to_owned(),
            fingerprint: format!("{environment} 1"),
            learner: learner.to_owned(),
            settings: "1".to_owned(),
            seed,
            decisions: 40,
            objective: egret::Objective::LOSS,
            loss,
            regret: None,
            curve: vec![stretch(8, 1.0), stretch(40, loss)],
            log: None,
            seconds: 0.000_4,
        }
    }

    fn records() -> Vec<RunRecord> {
        let mut records = Vec::new();
        for seed in 0..6 {
            let wobble = 0.01 * seed as f64;
            records.push(record("houses", "base", seed, 0.3 + wobble));
            records.push(record("houses", "better", seed, 0.2 + wobble));
            records.push(record("houses", "same", seed, 0.3 - wobble + 0.025 * 2.0));
        }
        records
    }

    #[test]
    fn wins_and_ties_are_those_of_the_pairs() {
        let comparison = LearnerComparison::new(&records(), None, 0.9).expect("six seeds");
        assert_eq!(comparison.baseline, "base");
        let problem = &comparison.problems[0];
        let pair = problem.against("better", "base").expect("paired");
        assert_eq!(pair.standing, PairedStanding::Win);
        assert!((pair.difference.mean - 0.1).abs() < 1e-12);
        assert_eq!(problem.pairs.len(), 3);
        let tally = |wins, ties| (wins, ties, 0);
        let tallies: Vec<_> = comparison
            .tallies
            .iter()
            .map(|tally| (tally.wins, tally.ties, tally.losses))
            .collect();
        assert_eq!(tallies, [tally(1, 0), tally(0, 1)]);
        let result = problem.result("better").expect("there");
        assert!((result.microseconds - 10.0).abs() < 1e-9);
        // 8 decisions at 1, then 32 at the mean loss 0.225.
        let (until, loss) = result.curve[1];
        assert_eq!(until, 40);
        assert!((loss - (8.0 + 32.0 * 0.225) / 40.0).abs() < 1e-12);
        assert!(comparison.left_out.is_empty());
    }

    #[test]
    fn only_runs_on_the_same_rounds_are_paired() {
        let mut records = records();
        let mut longer = record("houses", "better", 0, 0.1);
        longer.decisions = 400;
        let mut other_data = record("houses", "better", 0, 0.1);
        other_data.fingerprint = "houses 2".to_owned();
        records.push(longer);
        records.push(other_data);
        records.push(record("houses", "base", 99, 0.9));
        records.push(record("bikes", "better", 0, 0.5));
        let comparison = LearnerComparison::new(&records, Some("base"), 0.9).expect("some pairs");
        assert_eq!(comparison.problems.len(), 4);
        let pair = comparison.problems[0]
            .against("better", "base")
            .expect("six seeds");
        assert_eq!(pair.difference.pairs, 6);
        assert!((pair.difference.mean - 0.1).abs() < 1e-12);
        let said = comparison.left_out.join("\n");
        assert!(said.contains("houses (400 decisions; houses 1)"), "{said}");
        assert!(
            said.contains("better and base share 6 seeds; 1 run without a partner"),
            "{said}"
        );
        assert!(said.contains("bikes: only better was run"), "{said}");
    }

    #[test]
    fn one_name_in_two_sources_is_two_learners_unless_losses_agree() {
        let (one, mut two) = (records(), records());
        let names = |two: &[RunRecord]| {
            let sources = [("a".to_owned(), &one[..]), ("b".to_owned(), two)];
            let comparison = LearnerComparison::of_sources(&sources, None, 0.9).expect("compared");
            comparison.learners
        };
        assert_eq!(names(&two), ["base", "better", "same"]);
        two[1].loss += 0.01;
        assert_eq!(names(&two), ["base", "better (a)", "same", "better (b)"]);
    }

    #[test]
    fn one_name_with_different_settings_is_several_learners() {
        let run = |settings: &str, seed| RunRecord {
            settings: settings.to_owned(),
            ..record("houses", "mine", seed, 0.1 * seed as f64)
        };
        let compared = |sources: &[(&str, &[RunRecord])]| {
            let sources: Vec<_> = sources
                .iter()
                .map(|(name, records)| ((*name).to_owned(), *records))
                .collect();
            let comparison = LearnerComparison::of_sources(&sources, None, 0.9).expect("compared");
            let results = comparison.problems[0].results.iter();
            results
                .map(|result| (result.learner.clone(), result.seeds))
                .collect::<Vec<_>>()
        };
        let named = |name: &str, seeds| (name.to_owned(), seeds);
        let (one, same) = ([run("1", 1), run("1", 2)], [run("1", 3), run("1", 4)]);
        let other = [run("2", 3), run("2", 4)];
        // The sources share no run: only the settings distinguish the learners.
        assert_eq!(compared(&[("a", &one), ("b", &same)]), [named("mine", 4)]);
        assert_eq!(
            compared(&[("a", &one), ("b", &other)]),
            [named("mine (a)", 2), named("mine (b)", 2)]
        );
        let both = [one.clone(), other.clone()].concat();
        assert_eq!(
            compared(&[("", &both)]),
            [named("mine (1)", 2), named("mine (2)", 2)]
        );
        assert_eq!(
            compared(&[("a", &both), ("b", &same)]),
            [
                named("mine (a; 1)", 2),
                named("mine (a; 2)", 2),
                named("mine (b)", 2)
            ]
        );
        // If settings were not saved from the start, a name in one source is one learner; in two sources it may be two.
        let late = [run("", 1), run("1", 2)];
        assert_eq!(compared(&[("a", &late)]), [named("mine", 2)]);
        let old = [run("", 1), run("", 2)];
        assert_eq!(
            compared(&[("a", &old), ("b", &same)]),
            [named("mine (a)", 2), named("mine (b)", 2)]
        );
    }

    #[test]
    fn empty_results_unknown_baselines_and_bad_confidences_are_refused() {
        assert_eq!(
            LearnerComparison::new(&[], None, 0.9),
            Err(ComparisonError::Empty)
        );
        let error = LearnerComparison::new(&records(), Some("none"), 0.9).expect_err("unknown");
        assert!(error.to_string().ends_with("base, better, same"), "{error}");
        assert!(LearnerComparison::new(&records(), None, f64::NAN).is_err());
    }
}
