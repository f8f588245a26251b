use statrs::distribution::{ChiSquared, ContinuousCDF};

/// How probable it is that draws from `cdf` fit it no better than these (Kolmogorov–Smirnov,
/// asymptotic, with Stephens' small-sample factor). Sorts `draws`.
pub fn kolmogorov_smirnov_p_value(draws: &mut [f64], cdf: impl Fn(f64) -> f64) -> f64 {
    draws.sort_by(f64::total_cmp);
    let n = draws.len() as f64;
    let distance = draws
        .iter()
        .enumerate()
        .map(|(rank, &draw)| {
            let expected = cdf(draw);
            (expected - rank as f64 / n).max((rank as f64 + 1.0) / n - expected)
        })
        .fold(0.0, f64::max);
    let root = n.sqrt();
    let scaled = distance * (root + 0.12 + 0.11 / root);
    let tail: f64 = (1..=100)
        .map(|k| {
            let k = f64::from(k);
            let sign = if k % 2.0 == 1.0 { 1.0 } else { -1.0 };
            sign * (-2.0 * (k * scaled).powi(2)).exp()
        })
        .sum();
    (2.0 * tail).clamp(0.0, 1.0)
}

/// How probable it is that counts with these probabilities fit them no better (χ²).
///
/// # Panics
/// If a cell expects fewer than five counts: the approximation would not hold.
pub fn chi_square_p_value(counts: &[u64], probabilities: &[f64]) -> f64 {
    assert_eq!(
        counts.len(),
        probabilities.len(),
        "a probability for each cell"
    );
    let total = counts.iter().sum::<u64>() as f64;
    let statistic: f64 = counts
        .iter()
        .zip(probabilities)
        .map(|(&count, probability)| {
            let expected = total * probability;
            assert!(5.0 <= expected, "a cell expects only {expected} counts");
            (count as f64 - expected).powi(2) / expected
        })
        .sum();
    let freedom = (counts.len() - 1) as f64;
    ChiSquared::new(freedom)
        .expect("two cells or more")
        .sf(statistic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_grid_fits_and_its_square_does_not() {
        let grid = || (0..1_000).map(|i| (f64::from(i) + 0.5) / 1_000.0);
        let mut even: Vec<f64> = grid().collect();
        assert!(0.99 < kolmogorov_smirnov_p_value(&mut even, |a| a));
        let mut squares: Vec<f64> = grid().map(|a| a * a).collect();
        assert!(kolmogorov_smirnov_p_value(&mut squares, |a| a) < 1e-9);
    }

    #[test]
    fn the_known_five_percent_point_of_ks() {
        // For large n, sqrt(n) D exceeds 1.358 with probability 0.05.
        let n = 1_000_000;
        let shift = 1.358 / 1_000.0 - 0.5 / n as f64;
        let mut draws: Vec<f64> = (0..n)
            .map(|i| (i as f64 + 0.5) / n as f64 + shift)
            .collect();
        let p = kolmogorov_smirnov_p_value(&mut draws, |a| a.min(1.0));
        assert!((p - 0.05).abs() < 0.001, "{p}");
    }

    #[test]
    fn chi_square_of_equal_counts_is_one() {
        assert_eq!(chi_square_p_value(&[50, 50], &[0.5, 0.5]), 1.0);
        assert!(chi_square_p_value(&[90, 10], &[0.5, 0.5]) < 1e-9);
    }
}
