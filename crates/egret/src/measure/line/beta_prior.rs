use std::f64::consts::PI;

use crate::event::{Limits, LimitsError};
use crate::measure::{
    LineMeasure, ReferenceMeasure, Support,
    line::{
        inverse_cdf::{InverseCdf, LogConcave},
        line_part::LinePart,
        restricted,
        strata::{append_quantiles, fill_stratified},
    },
};
use crate::numeric::{EventRng, OutOfRange, bounds::Bounds};

/// A Beta(a, b) distribution, stretched to [low, high].
///
/// With x = (action − low)/(high − low) its density is proportional to x^(a − 1) (1 − x)^(b − 1): a
/// = b = 1 is uniform; a shape below 1 favours its end, a shape above 1 avoids it.
///
/// Draws are quantiles of uniform numbers, so stratified draws are as good as on
/// [`Interval`](crate::Interval). Each costs one or two continued fractions: 0.5 µs
/// for shapes of a few units, growing as their square root. The cdf has a relative error below
/// 1e-12. Quantiles lie within the interval, and are as near its ends as an `f64` can tell.
///
/// ```
/// use egret::{BetaPrior, EventRng, LineMeasure, ReferenceMeasure, Stream};
///
/// let mu = BetaPrior::new(2.0, 1.0, 0.0, 10.0)?;
/// assert!((mu.cdf(5.0) - 0.25).abs() < 1e-15);
///
/// let mut bids = Vec::new();
/// mu.sample(&(), 100, &mut EventRng::new(7, 0, Stream::World), &mut bids);
/// assert!(bids.iter().all(|bid| (0.0..=10.0).contains(bid)));
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BetaPrior {
    interval: Bounds,
    beta: Beta,
    inverse: InverseCdf,
}

impl BetaPrior {
    /// Shapes in [0.01, 10000], and low < high, finite.
    pub fn new(a: f64, b: f64, low: f64, high: f64) -> Result<Self, OutOfRange> {
        for (name, shape) in [("a", a), ("b", b)] {
            OutOfRange::unless(
                (0.01..=10_000.0).contains(&shape),
                name,
                shape,
                "[0.01, 10000]",
            )?;
        }
        let interval = Bounds::new(low, high)?;
        let beta = Beta::new(a, b);
        let logit_of_mean = libm::log(a / b);
        Ok(Self {
            interval,
            beta,
            inverse: InverseCdf::new(&beta, logit_of_mean),
        })
    }

    /// The shapes a and b.
    pub fn shapes(&self) -> (f64, f64) {
        (self.beta.a, self.beta.b)
    }

    fn quantile(&self, u: f64) -> f64 {
        let point = Point::at(self.inverse.at(&self.beta, u));
        let a = if point.x <= 0.5 {
            self.interval.low() + self.interval.width() * point.x
        } else {
            self.interval.high() - self.interval.width() * point.y
        };
        a.clamp(self.interval.low(), self.interval.high())
    }
}

impl<X: ?Sized> ReferenceMeasure<X, f64> for BetaPrior {
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
            LinePart::new(self.clone(), low, high)
        })
    }
}

impl LineMeasure for BetaPrior {
    fn bounds(&self) -> (f64, f64) {
        (self.interval.low(), self.interval.high())
    }

    fn cdf(&self, a: f64) -> f64 {
        let x = (a - self.interval.low()) / self.interval.width();
        let y = (self.interval.high() - a) / self.interval.width();
        if x <= 0.0 {
            0.0
        } else if y <= 0.0 {
            1.0
        } else {
            self.beta.tails(&Point::new(x, y)).0.clamp(0.0, 1.0)
        }
    }

    fn quantiles(&self, u: &mut [f64]) {
        for value in u {
            *value = self.quantile(*value);
        }
    }
}

/// x and y = 1 − x, with their logarithms, none of them by a subtraction that cancels.
#[derive(Debug, Clone, Copy)]
struct Point {
    x: f64,
    y: f64,
    log_x: f64,
    log_y: f64,
}

impl Point {
    fn new(x: f64, y: f64) -> Self {
        let (log_x, log_y) = if x <= y {
            (libm::log(x), libm::log1p(-x))
        } else {
            (libm::log1p(-y), libm::log(y))
        };
        Self { x, y, log_x, log_y }
    }

    /// The point with log(x / y) = t.
    fn at(t: f64) -> Self {
        let odds = libm::exp(-t.abs());
        let (small, large) = (odds / (1.0 + odds), 1.0 / (1.0 + odds));
        let log_large = -libm::log1p(odds);
        let log_small = log_large - t.abs();
        if t <= 0.0 {
            Self {
                x: small,
                y: large,
                log_x: log_small,
                log_y: log_large,
            }
        } else {
            Self {
                x: large,
                y: small,
                log_x: log_large,
                log_y: log_small,
            }
        }
    }
}

/// The distribution of t = log(x / (1 − x)): log-concave for all shapes, where that of x is not.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Beta {
    a: f64,
    b: f64,
    /// What log (x^a y^b / B(a, b)) has besides its dependence on x.
    constant: f64,
}

/// From here on Stirling's series is exact enough.
const LARGE: f64 = 10.0;

impl Beta {
    fn new(a: f64, b: f64) -> Self {
        let (small, large) = (a.min(b), a.max(b));
        let sum = a + b;
        let constant = if LARGE <= small {
            let scale = 0.5 * libm::log(a / (2.0 * PI) * (b / sum));
            scale - (stirling(a) + stirling(b) - stirling(sum))
        } else if LARGE <= large {
            // Γ(large)/Γ(sum) by Stirling's series: two large logarithms would cancel.
            let ratio = stirling(large) - stirling(sum) + small
                - (large - 0.5) * libm::log1p(small / large)
                - small * libm::log(sum);
            -(libm::lgamma(small) + ratio)
        } else {
            -(libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(sum))
        };
        Self { a, b, constant }
    }

    /// x^a y^b / B(a, b): the density of t.
    fn front(&self, point: &Point) -> f64 {
        let Self { a, b, constant } = *self;
        let powers = if LARGE <= a.min(b) {
            // (x / mean)^a (y / (1 − mean))^b
            let gap = point.x * b - point.y * a;
            log_of_ratio(a, gap, point.log_x, a + b) + log_of_ratio(b, -gap, point.log_y, a + b)
        } else {
            a * point.log_x + b * point.log_y
        };
        libm::exp(powers + constant)
    }

    /// I_x(a, b) and 1 − I_x(a, b), the smaller without cancellation.
    fn tails(&self, point: &Point) -> (f64, f64) {
        let Self { a, b, .. } = *self;
        let front = self.front(point);
        if point.x * (a + b + 2.0) <= a + 1.0 {
            let below = front * continued_fraction(a, b, point.x) / a;
            (below, 1.0 - below)
        } else {
            let above = front * continued_fraction(b, a, point.y) / b;
            (1.0 - above, above)
        }
    }
}

impl LogConcave for Beta {
    /// At the ends x, or 1 − x, is too small for an `f64`.
    fn domain(&self) -> (f64, f64) {
        (-746.0, 746.0)
    }

    fn below(&self, t: f64) -> f64 {
        self.tails(&Point::at(t)).0
    }

    fn above(&self, t: f64) -> f64 {
        self.tails(&Point::at(t)).1
    }

    fn density(&self, t: f64) -> f64 {
        self.front(&Point::at(t))
    }
}

/// shape · log (x · sum / shape), where x · sum = shape + gap.
fn log_of_ratio(shape: f64, gap: f64, log_x: f64, sum: f64) -> f64 {
    let relative = gap / shape;
    if relative.abs() < 0.5 {
        shape * libm::log1p(relative)
    } else {
        shape * (log_x + libm::log(sum / shape))
    }
}

/// log Γ(z) − (z − ½) log z + z − ½ log 2π, for z ≥ 10.
fn stirling(z: f64) -> f64 {
    let w = 1.0 / (z * z);
    let series = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1_260.0,
        -1.0 / 1_680.0,
        1.0 / 1_188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
    ];
    series.iter().rev().fold(0.0, |sum, term| sum * w + term) / z
}

/// a B(a, b) I_x(a, b) / (x^a (1 − x)^b), for x up to about the mean, in about √(a + b) steps of
/// Lentz's method.
fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    // Keeps a denominator from being zero.
    let nonzero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..MAX_TERMS {
        let m = m as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / nonzero(1.0 + even * d);
        c = nonzero(1.0 + even / c);
        fraction *= c * d;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / nonzero(1.0 + odd * d);
        c = nonzero(1.0 + odd / c);
        let factor = c * d;
        fraction *= factor;
        if (factor - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    fraction
}

/// Far beyond what shapes of 10,000 need.
const MAX_TERMS: usize = 10_000;

#[cfg(test)]
mod tests {
    use egret_testkit::kolmogorov_smirnov_p_value;
    use proptest::prelude::*;
    use statrs::distribution::ContinuousCDF;

    use super::*;
    use crate::measure::checks::{check_replay, check_split, check_stratified, sampled};

    fn measure(a: f64, b: f64) -> BetaPrior {
        BetaPrior::new(a, b, 0.0, 1.0).expect("positive shapes")
    }

    #[test]
    fn the_cdf_is_right_to_twelve_digits() {
        // (a, b, x, I_x(a, b)), computed with 60 digits.
        for (a, b, x, expected) in [
            (2.0, 3.0, 0.25, 0.261_718_75),
            (0.5, 0.5, 0.125, 0.230_053_456_162_615_9),
            (0.01, 0.02, 2.0_f64.powi(-300), 0.083_360_166_268_967_3),
            (0.01, 5.0, 0.5, 0.999_889_784_288_554_2),
            (10.0, 10.0, 0.5 + 2.0_f64.powi(-10), 0.503_441_309_289_163_6),
            (12.0, 700.0, 0.015_625, 0.433_888_577_666_112_4),
            (9.5, 5e3, 0.001_953_125, 0.578_954_048_208_868_2),
            (1e3, 1e3, 0.531_25, 0.997_424_778_446_412_5),
            (1e4, 1e4, 0.503_906_25, 0.865_389_306_795_79),
            (1e4, 1e4, 0.468_75, 4.480_127_750_485_855e-19),
            (1e4, 0.5, 1.0 - 2.0_f64.powi(-13), 0.118_163_618_411_511_6),
            (1e4, 10.0, 1.0 - 2.0_f64.powi(-10), 0.486_403_075_912_805_4),
            (30.0, 70.0, 0.125, 2.405_253_834_871_803_8e-6),
            (0.3, 40.0, 2.0_f64.powi(-20), 0.052_513_639_780_873_09),
        ] {
            let cdf = measure(a, b).cdf(x);
            assert!(
                (cdf / expected - 1.0).abs() < 1e-12,
                "{a} {b}: {cdf}, {expected}"
            );
        }
    }

    #[test]
    fn closed_forms_hold() {
        for i in 1..200 {
            let x = f64::from(i) / 200.0;
            for shape in [0.01, 0.3, 1.0, 2.0, 9.5, 10.5, 300.0] {
                let close = |found: f64, expected: f64| {
                    assert!((found - expected).abs() <= 1e-12 * expected, "{shape} {x}");
                };
                close(measure(shape, 1.0).cdf(x), x.powf(shape));
                let below = -libm::expm1(shape * libm::log1p(-x));
                close(measure(1.0, shape).cdf(x), below);
            }
            let arcsine = 2.0 / PI * x.sqrt().asin();
            assert!((measure(0.5, 0.5).cdf(x) - arcsine).abs() < 1e-14);
        }
    }

    #[test]
    fn draws_have_the_distribution() {
        for (a, b) in [
            (1.0, 1.0),
            (2.0, 5.0),
            (0.5, 0.3),
            (30.0, 4.0),
            (2_000.0, 3_000.0),
        ] {
            let mu = BetaPrior::new(a, b, -1.0, 3.0).expect("positive shapes");
            let beta = statrs::distribution::Beta::new(a, b).expect("positive shapes");
            let mut draws = sampled(&mu, 20_000, 1);
            // False alarm: one in a million each. Power: a cdf to the power 1.1 is seen.
            let p_value = |draws: &mut Vec<f64>, power| {
                kolmogorov_smirnov_p_value(draws, |action| {
                    beta.cdf((action + 1.0) / 4.0).powf(power)
                })
            };
            assert!(1e-6 < p_value(&mut draws, 1.0));
            assert!(p_value(&mut draws, 1.1) < 1e-6);
        }
    }

    #[test]
    fn strata_are_unbiased_and_vary_less() {
        let mu = measure(2.0, 3.0);
        check_stratified(&mu, |x| x, 0.4, 0.02);
        check_stratified(&mu, |x| x * x, 0.2, 0.03);
        check_stratified(&mu, |x| f64::from(u8::from(x < 0.25)), 0.261_718_75, 0.2);
    }

    #[test]
    fn draws_replay() {
        check_replay(&measure(2.0, 3.0));
        check_split(&measure(2.0, 3.0));
    }

    #[test]
    fn bad_shapes_are_named() {
        assert_eq!(
            BetaPrior::new(1.0, 0.0, 0.0, 1.0)
                .expect_err("zero")
                .to_string(),
            "b is 0, expected a number in [0.01, 10000]"
        );
        assert!(BetaPrior::new(1.0, 1.0, 1.0, 0.0).is_err());
    }

    proptest! {
        #[test]
        fn quantiles_invert_the_cdf(
            log_a in -2.0..4.0, log_b in -2.0..4.0, u in 0.0..=1.0, tiny in -100.0..0.0,
        ) {
            let mu = measure(10.0_f64.powf(log_a), 10.0_f64.powf(log_b));
            let small = 10.0_f64.powf(tiny);
            for (u, accuracy) in [(u, 1e-12), (small, 1e-12 * small)] {
                let mut x = [u];
                mu.quantiles(&mut x);
                prop_assert!((0.0..=1.0).contains(&x[0]));
                // No f64 is nearer: the cdf crosses u between its neighbours.
                let near = |x: f64| mu.cdf(x.next_down().next_down()) - accuracy <= u
                    && u <= mu.cdf(x.next_up().next_up()) + accuracy;
                prop_assert!(near(x[0]), "{} {}", x[0], u);
            }
            let mut ends = [0.0, 1.0];
            mu.quantiles(&mut ends);
            prop_assert_eq!(ends, [0.0, 1.0]);
        }

        #[test]
        fn bad_parameters_are_refused(
            a in any::<f64>(), b in any::<f64>(), low in any::<f64>(), high in any::<f64>(),
        ) {
            let shape = |a: f64| (0.01..=1e4).contains(&a);
            let interval = Bounds::new(low, high).is_ok();
            prop_assert_eq!(BetaPrior::new(a, b, 0.0, 1.0).is_ok(), shape(a) && shape(b));
            prop_assert_eq!(BetaPrior::new(1.0, 2.0, low, high).is_ok(), interval);
        }
    }
}
