use serde::{Deserialize, Serialize};

use crate::codec::LoadError;
use crate::numeric::{OutOfRange, single};

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// A number that Adam computes with: of 64 bits, or of 32 for networks.
pub(crate) trait Number: Copy + Default + Into<f64> {
    /// The largest gradient entry that is accepted: its square is finite.
    const LARGEST: f64;

    /// Whether none is larger.
    fn all_within(gradient: &[Self]) -> bool;

    /// One step of the moments and parameters, with rate(t)/(1 − β₁ᵗ) and 1/√(1 − β₂ᵗ).
    fn update(
        rates: [f64; 2],
        gradient: &[Self],
        m: &mut [Self],
        v: &mut [Self],
        parameters: &mut [Self],
    );
}

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
/// In 32 bits ε is within the root, and the quotient has five digits. A step costs the same whatever the gradient holds, and allocates nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Adam<T = f64> {
    learning_rate: LearningRate,
    m: Vec<T>,
    v: Vec<T>,
    beta1_power: f64,
    beta2_power: f64,
    step: u64,
}

impl<T: Number> Adam<T> {
    /// For this many parameters, before the first step.
    pub(crate) fn new(parameters: usize, learning_rate: LearningRate) -> Self {
        Self {
            learning_rate,
            m: vec![T::default(); parameters],
            v: vec![T::default(); parameters],
            beta1_power: 1.0,
            beta2_power: 1.0,
            step: 0,
        }
    }

    /// Whether every state after a step along this gradient is finite.
    pub(crate) fn accepts(gradient: &[T]) -> bool {
        T::all_within(gradient)
    }

    /// One step down the gradient, which [`accepts`](Self::accepts) has let through.
    pub(crate) fn step(&mut self, parameters: &mut [T], gradient: &[T]) {
        self.beta1_power = flush(self.beta1_power * BETA1, 1e-150);
        self.beta2_power = flush(self.beta2_power * BETA2, 1e-150);
        let rate = self.learning_rate.at(self.step) / (1.0 - self.beta1_power);
        let scale = 1.0 / (1.0 - self.beta2_power).sqrt();
        T::update(
            [rate, scale],
            gradient,
            &mut self.m,
            &mut self.v,
            parameters,
        );
        self.step = self.step.saturating_add(1);
    }

    /// Makes room for `count` new parameters at a place.
    pub(crate) fn grow(&mut self, place: usize, count: usize) {
        for moments in [&mut self.m, &mut self.v] {
            moments.splice(place..place, std::iter::repeat_n(T::default(), count));
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
        for m in self.m.iter().map(|&m| m.into()) {
            if !(m.abs() <= T::LARGEST) {
                return invalid(format!("a first moment is {m}"));
            }
        }
        for v in self.v.iter().map(|&v| v.into()) {
            if !(0.0..=T::LARGEST * T::LARGEST).contains(&v) {
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

macro_rules! number {
    ($number:ident, $largest:literal, $least:literal, $change:ident) => {
        impl Number for $number {
            const LARGEST: f64 = $largest;

            fn all_within(gradient: &[$number]) -> bool {
                #[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
                fn all_within(gradient: &[$number]) -> bool {
                    let mut all = true;
                    for entry in gradient {
                        all &= entry.abs() <= $largest;
                    }
                    all
                }
                all_within(gradient)
            }

            fn update(
                rates: [f64; 2],
                gradient: &[$number],
                m: &mut [$number],
                v: &mut [$number],
                parameters: &mut [$number],
            ) {
                #[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
                fn update(
                    [rate, scale]: [$number; 2],
                    gradient: &[$number],
                    m: &mut [$number],
                    v: &mut [$number],
                    parameters: &mut [$number],
                ) {
                    const KEPT: [$number; 2] = [BETA1 as $number, BETA2 as $number];
                    const NEW: [$number; 2] = [(1.0 - BETA1) as $number, (1.0 - BETA2) as $number];
                    let n = parameters.len();
                    let (gradient, m, v) = (&gradient[..n], &mut m[..n], &mut v[..n]);
                    for i in 0..n {
                        let g = gradient[i];
                        m[i] = flush(KEPT[0] * m[i] + NEW[0] * g, $least);
                        let square = KEPT[1] * v[i] + NEW[1] * (g * g);
                        // As `flush`, which also looks at the sign.
                        v[i] = if square < $least { 0.0 } else { square };
                        parameters[i] -= $change(rate, m[i], v[i], scale);
                    }
                }
                update(
                    rates.map(|rate| rate as $number),
                    gradient,
                    m,
                    v,
                    parameters,
                );
            }
        }
    };
}

number!(f64, 1e150, 1e-150, change);
number!(f32, 1e15, 1e-30, change_single);

/// rate · m/(√v̂ + ε), with v̂ = v · scale².
#[inline(always)]
fn change(rate: f64, m: f64, v: f64, scale: f64) -> f64 {
    rate * m / (v.sqrt() * scale + EPSILON)
}

/// rate · m/√(v̂ + ε²), within a hundred-thousandth of itself: roots and quotients would take as long as all the rest of a step.
#[inline(always)]
fn change_single(rate: f32, m: f32, v: f32, scale: f32) -> f32 {
    const EPSILON: f32 = (self::EPSILON * self::EPSILON) as f32;
    rate * (m * single::inverse_root(v * (scale * scale) + EPSILON))
}

/// Replaces values too small to matter beside ε by 0. Otherwise a moment that decays for thousands of steps would become
/// subnormal, and arithmetic a hundred times slower.
#[inline(always)]
fn flush<T: Number + PartialOrd + std::ops::Neg<Output = T>>(value: T, least: T) -> T {
    if -least < value && value < least {
        T::default()
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_steps_by_hand() {
        let mut adam = Adam::new(2, LearningRate::new(0.1, 3.0).expect("in range"));
        let mut parameters = [1.0_f64, -2.0];

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
        let mut parameters = [1.0_f64, -0.5, 0.25];
        for _ in 0..3_000 {
            let gradient = parameters.map(|p| 2.0 * (p - 0.1));
            adam.step(&mut parameters, &gradient);
        }
        for p in parameters {
            assert!((p - 0.1).abs() < 1e-3, "{p}");
        }
    }

    #[test]
    fn half_the_bits_take_the_same_steps() {
        let rate = LearningRate::default();
        let (mut one, mut other) = (Adam::<f64>::new(9, rate), Adam::<f32>::new(9, rate));
        let (mut double, mut single) = ([0.5_f64; 9], [0.5_f32; 9]);
        for step in 0..2_000_u32 {
            let gradient: [f64; 9] =
                std::array::from_fn(|i| f64::from(step * 37 % (11 + i as u32)) - 5.0);
            one.step(&mut double, &gradient);
            other.step(&mut single, &gradient.map(|g| g as f32));
            for (double, single) in double.iter().zip(single) {
                let error = (double - f64::from(single)).abs();
                assert!(error < 1e-4, "{step}: {double} {single}");
            }
        }
        assert!((double[1] - 0.5).abs() > 0.1, "{double:?}");
        for _ in 0..20_000 {
            other.step(&mut single, &[0.0; 9]);
            assert!(
                other
                    .m
                    .iter()
                    .chain(&other.v)
                    .all(|moment| !moment.is_subnormal())
            );
        }
        assert!(!Adam::accepts(&[0.0, 1.1e15_f32]) && !Adam::accepts(&[f32::NAN]));
        assert!(Adam::accepts(&[0.0, -1e15_f32]));
    }

    #[test]
    fn a_feature_that_no_longer_comes_leaves_no_subnormal_number() {
        let mut adam = Adam::new(1, LearningRate::default());
        let mut parameters = [0.0_f64];
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
        assert!(Adam::<f64>::accepts(&[]));
        assert!(Adam::<f64>::accepts(&[0.0, -1e150]));
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e151] {
            assert!(!Adam::<f64>::accepts(&[0.0, bad, 0.0]), "{bad}");
        }
        let mut adam = Adam::new(1, LearningRate::default());
        let mut parameters = [0.0_f64];
        for sign in [1.0, 1.0, -1.0, 1.0] {
            adam.step(&mut parameters, &[sign * f64::LARGEST]);
            adam.check(1).expect("a state like any other");
            assert!(parameters[0].is_finite());
        }
    }

    #[test]
    fn states_that_no_steps_lead_to_are_refused() {
        let fresh = Adam::<f64>::new(2, LearningRate::default());
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
