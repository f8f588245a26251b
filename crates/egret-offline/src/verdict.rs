use serde::Serialize;

use crate::{Diagnostics, Estimator, Hyperparameter, IntervalKind};

/// Whether to trust an estimate, and why not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The gravest of what was found.
    pub kind: VerdictKind,
    /// All of it, in words.
    pub words: String,
}

/// What an estimate suffers from, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// There is nothing to weigh.
    NoEvents,
    /// No event has any weight: the log never did what the target does.
    NoOverlap,
    /// The mean weight is not 1: the densities of the log, or of the target, are wrong.
    MeanWeightOff,
    /// Events were left out, and the rest need not be like them.
    LeftOut,
    /// A single event carries much of the estimate.
    OneEventDominates,
    /// Too few events count.
    TooFewEffective,
    /// Weights spread so widely that the interval's theory does not hold.
    HeavyTails,
    /// The estimator is biased, and the interval does not know by how much.
    Biased,
    /// The interval says next to nothing.
    Uninformative,
    /// None of these.
    Trust,
}

/// A mean weight is off when it is so many standard errors from 1: a correct log shows that once in 16,000.
const MEAN_WEIGHT_ERRORS: f64 = 4.0;

/// The least share of events left out that is worth a warning: it moves a value in [0, 1] by as much.
const LEFT_OUT: f64 = 0.001;

/// The most of all weight that one event may have. With more, the estimate is as uncertain as that one
/// loss, and its standard error, which is made of the same event, does not show it.
const LARGEST_SHARE: f64 = 0.1;

/// The fewest effective events for a central limit theorem. The textbook's 30 are for terms without a
/// skew; weights have one.
const LEAST_ESS: f64 = 100.0;

/// k of a tail without variance. A standard error then measures nothing: it grows with n as rare large
/// weights come in, and until then it is too small.
const MOST_PARETO_K: f64 = 0.5;

/// An interval wider than this rules out less than half of all values.
const WIDE: f64 = 0.5;

/// What a verdict is about.
pub(crate) struct Subject<'a> {
    pub(crate) diagnostics: &'a Diagnostics,
    pub(crate) estimator: Estimator,
    pub(crate) interval: IntervalKind,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Of the range of values: 1, or 2 for a difference.
    pub(crate) range: f64,
}

impl Verdict {
    pub(crate) fn of(subject: &Subject<'_>) -> Self {
        let mut findings = findings(subject);
        // The gravest first; those of one kind are never two.
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

    /// Whether nothing speaks against it.
    pub fn is_trust(&self) -> bool {
        self.kind == VerdictKind::Trust
    }
}

fn findings(subject: &Subject<'_>) -> Vec<(VerdictKind, String)> {
    let weights = subject.diagnostics;
    if weights.n == 0 {
        return vec![(
            VerdictKind::NoEvents,
            "no events: nothing to weigh".to_owned(),
        )];
    }
    let mut findings = Vec::new();
    let mut find = |kind, words: String| findings.push((kind, words));
    let total = weights.n + weights.left_out;
    let left_out = weights.left_out as f64 / total as f64;
    if LEFT_OUT <= left_out {
        let percent = 100.0 * left_out;
        find(
            VerdictKind::LeftOut,
            format!(
                "{percent:.1}% of the log could not be weighed and was left out: the estimate is of the rest"
            ),
        );
    }
    // The direct method uses no weight: what they are like is of no concern to it.
    if subject.estimator == Estimator::Dm {
        find(
            VerdictKind::Biased,
            "the direct method is as wrong as its model, which no interval shows: compare with dr"
                .to_owned(),
        );
        return findings;
    }
    if weights.mean_weight == 0.0 {
        find(
            VerdictKind::NoOverlap,
            "all weights are 0: the log never did what the target does".to_owned(),
        );
        return findings;
    }
    let heavy = weights.pareto_k.is_some_and(|k| MOST_PARETO_K < k);
    if subject.high < subject.low {
        find(
            VerdictKind::MeanWeightOff,
            "no value is possible: the weights cannot have mean 1, so densities of the log or of the target are wrong"
                .to_owned(),
        );
    } else {
        // A heavy tail makes the mean too small until a large weight comes in: that is not the densities' fault.
        let errors = (weights.mean_weight - 1.0) / weights.mean_weight_error;
        let off = MEAN_WEIGHT_ERRORS < errors || (errors < -MEAN_WEIGHT_ERRORS && !heavy);
        // A spread of rounding errors is none.
        if off && 1e-9 < (weights.mean_weight - 1.0).abs() {
            let (mean, error) = (weights.mean_weight, weights.mean_weight_error);
            find(
                VerdictKind::MeanWeightOff,
                format!(
                    "the mean weight is {mean:.4} ± {error:.4} and should be 1: densities of the log or of the target are wrong"
                ),
            );
        }
    }
    if subject.interval == IntervalKind::Betting
        || subject.interval == IntervalKind::EmpiricalBernstein
    {
        let width = subject.high - subject.low;
        if WIDE * subject.range < width {
            find(
                VerdictKind::Uninformative,
                format!("the interval holds, and says little: it is {width:.2} wide"),
            );
        }
    } else {
        if LARGEST_SHARE < weights.largest_share {
            let percent = 100.0 * weights.largest_share;
            find(
                VerdictKind::OneEventDominates,
                format!("one event has {percent:.0}% of all weight"),
            );
        }
        if weights.ess < LEAST_ESS {
            let ess = weights.ess;
            find(
                VerdictKind::TooFewEffective,
                format!(
                    "only {ess:.1} effective events, below {LEAST_ESS}: too few for this interval, look at betting"
                ),
            );
        }
        let bounded = matches!(
            subject.estimator.hyperparameter(),
            Some(Hyperparameter::Given(limit)) if limit.is_finite()
        );
        if heavy && !bounded {
            let k = weights.pareto_k.unwrap_or(f64::NAN);
            find(
                VerdictKind::HeavyTails,
                format!(
                    "heavy tails (Pareto k = {k:.2}, above {MOST_PARETO_K}): this interval is too short, look at betting"
                ),
            );
        }
    }
    if let Some(Hyperparameter::Given(limit)) = subject.estimator.hyperparameter()
        && limit_bites(subject.estimator, limit, weights)
    {
        find(
            VerdictKind::Biased,
            "large weights were shrunk, and the interval does not know the bias of that: compare with ips or dr"
                .to_owned(),
        );
    }
    findings
}

/// Whether any weight was changed, by more than a percent for shrinkage.
fn limit_bites(estimator: Estimator, limit: f64, weights: &Diagnostics) -> bool {
    let most = weights.largest_weights.first().copied().unwrap_or(0.0);
    match estimator {
        Estimator::Drs(_) => 0.01 * limit < most * most,
        _ => limit < most,
    }
}
