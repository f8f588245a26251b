//! Arrays of numpy: read where they lie in memory, and given away without a copy.

use numpy::ndarray::Dimension;
use numpy::{
    Element, Ix1, Ix2, PyArray, PyArray1, PyArrayDescrMethods as _, PyArrayMethods as _,
    PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArray,
    PyUntypedArrayMethods as _,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// An array that takes over these numbers.
pub fn array<T: Element>(py: Python<'_>, values: Vec<T>) -> Bound<'_, PyAny> {
    PyArray1::from_vec(py, values).into_any()
}

/// An array of rows of so many numbers.
pub fn rows<T: Element>(
    py: Python<'_>,
    values: Vec<T>,
    columns: usize,
) -> PyResult<Bound<'_, PyAny>> {
    let count = values.len() / columns.max(1);
    let rows = PyArray1::from_vec(py, values).reshape([count, columns])?;
    Ok(rows.into_any())
}

/// An array of one dimension; none if it is something else.
pub fn vector<'py>(x: &Bound<'py, PyAny>) -> PyResult<Option<PyReadonlyArray1<'py, f64>>> {
    read::<f64, Ix1>(x)
}

/// An array of two dimensions; none if it is something else.
pub fn matrix<'py>(x: &Bound<'py, PyAny>) -> PyResult<Option<PyReadonlyArray2<'py, f64>>> {
    read::<f64, Ix2>(x)
}

/// An array of these dimensions, whose `as_slice` has its numbers row after row. Only where they are of another type, or lie
/// in another order, they are copied.
pub fn read<'py, T: Element, D: Dimension>(
    x: &Bound<'py, PyAny>,
) -> PyResult<Option<PyReadonlyArray<'py, T, D>>> {
    // What lies below a mask is no number of the user's.
    let derived =
        x.is_instance_of::<PyUntypedArray>() && !x.is_exact_instance_of::<PyUntypedArray>();
    if derived && x.hasattr("mask")? {
        return Err(PyTypeError::new_err(
            "a masked array has cells that are missing: fill them, or give a table",
        ));
    }
    if let Some(array) = in_place(x)? {
        return Ok(Some(array));
    }
    match x.cast::<PyUntypedArray>() {
        // Objects are not numbers, though they may hold some.
        Ok(array) if Some(array.ndim()) == D::NDIM && array.dtype().kind() != b'O' => {
            static REQUIRE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            let require = REQUIRE.import(x.py(), "numpy", "require")?;
            // Row after row, and aligned.
            in_place(&require.call1((array, numpy::dtype::<T>(x.py()), "CA"))?)
        }
        _ => Ok(None),
    }
}

/// An array of just these numbers and dimensions, row after row.
pub fn in_place<'py, T: Element, D: Dimension>(
    x: &Bound<'py, PyAny>,
) -> PyResult<Option<PyReadonlyArray<'py, T, D>>> {
    match x.cast::<PyArray<T, D>>() {
        Ok(array) if array.is_c_contiguous() && array.is_aligned() => {
            Ok(Some(array.try_readonly()?))
        }
        _ => Ok(None),
    }
}

/// Numbers in an array or a sequence.
pub fn numbers(x: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    match vector(x)? {
        Some(array) => Ok(array.as_slice()?.to_vec()),
        None => x.extract(),
    }
}
