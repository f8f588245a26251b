/// The shape k of the tail of `n` positive numbers, given the largest of them in falling order.
///
/// It fits a generalized Pareto distribution to the M = min(n/5, 3√n) largest, less the next one below (Zhang & Stephens
/// 2009; as a diagnostic of weights: Vehtari, Simpson, Gelman, Yao & Gabry 2024). Moments are finite up to order 1/k.
/// A prior worth ten observations pulls the estimate towards ½, which steadies it where M is small.
///
/// None where there are too few, and where the largest comes twice: numbers that take few values have no tail, and a fit to
/// them says anything.
pub(crate) fn pareto_shape(largest: &[f64], n: u64) -> Option<f64> {
    let wanted = (n as f64 / 5.0).min(3.0 * (n as f64).sqrt()) as usize;
    let m = wanted.min(largest.len().saturating_sub(1));
    if m < 5 || largest[0] == largest[1] {
        return None;
    }
    let threshold = largest[m];
    // In rising order, as the fit needs them.
    let excesses: Vec<f64> = largest[..m].iter().rev().map(|x| x - threshold).collect();
    let most = excesses[m - 1];
    let quarter = excesses[(m as f64 / 4.0 + 0.5).floor() as usize - 1];
    if !(0.0 < quarter && quarter < most) {
        return None;
    }
    let shape_at = |b: f64| {
        let logs: f64 = excesses.iter().map(|x| libm::log1p(-b * x)).sum();
        logs / m as f64
    };
    let points = 30 + (m as f64).sqrt() as usize;
    let mut bs = Vec::with_capacity(points);
    let mut likelihoods = Vec::with_capacity(points);
    for i in 1..=points {
        let b = 1.0 / most + (1.0 - (points as f64 / (i as f64 - 0.5)).sqrt()) / (3.0 * quarter);
        let shape = shape_at(b);
        bs.push(b);
        likelihoods.push(m as f64 * (libm::log(-b / shape) - shape - 1.0));
    }
    let mean_b: f64 = (0..points)
        .map(|i| {
            let others: f64 = likelihoods
                .iter()
                .map(|l| libm::exp(l - likelihoods[i]))
                .sum();
            bs[i] / others
        })
        .sum();
    let k = shape_at(mean_b);
    let m = m as f64;
    k.is_finite().then(|| (k * m + 0.5 * 10.0) / (m + 10.0))
}

#[cfg(test)]
mod tests {
    use egret::{EventRng, Stream};

    use super::*;

    fn largest(n: u64, quantile: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut rng = EventRng::new(5, 0, Stream::World);
        let mut values: Vec<f64> = (0..n).map(|_| quantile(rng.unit())).collect();
        values.sort_unstable_by(|a, b| b.total_cmp(a));
        values.truncate(1_024);
        values
    }

    #[test]
    fn known_tails_are_found() {
        // Pareto with P(X > x) = x^(−1/k), exponential (k = 0), uniform (k = −1); s.e. about (1 + k)/√900.
        let n = 90_000;
        for k in [0.3, 0.5, 0.8, 1.2] {
            let found = pareto_shape(&largest(n, |u| u.powf(-k)), n).expect("a tail");
            assert!((found - k).abs() < 0.2, "{k}: {found}");
        }
        let found = pareto_shape(&largest(n, |u| -u.ln()), n).expect("a tail");
        assert!(found.abs() < 0.15, "{found}");
        let found = pareto_shape(&largest(n, |u| u), n).expect("a tail");
        assert!((found + 1.0).abs() < 0.15, "{found}");
    }

    #[test]
    fn equal_weights_have_no_tail() {
        assert_eq!(pareto_shape(&[8.0; 500], 100_000), None);
        // Eight values among the largest 301, as in Open Bandit's logs.
        let values: Vec<f64> = (0..301).map(|i| f64::from(20 - i * 8 / 301)).collect();
        assert_eq!(pareto_shape(&values, 10_000), None);
        assert_eq!(pareto_shape(&[3.0, 2.0, 1.0], 3), None);
        assert_eq!(pareto_shape(&[], 0), None);
    }
}
