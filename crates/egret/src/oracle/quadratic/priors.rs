use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::codec::{LoadError, saved_state};
use crate::oracle::local::least_squares::{LeastSquares, Scratch};

/// How near to 0 each part of θ is held, as its losses have it: squares, products of knobs, cosines and so on.
///
/// A world may need no cosines, or nothing but squares; what it does not need is noise in f̂. So the weights of part B have the
/// prior N(0, v/λ_B), with v the variance of an example of weight 1, and λ_B is the one under which the losses seen are most
/// probable (MacKay 1992, "Bayesian interpolation"), where a thousandth of a weight speaks for λ = 1 beforehand:
///
/// λ_B = (g + .001)/(‖θ_B‖²/v + .001),  g = Σ_B (1 − λᵢA⁻¹ᵢᵢ), how many of its weights the losses determine
///
/// The λ of one weight is changed at a time, at every event and later at every fourth, so that no event takes long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Priors {
    /// λ of each weight of θ, at least 1.
    lambdas: Vec<f64>,
    /// v: the mean squared error of predictions, each weighed as its example is.
    variance: f64,
    /// How often a weight was looked at.
    turns: u64,
    /// Whether something was forgotten: what is left then holds weights less than its priors did.
    forgets: bool,
}

/// So many weights speak for λ = 1 beside those that losses determine. A tenth would keep λ near 1 wherever losses say little.
const FOR_ONE: f64 = 0.001;

/// The largest λ.
const MOST: f64 = 1e4;

/// λ becomes at most so many times as large or as small at once.
const STEP: f64 = 4.0;

/// v is over about so many events.
const HORIZON: u64 = 2_000;

/// v before any event, which counts as so many.
const FIRST: (f64, u64) = (0.004, 10);

/// After so many turns of every weight they come at every fourth event.
const OFTEN: u64 = 8;

impl Priors {
    /// For so many weights.
    pub(super) fn new(length: usize) -> Self {
        Self {
            lambdas: vec![1.0; length],
            variance: FIRST.0,
            turns: 0,
            forgets: false,
        }
    }

    /// v.
    pub(super) fn variance(&self) -> f64 {
        self.variance
    }

    /// Takes this many weights more.
    pub(super) fn grow(&mut self, more: usize) {
        self.lambdas.resize(self.lambdas.len() + more, 1.0);
    }

    /// Makes all that was learned count so many times less, and with it every λ: θ stays, and is held less to 0 and to the past alike.
    pub(super) fn forget(&mut self, factor: f64, squares: &mut LeastSquares) {
        for lambda in &mut self.lambdas {
            *lambda = (*lambda / factor).max(1.0);
        }
        self.forgets = true;
        squares.forget_within(factor, |weight| 1.0 / self.lambdas[weight]);
    }

    /// Counts the squared error of the last of so many predictions, by the weight of its example.
    pub(super) fn count(&mut self, weighed_square: f64, events: u64) {
        let count = (FIRST.1 + events).min(HORIZON) as f64;
        self.variance += (weighed_square - self.variance) / count;
    }

    /// Changes λ of the next weight; `parts` are ranges of θ one after another.
    pub(super) fn turn(
        &mut self,
        parts: &[Range<usize>],
        events: u64,
        squares: &mut LeastSquares,
        scratch: &mut Scratch,
    ) {
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
            return;
        };
        let weights = (last.end - first.start) as u64;
        if OFTEN * weights <= self.turns && !events.is_multiple_of(4) {
            return;
        }
        let weight = first.start + (self.turns % weights) as usize;
        self.turns += 1;
        let part = parts.iter().find(|part| part.contains(&weight));
        let Some(part) = part else { return };
        let old = self.lambdas[weight];
        let new = if weight == part.start {
            let (norm, determined) = squares.determined(part.clone(), &self.lambdas);
            let best = (determined + FOR_ONE) / (norm / self.variance.max(1e-12) + FOR_ONE);
            best.clamp(old / STEP, old * STEP).clamp(1.0, MOST)
        } else {
            // As that of the first, but no less than what can be taken off.
            self.lambdas[part.start].max(old / STEP)
        };
        if new != old {
            squares.add_prior(weight, new - old, scratch);
            self.lambdas[weight] = new;
            if self.forgets && new < old {
                // What is taken off one weight lets others vary more.
                squares.forget_within(1.0, |weight| 1.0 / self.lambdas[weight]);
            }
        }
    }

    /// How many weights are held nearer to 0 than before any event.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.lambdas
            .iter()
            .filter(|lambda| 1.001 < **lambda)
            .count()
    }

    /// An error unless these are priors of such a regression.
    pub(super) fn check(&self, squares: &LeastSquares) -> Result<(), LoadError> {
        saved_state::expect_numbers("prior", &self.lambdas, squares.dim(), |lambda| {
            (1.0..=MOST).contains(&lambda)
        })?;
        // Else to take a prior off would leave a variance without end.
        let loosest = squares.most_of_prior(&self.lambdas);
        if !(loosest <= 1.01) {
            return Err(LoadError::Invalid(format!(
                "a weight varies {loosest} times as much as its prior lets it"
            )));
        }
        saved_state::expect_numbers("variance", &[self.variance], 1, |variance| {
            (0.0..=1.0).contains(&variance)
        })?;
        saved_state::expect_count("turns", self.turns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::{EventRng, Stream};
    use crate::oracle::local::least_squares::{fill, padded};

    const LENGTH: usize = 41;

    /// A constant, and two parts of 20 weights.
    fn parts() -> [Range<usize>; 2] {
        [1..21, 21..LENGTH]
    }

    /// What is learned from losses θ·φ with noise of ±.1, where all θ of the first part are `first` and those of the second `second`.
    fn taught(first: f64, second: f64, events: u64) -> (Priors, LeastSquares) {
        let (mut priors, mut squares) = (Priors::new(LENGTH), LeastSquares::new(LENGTH));
        let mut scratch = Scratch::new(LENGTH);
        let mut rng = EventRng::new(1, 0, Stream::World);
        for event in 1..=events {
            let mut phi = [1.0; LENGTH];
            phi[1..].fill_with(|| 2.0 * rng.unit() - 1.0);
            let mut lanes = padded(LENGTH);
            fill(&mut lanes, &phi);
            let sum = |part: &Range<usize>| phi[part.clone()].iter().sum::<f64>();
            let [one, two] = parts().each_ref().map(sum);
            let loss = first * one + second * two + 0.2 * rng.unit() - 0.1;
            let off = squares.predict(&lanes) - loss;
            priors.count((off * off).min(1.0), event);
            squares.learn(&lanes, loss, 1.0, &mut scratch);
            priors.turn(&parts(), event, &mut squares, &mut scratch);
        }
        (priors, squares)
    }

    /// ‖θ‖² of the second part.
    fn second(squares: &LeastSquares) -> f64 {
        let mut theta = Vec::new();
        squares.copy_theta(&mut theta);
        theta[21..].iter().map(|theta| theta * theta).sum()
    }

    #[test]
    fn a_part_without_use_is_held_near_zero_and_one_of_use_is_not() {
        let (priors, _) = taught(0.1, 0.0, 6_000);
        // v is the noise's variance, 1/300; θ² = v/λ at λ = 1/3, below the least.
        assert!(
            (priors.variance * 300.0 - 1.0).abs() < 0.2,
            "{}",
            priors.variance
        );
        let [used, unused] = [1, 21].map(|weight| priors.lambdas[weight]);
        assert!(used < 1.1 && 100.0 < unused, "{used} {unused}");
        // After fewer events λ is some 200, as much as they tell: without it weights are twice as far off.
        let (priors, squares) = taught(0.1, 0.0, 600);
        let mut off = squares.clone();
        for (weight, lambda) in priors.lambdas.iter().enumerate() {
            // Taken off by quarters.
            let mut left = *lambda;
            while 1.0 < left {
                let next = (left / 4.0).max(1.0);
                off.add_prior(weight, next - left, &mut Scratch::new(LENGTH));
                left = next;
            }
        }
        let (with, without) = (second(&squares), second(&off));
        assert!(with < 0.6 * without, "{with} {without}");
        // The state still is one of least squares.
        squares.check(LENGTH).expect("a state");
    }

    #[test]
    fn what_is_forgotten_holds_weights_less_and_leaves_them_where_they_are() {
        let (mut priors, mut squares) = taught(0.1, 0.0, 600);
        let (before, was) = (priors.clone(), squares.clone());
        priors.forget(16.0, &mut squares);
        // The constant, a used part and one without use.
        assert_eq!((priors.lambdas[0], priors.lambdas[1]), (1.0, 1.0));
        assert_eq!(priors.lambdas[21], before.lambdas[21] / 16.0);
        assert_eq!(second(&squares), second(&was));
        priors.check(&squares).expect("no more than a prior");
        // 600 events are worth 38: one more moves θ 16 times as much, but for what its own weight takes off.
        let off = |mut squares: LeastSquares| {
            let mut lanes = padded(LENGTH);
            fill(&mut lanes, &[1.0]);
            let before = squares.predict(&lanes);
            squares.learn(&lanes, before + 1.0, 1.0, &mut Scratch::new(LENGTH));
            squares.predict(&lanes) - before
        };
        let ratio = off(squares) / off(was);
        assert!((12.0..16.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn lambda_is_that_of_the_spread_of_weights() {
        // θ = ±.01 on both parts: v/θ² = 33, of which each part of 20 weights tells a third.
        let (priors, _) = taught(0.01, 0.01, 20_000);
        for weight in [1, 21] {
            let lambda = priors.lambdas[weight];
            assert!((20.0..60.0).contains(&lambda), "{lambda}");
        }
    }

    #[test]
    fn what_is_needed_later_is_let_go() {
        // Nothing to learn, and then a part that counts: λ comes down again.
        let (mut priors, mut squares) = taught(0.0, 0.0, 600);
        assert!(30.0 < priors.lambdas[21], "{}", priors.lambdas[21]);
        let mut scratch = Scratch::new(LENGTH);
        let mut rng = EventRng::new(2, 0, Stream::World);
        for event in 601..=4_000 {
            let mut phi = [1.0; LENGTH];
            phi[1..].fill_with(|| 2.0 * rng.unit() - 1.0);
            let mut lanes = padded(LENGTH);
            fill(&mut lanes, &phi);
            let loss = 0.1 * phi[21..].iter().sum::<f64>();
            let off = squares.predict(&lanes) - loss;
            priors.count((off * off).min(1.0), event);
            squares.learn(&lanes, loss, 1.0, &mut scratch);
            priors.turn(&parts(), event, &mut squares, &mut scratch);
        }
        assert!(priors.lambdas[21] < 2.0, "{}", priors.lambdas[21]);
        squares.check(LENGTH).expect("a state");
    }

    #[test]
    fn only_priors_of_the_regression_are_loaded() {
        let (mut priors, mut squares) = taught(0.1, 0.0, 1_000);
        assert!(priors.check(&squares).is_ok());
        assert!(priors.check(&LeastSquares::new(LENGTH)).is_err());
        for bad in [0.5, f64::NAN, 1e9] {
            let mut other = priors.clone();
            other.lambdas[3] = bad;
            assert!(other.check(&squares).is_err());
        }
        priors.grow(2);
        assert!(priors.check(&squares).is_err());
        squares.grow(2);
        assert!(priors.check(&squares).is_ok());
    }
}
