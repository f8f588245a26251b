use serde::{Deserialize, Serialize};

use crate::codec::LoadError;
use crate::numeric::hash::hash_bytes;

/// Which rows of a log a model was trained on, as far as 2 KB can tell: how many, and the least of their hashes.
///
/// A value estimated on the rows that a model was trained on flatters it. The least k of n hashes are a fair sample of the
/// rows (Broder 1997): of the rows of another log whose hashes are as small, those known are the share of that log that the
/// model was trained on.
///
/// ```
/// use egret::TrainedRows;
///
/// let mut trained = TrainedRows::default();
/// for row in 0..10_000_u32 {
///     trained.add(&row.to_le_bytes());
/// }
/// let found = |rows: std::ops::Range<u32>| {
///     let found = rows.filter_map(|row| trained.knows(&row.to_le_bytes()));
///     found.fold([0, 0], |[new, known], is_known| if is_known { [new, known + 1] } else { [new + 1, known] })
/// };
/// assert_eq!(found(0..10_000), [0, 256]);
/// assert_eq!(found(10_000..20_000)[1], 0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TrainedRows {
    rows: u64,
    /// In increasing order, each once.
    least: Vec<u64>,
    /// Whether a log before the last had rows that repeat.
    repeated: bool,
    /// Rows of the logs before the last.
    before: u64,
}

/// How many hashes are kept.
const KEPT: usize = 256;

impl TrainedRows {
    /// Adds a row: any bytes that are the same for the same row.
    pub fn add(&mut self, row: &[u8]) {
        self.rows += 1;
        let hash = hash_bytes(row);
        if self.sees(hash)
            && let Err(place) = self.least.binary_search(&hash)
        {
            self.least.insert(place, hash);
            self.least.truncate(KEPT);
        }
    }

    /// These rows and those of a later log.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        let repeated = !self.are_distinct() || !later.are_distinct();
        let mut least = [self.least, later.least].concat();
        least.sort_unstable();
        least.dedup();
        least.truncate(KEPT);
        let rows = self.rows + later.rows;
        Self {
            rows,
            least,
            repeated,
            before: rows,
        }
    }

    /// How many rows were added.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether this row is one of those added; none for a row of which the hashes kept do not tell.
    pub fn knows(&self, row: &[u8]) -> Option<bool> {
        let hash = hash_bytes(row);
        self.sees(hash)
            .then(|| self.least.binary_search(&hash).is_ok())
    }

    /// Whether a hash is kept if it is added.
    fn sees(&self, hash: u64) -> bool {
        self.least.len() < KEPT || hash <= self.least[KEPT - 1]
    }

    /// Whether nearly all rows of each log differ from each other: a row met again is then that row and not one like it.
    pub fn are_distinct(&self) -> bool {
        if self.repeated {
            return false;
        }
        if 0 < self.before {
            return true;
        }
        let distinct = match self.least.last() {
            // The k-th least of n hashes is at about k/n of their range.
            Some(&last) if self.least.len() == KEPT => {
                (KEPT - 1) as f64 * (u64::MAX as f64 / last as f64)
            }
            _ => self.least.len() as f64,
        };
        // The estimate spreads by 1/√k: three times that is allowed for.
        (1.0 - 3.0 / (KEPT as f64).sqrt()) * self.rows as f64 <= distinct
    }

    /// Refuses what no model could have written.
    pub(crate) fn checked(self) -> Result<Self, LoadError> {
        let (kept, rows) = (self.least.len(), self.rows);
        let increase = self.least.is_sorted_by(|one, other| one < other);
        if KEPT < kept || rows < kept as u64 || rows < self.before || !increase {
            return Err(LoadError::Invalid(format!(
                "{kept} hashes of {rows} rows, expected at most {KEPT} that increase"
            )));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trained(rows: impl Iterator<Item = u32>) -> TrainedRows {
        let mut trained = TrainedRows::default();
        rows.for_each(|row| trained.add(&row.to_le_bytes()));
        trained
    }

    /// How many rows it knows, and how many it tells of.
    fn found(trained: &TrainedRows, rows: std::ops::Range<u32>) -> (usize, usize) {
        let told: Vec<bool> = rows
            .filter_map(|row| trained.knows(&row.to_le_bytes()))
            .collect();
        (told.iter().filter(|known| **known).count(), told.len())
    }

    #[test]
    fn the_share_of_known_rows_is_that_of_rows_trained_on() {
        let trained = trained(0..50_000);
        assert_eq!(trained.rows(), 50_000);
        assert_eq!(found(&trained, 0..50_000), (256, 256));
        let (known, told) = found(&trained, 37_500..87_500);
        // A quarter; the share of 256 spreads by 0.03.
        assert!(
            (known as f64 / told as f64 - 0.25).abs() < 0.12,
            "{known} of {told}"
        );
        let (known, told) = found(&trained, 50_000..100_000);
        assert!(known == 0 && 150 < told, "{known} of {told}");
    }

    #[test]
    fn rows_that_repeat_are_told() {
        assert!(trained(0..100).are_distinct());
        assert!(trained(0..50_000).are_distinct());
        assert!(!trained((0..50_000).map(|row| row / 2)).are_distinct());
        assert!(!trained((0..1_000).map(|row| row % 10)).are_distinct());
    }

    #[test]
    fn a_log_that_is_learned_twice_is_still_known() {
        let (one, other) = (trained(0..5_000), trained(2_000..9_000));
        let both = one.clone().and(other.clone());
        assert_eq!((both.rows(), both.are_distinct()), (12_000, true));
        assert_eq!(both.least, trained(0..9_000).least);
        assert!(
            one.clone()
                .and(one.clone())
                .and(other.clone())
                .are_distinct()
        );
        let repeated = trained((0..1_000).map(|row| row % 10));
        assert!(!repeated.and(one.clone()).and(other).are_distinct());
        assert_eq!(
            found(&TrainedRows::default().and(one), 0..5_000),
            (256, 256)
        );
    }

    #[test]
    fn the_order_of_rows_does_not_count() {
        assert_eq!(trained(0..5_000), trained((0..5_000).rev()));
    }

    #[test]
    fn what_nobody_wrote_is_refused() {
        let of = |rows, least: &[u64], before| {
            let least = least.to_vec();
            let rows = TrainedRows {
                rows,
                least,
                repeated: false,
                before,
            };
            rows.checked()
        };
        assert!(of(2, &[1, 2], 0).is_ok());
        assert!(of(1, &[1, 2], 0).is_err());
        assert!(of(9, &[2, 1], 0).is_err());
        assert!(of(9, &[1, 1], 0).is_err());
        assert!(of(9, &[1, 2], 10).is_err());
        assert!(of(999, &(0..257).collect::<Vec<_>>(), 0).is_err());
    }
}
