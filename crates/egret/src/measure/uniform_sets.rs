use crate::event::{Item, ItemSet, Limits, LimitsError};
use crate::measure::{ReferenceMeasure, Support};
use crate::numeric::{EventRng, OutOfRange, uniform_index::UniformIndex};

/// The uniform distribution over sets of so many distinct items.
#[derive(Debug, Clone, PartialEq)]
pub struct UniformSets {
    /// Which items there are, in increasing order.
    items: Vec<Item>,
    size: usize,
}

/// Each decision predicts a set for every item.
const MOST_ITEMS: usize = 1 << 24;

impl UniformSets {
    /// Sets of `size` of `count` items, `size` at least 1 and at most `count`.
    pub(crate) fn new(count: usize, size: usize) -> Result<Self, OutOfRange> {
        let (all, chosen) = (count as f64, size as f64);
        OutOfRange::unless(1.0 <= chosen, "size", chosen, "[1, inf)")?;
        let allowed = (chosen..=MOST_ITEMS as f64).contains(&all);
        OutOfRange::unless(allowed, "count", all, "[size, 2^24]")?;
        // The density of the smallest region, C(count, size), is a number with room for factors.
        let factors = (0..size).map(|place| (all - place as f64) / (chosen - place as f64));
        let logarithm: f64 = factors.map(f64::log2).sum();
        OutOfRange::unless(
            logarithm <= 1_000.0,
            "log2 of the number of sets",
            logarithm,
            "[0, 1000]",
        )?;
        Ok(Self {
            items: (0..count).map(|item| Item(item as u32)).collect(),
            size,
        })
    }

    /// Which items there are.
    pub(crate) fn items(&self) -> &[Item] {
        &self.items
    }

    /// How many items a set has.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Draws one of the sets of items whose places are below `among`; `item` says which item has a place (Floyd's algorithm).
    pub(crate) fn draw_among(
        &self,
        among: usize,
        item: impl Fn(usize) -> Item,
        rng: &mut EventRng,
    ) -> ItemSet {
        let mut places: Vec<usize> = Vec::with_capacity(self.size);
        for last in among - self.size..among {
            let place = UniformIndex::new(last as u32 + 1).draw(rng) as usize;
            places.push(if places.contains(&place) { last } else { place });
        }
        ItemSet::new(places.into_iter().map(item)).expect("places are distinct")
    }

    /// How many times as many sets there are of all items as of `among` of them: the density of a set drawn among these.
    pub(crate) fn density_among(&self, among: usize) -> f64 {
        let factors = (0..self.size).map(|chosen| {
            let all = (self.items.len() - chosen) as f64;
            all / (among - chosen) as f64
        });
        factors.product()
    }

    pub(crate) fn contains(&self, set: &ItemSet) -> bool {
        let has = |item: &Item| self.items.binary_search(item).is_ok();
        set.items().len() == self.size && set.items().iter().all(has)
    }
}

impl<X: ?Sized> ReferenceMeasure<X, ItemSet> for UniformSets {
    fn sample(&self, _: &X, n: usize, rng: &mut EventRng, out: &mut Vec<ItemSet>) {
        let items = &self.items;
        out.extend((0..n).map(|_| self.draw_among(items.len(), |place| items[place], rng)));
    }

    fn support(&self) -> Support {
        // C(n, k) as it grows from one size to the next: every quotient is whole.
        let mut sets = 1_u64;
        for chosen in 0..self.size {
            let left = (self.items.len() - chosen) as u64;
            match sets.checked_mul(left) {
                Some(product) => sets = product / (chosen as u64 + 1),
                None => return Support::Unknown,
            }
        }
        Support::Count(sets)
    }

    fn sets(&self) -> Option<&UniformSets> {
        Some(self)
    }

    fn within(
        &self,
        limits: &Limits,
    ) -> Result<Box<dyn ReferenceMeasure<X, ItemSet>>, LimitsError> {
        let outside = || LimitsError::outside(limits, format!("sets of {} items", self.size));
        let Limits::Items(listed) = limits else {
            return Err(outside());
        };
        let allowed = self.items.iter().copied().filter(|item| listed.allow(item));
        let items: Vec<Item> = allowed.collect();
        if items.len() < self.size {
            return Err(outside());
        }
        let size = self.size;
        Ok(Box::new(Self { items, size }))
    }
}

#[cfg(test)]
mod tests {
    use egret_testkit::chi_square_p_value;

    use super::*;
    use crate::event::ItemLimits;
    use crate::measure::checks::check_replay;
    use crate::numeric::Stream;

    #[test]
    fn all_sets_are_as_probable() {
        let mu = UniformSets::new(5, 2).expect("in range");
        assert_eq!(ReferenceMeasure::<(), _>::support(&mu), Support::Count(10));
        let mut drawn = Vec::new();
        let mut rng = EventRng::new(1, 0, Stream::World);
        mu.sample(&(), 20_000, &mut rng, &mut drawn);
        let mut counts = [0; 10];
        for set in &drawn {
            let [a, b] = [0, 1].map(|at| set.items()[at].0 as usize);
            // (0, 1), (0, 2), (1, 2), (0, 3), …
            counts[b * (b - 1) / 2 + a] += 1;
        }
        // False alarm: one in a million. Power: a sixth less of one set is seen.
        assert!(1e-6 < chi_square_p_value(&counts, &[0.1; 10]));
        counts[3] -= counts[3] / 6;
        assert!(chi_square_p_value(&counts, &[0.1; 10]) < 1e-6);
        check_replay::<ItemSet>(&mu);
        let many = UniformSets::new(30_000, 3).expect("in range");
        let count = 30_000_u64 * 29_999 * 29_998 / 6;
        assert_eq!(
            ReferenceMeasure::<(), _>::support(&many),
            Support::Count(count)
        );
        assert!((many.density_among(3) / count as f64 - 1.0).abs() < 1e-12);
        assert!((mu.density_among(4) - 10.0 / 6.0).abs() < 1e-12);
        // More sets than a density can tell.
        assert!(UniformSets::new(30_000, 150).is_err());
        assert!(UniformSets::new(30_000, 50).is_ok());
    }

    #[test]
    fn limits_leave_sets_of_what_is_allowed() {
        let mu = UniformSets::new(6, 2).expect("in range");
        let limits = |items: &[u32]| {
            Limits::Items(ItemLimits::Excluded(
                items.iter().copied().map(Item).collect(),
            ))
        };
        let part = ReferenceMeasure::<(), _>::within(&mu, &limits(&[0, 3, 4])).expect("three left");
        assert_eq!(part.support(), Support::Count(3));
        let few = limits(&[0, 1, 2, 3, 4]);
        assert!(ReferenceMeasure::<(), _>::within(&mu, &few).is_err());
        assert!(mu.contains(&ItemSet::new([Item(5), Item(1)]).expect("distinct")));
        assert!(!mu.contains(&ItemSet::new([Item(6), Item(1)]).expect("distinct")));
    }
}
