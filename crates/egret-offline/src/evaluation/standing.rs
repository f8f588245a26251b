use egret::{Direction, Objective};
use serde::Serialize;

/// Where an interval lies beside what it is compared with: the mean of the log as it was played, or 0 for a difference.
///
/// An estimate is lower or higher only if its interval and that of the log's mean have no point in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// All of the interval is below.
    Lower,
    /// All of it is above.
    Higher,
    /// Neither is shown.
    NotShown,
}

impl Standing {
    /// Of an interval beside `mean` ± `margin`.
    pub(crate) fn of(low: f64, high: f64, (mean, margin): (f64, f64)) -> Self {
        if high < mean - margin {
            Self::Lower
        } else if mean + margin < low {
            Self::Higher
        } else {
            Self::NotShown
        }
    }

    /// From losses to the units of an objective: what is lower as a loss is a higher reward.
    pub(crate) fn in_units(self, objective: &Objective) -> Self {
        match (objective.direction(), self) {
            (Direction::Maximize, Self::Lower) => Self::Higher,
            (Direction::Maximize, Self::Higher) => Self::Lower,
            _ => self,
        }
    }

    /// Whether what was evaluated is better (true) or worse (false), for numbers in the units of an objective.
    pub(crate) fn is_better(self, objective: &Objective) -> Option<bool> {
        match (objective.direction(), self) {
            (_, Self::NotShown) => None,
            (Direction::Minimize, Self::Lower) | (Direction::Maximize, Self::Higher) => Some(true),
            _ => Some(false),
        }
    }
}
