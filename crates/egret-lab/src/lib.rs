//! Experiments with contextual bandits: data sets and simulators, learners, paired runs, and the paper's studies.
//!
//! An [`Environment`] makes a [`World`] for each seed: contexts, and a loss for every action. A [`LearnerFactory`] makes a
//! [`Player`] for each run. A [`Run`] lets one play in the other; [`run_all`] does many at a time, and a [`Journal`] keeps their
//! results. A [`LearnerComparison`] says who did better on the same rounds. An [`Experiment`] does all of this from a file.
//!
//! Your own learner needs two traits:
//!
//! ```
//! use egret::Context;
//! use egret_lab::{
//!     Choice, Environment, IntervalLossModel, LearnerComparison, LearnerFactory, PairedStanding, PlayError, Player, Preset, Round,
//!     Run, Simulator,
//! };
//!
//! /// Always chooses 0.5.
//! struct Middle;
//!
//! impl LearnerFactory<f64> for Middle {
//!     fn name(&self) -> &str {
//!         "middle"
//!     }
//!     fn fingerprint(&self) -> String {
//!         "middle".to_owned()
//!     }
//!     fn player(&self, _: &dyn Environment<f64>, _seed: u64) -> Result<Box<dyn Player<f64>>, PlayError> {
//!         Ok(Box::new(Middle))
//!     }
//! }
//!
//! impl Player<f64> for Middle {
//!     fn decide(&mut self, _event: u64, _x: &Context) -> Result<Choice<f64>, PlayError> {
//!         Ok(Choice::Plain(0.5))
//!     }
//!     fn learn(&mut self, _rounds: &[Round<'_, f64>]) -> Result<(), PlayError> {
//!         Ok(())
//!     }
//! }
//!
//! let environment = Simulator::new(IntervalLossModel);
//! let uniform = Preset::Uniform.factory();
//! let learners: [&dyn LearnerFactory<f64>; 2] = [&uniform, &Middle];
//! let mut records = Vec::new();
//! for learner in learners {
//!     for seed in 1..=5 {
//!         let run = Run { learner, environment: &environment, seed, decisions: 400 };
//!         records.push(run.play(|_| ())?);
//!     }
//! }
//! let comparison = LearnerComparison::new(&records, Some("uniform"), 0.9)?;
//! let pair = comparison.problems[0].against("middle", "uniform").expect("five seeds each");
//! assert_eq!(pair.standing, PairedStanding::Win);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/own_learner.rs` has a learner that learns, and runs on any table of numbers.

mod comparison;
mod data;
pub mod demo;
mod environment;
mod experiment;
mod learner;
pub mod paper;
mod peers;
mod run;
mod worlds;

pub use comparison::{
    ComparisonError, LearnerComparison, LearnerResult, OutcomeInterval, Pair, PairedDifference,
    PairedStanding, Problem, Tally, bootstrap_interval,
};
pub use data::{
    Column, DataFile, DataFolder, DataFolderError, DownloadError, Encoding, EncodingError,
    EncodingProblem, MissingLabels, OPENML_URL, OpenMl, OpenMlData, OpenMlError, OpenMlSettings,
    PAPER_SETS, PaperSet, Table, TableError, Values, default_cache_dir,
};
pub use environment::{
    BimodalLossModel, BoxLossModel, CatalogueLossModel, Customer, Environment, Feedback,
    IntervalLossModel, LossFunction, LossFunctionError, LossModel, MixedLossModel,
    PricingSimulator, QuantileLevel, Simulator, SphereLossModel, Supervised, SupervisedError,
    SupervisedToBandit, World,
};
pub use experiment::{
    AnyEnvironment, DataSource, EXAMPLE_EXPERIMENT, Experiment, ExperimentError,
    ExperimentFileError, LoadedData, SIMULATORS, TomlError, UnknownSimulator,
};
pub use learner::{
    Choice, EgretFactory, LearnerFactory, PaperLearner, PlayError, Player, Preset, Round,
};
pub use peers::{Peer, PeerError, PeerFamily, PeerPython, PeerRecord, PeerRow, PeerStudy};
pub use run::{
    Journal, JournalError, LogSummary, Progress, ResultsError, Run, RunRecord, Silent, Spread,
    Stretch, StudyError, Task, read_results, run_all, write_results,
};
pub use worlds::{
    AnyWorld, BOX_WORLDS, Block, BoxWorld, BudgetLoss, ChosenPeer, DataOutcome, DataWorld,
    DirectionLoss, ExamplesLoss, ItemWorld, KnownRounds, KnownWorld, ListWorld, MixedKnobsLoss,
    NOISY_WORLDS, NoisyRounds, NoisyWorld, PeerLibrary, PeerWorlds, SpaceLoss, SpaceWorld,
    TenthsWorld, WorldFamily, WorldLearner, WorldPeers, WorldRecord, WorldRow, WorldStudy,
};
