//! Data sets from files and from OpenML.
//!
//! A [`Table`] holds what a Parquet, CSV or ARFF file says: named columns of numbers or categories. An [`Encoding`] turns a
//! table into contexts and labels ([`Supervised`](crate::Supervised)). [`DataFolder`] finds the paper's data sets in a folder,
//! and [`OpenMl`] downloads data sets and keeps them on disk.

mod arff;
mod csv;
mod data_folder;
mod encoding;
mod openml;
mod parquet;
mod table;
mod table_rows;

pub use self::data_folder::{DataFile, DataFolder, DataFolderError, PAPER_SETS, PaperSet};
pub use self::encoding::{Encoding, EncodingError, EncodingProblem, MissingLabels};
pub use self::openml::{
    DownloadError, OPENML_URL, OpenMl, OpenMlData, OpenMlError, OpenMlSettings, default_cache_dir,
};
pub(crate) use self::table::stem;
pub use self::table::{Column, Table, TableError, Values};
