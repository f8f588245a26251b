//! Arrays of numpy: what they hold is copied, as egret keeps it in a layout of its own.

use pyo3::prelude::*;

/// An array of these numbers, or of these rows of numbers.
pub fn array<'py>(
    py: Python<'py>,
    values: impl IntoPyObject<'py>,
    class: &str,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("numpy")?.call_method1("array", (values, class))
}

/// The rows of an array of two dimensions; none if it is something else.
pub fn matrix(many: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Vec<f64>>>> {
    match many.getattr("ndim") {
        Ok(ndim) if ndim.extract::<usize>()? == 2 && many.hasattr("dtype")? => {
            Ok(Some(many.call_method0("tolist")?.extract()?))
        }
        _ => Ok(None),
    }
}
