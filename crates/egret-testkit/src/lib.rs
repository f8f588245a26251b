//! Statistical assertions whose false-alarm rate is known.

mod allowed_misses;
mod goodness_of_fit;

pub use allowed_misses::allowed_misses;
pub use goodness_of_fit::{chi_square_p_value, kolmogorov_smirnov_p_value};
