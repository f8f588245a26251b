use egret::Objective;
use serde::Serialize;

use crate::estimator::{Estimator, Hyperparameter};
use crate::evaluation::{Diagnostics, Standing};
use crate::interval::IntervalKind;
use crate::numerals::about;

/// Whether an interval can be relied on, and why not.
///
/// It does not say whether the policy is good: [`Estimate::in_words`](crate::Estimate::in_words) says both in one line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The gravest finding.
    pub kind: VerdictKind,
    /// All findings in words, the gravest first.
    pub words: String,
    /// What would help against the gravest.
    pub help: Option<String>,
}

/// What is wrong with an interval, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// There are no events to weigh.
    NoEvents,
    /// All weights are 0: the log never did what the policy does.
    NoOverlap,
    /// No value is possible, so there is no interval: the weights cannot have mean 1.
    NoValue,
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
    /// The interval rests on too few losses, because losses or large weights are rare.
    TooFewInformative,
    /// The estimator is biased, and the interval ignores the bias.
    Biased,
    /// The interval is so wide that it says little.
    Uninformative,
    /// None of these.
    Reliable,
}

impl VerdictKind {
    /// Whether it speaks against all that is weighed so, and not against one estimator alone.
    pub fn is_about_weights(self) -> bool {
        matches!(
            self,
            Self::NoEvents
                | Self::NoOverlap
                | Self::NoValue
                | Self::MeanWeightOff
                | Self::LeftOut
                | Self::OneEventDominates
                | Self::TooFewEffective
                | Self::HeavyTails
        )
    }
}

/// A mean weight is off if it is this many standard errors from 1. A correct log shows that once in 16,000 times.
const MEAN_WEIGHT_ERRORS: f64 = 4.0;

/// A mean weight this near to 1 is not off where it moves the value by little of the interval, however many events say that it
/// is not 1: densities written with a few digits do that.
const ROUNDED_WEIGHT: f64 = 0.001;

/// How little: this share of the interval's half-width. A 95% interval then covers 94%.
const LITTLE: f64 = 0.25;

/// The least share of events left out that is worth a warning. It can move a value in [0, 1] by as much.
const LEFT_OUT: f64 = 0.001;

/// The largest share of all weight that one event may have. With more, the estimate is as uncertain as the loss of that one
/// event, and the standard error, computed from the same event, does not show it.
const LARGEST_SHARE: f64 = 0.1;

/// The least effective sample size for a central limit theorem. The textbook's 30 is for terms without skew; weights are
/// skewed.
const LEAST_ESS: f64 = 100.0;

/// The least number of informative losses. Where one kind of loss decides, a normal 95% interval around 9 of them covers
/// 92% to 95%, and it misses mostly where fewer came in, which this sees. `docs/offline.md` has the coverage of what
/// passes.
const LEAST_INFORMATIVE: f64 = 9.0;

/// Where weights have a bound, Σψ² must be at least this many squares of the largest term there can be. Terms of that size
/// that are too rare to have been seen then add little to the variance.
const LARGEST_TERMS: f64 = 10.0;

/// Above ½ a tail has no variance. The standard error then measures nothing: it is too small until a rare large weight comes
/// in, and grows with n. The fit errs by about 0.1.
const MOST_PARETO_K: f64 = 0.4;

/// How many informative weights a mean below 1 needs before somebody is blamed: with fewer, the next large weight mends it.
const LEAST_INFORMATIVE_WEIGHTS: f64 = 40.0;

/// How many standard errors the mean weight may be from 1 before IPS, which is off by as much, gives way to SNIPS.
const IPS_ERRORS: f64 = 2.0;

/// An interval wider than this rules out less than half of all values.
const WIDE: f64 = 0.5;

/// What a verdict is about.
pub(crate) struct Subject<'a> {
    pub(crate) diagnostics: &'a Diagnostics,
    pub(crate) estimator: Estimator,
    pub(crate) interval: IntervalKind,
    /// NaN where no value is possible.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The length of the range of values: 1, or 2 for a difference.
    pub(crate) range: f64,
    pub(crate) terms: Terms,
    pub(crate) more_events: Option<u64>,
    /// Whether there can be a betting interval to read instead.
    pub(crate) can_bet: bool,
}

/// The terms ψ that move an estimate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    /// (Σψ²)²/Σψ⁴.
    pub(crate) informative: f64,
    /// What that would be on average if losses were alike at all weights. It is small, too, where a large weight has not met a
    /// rare loss yet.
    pub(crate) expected: f64,
    /// Σψ².
    pub(crate) spread: f64,
    /// The largest |ψ| there can be, if that is known.
    pub(crate) largest: Option<f64>,
}

impl Verdict {
    pub(crate) fn of(subject: &Subject<'_>) -> Self {
        let mut findings = findings(subject);
        // The gravest first; no kind comes twice.
        findings.sort_by_key(|finding| finding.kind);
        let help = findings.first().and_then(|finding| finding.help.clone());
        match findings.first() {
            None => Self {
                kind: VerdictKind::Reliable,
                words: "reliable".to_owned(),
                help,
            },
            Some(first) => Self {
                kind: first.kind,
                words: {
                    let words: Vec<String> = findings.iter().map(|one| one.words.clone()).collect();
                    words.join("; ")
                },
                help,
            },
        }
    }

    /// That the value is of a policy smoothed by so much, where nobody asked for that.
    pub fn smoothed(self, bandwidth: f64) -> Self {
        let words = format!(
            "it is the value of the policy smoothed by {bandwidth:.4} to either side, and the interval ignores how far that \
             is from the policy's own"
        );
        let help = Some("give the bandwidth that you would play".to_owned());
        match self.kind {
            VerdictKind::Reliable | VerdictKind::Uninformative => Self {
                kind: VerdictKind::Biased,
                words,
                help,
            },
            _ => Self {
                words: format!("{}; {words}", self.words),
                ..self
            },
        }
    }

    /// That weights rest on an estimate of the log's densities. Such an interval is never reliable.
    #[must_use]
    pub fn with_estimated_densities(self) -> Self {
        let words = "the weights are estimated too, and the interval ignores how wrong they are";
        let help = Some("log the density of each action from now on".to_owned());
        let kind = VerdictKind::Biased;
        let with = |found: String| format!("{found}; {words}");
        match self.kind {
            VerdictKind::Reliable => Self {
                kind,
                words: words.to_owned(),
                help,
            },
            VerdictKind::Uninformative => Self {
                kind,
                words: with(self.words),
                help,
            },
            // It is the estimate that does not fit: there is nothing to audit.
            VerdictKind::MeanWeightOff | VerdictKind::NoValue => Self {
                words: with(self.words),
                help,
                ..self
            },
            _ => Self {
                words: with(self.words),
                ..self
            },
        }
    }

    /// That a model behind the value has learned from the events that it is estimated from. Such an interval is never reliable.
    #[must_use]
    pub fn with_learned_events(self) -> Self {
        let words = "a model behind it has learned from these events, which flatters it";
        let help = "evaluate on later events (--from-seq), or on a log that the model has not seen";
        match self.kind {
            VerdictKind::Reliable | VerdictKind::Uninformative => Self {
                kind: VerdictKind::Biased,
                words: words.to_owned(),
                help: Some(help.to_owned()),
            },
            // The events are at fault, or there is none.
            VerdictKind::NoEvents
            | VerdictKind::NoOverlap
            | VerdictKind::NoValue
            | VerdictKind::MeanWeightOff
            | VerdictKind::LeftOut => Self {
                words: format!("{}; {words}", self.words),
                ..self
            },
            // No other interval of these events would help.
            _ => Self {
                words: format!("{}; {words}", self.words),
                help: Some(help.to_owned()),
                ..self
            },
        }
    }

    /// Whether nothing was found.
    pub fn is_reliable(&self) -> bool {
        self.kind == VerdictKind::Reliable
    }

    /// What the interval says, whether to rely on it, and what would help: one line. Numbers are in the units of the objective;
    /// `beside` is what the value is compared with, in words.
    pub(crate) fn line(
        &self,
        objective: &Objective,
        (low, high): (f64, f64),
        standing: Standing,
        beside: &str,
        more_events: Option<u64>,
    ) -> String {
        let digits = objective.decimals();
        if low.is_nan() || high.is_nan() {
            return match &self.help {
                Some(help) => format!("no interval: {}; {help}", self.words),
                None => format!("no interval: {}", self.words),
            };
        }
        let found = match standing.is_better(objective) {
            Some(true) => format!("better than {beside}"),
            Some(false) => format!("worse than {beside}"),
            None => format!("not shown better or worse than {beside}"),
        };
        let says = format!("between {low:.digits$} and {high:.digits$}");
        match (self.kind, standing) {
            (VerdictKind::Reliable, Standing::NotShown) => match more_events {
                Some(more) => format!(
                    "{says}: {found}; reliable; {} more events would halve the interval",
                    about(more)
                ),
                None => format!("{says}: {found}; reliable"),
            },
            (VerdictKind::Reliable, _) => format!("{says}: {found}; reliable"),
            (VerdictKind::Uninformative, _) => {
                let help = self
                    .help
                    .as_ref()
                    .map_or(String::new(), |help| format!("; {help}"));
                format!("{says}: {found}; reliable, but {}{help}", self.words)
            }
            _ => {
                let help = self
                    .help
                    .as_ref()
                    .map_or(String::new(), |help| format!("; {help}"));
                format!("{says}, but do not rely on it: {}{help}", self.words)
            }
        }
    }
}

struct Finding {
    kind: VerdictKind,
    words: String,
    help: Option<String>,
}

impl Finding {
    fn new(kind: VerdictKind, words: impl Into<String>, help: impl Into<Option<String>>) -> Self {
        Self {
            kind,
            words: words.into(),
            help: help.into(),
        }
    }
}

const AUDIT: &str = "run `egret audit` on the log, and check the densities of the policy";

/// Everything found, in no order.
fn findings(subject: &Subject<'_>) -> Vec<Finding> {
    let weights = subject.diagnostics;
    if weights.n == 0 {
        let words = "there are no events to weigh";
        return vec![Finding::new(VerdictKind::NoEvents, words, None)];
    }
    let mut findings = Vec::from_iter(left_out(weights));
    // The direct method uses no weights, so they do not concern it.
    if subject.estimator == Estimator::Dm {
        findings.push(Finding::new(
            VerdictKind::Biased,
            "the direct method is as wrong as its model, and no interval shows that",
            "compare with dr".to_owned(),
        ));
        return findings;
    }
    if weights.mean_weight == 0.0 {
        findings.push(Finding::new(
            VerdictKind::NoOverlap,
            "all weights are 0: the log never did what the policy does",
            "log some of those actions, or evaluate a policy that plays what was logged".to_owned(),
        ));
        return findings;
    }
    let mean_off = mean_weight_off(subject);
    let mean_is_off = mean_off.is_some();
    findings.extend(mean_off);
    match subject.interval {
        IntervalKind::Betting | IntervalKind::EmpiricalBernstein => {
            findings.extend(no_value(subject, mean_is_off));
            findings.extend(uninformative(subject));
        }
        IntervalKind::Normal | IntervalKind::Asymptotic | IntervalKind::Bootstrap => {
            findings.extend(not_yet_normal(subject, mean_is_off));
        }
    }
    if let Some(Hyperparameter::Given(limit)) = subject.estimator.hyperparameter()
        && limit_bites(subject.estimator, limit, weights)
    {
        findings.push(Finding::new(
            VerdictKind::Biased,
            "large weights were shrunk, and the interval ignores the bias of that",
            "compare with snips or dr".to_owned(),
        ));
    }
    findings
}

fn left_out(weights: &Diagnostics) -> Option<Finding> {
    let total = weights.n + weights.left_out;
    let left_out = weights.left_out as f64 / total as f64;
    (LEFT_OUT <= left_out).then(|| {
        let percent = 100.0 * left_out;
        Finding::new(
            VerdictKind::LeftOut,
            format!(
                "{percent:.1}% of the log could not be weighed and was left out, so the estimate is of the rest"
            ),
            "wait for their losses".to_owned(),
        )
    })
}

/// What follows is said once: by the mean weight, if that is off.
fn no_value(subject: &Subject<'_>, mean_is_off: bool) -> Option<Finding> {
    (subject.low.is_nan() || subject.high.is_nan()).then(|| {
        let words = match mean_is_off {
            true => "no value is possible, for the weights cannot have mean 1",
            false => {
                "no value is possible, for the weights cannot have mean 1: densities of the log or of the policy are wrong"
            }
        };
        Finding::new(VerdictKind::NoValue, words, AUDIT.to_owned())
    })
}

fn mean_weight_off(subject: &Subject<'_>) -> Option<Finding> {
    let weights = subject.diagnostics;
    let (mean, error) = (weights.mean_weight, weights.mean_weight_error);
    let errors = (mean - 1.0) / error;
    // The mean of a few large weights is below 1 until one more comes in: then the error says nothing, and nobody is to blame.
    let off = MEAN_WEIGHT_ERRORS < errors
        || (errors < -MEAN_WEIGHT_ERRORS
            && LEAST_INFORMATIVE_WEIGHTS <= weights.informative_weights);
    (off && !is_rounding(subject)).then(|| {
        Finding::new(
            VerdictKind::MeanWeightOff,
            format!(
                "the mean weight is {mean:.4} ± {error:.4} and should be 1, so densities of the log or of the policy are wrong"
            ),
            AUDIT.to_owned(),
        )
    })
}

/// Whether the mean weight is as near to 1 as rounded densities leave it.
fn is_rounding(subject: &Subject<'_>) -> bool {
    let off = (subject.diagnostics.mean_weight - 1.0).abs();
    let moved = off * subject.low.abs().max(subject.high.abs());
    // Sums of weights that are 1 may be off by their last bits, where nothing spreads.
    off <= 1e-9 || off <= ROUNDED_WEIGHT && moved <= LITTLE * 0.5 * (subject.high - subject.low)
}

/// For intervals that hold at any n.
fn uninformative(subject: &Subject<'_>) -> Option<Finding> {
    let width = subject.high - subject.low;
    (WIDE * subject.range < width).then(|| {
        Finding::new(
            VerdictKind::Uninformative,
            format!(
                "it says little, for it spans {:.0}% of all possible values",
                100.0 * width / subject.range
            ),
            subject
                .more_events
                .map(|more| format!("{} more events would halve it", about(more))),
        )
    })
}

/// What helps where no central limit theorem does.
fn instead(subject: &Subject<'_>, others: &str) -> String {
    match subject.can_bet {
        true => format!("read the betting interval, {others}"),
        false => others.to_owned(),
    }
}

const SMOOTHER: &str = "collect more events, or evaluate a policy closer to the logged one";

/// For intervals that rest on a central limit theorem.
fn not_yet_normal(subject: &Subject<'_>, mean_is_off: bool) -> Vec<Finding> {
    let weights = subject.diagnostics;
    let mut findings = Vec::new();
    if LARGEST_SHARE < weights.largest_share {
        let percent = 100.0 * weights.largest_share;
        findings.push(Finding::new(
            VerdictKind::OneEventDominates,
            format!("one event has {percent:.0}% of all weight"),
            instead(subject, SMOOTHER),
        ));
    }
    if weights.ess < LEAST_ESS {
        let ess = weights.ess;
        findings.push(Finding::new(
            VerdictKind::TooFewEffective,
            format!("the effective sample size is {ess:.1}, below {LEAST_ESS}"),
            instead(subject, SMOOTHER),
        ));
    }
    findings.extend(too_few_informative(subject));
    let mean = weights.mean_weight;
    let off = (mean - 1.0).abs();
    let errors = off / weights.mean_weight_error;
    if subject.estimator == Estimator::Ips
        && IPS_ERRORS < errors
        && !is_rounding(subject)
        && !mean_is_off
    {
        findings.push(Finding::new(
            VerdictKind::Biased,
            format!("the mean weight is {mean:.4} and should be 1, and ips is off by as much"),
            "read snips".to_owned(),
        ));
    }
    let bounded = matches!(
        subject.estimator.hyperparameter(),
        Some(Hyperparameter::Given(limit)) if limit.is_finite()
    );
    if let Some(k) = weights.pareto_k.filter(|&k| MOST_PARETO_K < k)
        && !bounded
    {
        findings.push(Finding::new(
            VerdictKind::HeavyTails,
            format!("the weights have heavy tails (Pareto k = {k:.2}, above {MOST_PARETO_K})"),
            instead(
                subject,
                "give a bound on the weights, or evaluate a smoother policy",
            ),
        ));
    }
    findings
}

fn too_few_informative(subject: &Subject<'_>) -> Option<Finding> {
    let Terms {
        informative,
        expected,
        spread,
        largest,
    } = subject.terms;
    let informative = informative.min(expected);
    let possible = largest.map_or(f64::INFINITY, |largest| spread / (largest * largest));
    let (share, words) = if informative < LEAST_INFORMATIVE {
        let found = match informative < 0.1 {
            true => "less than 0.1".to_owned(),
            false => format!("{informative:.1}"),
        };
        let words = format!(
            "too few informative losses: it rests on {found}, and {LEAST_INFORMATIVE} are needed"
        );
        (informative / LEAST_INFORMATIVE, words)
    } else if possible < LARGEST_TERMS {
        let words = "too few informative losses: by the bound on the weights, events that were not seen could matter more";
        (possible / LARGEST_TERMS, words.to_owned())
    } else {
        return None;
    };
    let n = subject.diagnostics.n as f64;
    let more = if 0.01 < share {
        let more = (n / share - n).ceil() as u64;
        format!("collect {} more events", about(more))
    } else {
        "collect many more events".to_owned()
    };
    Some(Finding::new(
        VerdictKind::TooFewInformative,
        words,
        match subject.can_bet {
            true => format!("read the betting interval, or {more}"),
            false => more,
        },
    ))
}

/// Whether c or λ changed any weight; for λ, by more than a percent.
fn limit_bites(estimator: Estimator, limit: f64, weights: &Diagnostics) -> bool {
    let most = weights.largest_weights.first().copied().unwrap_or(0.0);
    match estimator {
        Estimator::Drs(_) => 0.01 * limit < most * most,
        _ => limit < most,
    }
}
