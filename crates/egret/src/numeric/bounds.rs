use crate::numeric::OutOfRange;

/// [low, high]: finite ends with low < high, and a width whose inverse is a normal number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bounds {
    low: f64,
    high: f64,
    width: f64,
}

impl Bounds {
    /// Refuses NaN, infinities, empty and reversed intervals, and widths whose inverse is not a normal number.
    pub(crate) fn new(low: f64, high: f64) -> Result<Self, OutOfRange> {
        OutOfRange::unless(low.is_finite(), "low", low, "(-inf, inf)")?;
        OutOfRange::unless(low < high && high.is_finite(), "high", high, "(low, inf)")?;
        let width = high - low;
        let normal = f64::MIN_POSITIVE..=1.0 / f64::MIN_POSITIVE;
        let expected = "[2^-1022, 2^1022]";
        OutOfRange::unless(normal.contains(&width), "high - low", width, expected)?;
        Ok(Self { low, high, width })
    }

    pub(crate) fn low(&self) -> f64 {
        self.low
    }

    pub(crate) fn high(&self) -> f64 {
        self.high
    }

    pub(crate) fn width(&self) -> f64 {
        self.width
    }

    /// low + u · width for u ∈ [0, 1], never outside the interval despite rounding.
    #[inline(always)]
    pub(crate) fn at(&self, u: f64) -> f64 {
        (self.low + self.width * u).min(self.high)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_accepted_is_an_interval(
            low in any::<f64>(), high in any::<f64>(), u in 0.0..=1.0,
        ) {
            match Bounds::new(low, high) {
                Ok(bounds) => {
                    prop_assert!(low < high && bounds.width().is_normal());
                    prop_assert!((low..=high).contains(&bounds.at(u)));
                }
                Err(_) => {
                    let width = high - low;
                    let normal = width.is_normal() && 0.0 < width;
                    prop_assert!(!(normal && width <= 1.0 / f64::MIN_POSITIVE));
                }
            }
        }
    }

    #[test]
    fn rounding_stays_inside() {
        // high - low rounds up here, so that low + (high - low) is beyond high.
        let (low, high) = (-1.0, 0.1 + f64::EPSILON / 8.0);
        let bounds = Bounds::new(low, high).expect("in order");
        assert!(bounds.at(1.0) <= high);
    }

    #[test]
    fn errors_name_the_end() {
        let message = |low, high| Bounds::new(low, high).expect_err("refused").to_string();
        assert_eq!(
            message(f64::NAN, 1.0),
            "low is NaN, expected a number in (-inf, inf)"
        );
        assert_eq!(
            message(1.0, 1.0),
            "high is 1, expected a number in (low, inf)"
        );
        assert_eq!(
            message(f64::MIN, f64::MAX),
            "high - low is inf, expected a number in [2^-1022, 2^1022]"
        );
    }
}
