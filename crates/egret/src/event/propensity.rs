use serde::{Deserialize, Serialize};

use crate::numeric::OutOfRange;

/// dP/dμ at an action: finite and positive; it may exceed 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")] // a bad log is an error, not a NaN
pub struct Density(f64);

impl Density {
    /// Refuses zero, negatives, infinities and NaN.
    pub fn new(value: f64) -> Result<Self, OutOfRange> {
        OutOfRange::unless(
            0.0 < value && value.is_finite(),
            "density",
            value,
            "(0, inf)",
        )?;
        Ok(Self(value))
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Density {
    type Error = OutOfRange;

    fn try_from(value: f64) -> Result<Self, OutOfRange> {
        Self::new(value)
    }
}

impl From<Density> for f64 {
    fn from(density: Density) -> f64 {
        density.0
    }
}

/// How probable the chosen action was.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Propensity {
    /// Drawn with this density: importance weights exist for any policy.
    Density(Density),
    /// A point mass, as SmoothIGW puts on its greedy action: no importance weights.
    PointMass,
}

impl Propensity {
    /// The density, where there is one.
    pub fn density(self) -> Option<Density> {
        match self {
            Self::Density(density) => Some(density),
            Self::PointMass => None,
        }
    }
}

/// How much an event counts: finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Weight(f64);

impl Weight {
    /// The weight 1.
    pub const ONE: Self = Self(1.0);

    /// Refuses negatives, infinities and NaN.
    pub fn new(value: f64) -> Result<Self, OutOfRange> {
        OutOfRange::unless(
            0.0 <= value && value.is_finite(),
            "weight",
            value,
            "[0, inf)",
        )?;
        Ok(Self(value))
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Weight {
    type Error = OutOfRange;

    fn try_from(value: f64) -> Result<Self, OutOfRange> {
        Self::new(value)
    }
}

impl From<Weight> for f64 {
    fn from(weight: Weight) -> f64 {
        weight.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_density_is_finite_and_positive() {
        for good in [f64::MIN_POSITIVE, 1.0, 1e300] {
            assert_eq!(Density::new(good).map(Density::get), Ok(good));
            assert_eq!(Density::new(good).map(f64::from), Ok(good));
        }
        for bad in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Density::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_atom_has_no_density() {
        assert_eq!(Propensity::PointMass.density(), None);
    }

    #[test]
    fn a_weight_may_be_zero_but_not_negative() {
        assert_eq!(Weight::new(0.0).map(Weight::get), Ok(0.0));
        assert_eq!(Weight::new(2.5).map(f64::from), Ok(2.5));
        for bad in [-1e-9, f64::NAN, f64::INFINITY] {
            assert!(Weight::new(bad).is_err(), "{bad}");
        }
    }
}
