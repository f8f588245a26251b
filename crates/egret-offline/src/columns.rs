use crate::chunks::{Rows, part};

/// Many events as estimators see them, one slice for each quantity; those that are there have one length.
///
/// | field       | symbol      | range   | meaning                                                        |
/// |-------------|-------------|---------|----------------------------------------------------------------|
/// | `losses`    | ℓ           | [0, 1]  | what the action cost                                           |
/// | `weights`   | w = q/p     | [0, ∞)  | density of the target over the logged one; E w = 1             |
/// | `fhats`     | f̂(x, a)     | [0, 1]  | predicted loss of the logged action                            |
/// | `baselines` | E_q f̂(x, ·) | [0, ∞)  | predicted loss of the target, or an unbiased estimate of it    |
/// | `shares`    | h           | (0, ∞)  | how much the event counts; known before its action was drawn   |
///
/// The predictions must not have been learned from the losses they stand beside, nor from later ones.
#[derive(Debug, Clone, Copy, Default)]
pub struct Columns<'a> {
    /// ℓ.
    pub losses: &'a [f64],
    /// w.
    pub weights: &'a [f64],
    /// f̂(x, a), for DM, DR and their kin.
    pub fhats: Option<&'a [f64]>,
    /// E_q f̂(x, ·), for DM, DR and their kin.
    pub baselines: Option<&'a [f64]>,
    /// h; all count alike where there is none.
    pub shares: Option<&'a [f64]>,
}

/// How many columns there can be.
pub(crate) const COLUMNS: usize = 5;

impl<'a> Columns<'a> {
    /// How many events.
    pub fn len(&self) -> usize {
        self.losses.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.losses.is_empty()
    }

    /// In the order of the fields.
    pub(crate) fn to_rows(self) -> Rows<'a, COLUMNS> {
        [
            Some(self.losses),
            Some(self.weights),
            self.fhats,
            self.baselines,
            self.shares,
        ]
    }

    pub(crate) fn of_rows(rows: &Rows<'a, COLUMNS>) -> Self {
        let [losses, weights, fhats, baselines, shares] = *rows;
        Self {
            losses: losses.unwrap_or_default(),
            weights: weights.unwrap_or_default(),
            fhats,
            baselines,
            shares,
        }
    }

    /// Some of the events.
    pub(crate) fn part(&self, range: std::ops::Range<usize>) -> Self {
        Self::of_rows(&part(&self.to_rows(), range))
    }

    /// Refuses numbers out of range and columns of unequal length. `first` is the number of the first row.
    pub(crate) fn check(&self, first: u64) -> Result<(), ColumnsError> {
        let one = 0.0..=1.0;
        // Far beyond anything sensible, and squares still add up to finite numbers.
        let finite = 0.0..=1e100;
        let positive = 1e-30..=1e30;
        for (name, column, allowed, expected) in [
            ("loss", Some(self.losses), &one, "[0, 1]"),
            ("weight", Some(self.weights), &finite, "[0, 1e100]"),
            ("fhat", self.fhats, &one, "[0, 1]"),
            ("baseline", self.baselines, &finite, "[0, 1e100]"),
            ("share", self.shares, &positive, "[1e-30, 1e30]"),
        ] {
            let Some(column) = column else { continue };
            if column.len() != self.len() {
                return Err(ColumnsError::Length {
                    name,
                    length: column.len(),
                    losses: self.len(),
                });
            }
            if !all_within(column, *allowed.start(), *allowed.end()) {
                let bad = |value: &f64| !allowed.contains(value);
                let place = column.iter().position(bad).expect("one of them is bad");
                return Err(ColumnsError::Value {
                    name,
                    row: first + place as u64,
                    value: column[place],
                    expected,
                });
            }
        }
        Ok(())
    }

    /// Refuses a weight above the bound that was promised.
    pub(crate) fn check_bound(&self, first: u64, bound: Option<f64>) -> Result<(), ColumnsError> {
        let Some(bound) = bound else { return Ok(()) };
        match self.weights.iter().position(|&w| bound < w) {
            None => Ok(()),
            Some(place) => Err(ColumnsError::WeightAboveBound {
                row: first + place as u64,
                weight: self.weights[place],
                bound,
            }),
        }
    }
}

/// Whether all values are in [low, high]. It looks at all of them: with no early end that is many times faster.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
pub(crate) fn all_within(values: &[f64], low: f64, high: f64) -> bool {
    values
        .iter()
        .fold(true, |all, &value| all & (low <= value) & (value <= high))
}

/// Which optional columns there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Present {
    pub(crate) fhats: bool,
    pub(crate) baselines: bool,
    pub(crate) shares: bool,
}

impl Present {
    pub(crate) fn of(columns: &Columns<'_>) -> Self {
        Self {
            fhats: columns.fhats.is_some(),
            baselines: columns.baselines.is_some(),
            shares: columns.shares.is_some(),
        }
    }

    pub(crate) fn check_equal(self, other: Self) -> Result<(), ColumnsError> {
        for (name, ours, theirs) in [
            ("fhat", self.fhats, other.fhats),
            ("baseline", self.baselines, other.baselines),
            ("share", self.shares, other.shares),
        ] {
            if ours != theirs {
                return Err(ColumnsError::Unequal { name });
            }
        }
        Ok(())
    }
}

/// Why events were refused. None of the batch was used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnsError {
    /// A number out of range.
    #[error("{name} of row {row} is {value}, expected a number in {expected}")]
    Value {
        /// Which column.
        name: &'static str,
        /// Which row, counted from 0 over all batches.
        row: u64,
        /// What it was.
        value: f64,
        /// Where it has to be.
        expected: &'static str,
    },
    /// Columns of unequal length.
    #[error("the column {name} has {length} rows, expected {losses} as in loss")]
    Length {
        /// Which column.
        name: &'static str,
        /// Its length.
        length: usize,
        /// The length of the losses.
        losses: usize,
    },
    /// The promise about the weights is broken.
    #[error("weight of row {row} is {weight}, above the bound {bound} that was given")]
    WeightAboveBound {
        /// Which row.
        row: u64,
        /// Its weight.
        weight: f64,
        /// The bound.
        bound: f64,
    },
    /// An estimator needs a column that is not there.
    #[error("{estimator} needs the column {name}, which is missing")]
    Missing {
        /// Which column.
        name: &'static str,
        /// Who needs it.
        estimator: String,
    },
    /// A column was there in one batch and not in another.
    #[error("the column {name} is there in some batches and missing in others")]
    Unequal {
        /// Which column.
        name: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_number_is_named_with_its_row() {
        let good = Columns {
            losses: &[0.0, 1.0],
            weights: &[0.0, 1e100],
            shares: Some(&[1e-9, 2.0]),
            ..Columns::default()
        };
        assert_eq!(good.check(0), Ok(()));
        for bad in [f64::NAN, -1e-300, f64::INFINITY] {
            let columns = Columns {
                weights: &[1.0, bad],
                ..good
            };
            let error = columns.check(40).expect_err("no weight");
            assert!(
                matches!(
                    error,
                    ColumnsError::Value {
                        name: "weight",
                        row: 41,
                        ..
                    }
                ),
                "{error}"
            );
        }
        let columns = Columns {
            shares: Some(&[1.0, 0.0]),
            ..good
        };
        let error = columns.check(0).expect_err("no share");
        assert_eq!(
            error.to_string(),
            "share of row 1 is 0, expected a number in [1e-30, 1e30]"
        );
        let columns = Columns {
            fhats: Some(&[0.5]),
            ..good
        };
        assert!(matches!(columns.check(0), Err(ColumnsError::Length { .. })));
    }
}
