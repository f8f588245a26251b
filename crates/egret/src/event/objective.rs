use serde::{Deserialize, Serialize};

use crate::event::Loss;
use crate::numeric::OutOfRange;

/// What outcomes are: rewards to make large or losses to make small, in the user's units, within a declared range.
///
/// Inside, egret knows losses in [0, 1] only:
///
/// | objective             | loss                            |
/// |-----------------------|---------------------------------|
/// | maximize(low, high)   | (high − value) / (high − low)   |
/// | minimize(low, high)   | (value − low) / (high − low)    |
///
/// ```
/// use egret::Objective;
///
/// let revenue = Objective::maximize(0.0, 50.0)?;
/// assert_eq!(revenue.loss(20.0)?.get(), 0.6);
/// assert_eq!(revenue.value(0.6), 20.0);
/// assert!(revenue.loss(51.0).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", into = "Unchecked")]
pub struct Objective {
    direction: Direction,
    low: f64,
    high: f64,
    outside: Outside,
}

/// An outcome as it was sent, and its loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// In the units of the objective.
    pub value: f64,
    /// In [0, 1].
    pub loss: Loss,
}

/// Which outcomes are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Larger ones: they are rewards.
    Maximize,
    /// Smaller ones: they are losses.
    Minimize,
}

/// What becomes of an outcome outside the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outside {
    /// An error.
    #[default]
    Refuse,
    /// The nearest end of the range; who asks for it counts them ([`Objective::is_outside`]).
    Clip,
}

impl Objective {
    /// Losses in [0, 1] as they are.
    pub const LOSS: Self = Self {
        direction: Direction::Minimize,
        low: 0.0,
        high: 1.0,
        outside: Outside::Refuse,
    };

    /// Rewards from `low` to `high`: more is better.
    pub fn maximize(low: f64, high: f64) -> Result<Self, OutOfRange> {
        Self::new(Direction::Maximize, low, high)
    }

    /// Losses or costs from `low` to `high`: less is better.
    pub fn minimize(low: f64, high: f64) -> Result<Self, OutOfRange> {
        Self::new(Direction::Minimize, low, high)
    }

    fn new(direction: Direction, low: f64, high: f64) -> Result<Self, OutOfRange> {
        OutOfRange::unless(low.is_finite(), "low", low, "(-inf, inf)")?;
        OutOfRange::unless(high.is_finite(), "high", high, "(-inf, inf)")?;
        let width = high - low;
        let usable = 0.0 < width && width.is_finite() && (1.0 / width).is_finite();
        OutOfRange::unless(usable, "high - low", width, "(0, inf)")?;
        Ok(Self {
            direction,
            low,
            high,
            outside: Outside::Refuse,
        })
    }

    /// Outcomes outside the range count as its nearest end.
    pub fn clipped(mut self) -> Self {
        self.outside = Outside::Clip;
        self
    }

    /// Which outcomes are better.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The least outcome.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// The largest outcome.
    pub fn high(&self) -> f64 {
        self.high
    }

    /// What becomes of outcomes outside the range.
    pub fn outside(&self) -> Outside {
        self.outside
    }

    /// Whether an outcome is a number outside the range.
    pub fn is_outside(&self, value: f64) -> bool {
        value < self.low || self.high < value
    }

    /// The loss in [0, 1] of an outcome in the user's units.
    pub fn loss(&self, value: f64) -> Result<Loss, OutcomeError> {
        let inside = match self.outside {
            Outside::Clip if !value.is_nan() => value.clamp(self.low, self.high),
            _ => value,
        };
        if !(self.low <= inside && inside <= self.high) {
            let objective = *self;
            return Err(OutcomeError { value, objective });
        }
        let share = (inside - self.low) / (self.high - self.low);
        let loss = match self.direction {
            Direction::Maximize => (self.high - inside) / (self.high - self.low),
            Direction::Minimize => share,
        };
        Ok(Loss::new(loss.clamp(0.0, 1.0)).expect("clamped to [0, 1]"))
    }

    /// An outcome in the user's units, with its loss.
    pub fn outcome(&self, value: f64) -> Result<Outcome, OutcomeError> {
        let loss = self.loss(value)?;
        Ok(Outcome { value, loss })
    }

    /// The value, in the user's units, of a mean loss: of an estimate or an end of an interval, which may lie outside [0, 1].
    pub fn value(&self, loss: f64) -> f64 {
        match self.direction {
            Direction::Maximize => self.high - loss * (self.high - self.low),
            Direction::Minimize => self.low + loss * (self.high - self.low),
        }
    }

    /// The same range with its least outcome as the best. Under it the mean of outcomes as shares of the range, from `low` up,
    /// takes the place of a mean loss.
    pub fn as_shares(&self) -> Self {
        Self {
            direction: Direction::Minimize,
            ..*self
        }
    }

    /// Where in the range the outcome of a loss lies: 0 at `low`, 1 at `high`.
    pub fn share(&self, loss: f64) -> f64 {
        match self.direction {
            Direction::Maximize => 1.0 - loss,
            Direction::Minimize => loss,
        }
    }

    /// What an outcome is called: `reward` where more is better, else `loss`.
    pub fn noun(&self) -> &'static str {
        match self.direction {
            Direction::Maximize => "reward",
            Direction::Minimize => "loss",
        }
    }

    /// How many decimals show a ten-thousandth of the range: 4 for losses in [0, 1], 3 for rewards up to 50.
    pub fn decimals(&self) -> usize {
        let digits = 4.0 - (self.high - self.low).log10().floor();
        digits.clamp(0.0, 12.0) as usize
    }

    /// An interval of mean losses as one of values: ends change places where more is better.
    pub fn interval(&self, low: f64, high: f64) -> (f64, f64) {
        match self.direction {
            Direction::Maximize => (self.value(high), self.value(low)),
            Direction::Minimize => (self.value(low), self.value(high)),
        }
    }

    /// A difference of mean losses as a difference of values: positive is still "more".
    pub fn difference(&self, losses: f64) -> f64 {
        match self.direction {
            Direction::Maximize => -losses * (self.high - self.low),
            Direction::Minimize => losses * (self.high - self.low),
        }
    }
}

/// An outcome that the objective does not allow.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "the outcome {value} is outside the range of the objective {objective}: widen the range, or let the objective clip"
)]
pub struct OutcomeError {
    /// What was sent.
    pub value: f64,
    /// What was declared.
    pub objective: Objective,
}

impl Default for Objective {
    fn default() -> Self {
        Self::LOSS
    }
}

/// `maximize:0,50`, `minimize:0,1`, `maximize:0,50,clip`.
impl std::fmt::Display for Objective {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let direction = match self.direction {
            Direction::Maximize => "maximize",
            Direction::Minimize => "minimize",
        };
        write!(f, "{direction}:{},{}", self.low, self.high)?;
        match self.outside {
            Outside::Refuse => Ok(()),
            Outside::Clip => f.write_str(",clip"),
        }
    }
}

impl std::str::FromStr for Objective {
    type Err = ObjectiveTextError;

    fn from_str(text: &str) -> Result<Self, ObjectiveTextError> {
        let malformed = || ObjectiveTextError::Malformed(text.to_owned());
        let (direction, range) = text.split_once(':').ok_or_else(malformed)?;
        let parts: Vec<&str> = range.split(',').map(str::trim).collect();
        let (low, high, clip) = match parts[..] {
            [low, high] => (low, high, false),
            [low, high, "clip"] => (low, high, true),
            _ => return Err(malformed()),
        };
        let number = |text: &str| text.parse::<f64>().map_err(|_| malformed());
        let (low, high) = (number(low)?, number(high)?);
        let objective = match direction.trim() {
            "maximize" => Self::maximize(low, high)?,
            "minimize" => Self::minimize(low, high)?,
            _ => return Err(malformed()),
        };
        Ok(if clip { objective.clipped() } else { objective })
    }
}

/// Why a text is no objective.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectiveTextError {
    /// Not of the form.
    #[error(
        "{0:?} is no objective: write maximize:LOW,HIGH or minimize:LOW,HIGH, as in maximize:0,50; add ,clip to clip outcomes \
         outside the range"
    )]
    Malformed(String),
    /// The range is none.
    #[error(transparent)]
    Range(#[from] OutOfRange),
}

/// As read from a file, before it is checked.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    direction: Direction,
    low: f64,
    high: f64,
    #[serde(default)]
    outside: Outside,
}

impl TryFrom<Unchecked> for Objective {
    type Error = OutOfRange;

    fn try_from(unchecked: Unchecked) -> Result<Self, OutOfRange> {
        let Unchecked {
            direction,
            low,
            high,
            outside,
        } = unchecked;
        let objective = Self::new(direction, low, high)?;
        Ok(Self {
            outside,
            ..objective
        })
    }
}

impl From<Objective> for Unchecked {
    fn from(objective: Objective) -> Self {
        let Objective {
            direction,
            low,
            high,
            outside,
        } = objective;
        Self {
            direction,
            low,
            high,
            outside,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ends_of_the_range_are_the_best_and_the_worst() {
        let revenue = Objective::maximize(-10.0, 50.0).expect("a range");
        assert_eq!(revenue.loss(50.0).expect("inside").get(), 0.0);
        assert_eq!(revenue.loss(-10.0).expect("inside").get(), 1.0);
        let cost = Objective::minimize(-10.0, 50.0).expect("a range");
        assert_eq!(cost.loss(-10.0).expect("inside").get(), 0.0);
        assert_eq!(cost.loss(50.0).expect("inside").get(), 1.0);
    }

    #[test]
    fn losses_stay_what_they_are_to_the_bit() {
        for value in [0.0, 0.1, 1.0 / 3.0, 0.7, 1.0] {
            assert_eq!(
                Objective::LOSS.loss(value).expect("a loss").get().to_bits(),
                value.to_bits()
            );
            assert_eq!(Objective::LOSS.value(value).to_bits(), value.to_bits());
        }
    }

    #[test]
    fn outside_is_refused_or_clipped() {
        let revenue = Objective::maximize(0.0, 50.0).expect("a range");
        for bad in [-0.1, 50.1, f64::INFINITY, f64::NAN] {
            assert!(revenue.loss(bad).is_err(), "{bad}");
        }
        assert_eq!(
            revenue.loss(51.0).expect_err("outside").to_string(),
            "the outcome 51 is outside the range of the objective maximize:0,50: widen the range, or let the objective clip"
        );
        let clipped = revenue.clipped();
        assert_eq!(clipped.loss(-0.1).expect("clipped").get(), 1.0);
        assert_eq!(clipped.loss(f64::INFINITY).expect("clipped").get(), 0.0);
        assert!(clipped.loss(f64::NAN).is_err());
        assert!(clipped.is_outside(50.1) && !clipped.is_outside(50.0));
    }

    #[test]
    fn ranges_are_checked() {
        for (low, high) in [
            (1.0, 1.0),
            (1.0, 0.0),
            (f64::NAN, 1.0),
            (0.0, f64::INFINITY),
            (-1e308, 1e308),
            (0.0, 1e-310),
        ] {
            assert!(Objective::maximize(low, high).is_err(), "{low} {high}");
        }
    }

    #[test]
    fn text_and_json() {
        for text in ["maximize:0,50", "minimize:-1,2.5", "maximize:0,50,clip"] {
            let objective: Objective = text.parse().expect("an objective");
            assert_eq!(objective.to_string(), text);
            let json = serde_json::to_string(&objective).expect("JSON");
            assert_eq!(
                serde_json::from_str::<Objective>(&json).expect("its own"),
                objective
            );
        }
        for text in [
            "",
            "maximize",
            "maximize:0",
            "maximise:0,1",
            "maximize:0,1,2",
            "maximize:1,0",
            "maximize:a,b",
        ] {
            assert!(text.parse::<Objective>().is_err(), "{text}");
        }
        let reversed = r#"{"direction":"maximize","low":1.0,"high":0.0}"#;
        assert!(serde_json::from_str::<Objective>(reversed).is_err());
    }

    proptest! {
        #[test]
        fn values_come_back(low in -1e6..1e6_f64, width in 1e-3..1e6_f64, share in 0.0..=1.0_f64, up in any::<bool>()) {
            let high = low + width;
            let objective = if up { Objective::maximize(low, high) } else { Objective::minimize(low, high) };
            let objective = objective.expect("a range");
            let value = (low + share * width).clamp(low, high);
            let loss = objective.loss(value).expect("inside").get();
            prop_assert!((objective.value(loss) - value).abs() <= 1e-9 * (low.abs() + width));
            prop_assert!((objective.share(loss) - share).abs() <= 1e-9);
            let back = objective.as_shares().value(objective.share(loss));
            prop_assert!((back - value).abs() <= 1e-9 * (low.abs() + width));
            let (left, right) = objective.interval(loss - 0.1, loss + 0.2);
            prop_assert!(left < right && left <= value && value <= right);
        }
    }
}
