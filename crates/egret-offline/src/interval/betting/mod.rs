//! Confidence sequences by betting: intervals that hold at all times at once, whatever the tails of the weights.
//!
//! | file                  | what                                                                    |
//! |-----------------------|-------------------------------------------------------------------------|
//! | `lower_mean`          | [`LowerMean`]: a lower bound on the mean of numbers X ≥ 0               |
//! | `confidence_sequence` | [`Sides`]: one lower bound from below, one from above; how both move over time |
//! | `bets`                | [`Bet`]: which X the events of an estimator are turned into             |

mod bets;
mod confidence_sequence;
mod lower_mean;

pub(crate) use bets::{Bet, KnownOfWeights};
pub(crate) use confidence_sequence::{Path, Side, Sides};
pub use confidence_sequence::{PathPoint, running_intersection};
pub use lower_mean::LowerMean;
pub(crate) use lower_mean::scale_of;
use lower_mean::{Peak, Prior};
