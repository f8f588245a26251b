use serde::{Deserialize, Serialize};

use crate::event::KnobValue;
use crate::measure::{Interval, Steps};
use crate::model::SpaceError;

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

impl Knob {
    pub(crate) fn check(&self) -> Result<(), SpaceError> {
        match self {
            Self::Interval { low, high } => {
                Interval::new(*low, *high)?;
            }
            Self::Steps { low, high, step } => {
                Steps::new(*low, *high, *step)?;
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
                Steps::new(*low, *high, *step).is_ok_and(|steps| steps.index(*value).is_some())
            }
            (Self::Categories(names), KnobValue::Category(name)) => names.contains(name),
            _ => false,
        }
    }
}
