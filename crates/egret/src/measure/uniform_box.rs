use crate::event::{Limits, LimitsError, Vector, Vectors};
use crate::measure::{ReferenceMeasure, Regions, Support, box_part::BoxPart, regions, support_of};
use crate::numeric::{EventRng, OutOfRange, bounds::Bounds, uniform_index::UniformIndex};

/// The uniform distribution on a box, a product of intervals.
///
/// Stratified draws are a Latin hypercube (McKay, Beckman and Conover 1979): each coordinate has
/// one draw in each of n equal parts of its side, and the parts of different coordinates meet in
/// random order. A function that is nearly a sum over coordinates has a mean of far smaller variance. No function has a
/// variance above n/(n − 1) times that of independent draws (Owen 1997).
///
/// The volume is [`Support::Unknown`] where an `f64` cannot hold it.
///
/// ```
/// use egret::{Batch, EventRng, ReferenceMeasure, Stream, UniformBox};
///
/// let mu = UniformBox::new(&[(0.0, 1.0), (10.0, 20.0)])?;
/// let mut knobs = egret::Vectors::default();
/// mu.sample_stratified(&(), 10, &mut EventRng::new(7, 0, Stream::World), &mut knobs);
/// let above_15 = (0..10).filter(|&i| 15.0 < knobs.get(i).as_slice()[1]).count();
/// assert_eq!(above_15, 5);
/// # Ok::<(), egret::BoxError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct UniformBox {
    sides: Vec<Bounds>,
}

impl UniformBox {
    /// A (low, high) for each coordinate; refuses what [`Interval`](crate::Interval)
    /// refuses, and a box without sides.
    pub fn new(sides: &[(f64, f64)]) -> Result<Self, BoxError> {
        if sides.is_empty() {
            return Err(BoxError::NoSides);
        }
        let sides = sides
            .iter()
            .enumerate()
            .map(|(coordinate, &(low, high))| {
                Bounds::new(low, high).map_err(|source| BoxError::Side { coordinate, source })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { sides })
    }

    /// (low, high) of each coordinate.
    pub fn sides(&self) -> Vec<(f64, f64)> {
        self.ends().collect()
    }

    fn ends(&self) -> impl Iterator<Item = (f64, f64)> {
        self.sides.iter().map(|side| (side.low(), side.high()))
    }

    /// How many coordinates an action has.
    pub fn dim(&self) -> usize {
        self.sides.len()
    }
}

impl<X: ?Sized> ReferenceMeasure<X, Vector> for UniformBox {
    fn sample(&self, _: &X, n: usize, rng: &mut EventRng, out: &mut Vectors) {
        let rows = out.extend(n, self.dim());
        rng.fill_unit(rows);
        for row in rows.chunks_exact_mut(self.dim()) {
            for (value, side) in row.iter_mut().zip(&self.sides) {
                *value = side.at(*value);
            }
        }
    }

    fn sample_stratified(&self, _: &X, n: usize, rng: &mut EventRng, out: &mut Vectors) {
        let dim = self.dim();
        let rows = out.extend(n, dim);
        rng.fill_unit(rows);
        let part = 1.0 / n as f64;
        for (i, row) in rows.chunks_exact_mut(dim).enumerate() {
            for (value, side) in row.iter_mut().zip(&self.sides) {
                *value = side.at((i as f64 + *value) * part);
            }
        }
        // One coordinate may keep its order: the others are shuffled against it.
        for coordinate in 1..dim {
            shuffle_column(rows, dim, coordinate, rng);
        }
    }

    fn support(&self) -> Support {
        support_of(self.sides.iter().map(Bounds::width).product())
    }

    fn regions(&self) -> Option<&dyn Regions> {
        Some(self)
    }

    fn within(&self, limits: &Limits) -> Result<Box<dyn ReferenceMeasure<X, Vector>>, LimitsError> {
        let outside = || LimitsError::outside(limits, format!("the box {:?}", self.sides()));
        let Limits::Box { sides } = limits else {
            return Err(outside());
        };
        let part = |((low, high), all): (&(f64, f64), &Bounds)| {
            all.low() <= *low && low <= high && *high <= all.high()
        };
        if sides.len() != self.dim() || !sides.iter().zip(&self.sides).all(part) {
            return Err(outside());
        }
        let no_measure = |error| LimitsError::no_measure(limits, error);
        if sides.iter().any(|(low, high)| low == high) {
            return Ok(Box::new(BoxPart::new(sides).map_err(no_measure)?));
        }
        Ok(Box::new(Self::new(sides).map_err(no_measure)?))
    }
}

/// Region k is the box of what lies within 2⁻ᵏ of each side from the point, without what lies outside of the whole box; its
/// distribution is uniform.
impl Regions for UniformBox {
    fn dim(&self) -> usize {
        self.sides.len()
    }

    fn count(&self) -> usize {
        regions::count_for(self.dim())
    }

    fn draw(&self, point: &[f64], region: usize, rng: &mut EventRng, out: &mut [f64]) {
        regions::draw_in_box(self.ends(), point, region, rng, out);
    }

    fn density(&self, point: &[f64], region: usize, action: &[f64]) -> f64 {
        regions::density_in_box(self.ends(), point, region, action)
    }

    fn moved(&self, point: &[f64], by: &[f64], out: &mut [f64]) {
        regions::move_in_box(self.ends(), point, by, out);
    }

    fn middle(&self, out: &mut [f64]) {
        for (out, side) in out.iter_mut().zip(&self.sides) {
            *out = side.at(0.5);
        }
    }
}

/// Fisher and Yates, in place.
fn shuffle_column(rows: &mut [f64], dim: usize, column: usize, rng: &mut EventRng) {
    let n = u32::try_from(rows.len() / dim).expect("fewer than 2³² draws at once");
    for last in (1..n).rev() {
        let other = UniformIndex::new(last + 1).draw(rng);
        rows.swap(last as usize * dim + column, other as usize * dim + column);
    }
}

/// Why a box is refused.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BoxError {
    /// No coordinates.
    #[error("the box has no sides, expected at least one")]
    NoSides,
    /// A side is not an interval.
    #[error("coordinate {coordinate}: {source}")]
    Side {
        /// Its place.
        coordinate: usize,
        /// What is wrong with it.
        source: OutOfRange,
    },
}

#[cfg(test)]
mod tests {
    use egret_testkit::{chi_square_p_value, kolmogorov_smirnov_p_value};
    use proptest::prelude::*;

    use super::*;
    use crate::measure::checks::{
        check_replay, check_split, check_stratified, sampled, stratified,
    };
    use crate::measure::regions::checks::check_regions;

    fn example() -> UniformBox {
        UniformBox::new(&[(0.0, 1.0), (-2.0, 3.0), (5.0, 6.0)]).expect("three intervals")
    }

    fn column(batch: &Vectors, coordinate: usize) -> Vec<f64> {
        batch
            .rows()
            .iter()
            .skip(coordinate)
            .step_by(3)
            .copied()
            .collect()
    }

    #[test]
    fn each_coordinate_is_uniform() {
        let mu = example();
        let batch = sampled(&mu, 50_000, 1);
        let even = stratified(&mu, 50_000, 1);
        for (coordinate, side) in mu.sides.iter().enumerate() {
            let cdf = |a: f64| (a - side.low()) / side.width();
            // False alarm: one in a million each.
            assert!(1e-6 < kolmogorov_smirnov_p_value(&mut column(&batch, coordinate), cdf));
            assert!(1e-6 < kolmogorov_smirnov_p_value(&mut column(&even, coordinate), cdf));
            // Power: a shift by 2% of the side is seen.
            let shifted = |a: f64| (cdf(a) - 0.02).max(0.0);
            assert!(kolmogorov_smirnov_p_value(&mut column(&batch, coordinate), shifted) < 1e-6);
        }
    }

    /// χ² over the 4 × 4 cells of the first two coordinates of many small hypercubes.
    fn pairs_p_value(diagonal: f64) -> f64 {
        let mu = example();
        let mut counts = [0_u64; 16];
        for seed in 0..5_000 {
            let batch = stratified(&mu, 4, seed);
            // One row of each: rows of one hypercube are not independent.
            let cell = |coordinate: usize| {
                let side = mu.sides[coordinate];
                ((batch.rows()[coordinate] - side.low()) / side.width() * 4.0) as usize
            };
            counts[4 * cell(1) + cell(2)] += 1;
        }
        let mut probabilities = [(1.0 - 4.0 * diagonal) / 12.0; 16];
        for cell in 0..4 {
            probabilities[5 * cell] = diagonal;
        }
        chi_square_p_value(&counts, &probabilities)
    }

    #[test]
    fn parts_of_different_coordinates_meet_at_random() {
        // False alarm: one in a million. Power: 5% in place of 6.25% on the diagonal is seen.
        assert!(1e-6 < pairs_p_value(1.0 / 16.0));
        assert!(pairs_p_value(0.05) < 1e-6);
    }

    #[test]
    fn a_hypercube_has_one_draw_in_each_part() {
        let batch = stratified(&example(), 20, 3);
        let mut parts: Vec<usize> = column(&batch, 1)
            .iter()
            .map(|a| ((a + 2.0) / 5.0 * 20.0) as usize)
            .collect();
        assert!(!parts.is_sorted());
        parts.sort_unstable();
        assert_eq!(parts, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn strata_are_unbiased_and_vary_less() {
        let mu = example();
        check_stratified(&mu, |a| a.as_slice().iter().sum(), 6.5, 0.01);
        check_stratified(&mu, |a| a.as_slice()[1].powi(2), 7.0 / 3.0, 0.02);
        // A product has an interaction that no single coordinate shows.
        check_stratified(&mu, |a| a.as_slice()[0] * a.as_slice()[1], 0.25, 0.5);
    }

    #[test]
    fn draws_replay() {
        check_replay(&example());
        check_split(&example());
    }

    #[test]
    fn extents_are_volumes_where_they_fit() {
        let support = |mu: &UniformBox| ReferenceMeasure::<(), _>::support(mu);
        assert_eq!(support(&example()), Support::Volume(5.0));
        let huge = UniformBox::new(&[(0.0, 10.0); 400]).expect("intervals");
        assert_eq!(support(&huge), Support::Unknown);
    }

    #[test]
    fn regions_have_the_density_that_they_say() {
        // In the middle, and in a corner where regions are cut off.
        check_regions(&example(), &[0.4, 1.0, 5.5]);
        check_regions(&example(), &[0.0, 3.0, 5.1]);
    }

    #[test]
    fn regions_fit_an_f64_however_many_sides() {
        for dim in [1, 20, 100, 400, 4096] {
            let mu = UniformBox::new(&vec![(0.0, 1.0); dim]).expect("intervals");
            let corner = vec![0.0; dim];
            let density = mu.density(&corner, mu.count() - 1, &corner);
            assert!(density.is_finite() && 1.0 <= density, "{dim}: {density}");
        }
    }

    #[test]
    fn a_bad_side_is_named() {
        assert_eq!(UniformBox::new(&[]), Err(BoxError::NoSides));
        assert_eq!(
            UniformBox::new(&[(0.0, 1.0), (2.0, 1.0)])
                .expect_err("reversed")
                .to_string(),
            "coordinate 1: high is 1, expected a number in (low, inf)"
        );
    }

    proptest! {
        #[test]
        fn what_is_no_box_is_refused(
            sides in prop::collection::vec((any::<f64>(), any::<f64>()), 0..4)
        ) {
            let valid = !sides.is_empty()
                && sides.iter().all(|&(low, high)| Bounds::new(low, high).is_ok());
            prop_assert_eq!(UniformBox::new(&sides).is_ok(), valid);
        }
    }
}
