/// Two hashes as one; the order counts.
pub(crate) fn combine(one: u64, other: u64) -> u64 {
    mix(one.rotate_left(17) ^ other)
}

/// Spreads each bit over all (splitmix64).
pub(crate) fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// 64 bits of all the bytes, as 16 hexadecimal digits: the same on every machine. It tells contents apart by accident, not
/// against somebody who looks for two that agree.
pub(crate) fn content_hash(bytes: &[u8]) -> String {
    format!("{:016x}", hash_bytes(bytes))
}

/// The same 64 bits as a number.
pub(crate) fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hash = mix(bytes.len() as u64);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = combine(hash, u64::from_le_bytes(word));
    }
    hash
}
