//! Ever smaller regions around the best vector, ever fewer of the best items.

pub(crate) mod items;
pub(crate) mod rows;
pub(crate) mod search;
pub(crate) mod sets;

use serde::{Deserialize, Serialize};

use crate::event::action::{as_action, as_items, as_sets, as_vectors};
use crate::event::{Action, Batch, Density, Propensity, Vectors};
use crate::explorer::{Choice, DecideError, Learned};
use crate::measure::{ReferenceMeasure, Regions};
use crate::numeric::{EventRng, OutOfRange, Stream};
use crate::oracle::LossCurve;
use crate::sampling::proposer::Proposals;

use self::items::ItemPlan;
use self::search::Descent;
use self::sets::SetPlan;

/// Plays in ever smaller regions around the vector of least predicted loss, or among ever fewer of the best items: for knobs and
/// catalogues, where 1/τ of everything is far too much.
///
/// p(a) = Σₖ wₖ rₖ(a),  rₖ the density of region k around â
///
/// â is found by a search of f̂, and [`Regions`] know rₖ. So p is known exactly at every action: nothing is normalized, however
/// many coordinates there are. The shares are inverse gap weights (SquareCB, Foster and Rakhlin 2020) of what playing in each
/// region is predicted to lose,
///
/// wₖ = 1/(K + γ(Lₖ − L)) for all but the best,  Lₖ the mean of f̂ over region k,  L the least of them
///
/// with ε taken from all for region 0, which is the whole space: no density is below ε, as with
/// [`CappedIgw`](crate::CappedIgw). γ grows as theory has it: to learn where the best of d coordinates is
/// from n losses with errors of variance σ² within a region of size h costs about σ²d²/(h²n), and to play there costs h². Both are
/// about equal at
///
/// γ = 6K √(1 + n)/(σd)
///
/// The smallest region that counts is the first with Lₖ ≤ L + 2σ/√(1 + n), two standard errors of a mean of n losses: a smaller
/// one would save what n events do not tell from nothing, and losses of actions that hardly differ teach nothing. Nor is it one that
/// gives up more than a tenth of what is to be gained, Lₖ ≤ L + (L₀ − L)/10: where all losses are nearly alike, two standard errors
/// may be half of that for long.
///
/// On a catalogue region k has some of the best items, from 1,024 down to 1, with rₖ(a) = 1/μ(region k) for each of them, and
/// γ = ½K √(1 + n)/σ. All items are predicted, or in catalogues of more than 8,192 those of the best leaves of the oracle's
/// [`ItemTree`](crate::ItemTree). What the search misses costs loss; p is exact whatever it finds.
///
/// Among sets of k items region j has all sets of some of the best items, from 1,024 down to k, with γ as on a catalogue.
///
/// The search and the means draw the same numbers for every event. So p is a function of the model and the context alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Zoom {
    /// ε, the share of decisions drawn from μ beside those that γ asks for; in [0, 1].
    pub uniform: f64,
}

impl Default for Zoom {
    /// 20 effective events in 1,000 for uniform play, at least.
    fn default() -> Self {
        Self { uniform: 0.02 }
    }
}

/// Where a policy plays for one context: â and the share of each region.
#[derive(Debug, Clone, Default)]
pub(crate) struct ZoomPlan {
    best: Vec<f64>,
    shares: Vec<f64>,
    gamma: f64,
}

/// The buffers of a plan.
#[derive(Debug, Clone, Default)]
pub(crate) struct ZoomBuffers {
    pub(crate) plan: ZoomPlan,
    pub(crate) descent: Descent,
    pub(crate) items: ItemPlan,
    sets: SetPlan,
    rows: Vectors,
}

/// How many draws each Lₖ is the mean of.
const DRAWS: usize = 8;

/// The share of what is to be gained that the smallest region may give up.
const MOST_GIVEN_UP: f64 = 0.1;

impl Zoom {
    pub(crate) fn check(&self) -> Result<(), OutOfRange> {
        let uniform = self.uniform;
        OutOfRange::unless((0.0..=1.0).contains(&uniform), "uniform", uniform, "[0, 1]")
    }

    /// Draws an action.
    pub(crate) fn choose<X: ?Sized, A: Action>(
        &self,
        learned: &Learned,
        (x, measure): (&X, &dyn ReferenceMeasure<X, A>),
        curve: &LossCurve<'_, X, A>,
        key: (u64, u64),
        buffers: &mut ZoomBuffers,
        work: &mut Proposals<A>,
    ) -> Result<Choice<A>, DecideError> {
        let mut rng = EventRng::new(key.0, key.1, Stream::Action);
        if measure.catalogue().is_some() {
            let plan = &mut buffers.items;
            plan.make(self, learned, (x, measure), curve, work)?;
            let item = plan.draw((x, measure), &mut rng, work)?;
            return Ok(Choice {
                action: as_action(item).ok_or(DecideError::NoArgmin)?,
                propensity: Propensity::Density(Density::new(plan.density(item))?),
                capped_igw: None,
                gamma: Some(plan.gamma()),
                largest_inverse_density: Some(1.0 / plan.whole()),
                proposals: 1,
            });
        }
        if let Some(sets) = measure.sets() {
            let plan = &mut buffers.sets;
            plan.make(self, learned, (x, measure), curve, work)?;
            let set = plan.draw(sets, &mut rng);
            let density = plan.density(sets, &set);
            return Ok(Choice {
                action: as_action(set).ok_or(DecideError::NoArgmin)?,
                propensity: Propensity::Density(Density::new(density)?),
                capped_igw: None,
                gamma: Some(plan.gamma()),
                largest_inverse_density: Some(1.0 / plan.whole()),
                proposals: 1,
            });
        }
        let regions = measure.regions().ok_or(DecideError::NoArgmin)?;
        self.plan(learned, (x, measure), curve, buffers, work)?;
        let ZoomBuffers { plan, rows, .. } = buffers;
        let region = region_of(&plan.shares, rng.unit());
        let size = (1, plan.best.len());
        rows::fill((x, measure), size, rows, work, |row| {
            regions.draw(&plan.best, region, &mut rng, row);
        });
        let density = plan.density(regions, rows::row(0, rows, work));
        Ok(Choice {
            action: work.actions.get(0),
            propensity: Propensity::Density(Density::new(density)?),
            capped_igw: None,
            gamma: Some(plan.gamma),
            largest_inverse_density: Some(1.0 / plan.shares[0]),
            proposals: 1,
        })
    }

    /// p(a) at any action.
    pub(crate) fn density<X: ?Sized, A: Action>(
        &self,
        learned: &Learned,
        place: (&X, &dyn ReferenceMeasure<X, A>),
        curve: &LossCurve<'_, X, A>,
        action: &A,
        buffers: &mut ZoomBuffers,
        work: &mut Proposals<A>,
    ) -> Result<f64, DecideError> {
        work.actions.clear();
        work.actions.push(action);
        if let Some(catalogue) = place.1.catalogue() {
            let item = as_items::<A>(&mut work.actions).ok_or(DecideError::NoArgmin)?[0];
            if catalogue.place(item).is_none() {
                return Ok(0.0);
            }
            let plan = &mut buffers.items;
            plan.make(self, learned, place, curve, work)?;
            return Ok(plan.density(item));
        }
        if let Some(sets) = place.1.sets() {
            let set = as_sets::<A>(&mut work.actions).ok_or(DecideError::NoArgmin)?;
            let set = set[0].clone();
            let plan = &mut buffers.sets;
            plan.make(self, learned, place, curve, work)?;
            return Ok(plan.density(sets, &set));
        }
        self.plan(learned, place, curve, buffers, work)?;
        let regions = place.1.regions().ok_or(DecideError::NoArgmin)?;
        if let Some(coordinates) = place.1.coordinates(action) {
            return Ok(buffers.plan.density(regions, &coordinates));
        }
        work.actions.clear();
        work.actions.push(action);
        let Some(vectors) = as_vectors::<A>(&mut work.actions) else {
            return Ok(0.0);
        };
        if vectors.dim() != buffers.plan.best.len() {
            return Err(DecideError::Action(format!(
                "the action {action:?} has another length than those of the space"
            )));
        }
        Ok(buffers.plan.density(regions, vectors.rows()))
    }

    /// Makes the plan for a context.
    pub(crate) fn plan<X: ?Sized, A: Action>(
        &self,
        learned: &Learned,
        (x, measure): (&X, &dyn ReferenceMeasure<X, A>),
        curve: &LossCurve<'_, X, A>,
        buffers: &mut ZoomBuffers,
        work: &mut Proposals<A>,
    ) -> Result<(), DecideError> {
        let regions = measure.regions().ok_or(DecideError::NoArgmin)?;
        let ZoomBuffers {
            plan,
            descent,
            rows,
            ..
        } = buffers;
        search::best(x, measure, regions, curve, descent, work)?;
        plan.best.clear();
        plan.best.extend_from_slice(descent.point());
        let (dim, count) = (plan.best.len(), regions.count());
        rows::fill((x, measure), (count * DRAWS, dim), rows, work, |rows| {
            for (place, row) in rows.chunks_exact_mut(dim).enumerate() {
                // The same numbers for each region, so that their means compare.
                let mut rng = EventRng::new(0, u64::MAX - 1 - (place % DRAWS) as u64, Stream::Beta);
                regions.draw(&plan.best, place / DRAWS, &mut rng, row);
            }
        });
        curve.predict(&work.actions, &mut work.fhats)?;
        plan.shares.clear();
        let means = work.fhats.chunks_exact(DRAWS);
        plan.shares
            .extend(means.map(|fhats| fhats.iter().sum::<f64>() / DRAWS as f64));
        keep_told_apart(&mut plan.shares, learned);
        plan.gamma = gamma(learned, plan.shares.len(), dim);
        inverse_gap_shares(&mut plan.shares, plan.gamma);
        self.mix_uniform(&mut plan.shares);
        Ok(())
    }

    /// Takes ε from all shares for the first.
    fn mix_uniform(&self, shares: &mut [f64]) {
        for share in &mut *shares {
            *share *= 1.0 - self.uniform;
        }
        shares[0] += self.uniform;
    }
}

/// 6K √(1 + n)/(σd).
fn gamma(learned: &Learned, count: usize, dim: usize) -> f64 {
    let events = learned.counting();
    6.0 * count as f64 * (1.0 + events).sqrt() / (sigma(learned) * dim as f64)
}

/// The deviation of losses from f̂.
fn sigma(learned: &Learned) -> f64 {
    // As in the schedules: losses are not predicted better, and none vary more.
    let variance = learned.squared_error.unwrap_or(0.25).clamp(1e-12, 0.25);
    variance.sqrt()
}

/// Leaves out regions that are smaller than they need be: from the first on that is predicted to lose no more than the best by two
/// standard errors of a mean of n losses, and by a tenth of what is to be gained. What is still smaller would save a loss that n events
/// do not tell from none, and teach nothing of where the best action is.
fn keep_told_apart(losses: &mut Vec<f64>, learned: &Learned) {
    let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
    let untold = 2.0 * sigma(learned) / (1.0 + learned.counting()).sqrt();
    let saved = untold.min(MOST_GIVEN_UP * (losses[0] - least));
    let first = losses.iter().position(|loss| *loss <= least + saved);
    // Beside the whole space there is always a part of it.
    losses.truncate(first.map_or(losses.len(), |place| place.max(1) + 1));
}

/// Replaces predicted losses by shares that add up to 1.
fn inverse_gap_shares(losses: &mut [f64], gamma: f64) {
    let count = losses.len() as f64;
    let mut best = 0;
    for (place, loss) in losses.iter().enumerate() {
        // The last of equal ones: the smallest region.
        if *loss <= losses[best] {
            best = place;
        }
    }
    let least = losses[best];
    let mut rest = 1.0;
    for (place, loss) in losses.iter_mut().enumerate() {
        if place != best {
            *loss = 1.0 / (count + gamma * (*loss - least));
            rest -= *loss;
        }
    }
    losses[best] = rest;
}

/// The region that a uniform number falls into.
fn region_of(shares: &[f64], unit: f64) -> usize {
    let mut below = 0.0;
    for (region, share) in shares.iter().enumerate() {
        below += share;
        if unit < below {
            return region;
        }
    }
    // Rounding left a bit of 1.
    shares.len() - 1
}

impl ZoomPlan {
    /// p(a).
    pub(crate) fn density(&self, regions: &dyn Regions, action: &[f64]) -> f64 {
        let of_region = |(region, &share): (usize, &f64)| {
            let density = match region {
                0 => 1.0,
                region => regions.density(&self.best, region, action),
            };
            share * density
        };
        self.shares.iter().enumerate().map(of_region).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The regions that are left of these losses, after so many events with errors of deviation 0.1.
    fn left(losses: &[f64], events: u64) -> usize {
        let mut losses = losses.to_vec();
        let learned = Learned {
            batches: events,
            events,
            squared_error: Some(0.01),
            forgotten: 0.0,
        };
        keep_told_apart(&mut losses, &learned);
        losses.len()
    }

    #[test]
    fn a_share_above_1_is_refused() {
        for (uniform, good) in [(0.0, true), (1.0, true), (1.5, false), (f64::NAN, false)] {
            assert_eq!(Zoom { uniform }.check().is_ok(), good, "{uniform}");
        }
    }

    /// 6K √(1 + n)/(σd).
    #[test]
    fn greed_grows_with_the_events() {
        let learned = Learned {
            batches: 99,
            events: 99,
            squared_error: Some(0.04),
            forgotten: 0.0,
        };
        assert!((gamma(&learned, 5, 3) - 6.0 * 5.0 * 10.0 / (0.2 * 3.0)).abs() < 1e-9);
        // What was forgotten is to be explored again.
        let less = Learned {
            events: 990,
            forgotten: 0.9,
            ..learned
        };
        assert!((gamma(&less, 5, 3) - gamma(&learned, 5, 3)).abs() < 1e-9);
    }

    #[test]
    fn a_number_falls_into_the_region_of_its_share() {
        let shares = [0.25, 0.5, 0.25];
        let units = [0.0, 0.24, 0.25, 0.74, 0.75, 0.99];
        assert_eq!(
            units.map(|unit| region_of(&shares, unit)),
            [0, 0, 1, 1, 2, 2]
        );
        // What rounding leaves of 1 is the last region's.
        assert_eq!(region_of(&[0.25, 0.5], 0.99), 1);
    }

    #[test]
    fn regions_are_as_small_as_losses_can_tell() {
        // A bowl of height 1: half the reach, a quarter of the loss.
        let bowl: Vec<f64> = (0..11).map(|region| 0.25_f64.powi(region)).collect();
        // Two standard errors are 0.2 of nothing learned, 0.02 of 99 events, 0.002 of 9,999.
        assert_eq!([0, 99, 9_999].map(|events| left(&bowl, events)), [3, 4, 6]);
        // Of a bowl so shallow that nothing is told apart no more than a tenth is given up.
        let shallow: Vec<f64> = bowl.iter().map(|loss| 0.1 * loss).collect();
        assert_eq!(left(&shallow, 0), 3);
        // f̂ that is the same everywhere leaves the whole and one part; where the whole is worst by far, all count.
        assert_eq!(left(&[0.5; 11], 10), 2);
        assert_eq!(left(&[0.5; 1], 10), 1);
        assert_eq!(left(&[0.9, 0.7, 0.5, 0.3, 0.1], 999_999), 5);
    }
}
