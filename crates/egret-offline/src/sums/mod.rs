//! Sums over events that are equal bit for bit, in any batches and on any number of threads.
//!
//! | file      | what                                                                             |
//! |-----------|----------------------------------------------------------------------------------|
//! | `chunks`  | [`Rest`], [`Chunked`]: cuts rows into chunks of 4,096 and adds their sums in order |
//! | `moments` | [`Moments`]: first and second moments, which give an estimate and its standard error |

mod chunks;
mod moments;

pub(crate) use chunks::{
    ABSENT, COLUMNS, Chunked, PAIRED_ABSENT, PAIRED_COLUMNS, Rest, Rows, Scratch,
};
pub(crate) use egret::lanes::{LANES, Lanes, tree};
pub(crate) use moments::{Moments, Terms, quadratic_form, ratio_estimate};
