use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

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
    /// Microseconds since the start of 1970; refuses years beyond 9999.
    pub fn from_micros(micros: i64) -> Result<Self, TimeError> {
        match Timestamp::from_microsecond(micros) {
            Ok(_) => Ok(Self(micros)),
            Err(_) => Err(TimeError::Range { micros }),
        }
    }

    /// Microseconds since the start of 1970.
    pub fn micros(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_microsecond(self.0) {
            Ok(instant) => instant.fmt(f),
            Err(_) => unreachable!("the constructor has checked the range"),
        }
    }
}

impl FromStr for Time {
    type Err = TimeError;

    /// RFC 3339 with an offset; what is finer than a microsecond is cut off.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        let instant: Timestamp = text.parse().map_err(|_| TimeError::Text {
            text: text.to_owned(),
        })?;
        Self::from_micros(instant.as_microsecond())
    }
}

/// Why something is not an instant.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// Beyond the calendar.
    #[error("{micros} microseconds since 1970 is beyond the year 9999")]
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
        for micros in [0, 1, -1, 1_794_744_000_123_456, -62_135_596_800_000_000] {
            let time = Time::from_micros(micros).expect("in range");
            assert_eq!(time.to_string().parse(), Ok(time));
        }
        let offset: Time = "2021-02-04T16:31:29.2460000+01:00".parse().expect("a time");
        assert_eq!(offset.to_string(), "2021-02-04T15:31:29.246Z");
        assert!("yesterday".parse::<Time>().is_err());
        assert!("2021-02-04 16:31:29".parse::<Time>().is_err());
        assert!(Time::from_micros(i64::MAX).is_err());
    }
}
