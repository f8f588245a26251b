//! The log of egret's decisions, and logs from elsewhere: Parquet, Arrow, CSV, JSON lines, dsjson.
//!
//! | you want                                       | type                                           |
//! |------------------------------------------------|------------------------------------------------|
//! | one event: context, action, propensity, loss   | [`Record`]                                     |
//! | to write records to a file                     | [`Writer`]                                     |
//! | to read records from files and folders         | [`Reader`]                                     |
//! | to say which column of a table is what         | [`LogMapping`]                                 |
//! | the rows of a table, whatever they mean        | [`TableReader`]                                |
//! | a few columns of numbers, fast                 | [`ColumnScan`]                                 |
//! | a log that is a table in memory                | [`MemoryTable`]                                |
//! | many logs as one, in order of `seq`            | [`Merge`]                                      |
//!
//! A file holds one [`Format`]; its ending says which. Readers check every row, and an error names file, row and field.
//! docs/log.md describes each column.
//!
//! ```
//! use egret::{Context, Density, Loss, Propensity};
//! use egret_log::{Format, OnBad, Reader, Record, Writer};
//!
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join("log.jsonl");
//! let drawn = Propensity::Density(Density::new(2.5)?);
//! let mut record = Record::bare(Context::dense(vec![0.1, 0.7])?, 19.5.into(), drawn);
//! record.loss = Some(Loss::new(0.25)?);
//! let mut writer = Writer::create(&file, Format::JsonLines)?;
//! writer.write(&record)?;
//! writer.finish()?;
//!
//! for read in Reader::open(&[&file], OnBad::Stop)? {
//!     assert_eq!(read?, record);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod format;
mod input;
mod json;
mod mapping;
mod merge;
mod output_file;
mod parquet;
mod reader;
mod record;
mod scan;
mod table;
mod table_reader;
mod writer;

pub use format::Format;
pub use mapping::{LogMapping, NO_DENSITY, ValueRange, ValueRangeError, nearest, unit_of};
pub use merge::Merge;
pub use output_file::{OutputFile, is_stream};
pub use parquet::memory_table::MemoryTable;
pub use reader::{OnBad, ReadError, Reader, Skipped};
pub use record::{
    Cells, Extra, LossSource, Mode, PHILOX, Record, RowError, Time, TimeError, VERSION, WriteError,
};
pub use scan::{ColumnBatch, ColumnScan, NumberColumn};
pub use table::{flattened, typed_cell};
pub use table_reader::TableReader;
pub use writer::Writer;
