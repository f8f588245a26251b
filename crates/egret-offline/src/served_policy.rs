use std::fmt;
use std::str::FromStr;

use egret::{Action, OutOfRange, ReferenceMeasure, RegressionOracle};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    BestOf, Chance, LearningError, Lesson, LoggedExample, Target, TargetError, TargetWork,
};

/// How an oracle is turned into a policy that can be served and weighed: a greedy one has no density.
///
/// ```
/// use egret_offline::ServedPolicy;
///
/// assert_eq!("best-of:8".parse(), Ok(ServedPolicy::BestOf { m: 8 }));
/// assert_eq!("smooth:16".parse(), Ok(ServedPolicy::Smooth { tau: 16.0 }));
/// assert_eq!(ServedPolicy::default().to_string(), "best-of:8");
/// assert!("greedy".parse::<ServedPolicy>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServedPolicy {
    /// Draws m actions from μ and plays the best by f̂.
    BestOf {
        /// How many.
        m: usize,
    },
    /// Plays among the best 1/τ of μ.
    Smooth {
        /// The largest density.
        tau: f64,
    },
}

impl Default for ServedPolicy {
    /// The best of 8: an eighth of μ in the mean is as good, and weights are at most 8/p.
    fn default() -> Self {
        Self::BestOf { m: 8 }
    }
}

impl ServedPolicy {
    pub(crate) fn check(self) -> Result<(), OutOfRange> {
        match self {
            Self::BestOf { m } => {
                let m = m as f64;
                OutOfRange::unless((1.0..=65_536.0).contains(&m), "m", m, "[1, 65536]")
            }
            Self::Smooth { tau } => {
                OutOfRange::unless((1.0..=65_536.0).contains(&tau), "tau", tau, "[1, 65536]")
            }
        }
    }

    /// The policy that serves this oracle.
    pub fn target<'a, X, A: Action>(
        self,
        measure: &'a dyn ReferenceMeasure<X, A>,
        oracle: &'a dyn RegressionOracle<X, A>,
    ) -> Result<BestOf<'a, X, A>, TargetError> {
        match self {
            Self::BestOf { m } => BestOf::m(measure, oracle, m),
            Self::Smooth { tau } => BestOf::smooth(measure, oracle, tau),
        }
    }

    /// The mean loss of serving this oracle, self-normalised: Σ wℓ/Σ w over rows that have a density. None where no weight
    /// is positive.
    pub(crate) fn value<X: Send + Sync, A: Action>(
        self,
        lesson: &Lesson<'_, X, A>,
        oracle: &dyn RegressionOracle<X, A>,
        rows: &[usize],
        seed: u64,
    ) -> Result<Option<f64>, LearningError> {
        let target = self.target(lesson.measure, oracle)?;
        let weights = weights(&target, lesson.examples, rows, seed)?;
        let (mut sum, mut total) = (0.0, 0.0);
        for (&row, weight) in rows.iter().zip(weights) {
            let weight = weight.unwrap_or(0.0);
            total += weight;
            sum += weight * lesson.examples[row].loss.get();
        }
        Ok((0.0 < total).then(|| sum / total))
    }
}

/// q/p at each row; none at point masses. In parallel, and the same on any number of threads.
pub(crate) fn weights<X: Send + Sync, A: Action>(
    target: &dyn Target<X, A>,
    examples: &[LoggedExample<X, A>],
    rows: &[usize],
    seed: u64,
) -> Result<Vec<Option<f64>>, TargetError> {
    rows.par_iter()
        .with_min_len(256)
        .map_init(TargetWork::default, |work, &row| {
            let LoggedExample {
                x,
                action,
                propensity,
                ..
            } = &examples[row];
            let Some(p) = propensity.density() else {
                return Ok(None);
            };
            let event = row as u64;
            let q = target.density(Chance { seed, event }, x, action, work)?;
            Ok(Some(q / p.get()))
        })
        .collect()
}

impl fmt::Display for ServedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BestOf { m } => write!(f, "best-of:{m}"),
            Self::Smooth { tau } => write!(f, "smooth:{tau}"),
        }
    }
}

impl FromStr for ServedPolicy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let unknown = || UnknownPolicy {
            text: text.to_owned(),
        };
        let (kind, number) = text.split_once(':').ok_or_else(unknown)?;
        let policy = match kind {
            "best-of" => Self::BestOf {
                m: number.parse().map_err(|_| unknown())?,
            },
            "smooth" => Self::Smooth {
                tau: number.parse().map_err(|_| unknown())?,
            },
            _ => return Err(unknown()),
        };
        policy.check().map_err(|_| unknown())?;
        Ok(policy)
    }
}

/// No policy is written like this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no policy {text:?}, expected best-of:M or smooth:TAU with a number from 1 to 65536")]
pub struct UnknownPolicy {
    text: String,
}
