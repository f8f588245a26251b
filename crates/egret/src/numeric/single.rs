//! Numbers of 32 bits: half the memory and twice as many at a time, for what needs no more than seven digits.
//!
//! Sums are of eight lanes, then of a fixed tree, as in [`lanes`](crate::lanes): the same bits on every machine.

use crate::numeric::lanes::LANES;

/// Combines all numbers: lane by lane, then the lanes in a fixed order.
#[inline(always)]
fn fold(values: &[f32], start: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [start; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = combine(*lane, value);
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(rest) {
        *lane = combine(*lane, value);
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    let (low, high) = (
        combine(combine(a, b), combine(c, d)),
        combine(combine(e, f), combine(g, h)),
    );
    combine(low, high)
}

/// Σ aᵢ.
#[inline(always)]
pub(crate) fn sum(values: &[f32]) -> f32 {
    fold(values, 0.0, |a, b| a + b)
}

/// The largest number, −∞ of none.
#[inline(always)]
pub(crate) fn largest(values: &[f32]) -> f32 {
    fold(values, f32::NEG_INFINITY, |a, b| if a < b { b } else { a })
}

/// Σ aᵢ bᵢ; both slices have the same length.
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len(), "a dot product pairs its factors");
    let mut lanes = [0.0; LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        lanes[lane] += a * b;
    }
    sum(&lanes)
}

/// eˣ for x ≤ 0, within a millionth of itself; 0 below −80, where it is less than 10⁻³⁴.
///
/// n = round(x/ln 2),  r = x − n ln 2,  eˣ = 2ⁿ eʳ
///
/// ln 2 is taken in two parts, the first short enough for n times it to be exact; eʳ is its Taylor polynomial of degree 7.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let bounded = if x < LEAST { LEAST } else { x };
    let shifted = bounded * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (bounded - n * LN_2_HIGH) - n * LN_2_LOW;
    let mut polynomial = TAYLOR[0];
    for coefficient in &TAYLOR[1..] {
        polynomial = polynomial * r + coefficient;
    }
    // The last bits of `shifted` are those of n: they go where the exponent is.
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(ONE));
    if x < LEAST { 0.0 } else { polynomial * power }
}

/// 1/√x for positive x that are not subnormal, within a hundred-thousandth of itself.
///
/// Half the bits of x from those of a constant, which halves the logarithm, then two steps of Newton's.
#[inline(always)]
pub(crate) fn inverse_root(x: f32) -> f32 {
    let half = 0.5 * x;
    let mut y = f32::from_bits(0x5f37_5a86 - (x.to_bits() >> 1));
    for _ in 0..2 {
        y *= 1.5 - half * y * y;
    }
    y
}

const LEAST: f32 = -80.0;
const ONE: u32 = 1.0_f32.to_bits();
/// Adding 1.5 · 2²³ leaves the nearest whole number in the last bits.
const ROUND: f32 = 12_582_912.0;
/// The first 10 bits of ln 2, and the rest.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// 1/k! for k = 7 down to 0.
const TAYLOR: [f32; 8] = [
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_those_of_libm() {
        for step in 0..=800_000 {
            let x = -1e-4 * step as f32;
            let expected = libm::exp(f64::from(x));
            let error = (f64::from(exp(x)) - expected).abs();
            assert!(error <= 1e-6 * expected, "{x}: {error} of {expected}");
        }
        assert_eq!(exp(0.0), 1.0);
        for x in [-80.1, -1e30, f32::NEG_INFINITY] {
            assert_eq!(exp(x), 0.0);
        }
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn inverse_roots_are_those_of_libm() {
        for exponent in -37..=37 {
            for step in 0..9_000 {
                let x = (1.0 + 1e-3 * step as f32) * libm::powf(10.0, exponent as f32);
                let expected = 1.0 / f64::from(x).sqrt();
                let error = (f64::from(inverse_root(x)) - expected).abs();
                assert!(error <= 1e-5 * expected, "{x}: {error} of {expected}");
            }
        }
    }

    #[test]
    fn whole_numbers_add_up() {
        for n in 0..40_usize {
            let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let squares: f32 = a.iter().map(|x| x * x).sum();
            assert_eq!(sum(&a), (n * n.saturating_sub(1) / 2) as f32);
            assert_eq!(dot(&a, &a), squares);
            let most = a.last().copied().unwrap_or(f32::NEG_INFINITY);
            assert_eq!(largest(&a), most);
        }
    }
}
