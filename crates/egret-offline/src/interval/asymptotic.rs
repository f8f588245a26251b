/// The asymptotic confidence sequence (Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas 2021, Theorem 2.2): a normal interval that
/// may be looked at after every event.
///
/// estimate ± σ̂/√n · √(2 · (nρ² + 1)/(nρ²) · ln(√(nρ² + 1)/α)),  ρ² = (−2 ln α + ln(−2 ln α + 1))/n*,  n* = 1,000
///
/// It is Robbins' mixture over the drifts of a Brownian motion, which sums of terms come close to as n grows. So all n from
/// some large one on hold at once with probability 1 − α. How large is not said, as for the normal interval, and as there
/// terms need a variance. ρ is fixed before the first event, and makes it narrowest near n*: at α = 0.05 it is 1.55 times the
/// normal interval there, and at most twice from 100 to 1,000,000 events.
///
/// n counts events, whatever their weights. Robbins' clock is the sum of the terms' variances V, and with V ∝ n it is the
/// same. Where V/n falls, as with event weights τ/(τ + γ), the interval is wider than by the clock of V, set to agree at n*:
/// the width in standard errors grows on both sides of n*, and n is further from n* than V is. Where V/n grows without end,
/// as with γ and no event weights, it is narrower, by the logarithm alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AsymptoticSequence {
    alpha: f64,
    rho_squared: f64,
}

/// n*, the number of events that the sequence is narrowest for.
const NARROWEST: f64 = 1_000.0;

impl AsymptoticSequence {
    /// Misses with probability `alpha`, in (0, 1).
    pub(crate) fn new(alpha: f64) -> Self {
        let log = -2.0 * libm::log(alpha);
        Self {
            alpha,
            rho_squared: (log + libm::log1p(log)) / NARROWEST,
        }
    }

    /// The half-width after `n` events, in standard errors σ̂/√n.
    pub(crate) fn standard_errors(&self, n: f64) -> f64 {
        let time = n * self.rho_squared;
        let log = 0.5 * libm::log1p(time) - libm::log(self.alpha);
        (2.0 * (time + 1.0) / time * log).sqrt()
    }

    /// How many times as many events than `n` would halve the interval.
    pub(crate) fn times_until_half(&self, n: f64) -> f64 {
        let goal = 0.5 * self.standard_errors(n);
        // Four times as many halve the standard error. Below n* there are fewer of these to a half-width then, above it more.
        let (mut few, mut many) = (1.0, 16.0);
        while few + 1e-3 < many {
            let middle: f64 = 0.5 * (few + many);
            if goal < self.standard_errors(middle * n) / middle.sqrt() {
                few = middle;
            } else {
                many = middle;
            }
        }
        many
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::normal_quantile_above;

    /// The half-width over the normal one.
    fn ratio(alpha: f64, n: f64) -> f64 {
        AsymptoticSequence::new(alpha).standard_errors(n) / normal_quantile_above(0.5 * alpha)
    }

    #[test]
    fn by_hand() {
        // The formula as it is printed: ρ² = 0.007936, and σ̂ = 0.4 at 250 events.
        let rho_squared = (5.991_464_547_107_98 + 6.991_464_547_107_98_f64.ln()) / 1_000.0;
        let (n, sigma) = (250.0_f64, 0.4);
        let squared = 2.0 * (n * rho_squared + 1.0) / (n * n * rho_squared)
            * ((n * rho_squared + 1.0).sqrt() / 0.05).ln();
        let found = sigma / n.sqrt() * AsymptoticSequence::new(0.05).standard_errors(n);
        assert!((found - sigma * squared.sqrt()).abs() < 1e-15, "{found}");
    }

    #[test]
    fn at_most_twice_the_normal_interval() {
        assert!((ratio(0.05, 1e3) - 1.5486).abs() < 1e-4);
        assert!((ratio(0.05, 1e2) - 1.9669).abs() < 1e-4);
        assert!((ratio(0.05, 1e6) - 1.9742).abs() < 1e-4);
        for alpha in [0.05, 0.01, 0.001] {
            let mut n = 100.0;
            while n <= 1e6 {
                let wider = ratio(alpha, n);
                assert!((1.0..2.0).contains(&wider), "{alpha} {n}: {wider}");
                assert!(ratio(alpha, 1_000.0) < 1.001 * wider, "{alpha} {n}");
                n *= 1.1;
            }
        }
        // Of very few events it says next to nothing.
        assert!(30.0 < ratio(0.05, 0.2));
        assert_eq!(ratio(0.05, 0.0), f64::INFINITY);
    }

    #[test]
    fn so_many_times_as_many_events_halve_it() {
        for alpha in [0.5, 0.05, 1e-6] {
            let sequence = AsymptoticSequence::new(alpha);
            let width = |n: f64| sequence.standard_errors(n) / n.sqrt();
            for n in [2.0, 100.0, 1e3, 1e4, 1e6, 1e9] {
                let half = width(sequence.times_until_half(n) * n) / width(n);
                assert!((half - 0.5).abs() < 1e-3, "{alpha} {n}: {half}");
            }
        }
    }
}
