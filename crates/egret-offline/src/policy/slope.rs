use egret::OutOfRange;

/// A candidate of [`slope`]: an estimate and how far noise may have moved it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The estimate.
    pub estimate: f64,
    /// Half the width of its interval at level 1 − δ/(number of candidates), which ignores bias.
    pub half_width: f64,
}

/// Chooses among estimates that trade bias for variance, without knowing the bias (SLOPE: Su, Srinath and Krishnamurthy
/// 2020, "Adaptive Estimator Selection for Off-Policy Evaluation", after Lepski).
///
/// Candidates are given in order of growing bias: with kernels, the smallest bandwidth first. Each has the interval
/// estimate ± 2·half_width. The choice is the last candidate up to which all intervals have a point in common:
///
/// î = max{ i : I₁ ∩ … ∩ Iᵢ ≠ ∅ }
///
/// Intervals overlap as long as bias is small beside noise; the first that does not overlap shows bias. If half-widths do
/// not grow from one candidate to the next, and do not fall by more than a constant factor, then with probability 1 − δ the
/// error of the choice is within a constant of the best trade-off. Returns the place of the choice.
///
/// A half-width smaller than a later one is raised to it. A rougher estimate is never surer than a smoother one; it only
/// looks so where few events count, or none.
///
/// ```
/// use egret_offline::{Candidate, slope};
///
/// let candidate = |estimate, half_width| Candidate { estimate, half_width };
/// let by_bandwidth = [candidate(0.50, 0.08), candidate(0.45, 0.04), candidate(0.90, 0.02)];
/// assert_eq!(slope(&by_bandwidth)?, 1);
/// # Ok::<(), egret::OutOfRange>(())
/// ```
pub fn slope(candidates: &[Candidate]) -> Result<usize, OutOfRange> {
    OutOfRange::unless(
        !candidates.is_empty(),
        "number of candidates",
        0.0,
        "[1, inf)",
    )?;
    for &Candidate {
        estimate,
        half_width,
    } in candidates
    {
        OutOfRange::unless(estimate.is_finite(), "estimate", estimate, "(-inf, inf)")?;
        OutOfRange::unless(0.0 <= half_width, "half_width", half_width, "[0, inf]")?;
    }
    let mut widths: Vec<f64> = candidates.iter().map(|of| of.half_width).collect();
    for place in (1..widths.len()).rev() {
        widths[place - 1] = widths[place - 1].max(widths[place]);
    }
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut chosen = 0;
    for (place, (candidate, width)) in candidates.iter().zip(widths).enumerate() {
        low = low.max(candidate.estimate - 2.0 * width);
        high = high.min(candidate.estimate + 2.0 * width);
        if high < low {
            break;
        }
        chosen = place;
    }
    Ok(chosen)
}

/// `n` bandwidths from `low` to `high` in a geometric series, for [`slope`] to choose among.
pub fn geometric_bandwidths(low: f64, high: f64, n: usize) -> Result<Vec<f64>, OutOfRange> {
    OutOfRange::unless(
        0.0 < low && low.is_finite(),
        "least bandwidth",
        low,
        "(0, inf)",
    )?;
    OutOfRange::unless(
        low <= high && high.is_finite(),
        "largest bandwidth",
        high,
        "at least the least one",
    )?;
    OutOfRange::unless(1 <= n, "number of bandwidths", n as f64, "[1, inf)")?;
    let last = (n - 1).max(1) as f64;
    Ok((0..n)
        .map(|place| low * libm::pow(high / low, place as f64 / last))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(pairs: &[(f64, f64)]) -> Vec<Candidate> {
        pairs
            .iter()
            .map(|&(estimate, half_width)| Candidate {
                estimate,
                half_width,
            })
            .collect()
    }

    #[test]
    fn the_last_before_the_first_gap_is_taken() {
        // The third interval misses the first; a later one that meets it again counts no more.
        let pairs = [(0.5, 0.1), (0.6, 0.05), (1.5, 0.02), (0.6, 0.01)];
        assert_eq!(slope(&candidates(&pairs)), Ok(1));
        assert_eq!(slope(&candidates(&pairs[..1])), Ok(0));
        // Each meets its neighbour, but there is no point in all three.
        let drifting = [(0.0, 0.1), (0.3, 0.1), (0.6, 0.1)];
        assert_eq!(slope(&candidates(&drifting)), Ok(1));
    }

    #[test]
    fn a_rough_estimate_that_looks_sure_decides_nothing() {
        // 0 ± 0 is taken as 0 ± 0.2, no surer than the second, and meets it.
        let mut pairs = [(0.0, 0.0), (0.4, 0.1), (0.41, 0.05), (0.4, 0.03)];
        assert_eq!(slope(&candidates(&pairs)), Ok(1));
        // One that knows nothing does not stand in the way.
        pairs[0].1 = f64::INFINITY;
        assert_eq!(slope(&candidates(&pairs)), Ok(3));
    }

    #[test]
    fn without_bias_the_steadiest_is_taken() {
        let pairs = [(0.52, 0.2), (0.49, 0.1), (0.50, 0.05), (0.505, 0.025)];
        assert_eq!(slope(&candidates(&pairs)), Ok(3));
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        assert!(slope(&[]).is_err());
        assert!(slope(&candidates(&[(f64::NAN, 0.1)])).is_err());
        assert!(slope(&candidates(&[(0.5, f64::NAN)])).is_err());
        assert!(slope(&candidates(&[(0.5, -0.1)])).is_err());
        assert_eq!(slope(&candidates(&[(0.5, f64::INFINITY)])), Ok(0));
    }

    #[test]
    fn bandwidths_are_in_equal_ratios() {
        let found = geometric_bandwidths(0.01, 0.16, 5).expect("in order");
        for (found, expected) in found.iter().zip([0.01, 0.02, 0.04, 0.08, 0.16]) {
            assert!((found - expected).abs() < 1e-12);
        }
        assert!(geometric_bandwidths(0.2, 0.1, 3).is_err());
        assert!(geometric_bandwidths(0.0, 0.1, 3).is_err());
        assert!(geometric_bandwidths(0.1, 0.1, 0).is_err());
    }
}
