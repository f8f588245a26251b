use egret_offline::{Order, Split};
use serde::{Deserialize, Serialize};

use crate::error::JobError;

/// Which rows train, which stop the training, which judge the model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SplitRequest {
    /// The shares of the log for training, for stopping and for judging, in the order of the log.
    pub shares: [f64; 3],
    /// Assign events to the three parts at random, as the paper does.
    pub shuffle: bool,
}

impl Default for SplitRequest {
    fn default() -> Self {
        Self {
            shares: [0.8, 0.1, 0.1],
            shuffle: false,
        }
    }
}

impl SplitRequest {
    pub(crate) fn checked(&self, seed: u64) -> Result<(Split, Order), JobError> {
        let [train, validation, test] = self.shares;
        let split = Split::new(train, validation, test);
        let split = split.map_err(|error| JobError::request("split", error))?;
        let order = if self.shuffle {
            Order::Shuffled(seed)
        } else {
            Order::Log
        };
        Ok((split, order))
    }
}
