use egret::{EventRng, Stream};

use crate::estimator::Rule;
use crate::sums::ratio_estimate;
use crate::weighted_events::WeightedEvents;

/// The Poisson bootstrap: the sums of each rule over resampled logs.
///
/// In each replicate an event occurs a Poisson(1) number of times, drawn from (seed, row, replicate) alone. So a row is
/// resampled the same way whatever part of the log it comes in. Each replicate computes its estimate anew from its own sums,
/// the normalizer included: a bootstrap of SNIPS must not hold it fixed.
#[derive(Debug, Clone)]
pub(crate) struct Replicates {
    replicates: usize,
    /// Σh, Σhu and Σhw of each replicate, which all rules share.
    shared: [Vec<f64>; 3],
    /// Σhr of each rule, in each replicate.
    residuals: Vec<Vec<f64>>,
}

impl Replicates {
    pub(crate) fn new(replicates: usize, rules: usize) -> Self {
        let zeros = || vec![0.0; replicates];
        Self {
            replicates,
            shared: std::array::from_fn(|_| zeros()),
            residuals: (0..rules).map(|_| zeros()).collect(),
        }
    }

    /// Adds the shared sums of events whose counts were drawn.
    pub(crate) fn observe(&mut self, counts: &Counts, events: &WeightedEvents<'_>) {
        let n = events.len();
        let ones = vec![1.0; n];
        let h = events.event_weights.unwrap_or(&ones);
        let [sum_h, sum_u, sum_w] = &mut self.shared;
        counts.add(&ones, h, sum_h);
        counts.add(events.weights, h, sum_w);
        if let Some(policy_predicted) = events.policy_predicted {
            counts.add(policy_predicted, h, sum_u);
        }
    }

    /// Adds the residuals of one rule.
    pub(crate) fn observe_residuals(
        &mut self,
        rule: usize,
        counts: &Counts,
        r: &[f64],
        event_weights: Option<&[f64]>,
    ) {
        let ones = vec![1.0; r.len()];
        counts.add(r, event_weights.unwrap_or(&ones), &mut self.residuals[rule]);
    }

    pub(crate) fn merge(&mut self, later: &Self) {
        let ours = self.shared.iter_mut().chain(&mut self.residuals);
        let theirs = later.shared.iter().chain(&later.residuals);
        for (ours, theirs) in ours.zip(theirs) {
            for (sum, more) in ours.iter_mut().zip(theirs) {
                *sum += more;
            }
        }
    }

    /// The estimate of each replicate under the rule with this number.
    pub(crate) fn estimates(&self, number: usize, rule: Rule) -> Vec<f64> {
        let [h, u, w] = &self.shared;
        let r = &self.residuals[number];
        (0..self.replicates)
            .map(|i| {
                let predicted = if rule.has_policy_predicted() {
                    u[i]
                } else {
                    0.0
                };
                let normalizer = if rule.estimator.is_mean() { h[i] } else { w[i] };
                ratio_estimate([h[i], predicted, r[i], normalizer])
            })
            .collect()
    }
}

/// How often each event of a chunk occurs in each replicate.
#[derive(Debug)]
pub(crate) struct Counts {
    replicates: usize,
    counts: Vec<u8>,
}

impl Counts {
    /// The counts of `n` events from `first_row` on.
    pub(crate) fn draw(replicates: usize, seed: u64, first_row: u64, n: usize) -> Self {
        let mut counts = vec![0; n * replicates];
        let mut units = vec![0.0; replicates];
        for (row, counts) in (first_row..).zip(counts.chunks_exact_mut(replicates)) {
            EventRng::new(seed, row, Stream::World).fill_unit(&mut units);
            poisson(&units, counts);
        }
        Self { replicates, counts }
    }

    /// Adds Σ count · h · value to the sum of each replicate.
    fn add(&self, values: &[f64], h: &[f64], sums: &mut [f64]) {
        let rows = self.counts.chunks_exact(self.replicates);
        for ((counts, value), h) in rows.zip(values).zip(h) {
            let value = h * value;
            // Many weights are 0.
            if value != 0.0 {
                add_counted(counts, value, sums);
            }
        }
    }
}

/// The interval between the α/2 and 1 − α/2 quantiles, interpolated linearly between order statistics. Replicates without
/// an estimate are left out.
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

/// P(Poisson(1) ≤ k) for k = 0, 1, …: the next one rounds to a number that the generator never exceeds.
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
fn add_counted(counts: &[u8], value: f64, sums: &mut [f64]) {
    for (sum, &count) in sums.iter_mut().zip(counts) {
        *sum += f64::from(count) * value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_poisson() {
        let mut found = [0_u32; 8];
        for count in Counts::draw(200, 1, 0, 5_000).counts {
            found[usize::from(count).min(7)] += 1;
        }
        let n = 1e6;
        let mut before = 0.0;
        for (k, found) in found.into_iter().enumerate() {
            let until = if k == 7 { 1.0 } else { DISTRIBUTION[k] };
            let expected = until - before;
            before = until;
            // Five standard errors.
            let error = (expected * (1.0 - expected) / n).sqrt();
            assert!((f64::from(found) / n - expected).abs() < 5.0 * error, "{k}");
        }
    }

    #[test]
    fn a_row_is_drawn_alike_wherever_it_is() {
        let draw = |seed, first_row, n| Counts::draw(50, seed, first_row, n).counts;
        let whole = draw(7, 100, 20);
        assert_eq!(whole[500..], draw(7, 110, 10));
        assert_ne!(whole[500..], draw(8, 110, 10));
    }

    #[test]
    fn a_row_counts_as_often_as_it_was_drawn() {
        let mut sums = [1.0, 1.0, 1.0];
        add_counted(&[0, 1, 3], 0.5, &mut sums);
        assert_eq!(sums, [1.0, 1.5, 2.5]);
    }

    #[test]
    fn percentiles_lie_between_order_statistics() {
        let estimates: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        let (low, high) = percentile_interval(&estimates, 0.05);
        assert!((low - 2.5).abs() < 1e-12 && (high - 97.5).abs() < 1e-12);
        assert_eq!(percentile_interval(&[f64::NAN, 3.0], 0.1), (3.0, 3.0));
        assert!(percentile_interval(&[], 0.1).0.is_nan());
    }
}
