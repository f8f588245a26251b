use serde::{Deserialize, Serialize};

use crate::codec::{LoadError, saved_state};
use crate::numeric::OutOfRange;
use crate::oracle::features::limits::check_count;

/// An optimizer without a learning rate: each weight is a bet on the sign of its next gradient.
///
/// For each coordinate, with gradients g of a convex loss so far,
///
/// L = max |g|,  G = Σ |g|,  θ = −Σ g,  R = −Σ w·g̃
///
/// w = θ/(G + L) · (εL + R)/L
///
/// The first factor is the fraction of wealth that the Krichevsky–Trofimov bettor puts on the next coin. The second is
/// the wealth: ε at first, in units of L, plus what was won. g̃ is g clipped to ±L as L was when the bet was made, so no
/// gradient, however large, takes more than all wealth. Bets per coordinate are from Orabona and Tommasi 2017, the clipping from Cutkosky 2019.
///
/// Weights start at 0, and the first step moves each by ε/2. A minimum at distance u costs a
/// regret of about u·L·√(T ln(1 + uT/ε)), so ε enters by its logarithm alone; scaling all gradients
/// by one number changes nothing.
///
/// ```
/// use egret::CoinBetting;
///
/// for minimum in [0.01, 100.0] {
///     let mut optimizer = CoinBetting::new(1, 1.0)?;
///     for _ in 0..2_000 {
///         let gradient = optimizer.weights()[0] - minimum;
///         optimizer.step(&[gradient]);
///     }
///     assert!((optimizer.weights()[0] / minimum - 1.0).abs() < 0.01);
/// }
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone)]
pub struct CoinBetting {
    epsilon: f64,
    bettors: Bettors,
}

/// One number of each kind for each coordinate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bettors {
    /// w.
    weights: Vec<f64>,
    /// L, the largest gradient.
    largest: Vec<f64>,
    /// G, the sum of their sizes.
    total: Vec<f64>,
    /// θ, minus the sum.
    direction: Vec<f64>,
    /// R, what the bets have won.
    reward: Vec<f64>,
}

impl CoinBetting {
    /// `dim` weights; `epsilon`, the wealth that each starts with, is in [10⁻³⁰, 10³⁰].
    ///
    /// If many weights add up to one prediction, choose it smaller.
    pub fn new(dim: usize, epsilon: f64) -> Result<Self, OutOfRange> {
        check_count("weights", dim)?;
        OutOfRange::unless(
            (1e-30..=1e30).contains(&epsilon),
            "epsilon",
            epsilon,
            "[1e-30, 1e30]",
        )?;
        let zeros = || vec![0.0; dim];
        let bettors = Bettors {
            weights: zeros(),
            largest: zeros(),
            total: zeros(),
            direction: zeros(),
            reward: zeros(),
        };
        Ok(Self { epsilon, bettors })
    }

    /// The weights; take the next gradient there.
    pub fn weights(&self) -> &[f64] {
        &self.bettors.weights
    }

    /// Takes the gradient at [`weights`](Self::weights) and moves them. NaN counts as 0: nothing is
    /// learned from it.
    ///
    /// # Panics
    /// If there is not one number for each weight.
    pub fn step(&mut self, gradient: &[f64]) {
        assert_eq!(gradient.len(), self.weights().len(), "one for each weight");
        bet(self.epsilon, gradient, &mut self.bettors);
    }

    /// The state that `load` restores.
    pub(crate) fn bettors(&self) -> &Bettors {
        &self.bettors
    }

    /// Restores the state of another with the same settings; on an error nothing has changed.
    pub(crate) fn load(&mut self, bettors: Bettors) -> Result<(), LoadError> {
        let dim = self.weights().len();
        for (name, values, least) in [
            ("weights", &bettors.weights, f64::MIN),
            ("directions", &bettors.direction, f64::MIN),
            ("rewards", &bettors.reward, f64::MIN),
            ("largest gradients", &bettors.largest, 0.0),
            ("totals", &bettors.total, 0.0),
        ] {
            let allowed = least..=f64::MAX;
            saved_state::expect_numbers(name, values, dim, |value| allowed.contains(&value))?;
        }
        self.bettors = bettors;
        Ok(())
    }
}

/// One step of every coordinate.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn bet(epsilon: f64, gradient: &[f64], bettors: &mut Bettors) {
    let n = gradient.len();
    let weights = &mut bettors.weights[..n];
    let largest = &mut bettors.largest[..n];
    let total = &mut bettors.total[..n];
    let direction = &mut bettors.direction[..n];
    let reward = &mut bettors.reward[..n];
    for i in 0..n {
        // The ends are far beyond any loss in use, and keep the sums finite.
        let g = gradient[i].clamp(-1e100, 1e100);
        let g = if g.is_nan() { 0.0 } else { g };
        let bound = largest[i];
        reward[i] -= weights[i] * g.max(-bound).min(bound);
        largest[i] = bound.max(g.abs());
        total[i] += g.abs();
        direction[i] -= g;
        let fraction = direction[i] / (total[i] + largest[i]);
        // Wealth cannot fall below 0 but by rounding, nor grow without end.
        let wealth = (epsilon + reward[i] / largest[i]).clamp(0.0, 1e100);
        weights[i] = if 0.0 < largest[i] {
            fraction * wealth
        } else {
            0.0
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::{EventRng, Stream};
    use proptest::prelude::*;

    /// (last iterate, mean iterate) after descending along `gradient`.
    fn descend(rounds: usize, mut gradient: impl FnMut(f64) -> f64) -> (f64, f64) {
        let mut optimizer = CoinBetting::new(1, 1.0).expect("positive");
        let mut sum = 0.0;
        for _ in 0..rounds {
            let w = optimizer.weights()[0];
            sum += w;
            optimizer.step(&[gradient(w)]);
        }
        (optimizer.weights()[0], sum / rounds as f64)
    }

    #[test]
    fn near_and_far_minima_are_found_untuned() {
        for minimum in [-1e3_f64, -3.0, -1e-3, 0.0, 1e-2, 0.5, 40.0, 1e4] {
            let allowed = 1e-2 * f64::max(minimum.abs(), 0.01);
            let (last, _) = descend(20_000, |w| w - minimum);
            assert!((last - minimum).abs() < allowed, "{minimum} {last}");
            // A corner: the mean iterate is what theory speaks of.
            let (_, mean) = descend(20_000, |w| f64::signum(w - minimum));
            let allowed = 2e-2 * f64::max(minimum.abs(), 1.0);
            assert!((mean - minimum).abs() < allowed, "{minimum} {mean}");
        }
    }

    #[test]
    fn noise_averages_out() {
        let mut rng = EventRng::new(1, 0, Stream::World);
        let (_, mean) = descend(20_000, |w| w - 3.0 + 4.0 * (rng.unit() - 0.5));
        assert!((mean - 3.0).abs() < 0.1, "{mean}");
    }

    #[test]
    fn the_scale_of_gradients_does_not_matter() {
        let (small, _) = descend(50, |w| 2.0_f64.powi(-20) * (w - 5.0));
        let (large, _) = descend(50, |w| 2.0_f64.powi(20) * (w - 5.0));
        assert_eq!(small, large); // powers of two: to the bit
    }

    #[test]
    fn one_outlier_takes_no_more_than_all_wealth() {
        let mut optimizer = CoinBetting::new(1, 1.0).expect("positive");
        for _ in 0..10 {
            optimizer.step(&[-1.0]);
        }
        let wealth = 1.0 + optimizer.bettors.reward[0];
        optimizer.step(&[1e6]);
        assert!(0.0 < 1.0 + optimizer.bettors.reward[0] && optimizer.bettors.reward[0] < wealth);
        let start = optimizer.weights()[0];
        for _ in 0..5_000 {
            let gradient = optimizer.weights()[0] - 2.0;
            optimizer.step(&[gradient]);
        }
        assert!((optimizer.weights()[0] - 2.0).abs() < (start - 2.0).abs());
    }

    #[test]
    fn coordinates_do_not_meet() {
        let mut pair = CoinBetting::new(2, 0.5).expect("positive");
        let mut alone = CoinBetting::new(1, 0.5).expect("positive");
        for round in 0..100 {
            let gradient = alone.weights()[0] - 0.7;
            alone.step(&[gradient]);
            pair.step(&[f64::from(round % 3) - 1.0, gradient]);
        }
        assert_eq!(pair.weights()[1], alone.weights()[0]);
    }

    #[test]
    fn states_that_cannot_be_are_refused() {
        let mut optimizer = CoinBetting::new(2, 1.0).expect("positive");
        let good = optimizer.bettors().clone();
        let mut nan = good.clone();
        nan.reward[1] = f64::NAN;
        let mut negative = good.clone();
        negative.total[0] = -1.0;
        for bad in [nan, negative] {
            assert!(matches!(optimizer.load(bad), Err(LoadError::Invalid(_))));
        }
        let longer = CoinBetting::new(3, 1.0).expect("positive");
        assert!(matches!(
            optimizer.load(longer.bettors),
            Err(LoadError::Mismatch { .. })
        ));
        assert_eq!(optimizer.bettors, good);
    }

    proptest! {
        #[test]
        fn settings_are_checked(dim in 0_usize..3, epsilon in prop::num::f64::ANY) {
            let good = 0 < dim && (1e-30..=1e30).contains(&epsilon);
            prop_assert_eq!(CoinBetting::new(dim, epsilon).is_ok(), good);
        }

        #[test]
        fn any_gradients_leave_finite_weights(
            gradients in prop::collection::vec(prop::num::f64::ANY, 1..50),
        ) {
            let mut optimizer = CoinBetting::new(1, 1.0).expect("positive");
            for gradient in gradients {
                optimizer.step(&[gradient]);
            }
            let bettors = optimizer.bettors().clone();
            prop_assert!(optimizer.load(bettors).is_ok(), "{:?}", optimizer);
        }
    }
}
