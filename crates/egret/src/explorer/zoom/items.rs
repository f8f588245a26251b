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
        self.gamma = GREED * count * (1.0 + learned.counting()).sqrt() / sigma(learned);
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

#[cfg(test)]
mod tests {
    use egret_testkit::chi_square_p_value;

    use super::*;
    use crate::numeric::Stream;
    use crate::oracle::FunctionOracle;

    const LEARNED: Learned = Learned {
        batches: 15,
        events: 15,
        squared_error: Some(0.01),
        forgotten: 0.0,
    };

    /// The plan for 32 items that are not equally frequent; item i loses (7i mod 32)/32.
    fn plan(catalogue: &Catalogue) -> ItemPlan {
        let oracle = FunctionOracle::new(|_: &(), items: &Vec<Item>, out: &mut [f64]| {
            for (out, item) in out.iter_mut().zip(items) {
                *out = f64::from(7 * item.0 % 32) / 32.0;
            }
        });
        let mut buffer = Vec::new();
        let curve = LossCurve::new(&oracle, &(), &mut buffer).expect("no context");
        let mut plan = ItemPlan::default();
        let place: (&(), &dyn ReferenceMeasure<(), Item>) = (&(), catalogue);
        let zoom = Zoom { uniform: 0.1 };
        plan.make(&zoom, &LEARNED, place, &curve, &mut Proposals::default())
            .expect("a plan");
        plan
    }

    fn catalogue() -> Catalogue {
        let weights: Vec<f64> = (0..32).map(|item| f64::from(1 + item % 3)).collect();
        Catalogue::weighted(weights).expect("weights")
    }

    #[test]
    fn shares_are_inverse_gaps_of_regions_that_halve() {
        let catalogue = catalogue();
        let plan = plan(&catalogue);
        let sizes: Vec<usize> = plan.regions.iter().map(|&(size, _)| size).collect();
        assert_eq!(sizes, [16, 8, 4, 2, 1]);
        for &(size, mass) in &plan.regions {
            let inside = |item: &u32| 7 * item % 32 < size as u32;
            let items = (0..32).filter(inside).map(Item);
            let expected: f64 = items.map(|item| catalogue.probability(item)).sum();
            assert!((mass - expected).abs() < 1e-12, "{size}: {mass}");
        }
        // γ = ½ · 6 regions · √16 / 0.1, and the mean loss of the best m items is (m − 1)/64.
        assert!((plan.gamma() - 120.0).abs() < 1e-9, "{}", plan.gamma());
        for (share, size) in plan.shares[1..5].iter().zip([16.0, 8.0, 4.0, 2.0]) {
            let expected = 0.9 / (6.0 + 120.0 * (size - 1.0) / 64.0);
            assert!((share - expected).abs() < 1e-12, "{size}: {share}");
        }
        // Draws of μ lose about a half.
        let whole = (plan.whole() - 0.1) / 0.9;
        let lost = (1.0 / whole - 6.0) / 120.0;
        assert!((lost - 0.48).abs() < 0.05, "{lost}");
        assert!((plan.shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    /// A false alarm in a million; a density that is off by a tenth at the best item is seen all but surely.
    #[test]
    fn items_are_drawn_with_their_densities() {
        let catalogue = catalogue();
        let plan = plan(&catalogue);
        let probability = |item: u32| {
            let item = Item(item);
            catalogue.probability(item) * plan.density(item)
        };
        let probabilities: Vec<f64> = (0..32).map(probability).collect();
        assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let mut counts = [0; 32];
        let (mut work, mut rng) = (
            Proposals::<Item>::default(),
            EventRng::new(3, 0, Stream::Action),
        );
        for _ in 0..40_000 {
            let place: (&(), &dyn ReferenceMeasure<(), Item>) = (&(), &catalogue);
            let item = plan.draw(place, &mut rng, &mut work).expect("an item");
            counts[item.0 as usize] += 1;
        }
        assert!(1e-6 < chi_square_p_value(&counts, &probabilities));
        let mut wrong = probabilities.clone();
        wrong[0] *= 1.1;
        let total: f64 = wrong.iter().sum();
        wrong.iter_mut().for_each(|p| *p /= total);
        assert!(chi_square_p_value(&counts, &wrong) < 1e-6);
    }

    #[test]
    fn long_catalogues_are_searched() {
        for (count, searched) in [(FEW, false), (FEW + 1, true), (4 * FEW, true)] {
            let catalogue = Catalogue::uniform(count).expect("items");
            assert_eq!(is_searched(&catalogue), searched);
        }
    }
}
