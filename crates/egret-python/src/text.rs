//! Short texts, as the command takes them, to the JSON of requests.

use egret::{Objective, OracleSpec, Space};
use egret_jobs::PolicySpec;
use pyo3::prelude::*;

use crate::error::raised;
use crate::value::to_json;

/// A policy.
#[pyfunction]
pub fn policy_json(text: &str) -> PyResult<String> {
    to_json(&text.parse::<PolicySpec>().map_err(raised)?)
}

/// How outcomes are predicted.
#[pyfunction]
pub fn oracle_json(text: &str) -> PyResult<String> {
    to_json(&text.parse::<OracleSpec>().map_err(raised)?)
}

/// An action space.
#[pyfunction]
pub fn space_json(text: &str) -> PyResult<String> {
    to_json(&text.parse::<Space>().map_err(raised)?)
}

/// What outcomes are.
#[pyfunction]
pub fn objective_json(text: &str) -> PyResult<String> {
    to_json(&text.parse::<Objective>().map_err(raised)?)
}
