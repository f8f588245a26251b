use crate::numeric::OutOfRange;
use crate::sampling::igw::check_tau;

/// Learns which smoothness τ to play (Agarwal et al. 2017, as in Zhu and Mineiro 2022).
///
/// Each τᵢ has a probability wᵢ, uniform at first. A batch of rewards is one step of mirror descent with a log barrier:
///
/// 1/wᵢ ← 1/wᵢ − Σ η·r/pᵢ + s
///
/// The sum is over the events that played τᵢ, pᵢ is the probability it had when they were decided, r = 1 − loss, and s is
/// the number that makes Σ w = 1. It always exists.
///
/// A single τ keeps probability 1.
///
/// ```
/// use egret::{Corral, CorralUpdate};
///
/// let mut corral = Corral::new(vec![2.0, 20.0], 0.5)?;
/// assert_eq!(corral.draw(0.75), (1, 0.5));
/// corral.update([CorralUpdate { index: 1, probability: 0.5, reward: 1.0 }])?;
/// assert!(0.5 < corral.weights()[1]);
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Corral {
    taus: Vec<f64>,
    eta: f64,
    /// 1/w: what a step is taken in, and what is saved.
    inverses: Vec<f64>,
    weights: Vec<f64>,
}

/// One event of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorralUpdate {
    /// Which τ was played.
    pub index: usize,
    /// The probability it had then, in (0, 1].
    pub probability: f64,
    /// 1 − loss, in [0, 1].
    pub reward: f64,
}

/// No 1/w is larger, so that no w is 0 and no step overflows.
const LARGEST_INVERSE: f64 = 1e300;

impl Corral {
    /// A grid of at least one τ ≥ 1, with learning rate η > 0.
    pub fn new(taus: Vec<f64>, eta: f64) -> Result<Self, OutOfRange> {
        OutOfRange::unless(!taus.is_empty(), "number of taus", 0.0, "[1, inf)")?;
        for &tau in &taus {
            check_tau(tau)?;
        }
        OutOfRange::unless(0.0 < eta && eta.is_finite(), "eta", eta, "(0, inf)")?;
        let count = taus.len();
        Ok(Self {
            taus,
            eta,
            inverses: vec![count as f64; count],
            weights: vec![1.0 / count as f64; count],
        })
    }

    /// A grid of `n` values of τ in equal ratios from `low` to `high`.
    ///
    /// The paper plays 12 from 6 to 1024 with η = 0.3/12.
    pub fn geometric(low: f64, high: f64, n: usize, eta: f64) -> Result<Self, OutOfRange> {
        Self::new(geometric_taus(low, high, n)?, eta)
    }

    /// The grid.
    pub fn taus(&self) -> &[f64] {
        &self.taus
    }

    /// The probability of each τ.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The index of the τ to play and its probability, for a uniform number in (0, 1).
    pub fn draw(&self, unit: f64) -> (usize, f64) {
        let mut below = 0.0;
        let last = self.weights.len() - 1;
        for (index, &weight) in self.weights[..last].iter().enumerate() {
            below += weight;
            if unit < below {
                return (index, weight);
            }
        }
        (last, self.weights[last])
    }

    /// Takes one step on a batch of events; on an error nothing has changed.
    pub fn update(
        &mut self,
        plays: impl IntoIterator<Item = CorralUpdate> + Clone,
    ) -> Result<(), OutOfRange> {
        for play in plays.clone() {
            let CorralUpdate {
                index,
                probability,
                reward,
            } = play;
            OutOfRange::unless(index < self.taus.len(), "index", index as f64, "the grid")?;
            let possible = 0.0 < probability && probability <= 1.0;
            OutOfRange::unless(possible, "probability", probability, "(0, 1]")?;
            OutOfRange::unless((0.0..=1.0).contains(&reward), "reward", reward, "[0, 1]")?;
        }
        for play in plays {
            let inverse = &mut self.inverses[play.index];
            let step = self.eta * play.reward / play.probability;
            *inverse = (*inverse - step).clamp(-LARGEST_INVERSE, LARGEST_INVERSE);
        }
        shift_to_distribution(&mut self.inverses);
        self.reweigh();
        Ok(())
    }

    /// 1/w, for saving.
    pub(crate) fn inverses(&self) -> &[f64] {
        &self.inverses
    }

    /// Restores saved 1/w. Returns false and changes nothing if they are not a distribution over this grid.
    pub(crate) fn restore(&mut self, inverses: &[f64]) -> bool {
        let in_range = |&inverse: &f64| (0.5..=LARGEST_INVERSE).contains(&inverse);
        let sum: f64 = inverses.iter().map(|inverse| 1.0 / inverse).sum();
        if inverses.len() != self.taus.len()
            || !inverses.iter().all(in_range)
            || !((sum - 1.0).abs() < 1e-6)
        {
            return false;
        }
        self.inverses.copy_from_slice(inverses);
        self.reweigh();
        true
    }

    fn reweigh(&mut self) {
        for (weight, inverse) in self.weights.iter_mut().zip(&self.inverses) {
            *weight = 1.0 / inverse;
        }
    }
}

/// `n` values of τ in equal ratios from `low` to `high`, both included.
pub fn geometric_taus(low: f64, high: f64, n: usize) -> Result<Vec<f64>, OutOfRange> {
    check_tau(low)?;
    check_tau(high)?;
    OutOfRange::unless(low <= high, "highest tau", high, "[lowest tau, 1e9]")?;
    OutOfRange::unless(1 <= n, "number of taus", n as f64, "[1, inf)")?;
    let steps = n.saturating_sub(1).max(1) as f64;
    Ok((0..n)
        .map(|i| {
            // The ends are what was asked for, to the bit.
            if i == 0 {
                low
            } else if i + 1 == n {
                high
            } else {
                (low * libm::pow(high / low, i as f64 / steps)).min(high)
            }
        })
        .collect())
}

/// Adds the one number that makes Σ 1/yᵢ = 1 with all yᵢ positive.
///
/// With dᵢ = yᵢ − min y it is the v ∈ [1, K] with S(v) = Σ 1/(dᵢ + v) = 1: at v = 1 the smallest
/// alone gives 1, at v = K all together give 1 at most. 1/S grows with v and is concave, so that
/// Newton's steps for 1/S = 1 from v = 1 come up to the root and never pass it.
fn shift_to_distribution(inverses: &mut [f64]) {
    let least = inverses.iter().copied().fold(f64::INFINITY, f64::min);
    for inverse in inverses.iter_mut() {
        *inverse -= least;
    }
    let highest = inverses.len() as f64;
    let mut shift = 1.0;
    for _ in 0..64 {
        let (mut sum, mut squares) = (0.0, 0.0);
        for distance in inverses.iter() {
            let weight = 1.0 / (distance + shift);
            sum += weight;
            squares += weight * weight;
        }
        let next = (shift + (sum - 1.0) * sum / squares).min(highest);
        // Rounding ends the climb.
        if next <= shift {
            break;
        }
        shift = next;
    }
    for inverse in inverses.iter_mut() {
        *inverse = (*inverse + shift).min(LARGEST_INVERSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::{EventRng, Stream};

    fn play(index: usize, probability: f64, reward: f64) -> CorralUpdate {
        CorralUpdate {
            index,
            probability,
            reward,
        }
    }

    fn assert_close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
    }

    #[test]
    fn two_steps_by_hand() {
        let mut corral = Corral::new(vec![2.0, 20.0], 0.75).expect("in range");
        assert_eq!(corral.weights(), [0.5, 0.5]);

        // τ₀ played at probability ½ with reward 1: 1/w = (2 − 0.75·1/0.5, 2) = (0.5, 2).
        // 1/(0.5 + s) + 1/(2 + s) = 1: with v = 0.5 + s, 1/v + 1/(v + 1.5) = 1 is
        // v² − 0.5v − 1.5 = 0, so v = 1.5 and 1/w = (1.5, 3).
        corral.update([play(0, 0.5, 1.0)]).expect("in range");
        assert_close(corral.weights(), &[2.0 / 3.0, 1.0 / 3.0]);

        // One batch, decided at different times. τ₀ at ½ with reward 1/3: 1.5 − 0.75·(1/3)/0.5 = 1.
        // τ₁ at 1/3 with reward 2/3 and at ½ with reward 0: 3 − 0.75·(2/3)·3 − 0 = 1.5.
        // 1/v + 1/(v + 0.5) = 1 is v² − 1.5v − 0.5 = 0, so v = (1.5 + √4.25)/2 = 1.780776406404415.
        corral
            .update([
                play(0, 0.5, 1.0 / 3.0),
                play(1, 1.0 / 3.0, 2.0 / 3.0),
                play(1, 0.5, 0.0),
            ])
            .expect("in range");
        let v = 0.5 * (1.5 + 4.25_f64.sqrt());
        assert_close(corral.weights(), &[1.0 / v, 1.0 / (v + 0.5)]);
        assert_close(
            corral.weights(),
            &[0.561_552_812_808_830, 0.438_447_187_191_170],
        );
    }

    #[test]
    fn no_reward_and_no_event_change_nothing() {
        let mut corral = Corral::geometric(6.0, 1024.0, 12, 0.025).expect("in range");
        corral.update([play(3, 1.0 / 12.0, 1.0)]).expect("in range");
        let before = corral.weights().to_vec();
        corral.update([]).expect("in range");
        corral.update([play(5, before[5], 0.0)]).expect("in range");
        assert_close(corral.weights(), &before);
    }

    #[test]
    fn one_tau_is_always_played() {
        let mut corral = Corral::new(vec![7.0], 0.3).expect("in range");
        for reward in [0.0, 1.0, 0.5] {
            corral.update([play(0, 1.0, reward); 8]).expect("in range");
            assert_eq!(corral.weights(), [1.0]);
            assert_eq!(corral.draw(0.999), (0, 1.0));
        }
    }

    #[test]
    fn weights_stay_a_distribution() {
        for (k, eta) in [(2, 0.5), (12, 0.025), (12, 100.0), (300, 1.0)] {
            let mut corral = Corral::geometric(1.0, 1e6, k, eta).expect("in range");
            let mut rng = EventRng::new(5, k as u64, Stream::World);
            for step in 0..5_000 {
                let plays: Vec<CorralUpdate> = (0..8)
                    .map(|_| {
                        let (index, probability) = corral.draw(rng.unit());
                        // Now and then an event that was decided when its τ was next to impossible.
                        let probability = match step % 100 {
                            7 => 1e-12,
                            8 => f64::from_bits(1),
                            _ => probability,
                        };
                        play(index, probability, rng.unit().round())
                    })
                    .collect();
                corral.update(plays).expect("in range");
                let sum: f64 = corral.weights().iter().sum();
                assert!((sum - 1.0).abs() < 1e-12, "{sum} at {step} of {k}");
                assert!(corral.weights().iter().all(|&w| 0.0 < w && w <= 1.0));
            }
        }
    }

    #[test]
    fn the_best_arm_wins() {
        let mut corral = Corral::geometric(6.0, 1024.0, 12, 0.025).expect("in range");
        let mut rng = EventRng::new(6, 0, Stream::World);
        for _ in 0..5_000 {
            let plays: Vec<CorralUpdate> = (0..8)
                .map(|_| {
                    let (index, probability) = corral.draw(rng.unit());
                    let mean = if index == 4 { 0.9 } else { 0.5 };
                    let reward = if rng.unit() < mean { 1.0 } else { 0.0 };
                    play(index, probability, reward)
                })
                .collect();
            corral.update(plays).expect("in range");
        }
        assert!(0.9 < corral.weights()[4], "{:?}", corral.weights());
    }

    #[test]
    fn draws_have_the_stated_probabilities() {
        let mut corral = Corral::new(vec![1.0, 2.0, 3.0], 0.5).expect("in range");
        corral.update([play(2, 1.0 / 3.0, 0.8)]).expect("in range");
        let mut counts = [0; 3];
        let mut rng = EventRng::new(7, 0, Stream::World);
        for _ in 0..100_000 {
            let (index, probability) = corral.draw(rng.unit());
            assert_eq!(probability, corral.weights()[index]);
            counts[index] += 1;
        }
        // False alarm: one in a million. Power: the uniform start is seen to differ.
        assert!(1e-6 < egret_testkit::chi_square_p_value(&counts, corral.weights()));
        assert!(egret_testkit::chi_square_p_value(&counts, &[1.0 / 3.0; 3]) < 1e-6);
    }

    #[test]
    fn the_paper_s_grid() {
        let taus = geometric_taus(6.0, 1024.0, 12).expect("in range");
        let printed = [
            6.0, 9.57, 15.28, 24.37, 38.89, 62.05, 99.01, 157.98, 252.08, 402.21, 641.77, 1024.0,
        ];
        assert_eq!(taus.len(), 12);
        for (tau, printed) in taus.iter().zip(printed) {
            assert!((tau - printed).abs() < 0.006, "{tau} {printed}");
        }
        assert_eq!(geometric_taus(3.0, 9.0, 1), Ok(vec![3.0]));
    }

    #[test]
    fn a_grid_ends_where_it_was_asked_to() {
        for high in 2..500 {
            let high = 0.1 * f64::from(high) + 1.0;
            for n in 2..7 {
                let taus = geometric_taus(1.7, high.max(1.7), n).expect("in range");
                assert_eq!((taus[0], taus[n - 1]), (1.7, high.max(1.7)));
            }
        }
    }

    #[test]
    fn impossible_plays_and_states_are_refused_and_change_nothing() {
        let mut corral = Corral::geometric(1.0, 8.0, 4, 0.1).expect("in range");
        let before = corral.clone();
        for bad in [
            play(4, 0.5, 1.0),
            play(0, 0.0, 1.0),
            play(0, 1.5, 1.0),
            play(0, -0.5, 1.0),
            play(0, f64::NAN, 1.0),
            play(0, 0.5, 1.5),
        ] {
            assert!(corral.update([play(0, 0.5, 1.0), bad]).is_err(), "{bad:?}");
        }
        for bad in [
            &[4.0; 3][..],
            &[3.0; 4],
            &[f64::NAN; 4],
            &[-4.0, 4.0, 4.0, 4.0 / 3.0],
            &[0.25, -1.0, -1.0, -1.0],
        ] {
            assert!(!corral.restore(bad), "{bad:?}");
        }
        assert_eq!(corral, before);
        assert!(corral.restore(&[2.0, 4.0, 8.0, 8.0]));
        assert_eq!(corral.weights(), [0.5, 0.25, 0.125, 0.125]);
    }

    #[test]
    fn the_last_arm_takes_what_is_left() {
        let corral = Corral::geometric(1.0, 8.0, 4, 0.1).expect("in range");
        let draw = |unit| corral.draw(unit);
        assert_eq!([0.1, 0.3, 0.6, 0.9].map(|unit| draw(unit).0), [0, 1, 2, 3]);
        assert_eq!(draw(1.0 - f64::EPSILON), (3, 0.25));
    }

    #[test]
    fn a_hundred_arms_stay_a_distribution() {
        let mut corral = Corral::geometric(1.0, 100.0, 100, 0.05).expect("in range");
        for index in 0..100 {
            corral.update([play(index, 0.01, 1.0)]).expect("in range");
            let sum: f64 = corral.weights().iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        }
    }

    #[test]
    fn bad_grids_are_refused() {
        assert!(Corral::new(vec![], 0.1).is_err());
        assert!(Corral::new(vec![2.0, f64::NAN], 0.1).is_err());
        assert!(Corral::new(vec![0.5], 0.1).is_err());
        for eta in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Corral::new(vec![2.0], eta).is_err());
        }
        assert!(geometric_taus(6.0, 5.0, 3).is_err());
        assert!(geometric_taus(6.0, f64::NAN, 3).is_err());
        assert!(geometric_taus(6.0, 7.0, 0).is_err());
    }
}
