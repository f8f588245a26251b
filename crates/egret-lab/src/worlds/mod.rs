//! Noisy worlds on intervals: sales that happen or not, rare clicks, outcomes that come late, a world that moves.
//!
//! [`NOISY_WORLDS`] lists them. Of each, the mean loss of every action is known, so that a learner's share of what is possible
//! is known too. A [`WorldStudy`] lets [`WorldLearner`]s play there, paired by seed.
//!
//! | file          | what                                                             |
//! |---------------|------------------------------------------------------------------|
//! | `mean_loss`   | the mean loss over all actions of one round, its least and mean  |
//! | `noisy_world` | the worlds, and how outcomes are drawn                           |
//! | `naive`       | a learner of forty lines to compare with                         |
//! | `world_learner` | who plays                                                      |
//! | `study`, `report` | runs, what is measured, tables and figures                   |

mod mean_loss;
mod naive;
mod noisy_world;
mod report;
mod study;
mod world_learner;

pub use self::noisy_world::{NOISY_WORLDS, NoisyWorld};
pub use self::study::{Block, WorldRecord, WorldRow, WorldStudy};
pub use self::world_learner::WorldLearner;
