use crate::numeric::OutOfRange;

/// Inverse gap weighting with a capped density (Rucker et al. 2023, §3.2).
///
/// g(a; β) = τ / (1 + γ · (f̂(x, a) − β)₊),  z(β) = E_{a∼μ} g(a; β)
///
/// | field   | symbol | range  | meaning                  |
/// |---------|--------|--------|--------------------------|
/// | `tau`   | τ      | [1, 10⁹] | cap on g               |
/// | `gamma` | γ      | (0, ∞) | the larger, the greedier |
///
/// g is in (0, τ] and non-decreasing in β; z((1 − τ)/γ) ≤ 1 ≤ z(1).
///
/// ```
/// let igw = egret::Igw::new(20.0, 304.0)?;
/// assert_eq!(igw.weight(0.5, 0.5), 20.0);
/// assert_eq!(igw.weight(1.0, 0.0), 20.0 / 305.0);
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Igw {
    tau: f64,
    gamma: f64,
}

impl Igw {
    /// Checks both ranges.
    pub fn new(tau: f64, gamma: f64) -> Result<Self, OutOfRange> {
        check_tau(tau)?;
        OutOfRange::unless(0.0 < gamma && gamma.is_finite(), "gamma", gamma, "(0, inf)")?;
        OutOfRange::unless(
            (tau / gamma).is_finite(),
            "tau / gamma",
            tau / gamma,
            "(0, inf)",
        )?;
        Ok(Self { tau, gamma })
    }

    /// τ, the cap.
    pub fn tau(&self) -> f64 {
        self.tau
    }

    /// γ, the greediness.
    pub fn gamma(&self) -> f64 {
        self.gamma
    }

    /// (1 − τ)/γ: here z ≤ 1, whatever f̂ ∈ [0, 1] is.
    pub fn beta_min(&self) -> f64 {
        (1.0 - self.tau) / self.gamma
    }

    /// g(a; β) for f̂(x, a) = `fhat`.
    #[inline(always)]
    pub fn weight(&self, fhat: f64, beta: f64) -> f64 {
        self.tau / (1.0 + self.gamma * (fhat - beta).max(0.0))
    }
}

pub(crate) fn check_tau(tau: f64) -> Result<(), OutOfRange> {
    OutOfRange::unless((1.0..=1e9).contains(&tau), "tau", tau, "[1, 1e9]")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// f̂ = 0 everywhere has z = 1 there: no smaller β is needed.
    #[test]
    fn the_least_beta_is_that_of_no_loss() {
        for (tau, gamma) in [(1.0, 1.0), (2.0, 16.0), (200.0, 6368.0)] {
            let igw = Igw::new(tau, gamma).expect("in range");
            assert!((igw.weight(0.0, igw.beta_min()) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn ends_of_the_beta_range_enclose_one() {
        for (tau, gamma) in [(1.0, 1.0), (2.0, 16.0), (200.0, 6368.0)] {
            let igw = Igw::new(tau, gamma).expect("in range");
            for fhat in [0.0, 0.1, 0.5, 1.0] {
                assert!(igw.weight(fhat, igw.beta_min()) <= 1.0 + 1e-12);
                assert_eq!(igw.weight(fhat, 1.0), tau);
            }
        }
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        for (tau, gamma) in [
            (0.5, 1.0),
            (f64::NAN, 1.0),
            (2.0, 0.0),
            (2.0, f64::INFINITY),
        ] {
            assert!(Igw::new(tau, gamma).is_err(), "{tau} {gamma}");
        }
    }
}
