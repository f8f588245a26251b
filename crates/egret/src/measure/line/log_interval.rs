use crate::event::{Limits, LimitsError};
use crate::measure::{
    LineMeasure, ReferenceMeasure, Support,
    line::{
        restricted,
        strata::{append_quantiles, fill_stratified},
    },
};
use crate::numeric::{EventRng, OutOfRange};

/// Numbers from `low` to `high` with a uniform logarithm: each factor of ten is as probable as the next.
///
/// For timeouts, budgets, learning rates, buffer sizes: what matters by its ratio. Under the uniform distribution on
/// [10³, 10⁹] nine in ten draws are above 10⁸; here one in six is.
///
/// ```
/// use egret::{LineMeasure, LogInterval};
///
/// let bytes = LogInterval::new(1e3, 1e9)?;
/// let mut middle = [0.5];
/// bytes.quantiles(&mut middle);
/// assert!((middle[0] - 1e6).abs() < 1e-3);
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogInterval {
    low: f64,
    high: f64,
    /// ln(high/low).
    logs: f64,
}

impl LogInterval {
    /// Both ends are positive and finite, and `high` is above `low` by more than one part in 2²⁶: nearer ends are an
    /// [`Interval`](crate::Interval), as logarithms could not tell the numbers between them apart.
    pub fn new(low: f64, high: f64) -> Result<Self, OutOfRange> {
        let normal = f64::MIN_POSITIVE..=f64::MAX;
        OutOfRange::unless(normal.contains(&low), "low", low, "(0, inf)")?;
        OutOfRange::unless(low < high && high.is_finite(), "high", high, "(low, inf)")?;
        let ratio = (high - low) / high;
        OutOfRange::unless(
            LEAST_RATIO <= ratio,
            "(high - low)/high",
            ratio,
            "[2^-26, 1): take an interval",
        )?;
        Ok(Self::between(low, high))
    }

    fn between(low: f64, high: f64) -> Self {
        Self {
            low,
            high,
            logs: log_of_ratio(high, low),
        }
    }
}

/// ln(a/low). Of numbers next to each other, logarithms would cancel.
fn log_of_ratio(a: f64, low: f64) -> f64 {
    let excess = (a - low) / low;
    if excess.is_finite() {
        libm::log1p(excess)
    } else {
        libm::log(a) - libm::log(low)
    }
}

/// 65,536 cells of 1,024 numbers each.
const LEAST_RATIO: f64 = 1.0 / 67_108_864.0;

impl<X: ?Sized> ReferenceMeasure<X, f64> for LogInterval {
    fn sample(&self, _: &X, n: usize, rng: &mut EventRng, out: &mut Vec<f64>) {
        append_quantiles(self, n, out, |units| rng.fill_unit(units));
    }

    fn sample_stratified(&self, _: &X, n: usize, rng: &mut EventRng, out: &mut Vec<f64>) {
        append_quantiles(self, n, out, |units| fill_stratified(rng, units));
    }

    fn support(&self) -> Support {
        Support::Volume(self.high - self.low)
    }

    fn as_line(&self) -> Option<&dyn LineMeasure> {
        Some(self)
    }

    fn within(&self, limits: &Limits) -> Result<Box<dyn ReferenceMeasure<X, f64>>, LimitsError> {
        restricted(self, limits, |low, high| Ok(Self::between(low, high)))
    }
}

impl LineMeasure for LogInterval {
    fn bounds(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    fn cdf(&self, a: f64) -> f64 {
        if a <= self.low {
            return 0.0;
        }
        (log_of_ratio(a, self.low) / self.logs).clamp(0.0, 1.0)
    }

    fn quantiles(&self, u: &mut [f64]) {
        for value in u {
            // From the nearer end, so that neither is missed.
            let a = if *value <= 0.5 {
                self.low * libm::exp(*value * self.logs)
            } else {
                self.high * libm::exp((*value - 1.0) * self.logs)
            };
            *value = a.clamp(self.low, self.high);
        }
    }
}

#[cfg(test)]
mod tests {
    use egret_testkit::kolmogorov_smirnov_p_value;
    use proptest::prelude::*;

    use super::*;
    use crate::measure::checks::{check_replay, check_split, check_stratified, sampled};

    #[test]
    fn logarithms_are_uniform() {
        let mu = LogInterval::new(1e3, 1e9).expect("in order");
        // False alarm: one in a million.
        let mut draws = sampled(&mu, 100_000, 1);
        let cdf = |a: f64| (a.log10() - 3.0) / 6.0;
        assert!(1e-6 < kolmogorov_smirnov_p_value(&mut draws, cdf));
        // Power: half a per cent more decades are seen.
        let wider = |a: f64| (a.log10() - 3.0) / 6.15;
        assert!(kolmogorov_smirnov_p_value(&mut draws, wider) < 1e-6);
    }

    #[test]
    fn strata_are_unbiased_and_vary_less() {
        let mu = LogInterval::new(1.0, 8.0).expect("in order");
        check_stratified(&mu, |a| a, 7.0 / 8.0_f64.ln(), 0.02);
        check_stratified(&mu, f64::ln, 4.0_f64.ln() * 0.75, 0.02);
    }

    #[test]
    fn draws_replay() {
        let mu = LogInterval::new(0.01, 10.0).expect("in order");
        check_replay(&mu);
        check_split(&mu);
    }

    #[test]
    fn what_has_no_logarithms_is_refused() {
        for (low, high) in [
            (0.0, 1.0),
            (-1.0, 1.0),
            (2.0, 1.0),
            (1.0, 1.0),
            (1.0, 1.0 + 1e-9),
            (1.0, f64::INFINITY),
            (f64::NAN, 1.0),
        ] {
            assert!(LogInterval::new(low, high).is_err(), "{low} {high}");
        }
    }

    proptest! {
        #[test]
        fn quantiles_invert_the_cdf(low in -300.0..300.0, ratio in 1e-6..6.0, u in 0.0..=1.0) {
            let low = 10.0_f64.powf(low);
            let mu = LogInterval::new(low, low * 10.0_f64.powf(ratio)).expect("in order");
            let mut a = [u, 0.0, 1.0];
            mu.quantiles(&mut a);
            prop_assert!((mu.cdf(a[0]) - u).abs() < 1e-14 / ratio.min(1.0));
            prop_assert_eq!((a[1], a[2]), mu.bounds());
        }
    }
}
