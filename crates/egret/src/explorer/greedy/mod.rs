//! Explorers that mix draws from μ with the greedy action â = argmin f̂(x, ·).
//!
//! P = M + (1 − M(A)) · δ_â,  0 ≤ dM/dμ ≤ 1
//!
//! Draw a ∼ μ, keep it with probability dM/dμ(a), otherwise play â. One function, [`GreedyMixture::share`], gives dM/dμ;
//! each explorer here is that function. On an interval â has a point mass and so no density. On a catalogue every item
//! has one.

pub(crate) mod epsilon_greedy;
pub(crate) mod smooth_igw;
pub(crate) mod square_cb;

use std::any::Any;

use crate::event::action::{as_action, as_points};
use crate::event::{Action, Batch, Item, Vectors};
use crate::explorer::{
    DecideError, Learned,
    zoom::{
        Zoom, rows,
        search::{self, Descent, least},
        sets::SetPlan,
    },
};
use crate::measure::{Catalogue, ReferenceMeasure};
use crate::numeric::{EventRng, lanes};
use crate::oracle::{LossCurve, NanPrediction, RegressionOracle};
use crate::sampling::proposer::Proposals;

/// P = M + (1 − M(A)) · δ_â: a part with a density, and the rest on the greedy action.
pub(crate) trait GreedyMixture {
    /// dM/dμ ∈ [0, 1] at an action whose f̂ exceeds the least by `gap`. `probability` is μ({a}), 0 if μ has no point
    /// masses.
    fn share(&self, gap: f64, probability: f64) -> f64;
}

/// An action of a greedy mixture, before its density is computed.
pub(crate) struct Played<A> {
    pub action: A,
    origin: Origin,
}

enum Origin {
    /// Drawn from μ on an interval.
    Drawn { gap: f64 },
    /// The greedy action on an interval: a point mass.
    Greedy,
    /// An item of a catalogue; the predictions of all items are still in the buffers.
    Listed { index: usize, best: usize },
}

/// Whether the greedy action can be found.
pub(crate) fn has_argmin<X: ?Sized, A: Action>(
    measure: &dyn ReferenceMeasure<X, A>,
    oracle: &dyn RegressionOracle<X, A>,
) -> bool {
    has_list(measure)
        || (measure.as_line().is_some()
            && oracle.monotone_pieces().is_some()
            && as_action::<f64, A>(0.0).is_some())
}

/// Whether the actions are the items of a catalogue.
pub(crate) fn has_list<X: ?Sized, A: Action>(measure: &dyn ReferenceMeasure<X, A>) -> bool {
    measure.catalogue().is_some() && as_action::<Item, A>(Item(0)).is_some()
}

/// How many quantiles of an interval [`best`] looks at if the oracle does not know its minimum.
const QUANTILES: usize = 1_024;

/// How many draws of μ it looks at elsewhere.
const DRAWS: usize = 4_096;

/// The action with the least f̂ among all items, on an interval, or among draws of μ. Calls with the same context agree.
pub(crate) fn best<X: ?Sized, A: Action>(
    x: &X,
    measure: &dyn ReferenceMeasure<X, A>,
    curve: &LossCurve<'_, X, A>,
    work: &mut Proposals<A>,
) -> Result<A, DecideError> {
    if let Some(line) = measure.as_line()
        && let Some(points) = as_points::<A>(&mut work.actions)
    {
        if curve.monotone_pieces().is_some() {
            return line_argmin(measure, curve, work);
        }
        points.clear();
        points.extend((0..QUANTILES).map(|place| (place as f64 + 0.5) / QUANTILES as f64));
        line.quantiles(points);
    } else if let Some(catalogue) = measure.catalogue() {
        list_all::<A>(catalogue, &mut work.actions)?;
    } else if let Some(sets) = measure.sets() {
        let mut plan = SetPlan::default();
        plan.make(
            &Zoom::default(),
            &Learned::default(),
            (x, measure),
            curve,
            work,
        )?;
        return plan.best(sets.size()).ok_or(DecideError::NoArgmin);
    } else if let Some(regions) = measure.regions() {
        let mut descent = Descent::default();
        search::best(x, measure, regions, curve, &mut descent, work)?;
        let size = (1, descent.point().len());
        let mut rows = Vectors::default();
        rows::fill((x, measure), size, &mut rows, work, |row| {
            row.copy_from_slice(descent.point());
        });
        return Ok(work.actions.get(0));
    } else {
        work.actions.clear();
        measure.sample(x, DRAWS, &mut EventRng::before_events(0), &mut work.actions);
    }
    curve.predict(&work.actions, &mut work.fhats)?;
    Ok(work.actions.get(least(&work.fhats)))
}

fn list_all<A: Action>(catalogue: &Catalogue, out: &mut A::Batch) -> Result<(), DecideError> {
    out.clear();
    for item in catalogue.items() {
        out.push(&as_action(item).ok_or(DecideError::NoArgmin)?);
    }
    Ok(())
}

/// Draws an action.
pub(crate) fn play<X: ?Sized, A: Action>(
    mixture: &impl GreedyMixture,
    x: &X,
    measure: &dyn ReferenceMeasure<X, A>,
    curve: &LossCurve<'_, X, A>,
    rng: &mut EventRng,
    work: &mut Proposals<A>,
) -> Result<Played<A>, DecideError> {
    match measure.catalogue() {
        Some(catalogue) => play_listed(mixture, catalogue, x, measure, curve, rng, work),
        None => play_on_the_line(mixture, x, measure, curve, rng, work),
    }
}

/// dP/dμ at the action played; none for a point mass. `work` is as [`play`] left it.
pub(crate) fn density<X: ?Sized, A: Action>(
    mixture: &impl GreedyMixture,
    played: &Played<A>,
    measure: &dyn ReferenceMeasure<X, A>,
    work: &mut Proposals<A>,
) -> Option<f64> {
    match played.origin {
        Origin::Drawn { gap } => Some(mixture.share(gap, 0.0)),
        Origin::Greedy => None,
        Origin::Listed { index, best } => Some(listed_density(
            mixture,
            measure.catalogue()?,
            index,
            best,
            work,
        )),
    }
}

fn play_listed<X: ?Sized, A: Action>(
    mixture: &impl GreedyMixture,
    catalogue: &Catalogue,
    x: &X,
    measure: &dyn ReferenceMeasure<X, A>,
    curve: &LossCurve<'_, X, A>,
    rng: &mut EventRng,
    work: &mut Proposals<A>,
) -> Result<Played<A>, DecideError> {
    list_all::<A>(catalogue, &mut work.actions)?;
    curve.predict(&work.actions, &mut work.fhats)?;
    let best = least(&work.fhats);
    measure.sample(x, 1, rng, &mut work.actions);
    let drawn = work.actions.get(catalogue.len());
    let item = as_item(&drawn).ok_or(DecideError::NoArgmin)?;
    let index = catalogue.place(item).ok_or(DecideError::NoArgmin)?;
    let gap = work.fhats[index] - work.fhats[best];
    let keeps = rng.unit() < mixture.share(gap, catalogue.probability(item));
    let index = if keeps { index } else { best };
    Ok(Played {
        action: work.actions.get(index),
        origin: Origin::Listed { index, best },
    })
}

/// dP/dμ of an item: for the best it needs the mass of M, a sum over the catalogue.
fn listed_density<A: Action>(
    mixture: &impl GreedyMixture,
    catalogue: &Catalogue,
    index: usize,
    best: usize,
    work: &mut Proposals<A>,
) -> f64 {
    let probability = catalogue.probability(catalogue.item(index as u32));
    let share = mixture.share(work.fhats[index] - work.fhats[best], probability);
    if index != best {
        return share;
    }
    let least = work.fhats[best];
    work.units.clear();
    work.units
        .extend(catalogue.items().zip(&work.fhats).map(|(item, fhat)| {
            let probability = catalogue.probability(item);
            probability * mixture.share(fhat - least, probability)
        }));
    let mass = lanes::sum(&work.units);
    share + (1.0 - mass).max(0.0) / probability
}

fn play_on_the_line<X: ?Sized, A: Action>(
    mixture: &impl GreedyMixture,
    x: &X,
    measure: &dyn ReferenceMeasure<X, A>,
    curve: &LossCurve<'_, X, A>,
    rng: &mut EventRng,
    work: &mut Proposals<A>,
) -> Result<Played<A>, DecideError> {
    let greedy = line_argmin(measure, curve, work)?;
    work.actions.clear();
    work.actions.push(&greedy);
    measure.sample(x, 1, rng, &mut work.actions);
    curve.predict(&work.actions, &mut work.fhats)?;
    // An oracle whose argmin is off by rounding may have predicted less at the draw.
    let gap = (work.fhats[1] - work.fhats[0]).max(0.0);
    Ok(if rng.unit() < mixture.share(gap, 0.0) {
        Played {
            action: work.actions.get(1),
            origin: Origin::Drawn { gap },
        }
    } else {
        Played {
            action: greedy,
            origin: Origin::Greedy,
        }
    })
}

/// Where f̂(x, ·) is least within the bounds of the measure.
fn line_argmin<X: ?Sized, A: Action>(
    measure: &dyn ReferenceMeasure<X, A>,
    curve: &LossCurve<'_, X, A>,
    work: &mut Proposals<A>,
) -> Result<A, DecideError> {
    let (pieces, prepared) = curve.monotone_pieces().ok_or(DecideError::NoArgmin)?;
    let (low, high) = measure.as_line().ok_or(DecideError::NoArgmin)?.bounds();
    let action = |point: f64| as_action(point).ok_or(DecideError::NoArgmin);
    let argmin = pieces.argmin(prepared);
    if argmin.is_nan() {
        return Err(NanPrediction.into());
    }
    if (low..=high).contains(&argmin) {
        return action(argmin);
    }
    // The minimum lies outside. Inside, f̂ is least at an end or where two monotone pieces meet.
    let points = &mut work.units;
    points.clear();
    points.extend([low, high]);
    pieces.break_points(prepared, points);
    points.retain(|point| (low..=high).contains(point));
    work.actions.clear();
    for &point in points.iter() {
        work.actions.push(&action(point)?);
    }
    curve.predict(&work.actions, &mut work.fhats)?;
    Ok(work.actions.get(least(&work.fhats)))
}

fn as_item<A: Action>(action: &A) -> Option<Item> {
    (action as &dyn Any).downcast_ref::<Item>().copied()
}
