pub(crate) mod layout;
pub(crate) mod source;
pub(crate) mod table_column;
pub(crate) mod writer;
