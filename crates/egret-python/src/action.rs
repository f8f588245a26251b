//! Actions: a number is a float, a vector an array, an item an int, a mixed action a dict, a set a list.

use egret::{AnyAction, Item, Vector};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::{array, rows};
use crate::error::{EgretError, raised};
use crate::value::{from_object, to_object};

/// An action for Python.
pub fn to_python<'py>(py: Python<'py>, action: &AnyAction) -> PyResult<Bound<'py, PyAny>> {
    match action {
        AnyAction::Number(value) => value.into_bound_py_any(py),
        AnyAction::Vector(vector) => array(py, vector.as_slice()),
        AnyAction::Item(Item(index)) => index.into_bound_py_any(py),
        AnyAction::Mixed(_) | AnyAction::Set(_) => to_object(py, action),
    }
}

/// Actions of one kind: an array where it holds them, else a list.
pub fn many_to_python<'py>(py: Python<'py>, actions: &[&AnyAction]) -> PyResult<Bound<'py, PyAny>> {
    let numbers: Option<Vec<f64>> = all(actions, |action| match action {
        AnyAction::Number(value) => Some(*value),
        _ => None,
    });
    if let Some(numbers) = numbers {
        return array(py, &numbers);
    }
    let items: Option<Vec<i64>> = all(actions, |action| match action {
        AnyAction::Item(Item(index)) => Some(i64::from(*index)),
        _ => None,
    });
    if let Some(items) = items {
        return array(py, &items);
    }
    let vectors: Option<Vec<&[f64]>> = all(actions, |action| match action {
        AnyAction::Vector(vector) => Some(vector.as_slice()),
        _ => None,
    });
    if let Some(vectors) = vectors.filter(|vectors| are_even(vectors)) {
        return rows(py, &vectors.concat(), vectors[0].len());
    }
    let sets: Option<Vec<&[Item]>> = all(actions, |action| match action {
        AnyAction::Set(set) => Some(set.items()),
        _ => None,
    });
    if let Some(sets) = sets.filter(|sets| are_even(sets)) {
        let places = sets.iter().copied().flatten().map(|item| i64::from(item.0));
        return rows(py, &places.collect::<Vec<_>>(), sets[0].len());
    }
    let objects = actions.iter().map(|action| to_python(py, action));
    objects.collect::<PyResult<Vec<_>>>()?.into_bound_py_any(py)
}

fn all<'a, T>(
    actions: &[&'a AnyAction],
    part: impl Fn(&'a AnyAction) -> Option<T>,
) -> Option<Vec<T>> {
    actions.iter().map(|action| part(action)).collect()
}

/// Whether all rows have as many cells.
fn are_even<T>(rows: &[&[T]]) -> bool {
    rows.windows(2).all(|pair| pair[0].len() == pair[1].len())
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
    let actions = match actions.hasattr("tolist")? {
        true => actions.call_method0("tolist")?,
        false => actions.clone(),
    };
    actions
        .try_iter()?
        .map(|action| from_python(&action?))
        .collect()
}
