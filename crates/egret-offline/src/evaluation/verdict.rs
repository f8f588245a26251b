use serde::Serialize;

use crate::estimator::{Estimator, Hyperparameter};
use crate::evaluation::Diagnostics;
use crate::interval::IntervalKind;

/// Whether to trust an estimate, and why not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The gravest finding.
    pub kind: VerdictKind,
    /// All findings in words, the gravest first.
    pub words: String,
}

/// What is wrong with an estimate, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// There are no events to weigh.
    NoEvents,
    /// All weights are 0: the log never did what the policy does.
    NoOverlap,
    /// The mean weight is not 1: densities of the log or of the policy are wrong.
    MeanWeightOff,
    /// Events were left out, and the rest may be unlike them.
    LeftOut,
    /// A single event carries much of the estimate.
    OneEventDominates,
    /// The effective sample size is too small.
    TooFewEffective,
    /// The weights have heavy tails, for which the interval is not valid.
    HeavyTails,
    /// The estimator is biased, and the interval ignores the bias.
    Biased,
    /// The interval is so wide that it says little.
    Uninformative,
    /// None of these.
    Trust,
}

/// A mean weight is off if it is this many standard errors from 1. A correct log shows that once in 16,000 times.
const MEAN_WEIGHT_ERRORS: f64 = 4.0;

/// The least share of events left out that is worth a warning. It can move a value in [0, 1] by as much.
const LEFT_OUT: f64 = 0.001;

/// The largest share of all weight that one event may have. With more, the estimate is as uncertain as the loss of that one
/// event, and the standard error, computed from the same event, does not show it.
const LARGEST_SHARE: f64 = 0.1;

/// The least effective sample size for a central limit theorem. The textbook's 30 is for terms without skew; weights are
/// skewed.
const LEAST_ESS: f64 = 100.0;

/// Above this k a tail has no variance. The standard error then measures nothing: it is too small until a rare large weight
/// comes in, and grows with n.
const MOST_PARETO_K: f64 = 0.5;

/// An interval wider than this rules out less than half of all values.
const WIDE: f64 = 0.5;

/// The estimate that a verdict is about.
pub(crate) struct Subject<'a> {
    pub(crate) diagnostics: &'a Diagnostics,
    pub(crate) estimator: Estimator,
    pub(crate) interval: IntervalKind,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The length of the range of values: 1, or 2 for a difference.
    pub(crate) range: f64,
}

impl Verdict {
    pub(crate) fn of(subject: &Subject<'_>) -> Self {
        let mut findings = findings(subject);
        // The gravest first; no kind comes twice.
        findings.sort_by_key(|&(kind, _)| kind);
        match findings.first() {
            None => Self {
                kind: VerdictKind::Trust,
                words: "trust it".to_owned(),
            },
            Some(&(kind, _)) => {
                let words: Vec<String> = findings.into_iter().map(|(_, words)| words).collect();
                Self {
                    kind,
                    words: words.join("; "),
                }
            }
        }
    }

    /// Whether nothing was found.
    pub fn is_trust(&self) -> bool {
        self.kind == VerdictKind::Trust
    }
}

type Finding = (VerdictKind, String);

/// Everything found, in no order.
fn findings(subject: &Subject<'_>) -> Vec<Finding> {
    let weights = subject.diagnostics;
    if weights.n == 0 {
        return vec![(
            VerdictKind::NoEvents,
            "there are no events to weigh".to_owned(),
        )];
    }
    let mut findings = Vec::from_iter(left_out(weights));
    // The direct method uses no weights, so they do not concern it.
    if subject.estimator == Estimator::Dm {
        findings.push((
            VerdictKind::Biased,
            "the direct method is as wrong as its model, and no interval shows that: compare with dr"
                .to_owned(),
        ));
        return findings;
    }
    if weights.mean_weight == 0.0 {
        findings.push((
            VerdictKind::NoOverlap,
            "all weights are 0: the log never did what the policy does".to_owned(),
        ));
        return findings;
    }
    findings.extend(mean_weight_off(subject));
    match subject.interval {
        IntervalKind::Betting | IntervalKind::EmpiricalBernstein => {
            findings.extend(uninformative(subject));
        }
        IntervalKind::Normal | IntervalKind::Bootstrap => {
            findings.extend(not_yet_normal(subject));
        }
    }
    if let Some(Hyperparameter::Given(limit)) = subject.estimator.hyperparameter()
        && limit_bites(subject.estimator, limit, weights)
    {
        findings.push((
            VerdictKind::Biased,
            "large weights were shrunk, and the interval ignores the bias of that: compare with ips or dr"
                .to_owned(),
        ));
    }
    findings
}

fn left_out(weights: &Diagnostics) -> Option<Finding> {
    let total = weights.n + weights.left_out;
    let left_out = weights.left_out as f64 / total as f64;
    (LEFT_OUT <= left_out).then(|| {
        let percent = 100.0 * left_out;
        (
            VerdictKind::LeftOut,
            format!(
                "{percent:.1}% of the log could not be weighed and was left out: the estimate is of the rest"
            ),
        )
    })
}

/// Whether the tail of the weights has no variance.
fn is_heavy(weights: &Diagnostics) -> bool {
    weights.pareto_k.is_some_and(|k| MOST_PARETO_K < k)
}

fn mean_weight_off(subject: &Subject<'_>) -> Option<Finding> {
    let weights = subject.diagnostics;
    let (mean, error) = (weights.mean_weight, weights.mean_weight_error);
    if subject.high < subject.low {
        return Some((
            VerdictKind::MeanWeightOff,
            "no value is possible: the weights cannot have mean 1, so densities of the log or of the policy are wrong"
                .to_owned(),
        ));
    }
    // With a heavy tail the mean is too small until a large weight comes in: the densities are not to blame.
    let errors = (mean - 1.0) / error;
    let off = MEAN_WEIGHT_ERRORS < errors || (errors < -MEAN_WEIGHT_ERRORS && !is_heavy(weights));
    // An error of rounding size alone is none.
    (off && 1e-9 < (mean - 1.0).abs()).then(|| {
        (
            VerdictKind::MeanWeightOff,
            format!(
                "the mean weight is {mean:.4} ± {error:.4} and should be 1: densities of the log or of the policy are wrong"
            ),
        )
    })
}

/// For intervals that hold at any n.
fn uninformative(subject: &Subject<'_>) -> Option<Finding> {
    let width = subject.high - subject.low;
    (WIDE * subject.range < width).then(|| {
        (
            VerdictKind::Uninformative,
            format!(
                "the interval holds but says little: it spans {:.0}% of all possible values",
                100.0 * width / subject.range
            ),
        )
    })
}

/// For intervals that rest on a central limit theorem.
fn not_yet_normal(subject: &Subject<'_>) -> Vec<Finding> {
    let weights = subject.diagnostics;
    let mut findings = Vec::new();
    if LARGEST_SHARE < weights.largest_share {
        let percent = 100.0 * weights.largest_share;
        findings.push((
            VerdictKind::OneEventDominates,
            format!("one event has {percent:.0}% of all weight"),
        ));
    }
    if weights.ess < LEAST_ESS {
        let ess = weights.ess;
        findings.push((
            VerdictKind::TooFewEffective,
            format!(
                "the effective sample size is {ess:.1}, below {LEAST_ESS}: too small for this interval, look at betting"
            ),
        ));
    }
    let bounded = matches!(
        subject.estimator.hyperparameter(),
        Some(Hyperparameter::Given(limit)) if limit.is_finite()
    );
    if is_heavy(weights) && !bounded {
        let k = weights.pareto_k.unwrap_or(f64::NAN);
        findings.push((
            VerdictKind::HeavyTails,
            format!(
                "heavy tails (Pareto k = {k:.2}, above {MOST_PARETO_K}): this interval is too short, look at betting"
            ),
        ));
    }
    findings
}

/// Whether c or λ changed any weight; for λ, by more than a percent.
fn limit_bites(estimator: Estimator, limit: f64, weights: &Diagnostics) -> bool {
    let most = weights.largest_weights.first().copied().unwrap_or(0.0);
    match estimator {
        Estimator::Drs(_) => 0.01 * limit < most * most,
        _ => limit < most,
    }
}
