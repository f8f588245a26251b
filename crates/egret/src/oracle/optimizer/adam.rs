use serde::{Deserialize, Serialize};

use crate::codec::LoadError;
use crate::numeric::OutOfRange;

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// The largest gradient entry that is accepted: its square is finite.
const LARGEST: f64 = 1e150;

/// The learning rate of step t = 0, 1, …: rate · √t₀ / √(t₀ + t).
///
/// | field  | symbol | range  | meaning                            |
/// |--------|--------|--------|------------------------------------|
/// | `rate` |        | (0, 1] | the first step                     |
/// | `t0`   | t₀     | (0, ∞) | the larger, the later the rate falls |
///
/// The default is that of the paper's online experiments: 0.02 and 100.
///
/// ```
/// use egret::LearningRate;
///
/// let rate = LearningRate::new(0.02, 100.0)?;
/// assert_eq!(rate, LearningRate::default());
/// assert_eq!(rate.at(0), 0.02);
/// assert_eq!(rate.at(300), 0.01);
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", into = "Unchecked")]
pub struct LearningRate {
    rate: f64,
    t0: f64,
}

impl LearningRate {
    /// Checks both ranges.
    pub fn new(rate: f64, t0: f64) -> Result<Self, OutOfRange> {
        OutOfRange::unless(0.0 < rate && rate <= 1.0, "rate", rate, "(0, 1]")?;
        OutOfRange::unless(0.0 < t0 && t0.is_finite(), "t0", t0, "(0, inf)")?;
        Ok(Self { rate, t0 })
    }

    /// The rate of the first step.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// t₀: how late the rate falls.
    pub fn t0(&self) -> f64 {
        self.t0
    }

    /// The rate of one step; the first is step 0.
    pub fn at(&self, step: u64) -> f64 {
        self.rate * (self.t0.sqrt() / (self.t0 + step as f64).sqrt())
    }
}

impl Default for LearningRate {
    fn default() -> Self {
        Self {
            rate: 0.02,
            t0: 100.0,
        }
    }
}

/// A learning rate as read from a file, before it is checked.
#[derive(Serialize, Deserialize)]
struct Unchecked {
    rate: f64,
    t0: f64,
}

impl TryFrom<Unchecked> for LearningRate {
    type Error = OutOfRange;

    fn try_from(unchecked: Unchecked) -> Result<Self, OutOfRange> {
        Self::new(unchecked.rate, unchecked.t0)
    }
}

impl From<LearningRate> for Unchecked {
    fn from(LearningRate { rate, t0 }: LearningRate) -> Self {
        Self { rate, t0 }
    }
}

/// Adam (Kingma and Ba 2015) over one flat vector of parameters.
///
/// m ← β₁ m + (1 − β₁) g,  v ← β₂ v + (1 − β₂) g²,
/// θ ← θ − rate(t) · m/(1 − β₁ᵗ) / (√(v/(1 − β₂ᵗ)) + ε),  β₁ = 0.9, β₂ = 0.999, ε = 10⁻⁸
///
/// A step costs the same whatever the gradient holds, and allocates nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Adam {
    learning_rate: LearningRate,
    m: Vec<f64>,
    v: Vec<f64>,
    beta1_power: f64,
    beta2_power: f64,
    step: u64,
}

impl Adam {
    /// For this many parameters, before the first step.
    pub(crate) fn new(parameters: usize, learning_rate: LearningRate) -> Self {
        Self {
            learning_rate,
            m: vec![0.0; parameters],
            v: vec![0.0; parameters],
            beta1_power: 1.0,
            beta2_power: 1.0,
            step: 0,
        }
    }

    /// Whether every state after a step along this gradient is finite.
    pub(crate) fn accepts(gradient: &[f64]) -> bool {
        all_within(gradient)
    }

    /// One step down the gradient, which [`accepts`](Self::accepts) has let through.
    pub(crate) fn step(&mut self, parameters: &mut [f64], gradient: &[f64]) {
        self.beta1_power = flush(self.beta1_power * BETA1);
        self.beta2_power = flush(self.beta2_power * BETA2);
        let rate = self.learning_rate.at(self.step) / (1.0 - self.beta1_power);
        let scale = 1.0 / (1.0 - self.beta2_power).sqrt();
        update(rate, scale, gradient, &mut self.m, &mut self.v, parameters);
        self.step = self.step.saturating_add(1);
    }

    /// Makes room for `count` new parameters at a place.
    pub(crate) fn grow(&mut self, place: usize, count: usize) {
        for moments in [&mut self.m, &mut self.v] {
            moments.splice(place..place, std::iter::repeat_n(0.0, count));
        }
    }

    /// An error unless this is a possible state for this many parameters.
    pub(crate) fn check(&self, parameters: usize) -> Result<(), LoadError> {
        let invalid = |what: String| Err(LoadError::Invalid(what));
        for (name, moments) in [("first", &self.m), ("second", &self.v)] {
            if moments.len() != parameters {
                let found = moments.len();
                return invalid(format!("{found} {name} moments, expected {parameters}"));
            }
        }
        for &m in &self.m {
            if !(m.abs() <= LARGEST) {
                return invalid(format!("a first moment is {m}"));
            }
        }
        for &v in &self.v {
            if !(0.0..=LARGEST * LARGEST).contains(&v) {
                return invalid(format!("a second moment is {v}"));
            }
        }
        for power in [self.beta1_power, self.beta2_power] {
            if !(0.0..=1.0).contains(&power) {
                return invalid(format!("a power of a decay rate is {power}"));
            }
        }
        Ok(())
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn all_within(gradient: &[f64]) -> bool {
    let mut all = true;
    for entry in gradient {
        all &= entry.abs() <= LARGEST;
    }
    all
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn update(
    rate: f64,
    scale: f64,
    gradient: &[f64],
    m: &mut [f64],
    v: &mut [f64],
    parameters: &mut [f64],
) {
    let n = parameters.len();
    let (gradient, m, v) = (&gradient[..n], &mut m[..n], &mut v[..n]);
    for i in 0..n {
        let g = flush(gradient[i]);
        m[i] = flush(BETA1 * m[i] + (1.0 - BETA1) * g);
        v[i] = flush(BETA2 * v[i] + (1.0 - BETA2) * (g * g));
        parameters[i] -= rate * m[i] / (v[i].sqrt() * scale + EPSILON);
    }
}

/// Replaces values too small to matter beside ε by 0. Otherwise a moment that decays for thousands of steps would become
/// subnormal, and arithmetic a hundred times slower.
#[inline(always)]
fn flush(value: f64) -> f64 {
    if value.abs() < 1e-150 { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_steps_by_hand() {
        let mut adam = Adam::new(2, LearningRate::new(0.1, 3.0).expect("in range"));
        let mut parameters = [1.0, -2.0];

        // m/(1 − β₁) = g and v/(1 − β₂) = g², so the first step is rate · sign(g), but for ε.
        adam.step(&mut parameters, &[0.5, -4.0]);
        let first = [
            1.0 - 0.1 * 0.5 / (0.5 + 1e-8),
            -2.0 + 0.1 * 4.0 / (4.0 + 1e-8),
        ];
        for (found, expected) in parameters.iter().zip(first) {
            assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        }

        // m = 0.9 · 0.05 + 0.1 · (−1) = −0.055, over 1 − 0.81 = 0.19.
        // v = 0.999 · 0.00025 + 0.001 · 1 = 0.00124975, over 1 − 0.998001 = 0.001999.
        // The rate has fallen to 0.1 · √3/√4.
        adam.step(&mut parameters, &[-1.0, 0.0]);
        let rate = 0.1 * 0.75_f64.sqrt();
        let change = rate * (0.055 / 0.19) / ((0.00124975_f64 / 0.001999).sqrt() + 1e-8);
        assert!((parameters[0] - (first[0] + change)).abs() < 1e-14);
        // m = −0.36, v = 0.999 · 0.016.
        let change = rate * (0.36 / 0.19) / ((0.015984_f64 / 0.001999).sqrt() + 1e-8);
        assert!((parameters[1] - (first[1] + change)).abs() < 1e-14);
    }

    #[test]
    fn steps_go_down_a_bowl() {
        let mut adam = Adam::new(3, LearningRate::default());
        let mut parameters = [1.0, -0.5, 0.25];
        for _ in 0..3_000 {
            let gradient = parameters.map(|p| 2.0 * (p - 0.1));
            adam.step(&mut parameters, &gradient);
        }
        for p in parameters {
            assert!((p - 0.1).abs() < 1e-3, "{p}");
        }
    }

    #[test]
    fn a_feature_that_no_longer_comes_leaves_no_subnormal_number() {
        let mut adam = Adam::new(1, LearningRate::default());
        let mut parameters = [0.0];
        adam.step(&mut parameters, &[1e-140]);
        for _ in 0..20_000 {
            adam.step(&mut parameters, &[0.0]);
            for state in [adam.m[0], adam.v[0], adam.beta1_power, adam.beta2_power] {
                assert!(!state.is_subnormal(), "{state}");
            }
        }
        assert_eq!((adam.m[0], adam.beta1_power), (0.0, 0.0));
    }

    #[test]
    fn only_finite_gradients_are_taken() {
        assert!(Adam::accepts(&[]));
        assert!(Adam::accepts(&[0.0, -1e150]));
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e151] {
            assert!(!Adam::accepts(&[0.0, bad, 0.0]), "{bad}");
        }
        let mut adam = Adam::new(1, LearningRate::default());
        let mut parameters = [0.0];
        for sign in [1.0, 1.0, -1.0, 1.0] {
            adam.step(&mut parameters, &[sign * LARGEST]);
            adam.check(1).expect("a state like any other");
            assert!(parameters[0].is_finite());
        }
    }

    #[test]
    fn states_that_no_steps_lead_to_are_refused() {
        let fresh = Adam::new(2, LearningRate::default());
        assert_eq!(fresh.check(2), Ok(()));
        assert!(fresh.check(3).is_err());
        type Damage = fn(&mut Adam);
        let damages: [Damage; 6] = [
            |adam| adam.m[1] = f64::NAN,
            |adam| adam.v[0] = -1e-9,
            |adam| adam.v[0] = f64::INFINITY,
            |adam| adam.beta1_power = 1.5,
            |adam| adam.beta2_power = f64::NAN,
            |adam| adam.v.truncate(1),
        ];
        for damage in damages {
            let mut adam = fresh.clone();
            damage(&mut adam);
            assert!(
                matches!(adam.check(2), Err(LoadError::Invalid(_))),
                "{adam:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_rate_is_positive_and_falls(rate in any::<f64>(), t0 in any::<f64>(), step in any::<u64>()) {
            let allowed = 0.0 < rate && rate <= 1.0 && 0.0 < t0 && t0.is_finite();
            let made = LearningRate::new(rate, t0);
            prop_assert_eq!(made.is_ok(), allowed);
            if let Ok(made) = made {
                prop_assert!(made.at(step) <= made.at(0));
                prop_assert!((made.at(0) - rate).abs() <= 1e-15 * rate);
            }
        }
    }

    #[test]
    fn rates_out_of_range_are_refused() {
        for (rate, t0) in [
            (0.0, 1.0),
            (-0.1, 1.0),
            (1.5, 1.0),
            (f64::NAN, 1.0),
            (0.1, 0.0),
            (0.1, f64::INFINITY),
            (0.1, f64::NAN),
        ] {
            assert!(LearningRate::new(rate, t0).is_err(), "{rate} {t0}");
            let bytes = postcard::to_stdvec(&Unchecked { rate, t0 }).expect("two numbers");
            assert!(postcard::from_bytes::<LearningRate>(&bytes).is_err());
        }
    }
}
