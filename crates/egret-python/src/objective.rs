//! What outcomes are.

use egret::Objective;
use pyo3::prelude::*;

use crate::error::raised;

/// What outcomes are: rewards to make large or losses to make small, in your units. maximize and minimize make one.
///
/// >>> egret.Objective("maximize:0,50") == egret.maximize(0, 50)
/// True
/// >>> egret.maximize(0, 50).loss(20)
/// 0.6
#[pyclass(frozen, eq, module = "egret", name = "Objective", from_py_object)]
#[derive(Clone, PartialEq)]
pub struct PyObjective(pub Objective);

#[pymethods]
impl PyObjective {
    /// From its text: maximize:0,50 or minimize:0,250,clip.
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        Ok(Self(text.parse().map_err(raised)?))
    }

    /// The least outcome.
    #[getter]
    fn low(&self) -> f64 {
        self.0.low()
    }

    /// The largest outcome.
    #[getter]
    fn high(&self) -> f64 {
        self.0.high()
    }

    /// The loss in [0, 1] of an outcome.
    fn loss(&self, outcome: f64) -> PyResult<f64> {
        Ok(self.0.loss(outcome).map_err(raised)?.get())
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<egret.Objective {}>", self.0)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (String,)) {
        (slf.get_type().into_any(), (slf.get().0.to_string(),))
    }
}

/// Rewards from low to high: more is better. Outside of the range an outcome is refused, or clipped to it.
///
/// >>> egret.maximize(0, 50)
/// <egret.Objective maximize:0,50>
#[pyfunction]
#[pyo3(signature = (low, high, *, clip=false))]
pub fn maximize(low: f64, high: f64, clip: bool) -> PyResult<PyObjective> {
    Ok(clipped(
        Objective::maximize(low, high).map_err(raised)?,
        clip,
    ))
}

/// Losses or costs from low to high: less is better. Outside of the range an outcome is refused, or clipped to it.
///
/// >>> egret.minimize(0, 250, clip=True).loss(500)
/// 1.0
#[pyfunction]
#[pyo3(signature = (low, high, *, clip=false))]
pub fn minimize(low: f64, high: f64, clip: bool) -> PyResult<PyObjective> {
    Ok(clipped(
        Objective::minimize(low, high).map_err(raised)?,
        clip,
    ))
}

fn clipped(objective: Objective, clip: bool) -> PyObjective {
    PyObjective(match clip {
        true => objective.clipped(),
        false => objective,
    })
}
