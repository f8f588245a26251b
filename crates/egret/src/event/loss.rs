use serde::{Deserialize, Serialize};

use crate::numeric::OutOfRange;

/// The loss of an action: a number in [0, 1], smaller is better.
///
/// ```
/// use egret::Loss;
///
/// assert_eq!(Loss::new(0.25)?.get(), 0.25);
/// assert!(Loss::new(f64::NAN).is_err());
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Loss(f64);

impl Loss {
    /// Refuses numbers outside [0, 1], and NaN.
    pub fn new(value: f64) -> Result<Self, OutOfRange> {
        OutOfRange::unless((0.0..=1.0).contains(&value), "loss", value, "[0, 1]")?;
        Ok(Self(value))
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Loss {
    type Error = OutOfRange;

    fn try_from(value: f64) -> Result<Self, OutOfRange> {
        Self::new(value)
    }
}

impl From<Loss> for f64 {
    fn from(loss: Loss) -> f64 {
        loss.0
    }
}

/// The target of a regression: a loss, or an estimate with the same mean. It is finite but may lie outside [0, 1], as
/// doubly robust estimates do.
///
/// ```
/// use egret::{Loss, PseudoLoss};
///
/// assert_eq!(PseudoLoss::from(Loss::new(0.25)?).get(), 0.25);
/// assert_eq!(PseudoLoss::new(-0.5)?.get(), -0.5);
/// assert!(PseudoLoss::new(f64::NAN).is_err());
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct PseudoLoss(f64);

impl PseudoLoss {
    /// Refuses NaN and infinities.
    pub fn new(value: f64) -> Result<Self, OutOfRange> {
        OutOfRange::unless(value.is_finite(), "pseudo-loss", value, "(-inf, inf)")?;
        Ok(Self(value))
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl From<Loss> for PseudoLoss {
    fn from(loss: Loss) -> Self {
        Self(loss.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_unit_interval_passes() {
        for good in [0.0, 1.0, 0.5, f64::MIN_POSITIVE] {
            assert_eq!(Loss::new(good).map(Loss::get), Ok(good));
        }
        for bad in [
            -1e-300,
            1.0 + f64::EPSILON,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ] {
            assert!(Loss::new(bad).is_err(), "{bad}");
        }
        let error = Loss::new(f64::NAN).expect_err("NaN is no loss");
        assert_eq!(
            error.to_string(),
            "loss is NaN, expected a number in [0, 1]"
        );
    }
}
