//! Experiments with contextual bandits: data sets and simulators, players, paired runs, the paper's studies.

mod arff_table;
mod csv_table;
mod data_folder;
mod download;
mod encoding;
mod environment;
mod loss_function;
mod openml;
mod openml_cache;
mod parquet_table;
mod player;
mod simulator;
mod simulator_box;
mod simulator_catalogue;
mod simulator_interval;
mod simulator_mixed;
mod simulator_sphere;
mod supervised;
mod table;

pub use data_folder::{DataFile, DataFolder, DataFolderError, PAPER_SETS, PaperSet};
pub use download::DownloadError;
pub use encoding::{Encoding, EncodingError, EncodingProblem, MissingLabels};
pub use environment::{Environment, World};
pub use loss_function::{LossFunction, LossFunctionError, QuantileLevel};
pub use openml::{OPENML_URL, OpenMl, OpenMlData, OpenMlError, OpenMlSettings};
pub use openml_cache::default_cache_dir;
pub use player::{Contender, Move, PlayError, Player, Turn};
pub use simulator::{AnyEnvironment, SIMULATORS, Simulator, Truth, UnknownSimulator, simulator};
pub use simulator_box::BoxTruth;
pub use simulator_catalogue::CatalogueTruth;
pub use simulator_interval::{BimodalTruth, IntervalTruth};
pub use simulator_mixed::MixedTruth;
pub use simulator_sphere::SphereTruth;
pub use supervised::{Supervised, SupervisedError, SupervisedToBandit};
pub use table::{Column, Table, TableError, Values};
