pub(crate) mod beta_prior;
pub(crate) mod interval;
pub(crate) mod inverse_cdf;
pub(crate) mod strata;
pub(crate) mod truncated_normal;
