//! Confidence sequences by betting: intervals that hold at all times at once, whatever the tails of the weights.
//!
//! | file                  | what                                                                    |
//! |-----------------------|-------------------------------------------------------------------------|
//! | `lower_mean`          | [`LowerMean`]: a lower bound on the mean of numbers X ≥ 0               |
//! | `confidence_sequence` | [`Sides`]: one lower bound from below, one from above; how both move over time |
//! | `bets`                | [`Bet`]: which X the events of an estimator are turned into             |
//! | `difference_bets`     | [`DifferenceBet`]: which X the events of two policies are turned into   |

mod bets;
mod confidence_sequence;
mod difference_bets;
mod lower_mean;

pub(crate) use bets::{Bet, KnownOfWeights};
use confidence_sequence::Side;
pub(crate) use confidence_sequence::{Path, Sides};
pub use confidence_sequence::{PathPoint, running_intersection};
pub(crate) use difference_bets::{DifferenceBet, KnownOfPair};
pub use lower_mean::LowerMean;
use lower_mean::{Peak, Prior, scale_of};
