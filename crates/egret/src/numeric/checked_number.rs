//! Checks numbers while a log is read: a bad log is an error, not a NaN.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// Refuses NaN and infinities.
pub(crate) fn finite<'de, D: Deserializer<'de>>(source: D) -> Result<f64, D::Error> {
    read(source, f64::is_finite, "a finite number")
}

/// Refuses NaN, infinities, zero and negative numbers.
pub(crate) fn positive<'de, D: Deserializer<'de>>(source: D) -> Result<f64, D::Error> {
    let positive = |value: f64| 0.0 < value && value.is_finite();
    read(source, positive, "a positive number")
}

/// As [`positive`], where there is a number.
pub(crate) fn positive_or_none<'de, D: Deserializer<'de>>(
    source: D,
) -> Result<Option<f64>, D::Error> {
    match Option::<f64>::deserialize(source)? {
        Some(value) if !(0.0 < value && value.is_finite()) => Err(D::Error::custom(format_args!(
            "{value} is not a positive number"
        ))),
        value => Ok(value),
    }
}

/// Refuses numbers outside [0, 1], and NaN.
pub(crate) fn share<'de, D: Deserializer<'de>>(source: D) -> Result<f64, D::Error> {
    read(
        source,
        |value| (0.0..=1.0).contains(&value),
        "a number in [0, 1]",
    )
}

fn read<'de, D: Deserializer<'de>>(
    source: D,
    allowed: impl Fn(f64) -> bool,
    expected: &str,
) -> Result<f64, D::Error> {
    let value = f64::deserialize(source)?;
    if allowed(value) {
        Ok(value)
    } else {
        Err(D::Error::custom(format_args!("{value} is not {expected}")))
    }
}

#[cfg(test)]
mod tests {
    use crate::normalizer::{Certificate, CertifiedBy};
    use crate::sampling::NormalizingConstant;

    #[test]
    fn nan_is_not_read_from_a_log() {
        let certificate = Certificate {
            beta: 0.5,
            certified_by: CertifiedBy::Betting,
            kappa_inf: 4.0,
            delta: 0.05,
            draws: 7,
        };
        let read = |certificate: Certificate| {
            let bytes = postcard::to_stdvec(&certificate).expect("in memory");
            postcard::from_bytes::<Certificate>(&bytes)
        };
        assert_eq!(read(certificate), Ok(certificate));
        for bad in [
            Certificate {
                beta: f64::NAN,
                ..certificate
            },
            Certificate {
                kappa_inf: 0.0,
                ..certificate
            },
            Certificate {
                delta: 1.5,
                ..certificate
            },
        ] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
        let z = postcard::to_stdvec(&NormalizingConstant::exact(-1.0)).expect("in memory");
        assert!(postcard::from_bytes::<NormalizingConstant>(&z).is_err());
    }
}
