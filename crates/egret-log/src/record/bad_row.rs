use serde_json::Value;

use crate::record::RowError;

/// A row that is not a record.
#[derive(Debug)]
pub(crate) struct BadRow {
    /// Its place in the file, from 1.
    pub(crate) row: u64,
    pub(crate) error: RowError,
    /// What it was, as near as JSON can be.
    pub(crate) content: Value,
}
