//! What oracles can compute with: numbers within ±10³⁰, counts up to 2²⁴.

use crate::event::{Action, Context, ContextError};
use crate::numeric::{OutOfRange, bounds::Bounds};

/// The largest number that features may hold.
pub(crate) const LARGEST: f64 = 1e30;

/// The number, or NaN beyond ±10³⁰.
pub(crate) fn readable(value: f64) -> f64 {
    if value.abs() <= LARGEST {
        value
    } else {
        f64::NAN
    }
}

/// An error unless every feature is within ±10³⁰.
pub(crate) fn check_size(x: &Context) -> Result<(), ContextError> {
    // One pass without branches; only a context that is refused is searched.
    let small = |all: bool, value: &f64| all & (value.abs() <= LARGEST);
    if let Some(values) = x.as_dense()
        && values.iter().fold(true, small)
    {
        return Ok(());
    }
    let mut result = Ok(());
    x.for_each(|feature, value| {
        if LARGEST < value.abs() && result.is_ok() {
            result = Err(ContextError::Refused(format!(
                "feature {feature} is {value}, expected a number in [-1e30, 1e30]"
            )));
        }
    });
    result
}

/// An error unless every feature of an example's action could be read.
pub(crate) fn check_action(features: &[f64], action: &impl Action) -> Result<(), ContextError> {
    if features.iter().all(|value| value.is_finite()) {
        Ok(())
    } else {
        Err(ContextError::Refused(format!(
            "the action {action:?} cannot be read by the features of this oracle"
        )))
    }
}

/// An error unless an example's action lies in the interval.
pub(crate) fn check_within(bounds: &Bounds, action: f64) -> Result<(), ContextError> {
    let (low, high) = (bounds.low(), bounds.high());
    if low <= action && action <= high {
        Ok(())
    } else {
        Err(ContextError::Refused(format!(
            "the action {action} is not in [{low}, {high}]"
        )))
    }
}

pub(crate) fn check_count(name: &'static str, count: usize) -> Result<(), OutOfRange> {
    // So large a model would not fit in memory; smaller ones cannot overflow a size.
    let fits = (1..=1 << 24).contains(&count);
    OutOfRange::unless(fits, name, count as f64, "[1, 2^24]")
}
