//! Cuts rows into chunks of 4,096, whatever batches they come in.

use std::ops::Range;

use rayon::prelude::*;

use crate::paired_events::{PairedEvents, PairedTruncatedMeans};
use crate::weighted_events::{TRUNCATIONS, TruncatedMeans, WeightedEvents};

/// How many rows a chunk has. It is part of the result's definition, for sums are rounded chunk by chunk.
pub(crate) const CHUNK: usize = 4_096;

/// How many chunks are summed in parallel before their sums are added.
const GROUP: usize = 64;

/// Columns of one length; the first is always there.
pub(crate) type Rows<'a, const N: usize> = [Option<&'a [f64]>; N];

/// How many rows.
fn length<const N: usize>(rows: &Rows<'_, N>) -> usize {
    rows[0].map_or(0, <[f64]>::len)
}

/// The rows of a range.
fn part<'a, const N: usize>(rows: &Rows<'a, N>, range: Range<usize>) -> Rows<'a, N> {
    rows.map(|column| column.map(|column| &column[range.clone()]))
}

/// How many columns [`WeightedEvents`] can have.
pub(crate) const COLUMNS: usize = 6 + 2 * TRUNCATIONS.len();

/// What the last of them, bounds on weights and event weights, are in batches without them.
pub(crate) const ABSENT: &[f64] = &[f64::INFINITY, 1.0];

/// How many columns [`PairedEvents`] can have.
pub(crate) const PAIRED_COLUMNS: usize = 10 + 2 * TRUNCATIONS.len();

/// What the last of them are, in batches without them.
pub(crate) const PAIRED_ABSENT: &[f64] = &[f64::INFINITY, f64::INFINITY, 1.0];

impl<'a> WeightedEvents<'a> {
    /// The columns in the order of the fields.
    pub(crate) fn to_rows(self) -> Rows<'a, COLUMNS> {
        let mut rows = [None; COLUMNS];
        rows[..4].copy_from_slice(&[
            Some(self.losses),
            Some(self.weights),
            self.predicted,
            self.policy_predicted,
        ]);
        if let Some(TruncatedMeans { below, above }) = self.truncated {
            let means = below.into_iter().chain(above);
            rows[4..]
                .iter_mut()
                .zip(means)
                .for_each(|(row, mean)| *row = Some(mean));
        }
        rows[COLUMNS - 2..].copy_from_slice(&[self.weight_bounds, self.event_weights]);
        rows
    }

    pub(crate) fn of_rows(rows: &Rows<'a, COLUMNS>) -> Self {
        let [
            losses,
            weights,
            predicted,
            policy_predicted,
            means @ ..,
            weight_bounds,
            event_weights,
        ] = *rows;
        let truncated = means[0].map(|_| {
            let (below, above) = means.split_at(TRUNCATIONS.len());
            TruncatedMeans {
                below: all_of(below),
                above: all_of(above),
            }
        });
        Self {
            losses: losses.unwrap_or_default(),
            weights: weights.unwrap_or_default(),
            predicted,
            policy_predicted,
            truncated,
            weight_bounds,
            event_weights,
        }
    }

    /// The events of a range.
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        Self::of_rows(&part(&self.to_rows(), range))
    }
}

impl<'a> PairedEvents<'a> {
    /// The columns in the order of the fields.
    pub(crate) fn to_rows(self) -> Rows<'a, PAIRED_COLUMNS> {
        let mut rows = [None; PAIRED_COLUMNS];
        rows[0] = Some(self.losses);
        rows[1..3].copy_from_slice(&self.weights.map(Some));
        if let Some(predictions) = self.predictions {
            rows[3..6].copy_from_slice(&predictions.map(Some));
        }
        if let Some(PairedTruncatedMeans {
            common,
            below,
            above,
        }) = self.truncated
        {
            let means = std::iter::once(common).chain(below).chain(above);
            rows[6..]
                .iter_mut()
                .zip(means)
                .for_each(|(row, mean)| *row = Some(mean));
        }
        if let Some(bounds) = self.weight_bounds {
            rows[PAIRED_COLUMNS - 3..PAIRED_COLUMNS - 1].copy_from_slice(&bounds.map(Some));
        }
        rows[PAIRED_COLUMNS - 1] = self.event_weights;
        rows
    }

    pub(crate) fn of_rows(rows: &Rows<'a, PAIRED_COLUMNS>) -> Self {
        let [
            losses,
            w1,
            w2,
            predicted,
            b1,
            b2,
            common,
            means @ ..,
            bound1,
            bound2,
            event_weights,
        ] = *rows;
        Self {
            losses: losses.unwrap_or_default(),
            weights: [w1, w2].map(Option::unwrap_or_default),
            predictions: predicted.map(|_| all_of(&[predicted, b1, b2])),
            truncated: common.map(|common| {
                let (below, above) = means.split_at(TRUNCATIONS.len());
                PairedTruncatedMeans {
                    common,
                    below: all_of(below),
                    above: all_of(above),
                }
            }),
            weight_bounds: bound1.map(|_| all_of(&[bound1, bound2])),
            event_weights,
        }
    }

    /// The events of a range.
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        Self::of_rows(&part(&self.to_rows(), range))
    }
}

/// Columns that are there together.
fn all_of<'a, const N: usize>(columns: &[Option<&'a [f64]>]) -> [&'a [f64]; N] {
    std::array::from_fn(|place| columns[place].unwrap_or_default())
}

/// Rows that do not fill a chunk yet.
#[derive(Debug, Clone)]
pub(crate) struct Rest<const N: usize> {
    columns: [Option<Vec<f64>>; N],
    /// What the last columns are in batches that lack them.
    absent: &'static [f64],
}

impl<const N: usize> Rest<N> {
    pub(crate) fn new(absent: &'static [f64]) -> Self {
        Self {
            columns: [const { None }; N],
            absent,
        }
    }

    /// The rows, which are no longer here.
    pub(crate) fn take(&mut self) -> Self {
        let none = Self::new(self.absent);
        std::mem::replace(self, none)
    }

    pub(crate) fn len(&self) -> usize {
        self.columns[0].as_ref().map_or(0, Vec::len)
    }

    pub(crate) fn rows(&self) -> Rows<'_, N> {
        std::array::from_fn(|column| self.columns[column].as_deref())
    }

    fn extend(&mut self, rows: &Rows<'_, N>) {
        let (before, after) = (self.len(), self.len() + length(rows));
        // Some batches may have them, and others not.
        let last = N - self.absent.len();
        for (place, &absent) in (last..N).zip(self.absent) {
            if rows[place].is_some() {
                self.columns[place].get_or_insert_with(|| vec![absent; before]);
            }
        }
        for (ours, theirs) in self.columns.iter_mut().zip(rows) {
            if let Some(theirs) = theirs {
                ours.get_or_insert_default().extend_from_slice(theirs);
            }
        }
        for (column, &absent) in self.columns[last..].iter_mut().zip(self.absent) {
            if let Some(column) = column {
                column.resize(after, absent);
            }
        }
    }

    fn clear(&mut self) {
        for column in self.columns.iter_mut().flatten() {
            column.clear();
        }
    }

    /// Adds rows. Each time some are a whole number of chunks, `whole` is called with them, in order.
    pub(crate) fn cut(&mut self, rows: &Rows<'_, N>, mut whole: impl FnMut(&Rows<'_, N>)) {
        let n = length(rows);
        let mut start = 0;
        if 0 < self.len() {
            start = n.min(CHUNK - self.len());
            self.extend(&part(rows, 0..start));
            if self.len() == CHUNK {
                whole(&self.rows());
                self.clear();
            }
        }
        let end = start + (n - start) / CHUNK * CHUNK;
        if start < end {
            whole(&part(rows, start..end));
        }
        self.extend(&part(rows, end..n));
    }
}

/// Something that is summed chunk by chunk.
pub(crate) trait Chunked<const N: usize>: Sync {
    /// The sums of one chunk.
    type Sums: Send;

    /// The sums of a chunk that comes after `before` rows.
    fn sum(&self, rows: &Rows<'_, N>, before: u64, scratch: &mut Scratch) -> Self::Sums;

    /// Adds the sums of the next chunk.
    fn add(&mut self, sums: &Self::Sums);

    /// How many rows were added.
    fn rows_added(&self) -> u64;

    /// Sums chunks in parallel and adds their sums in order.
    fn add_chunks(&mut self, rows: &Rows<'_, N>) {
        let n = length(rows);
        for start in (0..n).step_by(GROUP * CHUNK) {
            let group = part(rows, start..n.min(start + GROUP * CHUNK));
            let n = length(&group);
            let before = self.rows_added();
            let this: &Self = self;
            let sums: Vec<Self::Sums> = (0..n.div_ceil(CHUNK))
                .into_par_iter()
                .map_init(Scratch::default, |scratch, chunk| {
                    let range = chunk * CHUNK..n.min((chunk + 1) * CHUNK);
                    let before = before + range.start as u64;
                    this.sum(&part(&group, range), before, scratch)
                })
                .collect();
            for sums in &sums {
                self.add(sums);
            }
        }
    }
}

/// Buffers for the terms of a chunk.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Scratch {
    /// Two slices of `n` numbers; what is in them is arbitrary.
    pub(crate) fn two(&mut self, n: usize) -> (&mut [f64], &mut [f64]) {
        for room in [&mut self.first, &mut self.second] {
            if room.len() < n {
                room.resize(n, 0.0);
            }
        }
        (&mut self.first[..n], &mut self.second[..n])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_row_is_cut_once_and_in_order(
            batches in proptest::collection::vec(0_usize..9_000, 0..12)
        ) {
            let mut rest = Rest::<3>::new(ABSENT);
            let (mut next, mut seen) = (0, Vec::new());
            for n in batches {
                let batch: Vec<f64> = (next..next + n).map(|row| row as f64).collect();
                next += n;
                rest.cut(&[Some(&batch), None, None], |rows| {
                    assert!(length(rows).is_multiple_of(CHUNK) && 0 < length(rows));
                    seen.extend_from_slice(rows[0].expect("there"));
                });
            }
            prop_assert!(rest.len() < CHUNK);
            seen.extend_from_slice(rest.rows()[0].unwrap_or_default());
            let all: Vec<f64> = (0..next).map(|row| row as f64).collect();
            prop_assert_eq!(seen, all);
        }
    }

    #[test]
    fn absent_bounds_are_infinite_and_absent_event_weights_1() {
        let mut rest = Rest::<6>::new(ABSENT);
        let rows = [0.5; 2];
        for given in [None, Some(&[2.0; 2][..]), None] {
            let batch = [Some(&rows[..]), None, None, None, given, given];
            rest.cut(&batch, |_| panic!("no whole chunk"));
        }
        assert_eq!(rest.rows()[1..4], [None; 3]);
        for (column, &absent) in rest.rows()[4..].iter().zip(ABSENT) {
            let expected = [absent, absent, 2.0, 2.0, absent, absent];
            assert_eq!(*column, Some(&expected[..]));
        }
    }
}
