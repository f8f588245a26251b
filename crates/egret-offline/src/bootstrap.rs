use egret::{EventRng, Stream};

use crate::moments::{Terms, ratio_estimate};

/// The four sums of each rule over resampled logs: the Poisson bootstrap.
///
/// In each replicate an event occurs a Poisson(1) number of times, drawn from (seed, row, replicate) alone, so that any part of
/// the log is resampled alike wherever it is. The estimate of a replicate is made anew from its sums, the
/// normaliser included: what a bootstrap of SNIPS must not hold fixed.
#[derive(Debug, Clone)]
pub(crate) struct Replicates {
    replicates: usize,
    /// For each rule, Σh, Σhu, Σhr, Σhv, each over all replicates.
    sums: Vec<[Vec<f64>; 4]>,
    /// Of each event, how often it occurs in each replicate.
    counts: Vec<u8>,
}

impl Replicates {
    pub(crate) fn new(replicates: usize, rules: usize) -> Self {
        let zeros = || vec![0.0; replicates];
        let sums = (0..rules)
            .map(|_| [zeros(), zeros(), zeros(), zeros()])
            .collect();
        Self {
            replicates,
            sums,
            counts: Vec::new(),
        }
    }

    /// Draws the counts of `n` events from `first_row` on.
    pub(crate) fn open(&mut self, seed: u64, first_row: u64, n: usize) {
        self.counts.resize(n * self.replicates, 0);
        let mut units = vec![0.0; self.replicates];
        let rows = self.counts.chunks_exact_mut(self.replicates);
        for (row, counts) in (first_row..).zip(rows) {
            EventRng::new(seed, row, Stream::World).fill_unit(&mut units);
            poisson(&units, counts);
        }
    }

    /// Adds events whose counts were drawn.
    pub(crate) fn observe(&mut self, rule: usize, terms: &Terms<'_>) {
        let [h, u, r, v] = &mut self.sums[rule];
        for (i, counts) in self.counts.chunks_exact(self.replicates).enumerate() {
            let share = terms.h.map_or(1.0, |h| h[i]);
            let at = |column: Option<&[f64]>, default: f64| {
                share * column.map_or(default, |column| column[i])
            };
            let z = [
                share,
                at(terms.u, 0.0),
                at(Some(terms.r), 0.0),
                at(terms.v, 1.0),
            ];
            add_counted(counts, z, [h, u, r, v]);
        }
    }

    pub(crate) fn merge(&mut self, later: &Self) {
        for (ours, theirs) in self.sums.iter_mut().zip(&later.sums) {
            for (ours, theirs) in ours.iter_mut().zip(theirs) {
                for (sum, more) in ours.iter_mut().zip(theirs) {
                    *sum += more;
                }
            }
        }
    }

    /// Forgets the counts.
    pub(crate) fn close(&mut self) {
        self.counts = Vec::new();
    }

    /// The estimate of each replicate.
    pub(crate) fn estimates(&self, rule: usize) -> Vec<f64> {
        let [h, u, r, v] = &self.sums[rule];
        (0..self.replicates)
            .map(|i| ratio_estimate([h[i], u[i], r[i], v[i]]))
            .collect()
    }
}

/// The interval between the α/2 and 1 − α/2 quantiles, linear between order statistics; replicates without an estimate are left out.
pub(crate) fn percentile_interval(estimates: &[f64], alpha: f64) -> (f64, f64) {
    let mut sorted: Vec<f64> = estimates
        .iter()
        .copied()
        .filter(|e| e.is_finite())
        .collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else {
        return (f64::NAN, f64::NAN);
    };
    let quantile = |p: f64| {
        let place = p * last as f64;
        let below = place.floor() as usize;
        let above = (below + 1).min(last);
        sorted[below] + (place - place.floor()) * (sorted[above] - sorted[below])
    };
    (quantile(0.5 * alpha), quantile(1.0 - 0.5 * alpha))
}

/// P(Poisson(1) ≤ k); the next is beyond the last number that a generator gives.
const DISTRIBUTION: [f64; 18] = [
    0.367_879_441_171_442_33,
    0.735_758_882_342_884_7,
    0.919_698_602_928_605_8,
    0.981_011_843_123_846_2,
    0.996_340_153_172_656_3,
    0.999_405_815_182_418_3,
    0.999_916_758_850_712,
    0.999_989_750_803_325_3,
    0.999_998_874_797_402,
    0.999_999_888_574_521_7,
    0.999_999_989_952_233_6,
    0.999_999_999_168_389_2,
    0.999_999_999_936_402_2,
    0.999_999_999_995_480_2,
    0.999_999_999_999_7,
    0.999_999_999_999_981_3,
    0.999_999_999_999_998_9,
    0.999_999_999_999_999_9,
];

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn poisson(units: &[f64], counts: &mut [u8]) {
    for (count, &unit) in counts.iter_mut().zip(units) {
        let mut above = 0_u64;
        for limit in DISTRIBUTION {
            above += u64::from(limit < unit);
        }
        *count = above as u8;
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn add_counted(counts: &[u8], z: [f64; 4], sums: [&mut Vec<f64>; 4]) {
    for (sums, z) in sums.into_iter().zip(z) {
        for (sum, &count) in sums.iter_mut().zip(counts) {
            *sum += f64::from(count) * z;
        }
    }
}
