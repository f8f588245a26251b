use std::io;
use std::path::PathBuf;

use parquet::errors::ParquetError;

use crate::record::RowError;

/// Why a record was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The file, the folder or the disk.
    #[error("cannot write {}", file.display())]
    Io {
        /// Which file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The Parquet encoder refused.
    #[error("cannot write {}: {error}", file.display())]
    Parquet {
        /// Which file.
        file: PathBuf,
        /// Why.
        error: ParquetError,
    },
    /// The record is invalid, or does not fit the rows before it. The writer can go on without it.
    #[error(transparent)]
    Row(#[from] RowError),
}
