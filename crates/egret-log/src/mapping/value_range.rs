use std::fmt;
use std::str::FromStr;

use egret::{Objective, Outside};

/// The least and the largest outcome that can be, as `0,50`; with `,clip` what lies outside counts as the nearest end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueRange(Objective);

impl ValueRange {
    /// From `low` to `high`; outcomes outside are refused.
    pub fn new(low: f64, high: f64) -> Result<Self, ValueRangeError> {
        let objective = Objective::maximize(low, high);
        let refused = |_| ValueRangeError {
            text: format!("{low},{high}"),
        };
        objective.map(Self).map_err(refused)
    }

    /// As an objective to make large.
    pub(crate) fn maximize(self) -> Objective {
        self.0
    }

    /// As an objective to make small.
    pub(crate) fn minimize(self) -> Objective {
        self.0.as_shares()
    }
}

impl fmt::Display for ValueRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.0.low(), self.0.high())?;
        match self.0.outside() {
            Outside::Refuse => Ok(()),
            Outside::Clip => f.write_str(",clip"),
        }
    }
}

impl FromStr for ValueRange {
    type Err = ValueRangeError;

    fn from_str(text: &str) -> Result<Self, ValueRangeError> {
        let objective = format!("maximize:{text}").parse();
        objective.map(Self).map_err(|_| ValueRangeError {
            text: text.to_owned(),
        })
    }
}

/// A text that is no range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no range: write the least and the largest, as in 0,50, or 0,50,clip")]
pub struct ValueRangeError {
    text: String,
}
