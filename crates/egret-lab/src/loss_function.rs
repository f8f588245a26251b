use std::fmt;

use egret::Loss;
use serde::{Deserialize, Serialize};

/// What an action a ∈ [0, 1] loses where the label is y ∈ [0, 1].
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossFunction {
    /// |y − a|: the paper's.
    #[default]
    Absolute,
}

impl LossFunction {
    /// The loss.
    pub fn of(self, label: f64, action: f64) -> Loss {
        let value = match self {
            Self::Absolute => (label - action).abs(),
        };
        Loss::new(value.clamp(0.0, 1.0)).expect("both are in [0, 1]")
    }
}

impl fmt::Display for LossFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absolute => write!(f, "absolute"),
        }
    }
}
