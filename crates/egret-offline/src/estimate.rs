use std::fmt;
use std::str::FromStr;

use egret::OutOfRange;
use serde::Serialize;

use crate::{Estimator, Verdict};

/// The value of a policy as one estimator sees it, with one interval and what to think of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// How the value was estimated, with the number that was used, as in `clipped-ips:8`.
    pub estimator: Estimator,
    /// Whether that number was chosen from the same events (see [`Hyperparameter::Tuned`](crate::Hyperparameter::Tuned)).
    pub tuned: bool,
    /// How the interval was made.
    pub interval: IntervalKind,
    /// The mean loss of the policy; NaN where nothing can be said.
    pub estimate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability with which the interval is to hold the value.
    pub level: f64,
    /// Over how many policies at once it is to do so.
    pub simultaneous: u64,
    /// How many events were weighed.
    pub n: u64,
    /// Effective sample size, (Σ hw)²/Σ (hw)²: so many events of equal weight would tell as much.
    pub ess: f64,
    /// The largest weight.
    pub max_weight: f64,
    /// The mean weight, which should be 1.
    pub mean_weight: f64,
    /// The share of events with weight 0.
    pub zero_share: f64,
    /// How many more events, like those seen, make the interval half as wide.
    pub more_events: Option<u64>,
    /// Whether to trust it.
    pub verdict: Verdict,
}

/// How an interval is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalKind {
    /// Estimate ± z standard errors, by the central limit theorem.
    Normal,
    /// Percentiles of the estimate over resampled logs.
    Bootstrap,
    /// Maurer & Pontil 2009: holds for any n, if weights are bounded and events independent.
    EmpiricalBernstein,
    /// A confidence sequence: holds at all n at once, whatever the tails.
    Betting,
}

impl IntervalKind {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Normal,
        Self::Bootstrap,
        Self::EmpiricalBernstein,
        Self::Betting,
    ];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Bootstrap => "bootstrap",
            Self::EmpiricalBernstein => "empirical-bernstein",
            Self::Betting => "betting",
        }
    }
}

impl fmt::Display for IntervalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for IntervalKind {
    type Err = UnknownInterval;

    fn from_str(text: &str) -> Result<Self, UnknownInterval> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| UnknownInterval {
            text: text.to_owned(),
        })
    }
}

/// No interval has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no interval {text:?}, expected one of normal, bootstrap, empirical-bernstein, betting")]
pub struct UnknownInterval {
    text: String,
}

/// How sure intervals are to be, and of how many values at once.
///
/// With K policies each interval misses with probability at most α/K, so that none of them misses but for probability α.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confidence {
    level: f64,
    simultaneous: u64,
}

impl Confidence {
    /// For one value. Refuses what is not strictly between 0 and 1.
    pub fn new(level: f64) -> Result<Self, OutOfRange> {
        if 0.0 < level && level < 1.0 {
            Ok(Self {
                level,
                simultaneous: 1,
            })
        } else {
            Err(OutOfRange {
                name: "level",
                value: level,
                expected: "(0, 1)",
            })
        }
    }

    /// For so many values at once; 0 is taken for 1.
    pub fn simultaneous(self, policies: u64) -> Self {
        Self {
            simultaneous: policies.max(1),
            ..self
        }
    }

    /// The level asked for.
    pub fn level(self) -> f64 {
        self.level
    }

    /// Over how many values.
    pub fn policies(self) -> u64 {
        self.simultaneous
    }

    /// How often one interval may miss.
    pub fn alpha(self) -> f64 {
        (1.0 - self.level) / self.simultaneous as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for kind in IntervalKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let error = "gauss".parse::<IntervalKind>().expect_err("no such");
        assert!(error.to_string().contains("betting"));
    }

    #[test]
    fn alpha_is_shared_out() {
        let confidence = Confidence::new(0.9).expect("a level").simultaneous(5);
        assert!((confidence.alpha() - 0.02).abs() < 1e-15);
        for bad in [0.0, 1.0, f64::NAN, 95.0] {
            assert!(Confidence::new(bad).is_err(), "{bad}");
        }
    }
}
