//! Rows of coordinates as actions to predict: vectors are their own, other actions are made of them.

use crate::event::action::as_vectors;
use crate::event::{Action, Batch, Vectors};
use crate::measure::ReferenceMeasure;
use crate::sampling::proposer::Proposals;

/// Makes `work` hold the actions of so many rows, which `write` fills; `rows` keeps them where actions are no vectors.
pub(crate) fn fill<X: ?Sized, A: Action>(
    (x, measure): (&X, &dyn ReferenceMeasure<X, A>),
    (count, dim): (usize, usize),
    rows: &mut Vectors,
    work: &mut Proposals<A>,
    write: impl FnOnce(&mut [f64]),
) {
    work.actions.clear();
    if let Some(vectors) = as_vectors::<A>(&mut work.actions) {
        write(vectors.extend(count, dim));
        return;
    }
    rows.clear();
    write(rows.extend(count, dim));
    measure.append_actions(x, rows, &mut work.actions);
}

/// One of the rows.
pub(crate) fn row<'a, A: Action>(
    place: usize,
    rows: &'a Vectors,
    work: &'a mut Proposals<A>,
) -> &'a [f64] {
    let rows = match as_vectors::<A>(&mut work.actions) {
        Some(vectors) => vectors,
        None => rows,
    };
    &rows.rows()[place * rows.dim()..][..rows.dim()]
}
