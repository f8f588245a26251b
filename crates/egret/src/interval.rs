use crate::{Extent, OutOfRange};

/// [low, high] with low < high and a finite length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    low: f64,
    high: f64,
    width: f64,
}

impl Interval {
    /// Refuses NaN, infinities, empty and reversed intervals, and lengths beyond the largest `f64`.
    pub(crate) fn new(low: f64, high: f64) -> Result<Self, OutOfRange> {
        OutOfRange::unless(low.is_finite(), "low", low, "(-inf, inf)")?;
        OutOfRange::unless(
            low < high && high.is_finite(),
            "high",
            high,
            "(low, inf), low left out",
        )?;
        let width = high - low;
        OutOfRange::unless(width.is_finite(), "high - low", width, "(0, inf)")?;
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

    /// The point a fraction `u` ∈ [0, 1] of the way; rounding never carries it out of the interval.
    #[inline(always)]
    pub(crate) fn at(&self, u: f64) -> f64 {
        (self.low + self.width * u).min(self.high)
    }
}

/// The volume, or `Unknown` where it is too large or too small for an `f64`.
pub(crate) fn extent_of(volume: f64) -> Extent {
    if 0.0 < volume && volume.is_finite() {
        Extent::Volume(volume)
    } else {
        Extent::Unknown
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
            match Interval::new(low, high) {
                Ok(interval) => {
                    prop_assert!(low < high && interval.width().is_finite());
                    prop_assert!((low..=high).contains(&interval.at(u)));
                }
                Err(_) => prop_assert!(!(low < high && (high - low).is_finite())),
            }
        }
    }

    #[test]
    fn rounding_stays_inside() {
        // high - low rounds up here, so that low + (high - low) is beyond high.
        let (low, high) = (-1.0, 0.1 + f64::EPSILON / 8.0);
        let interval = Interval::new(low, high).expect("in order");
        assert!(interval.at(1.0) <= high);
    }

    #[test]
    fn errors_name_the_end() {
        let message = |low, high| Interval::new(low, high).expect_err("refused").to_string();
        assert_eq!(
            message(f64::NAN, 1.0),
            "low is NaN, expected a number in (-inf, inf)"
        );
        assert_eq!(
            message(1.0, 1.0),
            "high is 1, expected a number in (low, inf), low left out"
        );
        assert_eq!(
            message(f64::MIN, f64::MAX),
            "high - low is inf, expected a number in (0, inf)"
        );
    }
}
