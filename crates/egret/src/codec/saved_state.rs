//! The saved state of one part of a model: its kind, then its values.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec::LoadError;

/// The kind, then the state.
pub(crate) fn to_bytes(kind: &str, state: &impl Serialize) -> Vec<u8> {
    let bytes = postcard::to_stdvec(kind).expect("a string has bytes");
    postcard::to_extend(state, bytes).expect("plain numbers and lists have bytes")
}

/// The state; an error if it is of another kind, or if bytes are left over.
pub(crate) fn from_bytes<T: DeserializeOwned>(kind: &str, bytes: &[u8]) -> Result<T, LoadError> {
    let (found, rest) = postcard::take_from_bytes::<String>(bytes)?;
    expect_same("a state of", &found, &kind)?;
    let (state, rest) = postcard::take_from_bytes(rest)?;
    expect_same("bytes left over:", &rest.len(), &0)?;
    Ok(state)
}

/// An error that names both values unless they are equal.
pub(crate) fn expect_same<T, U>(what: &str, found: &T, expected: &U) -> Result<(), LoadError>
where
    T: PartialEq<U> + std::fmt::Debug,
    U: std::fmt::Debug,
{
    if found == expected {
        Ok(())
    } else {
        Err(LoadError::Mismatch {
            found: format!("{what} {found:?}"),
            expected: format!("{what} {expected:?}"),
        })
    }
}

/// An error unless there are `len` numbers and all are `allowed`.
pub(crate) fn expect_numbers(
    name: &str,
    values: &[impl Copy + Into<f64>],
    len: usize,
    allowed: impl Fn(f64) -> bool,
) -> Result<(), LoadError> {
    expect_same(&format!("a list of {name} of length"), &values.len(), &len)?;
    let mut values = values.iter().map(|&value| value.into());
    match values.find(|&value| !allowed(value)) {
        None => Ok(()),
        Some(value) => Err(LoadError::Invalid(format!("{value} among the {name}"))),
    }
}

/// An error beyond 2⁵³: no learner counts so far, and one more of anything cannot overflow.
pub(crate) fn expect_count(name: &str, count: u64) -> Result<(), LoadError> {
    if count <= 1 << 53 {
        Ok(())
    } else {
        Err(LoadError::Invalid(format!(
            "{count} {name}, expected at most 2^53"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let bytes = to_bytes("pair", &(3_u32, vec![0.5, -0.0]));
        let (n, values): (u32, Vec<f64>) = from_bytes("pair", &bytes).expect("as written");
        assert_eq!((n, values.len()), (3, 2));
        assert_eq!(values[1].to_bits(), (-0.0_f64).to_bits());
    }

    #[test]
    fn other_kinds_and_lengths_are_named() {
        let bytes = to_bytes("pair", &(3_u32, vec![0.5]));
        let read = |kind: &str, bytes: &[u8]| from_bytes::<(u32, Vec<f64>)>(kind, bytes);
        assert_eq!(
            read("ridge", &bytes).expect_err("another kind").to_string(),
            "saved from a state of \"pair\", but loaded into a state of \"ridge\""
        );
        let longer = [&bytes[..], &[0]].concat();
        assert!(matches!(
            read("pair", &longer),
            Err(LoadError::Mismatch { .. })
        ));
        for cut in 0..bytes.len() {
            assert!(read("pair", &bytes[..cut]).is_err(), "{cut}");
        }
        let finite = |value: f64| value.is_finite();
        assert!(expect_numbers("weights", &[1.0], 1, finite).is_ok());
        assert!(expect_numbers("weights", &[1.0], 2, finite).is_err());
        assert_eq!(
            expect_numbers("weights", &[1.0, f64::NAN], 2, finite),
            Err(LoadError::Invalid("NaN among the weights".into()))
        );
    }
}
