//! Experiments with contextual bandits: data sets and simulators, players, paired runs, the paper's studies.

mod arff_table;
mod csv_table;
mod data_folder;
mod egret_player;
mod encoding;
mod environment;
mod exhaust_summary;
mod journal;
mod loss_function;
mod paired_difference;
pub mod paper;
mod parquet_table;
mod player;
mod results_file;
mod run;
mod study;
mod supervised;
mod table;

pub use data_folder::{DataFile, DataFolder, DataFolderError, PAPER_SETS, PaperSet};
pub use egret_player::EgretContender;
pub use encoding::{Encoding, EncodingError, EncodingProblem, MissingLabels};
pub use environment::{Environment, World};
pub use exhaust_summary::{ExhaustSummary, Spread};
pub use journal::{Journal, JournalError};
pub use loss_function::{LossFunction, LossFunctionError, QuantileLevel};
pub use paired_difference::{PairedDifference, Standing, bootstrap_interval};
pub use player::{Contender, Move, PlayError, Player, Turn};
pub use results_file::{ResultsError, read_results, write_results};
pub use run::{Run, RunRecord, Stretch};
pub use study::{Progress, Silent, StudyError, Task, run_all};
pub use supervised::{Supervised, SupervisedError, SupervisedToBandit};
pub use table::{Column, Table, TableError, Values};
