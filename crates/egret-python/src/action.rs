//! Actions: a number is a float, a vector an array, an item an int, a mixed action a dict, a set a list.

use std::borrow::Borrow;

use egret::{AnyAction, Item, Vector};
use numpy::PyUntypedArrayMethods as _;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::{self, array, rows};
use crate::error::{EgretError, raised};
use crate::value::{from_object, to_object};

/// An action for Python.
pub fn to_python<'py>(py: Python<'py>, action: &AnyAction) -> PyResult<Bound<'py, PyAny>> {
    match action {
        AnyAction::Number(value) => value.into_bound_py_any(py),
        AnyAction::Vector(vector) => Ok(array(py, vector.as_slice().to_vec())),
        AnyAction::Item(Item(index)) => index.into_bound_py_any(py),
        AnyAction::Mixed(_) | AnyAction::Set(_) => to_object(py, action),
    }
}

/// Actions of one model on their way to Python: an array where it holds them, else a list.
pub enum Actions {
    Numbers(Vec<f64>),
    Items(Vec<i64>),
    /// Row after row.
    Vectors(Vec<f64>, usize),
    /// Row after row.
    Sets(Vec<i64>, usize),
    Mixed(Vec<AnyAction>),
}

impl Actions {
    /// None yet, of the kind of this one.
    fn like(action: &AnyAction) -> Self {
        match action {
            AnyAction::Number(_) => Self::Numbers(Vec::new()),
            AnyAction::Item(_) => Self::Items(Vec::new()),
            AnyAction::Vector(vector) => Self::Vectors(Vec::new(), vector.as_slice().len()),
            AnyAction::Set(set) => Self::Sets(Vec::new(), set.items().len()),
            AnyAction::Mixed(_) => Self::Mixed(Vec::new()),
        }
    }

    fn push(&mut self, action: &AnyAction) {
        match (self, action) {
            (Self::Numbers(all), AnyAction::Number(value)) => all.push(*value),
            (Self::Items(all), AnyAction::Item(item)) => all.push(i64::from(item.0)),
            (Self::Vectors(all, _), AnyAction::Vector(vector)) => all.extend(vector.as_slice()),
            (Self::Sets(all, _), AnyAction::Set(set)) => {
                all.extend(set.items().iter().map(|item| i64::from(item.0)));
            }
            (Self::Mixed(all), action) => all.push(action.clone()),
            _ => unreachable!("a model has actions of one kind"),
        }
    }

    /// For Python, which takes over the numbers.
    pub fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Self::Numbers(all) => Ok(array(py, all)),
            Self::Items(all) => Ok(array(py, all)),
            Self::Vectors(all, columns) => rows(py, all, columns),
            Self::Sets(all, columns) => rows(py, all, columns),
            Self::Mixed(all) => {
                let objects = all.iter().map(|action| to_python(py, action));
                objects.collect::<PyResult<Vec<_>>>()?.into_bound_py_any(py)
            }
        }
    }
}

impl<T: Borrow<AnyAction>> FromIterator<T> for Actions {
    fn from_iter<I: IntoIterator<Item = T>>(actions: I) -> Self {
        let mut actions = actions.into_iter().peekable();
        let first = actions.peek().map(Borrow::borrow);
        let mut all = first.map_or(Self::Numbers(Vec::new()), Self::like);
        actions.for_each(|action| all.push(action.borrow()));
        all
    }
}

/// An action from Python.
pub fn from_python(action: &Bound<'_, PyAny>) -> PyResult<AnyAction> {
    if let Ok(value) = action.extract::<f64>() {
        return Ok(value.into());
    }
    if action.is_instance_of::<PyDict>() {
        return Ok(AnyAction::Mixed(from_object(action)?));
    }
    if let Ok(numbers) = action.extract::<Vec<f64>>() {
        return Ok(Vector::new(&numbers).map_err(raised)?.into());
    }
    Err(EgretError::new_err(format!(
        "an action is a number, an index, a sequence of numbers or a dict of knobs; found {}",
        action.get_type().name()?
    )))
}

/// Actions from Python: an array of one or two dimensions, or a sequence.
pub fn many_from_python(actions: &Bound<'_, PyAny>) -> PyResult<Vec<AnyAction>> {
    if let Some(numbers) = array::vector(actions)? {
        let numbers = numbers.as_slice()?.iter();
        return Ok(numbers.map(|&number| number.into()).collect());
    }
    if let Some(vectors) = array::matrix(actions)? {
        let (count, columns) = (vectors.shape()[0], vectors.shape()[1]);
        let numbers = vectors.as_slice()?;
        let vector = |row: usize| Vector::new(&numbers[row * columns..][..columns]);
        let vectors = (0..count).map(|row| Ok(vector(row).map_err(raised)?.into()));
        return vectors.collect();
    }
    let actions = match actions.hasattr("tolist")? {
        true => actions.call_method0("tolist")?,
        false => actions.clone(),
    };
    actions
        .try_iter()?
        .map(|action| from_python(&action?))
        .collect()
}
