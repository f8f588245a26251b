use crate::estimator::Estimator;
use crate::interval::IntervalKind;

/// Which estimators to use, with which intervals.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The estimators.
    pub estimators: Vec<Estimator>,
    /// The intervals.
    pub intervals: Vec<IntervalKind>,
    /// Known upper bound on the importance weights, at least 1. A weight above it is an error.
    pub weight_bound: Option<f64>,
    /// Whether events come with bounds of their own on their weights
    /// ([`WeightedEvents::weight_bounds`](crate::WeightedEvents::weight_bounds)), for bets to use.
    pub event_bounds: bool,
    /// Whether events come with [`TruncatedMeans`](crate::TruncatedMeans), for bets on `dr` to use.
    pub truncated: bool,
    /// How many logs the bootstrap draws. 200 are enough at 95% (Efron & Tibshirani 1993 ask for more for the ends of an
    /// interval than for a standard error). The memory is one number for each replicate and sum.
    pub replicates: usize,
    /// The seed of the bootstrap.
    pub seed: u64,
}

impl Default for Plan {
    /// SNIPS and IPS, with normal and betting intervals.
    fn default() -> Self {
        Self {
            estimators: vec![Estimator::Snips, Estimator::Ips],
            intervals: vec![IntervalKind::Normal, IntervalKind::Betting],
            weight_bound: None,
            event_bounds: false,
            truncated: false,
            replicates: 200,
            seed: 0,
        }
    }
}

impl Plan {
    /// Refuses what cannot be carried out.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        if self.estimators.is_empty() {
            return Err(PlanError::NoEstimator);
        }
        if let Some(bound) = self.weight_bound
            && !(1.0 <= bound && bound.is_finite())
        {
            return Err(PlanError::WeightBound { bound });
        }
        if self.intervals.contains(&IntervalKind::Bootstrap) && self.replicates < 2 {
            return Err(PlanError::Replicates {
                replicates: self.replicates,
            });
        }
        Ok(())
    }
}

/// Why a plan was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// There is no estimator.
    #[error("the plan names no estimator")]
    NoEstimator,
    /// The mean weight is 1, so a bound below 1 cannot hold.
    #[error("the bound on weights is {bound}, expected a number in [1, inf)")]
    WeightBound {
        /// What it was.
        bound: f64,
    },
    /// Too few replicates for percentiles.
    #[error("{replicates} replicates are too few for a bootstrap, expected at least 2")]
    Replicates {
        /// What it was.
        replicates: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_done_is_refused() {
        let plan = Plan::default();
        assert_eq!(plan.check(), Ok(()));
        let refused = |plan: Plan| plan.check().expect_err("refused").to_string();
        let none = refused(Plan {
            estimators: Vec::new(),
            ..plan.clone()
        });
        assert_eq!(none, "the plan names no estimator");
        for bound in [0.99, f64::NAN, f64::INFINITY] {
            let plan = Plan {
                weight_bound: Some(bound),
                ..plan.clone()
            };
            assert!(refused(plan).contains("expected a number in [1, inf)"));
        }
        let single = refused(Plan {
            intervals: vec![IntervalKind::Bootstrap],
            replicates: 1,
            ..plan
        });
        assert!(single.contains("at least 2"), "{single}");
    }
}
