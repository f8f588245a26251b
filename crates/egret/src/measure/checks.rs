//! Checks that every reference measure must pass.

use crate::event::{Action, Batch};
use crate::measure::ReferenceMeasure;
use crate::numeric::{EventRng, Stream};

/// `n` independent draws.
pub(crate) fn sampled<A: Action>(
    mu: &impl ReferenceMeasure<(), A>,
    n: usize,
    seed: u64,
) -> A::Batch {
    let mut out = A::Batch::default();
    mu.sample(&(), n, &mut EventRng::new(seed, 0, Stream::World), &mut out);
    assert_eq!(out.len(), n);
    out
}

/// `n` stratified draws.
pub(crate) fn stratified<A: Action>(
    mu: &impl ReferenceMeasure<(), A>,
    n: usize,
    seed: u64,
) -> A::Batch {
    let mut out = A::Batch::default();
    mu.sample_stratified(&(), n, &mut EventRng::new(seed, 0, Stream::World), &mut out);
    assert_eq!(out.len(), n);
    out
}

/// The same seed gives the same actions, another seed others; what was in the batch stays.
pub(crate) fn check_replay<A: Action + PartialEq>(mu: &impl ReferenceMeasure<(), A>) {
    let list = |batch: &A::Batch| -> Vec<A> { (0..batch.len()).map(|i| batch.get(i)).collect() };
    for draw in [sampled, stratified] {
        let first = list(&draw(mu, 100, 1));
        assert_eq!(first, list(&draw(mu, 100, 1)));
        assert_ne!(first, list(&draw(mu, 100, 2)));
    }

    let mut appended = sampled(mu, 3, 1);
    let before = list(&appended);
    let mut rng = EventRng::new(9, 0, Stream::World);
    mu.sample(&(), 2, &mut rng, &mut appended);
    mu.sample_stratified(&(), 2, &mut rng, &mut appended);
    mu.sample(&(), 0, &mut rng, &mut appended);
    mu.sample_stratified(&(), 0, &mut rng, &mut appended);
    assert_eq!(appended.len(), 7);
    assert_eq!(list(&appended)[..3], before);
}

/// In two calls or in one, the draws are the same.
pub(crate) fn check_split<A: Action + PartialEq>(mu: &impl ReferenceMeasure<(), A>) {
    let whole = sampled(mu, 1_000, 4);
    let mut parts = A::Batch::default();
    let mut rng = EventRng::new(4, 0, Stream::World);
    for n in [1, 2, 300, 697] {
        mu.sample(&(), n, &mut rng, &mut parts);
    }
    assert!((0..1_000).all(|i| whole.get(i) == parts.get(i)));
}

/// Means of `h` over 16 stratified draws are unbiased for `expected`, and their variance is at
/// most `ratio` times that of means over 16 independent draws.
///
/// False alarm: 6e-7 for the mean, five standard errors of 4,000 repetitions.
pub(crate) fn check_stratified<A: Action>(
    mu: &impl ReferenceMeasure<(), A>,
    h: impl Fn(A) -> f64,
    expected: f64,
    ratio: f64,
) {
    let repetitions = 4_000;
    let moments = |draw: fn(&_, usize, u64) -> A::Batch| {
        let means: Vec<f64> = (0..repetitions)
            .map(|seed| {
                let batch = draw(mu, 16, seed);
                (0..16).map(|i| h(batch.get(i))).sum::<f64>() / 16.0
            })
            .collect();
        let mean = means.iter().sum::<f64>() / repetitions as f64;
        let squares: f64 = means.iter().map(|m| (m - mean).powi(2)).sum();
        (mean, squares / (repetitions - 1) as f64)
    };
    let (_, independent) = moments(sampled);
    let (mean, variance) = moments(stratified);
    let error = (variance / repetitions as f64).sqrt();
    assert!(
        (mean - expected).abs() <= 5.0 * error + 1e-12,
        "the mean is {mean} ± {error}, expected {expected}"
    );
    assert!(
        variance <= ratio * independent,
        "the variance is {variance}, {independent} without strata"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Support, line::strata};

    /// Claims to be uniform on [0, 1].
    struct Tilted(f64);

    impl ReferenceMeasure<(), f64> for Tilted {
        fn sample(&self, _: &(), n: usize, rng: &mut EventRng, out: &mut Vec<f64>) {
            out.extend((0..n).map(|_| rng.unit()));
        }

        fn sample_stratified(&self, _: &(), n: usize, rng: &mut EventRng, out: &mut Vec<f64>) {
            let start = out.len();
            out.resize(start + n, 0.0);
            strata::fill_stratified(rng, &mut out[start..]);
            for value in &mut out[start..] {
                *value *= self.0;
            }
        }

        fn support(&self) -> Support {
            Support::Volume(1.0)
        }
    }

    #[test]
    fn fair_strata_pass() {
        check_stratified(&Tilted(1.0), |a| a, 0.5, 0.01);
    }

    #[test]
    #[should_panic(expected = "the mean is")]
    fn a_bias_of_one_in_a_thousand_is_seen() {
        check_stratified(&Tilted(0.999), |a| a, 0.5, 0.01);
    }
}
