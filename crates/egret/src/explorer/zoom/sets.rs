use crate::event::{Action, Batch, Item, ItemSet, action::as_action, action::as_sets};
use crate::explorer::zoom::items::{GREED, MOST};
use crate::explorer::zoom::{Zoom, inverse_gap_shares, region_of, search::least, sigma};
use crate::explorer::{DecideError, Learned};
use crate::measure::{ReferenceMeasure, uniform_sets::UniformSets};
use crate::numeric::EventRng;
use crate::oracle::LossCurve;
use crate::sampling::proposer::Proposals;

/// Where [`Zoom`] plays among sets of items for one context: the best items that were found, and the share of each region.
///
/// Region 0 has all sets. The others have the sets of ever fewer of the best items, half as many each, down to the one set of the
/// best. Within a region all sets are as probable, so that with n items, k of them in a set, and m in region j
///
/// p(S) = w₀ + Σⱼ wⱼ 1{S ⊂ region j} C(n, k)/C(m, k)
///
/// Which items are the best is a guess: each takes the place of one item of a set, and the losses of these sets are compared. It is
/// right where losses add up over items; a bad guess costs loss, and no more.
#[derive(Debug, Clone, Default)]
pub(crate) struct SetPlan {
    /// The best items, the best first, with f̂ of their sets.
    best: Vec<(f64, Item)>,
    /// How many of them each region after the first has.
    regions: Vec<usize>,
    shares: Vec<f64>,
    gamma: f64,
}

/// How often items are ranked, each time around the best that were found.
const ROUNDS: usize = 2;

/// Of how many draws the loss of a region is the mean.
const DRAWS: usize = 8;

impl SetPlan {
    /// Makes the plan for a context: a function of the model, the context and the items that there are.
    pub(crate) fn make<X: ?Sized, A: Action>(
        &mut self,
        zoom: &Zoom,
        learned: &Learned,
        (x, measure): (&X, &dyn ReferenceMeasure<X, A>),
        curve: &LossCurve<'_, X, A>,
        work: &mut Proposals<A>,
    ) -> Result<(), DecideError> {
        let sets = measure.sets().ok_or(DecideError::NoArgmin)?;
        work.actions.clear();
        measure.sample(x, DRAWS, &mut EventRng::before_events(0), &mut work.actions);
        curve.predict_unclamped(&work.actions, &mut work.fhats)?;
        let whole = work.fhats.iter().sum::<f64>() / DRAWS as f64;
        let first = least(&work.fhats);
        let mut base = drawn::<A>(work)?[first].clone();
        let mut kept = (f64::INFINITY, base.clone());
        // First around items at random, then around the best ones found.
        for _ in 0..ROUNDS {
            let loss = self.rank(sets, &base, curve, work)?;
            if loss < kept.0 {
                kept = (loss, base);
            }
            let best = self.best.iter().take(sets.size()).map(|&(_, item)| item);
            base = ItemSet::new(best).map_err(|_| DecideError::NoArgmin)?;
        }
        let list = drawn::<A>(work)?;
        list.clear();
        list.push(base);
        curve.predict_unclamped(&work.actions, &mut work.fhats)?;
        // Where losses do not add up, a set before may be better.
        if kept.0 < work.fhats[0] {
            let (loss, set) = kept;
            self.best.retain(|(_, item)| !set.items().contains(item));
            let items = set.items().iter().map(|&item| (loss, item));
            self.best.splice(0..0, items);
        }
        self.regions.clear();
        self.shares.clear();
        self.shares.push(whole);
        let mut size = sets.size();
        while size <= self.best.len() && (size == sets.size() || size < sets.items().len()) {
            self.regions.push(size);
            size *= 2;
        }
        self.regions.reverse();
        for region in 1..=self.regions.len() {
            let list = drawn::<A>(work)?;
            list.clear();
            for draw in 0..DRAWS {
                // The same numbers for each region, so that their means compare.
                let mut rng = EventRng::before_events(1 + draw as u64);
                list.push(self.draw_in(sets, region, &mut rng));
            }
            curve.predict_unclamped(&work.actions, &mut work.fhats)?;
            self.shares
                .push(work.fhats.iter().sum::<f64>() / DRAWS as f64);
        }
        let count = self.shares.len() as f64;
        self.gamma = GREED * count * (1.0 + learned.counting()).sqrt() / sigma(learned);
        inverse_gap_shares(&mut self.shares, self.gamma);
        zoom.mix_uniform(&mut self.shares);
        Ok(())
    }

    /// Ranks all items around a set, whose own loss it returns. An item gets the loss of the set with it in place of the set's first
    /// item. Those of the set get what that would be if losses added up over items: with r an item that is not among them and f̂₍ᵢ₎ the
    /// loss with r in place of i, it is f̂₍₁₎ + f̂ − f̂₍ᵢ₎.
    fn rank<X: ?Sized, A: Action>(
        &mut self,
        sets: &UniformSets,
        base: &ItemSet,
        curve: &LossCurve<'_, X, A>,
        work: &mut Proposals<A>,
    ) -> Result<f64, DecideError> {
        let own = base.items();
        let items = sets.items().iter().copied();
        let others: Vec<Item> = items.filter(|item| !own.contains(item)).collect();
        let swapped = |out: Item, item: Item| {
            let left = own.iter().copied().filter(|&of| of != out);
            ItemSet::new(left.chain([item])).map_err(|_| DecideError::NoArgmin)
        };
        let list = drawn::<A>(work)?;
        list.clear();
        list.push(base.clone());
        for &item in own {
            list.push(match others.first() {
                Some(&other) => swapped(item, other)?,
                None => base.clone(),
            });
        }
        for &item in &others {
            list.push(swapped(own[0], item)?);
        }
        curve.predict_unclamped(&work.actions, &mut work.fhats)?;
        let (loss, without) = (work.fhats[0], &work.fhats[1..=own.len()]);
        self.best.clear();
        let of_own = without.iter().map(|other| without[0] + loss - other);
        self.best.extend(of_own.zip(own.iter().copied()));
        let of_others = work.fhats[1 + own.len()..].iter().copied();
        self.best.extend(of_others.zip(others));
        let order = |a: &(f64, Item), b: &(f64, Item)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        let most = MOST.max(sets.size());
        if most < self.best.len() {
            self.best.select_nth_unstable_by(most, order);
            self.best.truncate(most);
        }
        self.best.sort_unstable_by(order);
        Ok(loss)
    }

    fn draw_in(&self, sets: &UniformSets, region: usize, rng: &mut EventRng) -> ItemSet {
        match region {
            0 => {
                let items = sets.items();
                sets.draw_among(items.len(), |place| items[place], rng)
            }
            region => sets.draw_among(self.regions[region - 1], |place| self.best[place].1, rng),
        }
    }

    /// Draws a set.
    pub(crate) fn draw(&self, sets: &UniformSets, rng: &mut EventRng) -> ItemSet {
        let region = region_of(&self.shares, rng.unit());
        self.draw_in(sets, region, rng)
    }

    /// The set of the best items.
    pub(crate) fn best<A: Action>(&self, size: usize) -> Option<A> {
        let items = self.best.iter().take(size).map(|&(_, item)| item);
        as_action(ItemSet::new(items).ok()?)
    }

    /// p(S) of a set; 0 for what is none.
    pub(crate) fn density(&self, sets: &UniformSets, set: &ItemSet) -> f64 {
        if !sets.contains(set) {
            return 0.0;
        }
        let place = |item: &Item| self.best.iter().position(|&(_, best)| best == *item);
        // The place of its last item among the best; none if one is not among them.
        let last = set
            .items()
            .iter()
            .map(place)
            .try_fold(0, |last, place| Some(last.max(place?)));
        let regions = self.regions.iter().zip(&self.shares[1..]);
        let around = regions.filter(|&(&size, _)| last.is_some_and(|last| last < size));
        let densities = around.map(|(&size, share)| share * sets.density_among(size));
        self.shares[0] + densities.sum::<f64>()
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

fn drawn<A: Action>(work: &mut Proposals<A>) -> Result<&mut Vec<ItemSet>, DecideError> {
    as_sets::<A>(&mut work.actions).ok_or(DecideError::NoArgmin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::FunctionOracle;

    /// Item i loses a number of its own, and a set the mean of them: the best set is that of the k best items, wherever they are.
    #[test]
    fn the_best_items_are_found_where_losses_add_up() {
        for (count, size, seed) in [
            (10, 3, 0),
            (10, 3, 1),
            (40, 3, 2),
            (40, 5, 3),
            (40, 5, 4),
            (6, 6, 5),
        ] {
            let mut rng = EventRng::before_events(seed);
            let losses: Vec<f64> = (0..count).map(|_| rng.unit()).collect();
            let mut order: Vec<u32> = (0..count as u32).collect();
            order.sort_by(|&a, &b| losses[a as usize].total_cmp(&losses[b as usize]));
            let expected = ItemSet::new(order[..size].iter().copied().map(Item)).expect("distinct");
            let of = losses.clone();
            let oracle =
                FunctionOracle::new(move |_: &(), sets: &Vec<ItemSet>, out: &mut [f64]| {
                    for (out, set) in out.iter_mut().zip(sets) {
                        let each = set.items().iter().map(|item| of[item.0 as usize]);
                        *out = each.sum::<f64>() / set.items().len() as f64;
                    }
                });
            let sets = UniformSets::new(count, size).expect("in range");
            let mut buffer = Vec::new();
            let curve = LossCurve::new(&oracle, &(), &mut buffer).expect("no context");
            let mut plan = SetPlan::default();
            let learned = Learned {
                batches: 100,
                events: 100,
                squared_error: Some(0.01),
                forgotten: 0.0,
            };
            plan.make(
                &Zoom::default(),
                &learned,
                (&(), &sets),
                &curve,
                &mut Proposals::default(),
            )
            .expect("a plan");
            assert_eq!(
                plan.best::<ItemSet>(size),
                Some(expected),
                "{size} of {count}"
            );
        }
    }

    /// Of 16 items the first two lose nothing and the others 1; a set of two loses the mean.
    #[test]
    fn shares_are_inverse_gaps_of_regions_that_halve() {
        let oracle = FunctionOracle::new(|_: &(), sets: &Vec<ItemSet>, out: &mut [f64]| {
            for (out, set) in out.iter_mut().zip(sets) {
                let bad = set.items().iter().filter(|item| 1 < item.0).count();
                *out = bad as f64 / 2.0;
            }
        });
        let sets = UniformSets::new(16, 2).expect("in range");
        let mut buffer = Vec::new();
        let curve = LossCurve::new(&oracle, &(), &mut buffer).expect("no context");
        let mut plan = SetPlan::default();
        let learned = Learned {
            batches: 15,
            events: 15,
            squared_error: Some(0.01),
            forgotten: 0.0,
        };
        let zoom = Zoom { uniform: 0.1 };
        plan.make(
            &zoom,
            &learned,
            (&(), &sets),
            &curve,
            &mut Proposals::default(),
        )
        .expect("a plan");
        assert_eq!(plan.regions, [8, 4, 2]);
        // γ = ½ · 4 regions · √16 / 0.1.
        assert!((plan.gamma() - 80.0).abs() < 1e-9, "{}", plan.gamma());
        assert!((plan.shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        // Sets of m items lose 1 − 2/m in the mean; eight draws say so within a quarter.
        let lost = |share: f64| (0.9 / share - 4.0) / 80.0;
        for (share, expected) in [
            (plan.whole() - 0.1, 0.875),
            (plan.shares[1], 0.75),
            (plan.shares[2], 0.5),
        ] {
            assert!((lost(share) - expected).abs() <= 0.25, "{}", lost(share));
        }
    }
}
