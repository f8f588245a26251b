use std::fmt;

use rand::{Rng, distr::Distribution};
use rand_distr::weighted::WeightedAliasIndex;

use crate::event::{Item, ItemLimits, Limits, LimitsError};
use crate::measure::{ReferenceMeasure, Support};
use crate::numeric::{EventRng, lanes, uniform_index::UniformIndex};

/// A list of up to ten million items, equally probable or weighted.
///
/// A draw costs the same however many there are. Equal items are drawn with probability exactly
/// 1/n, and stratified draws take one from each of n equal parts of the list. Weighted items are
/// drawn by an alias table, built once in time and memory proportional to the list (20 bytes an
/// item); an item's frequency is within 2⁻⁵² / n of its probability where it is rarer than 1/n, and
/// stratified draws are independent ones.
///
/// ```
/// use egret::{Catalogue, EventRng, Item, ReferenceMeasure, Stream};
///
/// let mu = Catalogue::weighted(vec![1.0, 2.0, 5.0])?;
/// assert_eq!(mu.probability(Item(1)), 0.25);
///
/// let mut documents = Vec::new();
/// mu.sample(&(), 10, &mut EventRng::new(7, 0, Stream::World), &mut documents);
/// assert!(documents.iter().all(|document| document.0 < 3));
/// # Ok::<(), egret::CatalogueError>(())
/// ```
#[derive(Clone)]
pub struct Catalogue {
    index: UniformIndex,
    weights: Option<Weights>,
    part: Part,
}

/// Which items of a longer list these are.
#[derive(Clone)]
enum Part {
    All,
    /// These, in increasing order.
    Only(Vec<Item>),
    /// All but these, in increasing order.
    Without(Vec<Item>),
}

#[derive(Clone)]
struct Weights {
    probabilities: Vec<f64>,
    alias: WeightedAliasIndex<f64>,
}

impl Catalogue {
    /// The most items.
    pub const MAX_LEN: usize = 10_000_000;

    /// The smallest weight allowed, as a fraction of the mean weight. Below it the alias table would be off by more
    /// than 2.3e-7 of the probability.
    pub const MIN_WEIGHT: f64 = 1e-9;

    /// `n` items, each with probability 1/n; n is in [1, [`MAX_LEN`](Self::MAX_LEN)].
    pub fn uniform(n: usize) -> Result<Self, CatalogueError> {
        Ok(Self {
            index: UniformIndex::new(checked_len(n)?),
            weights: None,
            part: Part::All,
        })
    }

    /// An item for each weight, with a probability proportional to it.
    ///
    /// Weights are positive and finite: leave out items that must never be played.
    pub fn weighted(mut weights: Vec<f64>) -> Result<Self, CatalogueError> {
        let n = checked_len(weights.len())?;
        let mut largest = 0.0_f64;
        for (item, &value) in weights.iter().enumerate() {
            if !(0.0 < value && value.is_finite()) {
                return Err(CatalogueError::Weight { item, value });
            }
            largest = largest.max(value);
        }
        // Divided by the largest first, so that the sum is finite.
        for weight in &mut weights {
            *weight /= largest;
        }
        let sum = lanes::sum(&weights);
        let least = Self::MIN_WEIGHT / f64::from(n);
        for (item, weight) in weights.iter_mut().enumerate() {
            *weight /= sum;
            if *weight < least {
                return Err(CatalogueError::Rare {
                    item,
                    fraction: *weight * f64::from(n),
                });
            }
        }
        let alias = WeightedAliasIndex::new(weights.clone())
            .expect("one probability or more, all positive and at most 1");
        Ok(Self {
            index: UniformIndex::new(n),
            weights: Some(Weights {
                probabilities: weights,
                alias,
            }),
            part: Part::All,
        })
    }

    /// How many items; never 0.
    #[expect(clippy::len_without_is_empty, reason = "no catalogue is empty")]
    pub fn len(&self) -> usize {
        self.index.n() as usize
    }

    /// All of them, in order.
    pub fn items(&self) -> impl ExactSizeIterator<Item = Item> {
        (0..self.index.n()).map(|place| self.item(place))
    }

    /// The item at a place in the list, from 0.
    pub(crate) fn item(&self, place: u32) -> Item {
        match &self.part {
            Part::All => Item(place),
            Part::Only(items) => items[place as usize],
            Part::Without(items) => {
                // How many of the items left out come before: each that has at most `place` others before it.
                let (mut low, mut high) = (0, items.len());
                while low < high {
                    let middle = low.midpoint(high);
                    if items[middle].0 - middle as u32 <= place {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                Item(place + low as u32)
            }
        }
    }

    /// The place of an item; none if it is not in the list.
    pub(crate) fn place(&self, item: Item) -> Option<usize> {
        match &self.part {
            Part::All => (item.0 < self.index.n()).then_some(item.0 as usize),
            Part::Only(items) => items.binary_search(&item).ok(),
            Part::Without(items) => {
                let before = items.binary_search(&item).err()?;
                let place = item.0 as usize - before;
                (place < self.len()).then_some(place)
            }
        }
    }

    /// μ({item}); 0 for an item that is not in the catalogue.
    pub fn probability(&self, item: Item) -> f64 {
        match (self.place(item), &self.weights) {
            (None, _) => 0.0,
            (Some(place), Some(weights)) => weights.probabilities[place],
            (Some(_), None) => 1.0 / f64::from(self.index.n()),
        }
    }

    /// One more than the largest number that an item may have.
    fn end(&self) -> usize {
        match &self.part {
            Part::All => self.len(),
            Part::Only(items) => items.last().map_or(0, |item| item.0 as usize + 1),
            Part::Without(items) => self.len() + items.len(),
        }
    }

    /// All but these items, which are in increasing order, with their probabilities in proportion. Some may not be in the list.
    pub(crate) fn without(&self, items: &[Item]) -> Result<Self, CatalogueError> {
        let mut left_out = match (&self.part, &self.weights) {
            (Part::All, None) => Vec::new(),
            (Part::Without(before), None) => before.clone(),
            _ => {
                let left = self
                    .items()
                    .filter(|item| items.binary_search(item).is_err());
                return self.part(left.collect());
            }
        };
        // Equal items need no list of those that are left.
        let end = self.end();
        left_out.extend_from_slice(items);
        left_out.sort_unstable();
        left_out.dedup();
        let rest = Self::uniform(end.saturating_sub(left_out.len()))?;
        Ok(Self {
            part: Part::Without(left_out),
            ..rest
        })
    }

    /// Some of the items, with their probabilities in proportion.
    fn part(&self, items: Vec<Item>) -> Result<Self, CatalogueError> {
        let whole = match &self.weights {
            None => Self::uniform(items.len())?,
            Some(_) => {
                let weights = items.iter().map(|&item| self.probability(item));
                Self::weighted(weights.collect())?
            }
        };
        Ok(Self {
            part: Part::Only(items),
            ..whole
        })
    }

    /// μ({item}) for each item in order; none if all are equal.
    pub fn probabilities(&self) -> Option<&[f64]> {
        Some(&self.weights.as_ref()?.probabilities)
    }
}

impl Catalogue {
    /// Puts the items of a part in place of the places that were drawn.
    fn places_to_items(&self, drawn: &mut [Item]) {
        if !matches!(self.part, Part::All) {
            for item in drawn {
                *item = self.item(item.0);
            }
        }
    }
}

fn checked_len(n: usize) -> Result<u32, CatalogueError> {
    match u32::try_from(n) {
        Ok(len) if (1..=Catalogue::MAX_LEN).contains(&n) => Ok(len),
        _ => Err(CatalogueError::Length { found: n }),
    }
}

impl<X: ?Sized> ReferenceMeasure<X, Item> for Catalogue {
    fn sample(&self, _: &X, n: usize, rng: &mut EventRng, out: &mut Vec<Item>) {
        out.reserve(n);
        let start = out.len();
        match &self.weights {
            Some(weights) => out.extend((0..n).map(|_| Item(weights.alias.sample(rng) as u32))),
            None => sample_uniform(self.index, n, rng, out),
        }
        self.places_to_items(&mut out[start..]);
    }

    fn sample_stratified(&self, x: &X, n: usize, rng: &mut EventRng, out: &mut Vec<Item>) {
        if self.weights.is_some() {
            return self.sample(x, n, rng, out);
        }
        let len = self.index.n();
        let part = f64::from(len) / n as f64;
        let start = out.len();
        out.extend((0..n).map(|i| {
            let place = (i as f64 + rng.unit()) * part;
            Item((place as u32).min(len - 1))
        }));
        self.places_to_items(&mut out[start..]);
    }

    fn support(&self) -> Support {
        Support::Count(u64::from(self.index.n()))
    }

    fn catalogue(&self) -> Option<&Catalogue> {
        Some(self)
    }

    fn within(&self, limits: &Limits) -> Result<Box<dyn ReferenceMeasure<X, Item>>, LimitsError> {
        let outside =
            || LimitsError::outside(limits, format!("the catalogue of {} items", self.len()));
        let part = match limits {
            Limits::Items(items) if items.leave(1, self.end()) => match items {
                ItemLimits::Allowed(items) => {
                    if items.iter().any(|&item| self.place(item).is_none()) {
                        return Err(outside());
                    }
                    self.part(items.clone())
                }
                ItemLimits::Excluded(items) => self.without(items),
            },
            _ => return Err(outside()),
        };
        part.map(|part| Box::new(part) as _)
            .map_err(|error| match error {
                CatalogueError::Length { found: 0 } => outside(),
                error => LimitsError::no_measure(limits, error),
            })
    }
}

/// Reads one word per item, then one for each rejected word, and so on. No word beyond the last item is read, so
/// drawing in parts gives the same items.
fn sample_uniform(index: UniformIndex, n: usize, rng: &mut EventRng, out: &mut Vec<Item>) {
    let end = out.len() + n;
    let mut bytes = [0; 1024];
    while out.len() < end {
        let wanted = (4 * (end - out.len())).min(bytes.len());
        let bytes = &mut bytes[..wanted];
        rng.fill_bytes(bytes);
        let words = bytes.as_chunks::<4>().0;
        out.extend(
            words
                .iter()
                .filter_map(|&word| index.index(u32::from_le_bytes(word)).map(Item)),
        );
    }
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalogue")
            .field("len", &self.len())
            .field("weighted", &self.weights.is_some())
            .finish()
    }
}

/// Why a catalogue is refused.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// None, or too many.
    #[error(
        "the catalogue has {found} items, expected 1 to {}",
        Catalogue::MAX_LEN
    )]
    Length {
        /// How many.
        found: usize,
    },
    /// Zero, negative, infinite or NaN.
    #[error("the weight of item {item} is {value}, expected a number in (0, inf)")]
    Weight {
        /// Its index.
        item: usize,
        /// Its weight.
        value: f64,
    },
    /// Too rare beside the others.
    #[error(
        "the weight of item {item} is {fraction:e} of the mean weight, expected at least {:e}",
        Catalogue::MIN_WEIGHT
    )]
    Rare {
        /// Its index.
        item: usize,
        /// Its weight over the mean weight.
        fraction: f64,
    },
}

#[cfg(test)]
mod tests {
    use egret_testkit::chi_square_p_value;
    use proptest::prelude::*;

    use super::*;
    use crate::measure::checks::{
        check_replay, check_split, check_stratified, sampled, stratified,
    };

    fn counts(batch: &[Item], n: usize) -> Vec<u64> {
        let mut counts = vec![0; n];
        for item in batch {
            counts[item.0 as usize] += 1;
        }
        counts
    }

    #[test]
    fn equal_items_are_equally_frequent() {
        let mu = Catalogue::uniform(100).expect("a hundred");
        // False alarm: one in a million.
        let drawn = counts(&sampled(&mu, 200_000, 1), 100);
        assert!(1e-6 < chi_square_p_value(&drawn, &[0.01; 100]));
        // Power: half of the items 5% more frequent than the others is seen.
        let tilted: Vec<f64> = (0..100)
            .map(|i| if i < 50 { 0.01025 } else { 0.00975 })
            .collect();
        assert!(chi_square_p_value(&drawn, &tilted) < 1e-6);
    }

    #[test]
    fn weighted_items_are_as_frequent_as_their_weights() {
        let weights: Vec<f64> = (1..=50).map(|i| 1.0 / f64::from(i)).collect();
        let mu = Catalogue::weighted(weights).expect("positive");
        let drawn = counts(&sampled(&mu, 200_000, 1), 50);
        // False alarm: one in a million.
        let probabilities = mu.probabilities().expect("weighted").to_vec();
        assert!(1e-6 < chi_square_p_value(&drawn, &probabilities));
        // Power: weights to the power 1.02 are seen.
        let steeper: Vec<f64> = probabilities.iter().map(|p| p.powf(1.02)).collect();
        let sum: f64 = steeper.iter().sum();
        let steeper: Vec<f64> = steeper.iter().map(|p| p / sum).collect();
        assert!(chi_square_p_value(&drawn, &steeper) < 1e-6);
    }

    #[test]
    fn ten_million_items_fit_and_one_more_does_not() {
        let n = Catalogue::MAX_LEN;
        let weights: Vec<f64> = (1..=n).map(|i| 1.0 / i as f64).collect();
        let mu = Catalogue::weighted(weights).expect("ten million");
        let cell = |item: &Item| item.0.checked_ilog10().map_or(0, |digits| digits as usize);
        let mut drawn = [0; 7];
        for item in sampled(&mu, 100_000, 1) {
            drawn[cell(&item)] += 1;
        }
        let mut probabilities = [0.0; 7];
        for item in mu.items() {
            probabilities[cell(&item)] += mu.probability(item);
        }
        // False alarm: one in a million.
        assert!(1e-6 < chi_square_p_value(&drawn, &probabilities));

        assert!(Catalogue::uniform(n).is_ok());
        assert_eq!(
            Catalogue::uniform(n + 1).expect_err("too many").to_string(),
            "the catalogue has 10000001 items, expected 1 to 10000000"
        );
        assert_eq!(
            Catalogue::weighted(vec![1.0; n + 1]).expect_err("too many"),
            CatalogueError::Length { found: n + 1 }
        );
    }

    #[test]
    fn strata_are_unbiased_and_vary_less() {
        // 10 items in 16 parts: parts and items do not line up.
        let mu = Catalogue::uniform(10).expect("ten");
        check_stratified(&mu, |a| f64::from(a.0), 4.5, 0.05);
        check_stratified(&mu, |a| f64::from(a.0).powi(2), 28.5, 0.05);
        check_stratified(&mu, |a| f64::from(u8::from(a == Item(3))), 0.1, 0.5);
        let weighted = Catalogue::weighted(vec![3.0, 1.0]).expect("positive");
        check_stratified(&weighted, |a| f64::from(a.0), 0.25, 1.1);
    }

    #[test]
    fn a_part_has_the_items_that_are_allowed() {
        let limits = |json: &str| serde_json::from_str::<Limits>(json).expect("limits");
        let uniform = Catalogue::uniform(10).expect("ten");
        let weighted = Catalogue::weighted((1..=10).map(f64::from).collect()).expect("positive");
        for (mu, json, expected) in [
            (
                &uniform,
                r#"{"items":{"allowed":[1,4,7]}}"#,
                [1.0, 1.0, 1.0],
            ),
            (
                &weighted,
                r#"{"items":{"allowed":[1,4,7]}}"#,
                [2.0, 5.0, 8.0],
            ),
            (
                &weighted,
                r#"{"items":{"excluded":[0,2,3,5,6,8,9]}}"#,
                [2.0, 5.0, 8.0],
            ),
        ] {
            let part = ReferenceMeasure::<(), Item>::within(mu, &limits(json)).expect("three");
            let list = part.catalogue().expect("a list");
            assert_eq!(
                list.items().collect::<Vec<_>>(),
                [Item(1), Item(4), Item(7)]
            );
            let sum: f64 = expected.iter().sum();
            let probabilities = expected.map(|weight| weight / sum);
            for (item, probability) in list.items().zip(probabilities) {
                assert!((list.probability(item) - probability).abs() < 1e-15);
            }
            assert_eq!(list.probability(Item(2)), 0.0);
            for drawn in [sampled(list, 30_000, 1), stratified(list, 30_000, 1)] {
                let places: Vec<Item> = drawn
                    .iter()
                    .map(|item| Item(list.place(*item).expect("allowed") as u32))
                    .collect();
                // False alarm: one in a million each.
                assert!(1e-6 < chi_square_p_value(&counts(&places, 3), &probabilities));
            }
        }
        for json in [
            r#"{"items":{"allowed":[]}}"#,
            r#"{"items":{"allowed":[10]}}"#,
            r#"{"items":{"excluded":[0,1,2,3,4,5,6,7,8,9]}}"#,
            r#"{"items":{"allowed":[4,1]}}"#,
            r#"{"interval":{"low":0.0,"high":1.0}}"#,
        ] {
            let refused = ReferenceMeasure::<(), Item>::within(&uniform, &limits(json));
            let words = refused.err().expect("no part").to_string();
            assert!(words.contains("the catalogue of 10 items"), "{words}");
        }
    }

    #[test]
    fn strata_cover_every_item() {
        let mu = Catalogue::uniform(1_000).expect("a thousand");
        let items: Vec<Item> = mu.items().collect();
        assert_eq!(stratified(&mu, 1_000, 1), items);
    }

    #[test]
    fn draws_replay() {
        let weighted = Catalogue::weighted((1..=1_000).map(f64::from).collect());
        for mu in [Catalogue::uniform(1_000_000), weighted] {
            let mu = mu.expect("positive");
            check_replay(&mu);
            check_split(&mu);
        }
    }

    #[test]
    fn values_are_frozen() {
        // A change here is value-breaking: the same seed would give other actions.
        let weighted = Catalogue::weighted(vec![1.0, 2.0, 3.0, 4.0]).expect("positive");
        let items = |mu: &Catalogue| {
            sampled(mu, 8, 7)
                .iter()
                .map(|item| item.0)
                .collect::<Vec<_>>()
        };
        assert_eq!(items(&weighted), FROZEN_WEIGHTED);
        assert_eq!(
            items(&Catalogue::uniform(10_000).expect("ten thousand")),
            FROZEN_UNIFORM
        );
    }

    const FROZEN_WEIGHTED: [u32; 8] = [3, 1, 2, 0, 1, 3, 3, 2];
    const FROZEN_UNIFORM: [u32; 8] = [8253, 3151, 2969, 3797, 466, 955, 6281, 8135];

    #[test]
    fn bad_weights_are_named() {
        let message = |weights| {
            Catalogue::weighted(weights)
                .expect_err("refused")
                .to_string()
        };
        assert_eq!(
            message(vec![1.0, 0.0]),
            "the weight of item 1 is 0, expected a number in (0, inf)"
        );
        assert_eq!(
            message(vec![1.0, 2.5e-10]),
            "the weight of item 1 is 4.99999999875e-10 of the mean weight, expected at least 1e-9"
        );
        assert!(Catalogue::weighted(vec![]).is_err());
        assert!(Catalogue::uniform(0).is_err());
        let extreme = Catalogue::weighted(vec![f64::MAX; 3]).expect("finite");
        assert_eq!(extreme.probability(Item(2)), 1.0 / 3.0);
    }

    proptest! {
        #[test]
        fn probabilities_add_up_or_weights_are_refused(
            weights in prop::collection::vec(prop_oneof![any::<f64>(), 1e-3..1e3], 0..20)
        ) {
            match Catalogue::weighted(weights.clone()) {
                Ok(mu) => {
                    prop_assert!(weights.iter().all(|w| 0.0 < *w && w.is_finite()));
                    let sum: f64 = mu.items().map(|item| mu.probability(item)).sum();
                    prop_assert!((sum - 1.0).abs() < 1e-14);
                    prop_assert_eq!(mu.probability(Item(weights.len() as u32)), 0.0);
                }
                Err(CatalogueError::Length { found }) => prop_assert_eq!(found, 0),
                Err(CatalogueError::Weight { item, .. }) => {
                    prop_assert!(!(0.0 < weights[item] && weights[item].is_finite()));
                }
                Err(CatalogueError::Rare { fraction, .. }) => prop_assert!(fraction < 1e-9),
            }
        }
    }

    #[test]
    fn items_left_out_are_never_drawn_and_the_others_keep_their_places() {
        let excluded: Vec<Item> = [0, 1, 5, 8, 11].map(Item).to_vec();
        let limits = Limits::Items(ItemLimits::Excluded(excluded.clone()));
        let mu = Catalogue::uniform(12).expect("twelve");
        let part = ReferenceMeasure::<(), Item>::within(&mu, &limits).expect("seven are left");
        let catalogue = part.catalogue().expect("one");
        let left: Vec<Item> = catalogue.items().collect();
        assert_eq!(left, [2, 3, 4, 6, 7, 9, 10].map(Item));
        let fewer = catalogue
            .without(&[Item(1), Item(3)])
            .expect("six are left");
        let left_of_it: Vec<Item> = fewer.items().collect();
        assert_eq!(left_of_it, [2, 4, 6, 7, 9, 10].map(Item));
        assert!(fewer.without(&left_of_it).is_err());
        for (place, &item) in left.iter().enumerate() {
            assert_eq!(catalogue.place(item), Some(place));
            assert_eq!(catalogue.probability(item), 1.0 / 7.0);
        }
        for item in excluded.into_iter().chain([Item(12), Item(40)]) {
            assert_eq!(catalogue.place(item), None);
        }
        let mut rng = EventRng::new(1, 0, crate::numeric::Stream::World);
        let (mut draws, mut stratified) = (Vec::new(), Vec::new());
        part.sample(&(), 7_000, &mut rng, &mut draws);
        part.sample_stratified(&(), 7_000, &mut rng, &mut stratified);
        for draws in [draws, stratified] {
            let counts = counts(&draws, 12);
            let counts: Vec<u64> = left.iter().map(|item| counts[item.0 as usize]).collect();
            assert_eq!(counts.iter().sum::<u64>(), 7_000);
            assert!(1e-6 < chi_square_p_value(&counts, &[1.0 / 7.0; 7]));
        }
    }
}
