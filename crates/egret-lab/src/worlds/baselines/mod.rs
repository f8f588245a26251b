//! Learners that one would write in an afternoon, to compare with.

mod best_items;
mod best_sets;
mod buckets;
mod drawn;
mod item_ridges;
mod posterior;
mod quadratic;
mod ridge;
mod shrinking_box;
mod thompson;

use egret::Context;

pub(super) use self::best_items::BestItems;
pub(super) use self::best_sets::{BestSets, SetThompson};
pub(super) use self::buckets::Buckets;
pub(super) use self::drawn::{DrawnRidge, DrawnThompson};
pub(super) use self::item_ridges::ItemRidges;
pub(super) use self::shrinking_box::ShrinkingBox;
pub(super) use self::thompson::ItemThompson;
use crate::learner::PlayError;

/// The numbers of a context.
fn dense(x: &Context) -> Result<&[f64], PlayError> {
    x.as_dense()
        .ok_or_else(|| PlayError::Other("the baselines take dense contexts only".to_owned()))
}

/// (1, x, x²).
fn dense_squares(x: &Context) -> Result<Vec<f64>, PlayError> {
    let x = dense(x)?;
    let squares = x.iter().map(|v| v * v);
    Ok(std::iter::once(1.0)
        .chain(x.iter().copied())
        .chain(squares)
        .collect())
}
