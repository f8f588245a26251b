use crate::numeric::hash::mix;

/// 64 bits of a text, the same on every machine: FNV-1a, then a mix that spreads each bit over all (splitmix64).
pub(super) fn hash(salt: u64, text: &str) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let start = OFFSET ^ mix(salt);
    mix(text.bytes().fold(start, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    }))
}

/// Where a hash goes among 2^bits columns, and with which sign: two values that share a column cancel as often as they
/// add up, so that a collision has no direction (Weinberger et al. 2009).
pub(super) fn place(hash: u64, bits: u8) -> (u32, f64) {
    let column = (hash & ((1 << bits) - 1)) as u32;
    let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
    (column, sign)
}

/// How a hash stands in a log, in place of what was hashed.
pub(super) fn shown(hash: u64) -> String {
    format!("#{hash:016x}")
}

/// The hash that a text shows, if it shows one.
pub(super) fn read(text: &str) -> Option<u64> {
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 16)?;
    let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    digits
        .bytes()
        .all(lower)
        .then(|| u64::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use egret_testkit::chi_square_p_value;

    use super::*;

    #[test]
    fn columns_and_signs_are_spread_evenly() {
        // 32 cells (16 columns × 2 signs) of numbered names. The names are fixed: the test says yes or no for ever, and
        // an even spread fails it with probability 1e-6.
        let mut cells = [0_u64; 32];
        for number in 0..32_000 {
            let (column, sign) = place(hash(0, &format!("user-{number}")), 4);
            cells[column as usize * 2 + usize::from(sign < 0.0)] += 1;
        }
        let even = [1.0 / 32.0; 32];
        assert!(1e-6 < chi_square_p_value(&cells, &even), "{cells:?}");
    }

    #[test]
    fn a_shown_hash_is_read_again() {
        for text in ["", "a", "Ελλάδα"] {
            let hash = hash(7, text);
            assert_eq!(read(&shown(hash)), Some(hash));
        }
        for text in [
            "",
            "#",
            "#123",
            "#00000000000000zz",
            "#00000000000000AA",
            "0123456789abcdef0",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_ne!(hash(1, "a"), hash(2, "a"));
    }
}
