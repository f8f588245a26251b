use std::sync::Arc;

use arrow_schema::{DataType, Field};

/// Lists of values, none of them null.
pub(crate) fn list_of(kind: DataType) -> DataType {
    DataType::List(Arc::new(element(kind)))
}

/// The field of such a list's values.
pub(crate) fn element(kind: DataType) -> Field {
    Field::new("element", kind, false)
}
