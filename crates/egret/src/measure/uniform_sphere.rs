use std::f64::consts::PI;

use crate::event::{Vector, Vectors};
use crate::measure::{ReferenceMeasure, Support, support_of};
use crate::numeric::{EventRng, OutOfRange, normals::Normals};

/// The uniform distribution on the unit sphere S^(d−1) of R^d: directions.
///
/// Each draw is a vector of d normal numbers divided by its length, about 40 ns a coordinate. Stratified draws are
/// independent draws. The support is the area 2π^(d/2) / Γ(d/2): 2 for the two points of
/// d = 1, 2π for the circle, 4π for d = 3; [`Support::Unknown`] where an `f64` cannot hold it.
///
/// ```
/// use egret::{EventRng, ReferenceMeasure, Stream, UniformSphere};
///
/// let mu = UniformSphere::new(3)?;
/// let mut directions = egret::Vectors::default();
/// mu.sample(&(), 1, &mut EventRng::new(7, 0, Stream::World), &mut directions);
/// let square: f64 = directions.rows().iter().map(|a| a * a).sum();
/// assert!((square - 1.0).abs() < 1e-15);
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UniformSphere {
    dim: usize,
}

impl UniformSphere {
    /// The sphere in R^`dim`; refuses 0.
    pub fn new(dim: usize) -> Result<Self, OutOfRange> {
        OutOfRange::unless(1 <= dim, "dim", dim as f64, "[1, inf)")?;
        Ok(Self { dim })
    }

    /// How many coordinates an action has.
    pub fn dim(&self) -> usize {
        self.dim
    }
}

impl<X: ?Sized> ReferenceMeasure<X, Vector> for UniformSphere {
    fn sample(&self, _: &X, n: usize, rng: &mut EventRng, out: &mut Vectors) {
        for row in out.extend(n, self.dim).chunks_exact_mut(self.dim) {
            let mut normals = Normals::new();
            let mut square = 0.0;
            for value in row.iter_mut() {
                *value = normals.next(rng);
                square += *value * *value;
            }
            // Normals are never zero, nor so small that their squares are.
            let length = square.sqrt();
            for value in row {
                *value /= length;
            }
        }
    }

    fn support(&self) -> Support {
        let half = self.dim as f64 / 2.0;
        support_of(if half <= 100.0 {
            2.0 * libm::pow(PI, half) / libm::tgamma(half)
        } else {
            2.0 * libm::exp(half * libm::log(PI) - libm::lgamma(half))
        })
    }
}

#[cfg(test)]
mod tests {
    use egret_testkit::kolmogorov_smirnov_p_value;
    use proptest::prelude::*;
    use statrs::distribution::{Beta, ContinuousCDF};

    use super::*;
    use crate::measure::checks::{check_replay, check_split, check_stratified, sampled};

    fn column(batch: &Vectors, coordinate: usize) -> Vec<f64> {
        let skipped = batch.rows().iter().skip(coordinate);
        skipped.step_by(batch.dim()).copied().collect()
    }

    #[test]
    fn on_the_sphere_in_three_dimensions_each_coordinate_is_uniform() {
        let batch = sampled(&UniformSphere::new(3).expect("positive"), 50_000, 1);
        for coordinate in 0..3 {
            let mut draws = column(&batch, coordinate);
            // Archimedes. False alarm: one in a million each.
            assert!(1e-6 < kolmogorov_smirnov_p_value(&mut draws, |a| (a + 1.0) / 2.0));
            // Power: the circle's distribution is another.
            let circle = |a: f64| 1.0 - a.acos() / PI;
            assert!(kolmogorov_smirnov_p_value(&mut draws, circle) < 1e-6);
        }
    }

    #[test]
    fn the_square_of_a_coordinate_is_beta() {
        for dim in [2, 5, 8] {
            let batch = sampled(&UniformSphere::new(dim).expect("positive"), 50_000, 2);
            let beta = Beta::new(0.5, (dim as f64 - 1.0) / 2.0).expect("positive shapes");
            let mut squares: Vec<f64> = column(&batch, dim - 1).iter().map(|a| a * a).collect();
            // False alarm: one in a million each.
            assert!(1e-6 < kolmogorov_smirnov_p_value(&mut squares, |a| beta.cdf(a)));
        }
    }

    #[test]
    fn lengths_are_one_in_any_dimension() {
        for dim in [1, 2, 3, 17, 1_000] {
            let batch = sampled(&UniformSphere::new(dim).expect("positive"), 100, 3);
            for row in batch.rows().chunks_exact(dim) {
                let square: f64 = row.iter().map(|a| a * a).sum();
                assert!((square - 1.0).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn means_are_unbiased() {
        let mu = UniformSphere::new(3).expect("positive");
        check_stratified(&mu, |a| a.as_slice()[0], 0.0, 1.0);
        check_stratified(&mu, |a| a.as_slice()[1].powi(2), 1.0 / 3.0, 1.0);
    }

    #[test]
    fn draws_replay() {
        check_replay(&UniformSphere::new(3).expect("positive"));
        check_split(&UniformSphere::new(3).expect("positive"));
    }

    #[test]
    fn areas_are_known() {
        let area = |dim| {
            let mu = UniformSphere::new(dim).expect("positive");
            match ReferenceMeasure::<(), _>::support(&mu) {
                Support::Volume(area) => area,
                other => panic!("{other:?}"),
            }
        };
        for (dim, expected) in [(1, 2.0), (2, 2.0 * PI), (3, 4.0 * PI), (4, 2.0 * PI * PI)] {
            assert!((area(dim) / expected - 1.0).abs() < 1e-14);
        }
        // Both formulas: area(d + 2) / area(d) = 2π / d.
        assert!((area(201) / area(199) * 199.0 / (2.0 * PI) - 1.0).abs() < 1e-12);
        let far = UniformSphere::new(2_000).expect("positive");
        assert_eq!(ReferenceMeasure::<(), _>::support(&far), Support::Unknown);
    }

    proptest! {
        #[test]
        fn only_a_dimension_of_zero_is_refused(dim in 0_usize..5_000) {
            prop_assert_eq!(UniformSphere::new(dim).is_ok(), dim != 0);
        }
    }
}
