//! Distributions on a line: uniform, with a uniform logarithm, truncated normal, beta, steps.
//!
//! Each has a cdf F and its inverse. A draw is F⁻¹(u) for a uniform u, so stratified draws come from stratified u, and an
//! integral over actions is an integral over u ∈ [0, 1]. That is what the exact normalizer needs: see
//! [`LineMeasure`](crate::measure::LineMeasure). `inverse_cdf` computes F⁻¹ for any log-concave density, `strata` spreads
//! the u.

pub(crate) mod beta_prior;
pub(crate) mod interval;
pub(crate) mod inverse_cdf;
pub(crate) mod line_part;
pub(crate) mod log_interval;
pub(crate) mod steps;
pub(crate) mod strata;
pub(crate) mod truncated_normal;

use crate::event::{Limits, LimitsError};
use crate::measure::{LineMeasure, ReferenceMeasure, Steps};
use crate::numeric::OutOfRange;

/// A continuous measure restricted to limits: `between` makes it for two ends, and equal ends leave one number.
pub(crate) fn restricted<X: ?Sized, M: ReferenceMeasure<X, f64> + 'static>(
    line: &impl LineMeasure,
    limits: &Limits,
    between: impl FnOnce(f64, f64) -> Result<M, OutOfRange>,
) -> Result<Box<dyn ReferenceMeasure<X, f64>>, LimitsError> {
    let (least, greatest) = line.bounds();
    match *limits {
        Limits::Interval { low, high } if least <= low && low <= high && high <= greatest => {
            if low == high {
                return Ok(Box::new(Steps::single(low)));
            }
            let part = between(low, high);
            Ok(Box::new(
                part.map_err(|error| LimitsError::no_measure(limits, error))?,
            ))
        }
        _ => Err(LimitsError::outside(
            limits,
            format!("the numbers from {least} to {greatest}"),
        )),
    }
}
