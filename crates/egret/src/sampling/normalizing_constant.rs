use serde::{Deserialize, Serialize};

use crate::event::Action;
use crate::numeric::{EventRng, OutOfRange, checked_number, lanes};
use crate::oracle::NanPrediction;
use crate::sampling::{
    Igw,
    proposer::{Proposals, Proposer},
};

/// z(β), exact or estimated without bias: the density of an action is g/z.
///
/// The importance weight of a policy with density q is q(a)·z/g(a), linear in z. If the estimate of z is unbiased and
/// independent of the action given β, every weight is unbiased.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NormalizingConstant {
    /// z(β), or the mean of g over fresh draws of μ.
    #[serde(deserialize_with = "checked_number::positive")]
    pub value: f64,
    /// How many draws; 0 if z was computed.
    pub draws: usize,
}

impl NormalizingConstant {
    /// A z that was computed.
    pub fn exact(value: f64) -> Self {
        Self { value, draws: 0 }
    }
}

/// ε, the relative standard error allowed for ẑ. It decides how many fresh draws ẑ takes.
///
/// M independent draws have Var(ẑ)/z² ≤ (κτ − 1)/M: M = (κτ − 1)/ε² keeps the error below ε.
///
/// On the line each draw comes from its own stratum, and Var(ẑ) = M⁻² Σ Varᵢ with Varᵢ at most a quarter of the squared
/// range of g there. The ranges are at most τ each and add up to the variation of g, at most τ for each monotone piece of an f̂
/// that does not jump. With P pieces Var(ẑ)/z² ≤ P (κτ/M)²/4, so M = κτ √P/(2ε) is enough if the oracle knows its
/// pieces. Jumps between them may raise the error by √2.
///
/// Weights stay unbiased; their second moment grows by the factor 1 + ε².
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct RelativeError(f64);

impl Default for RelativeError {
    /// ½: takes 4κτ draws, or 1.4κτ on an interval with one minimum, and raises the second moment of weights by at most
    /// a quarter.
    fn default() -> Self {
        Self(0.5)
    }
}

impl RelativeError {
    /// ε in [0.001, 1]. The smallest takes a million times κτ draws.
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

    /// M for a given κτ. At least 128: they cost little and help where τ is small.
    ///
    /// `pieces` is the number of monotone pieces, if it is known and draws are stratified on an interval.
    pub fn draws(self, kappa_tau: f64, pieces: Option<usize>) -> usize {
        let independent = (kappa_tau - 1.0) / (self.0 * self.0);
        let stratified = pieces.map_or(f64::INFINITY, |pieces| {
            0.5 * kappa_tau * (pieces as f64).sqrt() / self.0
        });
        independent.min(stratified).ceil().max(128.0) as usize
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

/// ẑ: the mean of g over `draws` fresh draws, stratified if μ can.
pub(crate) fn estimate<X: ?Sized, A: Action>(
    igw: &Igw,
    beta: f64,
    draws: usize,
    proposer: &Proposer<'_, X, A>,
    rng: &mut EventRng,
    work: &mut Proposals<A>,
) -> Result<NormalizingConstant, NanPrediction> {
    proposer.draw_stratified(draws, rng, work)?;
    Ok(NormalizingConstant {
        value: mean_weight(igw, beta, &work.fhats),
        draws,
    })
}

/// The mean of g(·; β) over predictions.
pub(crate) fn mean_weight(igw: &Igw, beta: f64, fhats: &[f64]) -> f64 {
    let shares = lanes::tree(sums_of_shares(igw.gamma(), beta, fhats));
    igw.tau() * shares / fhats.len() as f64
}

/// Lanes of Σ g/τ. The caller adds them: done here, the compiler would not vectorize the loop.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn sums_of_shares(gamma: f64, beta: f64, fhats: &[f64]) -> [f64; lanes::LANES] {
    let share = |fhat: f64| 1.0 / (1.0 + gamma * (fhat - beta).max(0.0));
    let mut sums = [0.0; lanes::LANES];
    let (chunks, rest) = fhats.as_chunks::<{ lanes::LANES }>();
    for chunk in chunks {
        for (sum, &fhat) in sums.iter_mut().zip(chunk) {
            *sum += share(fhat);
        }
    }
    for (sum, &fhat) in sums.iter_mut().zip(rest) {
        *sum += share(fhat);
    }
    sums
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
    fn draws_are_as_many_as_the_error_asks_for() {
        let error = RelativeError::new(0.1).expect("in range");
        assert_eq!((error.get(), f64::from(error)), (0.1, 0.1));
        assert_eq!(RelativeError::try_from(0.1), Ok(error));
        assert!(RelativeError::try_from(2.0).is_err());
        // (κτ − 1)/ε², ½κτ√pieces/ε on an interval, and never below 128.
        assert_eq!(error.draws(101.0, None), 10_000);
        assert_eq!(error.draws(101.0, Some(4)), 1_010);
        assert_eq!(error.draws(2.0, Some(1)), 128);
    }

    #[test]
    fn the_error_is_below_what_was_asked_for() {
        use crate::measure::Interval;
        use crate::numeric::Stream;
        use crate::oracle::{FunctionOnInterval, LossCurve};
        // One minimum, and g close to τ times an indicator: what strata find hardest.
        let oracle = FunctionOnInterval::new(
            |x: &f64, actions: &Vec<f64>, out: &mut [f64]| {
                for (out, action) in out.iter_mut().zip(actions) {
                    *out = (action - x).abs();
                }
            },
            |x: &f64, out: &mut Vec<f64>| {
                out.push(*x);
                *x
            },
        );
        let measure = Interval::new(0.0, 1.0).expect("in order");
        let igw = Igw::new(200.0, 1e6).expect("in range");
        let (x, beta) = (0.437, 0.001);
        let mut prepared = Vec::new();
        let curve = LossCurve::<f64, f64>::new(&oracle, &x, &mut prepared).expect("a context");
        let proposer = Proposer {
            x: &x,
            measure: &measure,
            curve: &curve,
        };
        let fine: Vec<f64> = (0..2_000_000)
            .map(|i| ((f64::from(i) + 0.5) / 2e6 - x).abs())
            .collect();
        let z = mean_weight(&igw, beta, &fine);
        let draws = RelativeError::default().draws(200.0 / z, Some(2));
        let (trials, mut squares) = (2_000, 0.0);
        for trial in 0..trials {
            let mut rng = EventRng::new(3, trial, Stream::Z);
            let mut work = Proposals::default();
            let found =
                estimate(&igw, beta, draws, &proposer, &mut rng, &mut work).expect("no NaN");
            squares += (found.value / z - 1.0).powi(2);
        }
        let error = (squares / trials as f64).sqrt();
        assert!(0.02 < error && error < 0.5, "{error}");
    }

    #[test]
    fn fewer_draws_for_a_larger_error() {
        let error = RelativeError::new(0.1).expect("in range");
        assert_eq!(error.draws(401.0, None), 40_000);
        assert_eq!(error.draws(401.0, Some(2)), 2_836);
        assert_eq!(RelativeError::default().draws(1.0, None), 128);
        for bad in [0.0, -1.0, 1.5, f64::NAN] {
            assert!(RelativeError::new(bad).is_err());
        }
    }
}
