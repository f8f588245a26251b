use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde::Serialize;

use crate::paired_difference::bootstrap_interval;
use crate::{PairedDifference, RunRecord, Standing};

/// Saved results side by side: what each learner lost on each problem, and who did better where both met the same rounds.
///
/// A problem is an environment, by its content and not only by its name, and a number of decisions. Runs of one problem under
/// one seed are a pair. Nothing else is compared, and what was left out is said.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// How often an interval holds what it is of.
    pub confidence: f64,
    /// Whom the others are compared with.
    pub baseline: String,
    /// The learners, in the order in which they were given.
    pub learners: Vec<String>,
    /// The problems, in the order in which they were given.
    pub problems: Vec<Problem>,
    /// Wins, ties and losses of each learner but the baseline, over all problems.
    pub tallies: Vec<Tally>,
    /// What could not be compared, and why.
    pub left_out: Vec<String>,
}

/// An environment at a number of decisions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    /// What tables call it.
    pub name: String,
    /// How many decisions each run made.
    pub decisions: u64,
    /// What each learner came to, in the order of [`Comparison::learners`].
    pub outcomes: Vec<Outcome>,
    /// Every two learners that share a seed; those with the baseline first.
    pub pairs: Vec<Pair>,
}

/// What a learner came to on a problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Which.
    pub learner: String,
    /// How many runs.
    pub seeds: usize,
    /// The mean loss.
    pub loss: f64,
    /// The lower end of its bootstrap interval over seeds.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The mean of what was lost beyond the best, where the truth is known.
    pub regret: Option<f64>,
    /// How long deciding and learning took for each decision.
    pub microseconds: f64,
    /// The mean loss so far: (decisions, loss).
    pub curve: Vec<(u64, f64)>,
}

/// Two learners on the same rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// Who wins, ties or loses.
    pub learner: String,
    /// Against whom.
    pub against: String,
    /// The other's loss less the learner's: above 0 the learner is better.
    #[serde(flatten)]
    pub difference: PairedDifference,
    /// For the learner.
    pub standing: Standing,
}

/// A learner against the baseline, over problems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Which.
    pub learner: String,
    /// On how many problems its interval lies above 0.
    pub wins: usize,
    /// Holds 0.
    pub ties: usize,
    /// Lies below 0.
    pub losses: usize,
}

/// The seed of the bootstrap: intervals of the same results are the same.
const BOOTSTRAP_SEED: u64 = 0;

impl Comparison {
    /// Of results from one place. Without a baseline, the first learner is it.
    pub fn new(
        records: &[RunRecord],
        baseline: Option<&str>,
        confidence: f64,
    ) -> Result<Self, ComparisonError> {
        Self::of_sources(&[(String::new(), records)], baseline, confidence)
    }

    /// Of results from several places, each with a name. Where learners of one name have other settings, or other losses in
    /// the same run, the place becomes part of the name; where one place has both, the settings' fingerprint does.
    pub fn of_sources(
        sources: &[(String, &[RunRecord])],
        baseline: Option<&str>,
        confidence: f64,
    ) -> Result<Self, ComparisonError> {
        if !(0.0 < confidence && confidence < 1.0) {
            return Err(ComparisonError::Confidence { confidence });
        }
        let runs = named_apart(sources);
        let learners = in_order(runs.iter().map(|run| run.learner.as_str()));
        let Some(first) = learners.first() else {
            return Err(ComparisonError::Empty);
        };
        let baseline = baseline.unwrap_or(first).to_owned();
        if !learners.contains(&baseline) {
            return Err(ComparisonError::Baseline { baseline, learners });
        }
        let mut left_out = Vec::new();
        let problems = problems(&runs, &mut left_out);
        let compared: Vec<(Problem, Vec<String>)> = problems
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
        let standings: Vec<Standing> = problems
            .iter()
            .filter_map(|problem| problem.against(learner, baseline))
            .map(|pair| pair.standing)
            .collect();
        let count = |of: Standing| standings.iter().filter(|standing| **standing == of).count();
        Self {
            learner: learner.to_owned(),
            wins: count(Standing::Win),
            ties: count(Standing::Tie),
            losses: count(Standing::Loss),
        }
    }
}

impl Problem {
    /// A learner's outcome.
    pub fn outcome(&self, learner: &str) -> Option<&Outcome> {
        self.outcomes
            .iter()
            .find(|outcome| outcome.learner == learner)
    }

    /// How a learner stands against another, where the pair was looked at from that side.
    pub fn against(&self, learner: &str, other: &str) -> Option<&Pair> {
        self.pairs
            .iter()
            .find(|pair| pair.learner == learner && pair.against == other)
    }
}

/// A run under the name that tells its learner from others.
struct NamedRun<'a> {
    learner: String,
    record: &'a RunRecord,
}

/// What makes two runs one and the same: the problem, the learner, the seed.
fn identity(record: &RunRecord) -> (&str, &str, &str, u64, u64) {
    (
        &record.environment,
        &record.fingerprint,
        &record.learner,
        record.decisions,
        record.seed,
    )
}

fn named_apart<'a>(sources: &[(String, &'a [RunRecord])]) -> Vec<NamedRun<'a>> {
    let settings = SettingsOfNames::new(sources);
    let mut first: BTreeMap<_, &RunRecord> = BTreeMap::new();
    let mut apart = settings.ambiguous();
    for record in sources.iter().flat_map(|(_, records)| *records) {
        let known = first.entry(identity(record)).or_insert(record);
        // The same run made twice gives the same loss to the bit.
        if known.loss.to_bits() != record.loss.to_bits() {
            apart.insert(&record.learner);
        }
    }
    let mut taken = BTreeSet::new();
    let mut runs = Vec::new();
    for (source, records) in sources {
        for record in *records {
            let mut marks = Vec::new();
            if apart.contains(record.learner.as_str()) {
                marks.extend((!source.is_empty()).then_some(source.as_str()));
                marks.extend(settings.mark(source, record));
            }
            let learner = match &marks[..] {
                [] => record.learner.clone(),
                marks => format!("{} ({})", record.learner, marks.join("; ")),
            };
            if taken.insert((learner.clone(), identity(record))) {
                runs.push(NamedRun { learner, record });
            }
        }
    }
    runs
}

/// Which settings each name stands for, in each place.
struct SettingsOfNames<'a> {
    of: BTreeMap<(&'a str, &'a str), BTreeSet<&'a str>>,
}

impl<'a> SettingsOfNames<'a> {
    fn new(sources: &'a [(String, &'a [RunRecord])]) -> Self {
        let mut of: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
        for (source, records) in sources {
            for record in *records {
                let known = of.entry((source.as_str(), record.learner.as_str()));
                known.or_default().insert(record.settings.as_str());
            }
        }
        // A study that was begun before settings were kept and ended after: one learner, told half of the time.
        for known in of.values_mut().filter(|known| known.len() == 2) {
            known.remove("");
        }
        Self { of }
    }

    /// Names that stand for more than one learner.
    fn ambiguous(&self) -> BTreeSet<&'a str> {
        let mut first = BTreeMap::new();
        let mut ambiguous = BTreeSet::new();
        for ((_, learner), settings) in &self.of {
            for of in settings {
                if *first.entry(*learner).or_insert(of) != of {
                    ambiguous.insert(*learner);
                }
            }
        }
        ambiguous
    }

    /// What tells a run's learner from others of its name in the same place, if there are any.
    fn mark<'r>(&self, source: &str, record: &'r RunRecord) -> Option<&'r str> {
        let settings = &self.of[&(source, record.learner.as_str())];
        let mark = match record.settings.as_str() {
            "" => "unknown settings",
            settings => settings,
        };
        (1 < settings.len()).then_some(mark)
    }
}

/// `1 seed`, `2 seeds`.
pub(crate) fn counted(count: u64, one: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {one}{ending}")
}

fn in_order<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut known = BTreeSet::new();
    names
        .filter(|name| known.insert(*name))
        .map(str::to_owned)
        .collect()
}

/// The runs of one problem.
struct Runs<'a> {
    name: String,
    decisions: u64,
    runs: Vec<&'a NamedRun<'a>>,
}

fn problems<'a>(runs: &'a [NamedRun<'a>], left_out: &mut Vec<String>) -> Vec<Runs<'a>> {
    let mut problems: Vec<(&str, Runs<'a>)> = Vec::new();
    let mut places = BTreeMap::new();
    for run in runs {
        let record = run.record;
        let key = (&record.environment, &record.fingerprint, record.decisions);
        let place = *places.entry(key).or_insert_with(|| {
            let runs = Runs {
                name: record.environment.clone(),
                decisions: record.decisions,
                runs: Vec::new(),
            };
            problems.push((&record.fingerprint, runs));
            problems.len() - 1
        });
        problems[place].1.runs.push(run);
    }
    for name in in_order(problems.iter().map(|(_, problem)| problem.name.as_str())) {
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
        let names = names.join(", ");
        left_out.push(format!(
            "not the same problem, so not paired with each other: {names}"
        ));
    }
    problems.into_iter().map(|(_, problem)| problem).collect()
}

impl Runs<'_> {
    fn compared(
        &self,
        learners: &[String],
        baseline: &str,
        confidence: f64,
    ) -> (Problem, Vec<String>) {
        let by_learner: Vec<(&String, BTreeMap<u64, &RunRecord>)> = learners
            .iter()
            .map(|learner| {
                let of_learner = self.runs.iter().filter(|run| run.learner == *learner);
                let by_seed = of_learner.map(|run| (run.record.seed, run.record));
                (learner, by_seed.collect())
            })
            .filter(|(_, runs): &(_, BTreeMap<_, _>)| !runs.is_empty())
            .collect();
        let outcomes = by_learner
            .iter()
            .map(|(learner, runs)| outcome(learner, runs, confidence))
            .collect();
        let mut unpaired = Vec::new();
        let mut sides = Vec::new();
        for (place, (ours, runs)) in by_learner.iter().enumerate() {
            for (theirs, others) in &by_learner[place + 1..] {
                // The baseline is the one compared with, never the one that wins.
                if *ours == baseline {
                    sides.push(((*theirs, others), (*ours, runs)));
                } else {
                    sides.push(((*ours, runs), (*theirs, others)));
                }
            }
        }
        sides.sort_by_key(|(_, (theirs, _))| *theirs != baseline);
        let mut pairs = Vec::new();
        let mut more = 0;
        for ((ours, runs), (theirs, others)) in sides {
            let seeds: Vec<u64> = runs.keys().copied().collect();
            let shared: Vec<u64> = seeds
                .iter()
                .copied()
                .filter(|seed| others.contains_key(seed))
                .collect();
            let alone = runs.len() + others.len() - 2 * shared.len();
            if 0 < alone && theirs != baseline {
                more += 1;
            } else if 0 < alone {
                let (name, shared) = (&self.name, counted(shared.len() as u64, "seed"));
                let (runs, stand) = (
                    counted(alone as u64, "run"),
                    if alone == 1 { "stands" } else { "stand" },
                );
                unpaired.push(format!(
                    "{name}: {ours} and {theirs} share {shared}; {runs} of theirs {stand} alone"
                ));
            }
            let losses = |of: &BTreeMap<u64, &RunRecord>| -> Vec<f64> {
                shared.iter().map(|seed| of[seed].loss).collect()
            };
            let (our_losses, their_losses) = (losses(runs), losses(others));
            if let Some(difference) =
                PairedDifference::new(&our_losses, &their_losses, confidence, BOOTSTRAP_SEED)
            {
                pairs.push(Pair {
                    learner: ours.clone(),
                    against: theirs.clone(),
                    standing: difference.standing(),
                    difference,
                });
            }
        }
        if 0 < more {
            let name = &self.name;
            let (pairs, share) = (
                counted(more, "pair"),
                if more == 1 {
                    "does not share"
                } else {
                    "do not share"
                },
            );
            unpaired.push(format!(
                "{name}: {pairs} of other learners {share} all seeds either"
            ));
        }
        if by_learner.len() == 1 {
            let (name, learner) = (&self.name, by_learner[0].0);
            unpaired.push(format!("{name}: only {learner} was run"));
        }
        let problem = Problem {
            name: self.name.clone(),
            decisions: self.decisions,
            outcomes,
            pairs,
        };
        (problem, unpaired)
    }
}

fn outcome(learner: &str, runs: &BTreeMap<u64, &RunRecord>, confidence: f64) -> Outcome {
    let mean = |of: &dyn Fn(&RunRecord) -> f64| {
        runs.values().map(|record| of(record)).sum::<f64>() / runs.len() as f64
    };
    let losses: Vec<f64> = runs.values().map(|record| record.loss).collect();
    let (low, high) = bootstrap_interval(&losses, confidence, BOOTSTRAP_SEED);
    let known = runs.values().all(|record| record.regret.is_some());
    Outcome {
        learner: learner.to_owned(),
        seeds: runs.len(),
        loss: mean(&|record| record.loss),
        low,
        high,
        regret: known.then(|| mean(&|record| record.regret.unwrap_or_default())),
        microseconds: mean(&|record| 1e6 * record.seconds / (record.decisions.max(1) as f64)),
        curve: curve(runs),
    }
}

/// The mean over seeds of the mean loss so far. Runs of one length end their stretches at the same places.
fn curve(runs: &BTreeMap<u64, &RunRecord>) -> Vec<(u64, f64)> {
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

/// Why nothing was compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ComparisonError {
    /// No runs.
    #[error("there are no results to compare")]
    Empty,
    /// No such learner.
    #[error("the baseline {baseline:?} is not among the learners: {}", learners.join(", "))]
    Baseline {
        /// Who was asked for.
        baseline: String,
        /// Who is there.
        learners: Vec<String>,
    },
    /// Not a probability.
    #[error("confidence is {confidence}, expected a number in (0, 1)")]
    Confidence {
        /// What it was.
        confidence: f64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stretch;

    fn record(environment: &str, learner: &str, seed: u64, loss: f64) -> RunRecord {
        let stretch = |until, loss| Stretch {
            until,
            loss,
            atoms: 0.0,
        };
        RunRecord {
            environment: environment.to_owned(),
            fingerprint: format!("{environment} 1"),
            learner: learner.to_owned(),
            settings: "1".to_owned(),
            seed,
            decisions: 40,
            loss,
            regret: None,
            curve: vec![stretch(8, 1.0), stretch(40, loss)],
            exhaust: None,
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
        let comparison = Comparison::new(&records(), None, 0.9).expect("six seeds");
        assert_eq!(comparison.baseline, "base");
        let problem = &comparison.problems[0];
        let pair = problem.against("better", "base").expect("paired");
        assert_eq!(pair.standing, Standing::Win);
        assert!((pair.difference.mean - 0.1).abs() < 1e-12);
        assert_eq!(problem.pairs.len(), 3);
        let tally = |wins, ties| (wins, ties, 0);
        let tallies: Vec<_> = comparison
            .tallies
            .iter()
            .map(|tally| (tally.wins, tally.ties, tally.losses))
            .collect();
        assert_eq!(tallies, [tally(1, 0), tally(0, 1)]);
        let outcome = problem.outcome("better").expect("there");
        assert!((outcome.microseconds - 10.0).abs() < 1e-9);
        // 8 decisions at 1, then 32 at the mean loss 0.225.
        let (until, loss) = outcome.curve[1];
        assert_eq!(until, 40);
        assert!((loss - (8.0 + 32.0 * 0.225) / 40.0).abs() < 1e-12);
        assert!(comparison.left_out.is_empty());
    }

    #[test]
    fn only_what_met_the_same_rounds_is_paired() {
        let mut records = records();
        let mut longer = record("houses", "better", 0, 0.1);
        longer.decisions = 400;
        let mut other_data = record("houses", "better", 0, 0.1);
        other_data.fingerprint = "houses 2".to_owned();
        records.push(longer);
        records.push(other_data);
        records.push(record("houses", "base", 99, 0.9));
        records.push(record("bikes", "better", 0, 0.5));
        let comparison = Comparison::new(&records, Some("base"), 0.9).expect("some pairs");
        assert_eq!(comparison.problems.len(), 4);
        let pair = comparison.problems[0]
            .against("better", "base")
            .expect("six seeds");
        assert_eq!(pair.difference.pairs, 6);
        assert!((pair.difference.mean - 0.1).abs() < 1e-12);
        let said = comparison.left_out.join("\n");
        assert!(said.contains("houses (400 decisions; houses 1)"), "{said}");
        assert!(
            said.contains("better and base share 6 seeds; 1 run of"),
            "{said}"
        );
        assert!(said.contains("bikes: only better was run"), "{said}");
    }

    #[test]
    fn one_learner_from_two_places_is_two_unless_it_did_the_same() {
        let (one, mut two) = (records(), records());
        let names = |two: &[RunRecord]| {
            let sources = [("a".to_owned(), &one[..]), ("b".to_owned(), two)];
            let comparison = Comparison::of_sources(&sources, None, 0.9).expect("compared");
            comparison.learners
        };
        assert_eq!(names(&two), ["base", "better", "same"]);
        two[1].loss += 0.01;
        assert_eq!(names(&two), ["base", "better (a)", "same", "better (b)"]);
    }

    #[test]
    fn one_name_with_other_settings_is_another_learner() {
        let run = |settings: &str, seed| RunRecord {
            settings: settings.to_owned(),
            ..record("houses", "mine", seed, 0.1 * seed as f64)
        };
        let compared = |sources: &[(&str, &[RunRecord])]| {
            let sources: Vec<_> = sources
                .iter()
                .map(|(name, records)| ((*name).to_owned(), *records))
                .collect();
            let comparison = Comparison::of_sources(&sources, None, 0.9).expect("compared");
            let outcomes = comparison.problems[0].outcomes.iter();
            outcomes
                .map(|outcome| (outcome.learner.clone(), outcome.seeds))
                .collect::<Vec<_>>()
        };
        let named = |name: &str, seeds| (name.to_owned(), seeds);
        let (one, same) = ([run("1", 1), run("1", 2)], [run("1", 3), run("1", 4)]);
        let other = [run("2", 3), run("2", 4)];
        // No run of one place is in the other: only the settings tell.
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
        // Where settings were not kept from the start, one place has one learner of a name; two places may not.
        let late = [run("", 1), run("1", 2)];
        assert_eq!(compared(&[("a", &late)]), [named("mine", 2)]);
        let old = [run("", 1), run("", 2)];
        assert_eq!(
            compared(&[("a", &old), ("b", &same)]),
            [named("mine (a)", 2), named("mine (b)", 2)]
        );
    }

    #[test]
    fn refused() {
        assert_eq!(Comparison::new(&[], None, 0.9), Err(ComparisonError::Empty));
        let error = Comparison::new(&records(), Some("none"), 0.9).expect_err("unknown");
        assert!(error.to_string().ends_with("base, better, same"), "{error}");
        assert!(Comparison::new(&records(), None, f64::NAN).is_err());
    }
}
