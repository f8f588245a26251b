//! Intervals around an estimate: how far the true value may be from it.
//!
//! | kind                | file                  | holds                          | needs                               |
//! |---------------------|-----------------------|--------------------------------|-------------------------------------|
//! | normal              | `normal`              | as n grows                     | weights with a variance             |
//! | asymptotic          | `asymptotic`          | at all n at once, as n grows   | weights with a variance             |
//! | bootstrap           | `bootstrap`           | as n grows                     | weights with a variance             |
//! | empirical Bernstein | `empirical_bernstein` | at any n that was fixed before | bounded weights, independent events |
//! | betting             | `betting/`            | at all n at once               | weights with mean 1                 |
//!
//! Intervals are computed from sums over events and know no policy. `evaluation/` decides which interval an estimator can have.
//! `ratio_difference` has the standard error of a difference of two self-normalized estimates.

mod asymptotic;
pub(crate) mod betting;
mod bootstrap;
mod empirical_bernstein;
mod normal;
mod ratio_difference;

pub(crate) use asymptotic::AsymptoticSequence;
pub use betting::{LowerMean, PathPoint, running_intersection};
pub(crate) use bootstrap::{Counts, Replicates, percentile_interval};
pub(crate) use empirical_bernstein::EmpiricalBernstein;
pub(crate) use normal::normal_quantile_above;
pub(crate) use ratio_difference::RatioDifference;

use std::fmt;
use std::str::FromStr;

use egret::OutOfRange;
use serde::{Deserialize, Serialize};

/// How an interval is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalKind {
    /// Estimate ± z standard errors, by the central limit theorem.
    Normal,
    /// A confidence sequence by the central limit theorem: all n from some large one on hold at once, under the conditions of
    /// [`Normal`](Self::Normal) and at most about twice as wide.
    Asymptotic,
    /// Percentiles of the estimate over resampled logs.
    Bootstrap,
    /// Maurer & Pontil 2009: holds at any n, if weights are bounded and events independent.
    EmpiricalBernstein,
    /// A confidence sequence: holds at all n at once, whatever the tails of the weights.
    Betting,
}

impl IntervalKind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Normal,
        Self::Asymptotic,
        Self::Bootstrap,
        Self::EmpiricalBernstein,
        Self::Betting,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Asymptotic => "asymptotic",
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
#[error(
    "no interval {text:?}, expected one of normal, asymptotic, bootstrap, empirical-bernstein, betting"
)]
pub struct UnknownInterval {
    text: String,
}

/// The confidence level, and over how many values at once it holds.
///
/// For K values each interval misses with probability at most α/K, so any of them misses with probability at most α.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confidence {
    level: f64,
    simultaneous: u64,
}

impl Confidence {
    /// For one value. The level is strictly between 0 and 1.
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

    /// The confidence level 1 − α.
    pub fn level(self) -> f64 {
        self.level
    }

    /// Over how many values it holds at once.
    pub fn policies(self) -> u64 {
        self.simultaneous
    }

    /// The probability with which one interval may miss: α/K.
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
        assert_eq!((confidence.level(), confidence.policies()), (0.9, 5));
        for bad in [0.0, 1.0, f64::NAN, 95.0] {
            assert!(Confidence::new(bad).is_err(), "{bad}");
        }
    }
}
