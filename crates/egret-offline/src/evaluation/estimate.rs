use egret::Objective;
use serde::Serialize;

use crate::estimator::Estimator;
use crate::evaluation::Verdict;
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
    pub estimate: f64,
    /// The lower end of the interval.
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
    /// The largest weight.
    pub max_weight: f64,
    /// The mean weight, which should be 1.
    pub mean_weight: f64,
    /// The share of events with weight 0.
    pub zero_share: f64,
    /// How many more events would halve the interval, if they are like those seen.
    pub more_events: Option<u64>,
    /// Whether to trust it.
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
            ..self
        }
    }
}
