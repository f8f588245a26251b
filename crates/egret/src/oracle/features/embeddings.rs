use std::ops::Range;

use crate::event::Item;
use crate::numeric::OutOfRange;
use crate::oracle::ActionFeatures;
use crate::oracle::features::limits::{LARGEST, check_count};

/// A table with a row of numbers for each item of a catalogue.
///
/// ```
/// use egret::{ActionFeatures, Embeddings, Item};
///
/// let table = Embeddings::new(2, vec![0.0, 1.0, 2.0, 3.0])?;
/// let mut columns = [0.0; 4];
/// table.fill(&vec![Item(1), Item(9)], 0..2, &mut columns);
/// assert_eq!((columns[0], columns[2]), (2.0, 3.0));
/// assert!(columns[1].is_nan()); // the table has no tenth row
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone)]
pub struct Embeddings {
    dim: usize,
    rows: Vec<f64>,
}

impl Embeddings {
    /// `rows` holds row after row of `dim` numbers within ±10³⁰; the n-th is that of `Item(n)`.
    pub fn new(dim: usize, rows: Vec<f64>) -> Result<Self, OutOfRange> {
        check_count("width of the table", dim)?;
        let whole_rows = !rows.is_empty() && rows.len().is_multiple_of(dim);
        OutOfRange::unless(
            whole_rows,
            "numbers in the table",
            rows.len() as f64,
            "whole rows, at least one",
        )?;
        for &value in &rows {
            OutOfRange::unless(value.abs() <= LARGEST, "entry", value, "[-1e30, 1e30]")?;
        }
        Ok(Self { dim, rows })
    }
}

impl ActionFeatures<Item> for Embeddings {
    fn dim(&self) -> usize {
        self.dim
    }

    fn fill(&self, actions: &Vec<Item>, range: Range<usize>, out: &mut [f64]) {
        let n = range.len();
        for (i, item) in actions[range].iter().enumerate() {
            let start = item.0 as usize * self.dim;
            let row = self.rows.as_slice().get(start..start + self.dim);
            for j in 0..self.dim {
                out[j * n + i] = row.map_or(f64::NAN, |row| row[j]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_table_without_rows_or_columns_is_refused() {
        assert!(Embeddings::new(0, vec![]).is_err());
        assert!(Embeddings::new(2, vec![]).is_err());
        assert!(Embeddings::new(2, vec![1.0; 3]).is_err());
        assert!(Embeddings::new(1, vec![f64::NAN]).is_err());
        assert!(Embeddings::new(usize::MAX, vec![1.0]).is_err());
    }

    proptest! {
        #[test]
        fn embeddings_are_whole_rows_of_numbers(
            dim in 0_usize..5,
            rows in prop::collection::vec(prop::num::f64::ANY, 0..20),
        ) {
            let fits = 0 < dim && !rows.is_empty() && rows.len().is_multiple_of(dim);
            let good = fits && rows.iter().all(|value| value.abs() <= 1e30);
            prop_assert_eq!(Embeddings::new(dim, rows).is_ok(), good);
        }
    }
}
