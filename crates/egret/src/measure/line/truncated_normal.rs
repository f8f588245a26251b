use std::f64::consts::{FRAC_1_SQRT_2, PI};

use crate::event::{Limits, LimitsError};
use crate::measure::{
    LineMeasure, ReferenceMeasure, Support,
    line::{
        inverse_cdf::{InverseCdf, LogConcave},
        restricted,
        strata::{append_quantiles, fill_stratified},
    },
};
use crate::numeric::{EventRng, OutOfRange, bounds::Bounds};

/// A normal distribution, cut off outside [low, high]: a prior for a knob with a usual setting.
///
/// Its density is proportional to exp(−(a − mean)² / (2 sd²)) on the interval. The mean may lie
/// outside.
///
/// Draws are quantiles of uniform numbers, about 150 ns each, so stratified draws are as good
/// as on [`Interval`](crate::Interval). The cdf has a relative error of about 1e-13,
/// even in the tails and on intervals far shorter than sd. Quantiles lie within the interval.
///
/// ```
/// use egret::{EventRng, LineMeasure, ReferenceMeasure, Stream, TruncatedNormal};
///
/// let mu = TruncatedNormal::new(5.0, 1.0, 0.0, 10.0)?;
/// assert_eq!(mu.cdf(5.0), 0.5);
///
/// let mut doses = Vec::new();
/// mu.sample(&(), 100, &mut EventRng::new(7, 0, Stream::World), &mut doses);
/// assert!(doses.iter().all(|dose| (0.0..=10.0).contains(dose)));
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TruncatedNormal {
    interval: Bounds,
    mean: f64,
    sd: f64,
    standard: Standard,
    inverse: InverseCdf,
}

impl TruncatedNormal {
    /// The mean before truncation.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The standard deviation before truncation.
    pub fn sd(&self) -> f64 {
        self.sd
    }

    /// `sd` is positive, low < high, and all are finite.
    ///
    /// Also an error: an interval that holds less than 1e-280 of the normal distribution, about 35 deviations from the
    /// mean.
    pub fn new(mean: f64, sd: f64, low: f64, high: f64) -> Result<Self, OutOfRange> {
        OutOfRange::unless(mean.is_finite(), "mean", mean, "(-inf, inf)")?;
        OutOfRange::unless(0.0 < sd && sd.is_finite(), "sd", sd, "(0, inf)")?;
        let interval = Bounds::new(low, high)?;
        let standard = Standard::new((low - mean) / sd, (high - mean) / sd, interval.width() / sd);
        OutOfRange::unless(
            1e-280 <= standard.whole,
            "probability of the interval under the normal distribution",
            standard.whole,
            "[1e-280, 1]",
        )?;
        let mode = (-standard.low).clamp(0.0, standard.length);
        Ok(Self {
            interval,
            mean,
            sd,
            inverse: InverseCdf::new(&standard, mode),
            standard,
        })
    }

    fn quantile(&self, u: f64) -> f64 {
        let (low, high) = self.bounds();
        if u <= 0.0 {
            return low;
        }
        if 1.0 <= u {
            return high;
        }
        let Standard { length, ends, .. } = self.standard;
        let t = self.inverse.at(&self.standard, u);
        let a = if t <= 0.5 * length && ends.low {
            low + self.sd * t
        } else if 0.5 * length < t && ends.high {
            high - self.sd * (length - t)
        } else {
            self.mean + self.sd * (self.standard.low + t)
        };
        a.clamp(low, high)
    }
}

impl<X: ?Sized> ReferenceMeasure<X, f64> for TruncatedNormal {
    fn sample(&self, _: &X, n: usize, rng: &mut EventRng, out: &mut Vec<f64>) {
        append_quantiles(self, n, out, |units| rng.fill_unit(units));
    }

    fn sample_stratified(&self, _: &X, n: usize, rng: &mut EventRng, out: &mut Vec<f64>) {
        append_quantiles(self, n, out, |units| fill_stratified(rng, units));
    }

    fn support(&self) -> Support {
        Support::Volume(self.interval.width())
    }

    fn as_line(&self) -> Option<&dyn LineMeasure> {
        Some(self)
    }

    fn within(&self, limits: &Limits) -> Result<Box<dyn ReferenceMeasure<X, f64>>, LimitsError> {
        restricted(self, limits, |low, high| {
            Self::new(self.mean(), self.sd(), low, high)
        })
    }
}

impl LineMeasure for TruncatedNormal {
    fn bounds(&self) -> (f64, f64) {
        (self.interval.low(), self.interval.high())
    }

    fn cdf(&self, a: f64) -> f64 {
        if a <= self.interval.low() {
            0.0
        } else if self.interval.high() <= a {
            1.0
        } else {
            let t = if self.standard.ends.low {
                (a - self.interval.low()) / self.sd
            } else {
                (a - self.mean) / self.sd - self.standard.low
            };
            let inside = t.clamp(0.0, self.standard.length);
            self.standard.below(inside).min(1.0)
        }
    }

    fn quantiles(&self, u: &mut [f64]) {
        for value in u {
            *value = self.quantile(*value);
        }
    }
}

/// In units of sd, from low: t = (a − low)/sd. So that nothing is lost where the interval is short,
/// the length is kept rather than the other end; where it is long, what lies beyond [`REACH`] is
/// left out.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Standard {
    low: f64,
    length: f64,
    ends: Ends,
    whole: f64,
}

/// Which ends are the interval's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ends {
    low: bool,
    high: bool,
}

/// Deviations beyond which there is less than 1e-349.
const REACH: f64 = 40.0;

impl Standard {
    fn new(low: f64, high: f64, length: f64) -> Self {
        let ends = Ends {
            low: -REACH <= low,
            high: high <= REACH,
        };
        let (low, high) = (low.max(-REACH), high.min(REACH));
        let length = if ends.low && ends.high {
            length
        } else {
            high - low
        };
        Self {
            low,
            length,
            ends,
            whole: if 0.0 < length { mass(low, length) } else { 0.0 },
        }
    }
}

impl LogConcave for Standard {
    fn domain(&self) -> (f64, f64) {
        (0.0, self.length)
    }

    fn below(&self, t: f64) -> f64 {
        mass(self.low, t) / self.whole
    }

    fn above(&self, t: f64) -> f64 {
        mass(self.low + t, self.length - t) / self.whole
    }

    fn density(&self, t: f64) -> f64 {
        phi(self.low + t) / self.whole
    }
}

/// The standard normal density.
fn phi(t: f64) -> f64 {
    libm::exp(-0.5 * t * t) / (2.0 * PI).sqrt()
}

/// ∫ φ from `low` over `length`, with a small relative error.
fn mass(low: f64, length: f64) -> f64 {
    let high = low + length;
    if length * (1.0 + low.abs().max(high.abs())) < 1.0 {
        // φ is nearly flat here, and a difference of tails would cancel.
        return length * mean_of_phi(low, length);
    }
    let (low, high) = (low * FRAC_1_SQRT_2, high * FRAC_1_SQRT_2);
    0.5 * if 0.0 <= low {
        libm::erfc(low) - libm::erfc(high)
    } else if high <= 0.0 {
        libm::erfc(-high) - libm::erfc(-low)
    } else {
        libm::erf(high) + libm::erf(-low)
    }
}

/// The mean of φ over an interval, by Gauss and Legendre's rule with eight points.
fn mean_of_phi(low: f64, length: f64) -> f64 {
    let half = 0.5 * length;
    let middle = low + half;
    let mut sum = 0.0;
    for (node, weight) in GAUSS {
        sum += weight * (phi(middle - half * node) + phi(middle + half * node));
    }
    0.5 * sum
}

/// Positive nodes on [−1, 1], and their weights.
const GAUSS: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_3),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_5),
    (0.960_289_856_497_536_3, 0.101_228_536_290_376_3),
];

#[cfg(test)]
mod tests {
    use egret_testkit::kolmogorov_smirnov_p_value;
    use proptest::prelude::*;
    use statrs::distribution::{ContinuousCDF, Normal};

    use super::*;
    use crate::measure::checks::{check_replay, check_split, check_stratified, sampled};

    fn measure(mean: f64, sd: f64, low: f64, high: f64) -> TruncatedNormal {
        TruncatedNormal::new(mean, sd, low, high).expect("a normal distribution and an interval")
    }

    #[test]
    fn the_cdf_is_right_to_twelve_digits() {
        // ((mean, sd, low, high), a, cdf), computed with 400 digits.
        for ((mean, sd, low, high), a, expected) in [
            ((0.0, 1.0, -1.0, 2.0), 0.5, 0.650_880_421_336_627),
            (
                (0.0, 1.0, -1.0, 2.0),
                -1.0 + 2.0_f64.powi(-30),
                2.752_923_050_780_592_4e-10,
            ),
            ((0.0, 1.0, 3.0, 10.0), 3.5, 0.827_669_147_161_723_4),
            ((0.0, 1.0, 30.0, 31.0), 30.125, 0.976_761_882_641_231_9),
            ((0.0, 1.0, -36.0, -34.0), -34.25, 1.957_712_814_761_375_9e-4),
            ((0.0, 1.0, -36.0, -34.0), -35.5, 2.206_386_729_803_635_8e-23),
            ((0.5, 1e6, 0.0, 1.0), 0.25, 0.249_999_999_999_992_2),
            (
                (-1e3, 1e3, 0.0, 2.0_f64.powi(-10)),
                2.0_f64.powi(-12),
                0.250_000_091_552_779_1,
            ),
            ((5.0, 0.25, 0.0, 10.0), 5.125, 0.691_462_461_274_013_1),
            ((0.0, 1.0, 35.0, 1e3), 35.0625, 0.888_221_310_698_628_7),
        ] {
            let cdf = measure(mean, sd, low, high).cdf(a);
            assert!(
                (cdf / expected - 1.0).abs() < 1e-12,
                "{a}: {cdf}, {expected}"
            );
        }
    }

    #[test]
    fn the_cdf_agrees_with_another_library() {
        for (mean, sd, low, high) in [(0.0, 1.0, -2.0, 3.0), (1.0, 0.5, 0.0, 1.5)] {
            let (mu, normal) = (measure(mean, sd, low, high), Normal::new(mean, sd));
            let normal = normal.expect("a positive deviation");
            let (bottom, top) = (normal.cdf(low), normal.cdf(high));
            for i in 0..=1_000 {
                let a = low + (high - low) * f64::from(i) / 1_000.0;
                let expected = (normal.cdf(a) - bottom) / (top - bottom);
                // Its error function is right to about ten digits.
                assert!((mu.cdf(a) - expected).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn draws_have_the_distribution() {
        for (mean, sd, low, high) in [
            (0.0, 1.0, -2.0, 3.0),
            (0.0, 1.0, 8.0, 20.0),
            (5.0, 100.0, 0.0, 1.0),
            (0.0, 0.01, -5.0, 1.0),
        ] {
            let mu = measure(mean, sd, low, high);
            let mut draws = sampled(&mu, 50_000, 1);
            // False alarm: one in a million each. Power: the cdf to the power 1.1 is seen.
            assert!(1e-6 < kolmogorov_smirnov_p_value(&mut draws, |a| mu.cdf(a)));
            let power = |a| mu.cdf(a).powf(1.1);
            assert!(kolmogorov_smirnov_p_value(&mut draws, power) < 1e-6);
        }
    }

    #[test]
    fn strata_are_unbiased_and_vary_less() {
        let mu = measure(1.0, 0.5, 0.0, 2.0);
        check_stratified(&mu, |a| a, 1.0, 0.03);
        // Of a cut normal: sd² (1 − 2 c φ(c) / (2 Φ(c) − 1)) at c = 2.
        check_stratified(
            &mu,
            |a| (a - 1.0).powi(2),
            0.25 * 0.773_741_353_552_649_7,
            0.2,
        );
        check_stratified(&mu, |a| f64::from(u8::from(a < 0.8)), mu.cdf(0.8), 0.2);
    }

    #[test]
    fn draws_replay() {
        check_replay(&measure(1.0, 0.5, 0.0, 2.0));
        check_split(&measure(1.0, 0.5, 0.0, 2.0));
    }

    #[test]
    fn intervals_out_of_reach_are_refused() {
        assert!(TruncatedNormal::new(0.0, 1.0, 40.0, 41.0).is_err());
        let error = TruncatedNormal::new(0.0, 1.0, -60.0, -50.0).expect_err("far away");
        assert_eq!(
            error.to_string(),
            "probability of the interval under the normal distribution is 0, \
             expected a number in [1e-280, 1]"
        );
        assert!(TruncatedNormal::new(0.0, 0.0, 0.0, 1.0).is_err());
    }

    proptest! {
        #[test]
        fn quantiles_invert_the_cdf(
            low in -30.0..30.0, length in -3.0..1.5, u in 0.0..=1.0, tiny in -300.0..0.0,
        ) {
            let mu = measure(0.0, 1.0, low, low + 10.0_f64.powf(length));
            let small = 10.0_f64.powf(tiny);
            let mut a = [u, small, 0.0, 1.0];
            mu.quantiles(&mut a);
            let (low, high) = mu.bounds();
            prop_assert!(a.iter().all(|a| (low..=high).contains(a)));
            prop_assert_eq!((a[2], a[3]), (low, high));
            // What a step from one f64 to the next is worth.
            let step = |a: f64| 4e-16 * a.abs() * phi(a) / mu.standard.whole;
            prop_assert!((mu.cdf(a[0]) - u).abs() < 1e-12 + step(a[0]));
            prop_assert!((mu.cdf(a[1]) / small - 1.0).abs() < 1e-12 + step(a[1]) / small);
        }

        #[test]
        fn bad_parameters_are_refused(
            mean in any::<f64>(), sd in any::<f64>(), low in any::<f64>(), high in any::<f64>(),
        ) {
            if let Ok(mu) = TruncatedNormal::new(mean, sd, low, high) {
                prop_assert!(mean.is_finite() && 0.0 < sd && sd.is_finite());
                prop_assert!(Bounds::new(low, high).is_ok());
                let mut a = [0.3];
                mu.quantiles(&mut a);
                prop_assert!((low..=high).contains(&a[0]));
            }
            for bad in [f64::NAN, f64::INFINITY] {
                prop_assert!(TruncatedNormal::new(bad, 1.0, 0.0, 1.0).is_err());
                prop_assert!(TruncatedNormal::new(0.0, bad, 0.0, 1.0).is_err());
                prop_assert!(TruncatedNormal::new(0.0, 1.0, 0.0, bad).is_err());
            }
        }
    }
}
