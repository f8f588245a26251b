use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::event::Item;
use crate::numeric::OutOfRange;
use crate::oracle::features::limits::{LARGEST, check_count};
use crate::oracle::{ActionFeatures, ItemTree};

/// A table with a row of numbers for each item of a catalogue, as `f32`. Copies share it.
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
    table: Arc<Table>,
}

#[derive(Debug)]
struct Table {
    rows: Vec<f32>,
    tree: OnceLock<ItemTree>,
}

impl Embeddings {
    /// `rows` holds row after row of `dim` numbers within ±10³⁰; the n-th is that of `Item(n)`.
    pub fn new(dim: usize, rows: Vec<f64>) -> Result<Self, OutOfRange> {
        for &value in &rows {
            OutOfRange::unless(value.abs() <= LARGEST, "entry", value, "[-1e30, 1e30]")?;
        }
        Self::from_singles(dim, rows.into_iter().map(|value| value as f32).collect())
    }

    /// As [`new`](Self::new), of numbers as they are stored.
    pub fn from_singles(dim: usize, rows: Vec<f32>) -> Result<Self, OutOfRange> {
        check_count("width of the table", dim)?;
        let whole_rows = !rows.is_empty() && rows.len().is_multiple_of(dim);
        OutOfRange::unless(
            whole_rows,
            "numbers in the table",
            rows.len() as f64,
            "whole rows, at least one",
        )?;
        for value in rows.iter().map(|&value| f64::from(value)) {
            // 10³⁰ itself is a little more when it is rounded.
            let allowed = value.abs() <= LARGEST * (1.0 + 1e-7);
            OutOfRange::unless(allowed, "entry", value, "[-1e30, 1e30]")?;
        }
        let tree = OnceLock::new();
        Ok(Self {
            dim,
            table: Arc::new(Table { rows, tree }),
        })
    }

    /// How many numbers a row has.
    pub(crate) fn width(&self) -> usize {
        self.dim
    }

    /// Row after row.
    pub fn rows(&self) -> &[f32] {
        &self.table.rows
    }

    /// The features of an item, or of a center of the tree; none if there is no such row.
    #[inline]
    fn row(&self, item: Item) -> Option<&[f32]> {
        let start = item.0 as usize * self.dim;
        match self.table.rows.get(start..start + self.dim) {
            None => self.table.tree.get()?.center(item, self.dim),
            row => row,
        }
    }
}

/// Whether they have the same rows.
impl PartialEq for Embeddings {
    fn eq(&self, other: &Self) -> bool {
        self.dim == other.dim
            && (Arc::ptr_eq(&self.table, &other.table) || self.rows() == other.rows())
    }
}

impl ActionFeatures<Item> for Embeddings {
    fn dim(&self) -> usize {
        self.dim
    }

    fn fill(&self, actions: &Vec<Item>, range: Range<usize>, out: &mut [f64]) {
        let n = range.len();
        for (i, &item) in actions[range].iter().enumerate() {
            match self.row(item) {
                // A single item: its row as it is.
                Some(row) if n == 1 => {
                    for (out, &value) in out.iter_mut().zip(row) {
                        *out = f64::from(value);
                    }
                }
                Some(row) => {
                    for (out, &value) in out[i..].iter_mut().step_by(n).zip(row) {
                        *out = f64::from(value);
                    }
                }
                None => out[i..]
                    .iter_mut()
                    .step_by(n)
                    .for_each(|out| *out = f64::NAN),
            }
        }
    }

    fn item_tree(&self) -> Option<&ItemTree> {
        let table = &self.table;
        Some(
            table
                .tree
                .get_or_init(|| ItemTree::new(self.dim, &table.rows)),
        )
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
