use egret::{OracleSpec, OutOfRange};
use serde::{Deserialize, Serialize};

use crate::training::{ServedPolicy, TrainingMethod, Validation};

/// How an oracle is trained on a log.
///
/// | field        | default          | meaning                                                          |
/// |--------------|------------------|------------------------------------------------------------------|
/// | `method`     | direct method    | what the oracle is fitted to                                     |
/// | `batch`      | 8 (the paper)    | events in one step                                               |
/// | `steps`      | 2 (the paper)    | gradient steps for each batch                                    |
/// | `epochs`     | 100              | the most passes over the log                                     |
/// | `patience`   | 1 (the paper)    | training ends after so many epochs without a better validation   |
/// | `criterion`  | squared error    | which validation number decides when to stop                     |
/// | `policy`     | best of 8        | how the oracle will be served; every epoch reports its value     |
/// | `seed`       | 0                | seeds the order of events in each epoch, and draws               |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingSettings {
    /// What the oracle is fitted to.
    pub method: TrainingMethod,
    /// Events in one step.
    pub batch: usize,
    /// Gradient steps for each batch.
    pub steps: usize,
    /// The most passes over the training rows.
    pub epochs: u32,
    /// After so many epochs in a row without a better validation, training ends.
    pub patience: u32,
    /// Which validation number decides.
    pub criterion: Criterion,
    /// How the oracle will be served.
    pub policy: ServedPolicy,
    /// Seeds the order of events and all draws.
    pub seed: u64,
}

/// Which number must fall for training to go on.
///
/// The squared error is the method's own, with its weights and pseudo-losses, on validation rows. Training minimizes it and
/// it is steady, but it cannot compare methods. The value is the mean loss of the served policy, estimated on the same rows.
/// It is what one wants in the end and it can compare methods, but it is far noisier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// The method's own squared error.
    #[default]
    SquaredError,
    /// The value of the served policy, self-normalized. The paper computes the true value from labels.
    Value,
}

impl Criterion {
    /// The number to compare with those of earlier epochs. All are of one kind: the first epoch that has any number settles
    /// whether it is the value or the squared error. NaN, which is never better, if this epoch lacks it; none if no epoch
    /// has any number.
    pub(crate) fn watched<'v>(
        self,
        mut earlier: impl Iterator<Item = &'v Validation>,
        now: &'v Validation,
    ) -> Option<f64> {
        let any = |of: &&Validation| of.value.is_some() || of.squared_error.is_some();
        let first = earlier.find(any).or(Some(now).filter(any))?;
        let number = match self {
            Self::Value if first.value.is_some() => now.value,
            _ => now.squared_error,
        };
        Some(number.unwrap_or(f64::NAN))
    }
}

impl Default for TrainingSettings {
    fn default() -> Self {
        Self {
            method: TrainingMethod::DirectMethod,
            batch: 8,
            steps: 2,
            epochs: 100,
            patience: 1,
            criterion: Criterion::SquaredError,
            policy: ServedPolicy::default(),
            seed: 0,
        }
    }
}

impl TrainingSettings {
    /// One pass and one step for oracles that need no more; the same settings for all others.
    ///
    /// Least squares are exact after one step and one pass: a second pass would count each event twice. The same holds for
    /// an aggregation with such a member. Local regressions are an exception: their prior is worth one event, so that counting
    /// all events twice changes little.
    pub fn suited_to(self, oracle: &OracleSpec) -> Self {
        if learns_in_one_pass(oracle) {
            Self {
                steps: 1,
                epochs: 1,
                ..self
            }
        } else {
            self
        }
    }

    pub(crate) fn check(&self) -> Result<(), OutOfRange> {
        self.method.check()?;
        for (name, value) in [
            ("batch", self.batch),
            ("steps", self.steps),
            ("epochs", self.epochs as usize),
            ("patience", self.patience as usize),
        ] {
            OutOfRange::unless(1 <= value, name, value as f64, "[1, inf)")?;
        }
        Ok(())
    }
}

fn learns_in_one_pass(oracle: &OracleSpec) -> bool {
    match oracle {
        OracleSpec::LeastSquares { .. } | OracleSpec::Quadratic { .. } => true,
        OracleSpec::Aggregation(members) => members.iter().any(learns_in_one_pass),
        OracleSpec::PiecewiseConstant { of, .. } => learns_in_one_pass(of),
        OracleSpec::Argmin { .. }
        | OracleSpec::Fourier { .. }
        | OracleSpec::LatentOutcome { .. }
        | OracleSpec::Curves { .. }
        | OracleSpec::Local { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use egret::Forecaster;

    use super::*;

    #[test]
    fn epochs_are_compared_on_one_scale() {
        let of = |squared_error, value| Validation {
            squared_error,
            value,
        };
        let (nothing, error) = (of(None, None), of(Some(0.1), None));
        let both = of(Some(0.2), Some(0.5));
        let watched = |criterion: Criterion, earlier: &[Validation], now: &Validation| {
            criterion.watched(earlier.iter(), now)
        };
        // The value came first: an error of 0.1 is not better than a value of 0.5.
        assert_eq!(watched(Criterion::Value, &[], &both), Some(0.5));
        let later = watched(Criterion::Value, &[nothing, both], &error);
        assert!(later.is_some_and(f64::is_nan), "{later:?}");
        // The error came first, and stays what is looked at.
        assert_eq!(watched(Criterion::Value, &[error], &both), Some(0.2));
        assert_eq!(watched(Criterion::SquaredError, &[], &both), Some(0.2));
        assert_eq!(watched(Criterion::Value, &[nothing], &nothing), None);
    }

    #[test]
    fn least_squares_pass_once_in_an_aggregation_too() {
        let ridge = OracleSpec::LeastSquares {
            forecaster: Forecaster::Ridge,
            lambda: 1.0,
            squares: false,
        };
        let fourier = OracleSpec::Fourier {
            features: 8,
            scale: 1.0,
            seed: 0,
        };
        let of = |members: &[&OracleSpec]| {
            OracleSpec::Aggregation(members.iter().copied().cloned().collect())
        };
        let suited = |oracle: &OracleSpec| {
            let suited = TrainingSettings::default().suited_to(oracle);
            (suited.steps, suited.epochs)
        };
        assert_eq!(suited(&ridge), (1, 1));
        assert_eq!(suited(&of(&[&fourier, &ridge])), (1, 1));
        assert_eq!(suited(&of(&[&fourier, &of(&[&ridge])])), (1, 1));
        assert_eq!(suited(&of(&[&fourier])), (2, 100));
    }
}
