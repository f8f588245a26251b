//! The log of egret's decisions, the exhaust: Parquet, JSON lines, dsjson.
//!
//! docs/exhaust.md describes each column.

mod format;
mod json;
mod merge;
mod output_file;
mod parquet;
mod reader;
mod record;
mod scan;
mod writer;

pub use format::Format;
pub use merge::Merge;
pub use output_file::OutputFile;
pub use reader::{OnBad, ReadError, Reader, Skipped};
pub use record::{
    Extra, LossSource, Mode, PHILOX, Record, RowError, Time, TimeError, VERSION, WriteError,
};
pub use scan::{ColumnBatch, ColumnScan, NumberColumn};
pub use writer::Writer;
