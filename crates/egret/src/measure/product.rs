use crate::event::Action;
use crate::measure::{ReferenceMeasure, Support, support_of};
use crate::numeric::EventRng;

/// The product of two measures: an action has two parts, drawn independently.
///
/// Products nest, for mixed spaces of any number of parts. Stratified draws stratify the first part
/// and draw the second independently, so put the part that matters most first.
///
/// | supports             | of the product       |
/// |----------------------|----------------------|
/// | volume v, volume w   | volume v · w         |
/// | count m, count n     | count m · n          |
/// | volume v, count n    | volume v · n: that of n copies of the space |
/// | unknown, or too large | unknown             |
///
/// ```
/// use egret::{Batch, Catalogue, EventRng, Product, ReferenceMeasure, Stream, Interval};
///
/// let price = Interval::new(1.0, 2.0)?;
/// let banner = Catalogue::uniform(5)?;
/// let mu = Product::new(price, banner);
///
/// let mut offers = Default::default();
/// mu.sample(&(), 3, &mut EventRng::new(7, 0, Stream::World), &mut offers);
/// let (price, banner) = offers.get(0);
/// assert!(1.0 <= price && banner.0 < 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Product<M, N> {
    first: M,
    second: N,
}

impl<M, N> Product<M, N> {
    /// The first part of an action is drawn from `first`, the second from `second`.
    pub fn new(first: M, second: N) -> Self {
        Self { first, second }
    }
}

impl<X, A, B, M, N> ReferenceMeasure<X, (A, B)> for Product<M, N>
where
    X: ?Sized,
    A: Action,
    B: Action,
    M: ReferenceMeasure<X, A>,
    N: ReferenceMeasure<X, B>,
{
    fn sample(&self, x: &X, n: usize, rng: &mut EventRng, out: &mut (A::Batch, B::Batch)) {
        self.first.sample(x, n, rng, &mut out.0);
        self.second.sample(x, n, rng, &mut out.1);
    }

    fn sample_stratified(
        &self,
        x: &X,
        n: usize,
        rng: &mut EventRng,
        out: &mut (A::Batch, B::Batch),
    ) {
        self.first.sample_stratified(x, n, rng, &mut out.0);
        self.second.sample(x, n, rng, &mut out.1);
    }

    fn support(&self) -> Support {
        use Support::{Count, Unknown, Volume};
        match (self.first.support(), self.second.support()) {
            (Volume(v), Volume(w)) => support_of(v * w),
            (Count(m), Count(n)) => m.checked_mul(n).map_or(Unknown, Count),
            (Volume(v), Count(n)) | (Count(n), Volume(v)) => support_of(v * n as f64),
            (Unknown, _) | (_, Unknown) => Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use egret_testkit::{chi_square_p_value, kolmogorov_smirnov_p_value};
    use proptest::prelude::*;

    use super::*;
    use crate::event::{Batch, Item, Vector};
    use crate::measure::{
        Catalogue, Interval, UniformBox,
        checks::{check_replay, check_stratified, sampled},
    };

    fn interval(high: f64) -> Interval {
        Interval::new(0.0, high).expect("in order")
    }

    fn catalogue(n: usize) -> Catalogue {
        Catalogue::uniform(n).expect("in range")
    }

    #[test]
    fn parts_have_their_distributions_and_are_independent() {
        let batch = sampled(&Product::new(interval(2.0), catalogue(4)), 40_000, 1);
        // False alarm: one in a million each.
        assert!(1e-6 < kolmogorov_smirnov_p_value(&mut batch.0.clone(), |a| a / 2.0));
        let counts = |thinned: bool| {
            let mut counts = [0; 16];
            for (a, item) in batch.0.iter().zip(&batch.1) {
                let (row, column) = ((2.0 * a) as usize, item.0 as usize);
                if !(thinned && row == column && (2.0 * a).fract() < 0.25) {
                    counts[4 * row + column] += 1;
                }
            }
            counts
        };
        assert!(1e-6 < chi_square_p_value(&counts(false), &[1.0 / 16.0; 16]));
        // Power: with a quarter of the diagonal left out, dependence is seen.
        assert!(chi_square_p_value(&counts(true), &[1.0 / 16.0; 16]) < 1e-6);
    }

    #[test]
    fn strata_are_unbiased_and_vary_less_in_the_first_part() {
        let mu = Product::new(interval(2.0), interval(1.0));
        check_stratified(&mu, |(a, _)| a, 1.0, 0.01);
        check_stratified(&mu, |(a, b)| 2.0 * a + b, 2.5, 0.2);
        check_stratified(&mu, |(a, b)| a * b, 0.5, 0.8);
    }

    #[test]
    fn products_nest_and_replay() {
        let sides = UniformBox::new(&[(0.0, 1.0), (2.0, 3.0)]).expect("intervals");
        let mu = Product::new(interval(1.0), Product::new(catalogue(10), sides));
        check_replay::<(f64, (Item, Vector))>(&mu);
        let (price, (item, vector)) = sampled(&mu, 1, 1).get(0);
        assert!(price < 1.0 && item.0 < 10 && vector.as_slice().len() == 2);
    }

    #[test]
    fn extents_multiply() {
        fn support<A: Action>(mu: &impl ReferenceMeasure<(), A>) -> Support {
            mu.support()
        }
        let (small, large) = (|| interval(2.0), || interval(1e200));
        assert_eq!(
            support(&Product::new(small(), small())),
            Support::Volume(4.0)
        );
        assert_eq!(
            support(&Product::new(small(), catalogue(5))),
            Support::Volume(10.0)
        );
        assert_eq!(
            support(&Product::new(catalogue(5), small())),
            Support::Volume(10.0)
        );
        assert_eq!(support(&Product::new(large(), large())), Support::Unknown);
        let million = || catalogue(10_000_000);
        let many = || Product::new(million(), million());
        assert_eq!(support(&many()), Support::Count(100_000_000_000_000));
        assert_eq!(support(&Product::new(many(), many())), Support::Unknown);
        assert_eq!(
            support(&Product::new(Product::new(many(), many()), small())),
            Support::Unknown
        );
    }

    proptest! {
        #[test]
        fn both_parts_are_as_long(n in 0_usize..500, seed in any::<u64>()) {
            let batch = sampled(&Product::new(interval(1.0), catalogue(3)), n, seed);
            prop_assert_eq!((batch.0.len(), batch.1.len()), (n, n));
        }
    }
}
