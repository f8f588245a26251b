//! Elementary functions for loops: no branches, no calls, the same bits on every machine.

/// cos x, within 1e-14 for |x| ≤ 10⁶.
///
/// n = round(x/π),  r = x − nπ ∈ [−π/2, π/2],  cos x = (−1)ⁿ cos r
///
/// π is taken in three parts, the first two short enough for n times them to be exact (Cody and
/// Waite); cos r is its Taylor polynomial of degree 20, whose remainder is below 2e-17. Beyond 10⁶
/// the phase is lost bit by bit, as it already is in x; the result stays in [−1, 1]. NaN and
/// infinities give NaN.
#[inline(always)]
pub(crate) fn cos(x: f64) -> f64 {
    let x = x.abs();
    let shifted = x * FRAC_1_PI + ROUND;
    let n = shifted - ROUND;
    let r = ((x - n * PI_HIGH) - n * PI_MIDDLE) - n * PI_LOW;
    let s = r * r;
    let mut polynomial = TAYLOR[0];
    for coefficient in &TAYLOR[1..] {
        polynomial = polynomial * s + coefficient;
    }
    // The last bit of `shifted` is that of n: its parity is the sign.
    let sign = shifted.to_bits() << 63;
    f64::from_bits(polynomial.to_bits() ^ sign).clamp(-1.0, 1.0)
}

/// Adding 1.5 · 2⁵² leaves the nearest whole number in the last bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
const FRAC_1_PI: f64 = std::f64::consts::FRAC_1_PI;
/// The first 33 bits of π, the next 33, and the rest.
const PI_HIGH: f64 = f64::from_bits(0x4009_21fb_5440_0000);
const PI_MIDDLE: f64 = f64::from_bits(0x3de0_b461_1a60_0000);
const PI_LOW: f64 = f64::from_bits(0x3bb3_198a_2e03_7073);

/// (−1)ᵏ/(2k)! for k = 10 down to 0.
const TAYLOR: [f64; 11] = [
    1.0 / 2_432_902_008_176_640_000.0,
    -1.0 / 6_402_373_705_728_000.0,
    1.0 / 20_922_789_888_000.0,
    -1.0 / 87_178_291_200.0,
    1.0 / 479_001_600.0,
    -1.0 / 3_628_800.0,
    1.0 / 40_320.0,
    -1.0 / 720.0,
    1.0 / 24.0,
    -0.5,
    1.0,
];

/// 1/(1 + e⁻ᶻ).
pub(crate) fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-z))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosine_is_that_of_libm() {
        let mut worst: f64 = 0.0;
        let mut check = |x: f64| worst = worst.max((cos(x) - libm::cos(x)).abs());
        for step in -200_000..=200_000 {
            let t = f64::from(step);
            check(t * 1e-4); // within ±20
            check(t * 0.500_000_7); // within ±10⁵
            check(t * 5.000_003); // within ±10⁶
        }
        for quarter in -400_000..=400_000 {
            // Where the reduced argument is smallest or at its ends.
            check(f64::from(quarter) * std::f64::consts::FRAC_PI_4);
        }
        assert!(worst < 1e-14, "{worst}");
        assert_eq!(cos(0.0), 1.0);
    }

    #[test]
    fn cosine_is_even_and_bounded() {
        for exponent in -300..=300 {
            for mantissa in [1.0, 1.7, 3.3, 9.9] {
                let x = mantissa * libm::pow(10.0, f64::from(exponent));
                assert_eq!(cos(x), cos(-x));
                assert!((-1.0..=1.0).contains(&cos(x)), "{x}");
            }
        }
        assert!(cos(f64::NAN).is_nan());
        assert!(cos(f64::INFINITY).is_nan());
    }

    #[test]
    fn sigmoid_stays_in_the_unit_interval() {
        assert_eq!(sigmoid(0.0), 0.5);
        assert_eq!(sigmoid(-1e9), 0.0);
        assert_eq!(sigmoid(1e9), 1.0);
        assert!((sigmoid(2.0) + sigmoid(-2.0) - 1.0).abs() < 1e-15);
    }
}
