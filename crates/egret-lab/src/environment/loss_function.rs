use std::fmt;
use std::str::FromStr;

use egret::Loss;
use serde::{Deserialize, Serialize};

/// The loss of an action a ∈ [0, 1] for a label y ∈ [0, 1]. All losses lie in [0, 1].
///
/// | written         | loss                                         | best action         |
/// |-----------------|----------------------------------------------|---------------------|
/// | `absolute`      | \|y − a\|                                    | the median of y     |
/// | `square`        | (y − a)²                                     | the mean            |
/// | `quantile(q)`   | (q (y − a)₊ + (1 − q) (a − y)₊) / max(q, 1 − q) | the q-quantile   |
/// | `pricing`       | 1 − a if a ≤ y, else 1                       | the a with the largest a · P(a ≤ y) |
///
/// ```
/// use egret_lab::LossFunction;
///
/// let loss: LossFunction = "quantile(0.75)".parse()?;
/// // An action that is too low loses three times as much as one that is too high.
/// assert!((loss.of(0.5, 0.2).get() - 3.0 * loss.of(0.2, 0.5).get()).abs() < 1e-12);
/// # Ok::<(), egret_lab::LossFunctionError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LossFunction {
    /// |y − a|, the paper's loss.
    #[default]
    Absolute,
    /// (y − a)².
    Square,
    /// The pinball loss, divided by its largest slope.
    Quantile(QuantileLevel),
    /// A price offered to a buyer who values the product at y. It sells at a if a ≤ y; the loss is 1 minus what was earned. A
    /// price slightly too high costs everything, one slightly too low costs little.
    Pricing,
}

/// q ∈ (0, 1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileLevel(f64);

impl QuantileLevel {
    /// Refuses a number outside of (0, 1).
    pub fn new(q: f64) -> Result<Self, LossFunctionError> {
        if 0.0 < q && q < 1.0 {
            Ok(Self(q))
        } else {
            Err(LossFunctionError::Level { q })
        }
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl LossFunction {
    /// The loss of an action at a label.
    pub fn of(self, label: f64, action: f64) -> Loss {
        let gap = label - action;
        let value = match self {
            Self::Absolute => gap.abs(),
            Self::Square => gap * gap,
            Self::Quantile(QuantileLevel(q)) => {
                let slope = if 0.0 < gap { q } else { 1.0 - q };
                slope / q.max(1.0 - q) * gap.abs()
            }
            Self::Pricing if action <= label => 1.0 - action,
            Self::Pricing => 1.0,
        };
        Loss::new(value.clamp(0.0, 1.0)).expect("both are in [0, 1]")
    }
}

impl fmt::Display for LossFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absolute => write!(f, "absolute"),
            Self::Square => write!(f, "square"),
            Self::Quantile(QuantileLevel(q)) => write!(f, "quantile({q})"),
            Self::Pricing => write!(f, "pricing"),
        }
    }
}

impl FromStr for LossFunction {
    type Err = LossFunctionError;

    fn from_str(text: &str) -> Result<Self, LossFunctionError> {
        let unknown = || LossFunctionError::Unknown {
            text: text.to_owned(),
        };
        match text {
            "absolute" => Ok(Self::Absolute),
            "square" => Ok(Self::Square),
            "pricing" => Ok(Self::Pricing),
            _ => {
                let level = text
                    .strip_prefix("quantile(")
                    .and_then(|rest| rest.strip_suffix(')'));
                let q = level
                    .and_then(|q| q.trim().parse().ok())
                    .ok_or_else(unknown)?;
                QuantileLevel::new(q).map(Self::Quantile)
            }
        }
    }
}

impl TryFrom<String> for LossFunction {
    type Error = LossFunctionError;

    fn try_from(text: String) -> Result<Self, LossFunctionError> {
        text.parse()
    }
}

impl From<LossFunction> for String {
    fn from(loss: LossFunction) -> Self {
        loss.to_string()
    }
}

/// Why a text is not a loss function.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LossFunctionError {
    /// There is no loss function of this name.
    #[error(
        "unknown loss {text:?}, expected absolute, square, quantile(q) with q in (0, 1), or pricing"
    )]
    Unknown {
        /// The text.
        text: String,
    },
    /// The level of a quantile is outside of (0, 1).
    #[error("the quantile is {q}, expected a number in (0, 1)")]
    Level {
        /// The level.
        q: f64,
    },
}

#[cfg(test)]
mod tests {
    use egret::{EventRng, Stream};

    use super::*;

    /// The action with the smallest mean loss on these labels, on a grid of hundredths, and that loss.
    fn best(loss: LossFunction, labels: &[f64]) -> (f64, f64) {
        let mean = |action: f64| {
            let sum: f64 = labels.iter().map(|&y| loss.of(y, action).get()).sum();
            sum / labels.len() as f64
        };
        let better =
            |best: (f64, f64), other: (f64, f64)| if other.1 < best.1 { other } else { best };
        let grid = (0..=100).map(|step| f64::from(step) / 100.0);
        (grid.map(|action| (action, mean(action))))
            .reduce(better)
            .expect("a grid")
    }

    fn quantile(q: f64) -> LossFunction {
        LossFunction::Quantile(QuantileLevel::new(q).expect("in (0, 1)"))
    }

    #[test]
    fn each_loss_is_smallest_where_the_table_says() {
        // y = u²: median 1/4, mean 1/3, the q-quantile q².
        let labels: Vec<f64> = (0..10_000)
            .map(|i| (f64::from(i) + 0.5) / 10_000.0)
            .map(|u| u * u)
            .collect();
        assert_eq!(best(LossFunction::Absolute, &labels).0, 0.25);
        assert_eq!(best(LossFunction::Square, &labels).0, 0.33);
        assert_eq!(best(quantile(0.9), &labels).0, 0.81);
        assert_eq!(best(quantile(0.2), &labels).0, 0.04);
        // P(a ≤ y) = 1 − √a, so a (1 − √a) is most, 4/27, at 4/9.
        let (price, loss) = best(LossFunction::Pricing, &labels);
        assert_eq!(price, 0.44);
        assert!((loss - (1.0 - 4.0 / 27.0)).abs() < 1e-3, "{loss}");
    }

    #[test]
    fn losses_lie_in_the_unit_interval_and_are_zero_at_the_label() {
        let mut rng = EventRng::new(1, 0, Stream::World);
        for loss in [
            LossFunction::Absolute,
            LossFunction::Square,
            quantile(0.05),
            quantile(0.9),
        ] {
            for _ in 0..1_000 {
                let (y, a) = (rng.unit(), rng.unit());
                assert!((0.0..=1.0).contains(&loss.of(y, a).get()));
                assert_eq!(loss.of(y, y).get(), 0.0);
            }
            // The worst mistake has loss 1.
            let worst = loss.of(0.0, 1.0).get().max(loss.of(1.0, 0.0).get());
            assert!((worst - 1.0).abs() < 1e-12, "{loss}");
        }
        assert_eq!(LossFunction::Pricing.of(0.4, 0.4).get(), 0.6);
        assert_eq!(LossFunction::Pricing.of(0.4, 0.41).get(), 1.0);
    }

    #[test]
    fn what_is_written_is_read() {
        for loss in [
            LossFunction::Absolute,
            LossFunction::Square,
            quantile(0.1),
            LossFunction::Pricing,
        ] {
            assert_eq!(loss.to_string().parse(), Ok(loss));
            let json = serde_json::to_string(&loss).expect("a word");
            assert_eq!(json, format!("\"{loss}\""));
            assert_eq!(serde_json::from_str::<LossFunction>(&json).ok(), Some(loss));
        }
        let message = |text: &str| text.parse::<LossFunction>().expect_err("bad").to_string();
        assert_eq!(
            message("huber"),
            "unknown loss \"huber\", expected absolute, square, quantile(q) with q in (0, 1), or pricing"
        );
        assert_eq!(
            message("quantile(1)"),
            "the quantile is 1, expected a number in (0, 1)"
        );
        assert!(message("quantile(NaN)").starts_with("the quantile is NaN"));
    }
}
