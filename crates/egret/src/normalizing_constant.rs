use serde::{Deserialize, Serialize};

use crate::rejection_sampler::Proposals;
use crate::{Action, EventRng, Igw, LossCurve, NotANumber, OutOfRange, ReferenceMeasure, lanes};

/// z(β), exact or estimated without bias: what turns g into a density.
///
/// The weight of a policy with density q is q(a)·z/g(a), linear in z. An estimate that is unbiased and
/// independent of the action, given β, therefore leaves every weight unbiased.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NormalizingConstant {
    /// z(β), or the mean of g over fresh draws of μ.
    pub value: f64,
    /// How many draws; 0 where z was computed.
    pub draws: usize,
}

impl NormalizingConstant {
    /// z by computation.
    pub fn exact(value: f64) -> Self {
        Self { value, draws: 0 }
    }
}

/// How many fresh draws ẑ takes.
///
/// M independent draws have Var(ẑ)/z² ≤ (κτ − 1)/M, so that M = (κτ − 1)/ε² keeps the relative
/// error below ε; stratified draws stay below it by far. The error multiplies a weight that is
/// unbiased already, and raises its second moment by the factor 1 + ε² at most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct RelativeError(f64);

impl Default for RelativeError {
    /// ½: a weight's second moment grows by a quarter at most, for 4κτ draws.
    fn default() -> Self {
        Self(0.5)
    }
}

impl RelativeError {
    /// ε in [0.001, 1]: a million times κτ draws at the most.
    pub fn new(value: f64) -> Result<Self, OutOfRange> {
        OutOfRange::unless(
            (0.001..=1.0).contains(&value),
            "z_error",
            value,
            "[0.001, 1]",
        )?;
        Ok(Self(value))
    }

    /// ε.
    pub fn get(self) -> f64 {
        self.0
    }

    /// M for a κτ; at least 128, which cost little and are worth it where τ is small.
    pub fn draws(self, kappa_tau: f64) -> usize {
        ((kappa_tau - 1.0) / (self.0 * self.0)).ceil().max(128.0) as usize
    }
}

impl TryFrom<f64> for RelativeError {
    type Error = OutOfRange;

    fn try_from(value: f64) -> Result<Self, OutOfRange> {
        Self::new(value)
    }
}

impl From<RelativeError> for f64 {
    fn from(error: RelativeError) -> f64 {
        error.0
    }
}

/// ẑ: the mean of g over `draws` fresh draws, stratified where μ can.
pub(crate) fn estimate<X: ?Sized, A: Action>(
    igw: &Igw,
    beta: f64,
    draws: usize,
    x: &X,
    measure: &dyn ReferenceMeasure<X, A>,
    curve: &LossCurve<'_, X, A>,
    rng: &mut EventRng,
    work: &mut Proposals<A>,
) -> Result<NormalizingConstant, NotANumber> {
    use crate::Batch;
    work.actions.clear();
    measure.sample_stratified(x, draws, rng, &mut work.actions);
    curve.predict(&work.actions, &mut work.fhats)?;
    Ok(NormalizingConstant {
        value: mean_weight(igw, beta, &work.fhats),
        draws,
    })
}

/// The mean of g(·; β) over predictions.
pub(crate) fn mean_weight(igw: &Igw, beta: f64, fhats: &[f64]) -> f64 {
    sum_of_weights(igw.tau(), igw.gamma(), beta, fhats) / fhats.len() as f64
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn sum_of_weights(tau: f64, gamma: f64, beta: f64, fhats: &[f64]) -> f64 {
    let weight = |fhat: f64| tau / (1.0 + gamma * (fhat - beta).max(0.0));
    let mut sums = [0.0; lanes::LANES];
    let (chunks, rest) = fhats.as_chunks::<{ lanes::LANES }>();
    for chunk in chunks {
        for (sum, &fhat) in sums.iter_mut().zip(chunk) {
            *sum += weight(fhat);
        }
    }
    for (sum, &fhat) in sums.iter_mut().zip(rest) {
        *sum += weight(fhat);
    }
    lanes::tree(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_the_plain_mean() {
        let igw = Igw::new(20.0, 304.0).expect("in range");
        for n in 1..40_usize {
            let fhats: Vec<f64> = (0..n).map(|i| i as f64 / n as f64).collect();
            let plain = fhats.iter().map(|&fhat| igw.weight(fhat, 0.1)).sum::<f64>() / n as f64;
            let mean = mean_weight(&igw, 0.1, &fhats);
            assert!((mean - plain).abs() <= 1e-14 * plain, "{mean} {plain}");
        }
    }

    #[test]
    fn fewer_draws_for_a_larger_error() {
        let error = RelativeError::new(0.1).expect("in range");
        assert_eq!(error.draws(401.0), 40_000);
        assert_eq!(RelativeError::default().draws(1.0), 128);
        for bad in [0.0, -1.0, 1.5, f64::NAN] {
            assert!(RelativeError::new(bad).is_err());
        }
    }
}
