//! Records as Parquet: one column for each field of the record, and one for each extra.
//!
//! | file              | what it does                                                    |
//! |-------------------|-----------------------------------------------------------------|
//! | [`layout`]        | which columns a file has, from the records it is to hold        |
//! | [`named_columns`] | which columns named features have, and what stands in the rest  |
//! | [`list_type`]     | what lists are                                                  |
//! | [`writer`]        | gathers records into row groups and writes them                 |
//! | [`table_column`]  | one column of a batch, and how to get a value out of it         |
//! | [`arrow_messages`] | checks the parts of Arrow's own files before they are decoded |
//! | [`memory_table`]  | batches that are in memory already                              |
//! | [`source`]        | reads a file back, row by row; Arrow's own files too, for their batches are the same |
//!
//! Reading columns without making records is another thing: see [`scan`](crate::scan).

pub(crate) mod arrow_messages;
pub(crate) mod layout;
pub(crate) mod list_type;
pub(crate) mod memory_table;
pub(crate) mod named_columns;
pub(crate) mod source;
pub(crate) mod table_column;
pub(crate) mod writer;
