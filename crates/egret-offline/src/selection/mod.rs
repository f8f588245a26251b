mod decided_again;
mod predictions;

use std::ops::ControlFlow;

use egret::{
    ActionKind, Context, Decision, Model, ModelSpec, Objective, Observed, OutOfRange, Settings,
    SpaceError,
};
use rayon::prelude::*;
use serde::Serialize;

use crate::estimator::Estimator;
use crate::evaluation::{
    Difference, Estimate, Evaluation, EvaluationError, Plan, PlanError, PolicyComparison, Verdict,
    VerdictKind,
};
use crate::interval::{Confidence, IntervalKind};
use crate::numerals::about;
use crate::paired_events::{PairedEvents, PairedTruncatedColumns};
use crate::policy::{Policy, PolicyError};
use crate::training::{
    CandidateError, Epoch, LearningError, SplitRows, Trained, Training, TrainingCandidate,
    importance_weights,
};
use crate::weighted_events::{TruncatedMeans, WeightedEvents};
use decided_again::DecidedAgain;

/// Candidates that were trained on one part of a log and compared on another.
///
/// The value of each candidate is estimated on the same held-out rows, doubly robust. Predictions are those of the candidate
/// with the smallest squared error on the other rows, the same for all. Intervals are normal ones where their verdict is that
/// they can be relied on, and else by betting, which holds for all weights and is wider. For K candidates they are at α/K, so
/// that all hold at once with probability 1 − α, and the winner's holds although it was picked for winning. One candidate is
/// called better than another only if the interval of their difference, of the kind chosen alike, lies on one side of 0. It is
/// at 2α/(K(K − 1)), for there are as many pairs as that has below, and one interval bounds both v₁ − v₂ and v₂ − v₁.
pub struct Selection<A: ActionKind> {
    /// In the order of the candidates.
    pub entries: Vec<Entry<A>>,
    /// The place of the candidate with the lowest estimate.
    pub winner: usize,
    spec: ModelSpec,
}

/// A trained candidate with its value.
pub struct Entry<A: ActionKind> {
    /// The candidate.
    pub candidate: TrainingCandidate,
    /// The result of its training.
    pub trained: Trained<Context, A>,
    /// Its value on held-out rows.
    pub value: HeldOutValue,
}

impl<A: ActionKind> Entry<A> {
    /// How many more held-out events would settle which is better, this candidate or the winner.
    fn settles_after(&self) -> Option<u64> {
        self.value.behind.as_ref()?.events_to_settle()
    }
}

/// The value of a candidate on held-out rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldOutValue {
    /// The mean loss of the served policy, or its mean outcome after [`in_units`](Self::in_units); NaN where all weights
    /// are 0. It is never outside the interval.
    pub estimate: f64,
    /// The interval. All candidates' intervals hold at once.
    pub interval: Estimate,
    /// How it compares with the winner.
    pub standing: CandidateStanding,
    /// Its value minus the winner's; none for the winner.
    pub behind: Option<Difference>,
}

/// How a candidate compares with the winner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CandidateStanding {
    /// It has the best estimate, and all others are worse.
    Best,
    /// It has the best estimate, and some others are not shown to be worse.
    BestEstimate,
    /// It is tied with the winner: it may be as good.
    Tied,
    /// It is worse by a normal interval whose verdict is that it cannot be relied on, and not by one that can.
    LooksWorse,
    /// It is worse than the winner.
    Worse,
}

impl HeldOutValue {
    /// From mean losses to mean outcomes, in the units of the objective.
    pub fn in_units(self, objective: &Objective) -> Self {
        Self {
            estimate: objective.value(self.estimate),
            interval: self.interval.in_units(objective),
            behind: self.behind.map(|behind| behind.in_units(objective)),
            ..self
        }
    }
}

impl CandidateStanding {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Best => "best: all others are worse",
            Self::BestEstimate => "best estimate, not shown better than all others",
            Self::Tied => "tied with the best",
            Self::LooksWorse => "looks worse than the best, on too little evidence",
            Self::Worse => "worse than the best",
        }
    }
}

/// How candidates are compared.
#[derive(Debug)]
pub struct SelectionSettings<'a, A> {
    /// The confidence level at which all intervals hold at once.
    pub level: f64,
    /// Seeds the draws behind densities.
    pub seed: u64,
    /// What 1/p could not exceed at each example, known before its action was drawn; ∞ where it is not, and empty where no
    /// bound is known. Intervals and differences are narrower with it.
    pub largest_inverses: &'a [f64],
    /// Decisions like that of each test row, which the model that made the log made again with other random numbers, in the order of
    /// the rows; empty where that model is not known. Intervals by betting are narrower with them.
    pub again: &'a [Vec<Decision<A>>],
}

// By hand, since a derive would ask that actions can be copied, where references do.
impl<A> Clone for SelectionSettings<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for SelectionSettings<'_, A> {}

impl<A: ActionKind> Selection<A> {
    /// Trains all candidates on the training rows in parallel, and compares them on the test rows.
    ///
    /// `watch` is called after each epoch of each, and without one as each is done, in no order, and may break off. The
    /// result does not depend on threads.
    pub fn new(
        spec: &ModelSpec,
        examples: &[Observed<Context, A>],
        parts: &SplitRows,
        candidates: &[TrainingCandidate],
        settings: SelectionSettings<'_, A>,
        watch: impl Fn(&TrainingCandidate, Option<&Epoch>) -> ControlFlow<()> + Sync,
    ) -> Result<Self, SelectionError> {
        if parts.test.is_empty() {
            return Err(SelectionError::NothingToJudgeBy { rows: 0 });
        }
        let trained = candidates
            .par_iter()
            .map(|candidate| {
                let trained = candidate.train_with(spec, examples, parts, |task, settings| {
                    let mut training = Training::new(task, settings)?;
                    while let Some(epoch) = training.epoch()? {
                        if watch(candidate, Some(&epoch)).is_break() {
                            return Ok(None);
                        }
                    }
                    training.finish().map(Some)
                });
                let trained = trained.map_err(|error| SelectionError::Candidate {
                    name: candidate.name(),
                    error,
                })?;
                trained
                    .filter(|_| watch(candidate, None).is_continue())
                    .ok_or(SelectionError::Cancelled)
            })
            .collect::<Result<Vec<_>, _>>()?;
        Self::judge(spec, examples, parts, candidates, trained, settings)
    }

    /// Compares candidates that are trained already on the test rows. `trained` has one result for each candidate.
    pub fn judge(
        spec: &ModelSpec,
        examples: &[Observed<Context, A>],
        parts: &SplitRows,
        candidates: &[TrainingCandidate],
        trained: Vec<Trained<Context, A>>,
        settings: SelectionSettings<'_, A>,
    ) -> Result<Self, SelectionError> {
        let measure = A::measure(&spec.space)?;
        let confidence = Confidence::new(settings.level)?;
        let rows = &parts.test;
        let mut held_out = HeldOut::default();
        let Some(fhat) = predictions::most_exact(&trained, examples, parts)? else {
            return Err(SelectionError::NoCandidate);
        };
        held_out.predicted = predictions::of_logged(fhat, examples, rows)?;
        if settings.again.len() == rows.len() {
            held_out.again = Some(DecidedAgain::new(fhat, examples, rows, settings.again)?);
        }
        for (candidate, trained) in candidates.iter().zip(&trained) {
            let served = candidate.training.policy;
            let policy = served.serve(&*measure, &*trained.oracle)?;
            let weights = importance_weights(&policy, examples, rows, settings.seed)?;
            held_out.add(examples, rows, &weights);
            let predicted = predictions::of_policy(&policy, fhat, examples, rows, settings.seed)?;
            held_out.policy_predicted.push(predicted);
            if let Some(again) = &mut held_out.again {
                again.weigh(&policy, examples, rows, settings)?;
            }
            let largest = policy.largest_density().unwrap_or(f64::INFINITY);
            let inverse =
                |&row: &usize| settings.largest_inverses.get(row).map(|one| largest * one);
            held_out
                .bounds
                .push(rows.iter().filter_map(inverse).collect());
        }
        if !held_out.has_weight() {
            return Err(SelectionError::NothingToJudgeBy { rows: rows.len() });
        }
        let (winner, values) = held_out.values(confidence)?;
        let entries = candidates.iter().zip(trained).zip(values);
        Ok(Self {
            entries: entries
                .map(|((candidate, trained), value)| Entry {
                    candidate: candidate.clone(),
                    trained,
                    value,
                })
                .collect(),
            winner,
            spec: spec.clone(),
        })
    }

    /// Says that the densities of the log were estimated: nothing is proved then.
    #[must_use]
    pub fn with_estimated_densities(mut self) -> Self {
        for entry in &mut self.entries {
            let standing = &mut entry.value.standing;
            *standing = match *standing {
                CandidateStanding::Best => CandidateStanding::BestEstimate,
                CandidateStanding::Worse => CandidateStanding::LooksWorse,
                other => other,
            };
        }
        self
    }

    /// The winner: the candidate with the lowest estimate.
    pub fn best(&self) -> &Entry<A> {
        &self.entries[self.winner]
    }

    /// The winner as a model that decides under these settings and goes on learning.
    pub fn model(&self, settings: Settings) -> Result<Model<A>, CandidateError> {
        let Entry {
            candidate, trained, ..
        } = self.best();
        let spec = candidate.spec(&self.spec);
        let state = trained.oracle.save();
        Ok(Model::trained(spec, settings, &state, trained.learned)?)
    }

    /// The winner, and those tied with it, in a sentence; its value in the units of the objective.
    pub fn sentence(&self) -> String {
        let objective = &self.spec.objective;
        let Entry {
            candidate, value, ..
        } = self.best();
        let name = candidate.name();
        let HeldOutValue {
            estimate, interval, ..
        } = value.clone().in_units(objective);
        let noun = objective.noun();
        let digits = objective.decimals();
        let value = format!("{estimate:.digits$}, in {}", interval.ends(digits));
        if self.entries.len() == 1 {
            return format!("{name} is the only candidate: its mean {noun} is {value}");
        }
        let ties = self.named(CandidateStanding::Tied);
        let apart = self.named(CandidateStanding::LooksWorse);
        if ties.is_none() && apart.is_none() {
            return format!("{name} is better than all others: its mean {noun} is {value}");
        }
        let ties = ties.map(|names| format!("; tied with {names}"));
        let apart =
            apart.map(|names| format!("; on too little evidence, it looks better than {names}"));
        let names = [ties, apart].into_iter().flatten().collect::<String>();
        let mut entries = self.entries.iter();
        let brackets = match entries.any(|entry| entry.settles_after().is_some()) {
            true => {
                "; in brackets: how many more held-out events would settle it, if the difference is what is estimated"
            }
            false => "",
        };
        format!("{name} has the best mean {noun}, {value}{names}{brackets}")
    }

    /// The candidates of a standing, those with the best estimates by name, and in brackets how many more events would settle
    /// which is better; none if there is none.
    fn named(&self, standing: CandidateStanding) -> Option<String> {
        let alike = self.entries.iter();
        let mut alike: Vec<&Entry<A>> = alike
            .filter(|entry| entry.value.standing == standing)
            .collect();
        alike.sort_by(|a, b| a.value.estimate.total_cmp(&b.value.estimate));
        let name = |entry: &&Entry<A>| {
            let name = entry.candidate.name();
            match entry.settles_after() {
                Some(events) => format!("{name} ({})", about(events)),
                None => name,
            }
        };
        let names: Vec<String> = alike.iter().take(NAMED).map(name).collect();
        match alike.len() {
            0 => None,
            1..=NAMED => Some(names.join(", ")),
            many => Some(format!("{} and {} more", names.join(", "), many - NAMED)),
        }
    }
}

/// The estimate, or the end of the interval next to it: a few large weights take a doubly robust estimate to values that bets
/// have ruled out. NaN stays.
fn within(estimate: f64, (low, high): (f64, f64)) -> f64 {
    match estimate {
        _ if estimate < low => low,
        _ if high < estimate => high,
        _ => estimate,
    }
}

/// A sentence names this many candidates of a standing.
const NAMED: usize = 3;

/// Held-out rows: their losses, and the weights of each candidate.
///
/// A point mass has weight 0 and still counts as a row. The densities describe only the rest of the logging policy, which has
/// less than mass 1. So Σ wℓ/n is unbiased over all n rows, but not over those with a density.
#[derive(Default)]
struct HeldOut {
    losses: Vec<f64>,
    weights: Vec<Vec<f64>>,
    /// What the weights could not exceed; empty where no bound is known.
    bounds: Vec<Vec<f64>>,
    /// f̂ of what was logged, and on average of what each candidate plays.
    predicted: Vec<f64>,
    policy_predicted: Vec<Vec<f64>>,
    /// The decisions of the log, made again, where that can be done.
    again: Option<DecidedAgain>,
}

impl HeldOut {
    fn add<X, A>(&mut self, examples: &[Observed<X, A>], rows: &[usize], weights: &[Option<f64>]) {
        let losses = rows.iter().map(|&row| examples[row].loss.get());
        self.losses.clear();
        self.losses.extend(losses);
        let own = weights.iter().map(|weight| weight.unwrap_or(0.0));
        self.weights.push(own.collect());
    }

    fn has_weight(&self) -> bool {
        let mut weights = self.weights.iter().flatten();
        weights.any(|&weight| 0.0 < weight)
    }

    /// The place of the winner, and the value of each candidate.
    fn values(&self, confidence: Confidence) -> Result<(usize, Vec<HeldOutValue>), SelectionError> {
        let count = self.weights.len() as u64;
        let estimates = (0..self.weights.len())
            .map(|place| self.value(place, confidence.simultaneous(count)))
            .collect::<Result<Vec<_>, _>>()?;
        // A candidate without an estimate does not win.
        let known = |place: usize| match estimates[place].0 {
            estimate if estimate.is_nan() => f64::INFINITY,
            estimate => estimate,
        };
        let winner = (0..estimates.len())
            .min_by(|&a, &b| known(a).total_cmp(&known(b)))
            .ok_or(SelectionError::NoCandidate)?;
        let pairs = confidence.simultaneous(count * (count - 1) / 2);
        let mut values = Vec::with_capacity(estimates.len());
        for (place, (estimate, interval)) in estimates.into_iter().enumerate() {
            let (behind, standing) = match place == winner {
                true => (None, CandidateStanding::BestEstimate),
                false => {
                    let [normal, betting] = self.differences(place, winner, pairs)?;
                    let mut behind = relied_on(&normal, &betting, |found| &found.verdict);
                    // That of doubly robust estimates, as the values have it.
                    behind.estimate = within(normal.estimate, (behind.low, behind.high));
                    let holds = matches!(
                        behind.verdict.kind,
                        VerdictKind::Reliable | VerdictKind::Uninformative
                    );
                    let apart = 0.0 < behind.low;
                    let standing = match apart || 0.0 < normal.low {
                        true if apart && holds => CandidateStanding::Worse,
                        true => CandidateStanding::LooksWorse,
                        false => CandidateStanding::Tied,
                    };
                    (Some(behind), standing)
                }
            };
            values.push(HeldOutValue {
                estimate: within(estimate, (interval.low, interval.high)),
                interval,
                standing,
                behind,
            });
        }
        let mut others = (0..values.len()).filter(|&place| place != winner);
        if others.all(|place| values[place].standing == CandidateStanding::Worse) {
            values[winner].standing = CandidateStanding::Best;
        }
        Ok((winner, values))
    }

    /// What each weight of a candidate could not exceed.
    fn bounds_of(&self, place: usize) -> Option<&[f64]> {
        let bounds = &self.bounds[place];
        (bounds.len() == self.losses.len()).then_some(bounds)
    }

    /// The doubly robust estimate, and the interval.
    fn value(
        &self,
        place: usize,
        confidence: Confidence,
    ) -> Result<(f64, Estimate), SelectionError> {
        let bounds = self.bounds_of(place);
        let truncated = self.again.as_ref().map(|again| again.truncated(place));
        let mut evaluation = Evaluation::new(Plan {
            estimators: vec![Estimator::Dr, Estimator::Ips],
            event_bounds: bounds.is_some(),
            truncated: truncated.is_some(),
            ..Plan::default()
        })?;
        evaluation.observe(&WeightedEvents {
            losses: &self.losses,
            weights: &self.weights[place],
            predicted: Some(&self.predicted),
            policy_predicted: Some(&self.policy_predicted[place]),
            truncated: truncated.as_ref().map(|[below, above]| TruncatedMeans {
                below: below.each_ref().map(|column| &column[..]),
                above: above.each_ref().map(|column| &column[..]),
            }),
            weight_bounds: bounds,
            ..WeightedEvents::default()
        })?;
        let estimates = evaluation.report(confidence).estimates;
        let of = |estimator, interval| {
            let mut estimates = estimates.iter();
            estimates.find(|found| (found.estimator, found.interval) == (estimator, interval))
        };
        let normal = of(Estimator::Dr, IntervalKind::Normal).expect("the plan has it");
        let betting = of(Estimator::Dr, IntervalKind::Betting)
            .or(of(Estimator::Ips, IntervalKind::Betting))
            .expect("the plan has it");
        // Predictions alone are no evidence.
        let has_weight = self.weights[place].iter().any(|&weight| 0.0 < weight);
        let estimate = if has_weight {
            normal.estimate
        } else {
            f64::NAN
        };
        Ok((estimate, relied_on(normal, betting, |found| &found.verdict)))
    }

    /// The value of one candidate minus that of another, with a normal interval and with one by betting.
    fn differences(
        &self,
        of: usize,
        to: usize,
        confidence: Confidence,
    ) -> Result<[Difference; 2], SelectionError> {
        let bounds = self.bounds_of(of).zip(self.bounds_of(to));
        let mut comparison = PolicyComparison::new(None)?.with_predictions();
        if bounds.is_some() {
            comparison = comparison.with_event_bounds();
        }
        let truncated = self.again.as_ref().map(|again| again.paired([of, to]));
        if truncated.is_some() {
            comparison = comparison.with_truncated_means();
        }
        let [of_predicted, to_predicted] = [of, to].map(|place| &*self.policy_predicted[place]);
        comparison.observe(&PairedEvents {
            losses: &self.losses,
            weights: [&self.weights[of], &self.weights[to]],
            predictions: Some([&self.predicted, of_predicted, to_predicted]),
            truncated: truncated.as_ref().map(PairedTruncatedColumns::means),
            weight_bounds: bounds.map(|(of, to)| [of, to]),
            ..PairedEvents::default()
        })?;
        let differences = comparison.report(confidence).differences;
        let normal = |found: &&Difference| {
            (found.estimator, found.interval) == (Estimator::Dr, IntervalKind::Normal)
        };
        let betting = |found: &&Difference| found.interval == IntervalKind::Betting;
        let normal = differences.iter().find(normal);
        let betting = differences.iter().find(betting);
        let (normal, betting) = normal.zip(betting).expect("predictions are at most 1");
        Ok([normal.clone(), betting.clone()])
    }
}

/// The first, if its verdict is that it can be relied on, and else the second.
fn relied_on<T: Clone>(first: &T, second: &T, verdict: impl Fn(&T) -> &Verdict) -> T {
    match verdict(first).kind {
        VerdictKind::Reliable => first.clone(),
        _ => second.clone(),
    }
}

/// Why no candidate was selected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// A candidate cannot be trained.
    #[error("candidate {name}: {error}")]
    Candidate {
        /// Its name.
        name: String,
        /// Why.
        error: CandidateError,
    },
    /// The action space is not valid, or holds other actions.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// A policy has no density.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A number is not in its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The plan of the evaluation is not valid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A row cannot be weighed.
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    /// Training failed.
    #[error(transparent)]
    Learning(#[from] LearningError),
    /// Somebody broke it off.
    #[error("the selection was interrupted")]
    Cancelled,
    /// There is no candidate.
    #[error("there is no candidate: name at least one")]
    NoCandidate,
    /// There are no held-out rows, all are point masses, or no candidate would play any of their actions.
    #[error(
        "none of the {rows} held-out rows has a positive weight: hold out more rows, log densities, or serve a policy that plays what was logged"
    )]
    NothingToJudgeBy {
        /// How many held-out rows there are.
        rows: usize,
    },
}
