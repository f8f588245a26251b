//! Distributions on a line: uniform, with a uniform logarithm, truncated normal, beta, steps.
//!
//! Each has a cdf F and its inverse. A draw is F⁻¹(u) for a uniform u, so stratified draws come from stratified u, and an
//! integral over actions is an integral over u ∈ [0, 1]. That is what the exact normalizer needs: see
//! [`LineMeasure`](crate::measure::LineMeasure). `inverse_cdf` computes F⁻¹ for any log-concave density, `strata` spreads
//! the u.

pub(crate) mod beta_prior;
pub(crate) mod interval;
pub(crate) mod inverse_cdf;
pub(crate) mod log_interval;
pub(crate) mod steps;
pub(crate) mod strata;
pub(crate) mod truncated_normal;
