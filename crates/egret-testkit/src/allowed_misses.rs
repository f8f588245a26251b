use statrs::distribution::{Binomial, DiscreteCDF};

/// The most misses among `trials` that a method missing with probability `alpha` shows, but for
/// one chance in a million.
///
/// ```
/// assert_eq!(egret_testkit::allowed_misses(2_000, 0.05), 149);
/// ```
pub fn allowed_misses(trials: u64, alpha: f64) -> u64 {
    let misses = Binomial::new(alpha, trials).expect("alpha is a probability");
    (0..=trials)
        .find(|&count| misses.sf(count) < 1e-6)
        .expect("nothing exceeds all trials")
}
