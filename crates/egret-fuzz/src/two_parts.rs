/// The text before and after the first empty line; all of it is before if there is none.
pub(crate) fn two_parts(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.windows(2).position(|pair| pair == b"\n\n") {
        Some(place) => (&bytes[..place], &bytes[place + 2..]),
        None => (bytes, &[]),
    }
}
