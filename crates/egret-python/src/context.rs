//! Contexts, one or many, as Python has them.

use egret::{Context, Features};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::array::{self, matrix};
use crate::error::{EgretError, raised};
use crate::value::{feature, features};

/// One context: a dict of named features, or numbers in a sequence, an array or a sparse row.
pub fn context(x: &Bound<'_, PyAny>) -> PyResult<Context> {
    if let Ok(named) = x.cast::<PyDict>() {
        return Ok(features(named)?.into());
    }
    if x.is_instance_of::<PyList>() {
        return dense(numbers(x)?);
    }
    if let Some(numbers) = array::numbers(x)? {
        return dense(numbers);
    }
    if x.hasattr("tocsr")? {
        let rows = sparse_rows(x)?;
        return match <[Context; 1]>::try_from(rows) {
            Ok([row]) => Ok(row),
            Err(rows) => Err(EgretError::new_err(format!(
                "a context is one row, and this matrix has {}: decide_batch takes many",
                rows.len()
            ))),
        };
    }
    // A row of pandas has names.
    for method in ["to_dict", "tolist"] {
        if x.hasattr(method)? {
            return context(&x.call_method0(method)?);
        }
    }
    dense(numbers(x)?)
}

fn numbers(x: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    x.extract().map_err(|_| {
        EgretError::new_err(format!(
            "a context is a dict of named features, or a sequence or array of numbers; found {x}"
        ))
    })
}

/// Many contexts: a matrix, dense or sparse, a table with named columns, or a sequence of contexts.
pub fn contexts(many: &Bound<'_, PyAny>) -> PyResult<Vec<Context>> {
    if many.hasattr("tocsr")? {
        return sparse_rows(many);
    }
    if let Some(columns) = table(many)? {
        return named_rows(columns);
    }
    if let Some(rows) = matrix(many)? {
        return rows.into_iter().map(dense).collect();
    }
    many.try_iter()?.map(|x| context(&x?)).collect()
}

/// The named features of each row of a table, or of a sequence of dicts.
pub fn named(many: &Bound<'_, PyAny>) -> PyResult<Vec<Features>> {
    let rows = contexts(many)?;
    let named = rows.iter().map(|row| {
        row.as_named().cloned().ok_or_else(|| {
            EgretError::new_err("features have names: give dicts, or a table with named columns")
        })
    });
    named.collect()
}

fn dense(numbers: Vec<f64>) -> PyResult<Context> {
    Context::dense(numbers).map_err(|error| {
        EgretError::new_err(format!(
            "{error}; cells that may be missing need names: give a dict or a table"
        ))
    })
}

/// The rows of a matrix of scipy.
fn sparse_rows(matrix: &Bound<'_, PyAny>) -> PyResult<Vec<Context>> {
    let rows = matrix.call_method0("tocsr")?;
    rows.call_method0("sum_duplicates")?;
    rows.call_method0("sort_indices")?;
    let dim = match rows.getattr("shape")?.extract::<Vec<usize>>()?.as_slice() {
        [dim] | [_, dim] => *dim,
        _ => return Err(EgretError::new_err("a sparse matrix has two dimensions")),
    };
    let starts: Vec<usize> = rows.getattr("indptr")?.call_method0("tolist")?.extract()?;
    let places: Vec<u32> = rows.getattr("indices")?.call_method0("tolist")?.extract()?;
    let values: Vec<f64> = rows.getattr("data")?.call_method0("tolist")?.extract()?;
    let entries: Vec<(u32, f64)> = places.into_iter().zip(values).collect();
    let row = |ends: &[usize]| Context::sparse(dim, entries[ends[0]..ends[1]].to_vec());
    let rows = starts.windows(2).map(|ends| row(ends).map_err(raised));
    rows.collect()
}

/// Names, and the values of each row.
type Columns<'py> = Vec<(String, Bound<'py, PyList>)>;

/// The columns of a table of pandas, polars, pyarrow or DuckDB, by name; none if it is no table.
fn table<'py>(many: &Bound<'py, PyAny>) -> PyResult<Option<Columns<'py>>> {
    // A relation of DuckDB is asked for once.
    let table = if many.hasattr("to_arrow_table")? {
        many.call_method0("to_arrow_table")?
    } else {
        many.clone()
    };
    let names = if table.hasattr("column_names")? {
        table.getattr("column_names")?
    } else if table.hasattr("columns")? {
        table.getattr("columns")?
    } else {
        return Ok(None);
    };
    let mut columns = Vec::new();
    for name in names.try_iter()? {
        let name = name?;
        let column = table.get_item(&name)?;
        let mut values = None;
        for method in ["to_list", "to_pylist", "tolist"] {
            if column.hasattr(method)? {
                values = Some(column.call_method0(method)?.cast_into::<PyList>()?);
                break;
            }
        }
        let values = values.ok_or_else(|| {
            EgretError::new_err(format!("the column {name} does not give its values"))
        })?;
        columns.push((name.str()?.to_str()?.to_owned(), values));
    }
    Ok(Some(columns))
}

fn named_rows(columns: Columns<'_>) -> PyResult<Vec<Context>> {
    let rows = columns.first().map_or(0, |(_, values)| values.len());
    let mut contexts = vec![Features::new(); rows];
    for (name, values) in &columns {
        for (row, value) in contexts.iter_mut().zip(values) {
            row.set(name.as_str(), feature(&value)?);
        }
    }
    Ok(contexts.into_iter().map(Context::named).collect())
}
