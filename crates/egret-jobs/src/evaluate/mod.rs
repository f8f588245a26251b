//! What would other policies have earned, or lost? Off-policy evaluation from a log.
//!
//! [`evaluate`] takes an [`EvaluateRequest`] and gives an [`EvaluateReport`], with an [`EvaluationRow`] for each estimate.
//! One scan of the log weighs every event for all policies at once. There are two scans with one meaning: `by_columns`
//! reads columns of numbers alone and is fast; `by_records` reads whole records, where a model has to see contexts.
//! Both fill a `WeightedBatch`, which a `Tally` adds up; `rows` turns the sums into a report. `parts` and `further_outcome`
//! have tallies of their own, of segments or windows of the log and of other outcomes.

mod by_columns;
mod by_records;
mod density;
mod distribution_row;
mod fitted;
mod further_outcome;
mod parts;
mod pass_probs;
mod rows;
mod tally;
mod weight_histogram;
mod weighted_batch;

pub use distribution_row::DistributionRow;
pub use further_outcome::{FurtherOutcome, FurtherOutcomeError};
pub use parts::PartsBy;
pub use rows::{EvaluationRow, rows_to_go_by};
pub use weight_histogram::WeightHistogram;

use std::borrow::Cow;
use std::path::PathBuf;

use egret::Objective;
use egret_log::{LogMapping, nearest};
use egret_offline::{Confidence, Estimate, Estimator, IntervalKind, PathPoint, Plan};
use serde::{Deserialize, Serialize};

use crate::confidence::confidence;
use crate::error::JobError;
use crate::log_source::LogSource;
use crate::policy_spec::{NamedPolicy, PolicySpec};
use crate::progress::Progress;
use tally::LeftOut;

/// What is to be evaluated, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvaluateRequest {
    /// The log.
    pub log: LogSource,
    /// The policies, each by its own name.
    pub policies: Vec<NamedPolicy>,
    /// If empty: snips and ips, and with predictions dr and sndr before them.
    pub estimators: Vec<Estimator>,
    /// Which intervals are reported.
    pub intervals: Vec<IntervalKind>,
    /// The probability with which an interval holds the value.
    pub level: f64,
    /// Intervals hold for all policies at once: to choose among them.
    pub simultaneous: bool,
    /// Also report the difference of each policy to the one of this name. `logged` is the policy that made the log, whether
    /// it is among the policies or not.
    pub against: Option<String>,
    /// Only events from this sequence number on.
    pub from_seq: Option<u64>,
    /// Only events before this sequence number.
    pub to_seq: Option<u64>,
    /// Also evaluate parts of the log, each by itself. Their intervals hold for all parts at once.
    pub parts: Option<PartsBy>,
    /// Also value these outcomes of the same events.
    pub outcomes: Vec<FurtherOutcome>,
    /// Also report these quantiles of the outcome: 0.5 is the median.
    pub quantiles: Vec<f64>,
    /// Also report the mean of the worst share of outcomes, for each of these shares.
    pub worst: Vec<f64>,
    /// Predictions of outcomes, for dm, dr and their kin.
    pub predictions: Option<Predictions>,
    /// The models that made the log, above all the one from before its first event; those between are learned from the log. Each
    /// decision is then made again, several times, which narrows the betting intervals of dr.
    pub logged_by: Vec<PathBuf>,
    /// Weigh each event by τ/(τ + γ), known before its action is drawn: less variance where γ grows.
    pub stabilize: bool,
    /// A known upper bound on importance weights. Empirical Bernstein needs it; betting on dr needs it, or the log's own
    /// bounds.
    pub weight_bound: Option<f64>,
    /// Resampled logs of the bootstrap.
    pub replicates: usize,
    /// How many draws of a policy its mean prediction is taken over.
    pub draws: usize,
    /// The seed of what is drawn for policies and of the bootstrap.
    pub seed: u64,
    /// Whether the report holds histograms of the weights.
    pub histograms: bool,
}

/// Where predictions of outcomes come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Predictions {
    /// A saved model, which must not have learned from these events.
    Model(PathBuf),
    /// A column of the log that holds f̂(x, a), in the units of the objective.
    Column(String),
    /// Each event is predicted by a model that learns from the events before it.
    Fit,
}

impl Default for EvaluateRequest {
    fn default() -> Self {
        Self {
            log: LogSource::default(),
            policies: Vec::new(),
            estimators: Vec::new(),
            intervals: vec![IntervalKind::Normal, IntervalKind::Betting],
            level: 0.95,
            simultaneous: false,
            against: None,
            from_seq: None,
            to_seq: None,
            parts: None,
            outcomes: Vec::new(),
            quantiles: Vec::new(),
            worst: Vec::new(),
            predictions: None,
            logged_by: Vec::new(),
            stabilize: false,
            weight_bound: None,
            replicates: 200,
            draws: 16,
            seed: 0,
            histograms: false,
        }
    }
}

/// What the log says of the policies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluateReport {
    /// Estimates, policy after policy, then differences.
    pub rows: Vec<EvaluationRow>,
    /// The same of each part of the log, part after part.
    pub parts: Vec<EvaluationRow>,
    /// The same of each further outcome.
    pub outcomes: Vec<EvaluationRow>,
    /// Quantiles and means of the worst outcomes, policy after policy.
    pub distribution: Vec<DistributionRow>,
    /// What there is to draw of each policy.
    pub policies: Vec<PolicyDetail>,
    /// The level of the intervals.
    pub level: f64,
    /// What outcomes are: estimates and intervals are in its units.
    pub objective: Objective,
    /// Remarks in sentences: what was left out, chosen or noticed.
    pub remarks: Vec<String>,
}

/// A policy beyond its estimates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyDetail {
    /// As its rows call it.
    pub name: String,
    /// How its weights are spread.
    pub weights: WeightHistogram,
    /// Its confidence sequence as it narrows.
    pub path: Vec<PathPoint>,
}

/// Evaluates the policies on the log.
pub fn evaluate(
    request: &EvaluateRequest,
    progress: &dyn Progress,
) -> Result<EvaluateReport, JobError> {
    let request = request.with_logged();
    let checked = Checked::new(&request)?;
    if checked.columns_suffice()
        && let Some(report) = by_columns::evaluate(&checked, progress)?
    {
        return Ok(report);
    }
    by_records::evaluate(&checked, progress)
}

/// A request that can be carried out.
struct Checked<'a> {
    request: &'a EvaluateRequest,
    plan: Plan,
    confidence: Confidence,
    /// The place of the policy that others are compared with.
    against: Option<usize>,
}

impl<'a> Checked<'a> {
    fn new(request: &'a EvaluateRequest) -> Result<Self, JobError> {
        request.log.check()?;
        request.parts.as_ref().map_or(Ok(()), PartsBy::check)?;
        for (flag, shares) in [("quantiles", &request.quantiles), ("worst", &request.worst)] {
            if let Some(share) = shares
                .iter()
                .find(|share| !(0.0 < **share && **share < 1.0))
            {
                let problem = format!("{share}: give shares between 0 and 1, such as 0.9");
                return Err(JobError::request(flag, problem));
            }
        }
        let policies = &request.policies;
        if policies.is_empty() {
            return Err(JobError::request("policies", "name at least one"));
        }
        if !request.logged_by.is_empty()
            && (request.log.estimate_density
                || !matches!(
                    request.predictions,
                    Some(Predictions::Model(_) | Predictions::Fit)
                ))
        {
            let problem = "it narrows the betting intervals of dr, which needs logged densities and predictions: give --model \
                           FILE or --fit too";
            return Err(JobError::request("logged_by", problem));
        }
        if request.draws == 0 {
            return Err(JobError::request("draws", "0: give 1 or more"));
        }
        let names: Vec<&str> = policies.iter().map(|policy| &*policy.name).collect();
        for (place, name) in names.iter().enumerate() {
            if names[..place].contains(name) {
                let problem = format!(
                    "two are called {name:?}: give them names, as in one={name} and two={name}"
                );
                return Err(JobError::request("policies", problem));
            }
        }
        let place_of = |wanted: &String| {
            let found = names.iter().position(|name| name == wanted);
            found.ok_or_else(|| {
                let meant = nearest(wanted, names.iter().copied());
                let meant =
                    meant.map_or(String::new(), |name| format!(" (did you mean {name:?}?)"));
                let problem = format!(
                    "no policy is called {wanted:?}{meant}; there are {}",
                    names.join(", ")
                );
                JobError::request("against", problem)
            })
        };
        let against = request.against.as_ref().map(place_of).transpose()?;
        let confidence = confidence(request.level)?;
        let simultaneous = if request.simultaneous {
            policies.len()
        } else {
            1
        };
        Ok(Self {
            plan: Plan {
                estimators: estimators(request)?,
                intervals: intervals(request),
                weight_bound: request.weight_bound,
                event_bounds: false,
                truncated: false,
                replicates: request.replicates,
                seed: request.seed,
            },
            confidence: confidence.simultaneous(simultaneous as u64),
            against,
            request,
        })
    }

    /// The same with intervals that hold for so many parts at once.
    fn for_parts(&self, parts: usize) -> Self {
        let at_once = self.confidence.policies() * parts as u64;
        Self {
            request: self.request,
            plan: self.plan.clone(),
            confidence: self.confidence.simultaneous(at_once),
            against: self.against,
        }
    }

    /// Whether columns of numbers hold all that is needed, so that no record has to be made.
    fn columns_suffice(&self) -> bool {
        let request = self.request;
        !matches!(
            request.predictions,
            Some(Predictions::Model(_) | Predictions::Fit)
        ) && !request.log.estimate_density
            && request.from_seq.is_none()
            && request.to_seq.is_none()
            && request.parts.is_none()
            && request.outcomes.is_empty()
            && request.log.skip_bad.is_none()
            && request.log.mapping == LogMapping::default()
            && request.log.can_be_read_twice()
            && self.needs_no_measure()
    }

    /// Whether all policies are densities that hold whatever μ is restricted to.
    fn needs_no_measure(&self) -> bool {
        let known = |policy: &NamedPolicy| match policy.policy {
            PolicySpec::Column { .. } => true,
            // Its E_q f̂ is no column.
            PolicySpec::Uniform | PolicySpec::Logged => self.request.predictions.is_none(),
            _ => false,
        };
        self.request.policies.iter().all(known)
    }

    /// Which policies go without the estimators that use f̂, and why.
    fn without_predictions(&self) -> Vec<String> {
        let policies = self
            .request
            .policies
            .iter()
            .filter(|_| self.needs_predictions());
        let remark = |policy: &NamedPolicy| match &policy.policy {
            PolicySpec::Column {
                density,
                predicted: None,
            } => Some(format!(
                "{}: no estimate that uses predictions, for its own mean prediction is not known; name its column, as in \
                 column:{density},predicted=NAME.",
                policy.name
            )),
            _ => None,
        };
        policies.filter_map(remark).collect()
    }

    /// Whether the model of a policy has learned from events that it is evaluated on.
    fn policy_learned(&self, place: usize, found: &LeftOut) -> bool {
        let model = self.request.policies[place].policy.model();
        model.is_some_and(|model| found.was_learned_by(model))
    }

    /// Whether the model whose predictions an estimator uses has.
    fn predictions_learned(&self, estimator: Estimator, found: &LeftOut) -> bool {
        match &self.request.predictions {
            Some(Predictions::Model(model)) => {
                estimator.needs_model() && found.was_learned_by(model)
            }
            _ => false,
        }
    }

    /// Whether estimators use f̂.
    fn needs_predictions(&self) -> bool {
        let mut estimators = self.plan.estimators.iter();
        estimators.any(|estimator| estimator.needs_model())
    }
}

fn estimators(request: &EvaluateRequest) -> Result<Vec<Estimator>, JobError> {
    let predicted = request.predictions.is_some();
    if request.estimators.is_empty() {
        // First those that do not depend on where 0 is.
        let mut estimators = vec![Estimator::Snips, Estimator::Ips];
        if predicted {
            estimators.splice(0..0, [Estimator::Dr, Estimator::Sndr]);
        }
        return Ok(estimators);
    }
    for estimator in &request.estimators {
        if !predicted && estimator.needs_model() {
            let problem = format!(
                "{estimator} needs predictions of outcomes: fit them to the log (--fit), or give a saved model (--model FILE) or a column (--predicted \
                 NAME)"
            );
            return Err(JobError::request("estimators", problem));
        }
    }
    let mut estimators = request.estimators.clone();
    if request.chooses_bandwidth() && !estimators.contains(&Estimator::Snips) {
        estimators.push(Estimator::Snips);
    }
    Ok(estimators)
}

fn intervals(request: &EvaluateRequest) -> Vec<IntervalKind> {
    let mut intervals = request.intervals.clone();
    if request.chooses_bandwidth() && !intervals.contains(&IntervalKind::Normal) {
        intervals.push(IntervalKind::Normal);
    }
    intervals
}

/// What the policy that made the log is called.
const LOGGED: &str = "logged";

impl EvaluateRequest {
    /// Whether SLOPE chooses a bandwidth: it goes by the normal intervals of snips, which need not be reported.
    fn chooses_bandwidth(&self) -> bool {
        let mut policies = self.policies.iter();
        policies.any(|policy| policy.policy.chooses_bandwidth())
    }

    /// With the policy that made the log among the policies, if others are compared with it.
    fn with_logged(&self) -> Cow<'_, Self> {
        let named = |policy: &NamedPolicy| policy.name == LOGGED;
        if self.against.as_deref() != Some(LOGGED) || self.policies.iter().any(named) {
            return Cow::Borrowed(self);
        }
        let mut request = self.clone();
        request.policies.push(NamedPolicy {
            name: LOGGED.to_owned(),
            policy: PolicySpec::Logged,
        });
        Cow::Owned(request)
    }

    /// Whether more is asked of outcomes than their mean.
    fn asks_for_distributions(&self) -> bool {
        !self.quantiles.is_empty() || !self.worst.is_empty()
    }

    /// Whether an estimate is to be reported.
    fn asks_for(&self, estimate: &Estimate) -> bool {
        let unasked = estimate.estimator == Estimator::Snips
            && !self.estimators.is_empty()
            && !self.estimators.contains(&Estimator::Snips);
        self.intervals.contains(&estimate.interval) && !unasked
    }
}
