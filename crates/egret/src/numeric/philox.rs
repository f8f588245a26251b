//! Philox 4×32-10 (Salmon et al. 2011), sixteen blocks side by side.

use multiversion::multiversion;

/// How many blocks are computed at once.
const BLOCKS: usize = 16;

/// How many 64-bit numbers that is: two per block.
pub(crate) const GROUP: usize = 2 * BLOCKS;

const MULTIPLIERS: [u64; 2] = [0xd251_1f53, 0xcd9e_8d57];
const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
const ROUNDS: usize = 10;
const LOW: u64 = 0xffff_ffff;

/// How many 32-bit numbers that is.
pub(crate) const COARSE_GROUP: usize = 4 * BLOCKS;

/// Fills groups with uniform numbers from consecutive blocks, starting at `counter`.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
pub(crate) fn fill_units(key: [u32; 2], counter: u128, out: &mut [[f64; GROUP]]) {
    let mut counter = counter;
    for group in out {
        let [w0, w1, w2, w3] = blocks(key, counter);
        for lane in 0..BLOCKS {
            group[2 * lane] = unit((w1[lane] << 32) | w0[lane]);
            group[2 * lane + 1] = unit((w3[lane] << 32) | w2[lane]);
        }
        counter = counter.wrapping_add(BLOCKS as u128);
    }
}

/// Fills each group with (word + ½)/2³²: the first words of its blocks, then the second and so on.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
pub(crate) fn fill_coarse(key: [u32; 2], counter: u128, out: &mut [[f64; COARSE_GROUP]]) {
    let mut counter = counter;
    for group in out {
        let words = blocks(key, counter);
        for (numbers, words) in group.as_chunks_mut::<BLOCKS>().0.iter_mut().zip(&words) {
            for (number, word) in numbers.iter_mut().zip(words) {
                *number = f64::from_bits(0x3ff0_0000_0000_0000 | word << 20 | 1 << 19) - 1.0;
            }
        }
        counter = counter.wrapping_add(BLOCKS as u128);
    }
}

/// The words of sixteen blocks.
///
/// Each 32-bit word sits in a 64-bit lane, because vectors multiply those without loss.
#[inline(always)]
fn blocks(key: [u32; 2], counter: u128) -> [[u64; BLOCKS]; 4] {
    let (low, high) = (counter as u64, (counter >> 64) as u64);
    // Four named arrays: the compiler would copy an array of four whenever a lane is read.
    let mut w0 = [0_u64; BLOCKS];
    let mut w1 = [0_u64; BLOCKS];
    let mut w2 = [0_u64; BLOCKS];
    let mut w3 = [0_u64; BLOCKS];
    for lane in 0..BLOCKS {
        let block = low.wrapping_add(lane as u64);
        let above = high.wrapping_add(u64::from(block < low));
        w0[lane] = block & LOW;
        w1[lane] = block >> 32;
        w2[lane] = above & LOW;
        w3[lane] = above >> 32;
    }
    let [mut k0, mut k1] = key;
    for _ in 0..ROUNDS {
        for lane in 0..BLOCKS {
            // The masks change nothing; they tell the compiler that a 32-by-32-bit product suffices.
            let p0 = (w0[lane] & LOW) * MULTIPLIERS[0];
            let p1 = (w2[lane] & LOW) * MULTIPLIERS[1];
            w0[lane] = (p1 >> 32) ^ w1[lane] ^ u64::from(k0);
            w1[lane] = p1 & LOW;
            w2[lane] = (p0 >> 32) ^ w3[lane] ^ u64::from(k1);
            w3[lane] = p0 & LOW;
        }
        k0 = k0.wrapping_add(WEYL[0]);
        k1 = k1.wrapping_add(WEYL[1]);
    }
    [w0, w1, w2, w3]
}

/// (k + ½) / 2⁵², for the upper 52 of the 64 bits: each step is exact, and the result is inside (0, 1).
#[inline(always)]
pub(crate) fn unit(word: u64) -> f64 {
    // 1.m − 1 is exact, in steps of 2⁻⁵².
    let one_to_two = f64::from_bits((word >> 12) | 0x3ff0_0000_0000_0000);
    (one_to_two - 1.0) + f64::EPSILON / 2.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_philox::Philox;

    use super::*;

    fn counter([a, b, c, d]: [u32; 4]) -> u128 {
        [d, c, b, a]
            .iter()
            .fold(0, |sum, &word| (sum << 32) | u128::from(word))
    }

    #[test]
    fn known_answers_of_random123() {
        let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        for (start, key, [a, b, c, d]) in [
            (
                [0; 4],
                [0; 2],
                [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8],
            ),
            (
                [u32::MAX; 4],
                [u32::MAX; 2],
                [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd],
            ),
            (
                pi,
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ] {
            let mut out = [[0.0; GROUP]];
            fill_units(key, counter(start), &mut out);
            let word = |low: u64, high: u64| (high << 32) | low;
            assert_eq!(out[0][..2], [unit(word(a, b)), unit(word(c, d))]);
        }
    }

    proptest! {
        #[test]
        fn groups_are_the_words_one_by_one(
            key in any::<[u32; 2]>(),
            start in any::<u128>(),
            ones in 0_u32..=128,
        ) {
            // Some bits set at the end, so that a word and all words may be about to carry.
            let start = start | (1_u128 << ones.min(127)).wrapping_sub(9);
            let mut out = [[0.0; GROUP]; 3];
            fill_units(key, start, &mut out);
            let mut reference = Philox::new(key, start);
            for &found in out.as_flattened() {
                prop_assert_eq!(found, unit(reference.next_u64()));
            }
        }
    }

    #[test]
    fn ends_are_never_reached() {
        assert_eq!(unit(0), f64::EPSILON / 2.0);
        assert!(unit(u64::MAX) < 1.0);
    }
}
