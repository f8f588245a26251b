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

/// eˣ for |x| ≤ 700, within 4e-16 of itself; beyond, that of the nearer end. NaN gives NaN.
///
/// n = round(x/ln 2),  r = x − n ln 2,  eˣ = 2ⁿ eʳ
///
/// ln 2 is taken in two parts, the first short enough for n times it to be exact; eʳ is its Taylor polynomial of degree 13,
/// whose remainder is below 5e-18.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    let x = x.clamp(-700.0, 700.0);
    let shifted = x * LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    let mut polynomial = EXP_TAYLOR[0];
    for coefficient in &EXP_TAYLOR[1..] {
        polynomial = polynomial * r + coefficient;
    }
    // The last bits of `shifted` are those of n: they go where the exponent is.
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(ONE));
    polynomial * power
}

/// ln x for positive x that are not subnormal, within 4e-16 of itself or 2e-16 in all. NaN gives NaN.
///
/// x = 2ᵏ m with m ∈ [√½, √2),  s = (m − 1)/(m + 1),  ln x = k ln 2 + 2 (s + s³/3 + … + s²³/23)
#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = bits.wrapping_add(ONE.wrapping_sub(SQRT_HALF)) >> 52;
    // The number k + 1023, as the last bits of 2⁵² + k + 1023.
    let k = f64::from_bits(exponent | TWO_52.to_bits()) - (TWO_52 + 1023.0);
    let m = f64::from_bits(bits.wrapping_sub(exponent << 52).wrapping_add(ONE));
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let mut polynomial = ODD_INVERSES[0];
    for coefficient in &ODD_INVERSES[1..] {
        polynomial = polynomial * square + coefficient;
    }
    let ln = k * LN_2_HIGH + (2.0 * s * (1.0 + square * polynomial) + k * LN_2_LOW);
    if x.is_nan() { x } else { ln }
}

const LOG2_E: f64 = std::f64::consts::LOG2_E;
/// The first 32 bits of ln 2, and the rest.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
const ONE: u64 = 1.0_f64.to_bits();
const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
const TWO_52: f64 = 4_503_599_627_370_496.0;

/// 1/k! for k = 13 down to 0.
const EXP_TAYLOR: [f64; 14] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// 1/(2k + 1) for k = 11 down to 1.
const ODD_INVERSES: [f64; 11] = [
    1.0 / 23.0,
    1.0 / 21.0,
    1.0 / 19.0,
    1.0 / 17.0,
    1.0 / 15.0,
    1.0 / 13.0,
    1.0 / 11.0,
    1.0 / 9.0,
    1.0 / 7.0,
    1.0 / 5.0,
    1.0 / 3.0,
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
    fn exponentials_and_logarithms_are_those_of_libm() {
        let (mut worst_exp, mut worst_ln): (f64, f64) = (0.0, 0.0);
        for step in -700_000..=700_000 {
            // Within ±2.1, and within ±700.
            for x in [3e-6 * f64::from(step), 1e-3 * f64::from(step)] {
                let power = libm::exp(x);
                worst_exp = worst_exp.max((exp(x) / power - 1.0).abs());
                let log = libm::log(power);
                worst_ln = worst_ln.max((ln(power) - log).abs() / log.abs().max(0.5));
            }
        }
        assert!(worst_exp < 4e-16, "{worst_exp}");
        assert!(worst_ln < 4e-16, "{worst_ln}");
        assert_eq!((exp(0.0), ln(1.0)), (1.0, 0.0));
        assert_eq!((exp(-1e9), exp(1e9)), (exp(-700.0), exp(700.0)));
        assert!(exp(f64::NAN).is_nan() && ln(f64::NAN).is_nan());
    }

    #[test]
    fn sigmoid_stays_in_the_unit_interval() {
        assert_eq!(sigmoid(0.0), 0.5);
        assert_eq!(sigmoid(-1e9), 0.0);
        assert_eq!(sigmoid(1e9), 1.0);
        assert!((sigmoid(2.0) + sigmoid(-2.0) - 1.0).abs() < 1e-15);
    }
}
