/// z with P(z < N(0, 1)) = `tail`, for 0 < `tail` < ½.
///
/// It bisects with `libm` alone, so the bits are the same on every machine.
pub(crate) fn normal_quantile_above(tail: f64) -> f64 {
    let above = |z: f64| 0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2);
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if tail < above(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_quantiles() {
        for (tail, z) in [
            (0.5, 0.0),
            (0.025, 1.959_963_984_540_054),
            (0.005, 2.575_829_303_548_901),
            (5e-7, 4.891_638_475_699_41),
        ] {
            let found = normal_quantile_above(tail);
            assert!((found - z).abs() < 1e-12, "{tail}: {found}");
        }
    }
}
