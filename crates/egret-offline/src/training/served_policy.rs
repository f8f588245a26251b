use std::fmt;
use std::str::FromStr;

use egret::{Action, Observed, OutOfRange, ReferenceMeasure, RegressionOracle};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::policy::{BestOf, Policy, PolicyBuffers, PolicyError, PolicySeed};
use crate::training::{LearningError, TrainingTask};

/// How an oracle is turned into a policy that can be served and weighed. A greedy policy has no density, so it cannot.
///
/// ```
/// use egret_offline::ServedPolicy;
///
/// assert_eq!("best-of:m=8".parse(), Ok(ServedPolicy::BestOf { m: 8 }));
/// assert_eq!("smooth:tau=16".parse(), Ok(ServedPolicy::Smooth { tau: 16.0 }));
/// assert_eq!(ServedPolicy::default().to_string(), "best-of:m=8");
/// assert!("greedy".parse::<ServedPolicy>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServedPolicy {
    /// Draws m actions from μ and plays the best by f̂.
    BestOf {
        /// How many actions.
        m: usize,
    },
    /// Plays among the best 1/τ of μ.
    Smooth {
        /// The largest density.
        tau: f64,
    },
}

impl Default for ServedPolicy {
    /// The best of 8: it plays about the best eighth of μ, and its weights are at most 8/p.
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
    pub fn serve<'a, X, A: Action>(
        self,
        measure: &'a dyn ReferenceMeasure<X, A>,
        oracle: &'a dyn RegressionOracle<X, A>,
    ) -> Result<BestOf<'a, X, A>, PolicyError> {
        match self {
            Self::BestOf { m } => BestOf::m(measure, oracle, m),
            Self::Smooth { tau } => BestOf::smooth(measure, oracle, tau),
        }
    }

    /// The mean loss of serving this oracle, self-normalized: Σ wℓ/Σ w over rows with a density. None where all weights are 0.
    pub(crate) fn value<X: Send + Sync, A: Action>(
        self,
        task: &TrainingTask<'_, X, A>,
        oracle: &dyn RegressionOracle<X, A>,
        rows: &[usize],
        seed: u64,
    ) -> Result<Option<f64>, LearningError> {
        let policy = self.serve(task.measure, oracle)?;
        let weights = importance_weights(&policy, task.examples, rows, seed)?;
        let (mut sum, mut total) = (0.0, 0.0);
        for (&row, weight) in rows.iter().zip(weights) {
            let weight = weight.unwrap_or(0.0);
            total += weight;
            sum += weight * task.examples[row].loss.get();
        }
        Ok((0.0 < total).then(|| sum / total))
    }
}

/// q/p at each row; none at point masses. It runs in parallel, with the same result on any number of threads.
pub(crate) fn importance_weights<X: Send + Sync, A: Action>(
    policy: &dyn Policy<X, A>,
    examples: &[Observed<X, A>],
    rows: &[usize],
    seed: u64,
) -> Result<Vec<Option<f64>>, PolicyError> {
    rows.par_iter()
        .with_min_len(256)
        .map_init(PolicyBuffers::default, |buffers, &row| {
            let Observed {
                x,
                action,
                limits,
                propensity,
                ..
            } = &examples[row];
            let Some(p) = propensity.density() else {
                return Ok(None);
            };
            let event = row as u64;
            let limited = limits.as_ref().map(|limits| policy.within(limits));
            let limited = limited.transpose()?;
            let policy = limited.as_deref().unwrap_or(policy);
            let q = policy.density(PolicySeed { seed, event }, x, action, buffers)?;
            Ok(Some(q / p.get()))
        })
        .collect()
}

impl fmt::Display for ServedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BestOf { m } => write!(f, "best-of:m={m}"),
            Self::Smooth { tau } => write!(f, "smooth:tau={tau}"),
        }
    }
}

impl FromStr for ServedPolicy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let unknown = || UnknownPolicy {
            text: text.to_owned(),
        };
        let (kind, number) = text.split_once('=').ok_or_else(unknown)?;
        let policy = match kind {
            "best-of:m" => Self::BestOf {
                m: number.parse().map_err(|_| unknown())?,
            },
            "smooth:tau" => Self::Smooth {
                tau: number.parse().map_err(|_| unknown())?,
            },
            _ => return Err(unknown()),
        };
        policy.check().map_err(|_| unknown())?;
        Ok(policy)
    }
}

/// The text names no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no policy {text:?}, expected best-of:m=M or smooth:tau=TAU with a number from 1 to 65536")]
pub struct UnknownPolicy {
    text: String,
}
