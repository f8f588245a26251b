use crate::event::{Limits, LimitsError};
use crate::measure::{
    LineMeasure, ReferenceMeasure, Support,
    line::strata::{append_quantiles, fill_stratified},
};
use crate::numeric::{EventRng, OutOfRange};

/// `low`, `low + step`, and so on to `high`, each as probable as the next: prices in cents, whole numbers of retries.
///
/// μ has a point mass at each step. The density of a step is its probability times the number of steps, and so the
/// probability of an action is its density over [`count`](Self::count).
///
/// A draw is a uniform number of [0, 1], of which each step has an equal part: quantiles, strata and exact sums over
/// thousands of steps work as on an interval. Steps of a tenth are the numbers that are written so: 5.3, not
/// 5.300000000000001.
///
/// ```
/// use egret::{LineMeasure, Steps};
///
/// let prices = Steps::new(5.0, 50.0, 0.1)?;
/// assert_eq!(prices.count(), 451);
/// assert_eq!(prices.value(3), 5.3);
/// assert_eq!(prices.index(5.3), Some(3));
/// assert_eq!(prices.index(5.35), None);
/// assert_eq!(prices.cdf(5.3), 3.0 / 451.0); // three steps are below
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steps {
    low: f64,
    high: f64,
    step: f64,
    count: u32,
    scale: Scale,
}

/// The k-th step is (first + k · stride)/over. Whole numbers over a power of ten are rounded once, to what is written.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Scale {
    first: f64,
    stride: f64,
    over: f64,
}

/// How far from a step, in steps, a number may be: a tenth is no binary fraction.
const ROUNDING: f64 = 1e-6;

/// Beyond so many an interval is meant, and rounding could not tell a step from the next.
const MOST: f64 = 1e9;

impl Steps {
    /// `high` is a whole number of steps above `low`, at most 10⁹; one step, or none, is allowed.
    pub fn new(low: f64, high: f64, step: f64) -> Result<Self, OutOfRange> {
        OutOfRange::unless(low.is_finite(), "low", low, "(-inf, inf)")?;
        OutOfRange::unless(high.is_finite(), "high", high, "(-inf, inf)")?;
        OutOfRange::unless(0.0 < step && step.is_finite(), "step", step, "(0, inf)")?;
        let steps = (high - low) / step;
        OutOfRange::unless(
            (0.0..=MOST).contains(&steps) && is_whole(steps),
            "high - low, in steps",
            steps,
            "{0, 1, 2, …, 10^9}",
        )?;
        let largest = low.abs().max(high.abs());
        OutOfRange::unless(
            largest - largest.next_down() <= ROUNDING * step,
            "step",
            step,
            "a million times the distance between neighbouring numbers, or more",
        )?;
        Ok(Self {
            low,
            high,
            step,
            count: steps.round() as u32 + 1,
            scale: Scale::new(low, step),
        })
    }

    /// One number.
    pub(crate) fn single(value: f64) -> Self {
        Self {
            low: value,
            high: value,
            step: 1.0,
            count: 1,
            scale: Scale {
                first: value,
                stride: 0.0,
                over: 1.0,
            },
        }
    }

    /// Those from `low` to `high`, both within the ends; none if there are none.
    pub(crate) fn between(&self, low: f64, high: f64) -> Option<Self> {
        let (first, last) = (self.place(low), self.place(high));
        let end = f64::from(self.count - 1);
        if !(-ROUNDING <= first && first <= last && last <= end + ROUNDING) {
            return None;
        }
        let first = (first - ROUNDING).ceil().max(0.0);
        let last = (last + ROUNDING).floor().min(end);
        (first <= last).then(|| Self {
            low: self.value(first as u32),
            high: self.value(last as u32),
            count: (last - first) as u32 + 1,
            scale: Scale {
                first: self.scale.first + first * self.scale.stride,
                ..self.scale
            },
            ..*self
        })
    }

    /// From one step to the next.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// How many steps there are, at least 1.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The step of this index, from 0.
    pub fn value(&self, index: u32) -> f64 {
        let Scale {
            first,
            stride,
            over,
        } = self.scale;
        (first + f64::from(index) * stride) / over
    }

    /// The index of a step, none for another number. Within a millionth of a step a number is that step.
    pub fn index(&self, a: f64) -> Option<u32> {
        let place = self.place(a);
        let inside = is_whole(place) && (0.0..f64::from(self.count)).contains(&place.round());
        inside.then_some(place.round() as u32)
    }

    /// The quantile that an oracle sees for an action: the middle of those that are this step.
    pub(crate) fn middle(&self, a: f64) -> f64 {
        let last = f64::from(self.count - 1);
        self.middle_of(self.place(a).round().clamp(0.0, last))
    }

    fn middle_of(&self, index: f64) -> f64 {
        (index + 0.5) / f64::from(self.count)
    }

    /// The first step whose middle is at least this quantile; one beyond the last if there is none.
    pub(crate) fn first_from(&self, quantile: f64) -> f64 {
        let count = f64::from(self.count);
        // The product is rounded, by less than a step.
        let mut index = ((quantile * count).floor() - 1.0).clamp(0.0, count);
        while index < count && self.middle_of(index) < quantile {
            index += 1.0;
        }
        self.value(index as u32)
    }

    /// How many steps `a` is above the least.
    fn place(&self, a: f64) -> f64 {
        (a - self.low) / self.step
    }
}

fn is_whole(steps: f64) -> bool {
    (steps - steps.round()).abs() <= ROUNDING
}

impl Scale {
    fn new(low: f64, step: f64) -> Self {
        let decimals = (0..=9).map(|digits| 10.0_f64.powi(digits));
        for over in decimals {
            let (first, stride) = ((low * over).round(), (step * over).round());
            let exact = first / over == low && stride / over == step;
            if exact && first.abs().max(MOST * stride) < 9e15 {
                return Self {
                    first,
                    stride,
                    over,
                };
            }
        }
        Self {
            first: low,
            stride: step,
            over: 1.0,
        }
    }
}

impl<X: ?Sized> ReferenceMeasure<X, f64> for Steps {
    fn sample(&self, _: &X, n: usize, rng: &mut EventRng, out: &mut Vec<f64>) {
        append_quantiles(self, n, out, |units| rng.fill_unit(units));
    }

    fn sample_stratified(&self, _: &X, n: usize, rng: &mut EventRng, out: &mut Vec<f64>) {
        append_quantiles(self, n, out, |units| fill_stratified(rng, units));
    }

    fn support(&self) -> Support {
        Support::Count(u64::from(self.count))
    }

    fn as_line(&self) -> Option<&dyn LineMeasure> {
        Some(self)
    }

    fn within(&self, limits: &Limits) -> Result<Box<dyn ReferenceMeasure<X, f64>>, LimitsError> {
        let part = match *limits {
            Limits::Interval { low, high } => self.between(low, high),
            _ => None,
        };
        match part {
            Some(part) => Ok(Box::new(part)),
            None => Err(LimitsError::outside(
                limits,
                format!(
                    "the steps of {} from {} to {}",
                    self.step, self.low, self.high
                ),
            )),
        }
    }
}

impl LineMeasure for Steps {
    fn bounds(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    fn cdf(&self, a: f64) -> f64 {
        let count = f64::from(self.count);
        (self.place(a) - ROUNDING).ceil().clamp(0.0, count) / count
    }

    fn quantiles(&self, u: &mut [f64]) {
        for value in u {
            let index = (*value * f64::from(self.count)) as u32;
            *value = self.value(index.min(self.count - 1));
        }
    }

    fn steps(&self) -> Option<&Steps> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use egret_testkit::chi_square_p_value;
    use proptest::prelude::*;

    use super::*;
    use crate::measure::checks::{
        check_replay, check_split, check_stratified, sampled, stratified,
    };

    fn steps(low: f64, high: f64, step: f64) -> Steps {
        Steps::new(low, high, step).expect("whole steps")
    }

    fn counts(mu: &Steps, draws: &[f64]) -> Vec<u64> {
        let mut counts = vec![0; mu.count() as usize];
        for &draw in draws {
            counts[mu.index(draw).expect("a step") as usize] += 1;
        }
        counts
    }

    #[test]
    fn steps_are_equally_frequent() {
        let mu = steps(5.0, 50.0, 0.5);
        // False alarm: one in a million each.
        let drawn = counts(&mu, &sampled(&mu, 200_000, 1));
        assert!(1e-6 < chi_square_p_value(&drawn, &[1.0 / 91.0; 91]));
        let even = counts(&mu, &stratified(&mu, 91_000, 1));
        assert!(1e-6 < chi_square_p_value(&even, &[1.0 / 91.0; 91]));
        // Power: ends of half the mass, as rounding a draw of [low, high] gives, are seen.
        let rounded: Vec<f64> = (0..91)
            .map(|k| if k % 90 == 0 { 0.5 / 90.0 } else { 1.0 / 90.0 })
            .collect();
        assert!(chi_square_p_value(&drawn, &rounded) < 1e-6);
    }

    #[test]
    fn steps_are_the_numbers_that_are_written_so() {
        for (mu, index, text) in [
            (steps(5.0, 50.0, 0.1), 3, "5.3"),
            (steps(0.0, 1.0, 0.05), 3, "0.15"),
            (steps(-1.0, 1.0, 0.01), 13, "-0.87"),
            (steps(500.0, 5_000.0, 1.0), 4_500, "5000"),
            (steps(0.1, 3.1, 0.3), 9, "2.8"),
            (steps(0.0, 2.0, 1.0 / 3.0), 1, "0.3333333333333333"),
        ] {
            assert_eq!(mu.value(index).to_string(), text);
            assert_eq!(mu.value(0), mu.bounds().0);
            assert!((mu.value(mu.count() - 1) - mu.bounds().1).abs() < 1e-12);
        }
    }

    #[test]
    fn strata_are_unbiased_and_vary_less() {
        // 10 steps in 16 parts: parts and steps do not line up.
        let mu = steps(0.0, 9.0, 1.0);
        check_stratified(&mu, |a| a, 4.5, 0.05);
        check_stratified(&mu, |a| a * a, 28.5, 0.05);
        check_stratified(&mu, |a| f64::from(u8::from(a == 3.0)), 0.1, 0.5);
    }

    #[test]
    fn draws_replay() {
        check_replay(&steps(0.0, 1e6, 1.0));
        check_split(&steps(0.0, 1e6, 1.0));
    }

    #[test]
    fn a_part_has_the_same_steps() {
        let mu = steps(5.0, 50.0, 0.1);
        let part = mu.between(5.25, 6.05).expect("eight of them");
        assert_eq!((part.bounds(), part.count()), ((5.3, 6.0), 8));
        assert!((0..8).all(|k| part.value(k) == mu.value(k + 3)));
        assert_eq!(mu.between(5.31, 5.39), None);
        assert_eq!(mu.between(4.9, 5.5), None);
        let single = Steps::single(5.3);
        assert_eq!((single.value(0), single.count()), (5.3, 1));
        assert_eq!(single.index(5.3), Some(0));
    }

    #[test]
    fn what_are_no_steps_is_refused() {
        for (low, high, step) in [
            (0.0, 1.0, 0.3),
            (1.0, 0.0, 1.0),
            (0.0, 1.0, 0.0),
            (0.0, 1.0, -0.5),
            (0.0, 1.0, f64::NAN),
            (f64::NEG_INFINITY, 1.0, 1.0),
            (0.0, 2e9, 1.0),
            (1e15, 1e15 + 1.0, 0.125),
        ] {
            assert!(Steps::new(low, high, step).is_err(), "{low} {high} {step}");
        }
        assert_eq!(steps(7.0, 7.0, 1.0).count(), 1);
        assert_eq!(steps(0.0, 1e9, 1.0).count(), 1_000_000_001);
    }

    proptest! {
        #[test]
        fn quantiles_are_steps_and_their_middles_come_back(
            low in -1e6_f64..1e6, step in 1e-3..1e3_f64, count in 1_u32..1_000_000, u in 0.0..1.0,
        ) {
            let mu = Steps::new(low, low + step * f64::from(count - 1), step);
            let Ok(mu) = mu else { return Ok(()) };
            let mut a = [u];
            mu.quantiles(&mut a);
            let index = mu.index(a[0]).expect("a step");
            prop_assert_eq!(mu.value(index), a[0]);
            let (n, k) = (f64::from(count), f64::from(index));
            prop_assert!((k / n - 1e-9..(k + 1.0) / n + 1e-9).contains(&u));
            prop_assert_eq!(mu.cdf(a[0]), k / n);
            prop_assert_eq!(mu.middle(a[0]), (k + 0.5) / n);
            let mut middle = [mu.middle(a[0])];
            mu.quantiles(&mut middle);
            prop_assert_eq!(middle, a);
            // The first from a quantile has a middle from there, and the one before has not.
            let first = mu.first_from(u);
            prop_assert!(mu.cdf(first) == 1.0 || u <= mu.middle(first));
            prop_assert!(mu.cdf(first) == 0.0 || mu.middle(first - mu.step()) < u);
        }
    }
}
