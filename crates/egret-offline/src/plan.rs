use crate::{Estimator, IntervalKind};

/// What is to be estimated, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// By these estimators.
    pub estimators: Vec<Estimator>,
    /// With these intervals.
    pub intervals: Vec<IntervalKind>,
    /// No weight is above this, it is promised; a weight that is ends the evaluation. At least 1.
    pub weight_bound: Option<f64>,
    /// How many logs the bootstrap draws. 200 are enough for 95% (Efron & Tibshirani 1993 ask for more for the ends
    /// than for the standard error; the memory is 200 numbers a sum).
    pub replicates: usize,
    /// Seed of the bootstrap.
    pub seed: u64,
}

impl Default for Plan {
    /// IPS, SNIPS, with normal and betting intervals.
    fn default() -> Self {
        Self {
            estimators: vec![Estimator::Ips, Estimator::Snips],
            intervals: vec![IntervalKind::Normal, IntervalKind::Betting],
            weight_bound: None,
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
    /// Nothing to do.
    #[error("the plan names no estimator")]
    NoEstimator,
    /// A mean weight of 1 needs a bound that is no less.
    #[error("the bound on weights is {bound}, expected a number in [1, inf)")]
    WeightBound {
        /// What it was.
        bound: f64,
    },
    /// Percentiles need something to be percentiles of.
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
