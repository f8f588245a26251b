//! What is chosen: action spaces.

use egret::{
    ActionSpace, BetaPrior, Dirichlet, EmbeddingRows, Interval, Items, Knob, Knobs, LogInterval,
    Sets, Space, Steps, TruncatedNormal, UniformBox, UniformSphere,
};
use numpy::{Ix2, PyUntypedArrayMethods as _};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::{in_place, matrix, numbers, rows};
use crate::context::named;
use crate::error::{EgretError, raised};
use crate::value::{from_json, to_json};

/// Which actions there are, and how likely each is before anything is known.
///
/// Interval, LogInterval, Steps, TruncatedNormal, Beta, Box, Simplex, Sphere, Knobs, Items and Subsets make one.
///
/// >>> egret.Interval(5, 50).kind, str(egret.Interval(5, 50))
/// ('number', 'interval:5,50')
#[pyclass(frozen, eq, module = "egret", name = "Space", from_py_object)]
#[derive(Clone, PartialEq)]
pub struct PySpace {
    pub space: Space,
    pub embeddings: Option<EmbeddingRows>,
}

impl PySpace {
    fn of(space: impl ActionSpace) -> Self {
        let (space, embeddings) = space.into_parts();
        Self { space, embeddings }
    }
}

#[pymethods]
impl PySpace {
    /// What an action is: "number", "vector", "mixed", "item" or "set".
    #[getter]
    fn kind(&self) -> String {
        self.space.kind().to_string()
    }

    /// The features of items as numbers, a row for each; None for other spaces.
    #[getter]
    fn embeddings<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let embeddings = self.embeddings.as_ref();
        embeddings
            .map(|given| rows(py, given.values().to_vec(), given.dim()))
            .transpose()
    }

    fn __str__(&self) -> String {
        self.space.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<egret.Space {}>", self.space)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let space = slf.get();
        let json = to_json(&(&space.space, &space.embeddings))?;
        Ok((slf.getattr("_restored")?, (json,)))
    }

    #[staticmethod]
    fn _restored(json: &str) -> PyResult<Self> {
        let (space, embeddings) = from_json(json)?;
        Ok(Self { space, embeddings })
    }
}

/// A number from low to high: a price, a dose, a bid.
///
/// >>> egret.Interval(5, 50)
/// <egret.Space interval:5,50>
#[pyfunction(name = "Interval")]
pub fn interval(low: f64, high: f64) -> PyResult<PySpace> {
    Ok(PySpace::of(Interval::new(low, high).map_err(raised)?))
}

/// A number from low to high whose ratios matter: a timeout, a buffer, a learning rate. low is above 0.
///
/// >>> 1e3 <= egret.Model(egret.LogInterval(1e3, 1e9)).decide([1.0]).action <= 1e9
/// True
#[pyfunction(name = "LogInterval")]
pub fn log_interval(low: f64, high: f64) -> PyResult<PySpace> {
    Ok(PySpace::of(LogInterval::new(low, high).map_err(raised)?))
}

/// low, low + step, and so on to high: cents, retries.
///
/// >>> egret.Model(egret.Steps(5, 50, 0.5)).decide([1.0]).action % 0.5
/// 0.0
#[pyfunction(name = "Steps", signature = (low, high, step=1.0))]
pub fn steps(low: f64, high: f64, step: f64) -> PyResult<PySpace> {
    Ok(PySpace::of(Steps::new(low, high, step).map_err(raised)?))
}

/// A number from low to high that is looked for near the mean first.
///
/// >>> 5 <= egret.Model(egret.TruncatedNormal(20, 5, 5, 50)).decide([1.0]).action <= 50
/// True
#[pyfunction(name = "TruncatedNormal")]
pub fn truncated_normal(mean: f64, sd: f64, low: f64, high: f64) -> PyResult<PySpace> {
    let normal = TruncatedNormal::new(mean, sd, low, high).map_err(raised)?;
    Ok(PySpace::of(normal))
}

/// A number from low to high that is looked for by a Beta distribution first.
///
/// >>> 5 <= egret.Model(egret.Beta(2, 3, 5, 50)).decide([1.0]).action <= 50
/// True
#[pyfunction(name = "Beta")]
pub fn beta(a: f64, b: f64, low: f64, high: f64) -> PyResult<PySpace> {
    Ok(PySpace::of(
        BetaPrior::new(a, b, low, high).map_err(raised)?,
    ))
}

/// Several numbers at once, each between two ends: Box([(1, 16), (1, 64)]) for cache and threads.
///
/// >>> egret.Model(egret.Box([(1, 16), (1, 64)])).decide([1.0]).action.shape
/// (2,)
#[pyfunction(name = "Box")]
pub fn sides(sides: Vec<(f64, f64)>) -> PyResult<PySpace> {
    Ok(PySpace::of(UniformBox::new(&sides).map_err(raised)?))
}

/// Shares of a whole, which sum to 1: a budget over so many channels; or the parameters of a Dirichlet distribution.
///
/// >>> round(float(egret.Model(egret.Simplex(3)).decide([1.0]).action.sum()), 9)
/// 1.0
#[pyfunction(name = "Simplex")]
pub fn simplex(alpha: &Bound<'_, PyAny>) -> PyResult<PySpace> {
    let alpha = match alpha.extract::<usize>() {
        Ok(parts) => vec![1.0; parts],
        Err(_) => numbers(alpha)?,
    };
    Ok(PySpace::of(Dirichlet::new(&alpha).map_err(raised)?))
}

/// A direction: unit vectors of so many coordinates.
///
/// >>> round(float((egret.Model(egret.Sphere(3)).decide([1.0]).action ** 2).sum()), 9)
/// 1.0
#[pyfunction(name = "Sphere")]
pub fn sphere(dim: usize) -> PyResult<PySpace> {
    Ok(PySpace::of(UniformSphere::new(dim).map_err(raised)?))
}

/// One of many items, by the features of each: dicts, a table with named columns, or an array with a row for each.
///
/// An action is the place of an item, from 0. Weights are relative probabilities before anything is known.
///
/// >>> shoes = egret.Items([{"size": 38, "colour": "red"}, {"size": 42, "colour": "blue"}])
/// >>> egret.Model(shoes).decide([1.0]).action in (0, 1)
/// True
#[pyfunction(name = "Items", signature = (features, *, weights=None))]
pub fn items(features: &Bound<'_, PyAny>, weights: Option<&Bound<'_, PyAny>>) -> PyResult<PySpace> {
    let items = described(features)?;
    let items = match weights {
        Some(weights) => items.with_weights(numbers(weights)?).map_err(raised)?,
        None => items,
    };
    Ok(PySpace::of(items))
}

fn described(features: &Bound<'_, PyAny>) -> PyResult<Items> {
    let rows = if let Some(singles) = in_place::<f32, Ix2>(features)? {
        EmbeddingRows::from_singles(singles.shape()[1], singles.as_slice()?.to_vec())
    } else if let Some(rows) = matrix(features)? {
        EmbeddingRows::new(rows.shape()[1], rows.as_slice()?.to_vec())
    } else {
        return Items::infer(&named(features)?).map_err(raised);
    };
    Items::new(rows.map_err(raised)?).map_err(raised)
}

/// So many distinct items of a list: 3 examples of 30,000 for a prompt. An action is a list of places, in increasing order.
///
/// The items are given by their features, as in Items, which Model needs; FunctionModel knows items by your function, and needs
/// only their count.
///
/// >>> egret.Subsets(30_000, 3)
/// <egret.Space set:30000,3>
/// >>> documents = egret.Subsets([{"pages": 3}, {"pages": 5}, {"pages": 8}], 2)
/// >>> len(egret.Model(documents).decide([1.0]).action)
/// 2
#[pyfunction(name = "Subsets")]
pub fn subsets(items: &Bound<'_, PyAny>, size: usize) -> PyResult<PySpace> {
    if let Ok(count) = items.extract::<usize>() {
        let space = Space::Set { count, size };
        space.check().map_err(raised)?;
        return Ok(PySpace {
            space,
            embeddings: None,
        });
    }
    let items = described(items)?;
    Ok(PySpace::of(Sets::new(items, size).map_err(raised)?))
}

/// Several knobs with names, each an Interval or two ends, Steps, or a list of categories. An action is a dict.
///
/// >>> knobs = egret.Knobs(price=egret.Steps(5, 50, 0.5), colour=["red", "blue"], speed=(0, 1))
/// >>> sorted(egret.Model(knobs).decide([1.0]).action)
/// ['colour', 'price', 'speed']
#[pyfunction(name = "Knobs", signature = (**knobs))]
pub fn knobs(knobs: Option<&Bound<'_, PyDict>>) -> PyResult<PySpace> {
    let mut space = Knobs::new();
    for (name, value) in knobs.into_iter().flatten() {
        let name: String = name.extract()?;
        let knob = knob(&value).ok_or_else(|| {
            EgretError::new_err(format!(
                "knob {name}: expected an Interval, two ends, Steps or a list of names"
            ))
        })?;
        space = space.with(&name, knob).map_err(raised)?;
    }
    Ok(PySpace::of(space))
}

fn knob(value: &Bound<'_, PyAny>) -> Option<Knob> {
    if let Ok(names) = value.extract::<Vec<String>>() {
        return Some(Knob::Categories(names));
    }
    if let Ok((low, high)) = value.extract() {
        return Some(Knob::Interval { low, high });
    }
    match value.extract::<PySpace>().ok()?.space {
        Space::Interval { low, high } => Some(Knob::Interval { low, high }),
        Space::Steps { low, high, step } => Some(Knob::Steps { low, high, step }),
        _ => None,
    }
}
