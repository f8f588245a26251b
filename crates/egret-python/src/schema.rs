//! How named features become numbers.

use egret::{FeatureSchema, Field, FieldKind};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::context::named;
use crate::error::{EgretError, raised};
use crate::value::{from_json, from_object, to_json, to_object};

/// Columns of hashed text and of tokens, as a power of 2.
const BITS: u8 = 8;

/// How named features become numbers, by name and kind.
///
/// A kind is "number", "flag", "time", "hashed" (text of very many values), "tokens" (a list of words), a list of
/// categories, how many numbers a vector has, or a dict in the form of to_dict. What is missing or of another type is
/// handled by the rules of docs/features.md and counted; a strict schema refuses it.
///
/// >>> egret.Schema({"income": "number", "country": ["NZ", "AU"], "returning": "flag"})
/// <egret.Schema income, country, returning>
#[pyclass(frozen, eq, module = "egret", name = "Schema", from_py_object)]
#[derive(Clone, PartialEq)]
pub struct PySchema(pub FeatureSchema);

#[pymethods]
impl PySchema {
    #[new]
    #[pyo3(signature = (fields, *, strict=false))]
    fn new(fields: &Bound<'_, PyDict>, strict: bool) -> PyResult<Self> {
        let mut schema = FeatureSchema::new();
        for (name, kind) in fields {
            let name: String = name.extract()?;
            schema = schema.with(name, field(&kind)?).map_err(raised)?;
        }
        Ok(Self(if strict { schema.strict() } else { schema }))
    }

    /// The schema that suits these contexts: a table with named columns, or a sequence of dicts.
    #[staticmethod]
    fn infer(contexts: &Bound<'_, PyAny>) -> PyResult<Self> {
        let schema = FeatureSchema::infer(&named(contexts)?);
        Ok(Self(schema.map_err(raised)?))
    }

    /// From JSON, as the command and the log write it.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        Ok(Self(from_json(text)?))
    }

    /// Its JSON, which the command takes.
    fn to_json(&self) -> PyResult<String> {
        to_json(&self.0)
    }

    /// The same as dicts and lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_object(py, &self.0)
    }

    /// The names of its fields.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.fields().map(|(name, _)| name.to_owned()).collect()
    }

    /// How many numbers a context becomes.
    #[getter]
    fn width(&self) -> usize {
        self.0.width()
    }

    fn __repr__(&self) -> String {
        format!("<egret.Schema {}>", self.names().join(", "))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.getattr("from_json")?, (slf.get().to_json()?,)))
    }
}

fn field(kind: &Bound<'_, PyAny>) -> PyResult<Field> {
    if let Ok(name) = kind.cast::<PyString>() {
        return match name.to_str()? {
            "number" => Ok(FieldKind::number()),
            "flag" => Ok(FieldKind::flag()),
            "time" => Ok(FieldKind::time()),
            "hashed" => Ok(FieldKind::hashed(BITS)),
            "tokens" => Ok(FieldKind::tokens(BITS)),
            other => Err(EgretError::new_err(format!(
                "no kind of field is called {other:?}, expected number, flag, time, hashed, tokens, or a list of categories"
            ))),
        };
    }
    if let Ok(len) = kind.extract::<u32>() {
        return Ok(FieldKind::vector(len));
    }
    if kind.is_instance_of::<PyDict>() {
        return from_object(kind);
    }
    Ok(FieldKind::category(kind.extract::<Vec<String>>()?))
}
