//! From errors of the crates to exceptions of Python: one hierarchy, below `ValueError`.

use std::error::Error;

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    egret,
    EgretError,
    PyValueError,
    "What egret cannot do, and why. All of its exceptions are of this class, which is a ValueError.\n\n\
     >>> egret.Interval(5, 5)\n\
     Traceback (most recent call last):\n    \
     ...\n\
     egret.EgretError: high is 5, must be in (low, inf)"
);
create_exception!(
    egret,
    LogError,
    EgretError,
    "A log that cannot be read or written: the message names file, row and field.\n\n\
     >>> egret.summarize('nowhere.parquet')  # doctest: +ELLIPSIS\n\
     Traceback (most recent call last):\n    \
     ...\n\
     egret.LogError: nowhere.parquet: ..."
);

/// An exception with the words of an error and of all that caused it.
pub fn raised(error: impl Error) -> PyErr {
    EgretError::new_err(words(&error))
}

/// As [`raised`], for logs.
pub fn log_error(error: impl Error) -> PyErr {
    LogError::new_err(words(&error))
}

/// The words of an error and of all that caused it.
pub fn words(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words += &format!(": {error}");
        cause = error.source();
    }
    words
}
