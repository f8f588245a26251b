//! Least squares around each of a few actions: convex, so that it has no step size and nothing to outgrow.

pub(crate) mod context_features;
pub(crate) mod least_squares;
pub(crate) mod regression;
pub(crate) mod scaled_columns;
