//! Tables of others, through Arrow's C stream interface: pyarrow, pandas, polars and DuckDB have it. Nothing is copied.

use arrow_array::RecordBatchReader as _;
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use egret_log::MemoryTable;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::log_error;

/// What the capsule of a stream is called.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// The rows of what has `__arrow_c_stream__`.
pub fn memory_table(table: &Bound<'_, PyAny>) -> PyResult<MemoryTable> {
    let capsule = table.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast_into::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(STREAM))?;
    let stream = stream.as_ptr().cast::<FFI_ArrowArrayStream>();
    #[expect(
        unsafe_code,
        reason = "Arrow's C interface: a capsule of this name holds such a stream"
    )]
    let reader = unsafe { ArrowArrayStreamReader::from_raw(stream) }.map_err(log_error)?;
    let schema = reader.schema();
    // Who makes the batches as they are asked for may wait for threads that want the interpreter.
    let batches: Result<Vec<_>, _> = table.py().detach(|| reader.collect());
    Ok(MemoryTable::new(schema, batches.map_err(log_error)?))
}
