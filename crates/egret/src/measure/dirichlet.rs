use crate::event::{Vector, Vectors};
use crate::measure::{ReferenceMeasure, Regions, Support, regions, support_of};
use crate::numeric::{EventRng, normals::Normals};

/// The Dirichlet distribution on the simplex: shares that add up to 1.
///
/// Its density by the first d − 1 coordinates is proportional to Π aᵢ^(αᵢ − 1). All αᵢ = 1 is the
/// uniform distribution; below 1 the corners are favoured, above 1 the middle.
///
/// A draw is d gamma numbers divided by their sum (Marsaglia and Tsang 2000); about 130 ns a coordinate. They are kept
/// as logarithms until the largest is known, so a small α never divides 0 by 0. A share below 1e-308 is 0. Stratified
/// draws are independent draws. The support is the volume of the first
/// d − 1 coordinates, 1/(d − 1)!; [`Support::Unknown`] where an `f64` cannot hold it.
///
/// ```
/// use egret::{Dirichlet, EventRng, ReferenceMeasure, Stream};
///
/// let mu = Dirichlet::new(&[1.0, 1.0, 2.0])?;
/// let mut budgets = egret::Vectors::default();
/// mu.sample(&(), 1, &mut EventRng::new(7, 0, Stream::World), &mut budgets);
/// assert!((budgets.rows().iter().sum::<f64>() - 1.0).abs() < 1e-15);
/// # Ok::<(), egret::DirichletError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dirichlet {
    alpha: Vec<f64>,
    gammas: Vec<LogGamma>,
}

impl Dirichlet {
    /// One α in [1e-6, 1e12] for each of two or more coordinates.
    pub fn new(alpha: &[f64]) -> Result<Self, DirichletError> {
        if alpha.len() < 2 {
            return Err(DirichletError::TooFew { found: alpha.len() });
        }
        let gammas = alpha
            .iter()
            .enumerate()
            .map(|(coordinate, &alpha)| {
                if (1e-6..=1e12).contains(&alpha) {
                    Ok(LogGamma::new(alpha))
                } else {
                    Err(DirichletError::Alpha {
                        coordinate,
                        value: alpha,
                    })
                }
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            alpha: alpha.to_vec(),
            gammas,
        })
    }

    /// α.
    pub fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    /// How many coordinates an action has.
    pub fn dim(&self) -> usize {
        self.gammas.len()
    }

    /// Writes a draw.
    fn fill(&self, rng: &mut EventRng, row: &mut [f64]) {
        let mut normals = Normals::new();
        let mut largest = f64::NEG_INFINITY;
        for (value, gamma) in row.iter_mut().zip(&self.gammas) {
            *value = gamma.draw(&mut normals, rng);
            largest = largest.max(*value);
        }
        let mut sum = 0.0;
        for value in row.iter_mut() {
            *value = libm::exp(*value - largest);
            sum += *value;
        }
        for value in row {
            *value /= sum;
        }
    }
}

impl<X: ?Sized> ReferenceMeasure<X, Vector> for Dirichlet {
    fn sample(&self, _: &X, n: usize, rng: &mut EventRng, out: &mut Vectors) {
        let dim = self.dim();
        for row in out.extend(n, dim).chunks_exact_mut(dim) {
            self.fill(rng, row);
        }
    }

    fn support(&self) -> Support {
        support_of((1..self.dim()).map(|i| 1.0 / i as f64).product())
    }

    fn regions(&self) -> Option<&dyn Regions> {
        let uniform = self.alpha.iter().all(|&alpha| alpha == 1.0);
        uniform.then_some(self as &dyn Regions)
    }
}

/// Of the uniform distribution alone. Region k is (1 − h)·point + h·simplex with h = 2⁻ᵏ: the simplex made smaller towards the
/// point. There all draws have density h^−(d − 1).
impl Regions for Dirichlet {
    fn dim(&self) -> usize {
        self.alpha.len()
    }

    fn count(&self) -> usize {
        regions::count_for(self.dim())
    }

    fn draw(&self, point: &[f64], region: usize, rng: &mut EventRng, out: &mut [f64]) {
        self.fill(rng, out);
        let share = 1.0 / (1_u64 << region) as f64;
        for (out, point) in out.iter_mut().zip(point) {
            *out = (1.0 - share) * point + share * *out;
        }
    }

    fn density(&self, point: &[f64], region: usize, action: &[f64]) -> f64 {
        // An action is in the region if it has at least (1 − h) of each share of the point, but for rounding.
        const ROUNDING: f64 = 1e-12;
        let share = 1.0 / (1_u64 << region) as f64;
        let mut shares = point.iter().zip(action);
        if shares.any(|(point, action)| *action < (1.0 - share) * point - ROUNDING) {
            return 0.0;
        }
        (1..self.dim()).map(|_| (1_u64 << region) as f64).product()
    }

    fn moved(&self, point: &[f64], by: &[f64], out: &mut [f64]) {
        let mut sum = 0.0;
        for ((out, point), by) in out.iter_mut().zip(point).zip(by) {
            *out = (point + by).max(0.0);
            sum += *out;
        }
        if sum == 0.0 {
            return out.copy_from_slice(point);
        }
        for out in out {
            *out /= sum;
        }
    }

    fn middle(&self, out: &mut [f64]) {
        out.fill(1.0 / self.dim() as f64);
    }
}

/// The logarithm of a gamma number with shape α and scale 1.
///
/// For α < 1: a number of shape α + 1 times U^(1/α).
#[derive(Debug, Clone, Copy, PartialEq)]
struct LogGamma {
    d: f64,
    c: f64,
    log_d: f64,
    power: Option<f64>,
}

impl LogGamma {
    fn new(alpha: f64) -> Self {
        let d = if alpha < 1.0 { alpha + 1.0 } else { alpha } - 1.0 / 3.0;
        Self {
            d,
            c: 1.0 / (9.0 * d).sqrt(),
            log_d: libm::log(d),
            power: (alpha < 1.0).then(|| 1.0 / alpha),
        }
    }

    fn draw(&self, normals: &mut Normals, rng: &mut EventRng) -> f64 {
        let log = loop {
            let x = normals.next(rng);
            let root = 1.0 + self.c * x;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            let log_v = libm::log(v);
            let u = rng.unit();
            let square = x * x;
            // The first test implies the second, and usually avoids its logarithm.
            if u < 1.0 - 0.0331 * square * square
                || libm::log(u) < 0.5 * square + self.d * (1.0 - v + log_v)
            {
                break self.log_d + log_v;
            }
        };
        match self.power {
            Some(power) => log + power * libm::log(rng.unit()),
            None => log,
        }
    }
}

/// Why a Dirichlet distribution is refused.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DirichletError {
    /// Fewer than two shares.
    #[error("alpha has {found} coordinates, expected at least 2")]
    TooFew {
        /// How many there were.
        found: usize,
    },
    /// Not a usable parameter.
    #[error("alpha of coordinate {coordinate} is {value}, expected a number in [1e-6, 1e12]")]
    Alpha {
        /// Its place.
        coordinate: usize,
        /// What it was.
        value: f64,
    },
}

#[cfg(test)]
mod tests {
    use egret_testkit::{chi_square_p_value, kolmogorov_smirnov_p_value};
    use proptest::prelude::*;
    use statrs::distribution::{Beta, ContinuousCDF};

    use super::*;
    use crate::measure::checks::{check_replay, check_split, check_stratified, sampled};
    use crate::measure::regions::checks::check_regions;

    #[test]
    fn regions_have_the_density_that_they_say() {
        let mu = Dirichlet::new(&[1.0; 3]).expect("uniform");
        check_regions(&mu, &[0.2, 0.5, 0.3]);
        check_regions(&mu, &[1.0, 0.0, 0.0]);
        let prior = Dirichlet::new(&[1.0, 2.0, 1.0]).expect("positive");
        assert!(ReferenceMeasure::<(), _>::regions(&prior).is_none());
    }

    #[test]
    fn each_share_is_beta() {
        for alpha in [
            &[1.0, 1.0, 1.0][..],
            &[0.3, 2.5, 1.0, 7.0],
            &[0.3, 0.4],
            &[40.0, 0.5, 300.0],
        ] {
            let batch = sampled(&Dirichlet::new(alpha).expect("positive"), 30_000, 1);
            let total: f64 = alpha.iter().sum();
            for (coordinate, &own) in alpha.iter().enumerate() {
                let skipped = batch.rows().iter().skip(coordinate);
                let mut draws: Vec<f64> = skipped.step_by(alpha.len()).copied().collect();
                let p_value = |draws: &mut Vec<f64>, own: f64| {
                    let beta = Beta::new(own, total - own).expect("positive shapes");
                    kolmogorov_smirnov_p_value(draws, |a| beta.cdf(a))
                };
                // False alarm: one in a million each. Power: α a tenth smaller is seen.
                let p = p_value(&mut draws, own);
                assert!(1e-6 < p, "{alpha:?} {coordinate} {p}");
                assert!(p_value(&mut draws, 0.9 * own) < 1e-6);
            }
        }
    }

    #[test]
    fn small_alpha_give_corners_and_never_nan() {
        let mu = Dirichlet::new(&[1e-6; 5]).expect("in range");
        for row in sampled(&mu, 10_000, 1).rows().chunks_exact(5) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn shares_are_beta_far_below_the_smallest_step_from_one() {
        let ends = [1e-100, 1e-50, 1e-20, 0.5];
        let mut counts = [0; 5];
        let batch = sampled(&Dirichlet::new(&[0.02, 0.05]).expect("in range"), 50_000, 1);
        for row in batch.rows().chunks_exact(2) {
            counts[ends.partition_point(|&end| end < row[0])] += 1;
        }
        let p_value = |a| {
            let beta = Beta::new(a, 0.05).expect("positive shapes");
            let cdf = [0.0, ends[0], ends[1], ends[2], ends[3], 1.0].map(|end| beta.cdf(end));
            let cells: Vec<f64> = cdf.windows(2).map(|pair| pair[1] - pair[0]).collect();
            chi_square_p_value(&counts, &cells)
        };
        // False alarm: one in a million. Power: α a twentieth larger is seen.
        assert!(1e-6 < p_value(0.02));
        assert!(p_value(0.021) < 1e-6);
    }

    #[test]
    fn means_are_unbiased() {
        let mu = Dirichlet::new(&[1.0, 2.0, 5.0]).expect("positive");
        check_stratified(&mu, |a| a.as_slice()[1], 0.25, 1.0);
    }

    #[test]
    fn draws_replay() {
        check_replay(&Dirichlet::new(&[0.5, 2.0, 1.0]).expect("positive"));
        check_split(&Dirichlet::new(&[0.5, 2.0, 1.0]).expect("positive"));
    }

    #[test]
    fn the_volume_is_one_over_a_factorial() {
        let support = |dim: usize| {
            let mu = Dirichlet::new(&vec![1.0; dim]).expect("positive");
            ReferenceMeasure::<(), _>::support(&mu)
        };
        assert_eq!(support(2), Support::Volume(1.0));
        assert_eq!(support(3), Support::Volume(0.5));
        assert_eq!(support(300), Support::Unknown);
    }

    #[test]
    fn a_bad_alpha_is_named() {
        assert_eq!(
            Dirichlet::new(&[1.0]),
            Err(DirichletError::TooFew { found: 1 })
        );
        assert_eq!(
            Dirichlet::new(&[1.0, 0.0]).expect_err("zero").to_string(),
            "alpha of coordinate 1 is 0, expected a number in [1e-6, 1e12]"
        );
    }

    proptest! {
        #[test]
        fn bad_alpha_are_refused(alpha in prop::collection::vec(any::<f64>(), 0..4)) {
            let valid = 2 <= alpha.len() && alpha.iter().all(|a| (1e-6..=1e12).contains(a));
            prop_assert_eq!(Dirichlet::new(&alpha).is_ok(), valid);
        }

        #[test]
        fn shares_add_up(alpha in prop::collection::vec(1e-6..1e3, 2..6), seed in any::<u64>()) {
            let mu = Dirichlet::new(&alpha).expect("in range");
            for row in sampled(&mu, 10, seed).rows().chunks_exact(alpha.len()) {
                prop_assert!(row.iter().all(|a| (0.0..=1.0).contains(a)));
                prop_assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            }
        }
    }
}
