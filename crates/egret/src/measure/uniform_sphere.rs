use std::f64::consts::PI;

use crate::event::{Vector, Vectors};
use crate::measure::{ReferenceMeasure, Regions, Support, regions, support_of};
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

/// Makes a vector as long as 1; false if its length is 0.
fn normalize(row: &mut [f64]) -> bool {
    let square: f64 = row.iter().map(|value| value * value).sum();
    let length = square.sqrt();
    for value in row {
        *value /= length;
    }
    0.0 < length
}

/// Writes a draw. Normals are never zero, nor so small that their squares are.
fn fill(rng: &mut EventRng, row: &mut [f64]) {
    let mut normals = Normals::new();
    for value in row.iter_mut() {
        *value = normals.next(rng);
    }
    normalize(row);
}

impl<X: ?Sized> ReferenceMeasure<X, Vector> for UniformSphere {
    fn sample(&self, _: &X, n: usize, rng: &mut EventRng, out: &mut Vectors) {
        for row in out.extend(n, self.dim).chunks_exact_mut(self.dim) {
            fill(rng, row);
        }
    }

    fn regions(&self) -> Option<&dyn Regions> {
        // Two points have nothing around them.
        (2 <= self.dim).then_some(self as &dyn Regions)
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

/// Region k is the cap of angles up to θ = π/2ᵏ from the point. The angle of a draw is φ = θ·U^(1/(d − 1)), and its direction from
/// the point is uniform. Under μ an angle has the density sin^(d−2) φ / B with B = √π Γ((d − 1)/2)/Γ(d/2), so that against μ
/// a draw has
///
/// r(a) = (d − 1) B θ^−(d−1) (φ / sin φ)^(d−2)
///
/// A small cap is all but flat, and draws are all but uniform there.
impl Regions for UniformSphere {
    fn dim(&self) -> usize {
        self.dim
    }

    fn count(&self) -> usize {
        regions::count_for(self.dim)
    }

    fn draw(&self, point: &[f64], region: usize, rng: &mut EventRng, out: &mut [f64]) {
        if region == 0 {
            return fill(rng, out);
        }
        let reach = libm::pow(rng.unit(), 1.0 / (self.dim - 1) as f64);
        let (sin, cos) = libm::sincos(angle_of(region) * reach);
        loop {
            fill(rng, out);
            let along: f64 = out.iter().zip(point).map(|(out, point)| out * point).sum();
            for (out, point) in out.iter_mut().zip(point) {
                *out -= along * point;
            }
            // What is left of a draw so near to the point is rounding: another one then.
            if 1e-4 < 1.0 - along * along && normalize(out) {
                break;
            }
        }
        for (out, point) in out.iter_mut().zip(point) {
            *out = cos * point + sin * *out;
        }
        normalize(out);
    }

    fn density(&self, point: &[f64], region: usize, action: &[f64]) -> f64 {
        if region == 0 {
            return 1.0;
        }
        let squares = point.iter().zip(action).map(|(a, b)| (a - b) * (a - b));
        let chord = squares.sum::<f64>().sqrt();
        let (phi, theta) = (2.0 * libm::asin((0.5 * chord).min(1.0)), angle_of(region));
        // A draw at the rim may be beyond it by rounding.
        if theta * (1.0 + 1e-12) < phi {
            return 0.0;
        }
        let flat = if phi < 1e-4 {
            1.0 + phi * phi / 6.0
        } else {
            phi / libm::sin(phi)
        };
        let half = 0.5 * self.dim as f64;
        let log_b = 0.5 * libm::log(PI) + libm::lgamma(half - 0.5) - libm::lgamma(half);
        let rest = (self.dim - 1) as f64;
        rest * libm::exp(log_b - rest * libm::log(theta) + (rest - 1.0) * libm::log(flat))
    }

    fn moved(&self, point: &[f64], by: &[f64], out: &mut [f64]) {
        // The sphere is 2 wide along every coordinate.
        for ((out, point), by) in out.iter_mut().zip(point).zip(by) {
            *out = point + 2.0 * by;
        }
        if !normalize(out) {
            out.copy_from_slice(point);
        }
    }

    /// There is no middle: the direction that is the same along all coordinates.
    fn middle(&self, out: &mut [f64]) {
        out.fill(1.0 / (self.dim as f64).sqrt());
    }
}

/// θ of a region, π/2ᵏ.
fn angle_of(region: usize) -> f64 {
    PI / (1_u64 << region) as f64
}

#[cfg(test)]
mod tests {
    use egret_testkit::kolmogorov_smirnov_p_value;
    use proptest::prelude::*;
    use statrs::distribution::{Beta, ContinuousCDF};

    use super::*;
    use crate::measure::checks::{check_replay, check_split, check_stratified, sampled};
    use crate::measure::regions::checks::check_regions;

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
    fn regions_have_the_density_that_they_say() {
        for point in [
            &[0.6, -0.8][..],
            &[0.0, 0.0, 1.0],
            &[0.5, 0.5, -0.5, 0.1, 0.3, 0.4, 0.0],
        ] {
            let mut point = point.to_vec();
            normalize(&mut point);
            check_regions(&UniformSphere::new(point.len()).expect("positive"), &point);
        }
        let points = UniformSphere::new(1).expect("positive");
        assert!(ReferenceMeasure::<(), _>::regions(&points).is_none());
    }

    #[test]
    fn caps_of_the_sphere_in_three_dimensions_have_their_formula() {
        // Of a hat box: μ(angle ≤ φ) = (1 − cos φ)/2, so that dμ/dφ = sin φ/2, and a draw has 2φ/θ².
        let sphere = UniformSphere::new(3).expect("positive");
        for (region, phi) in [(1, 1.2), (1, 1e-5), (2, 0.3), (5, 0.09)] {
            let action = [f64::sin(phi), 0.0, f64::cos(phi)];
            let found = sphere.density(&[0.0, 0.0, 1.0], region, &action);
            let theta = PI / f64::powi(2.0, region as i32);
            let expected = 2.0 * phi / (theta * theta) / (phi.sin() / 2.0);
            assert!(
                (found / expected - 1.0).abs() < 1e-9,
                "{region} {phi}: {found}"
            );
        }
        assert_eq!(sphere.density(&[0.0, 0.0, 1.0], 1, &[0.0, 0.6, -0.8]), 0.0);
        // Of many coordinates too a density is a number.
        for dim in [50, 300] {
            let sphere = UniformSphere::new(dim).expect("positive");
            let mut middle = vec![0.0; dim];
            sphere.middle(&mut middle);
            let density = sphere.density(&middle, sphere.count() - 1, &middle);
            assert!(1.0 < density && density.is_finite(), "{dim}: {density}");
        }
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
