use serde::{Deserialize, Serialize};

use crate::event::KnobValue;
use crate::measure::Interval;
use crate::model::SpaceError;
use crate::numeric::OutOfRange;

/// What one knob of a mixed space can be; μ is uniform over it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Knob {
    /// Numbers from `low` to `high`.
    Interval {
        /// The least.
        low: f64,
        /// The greatest.
        high: f64,
    },
    /// `low`, `low + step`, and so on to `high`.
    Steps {
        /// The least.
        low: f64,
        /// The greatest: a whole number of steps above the least.
        high: f64,
        /// From one to the next.
        step: f64,
    },
    /// One of these names.
    Categories(Vec<String>),
}

/// How far from a step, in steps, a number may be: a tenth is no binary fraction.
const ROUNDING: f64 = 1e-6;

impl Knob {
    pub(crate) fn check(&self) -> Result<(), SpaceError> {
        match self {
            Self::Interval { low, high } => {
                Interval::new(*low, *high)?;
            }
            Self::Steps { low, high, step } => {
                OutOfRange::unless(low.is_finite(), "low", *low, "(-inf, inf)")?;
                OutOfRange::unless(high.is_finite(), "high", *high, "(-inf, inf)")?;
                OutOfRange::unless(0.0 < *step && step.is_finite(), "step", *step, "(0, inf)")?;
                let steps = (high - low) / step;
                OutOfRange::unless(
                    // Beyond so many an interval is meant, and rounding could not tell a step from the next.
                    (0.0..=1e9).contains(&steps) && is_whole(steps),
                    "high - low, in steps",
                    steps,
                    "{0, 1, 2, …, 10^9}",
                )?;
            }
            Self::Categories(names) => {
                let mut sorted: Vec<&String> = names.iter().collect();
                sorted.sort_unstable();
                if names.is_empty() || sorted.windows(2).any(|pair| pair[0] == pair[1]) {
                    return Err(SpaceError::Categories(names.clone()));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn contains(&self, value: &KnobValue) -> bool {
        match (self, value) {
            (Self::Interval { low, high }, KnobValue::Number(value)) => {
                (low..=high).contains(&value)
            }
            (Self::Steps { low, high, step }, KnobValue::Number(value)) => {
                let (place, last) = ((value - low) / step, (high - low) / step);
                is_whole(place) && (0.0..=last.round()).contains(&place.round())
            }
            (Self::Categories(names), KnobValue::Category(name)) => names.contains(name),
            _ => false,
        }
    }
}

fn is_whole(steps: f64) -> bool {
    (steps - steps.round()).abs() <= ROUNDING
}
