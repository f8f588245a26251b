use std::path::Path;
use std::sync::Arc;

use arrow_array::Float64Array;
use arrow_buffer::{NullBuffer, ScalarBuffer};
use egret::{Density, Loss};

use crate::record::{
    RowError,
    field::{self, Access, FIELDS},
};

/// Some rows of a few columns of numbers.
#[derive(Debug, Clone)]
pub struct ColumnBatch {
    file: Arc<Path>,
    first_row: u64,
    rows: usize,
    columns: Vec<NumberColumn>,
}

impl ColumnBatch {
    pub(crate) fn new(
        file: Arc<Path>,
        first_row: u64,
        rows: usize,
        columns: Vec<NumberColumn>,
    ) -> Self {
        Self {
            file,
            first_row,
            rows,
            columns,
        }
    }

    /// Where the rows are from.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The place of the first row in its file, from 1; rows that were dropped since count too.
    pub fn first_row(&self) -> u64 {
        self.first_row
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// A column, in the order they were asked for.
    pub fn column(&self, index: usize) -> &NumberColumn {
        &self.columns[index]
    }

    /// The numbers of a column from which nothing is missing.
    ///
    /// # Panics
    /// If something is: drop those rows first, or look at each.
    pub fn all(&self, index: usize) -> &[f64] {
        let column = &self.columns[index];
        column
            .all()
            .unwrap_or_else(|| panic!("{} is missing in some rows: drop them first", column.name))
    }

    /// Drops the rows where a column has no number, as the density of a point mass; returns how many.
    pub fn drop_missing(&mut self, index: usize) -> usize {
        let Some(nulls) = self.columns[index].nulls.clone() else {
            return 0;
        };
        for column in &mut self.columns {
            column.keep(&nulls);
        }
        let kept = self.rows - nulls.null_count();
        let dropped = self.rows - kept;
        self.rows = kept;
        dropped
    }
}

/// Numbers, some of which may be missing. None is NaN.
#[derive(Debug, Clone)]
pub struct NumberColumn {
    name: String,
    values: ScalarBuffer<f64>,
    /// Absent where nothing is missing.
    nulls: Option<NullBuffer>,
}

impl NumberColumn {
    pub(crate) fn new(name: &str, numbers: Float64Array) -> Self {
        let (_, values, nulls) = numbers.into_parts();
        Self {
            name: name.to_owned(),
            values,
            nulls: nulls.filter(|nulls| 0 < nulls.null_count()),
        }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// How many are missing.
    pub fn missing(&self) -> usize {
        self.nulls.as_ref().map_or(0, NullBuffer::null_count)
    }

    /// All numbers, if none is missing.
    pub fn all(&self) -> Option<&[f64]> {
        self.nulls.is_none().then_some(&*self.values)
    }

    /// The number of a row, if it has one.
    pub fn get(&self, row: usize) -> Option<f64> {
        match &self.nulls {
            Some(nulls) if nulls.is_null(row) => None,
            _ => Some(self.values[row]),
        }
    }

    pub(crate) fn first_missing(&self) -> Option<usize> {
        let nulls = self.nulls.as_ref()?;
        (0..self.len()).find(|&row| nulls.is_null(row))
    }

    pub(crate) fn first_present(&self) -> Option<usize> {
        (0..self.len()).find(|&row| self.get(row).is_some())
    }

    fn keep(&mut self, nulls: &NullBuffer) {
        let kept = nulls.valid_indices();
        let values: Vec<f64> = kept.map(|row| self.values[row]).collect();
        let own = self.nulls.take();
        let own = own.map(|own| nulls.valid_indices().map(|row| own.is_valid(row)).collect());
        self.values = values.into();
        self.nulls = own
            .map(|kept: Vec<bool>| NullBuffer::from(kept))
            .filter(|nulls| 0 < nulls.null_count());
    }

    /// The first row whose number cannot be, and why.
    pub(crate) fn check(&self) -> Result<(), (usize, RowError)> {
        let access = field::find(&self.name, 0).map(|place| (place, FIELDS[place].access));
        match access {
            Some((_, Access::Density)) => self.check_each(
                |value| 0.0 < value && value < f64::INFINITY,
                |value| Density::new(value).map(|_| ()).map_err(RowError::from),
            ),
            Some((_, Access::Loss)) => self.check_each(
                |value| (0.0..=1.0).contains(&value),
                |value| Loss::new(value).map(|_| ()).map_err(RowError::from),
            ),
            Some((place, Access::Number { range, .. })) => {
                let name = FIELDS[place].name;
                self.check_each(
                    |value| range.check(name, value).is_ok(),
                    |value| range.check(name, value).map_err(RowError::from),
                )
            }
            _ => self.check_each(f64::is_finite, |value| {
                Err(RowError::Type {
                    field: self.name.clone(),
                    found: value.to_string(),
                    expected: "a finite number",
                })
            }),
        }
    }

    fn check_each(
        &self,
        good: impl Fn(f64) -> bool,
        explain: impl Fn(f64) -> Result<(), RowError>,
    ) -> Result<(), (usize, RowError)> {
        // Without branches, so that the loop is one of vectors.
        let bad = |values: &[f64]| values.iter().fold(false, |bad, &value| bad | !good(value));
        if self.nulls.is_none() && !self.values.chunks(4096).any(bad) {
            return Ok(());
        }
        for row in 0..self.len() {
            if let Some(value) = self.get(row)
                && !good(value)
            {
                return explain(value).map_err(|error| (row, error));
            }
        }
        Ok(())
    }
}
