use crate::chart::{ChartError, error::finite};
use crate::drawing::font::{self, Weight};
use crate::numerals::thousands;

/// An axis of a chart: what it counts, how, and from where to where.
///
/// ```
/// use egret_report::Axis;
///
/// let axis = Axis::log("decisions").within(1.0, 80_000.0);
/// assert_eq!(axis.range, Some((1.0, 80_000.0)));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Axis {
    /// What it counts, with the unit.
    pub label: String,
    /// How it counts.
    pub scale: Scale,
    /// Its ends; without them, the numbers decide. What lies beyond is cut off, and the cut is marked.
    pub range: Option<(f64, f64)>,
}

/// How an axis counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Equal steps are equally long.
    #[default]
    Linear,
    /// Equal steps are equally long, and only whole numbers have marks.
    Whole,
    /// Equal factors are equally long.
    Log,
}

impl Axis {
    /// In equal steps.
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Linear,
            range: None,
        }
    }

    /// In equal steps, of what comes in whole numbers.
    pub fn whole(label: impl Into<String>) -> Self {
        Self {
            scale: Scale::Whole,
            ..Self::linear(label)
        }
    }

    /// In equal factors.
    pub fn log(label: impl Into<String>) -> Self {
        Self {
            scale: Scale::Log,
            ..Self::linear(label)
        }
    }

    /// From `low` to `high`, whatever the numbers.
    #[must_use]
    pub fn within(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    /// An error where a number has no place on it.
    pub(crate) fn check(&self, place: impl Fn() -> String, value: f64) -> Result<(), ChartError> {
        finite(&place, value)?;
        if self.scale == Scale::Log && !(0.0 < value) {
            let place = place();
            return Err(ChartError::NotPositive { place, value });
        }
        Ok(())
    }

    /// From the least to the most of `values`, with `margin` of the length at each end, unless the range is given.
    /// The values have been checked.
    pub(crate) fn span(
        &self,
        values: impl IntoIterator<Item = f64>,
        margin: f64,
    ) -> Result<Span, ChartError> {
        let scale = self.scale;
        if let Some((low, high)) = self.range {
            let place = || format!("the range of the axis \"{}\"", self.label);
            self.check(place, low)?;
            self.check(place, high)?;
            return if low < high {
                Ok(Span::new(scale, scale.of(low), scale.of(high)))
            } else {
                let place = place();
                Err(ChartError::OutOfOrder { place, low, high })
            };
        }
        let values = values.into_iter();
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(scale.of(value)), high.max(scale.of(value)))
        });
        let room = if low < high {
            margin * (high - low)
        } else if scale != Scale::Log && low != 0.0 {
            0.1 * low.abs()
        } else {
            0.5
        };
        Ok(Span::new(scale, low - room, high + room))
    }
}

impl Scale {
    fn of(self, value: f64) -> f64 {
        match self {
            Self::Linear | Self::Whole => value,
            Self::Log => libm::log10(value),
        }
    }
}

/// What an axis covers, as its scale counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    scale: Scale,
    low: f64,
    high: f64,
}

/// A mark on an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    /// From 0 at the low end to 1 at the high one.
    pub at: f64,
    /// The number.
    pub label: String,
}

impl Span {
    fn new(scale: Scale, low: f64, high: f64) -> Self {
        Self { scale, low, high }
    }

    /// From 0 at the low end to 1 at the high one; what lies beyond is below 0 or above 1.
    pub(crate) fn share(&self, value: f64) -> f64 {
        (self.scale.of(value) - self.low) / (self.high - self.low)
    }

    /// Marks whose labels, one beside the other, leave room between them on a length.
    pub(crate) fn ticks_across(&self, length: f64, size: f64) -> Vec<Tick> {
        self.ticks(length / 70.0, |ticks| {
            ticks.windows(2).all(|pair| {
                let wide = |tick: &Tick| 0.5 * font::width(&tick.label, size, Weight::Regular);
                let gap = length * (pair[1].at - pair[0].at) - wide(&pair[0]) - wide(&pair[1]);
                1.2 * size <= gap
            })
        })
    }

    /// Marks whose labels, one above the other, leave room between them on a length.
    pub(crate) fn ticks_up(&self, length: f64, size: f64) -> Vec<Tick> {
        self.ticks(length / 42.0, |ticks| {
            ticks
                .windows(2)
                .all(|pair| 1.8 * size <= length * (pair[1].at - pair[0].at))
        })
    }

    fn ticks(&self, most: f64, fit: impl Fn(&[Tick]) -> bool) -> Vec<Tick> {
        let most = (most as usize).clamp(3, 12);
        let choices = match self.scale {
            Scale::Linear => linear(self.low, self.high, most),
            Scale::Whole => {
                let rough = (self.high - self.low) / most as f64;
                multiples(self.low, self.high, rough.max(1.0))
            }
            Scale::Log => logarithmic(self.low, self.high, most),
        };
        let mut last = Vec::new();
        for values in choices {
            let ticks: Vec<Tick> = values
                .into_iter()
                .map(|(value, label)| Tick {
                    at: self.share(value),
                    label,
                })
                .filter(|tick| (-1e-9..=1.0 + 1e-9).contains(&tick.at))
                .collect();
            if fit(&ticks) {
                return ticks;
            }
            last = ticks;
        }
        last.truncate(1);
        last
    }
}

/// Values with their labels.
type Marks = Vec<(f64, String)>;

/// Round numbers, at first some `most` of them, then fewer; a few more than that where there would be only one.
fn linear(low: f64, high: f64, most: usize) -> Vec<Marks> {
    let rough = (high - low) / most as f64;
    let mut choices = multiples(low, high, rough);
    choices.retain(|marks| 2 <= marks.len());
    if choices.is_empty() {
        choices = multiples(low, high, 0.4 * rough);
    }
    choices
}

/// The multiples of each round step from `least` on.
fn multiples(low: f64, high: f64, least: f64) -> Vec<Marks> {
    let exponent = libm::floor(libm::log10(least)) as i32;
    let steps = [
        (1, 0),
        (2, 0),
        (5, 0),
        (1, 1),
        (2, 1),
        (5, 1),
        (1, 2),
        (2, 2),
    ];
    steps
        .into_iter()
        .map(|(digit, more)| (digit, exponent + more))
        .filter(|&(digit, exponent)| least <= decimal(digit, exponent) * (1.0 + 1e-9))
        .map(|(digit, exponent)| {
            let step = decimal(digit, exponent);
            let first = libm::ceil(low / step - 1e-9) as i64;
            let last = libm::floor(high / step + 1e-9) as i64;
            (first..=last)
                .map(|place| {
                    let value = decimal(place * digit, exponent);
                    (value, labelled(value, exponent))
                })
                .collect()
        })
        .collect()
}

/// Powers of ten with what lies between, or alone, or every second, third, and so on.
fn logarithmic(low: f64, high: f64, most: usize) -> Vec<Marks> {
    let (first, last) = (libm::floor(low) as i32, libm::ceil(high) as i32);
    let powers = |digits: &[i64], every: usize| -> Marks {
        (first..=last)
            .filter(|power| power.rem_euclid(every as i32) == 0)
            .flat_map(|power| {
                digits
                    .iter()
                    .map(move |&digit| (decimal(digit, power), power_label(digit, power)))
            })
            .filter(|(value, _)| (low - 1e-9..=high + 1e-9).contains(&libm::log10(*value)))
            .collect()
    };
    let mut choices = Vec::new();
    // On less than a decade, round numbers tell more than powers.
    if high - low < 1.0 {
        choices.extend(linear(libm::pow(10.0, low), libm::pow(10.0, high), most));
    }
    choices.push(powers(&[1, 2, 5], 1));
    choices.push(powers(&[1, 3], 1));
    for every in 1..=(last - first).max(1) as usize {
        choices.push(powers(&[1], every));
    }
    choices.retain(|marks| 2 <= marks.len() && marks.len() <= most + most / 2);
    choices
}

/// digits · 10^exponent, rounded once.
fn decimal(digits: i64, exponent: i32) -> f64 {
    format!("{digits}e{exponent}")
        .parse()
        .expect("digits and an exponent are a number")
}

/// A number that is a multiple of 10^exponent.
fn labelled(value: f64, exponent: i32) -> String {
    if value != 0.0 && (!(-6..7).contains(&exponent) || 1e9 <= value.abs()) {
        return signed(&format!("{value:e}"));
    }
    if !(-6..0).contains(&exponent) {
        let digits = thousands(value.abs());
        return if value < 0.0 {
            format!("−{digits}")
        } else {
            digits
        };
    }
    signed(&format!("{value:.*}", exponent.unsigned_abs() as usize))
}

/// digit · 10^power, written out where that is short.
fn power_label(digit: i64, power: i32) -> String {
    if (-4..7).contains(&power) {
        return labelled(decimal(digit, power), power);
    }
    signed(&format!("{digit}e{power}"))
}

/// With a minus as wide as a plus.
fn signed(text: &str) -> String {
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64], length: f64) -> Vec<String> {
        let span = axis.span(values.iter().copied(), 0.0).expect("a range");
        let ticks = span.ticks_across(length, 12.0);
        ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        let axis = Axis::linear("");
        assert_eq!(
            labels(&axis, &[-0.021, 0.043], 400.0),
            ["−0.02", "0.00", "0.02", "0.04"]
        );
        assert_eq!(
            labels(&axis, &[0.0, 80_000.0], 400.0),
            ["0", "20,000", "40,000", "60,000", "80,000"]
        );
        assert_eq!(labels(&axis, &[-3e-9, 3e-9], 200.0), ["−2e−9", "0", "2e−9"]);
    }

    #[test]
    fn what_is_counted_has_no_mark_between_whole_numbers() {
        let axis = Axis::whole("epoch");
        assert_eq!(labels(&axis, &[1.0, 4.0], 700.0), ["1", "2", "3", "4"]);
        assert_eq!(labels(&axis, &[1.0], 700.0), ["1"]);
        let fractions = labels(&Axis::linear("epoch"), &[1.0, 4.0], 700.0);
        assert_eq!(fractions[1], "1.5");
        assert_eq!(
            labels(&axis, &[0.0, 400.0], 300.0),
            labels(&Axis::linear(""), &[0.0, 400.0], 300.0)
        );
    }

    #[test]
    fn powers_of_ten_are_thinned_until_they_fit() {
        let axis = Axis::log("");
        assert_eq!(
            labels(&axis, &[1.0, 100.0], 600.0),
            ["1", "2", "5", "10", "20", "50", "100"]
        );
        assert_eq!(
            labels(&axis, &[1.0, 1e6], 300.0),
            ["1", "100", "10,000", "1,000,000"]
        );
        assert_eq!(
            labels(&axis, &[1e-30, 1.0], 300.0)
                .last()
                .map(String::as_str),
            Some("1")
        );
        assert_eq!(
            labels(&axis, &[1e-9, 1e-7], 200.0),
            ["1e−9", "1e−8", "1e−7"]
        );
        assert!(3 <= labels(&axis, &[22.0, 31.0], 400.0).len());
    }

    #[test]
    fn labels_never_overlap_and_there_is_always_one() {
        for scale in [Axis::linear(""), Axis::log("")] {
            for (low, high) in [
                (1e-7, 1e-6),
                (0.5, 0.500_01),
                (3.0, 4e8),
                (7.0, 7.0),
                (1e-300, 1e300),
            ] {
                for length in [120.0, 300.0, 700.0] {
                    let span = scale.span([low, high], 0.04).expect("a range");
                    let ticks = span.ticks_across(length, 12.0);
                    assert!(!ticks.is_empty(), "{scale:?} {low} {high} {length}");
                    for pair in ticks.windows(2) {
                        let gap = length * (pair[1].at - pair[0].at);
                        let wide = |tick: &Tick| font::width(&tick.label, 12.0, Weight::Regular);
                        assert!(0.5 * (wide(&pair[0]) + wide(&pair[1])) < gap);
                    }
                }
            }
        }
    }

    #[test]
    fn a_range_that_cannot_be_is_refused() {
        assert!(Axis::linear("").within(1.0, 1.0).span([1.0], 0.0).is_err());
        let refused = |axis: Axis| axis.span([1.0], 0.0).expect_err("refused").to_string();
        assert!(
            refused(Axis::linear("loss").within(2.0, 1.0))
                .contains("the axis \"loss\": 2 has to be below 1")
        );
        assert!(refused(Axis::linear("loss").within(f64::NAN, 1.0)).contains("NaN"));
        assert!(refused(Axis::log("loss").within(0.0, 1.0)).contains("logarithmic"));
    }
}
