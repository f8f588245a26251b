use egret::Objective;
use serde::Serialize;

use crate::estimator::Estimator;
use crate::evaluation::{Standing, Verdict};
use crate::interval::IntervalKind;

/// The value of a policy by one estimator, with one interval and a verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimator, with the c or λ that was used, as in `clipped-ips:8`.
    pub estimator: Estimator,
    /// Whether c or λ was chosen with the same events (see [`Hyperparameter::Tuned`](crate::Hyperparameter::Tuned)).
    pub tuned: bool,
    /// The kind of interval.
    pub interval: IntervalKind,
    /// The mean loss of the policy, or its mean outcome after [`in_units`](Self::in_units); NaN where nothing can be said.
    /// With a betting interval it is the value that the bets speak least against, which is always in the interval.
    pub estimate: f64,
    /// The lower end of the interval; NaN, as is the upper one, where no value is possible.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The confidence level.
    pub level: f64,
    /// Over how many policies the level holds at once.
    pub simultaneous: u64,
    /// How many events were weighed.
    pub n: u64,
    /// Effective sample size, (Σ hw)²/Σ (hw)².
    pub ess: f64,
    /// How many losses the standard error rests on: (Σψ²)²/Σψ⁴, where ψ is what an event adds to the estimate, w(ℓ − v̂) for
    /// SNIPS. Rare losses and rare large weights make it small.
    pub informative: f64,
    /// The largest weight.
    pub max_weight: f64,
    /// The mean weight, which should be 1.
    pub mean_weight: f64,
    /// The share of events with weight 0.
    pub zero_share: f64,
    /// How many more events would halve the interval, if they are like those seen.
    pub more_events: Option<u64>,
    /// The mean of the log as it was played.
    pub logged: f64,
    /// Where the interval lies beside it.
    pub standing: Standing,
    /// Whether the interval can be relied on.
    pub verdict: Verdict,
}

impl Estimate {
    /// From a mean loss to a mean outcome, in the units of the objective.
    pub fn in_units(self, objective: &Objective) -> Self {
        let (low, high) = objective.interval(self.low, self.high);
        Self {
            estimate: objective.value(self.estimate),
            low,
            high,
            logged: objective.value(self.logged),
            standing: self.standing.in_units(objective),
            ..self
        }
    }

    /// The interval as `[low, high]`, or that no value fits.
    pub fn ends(&self, digits: usize) -> String {
        match self.low.is_nan() || self.high.is_nan() {
            true => "no value fits".to_owned(),
            false => format!("[{:.digits$}, {:.digits$}]", self.low, self.high),
        }
    }

    /// What the interval says, whether to rely on it, and what would help, in one line. Numbers are taken to be in the units
    /// of this objective already.
    pub fn in_words(&self, objective: &Objective) -> String {
        let digits = objective.decimals();
        self.verdict.line(
            objective,
            (self.low, self.high),
            self.standing,
            &format!("the logging policy ({:.digits$})", self.logged),
            self.more_events,
        )
    }
}
