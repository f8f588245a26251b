//! Named values, and data that has a JSON form.

use egret::{FeatureValue, Features};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{EgretError, raised};

/// The features of a mapping from names to values.
pub fn features(values: &Bound<'_, PyDict>) -> PyResult<Features> {
    let mut features = Features::new();
    for (name, value) in values {
        let name = name.cast::<PyString>().map_err(|_| {
            EgretError::new_err(format!("the name of a feature is text, found {name}"))
        })?;
        features.set(name.to_str()?, feature(&value)?);
    }
    Ok(features)
}

/// One value. `None`, NaN, NaT and pandas' NA are missing; dates and times are text after ISO 8601.
pub fn feature(value: &Bound<'_, PyAny>) -> PyResult<FeatureValue> {
    if value.is_none() {
        return Ok(FeatureValue::Missing);
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(number.value().into());
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_str()?.into());
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true().into());
    }
    if let Ok(number) = value.cast::<PyInt>() {
        // Beyond 64 bits it is a name rather than a quantity, as in JSON.
        return Ok(match number.extract::<i64>() {
            Ok(number) => number.into(),
            Err(_) => number.str()?.to_str()?.into(),
        });
    }
    if let Ok(values) = value.cast::<PyDict>() {
        return Ok(features(values)?.into());
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let values = value.try_iter()?.map(|value| feature(&value?));
        return Ok(FeatureValue::List(values.collect::<PyResult<_>>()?));
    }
    other(value)
}

/// Values of numpy, pandas and the standard library that are none of Python's own.
fn other(value: &Bound<'_, PyAny>) -> PyResult<FeatureValue> {
    let class = value.get_type().name()?.to_string();
    if class == "NAType" || class == "NaTType" {
        return Ok(FeatureValue::Missing);
    }
    if value.hasattr("tolist")? {
        return feature(&value.call_method0("tolist")?);
    }
    if value.hasattr("isoformat")? {
        return feature(&value.call_method0("isoformat")?);
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(number.into());
    }
    Err(EgretError::new_err(format!(
        "a feature is None, a number, text, a flag, a time, a list or a dict of these; found {class}"
    )))
}

/// Data from its JSON form.
pub fn from_json<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(raised)
}

/// Data from Python's dicts, lists and numbers in its JSON form.
pub fn from_object<T: DeserializeOwned>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    let json = value.py().import("json")?;
    let text = json.call_method1("dumps", (value,))?;
    from_json(text.cast::<PyString>()?.to_str()?)
}

/// The JSON form of data.
pub fn to_json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(raised)
}

/// Data as Python's dicts, lists and numbers.
pub fn to_object<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (to_json(value)?,))
}
