/// Why a chart is not drawn: a picture of wrong numbers is worse than none.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChartError {
    /// Nothing to show.
    #[error("the chart \"{title}\" has no values to show")]
    NoData {
        /// Of the chart.
        title: String,
    },
    /// NaN or infinite.
    #[error("{place}: {value} is not a finite number")]
    NotFinite {
        /// The row and series, or the line.
        place: String,
        /// As given.
        value: f64,
    },
    /// Zero or less on a logarithmic axis.
    #[error("{place}: {value} has no place on a logarithmic axis, which is for numbers above 0")]
    NotPositive {
        /// The row and series, or the line.
        place: String,
        /// As given.
        value: f64,
    },
    /// Two numbers of which the first has to be the smaller.
    #[error("{place}: {low} has to be below {high}")]
    OutOfOrder {
        /// The row and series, or the axis.
        place: String,
        /// As given.
        low: f64,
        /// As given.
        high: f64,
    },
    /// A row or a band of another length than the rest.
    #[error("{place}: {found} values, and {expected} are expected")]
    WrongLength {
        /// The row or the line.
        place: String,
        /// How many there are.
        found: usize,
        /// How many there have to be.
        expected: usize,
    },
}

/// Passes on a number that can be drawn.
pub(crate) fn finite(place: impl Fn() -> String, value: f64) -> Result<f64, ChartError> {
    if value.is_finite() {
        Ok(value)
    } else {
        let place = place();
        Err(ChartError::NotFinite { place, value })
    }
}

/// Numbers that do not fall, each of which can be drawn.
pub(crate) fn ordered(place: impl Fn() -> String, values: &[f64]) -> Result<(), ChartError> {
    for &value in values {
        finite(&place, value)?;
    }
    match values.windows(2).find(|pair| pair[1] < pair[0]) {
        None => Ok(()),
        Some(pair) => Err(ChartError::OutOfOrder {
            place: place(),
            low: pair[0],
            high: pair[1],
        }),
    }
}
