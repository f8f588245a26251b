//! Noisy worlds on intervals: sales that happen or not, rare clicks, outcomes that come late, a world that moves.
//!
//! [`NOISY_WORLDS`] lists them, and a [`DataWorld`] makes one of a data set. Of each [`KnownWorld`] the mean loss of every action
//! is known, so that a learner's share of what is possible is known too. A [`WorldStudy`] lets [`WorldLearner`]s and
//! [`WorldPeers`] play there, paired by seed.
//!
//! | file          | what                                                             |
//! |---------------|------------------------------------------------------------------|
//! | `mean_loss`   | the mean loss over all actions of one round, its least and mean  |
//! | `noisy_rounds` | rounds with their truth, and how outcomes are drawn             |
//! | `noisy_world`, `data_world` | the worlds                                         |
//! | `naive`       | a learner of forty lines to compare with                         |
//! | `world_learner`, `world_peers` | who plays                                       |
//! | `study`, `report` | runs, what is measured, tables and figures                   |

mod data_world;
mod mean_loss;
mod naive;
mod noisy_rounds;
mod noisy_world;
mod report;
mod study;
mod world_learner;
mod world_peers;

pub use self::data_world::{DataOutcome, DataWorld};
pub use self::noisy_rounds::NoisyRounds;
pub use self::noisy_world::{NOISY_WORLDS, NoisyWorld};
pub use self::study::{Block, WorldRecord, WorldRow, WorldStudy};
pub use self::world_learner::WorldLearner;
pub use self::world_peers::{ChosenPeer, WorldPeers};
use crate::environment::Environment;

/// A problem on an interval whose mean losses are known.
pub trait KnownWorld: Environment<f64> {
    /// The mean loss in words and a formula.
    fn about(&self) -> String;

    /// The rounds of a seed, with their truth: those of [`world`](Environment::world).
    fn known_rounds(&self, seed: u64, rounds: usize) -> NoisyRounds;
}
