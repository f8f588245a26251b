use egret::Objective;
use egret_offline::{
    Candidate, Confidence, Diagnostics, Difference, Estimate, Estimator, IntervalKind, Standing,
    VerdictKind, slope, thousands,
};
use serde::Serialize;

use super::distribution_row;
use super::further_outcome::OutcomeTally;
use super::tally::{LeftOut, Tally};
use super::{Checked, EvaluateReport, PolicyDetail};
use crate::error::JobError;

/// One estimate of one policy, or of the difference of two.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluationRow {
    /// Whose value, or which difference.
    pub policy: String,
    /// How it was estimated.
    pub estimator: String,
    /// How the interval was made.
    pub interval: String,
    /// What outcomes are, as in `maximize:0,50`.
    pub objective: String,
    /// The mean outcome, in the units of the objective.
    pub estimate: f64,
    /// The lower end of the interval; not a number, as are the estimate and the upper end, where no value fits.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability with which the interval is to hold the value.
    pub level: f64,
    /// Over how many policies at once.
    pub simultaneous: u64,
    /// How many events were weighed.
    pub n: u64,
    /// Effective sample size.
    pub ess: f64,
    /// How many losses the interval rests on; not known of a difference.
    pub informative: Option<f64>,
    /// The largest weight.
    pub max_weight: f64,
    /// The mean weight, which should be 1.
    pub mean_weight: f64,
    /// The share of events with weight 0.
    pub zero_share: f64,
    /// The mean of 1/z over the log, where it tells z: an estimate of κ.
    pub kappa: Option<f64>,
    /// How many more events make the interval half as wide.
    pub more_events: Option<u64>,
    /// How many more events would settle which of two policies is better, if the difference is what the first of its rows estimates.
    pub settles_after: Option<u64>,
    /// The mean of the log as it was played; not for a difference.
    pub logged: Option<f64>,
    /// Where the interval lies beside that, or beside 0 for a difference.
    pub standing: Standing,
    /// What the interval says, whether to rely on it, and what would help.
    pub verdict: String,
    /// Whether to rely on it, as one word.
    pub verdict_kind: VerdictKind,
    /// What else to know of the policy.
    pub note: Option<String>,
    /// Of which part of the log, as in `segment = gold`; none of the whole.
    pub part: Option<String>,
    /// Of which further outcome; none of the one that is optimized.
    pub outcome: Option<String>,
    /// What to know of the log.
    pub warnings: Vec<String>,
}

/// Of each policy, part and outcome, the row to go by: the first that can be relied on and says something, else the first that can be
/// relied on, and else the first.
pub fn rows_to_go_by(rows: &[EvaluationRow]) -> Vec<&EvaluationRow> {
    let rank = |row: &EvaluationRow| match row.verdict_kind {
        VerdictKind::Reliable => 0,
        VerdictKind::Uninformative => 1,
        _ => 2,
    };
    let of = |row: &EvaluationRow| (row.policy.clone(), row.part.clone(), row.outcome.clone());
    let alike = rows.chunk_by(|one, next| of(one) == of(next));
    alike
        .filter_map(|rows| rows.iter().min_by_key(|row| rank(row)))
        .collect()
}

/// One evaluation, and the policy that it is of. A policy whose bandwidth is to be chosen has many.
#[derive(Debug, Clone)]
pub(super) struct Evaluated {
    /// The place of the policy among those asked for.
    pub policy: usize,
    /// The bandwidth tried, where it is to be chosen.
    pub bandwidth: Option<f64>,
    /// What to know of the policy.
    pub caveat: Option<String>,
}

impl Evaluated {
    /// The only evaluation of a policy, nothing special about it.
    pub(super) fn alone(policy: usize) -> Self {
        Self {
            policy,
            bandwidth: None,
            caveat: None,
        }
    }
}

/// What the evaluations say, once all events have passed by.
pub(super) fn report(
    checked: &Checked<'_>,
    objective: Objective,
    evaluated: &[Evaluated],
    mut tally: Tally,
    mut remarks: Vec<String>,
) -> Result<EvaluateReport, JobError> {
    let (mut rows, policies) = rows(checked, objective, evaluated, &mut tally, &mut remarks)?;
    let mut distribution = Vec::new();
    if checked.request.asks_for_distributions() {
        for (place, policy) in policies.iter().enumerate() {
            let tried = tried(evaluated, place);
            let own = rows.iter().filter(|row| row.policy == policy.name);
            let mut doubts = own.map(|row| row.verdict_kind);
            let learned = checked.policy_learned(place, &tally.left_out);
            let doubt = doubts
                .find(|kind| kind.is_about_weights())
                .or(learned.then_some(VerdictKind::Biased));
            distribution.extend(distribution_row::of_policy(
                checked.request,
                objective,
                (&policy.name, doubt),
                &tally.distributions[chosen(&tried, &tally, checked.confidence)?],
                for_all_tried(checked.confidence, &tried),
            ));
        }
    }
    let (kappa, mut warnings) = (tally.kappa(), tally.left_out.warnings());
    if tally.pass_probs.unequal() {
        warnings.push(
            "Events were kept for the log with unequal probabilities: each counts 1/passProb times.".to_owned(),
        );
    }
    for row in &mut rows {
        row.kappa = kappa;
        row.warnings.clone_from(&warnings);
    }
    if let Some(kappa) = kappa {
        remarks.push(format!(
            "1/z over the log, an estimate of kappa, is {kappa:.2} on average. Densities that leave it out are off by as much."
        ));
    }
    if checked
        .request
        .intervals
        .contains(&IntervalKind::Asymptotic)
    {
        remarks.push(ASYMPTOTIC.to_owned());
    }
    remarks.extend(warnings);
    Ok(EvaluateReport {
        rows,
        parts: Vec::new(),
        outcomes: Vec::new(),
        distribution,
        policies,
        level: checked.confidence.level(),
        objective,
        remarks,
    })
}

const ASYMPTOTIC: &str = "Asymptotic intervals hold at all numbers of events at once, so look and stop when you like; as normal ones, they hold for large \
                          numbers, if weights have a variance.";

/// The rows of all policies, then of differences.
fn rows(
    checked: &Checked<'_>,
    objective: Objective,
    evaluated: &[Evaluated],
    tally: &mut Tally,
    remarks: &mut Vec<String>,
) -> Result<(Vec<EvaluationRow>, Vec<PolicyDetail>), JobError> {
    tally.finish()?;
    let (mut rows, mut policies) = (Vec::new(), Vec::new());
    for place in 0..checked.request.policies.len() {
        let (own, detail) = of_policy(checked, objective, evaluated, tally, place, remarks)?;
        rows.extend(own);
        policies.push(detail);
    }
    if let Some(against) = checked.against {
        rows.extend(differences(checked, objective, evaluated, tally, against)?);
    }
    Ok((rows, policies))
}

impl EvaluateReport {
    /// Adds the rows of parts, and whether they differ.
    pub(super) fn add_parts(
        &mut self,
        checked: &Checked<'_>,
        evaluated: &[Evaluated],
        parts: Vec<(String, Tally)>,
    ) -> Result<(), JobError> {
        let checked = checked.for_parts(parts.len());
        for (name, mut tally) in parts {
            if tally.left_out.point_masses == tally.evaluations[0].events() {
                self.remarks.push(format!(
                    "{name}: all of its events are point masses, without a density."
                ));
                continue;
            }
            // What there is to remark on was remarked on the whole.
            let (mut rows, _) = rows(
                &checked,
                self.objective,
                evaluated,
                &mut tally,
                &mut Vec::new(),
            )?;
            for row in &mut rows {
                row.part = Some(name.clone());
            }
            self.parts.extend(rows);
        }
        let mut told: Vec<&str> = Vec::new();
        for row in &self.rows {
            if told.contains(&&*row.policy) {
                continue;
            }
            told.push(&row.policy);
            let same = |part: &&EvaluationRow| part.policy == row.policy && part.can_be_relied_on();
            let parts = rows_to_go_by(&self.parts).into_iter().filter(same);
            self.remarks.extend(apart(&parts.collect::<Vec<_>>()));
        }
        Ok(())
    }

    /// Adds the rows of further outcomes.
    pub(super) fn add_outcomes(
        &mut self,
        checked: &Checked<'_>,
        evaluated: &[Evaluated],
        outcomes: Vec<OutcomeTally<'_>>,
    ) -> Result<(), JobError> {
        for OutcomeTally { outcome, mut tally } in outcomes {
            if tally.evaluations[0].events() == 0 {
                let problem = format!("no event has a number in the column {}", outcome.column);
                return Err(JobError::request("outcomes", problem));
            }
            let objective = outcome.objective;
            let (mut rows, _) = rows(checked, objective, evaluated, &mut tally, &mut Vec::new())?;
            for row in &mut rows {
                row.outcome = Some(outcome.column.clone());
            }
            self.outcomes.extend(rows);
        }
        Ok(())
    }
}

/// Says that two parts have intervals that lie apart, of the rows of one policy: those that lie furthest.
fn apart(parts: &[&EvaluationRow]) -> Option<String> {
    let lowest = parts.iter().min_by(|a, b| a.high.total_cmp(&b.high))?;
    let highest = parts.iter().max_by(|a, b| a.low.total_cmp(&b.low))?;
    let name = |row: &EvaluationRow| row.part.clone().unwrap_or_default();
    (lowest.high < highest.low).then(|| {
        format!(
            "{}: {} lies below {}, by more than chance explains.",
            lowest.policy,
            name(lowest),
            name(highest)
        )
    })
}

fn of_policy(
    checked: &Checked<'_>,
    objective: Objective,
    evaluated: &[Evaluated],
    tally: &Tally,
    place: usize,
    remarks: &mut Vec<String>,
) -> Result<(Vec<EvaluationRow>, PolicyDetail), JobError> {
    let tried = tried(evaluated, place);
    let one = chosen(&tried, tally, checked.confidence)?;
    let mut name = checked.request.policies[place].name.clone();
    if let Some(bandwidth) = evaluated[one].bandwidth {
        remarks.push(format!(
            "{name}: of {} bandwidths the rule SLOPE (Su, Srinath and Krishnamurthy 2020) chose {bandwidth:.4}.",
            tried.len()
        ));
        name += &format!(", bandwidth {bandwidth:.4}");
    }
    let report = tally.evaluations[one].report(for_all_tried(checked.confidence, &tried));
    for skipped in &report.skipped {
        // By default a ratio is there for its normal interval, and nobody asked to bet on it.
        if checked.request.estimators.is_empty()
            && matches!(skipped.estimator, Estimator::Snips | Estimator::Sndr)
            && skipped.interval == IntervalKind::Betting
        {
            continue;
        }
        let remark = format!(
            "No {} interval for {}: {}.",
            skipped.interval, skipped.estimator, skipped.reason
        );
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
    let caveat = evaluated[one].caveat.as_ref();
    let rows = report
        .estimates
        .into_iter()
        .filter(|estimate| checked.request.asks_for(estimate))
        .map(|mut estimate| {
            if let Some(bandwidth) = evaluated[one].bandwidth {
                estimate.verdict = estimate.verdict.smoothed(bandwidth);
            }
            if checked.request.log.estimate_density {
                estimate.verdict = estimate.verdict.with_estimated_densities();
            }
            if checked.policy_learned(place, &tally.left_out)
                || checked.predictions_learned(estimate.estimator, &tally.left_out)
            {
                estimate.verdict = estimate.verdict.with_learned_events();
            }
            EvaluationRow::of_policy(&name, objective, estimate, caveat)
        })
        .collect();
    let detail = PolicyDetail {
        name,
        weights: tally.histograms[one].clone(),
        path: report
            .path
            .into_iter()
            .map(|point| point.in_units(&objective.as_shares()))
            .collect(),
    };
    Ok((rows, detail))
}

/// The evaluations of a policy.
fn tried(evaluated: &[Evaluated], place: usize) -> Vec<usize> {
    (0..evaluated.len())
        .filter(|&one| evaluated[one].policy == place)
        .collect()
}

/// A bandwidth that the same events chose might have been any of those tried.
fn for_all_tried(confidence: Confidence, tried: &[usize]) -> Confidence {
    confidence.simultaneous(confidence.policies() * tried.len() as u64)
}

/// The evaluation that speaks for a policy: the one there is, or the one whose bandwidth SLOPE takes.
fn chosen(tried: &[usize], tally: &Tally, confidence: Confidence) -> Result<usize, JobError> {
    if let [one] = tried {
        return Ok(*one);
    }
    let out_of_range = |error| JobError::request("level", error);
    let all_at_once = Confidence::new(confidence.level())
        .map_err(out_of_range)?
        .simultaneous(tried.len() as u64);
    let candidates: Vec<Candidate> = tried
        .iter()
        .map(|&one| {
            let report = tally.evaluations[one].report(all_at_once);
            let normal = report
                .estimates
                .iter()
                .find(|estimate| {
                    // IPS spreads by where 0 is, which would hide the bias of wide kernels.
                    estimate.estimator == Estimator::Snips
                        && estimate.interval == IntervalKind::Normal
                })
                .expect("the plan has it wherever a bandwidth is chosen");
            // Where no event has any weight, nothing is known.
            if report.diagnostics.mean_weight == 0.0 {
                return Candidate {
                    estimate: 0.0,
                    half_width: f64::INFINITY,
                };
            }
            Candidate {
                estimate: normal.estimate,
                half_width: 0.5 * (normal.high - normal.low),
            }
        })
        .collect();
    Ok(tried[slope(&candidates).map_err(out_of_range)?])
}

/// The rows of each policy less the one it is compared with.
fn differences(
    checked: &Checked<'_>,
    objective: Objective,
    evaluated: &[Evaluated],
    tally: &Tally,
    against: usize,
) -> Result<Vec<EvaluationRow>, JobError> {
    let policies = &checked.request.policies;
    let mut rows = Vec::new();
    for (place, policy) in policies.iter().enumerate() {
        if place == against {
            continue;
        }
        let tried = tried(evaluated, place);
        let one = chosen(&tried, tally, checked.confidence)?;
        for (of, comparison) in &tally.comparisons {
            if *of != one {
                continue;
            }
            let report = comparison.report(for_all_tried(checked.confidence, &tried));
            let other = &policies[against].name;
            let name = format!("{} − {other}", policy.name);
            let asked = |found: &&Difference| checked.request.intervals.contains(&found.interval);
            let asked = report.differences.iter().filter(asked);
            let first = asked.clone().next().map_or(f64::NAN, |one| one.estimate);
            rows.extend(asked.map(|difference| {
                let weights = &report.diagnostics;
                let mut difference = difference.clone();
                if checked.request.log.estimate_density {
                    difference.verdict = difference.verdict.with_estimated_densities();
                }
                let mut both = [place, against].into_iter();
                if both.any(|place| checked.policy_learned(place, &tally.left_out))
                    || checked.predictions_learned(difference.estimator, &tally.left_out)
                {
                    difference.verdict = difference.verdict.with_learned_events();
                }
                let settled = difference.events_to_settle_at(first);
                let row =
                    EvaluationRow::of_difference((&name, other), objective, difference, weights);
                EvaluationRow {
                    settles_after: settled,
                    ..row
                }
            }));
        }
    }
    Ok(rows)
}

impl LeftOut {
    /// What to know of the log.
    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for (events, what) in [
            (
                self.point_masses,
                "are point masses, which have no density: they count with weight 0.",
            ),
            (self.without_loss, "have no loss yet; they were left out."),
            (
                self.not_played,
                "are of apprentice mode, where somebody else chose the action; they were left out.",
            ),
        ] {
            if 0 < events {
                warnings.push(format!("{} events {what}", thousands(events)));
            }
        }
        if self.was_learned() {
            warnings.push(
                "A model has learned from some of these events, or from others like them at the same time, which \
                 flatters it. Evaluate it on others: later ones with --from-seq, or a log that it has not seen."
                    .to_owned(),
            );
        } else if self.may_be_learned() {
            warnings.push(
                "A model has learned more batches than the models that made this log. If it learned from these events, that \
                 flatters it: evaluate it on others then."
                    .to_owned(),
            );
        }
        warnings
    }
}

impl EvaluationRow {
    /// Whether its interval holds what it says, be it much or little.
    pub fn can_be_relied_on(&self) -> bool {
        matches!(
            self.verdict_kind,
            VerdictKind::Reliable | VerdictKind::Uninformative
        )
    }

    fn of_policy(
        policy: &str,
        objective: Objective,
        estimate: Estimate,
        caveat: Option<&String>,
    ) -> Self {
        let estimate = estimate.in_units(&objective.as_shares());
        Self {
            part: None,
            outcome: None,
            policy: policy.to_owned(),
            estimator: estimate.estimator.to_string(),
            interval: estimate.interval.to_string(),
            objective: objective.to_string(),
            estimate: estimate.estimate,
            low: estimate.low,
            high: estimate.high,
            level: estimate.level,
            simultaneous: estimate.simultaneous,
            n: estimate.n,
            ess: estimate.ess,
            informative: Some(estimate.informative),
            max_weight: estimate.max_weight,
            mean_weight: estimate.mean_weight,
            zero_share: estimate.zero_share,
            kappa: None,
            more_events: estimate.more_events,
            settles_after: None,
            logged: Some(estimate.logged),
            standing: estimate.standing,
            verdict: estimate.in_words(&objective),
            verdict_kind: estimate.verdict.kind,
            note: caveat.cloned(),
            warnings: Vec::new(),
        }
    }

    /// Diagnostics are those of the policy with the smaller effective sample size.
    fn of_difference(
        (policy, other): (&str, &str),
        objective: Objective,
        difference: Difference,
        weights: &[Diagnostics; 2],
    ) -> Self {
        let difference = difference.in_units(&objective.as_shares());
        let worse = if weights[0].ess < weights[1].ess {
            &weights[0]
        } else {
            &weights[1]
        };
        Self {
            part: None,
            outcome: None,
            policy: policy.to_owned(),
            estimator: difference.estimator.to_string(),
            interval: difference.interval.to_string(),
            objective: objective.to_string(),
            estimate: difference.estimate,
            low: difference.low,
            high: difference.high,
            level: difference.level,
            simultaneous: difference.simultaneous,
            n: difference.n,
            ess: worse.ess,
            informative: None,
            max_weight: worse.largest_weights.first().copied().unwrap_or(0.0),
            mean_weight: worse.mean_weight,
            zero_share: worse.zero_share,
            kappa: None,
            more_events: difference.more_events,
            settles_after: None,
            logged: None,
            standing: difference.standing,
            verdict: difference.in_words(&objective, other),
            verdict_kind: difference.verdict.kind,
            note: None,
            warnings: Vec::new(),
        }
    }
}
