//! Experiments with contextual bandits: data sets and simulators, players, paired runs, the paper's studies.
//!
//! An [`Environment`] makes a [`World`] for each seed: contexts, and what each action would lose. A [`Contender`] makes a [`Player`]
//! for each run. A [`Run`] brings them together, [`run_all`] does many at a time and takes up what a [`Journal`] knows, and a
//! [`Comparison`] says who did better on the same rounds. An [`Experiment`] is all of that from a file.
//!
//! A learner of one's own needs two traits:
//!
//! ```
//! use egret::Context;
//! use egret_lab::{
//!     AnyEnvironment, Comparison, Contender, Environment, Move, PlayError, Player, Preset, Run, Standing, Turn, simulator,
//! };
//!
//! /// Always in the middle.
//! struct Middle;
//!
//! impl Contender<f64> for Middle {
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
//!     fn decide(&mut self, _event: u64, _x: &Context) -> Result<Move<f64>, PlayError> {
//!         Ok(Move::Plain(0.5))
//!     }
//!     fn learn(&mut self, _turns: &[Turn<'_, f64>]) -> Result<(), PlayError> {
//!         Ok(())
//!     }
//! }
//!
//! let AnyEnvironment::Number(environment) = simulator("interval")? else {
//!     unreachable!("its actions are numbers");
//! };
//! let uniform = Preset::Uniform.contender();
//! let contenders: [&dyn Contender<f64>; 2] = [&uniform, &Middle];
//! let mut records = Vec::new();
//! for contender in contenders {
//!     for seed in 1..=5 {
//!         let run = Run { contender, environment: &*environment, seed, decisions: 400 };
//!         records.push(run.play(|_| ())?);
//!     }
//! }
//! let comparison = Comparison::new(&records, Some("uniform"), 0.9)?;
//! let pair = comparison.problems[0].against("middle", "uniform").expect("five seeds each");
//! assert_eq!(pair.standing, Standing::Win);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/own_learner.rs` has one that learns, and runs on any table of numbers.

mod arff_table;
mod comparison;
mod comparison_report;
mod csv_table;
mod data_folder;
mod download;
mod egret_player;
mod encoding;
mod environment;
mod exhaust_summary;
mod experiment;
mod experiment_run;
mod journal;
mod learner_keys;
mod loss_function;
mod openml;
mod openml_cache;
mod paired_difference;
pub mod paper;
mod parquet_table;
mod peer;
mod peer_study;
mod player;
mod preset;
mod results_file;
mod run;
mod simulator;
mod simulator_box;
mod simulator_catalogue;
mod simulator_interval;
mod simulator_mixed;
mod simulator_sphere;
mod study;
mod supervised;
mod table;
mod toml_keys;

pub use comparison::{Comparison, ComparisonError, Outcome, Pair, Problem, Tally};
pub use data_folder::{DataFile, DataFolder, DataFolderError, PAPER_SETS, PaperSet};
pub use download::DownloadError;
pub use egret_player::EgretContender;
pub use encoding::{Encoding, EncodingError, EncodingProblem, MissingLabels};
pub use environment::{Environment, World};
pub use exhaust_summary::{ExhaustSummary, Spread};
pub use experiment::{DataSource, EXAMPLE_EXPERIMENT, Experiment, ExperimentFileError};
pub use experiment_run::{ExperimentError, LoadedData};
pub use journal::{Journal, JournalError};
pub use loss_function::{LossFunction, LossFunctionError, QuantileLevel};
pub use openml::{OPENML_URL, OpenMl, OpenMlData, OpenMlError, OpenMlSettings};
pub use openml_cache::default_cache_dir;
pub use paired_difference::{PairedDifference, Standing, bootstrap_interval};
pub use peer::{Peer, PeerError, PeerPython, PeerRecord};
pub use peer_study::{PeerFamily, PeerRow, PeerStudy};
pub use player::{Contender, Move, PlayError, Player, Turn};
pub use preset::Preset;
pub use results_file::{ResultsError, read_results, write_results};
pub use run::{Run, RunRecord, Stretch};
pub use simulator::{AnyEnvironment, SIMULATORS, Simulator, Truth, UnknownSimulator, simulator};
pub use simulator_box::BoxTruth;
pub use simulator_catalogue::CatalogueTruth;
pub use simulator_interval::{BimodalTruth, IntervalTruth};
pub use simulator_mixed::MixedTruth;
pub use simulator_sphere::SphereTruth;
pub use study::{Progress, Silent, StudyError, Task, run_all};
pub use supervised::{Supervised, SupervisedError, SupervisedToBandit};
pub use table::{Column, Table, TableError, Values};
pub use toml_keys::TomlError;
