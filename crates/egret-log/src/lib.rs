//! The log of egret's decisions, the exhaust: Parquet, JSON lines, dsjson.
//!
//! docs/exhaust.md describes each column.

mod bad_row;
mod columns;
mod draft;
mod dsjson;
mod extra;
mod field;
mod format;
mod json_lines;
mod line_source;
mod logged_action;
mod mu_cache;
mod number_column;
mod output_file;
mod parquet_layout;
mod parquet_source;
mod parquet_writer;
mod reader;
mod record;
mod row_error;
mod table_column;
mod time;
mod write_error;
mod writer;

pub use columns::Columns;
pub use extra::Extra;
pub use format::Format;
pub use logged_action::{ActionError, FromLogged, LoggedAction};
pub use number_column::{ColumnBatch, NumberColumn};
pub use output_file::OutputFile;
pub use reader::{OnBad, ReadError, Reader, Skipped};
pub use record::{LossSource, Mode, PHILOX, Record, VERSION};
pub use row_error::RowError;
pub use time::{Time, TimeError};
pub use write_error::WriteError;
pub use writer::Writer;
