use multiversion::multiversion;

use crate::event::{Limits, LimitsError};
use crate::measure::{
    LineMeasure, ReferenceMeasure, Support,
    line::{
        restricted,
        strata::{append_quantiles, fill_stratified},
    },
};
use crate::numeric::{EventRng, OutOfRange, bounds::Bounds};

/// The uniform distribution on [low, high].
///
/// A draw costs little more than its random number. Stratified draws take one from each of n equal
/// parts, in increasing order: the error of a mean falls as n^(−3/2) for a smooth integrand.
///
/// ```
/// use egret::{EventRng, ReferenceMeasure, Stream, Interval};
///
/// let mu = Interval::new(-1.0, 3.0)?;
/// let mut prices = Vec::new();
/// mu.sample(&(), 100, &mut EventRng::new(7, 0, Stream::World), &mut prices);
/// assert!(prices.iter().all(|price| (-1.0..=3.0).contains(price)));
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval(Bounds);

impl Interval {
    /// Refuses NaN, infinities, and ends that are equal or in the wrong order.
    pub fn new(low: f64, high: f64) -> Result<Self, OutOfRange> {
        Ok(Self(Bounds::new(low, high)?))
    }
}

impl<X: ?Sized> ReferenceMeasure<X, f64> for Interval {
    fn sample(&self, _: &X, n: usize, rng: &mut EventRng, out: &mut Vec<f64>) {
        append_quantiles(self, n, out, |units| rng.fill_unit(units));
    }

    fn sample_stratified(&self, _: &X, n: usize, rng: &mut EventRng, out: &mut Vec<f64>) {
        append_quantiles(self, n, out, |units| fill_stratified(rng, units));
    }

    fn support(&self) -> Support {
        Support::Volume(self.0.width())
    }

    fn as_line(&self) -> Option<&dyn LineMeasure> {
        Some(self)
    }

    fn within(&self, limits: &Limits) -> Result<Box<dyn ReferenceMeasure<X, f64>>, LimitsError> {
        restricted(self, limits, Self::new)
    }
}

impl LineMeasure for Interval {
    fn bounds(&self) -> (f64, f64) {
        (self.0.low(), self.0.high())
    }

    fn cdf(&self, a: f64) -> f64 {
        ((a - self.0.low()) / self.0.width()).clamp(0.0, 1.0)
    }

    fn quantiles(&self, u: &mut [f64]) {
        stretch(u, self.0);
    }
}

/// From [0, 1] to the interval.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn stretch(values: &mut [f64], interval: Bounds) {
    for value in values {
        *value = interval.at(*value);
    }
}

#[cfg(test)]
mod tests {
    use egret_testkit::kolmogorov_smirnov_p_value;
    use proptest::prelude::*;

    use super::*;
    use crate::measure::checks::{
        check_replay, check_split, check_stratified, sampled, stratified,
    };

    #[test]
    fn draws_are_uniform() {
        let mu = Interval::new(-2.0, 3.0).expect("in order");
        // False alarm: one in a million.
        let mut draws = sampled(&mu, 100_000, 1);
        assert!(1e-6 < kolmogorov_smirnov_p_value(&mut draws, |a| (a + 2.0) / 5.0));
        let mut even = stratified(&mu, 100_000, 1);
        assert!(1e-6 < kolmogorov_smirnov_p_value(&mut even, |a| (a + 2.0) / 5.0));
        // Power: an interval 2% longer is seen.
        assert!(kolmogorov_smirnov_p_value(&mut draws, |a| (a + 2.0) / 5.1) < 1e-6);
    }

    #[test]
    fn strata_are_unbiased_and_vary_less() {
        let mu = Interval::new(0.0, 2.0).expect("in order");
        check_stratified(&mu, |a| a, 1.0, 0.01);
        check_stratified(&mu, |a| a * a, 4.0 / 3.0, 0.02);
        check_stratified(&mu, |a| f64::from(u8::from(a < 0.7)), 0.35, 0.2);
        check_stratified(&mu, f64::exp, (2.0_f64.exp() - 1.0) / 2.0, 0.02);
    }

    #[test]
    fn draws_replay() {
        let mu = Interval::new(0.0, 1.0).expect("in order");
        check_replay(&mu);
        check_split(&mu);
    }

    #[test]
    fn the_unit_interval_takes_random_numbers_as_they_are() {
        let mu = Interval::new(0.0, 1.0).expect("in order");
        let mut expected = vec![0.0; 10];
        EventRng::new(1, 0, crate::numeric::Stream::World).fill_unit(&mut expected);
        assert_eq!(sampled(&mu, 10, 1), expected);
    }

    proptest! {
        #[test]
        fn quantiles_invert_the_cdf(low in -1e6..1e6, width in 1e-3..1e6, u in 0.0..=1.0) {
            let mu = Interval::new(low, low + width).expect("in order");
            let mut a = [u, 0.0, 1.0];
            mu.quantiles(&mut a);
            prop_assert!((mu.cdf(a[0]) - u).abs() < 1e-15 * (4.0 + 4.0 * low.abs() / width));
            prop_assert_eq!((a[1], a[2]), mu.bounds());
        }

        #[test]
        fn what_is_no_interval_is_refused(low in any::<f64>(), high in any::<f64>()) {
            let valid = Bounds::new(low, high).is_ok();
            prop_assert_eq!(Interval::new(low, high).is_ok(), valid);
        }
    }
}
