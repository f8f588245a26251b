//! Noisy worlds whose truth is known: sales that happen or not, rare clicks, a world that moves, knobs, catalogues.
//!
//! [`NOISY_WORLDS`] are on intervals, [`BOX_WORLDS`] on boxes, [`ItemWorld`]s and [`ListWorld`]s among items, [`SpaceWorld`]s on other spaces;
//! a [`DataWorld`] and a [`TenthsWorld`] make one of a data set. Of each [`KnownWorld`] the mean loss of every action is known, so that a learner's share of what is possible is known too.
//! A [`WorldStudy`] lets [`WorldLearner`]s and [`WorldPeers`] play there, paired by seed.
//!
//! | file          | what                                                             |
//! |---------------|------------------------------------------------------------------|
//! | `mean_loss`   | the mean loss over all actions of one round, its least and mean  |
//! | `noisy_rounds` | rounds on an interval with their truth, and how outcomes are drawn |
//! | `normals`     | standard normal numbers                                          |
//! | `noisy_world`, `box_world`, `item_world`, `list_world` | the worlds              |
//! | `spaces`      | worlds on simplices and spheres, of mixed knobs, of sets of items |
//! | `data_world`, `tenths_world` | worlds from data sets                              |
//! | `any_world`   | a world of any kind of action                                    |
//! | `baselines`   | learners of forty lines to compare with                          |
//! | `world_learner`, `world_peers` | who plays                                       |
//! | `study`, `report` | runs, what is measured, tables and figures                   |

mod any_world;
mod baselines;
mod box_world;
mod data_world;
mod item_world;
mod list_world;
mod mean_loss;
mod noisy_rounds;
mod noisy_world;
mod normals;
mod report;
mod spaces;
mod study;
mod tenths_world;
mod world_learner;
mod world_peers;

pub use self::any_world::AnyWorld;
pub use self::box_world::{BOX_WORLDS, BoxWorld};
pub use self::data_world::{DataOutcome, DataWorld};
pub use self::item_world::ItemWorld;
pub use self::list_world::ListWorld;
pub use self::noisy_rounds::NoisyRounds;
pub use self::noisy_world::{NOISY_WORLDS, NoisyWorld};
pub use self::spaces::{
    BudgetLoss, DirectionLoss, ExamplesLoss, MixedKnobsLoss, SpaceLoss, SpaceWorld,
};
pub use self::study::{Block, WorldRecord, WorldRow, WorldStudy};
pub use self::tenths_world::TenthsWorld;
pub use self::world_learner::WorldLearner;
pub use self::world_peers::{ChosenPeer, PeerLibrary, PeerWorlds, WorldFamily, WorldPeers};
use crate::environment::{Environment, World};

/// A problem whose mean losses are known.
pub trait KnownWorld<A>: Environment<A> {
    /// The mean loss in words and a formula.
    fn about(&self) -> String;

    /// The rounds of a seed, with their truth: those of [`world`](Environment::world).
    fn truth(&self, seed: u64, rounds: usize) -> Box<dyn KnownRounds<A> + '_>;
}

/// Rounds whose mean losses are known.
pub trait KnownRounds<A>: World<A> {
    /// f*(x, a).
    fn mean_loss(&self, round: usize, action: &A) -> f64;

    /// The least mean loss of any action. Where a search of all would take too long, that of a round nearby, whose context is
    /// drawn alike: means over many rounds stay true.
    fn best(&self, round: usize) -> f64;

    /// The mean loss of the uniform policy, or where it has no formula the mean over some draws: means over many rounds stay true.
    fn uniform(&self, round: usize) -> f64;
}
