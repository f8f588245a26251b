use anyhow::{Context as _, Result};
use egret_offline::{
    Candidate, Confidence, Diagnostics, Difference, Estimate, IntervalKind, PathPoint, VerdictKind,
    slope,
};
use egret_report::Section;
use egret_report::sheet::thousands;
use serde::Serialize;

use super::Request;
use super::picture::{self, Line, Sequence, percent};
use super::valuation::Valuation;
use super::weights::Weights;

/// One estimate of one policy, as `--json` prints it.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Whose value, or which difference.
    pub policy: String,
    /// How it was estimated.
    pub estimator: String,
    /// How the interval was made.
    pub interval: String,
    /// The mean loss.
    pub estimate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability with which the interval is to hold the value.
    pub level: f64,
    /// Over how many policies at once.
    pub simultaneous: u64,
    /// How many events were weighed.
    pub n: u64,
    /// So many events of equal weight would tell as much.
    pub ess: f64,
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
    /// Whether to trust it, in words.
    pub verdict: String,
    /// The same as one word.
    pub verdict_kind: VerdictKind,
    /// What else to know of the policy.
    pub note: Option<String>,
    /// What to know of the log.
    pub warnings: Vec<String>,
}

/// All that was found.
pub struct Findings {
    /// Estimates, policy after policy.
    pub rows: Vec<Row>,
    /// For each policy its weights, and its confidence sequence.
    pub policies: Vec<(String, Weights, Vec<PathPoint>)>,
    /// The level of the intervals.
    pub level: f64,
    /// What was left out, and other remarks.
    pub remarks: Vec<String>,
}

impl Findings {
    /// For a machine.
    pub fn json(&self) -> Result<String> {
        Ok(serde_json::to_string(&self.rows)?)
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        self.section().text()
    }

    /// The forest.
    pub fn svg(&self) -> Result<String> {
        picture::forest(&self.lines(), self.level)
    }

    /// A page with all pictures.
    pub fn html(&self) -> Result<String> {
        let mut pictures = self.svg()?;
        let weights: Vec<(String, &Weights)> = self
            .policies
            .iter()
            .map(|(name, weights, _)| (name.clone(), weights))
            .collect();
        pictures += &picture::weights(&weights)?;
        let sequences: Vec<Sequence> = self
            .policies
            .iter()
            .filter(|(_, _, path)| !path.is_empty())
            .map(|(name, _, path)| Sequence {
                policy: name.clone(),
                points: path
                    .iter()
                    .map(|point| (point.n as f64, point.low, point.high))
                    .collect(),
            })
            .collect();
        if !sequences.is_empty() {
            pictures += &picture::sequences(&sequences, self.level)?;
        }
        let sections = self.section().html(&pictures);
        Ok(egret_report::page(
            "egret ope",
            "What other policies would have lost",
            &sections,
        ))
    }

    fn lines(&self) -> Vec<Line> {
        let mut kinds: Vec<&str> = Vec::new();
        self.rows
            .iter()
            .map(|row| {
                let colour = match kinds.iter().position(|kind| *kind == row.interval) {
                    Some(place) => place,
                    None => {
                        kinds.push(&row.interval);
                        kinds.len() - 1
                    }
                };
                Line {
                    policy: row.policy.clone(),
                    by: format!("{}, {}", row.estimator, row.interval),
                    colour,
                    values: (row.low, row.estimate, row.high),
                }
            })
            .collect()
    }

    fn section(&self) -> Section {
        let cells = |row: &Row| {
            vec![
                row.policy.clone(),
                row.estimator.clone(),
                row.interval.clone(),
                format!("{:.4}", row.estimate),
                format!("[{:.4}, {:.4}]", row.low, row.high),
                thousands(row.n as f64),
                thousands(row.ess),
                format!("{:.4}", row.mean_weight),
                format!("{:.1}", row.max_weight),
                percent(row.zero_share),
                row.more_events
                    .map_or("–".to_owned(), |more| thousands(more as f64)),
                if row.verdict_kind == VerdictKind::Trust {
                    "trust it".to_owned()
                } else {
                    "see below".to_owned()
                },
            ]
        };
        let mut after = Vec::new();
        for row in &self.rows {
            if row.verdict_kind != VerdictKind::Trust {
                after.push(format!(
                    "{} by {}, {}: {}.",
                    row.policy, row.estimator, row.interval, row.verdict
                ));
            }
        }
        for row in &self.rows {
            let note = row
                .note
                .as_ref()
                .map(|note| format!("{}: {note}.", row.policy));
            if let Some(note) = note
                && !after.contains(&note)
            {
                after.push(note);
            }
        }
        after.extend(self.remarks.iter().cloned());
        let simultaneous = self.rows.first().map_or(1, |row| row.simultaneous);
        let at_once = if 1 < simultaneous {
            format!(", for all {simultaneous} policies at once")
        } else {
            String::new()
        };
        Section {
            title: "What other policies would have lost".into(),
            before: format!(
                "Mean loss, with intervals at level {}{at_once}. Mean weight: should be 1. Effective events: so many of equal weight\n\
                 would tell as much. More events: until the interval is half as wide.",
                percent(self.level)
            ),
            header: [
                "policy",
                "estimator",
                "interval",
                "estimate",
                "low, high",
                "events",
                "effective",
                "mean weight",
                "largest",
                "zero",
                "more events",
                "verdict",
            ]
            .map(String::from)
            .to_vec(),
            words: 3,
            rows: self.rows.iter().map(cells).collect(),
            after,
        }
    }
}

/// One evaluation, and the target that it is of. A target whose bandwidth is to be chosen has many.
pub struct Evaluated {
    /// The place of the target among those asked for.
    pub target: usize,
    /// The bandwidth tried, where it is to be chosen.
    pub bandwidth: Option<f64>,
    /// What to know of the target.
    pub caveat: Option<String>,
}

impl Findings {
    /// What the evaluations say, once all events have passed by.
    pub fn new(
        request: &Request<'_>,
        evaluated: &[Evaluated],
        valuation: &mut Valuation,
        mut remarks: Vec<String>,
    ) -> Result<Self> {
        valuation.finish();
        let confidence = request.confidence;
        let mut rows = Vec::new();
        let mut policies = Vec::new();
        for (place, target) in request.args.targets.iter().enumerate() {
            let tried: Vec<usize> = (0..evaluated.len())
                .filter(|&one| evaluated[one].target == place)
                .collect();
            let one = chosen(&tried, valuation, confidence)?;
            let confidence = for_all_tried(confidence, &tried);
            let policy = match evaluated[one].bandwidth {
                None => target.name.clone(),
                Some(bandwidth) => {
                    remarks.push(format!(
                        "{}: of {} bandwidths the rule SLOPE (Su, Srinath and Krishnamurthy 2020) chose {bandwidth:.4}.",
                        target.name,
                        tried.len()
                    ));
                    format!("{}, bandwidth {bandwidth:.4}", target.name)
                }
            };
            let report = valuation.evaluations[one].report(confidence);
            for estimate in &report.estimates {
                if request.args.intervals.contains(&estimate.interval) {
                    rows.push(Row::of_policy(
                        &policy,
                        estimate,
                        evaluated[one].caveat.as_ref(),
                    ));
                }
            }
            for skipped in &report.skipped {
                let remark = format!(
                    "No {} interval for {}: {}.",
                    skipped.interval, skipped.estimator, skipped.reason
                );
                if !remarks.contains(&remark) {
                    remarks.push(remark);
                }
            }
            policies.push((policy, valuation.weights[one].clone(), report.path));
        }
        if let Some(against) = request.against {
            rows.extend(differences(request, evaluated, valuation, against)?);
        }
        let kappa = valuation.kappa();
        for row in &mut rows {
            row.kappa = kappa;
        }
        if let Some(kappa) = kappa {
            remarks.push(format!(
                "1/z over the log, an estimate of kappa: {kappa:.2} on average. Densities that leave it out are off by as much."
            ));
        }
        let mut warnings = Vec::new();
        if 0 < valuation.atoms {
            warnings.push(format!(
                "{} events are atoms: point masses, which have no density and count with weight 0.",
                thousands(valuation.atoms as f64)
            ));
        }
        for (events, why) in [
            (valuation.without_loss, "have no loss yet"),
            (
                valuation.not_played,
                "are of apprentice mode: somebody else chose their action",
            ),
        ] {
            if 0 < events {
                let events = thousands(events as f64);
                warnings.push(format!("{events} events {why}; they were left out."));
            }
        }
        if valuation.seen_by_model {
            warnings.push(
                "A model has learned from some of these events, or from others like them at the same time: they flatter \
                 it. Value it on later ones, with --from-seq."
                    .to_owned(),
            );
        }
        for row in &mut rows {
            row.warnings.clone_from(&warnings);
        }
        remarks.extend(warnings);
        Ok(Self {
            rows,
            policies,
            level: confidence.level(),
            remarks,
        })
    }
}

/// A bandwidth that the same events chose might have been any of those tried.
fn for_all_tried(confidence: Confidence, tried: &[usize]) -> Confidence {
    confidence.simultaneous(confidence.policies() * tried.len() as u64)
}

/// The evaluation that speaks for a target: the one there is, or the one whose bandwidth SLOPE takes.
fn chosen(tried: &[usize], valuation: &Valuation, confidence: Confidence) -> Result<usize> {
    if let [one] = tried {
        return Ok(*one);
    }
    let all_at_once = Confidence::new(confidence.level())?.simultaneous(tried.len() as u64);
    let candidates = tried
        .iter()
        .map(|&one| {
            let report = valuation.evaluations[one].report(all_at_once);
            let normal = report
                .estimates
                .iter()
                .find(|estimate| estimate.interval == IntervalKind::Normal)
                .context("the normal interval is in the plan")?;
            // Where no event has any weight, nothing is known.
            let half_width = if report.diagnostics.mean_weight == 0.0 {
                f64::INFINITY
            } else {
                0.5 * (normal.high - normal.low)
            };
            Ok(Candidate {
                estimate: normal.estimate,
                half_width,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(tried[slope(&candidates)?])
}

/// The rows of each target less the one it is compared with.
fn differences(
    request: &Request<'_>,
    evaluated: &[Evaluated],
    valuation: &Valuation,
    against: usize,
) -> Result<Vec<Row>> {
    let targets = &request.args.targets;
    let mut rows = Vec::new();
    for (place, target) in targets.iter().enumerate() {
        if place == against {
            continue;
        }
        let tried: Vec<usize> = (0..evaluated.len())
            .filter(|&one| evaluated[one].target == place)
            .collect();
        let one = chosen(&tried, valuation, request.confidence)?;
        for (of, comparison) in &valuation.comparisons {
            if *of != one {
                continue;
            }
            let report = comparison.report(for_all_tried(request.confidence, &tried));
            let policy = format!("{} − {}", target.name, targets[against].name);
            rows.extend(
                report
                    .differences
                    .iter()
                    .filter(|difference| request.args.intervals.contains(&difference.interval))
                    .map(|difference| Row::of_difference(&policy, difference, &report.diagnostics)),
            );
        }
    }
    Ok(rows)
}

impl Row {
    fn of_policy(policy: &str, estimate: &Estimate, caveat: Option<&String>) -> Self {
        Self {
            policy: policy.to_owned(),
            estimator: estimate.estimator.to_string(),
            interval: estimate.interval.to_string(),
            estimate: estimate.estimate,
            low: estimate.low,
            high: estimate.high,
            level: estimate.level,
            simultaneous: estimate.simultaneous,
            n: estimate.n,
            ess: estimate.ess,
            max_weight: estimate.max_weight,
            mean_weight: estimate.mean_weight,
            zero_share: estimate.zero_share,
            kappa: None,
            more_events: estimate.more_events,
            verdict: estimate.verdict.words.clone(),
            verdict_kind: estimate.verdict.kind,
            note: caveat.cloned(),
            warnings: Vec::new(),
        }
    }

    /// Diagnostics are those of the policy that has it worse.
    fn of_difference(policy: &str, difference: &Difference, weights: &[Diagnostics; 2]) -> Self {
        let worse = if weights[0].ess < weights[1].ess {
            &weights[0]
        } else {
            &weights[1]
        };
        Self {
            policy: policy.to_owned(),
            estimator: difference.estimator.to_string(),
            interval: difference.interval.to_string(),
            estimate: difference.estimate,
            low: difference.low,
            high: difference.high,
            level: difference.level,
            simultaneous: difference.simultaneous,
            n: difference.n,
            ess: worse.ess,
            max_weight: worse.largest_weights.first().copied().unwrap_or(0.0),
            mean_weight: worse.mean_weight,
            zero_share: worse.zero_share,
            kappa: None,
            more_events: difference.more_events,
            verdict: difference.verdict.words.clone(),
            verdict_kind: difference.verdict.kind,
            note: None,
            warnings: Vec::new(),
        }
    }
}
