//! Experiments with contextual bandits: data sets and simulators, players, paired runs, the paper's studies.

mod environment;
mod loss_function;
mod player;
mod supervised;

pub use environment::{Environment, World};
pub use loss_function::LossFunction;
pub use player::{Contender, Move, PlayError, Player, Turn};
pub use supervised::{Supervised, SupervisedError, SupervisedToBandit};
