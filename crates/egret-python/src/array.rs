//! Arrays of numpy: what they hold is copied, as egret keeps it in a layout of its own.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyType};

/// A number that arrays hold.
pub trait Element: Copy {
    const CLASS: &'static str;
    fn write(self, place: &mut [u8]);
}

macro_rules! element {
    ($number:ty, $class:literal) => {
        impl Element for $number {
            const CLASS: &'static str = $class;

            fn write(self, place: &mut [u8]) {
                place.copy_from_slice(&self.to_ne_bytes());
            }
        }
    };
}

element!(f64, "float64");
element!(f32, "float32");
element!(i64, "int64");
element!(u64, "uint64");

/// An array of these numbers.
pub fn array<'py, T: Element>(py: Python<'py>, values: &[T]) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyByteArray::new_with(py, size_of_val(values), |bytes| {
        let places = bytes.chunks_exact_mut(size_of::<T>());
        places
            .zip(values)
            .for_each(|(place, value)| value.write(place));
        Ok(())
    })?;
    py.import("numpy")?
        .call_method1("frombuffer", (bytes, T::CLASS))
}

/// An array of rows of so many numbers.
pub fn rows<'py, T: Element>(
    py: Python<'py>,
    values: &[T],
    columns: usize,
) -> PyResult<Bound<'py, PyAny>> {
    array(py, values)?.call_method1("reshape", ((values.len() / columns.max(1), columns),))
}

/// The numbers of an array of one dimension; none if it is something else.
pub fn numbers(x: &Bound<'_, PyAny>) -> PyResult<Option<Vec<f64>>> {
    if !is_array(x)? || x.getattr("ndim")?.extract::<usize>()? != 1 {
        return Ok(None);
    }
    values(x).map(Some)
}

/// The rows of an array of two dimensions; none if it is something else.
pub fn matrix(many: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Vec<f64>>>> {
    if !is_array(many)? {
        return Ok(None);
    }
    let shape: Vec<usize> = many.getattr("shape")?.extract()?;
    let &[rows, columns] = shape.as_slice() else {
        return Ok(None);
    };
    let values = values(many)?;
    let row = |row: usize| values[row * columns..][..columns].to_vec();
    Ok(Some((0..rows).map(row).collect()))
}

fn is_array(x: &Bound<'_, PyAny>) -> PyResult<bool> {
    static ARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    x.is_instance(ARRAY.import(x.py(), "numpy", "ndarray")?)
}

/// All numbers of an array, row after row.
fn values(x: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    static DOUBLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = x.py();
    let double = || {
        PyResult::Ok(
            py.import("numpy")?
                .call_method1("dtype", (f64::CLASS,))?
                .unbind(),
        )
    };
    let bytes = match x.getattr("dtype")?.is(DOUBLE.get_or_try_init(py, double)?) {
        true => x.call_method0("tobytes")?,
        false => {
            let doubles = x.call_method1("astype", (f64::CLASS,))?;
            doubles.call_method0("tobytes")?
        }
    };
    let bytes = bytes.cast::<PyBytes>()?.as_bytes();
    let number = |bytes: &[u8]| f64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
    Ok(bytes.chunks_exact(8).map(number).collect())
}
