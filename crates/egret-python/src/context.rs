//! Contexts, one or many, as Python has them.

use std::slice::ChunksExact;
use std::vec;

use egret::{Context, Features};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods as _};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::array;
use crate::error::{EgretError, raised};
use crate::value::{feature, features};

/// One context: a dict of named features, or numbers in a sequence, an array or a sparse row.
pub fn context(x: &Bound<'_, PyAny>) -> PyResult<Context> {
    if let Ok(named) = x.cast::<PyDict>() {
        return Ok(features(named)?.into());
    }
    if x.is_instance_of::<PyList>() {
        return dense(numbers(x)?).map_err(EgretError::new_err);
    }
    if let Some(numbers) = array::vector(x)? {
        return dense(numbers.as_slice()?.to_vec()).map_err(EgretError::new_err);
    }
    if x.hasattr("tocsr")? {
        let mut matrix = Contexts::Sparse(SparseRows::new(x)?);
        let mut rows = matrix.rows()?;
        return match (rows.len(), rows.next()) {
            (1, Some(row)) => row.map_err(EgretError::new_err),
            (count, _) => Err(EgretError::new_err(format!(
                "a context is one row, and this matrix has {count}: decide_batch takes many"
            ))),
        };
    }
    // A row of pandas has names.
    for method in ["to_dict", "tolist"] {
        if x.hasattr(method)? {
            return context(&x.call_method0(method)?);
        }
    }
    dense(numbers(x)?).map_err(EgretError::new_err)
}

fn numbers(x: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    x.extract().map_err(|_| {
        EgretError::new_err(format!(
            "a context is a dict of named features, or a sequence or array of numbers; found {x}"
        ))
    })
}

fn dense(numbers: Vec<f64>) -> Result<Context, String> {
    Context::dense(numbers).map_err(|error| {
        format!("{error}; cells that may be missing need names: give a dict or a table")
    })
}

/// Many contexts, as they were handed in: a matrix, dense or sparse, a table with named columns, or a sequence of contexts.
///
/// A matrix stays where it lies in memory: each of its rows becomes a context when its turn comes.
pub enum Contexts<'py> {
    Dense(PyReadonlyArray2<'py, f64>),
    Sparse(SparseRows<'py>),
    Made(Vec<Context>),
}

impl<'py> Contexts<'py> {
    /// Those of an object of Python.
    pub fn new(many: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Some(matrix) = array::matrix(many)? {
            return Ok(match matrix.shape() {
                &[rows, 0] => Self::Made(vec![Context::dense(Vec::new()).map_err(raised)?; rows]),
                _ => Self::Dense(matrix),
            });
        }
        if many.hasattr("tocsr")? {
            return Ok(Self::Sparse(SparseRows::new(many)?));
        }
        if let Some(columns) = table(many)? {
            return Ok(Self::Made(named_rows(columns)?));
        }
        let made = many.try_iter()?.map(|x| context(&x?));
        Ok(Self::Made(made.collect::<PyResult<_>>()?))
    }

    /// One after the other, each once, without the interpreter.
    pub fn rows(&mut self) -> PyResult<Rows<'_>> {
        Ok(match self {
            Self::Dense(matrix) => {
                let columns = matrix.shape()[1];
                Rows::Dense(matrix.as_slice()?.chunks_exact(columns))
            }
            Self::Sparse(matrix) => Rows::Sparse(matrix.entries()?),
            Self::Made(contexts) => Rows::Made(std::mem::take(contexts).into_iter()),
        })
    }
}

/// Contexts one after the other; what is wrong with one is told in words.
#[derive(Clone)]
pub enum Rows<'a> {
    Dense(ChunksExact<'a, f64>),
    Sparse(Entries<'a>),
    Made(vec::IntoIter<Context>),
}

impl Rows<'_> {
    /// Those that stand in memory as contexts, all or none.
    pub fn made(&self) -> &[Context] {
        match self {
            Self::Made(contexts) => contexts.as_slice(),
            _ => &[],
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Context, String>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Dense(rows) => Some(dense(rows.next()?.to_vec())),
            Self::Sparse(rows) => rows.next(),
            Self::Made(contexts) => Some(Ok(contexts.next()?)),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match self {
            Self::Dense(rows) => rows.len(),
            Self::Sparse(rows) => rows.ends.len().saturating_sub(1),
            Self::Made(contexts) => contexts.len(),
        };
        (left, Some(left))
    }
}

impl ExactSizeIterator for Rows<'_> {}

/// What was wrong with a context, and in a batch which row it was.
pub fn refused(row: usize, count: usize, problem: String) -> PyErr {
    EgretError::new_err(match count {
        1 => problem,
        _ => format!("row {row}: {problem}"),
    })
}

/// A matrix of scipy, row after row.
pub struct SparseRows<'py> {
    dim: usize,
    /// Where each row begins, and where the last one ends.
    ends: PyReadonlyArray1<'py, i64>,
    places: Places<'py>,
    values: PyReadonlyArray1<'py, f64>,
}

/// The columns of entries: scipy has either type of number.
enum Places<'py> {
    Short(PyReadonlyArray1<'py, i32>),
    Long(PyReadonlyArray1<'py, i64>),
}

impl<'py> SparseRows<'py> {
    fn new(matrix: &Bound<'py, PyAny>) -> PyResult<Self> {
        let rows = matrix.call_method0("tocsr")?;
        rows.call_method0("sum_duplicates")?;
        rows.call_method0("sort_indices")?;
        let dim = match rows.getattr("shape")?.extract::<Vec<usize>>()?.as_slice() {
            [dim] | [_, dim] => *dim,
            _ => return Err(EgretError::new_err("a sparse matrix has two dimensions")),
        };
        let no_array = || EgretError::new_err("a sparse matrix consists of arrays");
        let places = rows.getattr("indices")?;
        Ok(Self {
            dim,
            ends: array::read(&rows.getattr("indptr")?)?.ok_or_else(no_array)?,
            places: match array::in_place(&places)? {
                Some(places) => Places::Short(places),
                None => Places::Long(array::read(&places)?.ok_or_else(no_array)?),
            },
            values: array::vector(&rows.getattr("data")?)?.ok_or_else(no_array)?,
        })
    }

    fn entries(&self) -> PyResult<Entries<'_>> {
        Ok(Entries {
            dim: self.dim,
            ends: self.ends.as_slice()?,
            places: match &self.places {
                Places::Short(places) => PlaceSlice::Short(places.as_slice()?),
                Places::Long(places) => PlaceSlice::Long(places.as_slice()?),
            },
            values: self.values.as_slice()?,
        })
    }
}

/// The rows of a sparse matrix that are left.
#[derive(Clone)]
pub struct Entries<'a> {
    dim: usize,
    ends: &'a [i64],
    places: PlaceSlice<'a>,
    values: &'a [f64],
}

#[derive(Clone, Copy)]
enum PlaceSlice<'a> {
    Short(&'a [i32]),
    Long(&'a [i64]),
}

impl PlaceSlice<'_> {
    fn get(self, entry: usize) -> Option<u32> {
        match self {
            Self::Short(places) => places.get(entry)?.to_owned().try_into().ok(),
            Self::Long(places) => places.get(entry)?.to_owned().try_into().ok(),
        }
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<Context, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let (&[start, end], _) = self.ends.split_first_chunk()?;
        self.ends = &self.ends[1..];
        let entry = |entry: i64| {
            let entry = usize::try_from(entry).ok()?;
            Some((self.places.get(entry)?, *self.values.get(entry)?))
        };
        let entries: Option<Vec<_>> = (start..end).map(entry).collect();
        Some(match entries {
            Some(entries) => Context::sparse(self.dim, entries).map_err(|error| error.to_string()),
            None => Err("the indices of the sparse matrix lie outside of it".to_owned()),
        })
    }
}

/// The named features of each row of a table, or of a sequence of dicts.
pub fn named(many: &Bound<'_, PyAny>) -> PyResult<Vec<Features>> {
    let mut contexts = Contexts::new(many)?;
    let named = contexts.rows()?.map(|row| {
        let row = row.map_err(EgretError::new_err)?;
        row.as_named().cloned().ok_or_else(|| {
            EgretError::new_err("features have names: give dicts, or a table with named columns")
        })
    });
    named.collect()
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
