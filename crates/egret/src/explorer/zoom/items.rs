use crate::event::{Action, Batch, Item, action::as_items};
use crate::explorer::zoom::{Zoom, inverse_gap_shares, region_of, sigma};
use crate::explorer::{DecideError, Learned};
use crate::measure::{Catalogue, ReferenceMeasure};
use crate::numeric::EventRng;
use crate::oracle::{LossCurve, features::item_tree::TreeSearch};
use crate::sampling::proposer::Proposals;

/// Where [`Zoom`] plays on a catalogue for one context: the best items that were found, and the share of each region.
///
/// Region 0 is the whole catalogue. The others have ever fewer of the best items, half as many each, down to one. Within a region
/// items are drawn in proportion to μ, so that
///
/// p(a) = w₀ + Σₖ wₖ 1{a ∈ region k}/μ(region k)
///
/// A search that misses good items costs some loss, and no more: p is exact whatever was found.
#[derive(Debug, Clone, Default)]
pub(crate) struct ItemPlan {
    /// The best items, the best first, with f̂ as the oracle has it.
    best: Vec<(f64, Item)>,
    /// How many of them each region after the first has, and their μ.
    regions: Vec<(usize, f64)>,
    /// Of every region.
    shares: Vec<f64>,
    gamma: f64,
    found: Vec<Item>,
    search: TreeSearch,
}

/// Catalogues of so many items are predicted whole. Longer ones are searched.
const FEW: usize = 8_192;

/// How many leaves of the oracle's tree a search looks into: each has up to 32 items.
const LEAVES: usize = 64;

/// How many draws of μ are looked at where the oracle has no tree.
const DRAWS: usize = 4_096;

/// The most items of a region that is not the whole catalogue.
pub(super) const MOST: usize = 1_024;

/// Of how many draws of μ the loss of the whole catalogue is the mean.
const WHOLE_DRAWS: usize = 64;

/// γ is so many times K √(1 + n)/σ. Catalogues lose as much with half of it or with 16 times as much.
pub(super) const GREED: f64 = 0.5;

impl ItemPlan {
    /// Makes the plan for a context: a function of the model, the context and the items that there are.
    pub(crate) fn make<X: ?Sized, A: Action>(
        &mut self,
        zoom: &Zoom,
        learned: &Learned,
        (x, measure): (&X, &dyn ReferenceMeasure<X, A>),
        curve: &LossCurve<'_, X, A>,
        work: &mut Proposals<A>,
    ) -> Result<(), DecideError> {
        let catalogue = measure.catalogue().ok_or(DecideError::NoArgmin)?;
        self.find((x, measure), catalogue, curve, work)?;
        work.actions.clear();
        let mut rng = EventRng::before_events(0);
        measure.sample_stratified(x, WHOLE_DRAWS, &mut rng, &mut work.actions);
        curve.predict_unclamped(&work.actions, &mut work.fhats)?;
        let whole = work.fhats.iter().sum::<f64>() / WHOLE_DRAWS as f64;
        self.regions.clear();
        self.shares.clear();
        let (mut size, mut mass, mut sum) = (1, 0.0, 0.0);
        let most = self.best.len().min(catalogue.len() / 2);
        for (place, &(fhat, item)) in self.best[..most].iter().enumerate() {
            mass += catalogue.probability(item);
            sum += fhat;
            if place + 1 == size {
                self.regions.push((size, mass));
                self.shares.push(sum / size as f64);
                size *= 2;
            }
        }
        // From the whole catalogue to the best item.
        self.shares.push(whole);
        self.shares.reverse();
        self.regions.reverse();
        let count = self.shares.len() as f64;
        self.gamma = GREED * count * (1.0 + learned.events as f64).sqrt() / sigma(learned);
        inverse_gap_shares(&mut self.shares, self.gamma);
        zoom.mix_uniform(&mut self.shares);
        Ok(())
    }

    /// Finds the items of least f̂: among all, among those of the best leaves of the oracle's tree, or among draws.
    fn find<X: ?Sized, A: Action>(
        &mut self,
        (x, measure): (&X, &dyn ReferenceMeasure<X, A>),
        catalogue: &Catalogue,
        curve: &LossCurve<'_, X, A>,
        work: &mut Proposals<A>,
    ) -> Result<(), DecideError> {
        let Self {
            best,
            found,
            search,
            ..
        } = self;
        found.clear();
        if !is_searched(catalogue) {
            found.extend(catalogue.items());
        } else if let Some(tree) = curve.item_tree() {
            let predict = |centers: &[Item], fhats: &mut Vec<f64>| {
                predict_all(centers, curve, &mut work.actions, fhats)
            };
            tree.search(LEAVES, search, predict, found)?;
            found.retain(|&item| catalogue.place(item).is_some());
        } else {
            work.actions.clear();
            let mut rng = EventRng::before_events(0);
            measure.sample(x, DRAWS, &mut rng, &mut work.actions);
            let drawn = as_items::<A>(&mut work.actions).ok_or(DecideError::NoArgmin)?;
            found.extend_from_slice(drawn);
            found.sort_unstable();
            found.dedup();
        }
        predict_all(found, curve, &mut work.actions, &mut work.fhats)?;
        best.clear();
        best.extend(work.fhats.iter().copied().zip(found.iter().copied()));
        let order = |a: &(f64, Item), b: &(f64, Item)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if MOST < best.len() {
            best.select_nth_unstable_by(MOST, order);
            best.truncate(MOST);
        }
        best.sort_unstable_by(order);
        Ok(())
    }

    /// Draws an item.
    pub(crate) fn draw<X: ?Sized, A: Action>(
        &self,
        (x, measure): (&X, &dyn ReferenceMeasure<X, A>),
        rng: &mut EventRng,
        work: &mut Proposals<A>,
    ) -> Result<Item, DecideError> {
        let region = region_of(&self.shares, rng.unit());
        if region == 0 {
            work.actions.clear();
            measure.sample(x, 1, rng, &mut work.actions);
            let drawn = as_items::<A>(&mut work.actions).ok_or(DecideError::NoArgmin)?;
            return Ok(drawn[0]);
        }
        let catalogue = measure.catalogue().ok_or(DecideError::NoArgmin)?;
        let (size, mass) = self.regions[region - 1];
        let mut left = rng.unit() * mass;
        let items = self.best[..size].iter().map(|&(_, item)| item);
        let drawn = items.take(size - 1).find(|&item| {
            left -= catalogue.probability(item);
            left < 0.0
        });
        Ok(drawn.unwrap_or(self.best[size - 1].1))
    }

    /// p(a) of an item of the catalogue.
    pub(crate) fn density(&self, item: Item) -> f64 {
        let place = self.best.iter().position(|&(_, best)| best == item);
        let regions = self.regions.iter().zip(&self.shares[1..]);
        let around = regions.filter(|&(&(size, _), _)| place.is_some_and(|place| place < size));
        self.shares[0] + around.map(|((_, mass), share)| share / mass).sum::<f64>()
    }

    /// γ.
    pub(crate) fn gamma(&self) -> f64 {
        self.gamma
    }

    /// The share of region 0.
    pub(crate) fn whole(&self) -> f64 {
        self.shares[0]
    }
}

/// Whether a catalogue is too long to be predicted whole.
pub(crate) fn is_searched(catalogue: &Catalogue) -> bool {
    FEW < catalogue.len()
}

/// f̂ of items, as the oracle has it.
fn predict_all<X: ?Sized, A: Action>(
    items: &[Item],
    curve: &LossCurve<'_, X, A>,
    batch: &mut A::Batch,
    fhats: &mut Vec<f64>,
) -> Result<(), DecideError> {
    let list = as_items::<A>(batch).ok_or(DecideError::NoArgmin)?;
    list.clear();
    list.extend_from_slice(items);
    Ok(curve.predict_unclamped(batch, fhats)?)
}
