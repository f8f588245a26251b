use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Datelike, SecondsFormat, Utc};

/// An instant, to the microsecond, in UTC: as Parquet holds it.
///
/// ```
/// use egret_log::Time;
///
/// let time: Time = "2026-11-15T12:00:00.25Z".parse()?;
/// assert_eq!(time.micros(), 1_794_744_000_250_000);
/// assert_eq!(time.to_string(), "2026-11-15T12:00:00.25Z");
/// # Ok::<(), egret_log::TimeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// Microseconds since the start of 1970; refuses what is not in the years 0 to 9999.
    pub fn from_micros(micros: i64) -> Result<Self, TimeError> {
        match DateTime::<Utc>::from_timestamp_micros(micros) {
            Some(instant) if (0..=9999).contains(&instant.year()) => Ok(Self(micros)),
            _ => Err(TimeError::Range { micros }),
        }
    }

    /// From the notations that tables have: RFC 3339, the same without an offset, which is UTC, a date, or seconds, milli-,
    /// micro- or nanoseconds since the start of 1970, told apart by their size.
    pub(crate) fn of_any_notation(text: &str) -> Result<Self, TimeError> {
        // As pandas writes it.
        if text.len() == "2026-11-15 12:00:00".len() && text.as_bytes()[10] == b' ' {
            let mut full = text.to_owned() + "Z";
            full.replace_range(10..11, "T");
            if let Ok(time) = full.parse() {
                return Ok(time);
            }
        }
        if let Ok(time) = text.parse() {
            return Ok(time);
        }
        let unknown = || TimeError::Text {
            text: text.to_owned(),
        };
        if let Ok(number) = text.parse::<f64>() {
            let micros = match number.abs() {
                // Until the year 5138 in seconds, and from 1973 on in each of the others.
                size if size < 1e11 => number * 1e6,
                size if size < 1e14 => number * 1e3,
                size if size < 1e17 => number,
                size if size < 1e20 => number / 1e3,
                _ => return Err(unknown()),
            };
            return Self::from_micros(micros.round() as i64);
        }
        let date_only = text.len() == "2026-11-15".len();
        let mut full = text.replacen(' ', "T", 1);
        full += if date_only { "T00:00:00" } else { "" };
        [full.clone() + "Z", full.clone() + ":00Z", full]
            .iter()
            .find_map(|text| text.parse().ok())
            .ok_or_else(unknown)
    }

    /// Microseconds since the start of 1970.
    pub fn micros(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instant = DateTime::<Utc>::from_timestamp_micros(self.0)
            .expect("the constructor has checked the range");
        let text = instant.to_rfc3339_opts(SecondsFormat::Micros, true);
        // As short as it comes back: 12:00:00.25Z, 12:00:00Z.
        let seconds = text.trim_end_matches('Z').trim_end_matches('0');
        write!(f, "{}Z", seconds.trim_end_matches('.'))
    }
}

impl FromStr for Time {
    type Err = TimeError;

    /// RFC 3339 with an offset; what is finer than a microsecond is cut off.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        let instant = DateTime::parse_from_rfc3339(text).map_err(|_| TimeError::Text {
            text: text.to_owned(),
        })?;
        Self::from_micros(instant.timestamp_micros())
    }
}

/// Why something is not an instant.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// Beyond the calendar.
    #[error("{micros} microseconds since 1970 is not in the years 0 to 9999")]
    Range {
        /// What it was.
        micros: i64,
    },
    /// Another notation.
    #[error("{text:?} is no time, expected one like 2026-11-15T12:00:00Z")]
    Text {
        /// What it was.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_number_are_the_same_instant() {
        for micros in [0, 1, -1, 10, 1_794_744_000_123_456, -62_135_596_800_000_000] {
            let time = Time::from_micros(micros).expect("in range");
            assert_eq!(time.to_string().parse(), Ok(time));
        }
        let offset: Time = "2021-02-04T16:31:29.2460000+01:00".parse().expect("a time");
        assert_eq!(offset.to_string(), "2021-02-04T15:31:29.246Z");
        assert!("yesterday".parse::<Time>().is_err());
        assert!("2021-02-04 16:31:29".parse::<Time>().is_err());
        assert!(Time::from_micros(i64::MAX).is_err());
    }

    #[test]
    fn tables_have_many_notations() {
        for (text, same) in [
            ("2026-11-15T12:00:00.25Z", "2026-11-15T12:00:00.25Z"),
            ("2026-11-15 12:00:00.25", "2026-11-15T12:00:00.25Z"),
            ("2026-11-15 12:00:00+01:00", "2026-11-15T11:00:00Z"),
            ("2026-11-15 12:00", "2026-11-15T12:00:00Z"),
            ("2026-11-15", "2026-11-15T00:00:00Z"),
            ("1794744000", "2026-11-15T12:00:00Z"),
            ("1794744000.5", "2026-11-15T12:00:00.5Z"),
            ("1794744000250", "2026-11-15T12:00:00.25Z"),
            ("1794744000250000", "2026-11-15T12:00:00.25Z"),
            ("1794744000250000000", "2026-11-15T12:00:00.25Z"),
        ] {
            let time = Time::of_any_notation(text).expect("a time");
            assert_eq!(time.to_string(), same, "{text}");
        }
        for text in ["yesterday", "", "15/11/2026", "1e300", "nan"] {
            assert!(Time::of_any_notation(text).is_err(), "{text}");
        }
    }
}
