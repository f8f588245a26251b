//! Learners that play in the lab.
//!
//! A [`LearnerFactory`] is a learner by its settings: it makes a [`Player`] for each run, and the player decides and learns. To
//! test your own learner, implement these two traits. [`EgretFactory`] makes egret's learners, [`Preset`] names the usual
//! settings, and [`PaperLearner`] lists the learners that the paper compares.

mod effective_events;
mod egret_player;
mod paper_learner;
mod player;
mod preset;

pub(crate) use self::effective_events::{EffectiveEvents, mean_inverse_density};
pub use self::egret_player::EgretFactory;
pub use self::paper_learner::PaperLearner;
pub(crate) use self::paper_learner::normalizer_name;
pub use self::player::{Choice, LearnerFactory, PlayError, Player, Round};
pub use self::preset::Preset;
