use serde::{Deserialize, Serialize};

use crate::codec::{LoadError, saved_state};
use crate::event::{Action, ContextError};
use crate::numeric::{
    OutOfRange,
    elementary::{exp, ln},
    pool::Pool,
};
use crate::oracle::{
    Example, GrowError, ItemTree, RegressionOracle,
    combine::side_by_side::{learn_side_by_side, prediction},
    features::limits::check_count,
};

/// Vovk's aggregating forecaster: nearly as good as the best of several oracles, on any data.
///
/// wᵢ ∝ exp(−η Σ (fᵢ − ℓ)²),  G(y) = −(1/η) ln Σ wᵢ exp(−η (fᵢ − y)²),  η = 2
///
/// f̂ = ½ + (G(0) − G(1))/2
///
/// with predictions fᵢ clamped to [0, 1]. Then (f̂ − y)² ≤ G(y) for all y ∈ [0, 1], and over any
/// sequence of examples of weight at most 1 that are learned one by one (Vovk 1998, 2001)
///
/// Σ (f̂ − ℓ)² ≤ minᵢ Σ (fᵢ − ℓ)² + ln(N)/2
///
/// No weight falls below e⁻¹⁰ of the best, so that a member that becomes the best after the world moved is followed within
/// some dozen errors. From the first time that a weight is there, the bound grows by (N − 1)·e⁻¹⁰ for each example.
///
/// An example of weight w counts w times its square; beyond weight 1 the bound need not hold. The weights wᵢ are updated
/// with the predictions that the members made before they learned the example, in a batch too. Members of the least weight
/// are not asked for predictions, except where they learn.
///
/// A member that accepts an example in [`check`](RegressionOracle::check) must accept it in `learn`. The oracles of this
/// crate do, for features up to 1e30. If a member fails there, it has learned what came before, and others all of the batch.
///
/// A batch of 64 examples or more is learned on several threads, each member by one at a time: results do not depend on how many.
///
/// The cost is that of the members, plus two exponentials for each member and action. Buffers are reused, so `prepare`
/// and `predict` soon allocate nothing.
///
/// ```
/// use egret::{Aggregation, Example, FunctionOracle, Loss, RegressionOracle, Weight};
///
/// let constant = |value: f64| -> Box<dyn RegressionOracle<(), f64>> {
///     Box::new(FunctionOracle::new(move |_: &(), _: &Vec<f64>, out: &mut [f64]| out.fill(value)))
/// };
/// let mut oracle = Aggregation::new(vec![constant(0.1), constant(0.9)])?;
/// for _ in 0..20 {
///     oracle.learn(&[Example { x: &(), action: &0.0, loss: Loss::new(0.2)?.into(), weight: Weight::ONE }])?;
/// }
/// assert!(0.99 < oracle.weights()[0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Aggregation<X: ?Sized, A: Action> {
    members: Vec<Box<dyn RegressionOracle<X, A>>>,
    /// Σ (fᵢ − ℓ)² beyond that of the best member, at most [`MOST_EXCESS`].
    excess: Vec<f64>,
    /// The mean of (f̂ − ℓ)² over the last examples, and how many were learned.
    error: f64,
    examples: u64,
    buffers: Pool<Vec<f64>>,
}

/// The largest η at which one prediction can replace a mixture, for losses and predictions in [0, 1].
const ETA: f64 = 2.0;

/// Where the excess of a member ends: its weight is then e⁻¹⁰ of the best.
const MOST_EXCESS: f64 = 5.0;

/// The mean squared error is over about so many examples.
const ERROR_HORIZON: u64 = 5_000;

/// The largest variance of losses in [0, 1], where the mean squared error starts.
const LARGEST_ERROR: f64 = 0.25;

impl<X: ?Sized, A: Action> Aggregation<X, A> {
    /// At least one member; all have the same weight at first.
    pub fn new(members: Vec<Box<dyn RegressionOracle<X, A>>>) -> Result<Self, OutOfRange> {
        check_count("members", members.len())?;
        Ok(Self {
            excess: vec![0.0; members.len()],
            error: LARGEST_ERROR,
            examples: 0,
            members,
            buffers: Pool::default(),
        })
    }

    /// The weight of each member, in order; they add up to 1 except for rounding. Members of the least weight are left out
    /// of predictions, and have 0 here.
    pub fn weights(&self) -> Vec<f64> {
        let mut weights = Vec::new();
        self.append_weights(&mut weights);
        weights
    }

    fn append_weights(&self, out: &mut Vec<f64>) {
        let start = out.len();
        out.extend(self.excess.iter().map(|&excess| match excess {
            MOST_EXCESS => 0.0,
            excess => exp(-ETA * excess),
        }));
        let total: f64 = out[start..].iter().sum();
        for weight in &mut out[start..] {
            *weight /= total;
        }
    }
}

impl<X: ?Sized, A: Action> Aggregation<X, A> {
    /// What each member predicts now; an error if one cannot.
    fn predictions(&self, example: &Example<'_, X, A>) -> Result<Vec<f64>, ContextError> {
        self.buffers.with(|scratch| {
            let members = self.members.iter().enumerate();
            members
                .map(|(place, member)| prediction(place, &**member, example, scratch))
                .collect()
        })
    }

    /// Counts the errors of what the members predicted for an example.
    fn count(&mut self, example: &Example<'_, X, A>, predicted: impl Iterator<Item = f64>) {
        // Both in [0, 1], as the bound requires; members see a pseudo-loss unclamped.
        let seen = example.loss.get().clamp(0.0, 1.0);
        let squared = |fhat: f64| (fhat - seen) * (fhat - seen);
        let mut sums = self.weights();
        let (mut at_zero, mut at_one) = (0.0, 0.0);
        for ((sum, excess), fhat) in sums.iter_mut().zip(&self.excess).zip(predicted) {
            let (weight, [zero, one]) = (*sum, mixed(fhat));
            at_zero += weight * zero;
            at_one += weight * one;
            // The upper end keeps differences of the largest sums from being NaN.
            *sum = (excess + example.weight.get() * squared(fhat)).min(1e300);
        }
        let least = sums.iter().copied().fold(f64::INFINITY, f64::min);
        for (excess, sum) in self.excess.iter_mut().zip(sums) {
            *excess = (sum - least).min(MOST_EXCESS);
        }
        let own = squared(substituted(at_zero, at_one));
        self.examples += 1;
        self.error += (own - self.error) / self.examples.min(ERROR_HORIZON) as f64;
    }
}

impl<X: ?Sized + Sync, A: Action> RegressionOracle<X, A> for Aggregation<X, A> {
    /// The weights; then for each member that has one how many numbers it prepared, and these.
    fn prepare(&self, x: &X, prepared: &mut Vec<f64>) -> Result<(), ContextError> {
        let start = prepared.len();
        self.append_weights(prepared);
        self.buffers.with(|buffer| {
            for (place, member) in self.members.iter().enumerate() {
                if prepared[start + place] == 0.0 {
                    continue;
                }
                buffer.clear();
                member.prepare(x, buffer)?;
                prepared.push(buffer.len() as f64);
                prepared.extend_from_slice(buffer);
            }
            Ok(())
        })
    }

    fn predict(&self, x: &X, prepared: &[f64], actions: &A::Batch, out: &mut [f64]) {
        let n = out.len();
        let (weights, mut rest) = prepared.split_at(self.members.len());
        if let Some(alone) = weights.iter().position(|&weight| weight == 1.0) {
            self.members[alone].predict(x, &rest[1..], actions, out);
            for out in out {
                *out = out.clamp(0.0, 1.0);
            }
            return;
        }
        self.buffers.with(|buffer| {
            // Σ wᵢ exp(−η (fᵢ − y)²): for y = 0 in `out`, for y = 1 in `at_one`.
            buffer.clear();
            buffer.resize(2 * n, 0.0);
            let (fhat, at_one) = buffer.split_at_mut(n);
            out.fill(0.0);
            for (member, &weight) in self.members.iter().zip(weights) {
                if weight == 0.0 {
                    continue;
                }
                let len = rest[0] as usize;
                let (own, others) = rest[1..].split_at(len);
                rest = others;
                member.predict(x, own, actions, fhat);
                mix(weight, fhat, out, at_one);
            }
            substitute(out, at_one);
        });
    }

    fn check(&self, example: &Example<'_, X, A>) -> Result<(), ContextError> {
        let mut members = self.members.iter();
        members.try_for_each(|member| member.check(example))
    }

    /// One example after another, so that how they are grouped changes nothing; members side by side.
    fn learn(&mut self, batch: &[Example<'_, X, A>]) -> Result<(), ContextError> {
        // A single example is checked as it is predicted.
        if let [example] = batch {
            let predicted = self.predictions(example)?;
            for member in &mut self.members {
                member.learn(batch)?;
            }
            self.count(example, predicted.into_iter());
            return Ok(());
        }
        for example in batch {
            self.check(example)?;
        }
        let predicted = learn_side_by_side(&mut self.members, batch)?;
        for (place, example) in batch.iter().enumerate() {
            self.count(example, predicted.iter().map(|predicted| predicted[place]));
        }
        Ok(())
    }

    fn item_tree(&self) -> Option<&ItemTree> {
        let mut trees = self.members.iter().map(|member| member.item_tree());
        let tree = trees.next()??;
        // Members that see other features could not predict at its centers.
        trees
            .all(|other| other.is_some_and(|other| std::ptr::eq(tree, other)))
            .then_some(tree)
    }

    fn save(&self) -> Vec<u8> {
        let saved = Saved {
            excess: self.excess.clone(),
            error: self.error,
            examples: self.examples,
            members: self.members.iter().map(|member| member.save()).collect(),
        };
        saved_state::to_bytes(KIND, &saved)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), LoadError> {
        let saved: Saved = saved_state::from_bytes(KIND, state)?;
        let n = self.members.len();
        saved_state::expect_same("members:", &saved.members.len(), &n)?;
        let allowed = |excess: f64| (0.0..=MOST_EXCESS).contains(&excess);
        saved_state::expect_numbers("excess losses", &saved.excess, n, allowed)?;
        saved_state::expect_count("examples", saved.examples)?;
        saved_state::expect_numbers("squared error", &[saved.error], 1, |error| {
            (0.0..=1.0).contains(&error)
        })?;
        if !saved.excess.contains(&0.0) {
            return Err(LoadError::Invalid("no member is the best".into()));
        }
        let before: Vec<Vec<u8>> = self.members.iter().map(|member| member.save()).collect();
        for place in 0..n {
            if let Err(error) = self.members[place].load(&saved.members[place]) {
                for (member, state) in self.members.iter_mut().zip(&before).take(place) {
                    member.load(state)?;
                }
                return Err(error);
            }
        }
        self.excess = saved.excess;
        self.error = saved.error;
        self.examples = saved.examples;
        Ok(())
    }

    fn squared_error(&self) -> Option<f64> {
        Some(self.error)
    }

    /// The mean of the members', by their weights.
    fn forgotten(&self) -> f64 {
        self.buffers.with(|weights| {
            weights.clear();
            self.append_weights(weights);
            let members = self.members.iter().zip(weights);
            members
                .map(|(member, weight)| *weight * member.forgotten())
                .sum()
        })
    }

    fn grow(&mut self, dim: usize) -> Result<bool, GrowError> {
        let mut read = false;
        for member in &mut self.members {
            read |= member.grow(dim)?;
        }
        Ok(read)
    }
}

const KIND: &str = "aggregation";

/// exp(−η (f − y)²) for y = 0 and y = 1.
#[inline(always)]
fn mixed(f: f64) -> [f64; 2] {
    let other = 1.0 - f;
    [exp(-ETA * f * f), exp(-ETA * other * other)]
}

/// f̂ from the sums of both over the members.
#[inline(always)]
fn substituted(at_zero: f64, at_one: f64) -> f64 {
    (0.5 + ln(at_one / at_zero) / (2.0 * ETA)).clamp(0.0, 1.0)
}

/// Adds a member's predictions to both sums.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn mix(weight: f64, fhat: &[f64], at_zero: &mut [f64], at_one: &mut [f64]) {
    for ((f, at_zero), at_one) in fhat.iter().zip(at_zero).zip(at_one) {
        let [zero, one] = mixed(f.clamp(0.0, 1.0));
        *at_zero += weight * zero;
        *at_one += weight * one;
    }
}

/// f̂ of each action, in place of the first sum.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn substitute(at_zero: &mut [f64], at_one: &[f64]) {
    for (at_zero, &at_one) in at_zero.iter_mut().zip(at_one) {
        *at_zero = substituted(*at_zero, at_one);
    }
}

#[derive(Serialize, Deserialize)]
struct Saved {
    excess: Vec<f64>,
    error: f64,
    examples: u64,
    members: Vec<Vec<u8>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Context, Loss, Weight};
    use crate::numeric::{EventRng, Stream};
    use crate::oracle::{
        Bilinear, Forecaster, FourierRegression, FourierSettings, FunctionOracle, LinearRegression,
        ScalarFeatures,
    };
    use proptest::prelude::*;

    type Members<X> = Vec<Box<dyn RegressionOracle<X, f64>>>;

    /// Members that predict what the context says.
    fn told(n: usize) -> Aggregation<[f64], f64> {
        let members: Members<[f64]> = (0..n)
            .map(|i| -> Box<dyn RegressionOracle<[f64], f64>> {
                Box::new(FunctionOracle::new(
                    move |x: &[f64], _: &Vec<f64>, out: &mut [f64]| out.fill(x[i]),
                ))
            })
            .collect();
        Aggregation::new(members).expect("not empty")
    }

    fn predict<X: ?Sized>(oracle: &dyn RegressionOracle<X, f64>, x: &X, a: &[f64]) -> Vec<f64> {
        let (mut prepared, mut out) = (Vec::new(), vec![0.0; a.len()]);
        oracle.prepare(x, &mut prepared).expect("readable");
        oracle.predict(x, &prepared, &a.to_vec(), &mut out);
        out
    }

    fn example<'a, X: ?Sized>(x: &'a X, action: &'a f64, loss: f64) -> Example<'a, X, f64> {
        Example {
            x,
            action,
            loss: Loss::new(loss).expect("in the unit interval").into(),
            weight: Weight::ONE,
        }
    }

    /// Σ (f̂ − ℓ)² − minᵢ Σ (fᵢ − ℓ)² over rounds of (predictions, loss given f̂).
    fn regret(
        n: usize,
        rounds: usize,
        mut round: impl FnMut(usize, &mut [f64]),
        mut loss: impl FnMut(&[f64], f64) -> f64,
    ) -> f64 {
        let mut oracle = told(n);
        let (mut own, mut theirs) = (0.0, vec![0.0; n]);
        let mut x = vec![0.0; n];
        for t in 0..rounds {
            round(t, &mut x);
            let fhat = predict(&oracle, &x[..], &[0.0])[0];
            let loss = loss(&x, fhat);
            own += (fhat - loss) * (fhat - loss);
            for (sum, f) in theirs.iter_mut().zip(&x) {
                *sum += (f - loss) * (f - loss);
            }
            oracle
                .learn(&[example(&x[..], &0.0, loss)])
                .expect("numbers");
        }
        own - theirs.iter().copied().fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn regret_is_at_most_half_the_log_of_the_members() {
        for n in [1, 2, 5, 40] {
            let bound = 0.5 * libm::log(n as f64) + 1e-9;
            let mut rng = EventRng::new(1, n as u64, Stream::World);
            let random = |_: usize, x: &mut [f64]| rng.fill_unit(x);
            // Losses as far from the forecast as they can be.
            let against = |_: &[f64], fhat: f64| f64::from(u8::from(fhat < 0.5));
            let worst = regret(n, 300, random, against);
            assert!(worst <= bound, "{n} {worst} {bound}");
            let mut rng = EventRng::new(2, n as u64, Stream::World);
            let mut noise = EventRng::new(3, n as u64, Stream::World);
            let random = |_: usize, x: &mut [f64]| rng.fill_unit(x);
            let first = regret(n, 300, random, |x, _| {
                (x[0] + 0.2 * (noise.unit() - 0.5)).clamp(0.0, 1.0)
            });
            assert!(first <= bound, "{n} {first} {bound}");
        }
    }

    /// Constant experts at the ends and a loss that never leaves one: the bound is nearly met.
    #[test]
    fn the_bound_is_tight() {
        let n = 40;
        let ends = |_: usize, x: &mut [f64]| {
            x.fill(0.0);
            x[7] = 1.0;
        };
        let found = regret(n, 100, ends, |_, _| 1.0);
        let bound = 0.5 * libm::log(n as f64);
        assert!(
            0.9 * bound < found && found <= bound + 1e-9,
            "{found} {bound}"
        );
    }

    #[test]
    fn one_member_is_itself() {
        for f in [-1.0, 0.0, 0.3, 1.0, 2.0] {
            let fhat = predict(&told(1), &[f][..], &[0.0, 1.0]);
            assert!(
                fhat.iter()
                    .all(|fhat| (fhat - f.clamp(0.0, 1.0)).abs() < 1e-15)
            );
        }
    }

    #[test]
    fn nan_is_passed_on_and_never_learned() {
        let mut oracle = told(2);
        let x = [0.5, f64::NAN];
        assert!(predict(&oracle, &x[..], &[0.0])[0].is_nan());
        let before = oracle.save();
        let good = [0.5, 0.6];
        let batch = [example(&good[..], &0.0, 1.0), example(&x[..], &0.0, 1.0)];
        assert!(matches!(
            oracle.learn(&batch),
            Err(ContextError::Refused(_))
        ));
        assert_eq!(before, oracle.save());
    }

    #[test]
    fn the_largest_weights_stay_numbers() {
        let mut oracle = told(2);
        let x = [0.0, 1.0];
        let heavy = |loss: f64| Example {
            weight: Weight::new(1e308).expect("finite"),
            ..example(&x[..], &0.0, loss)
        };
        oracle.learn(&[heavy(1.0), heavy(1.0)]).expect("numbers");
        assert_eq!(oracle.weights(), [0.0, 1.0]);
        oracle.learn(&[heavy(0.0), heavy(0.0)]).expect("numbers");
        assert_eq!(oracle.weights(), [1.0, 0.0]);
    }

    /// The best of two members changes after 1,000 examples: it is followed after a few dozen, and the bound holds with what
    /// holding up costs.
    #[test]
    fn a_member_that_becomes_the_best_is_followed() {
        let mut oracle = told(2);
        let x = [0.3, 0.7];
        let mut lost = [0.0; 2];
        for round in 0..2_000 {
            let (loss, best) = if round < 1_000 {
                (0.3, 0.3)
            } else {
                (0.7, 0.7)
            };
            let fhat = predict(&oracle, &x[..], &[0.0])[0];
            lost[0] += (fhat - loss) * (fhat - loss);
            lost[1] += (best - loss) * (best - loss);
            if round == 1_100 {
                assert!(0.999 < oracle.weights()[1], "{:?}", oracle.weights());
            }
            oracle
                .learn(&[example(&x[..], &0.0, loss)])
                .expect("numbers");
        }
        // Two members, one change: each time ln(2)/2 at most, the way back from the least weight, and holding up.
        let bound = libm::log(2.0) + MOST_EXCESS + 2_000.0 * libm::exp(-ETA * MOST_EXCESS) / ETA;
        assert!(lost[0] - lost[1] < bound, "{lost:?} {bound}");
    }

    #[test]
    fn it_knows_its_error() {
        let mut oracle = told(1);
        assert_eq!(oracle.squared_error(), Some(0.25));
        for _ in 0..5_000 {
            oracle
                .learn(&[example(&[0.5][..], &0.0, 0.2)])
                .expect("numbers");
        }
        let error = oracle.squared_error().expect("kept");
        assert!((error - 0.09).abs() < 1e-9, "{error}");
        let mut other = told(1);
        other.load(&oracle.save()).expect("the same");
        assert_eq!(other.squared_error(), Some(error));
    }

    #[test]
    fn no_members_are_refused() {
        assert!(Aggregation::<Context, f64>::new(vec![]).is_err());
    }

    fn learners(seed: u64) -> Aggregation<Context, f64> {
        let linear = |forecaster| {
            let features = Bilinear::new(1, ScalarFeatures).expect("one feature");
            LinearRegression::new(features, forecaster, 1.0).expect("positive")
        };
        let settings = FourierSettings {
            context_dim: 1,
            features: 16,
            seed,
            ..FourierSettings::default()
        };
        let fourier = FourierRegression::new(ScalarFeatures, settings).expect("in range");
        Aggregation::new(vec![
            Box::new(linear(Forecaster::Ridge)),
            Box::new(linear(Forecaster::VovkAzouryWarmuth)),
            Box::new(fourier),
        ])
        .expect("three")
    }

    fn trained(rounds: usize) -> Aggregation<Context, f64> {
        let mut oracle = learners(0);
        let mut rng = EventRng::new(4, 0, Stream::World);
        for _ in 0..rounds {
            let (x, a) = (rng.unit(), rng.unit());
            let x = Context::dense(vec![x]).expect("finite");
            oracle
                .learn(&[example(&x, &a, (a - 0.4) * (a - 0.4))])
                .expect("readable");
        }
        oracle
    }

    #[test]
    fn members_learn_and_keep_their_own_buffers() {
        let oracle = trained(200);
        let x = Context::dense(vec![0.5]).expect("finite");
        let actions = [0.1, 0.4, 0.9];
        let fhat = predict(&oracle, &x, &actions);
        let theirs: Vec<Vec<f64>> = oracle
            .members
            .iter()
            .map(|member| predict(member.as_ref(), &x, &actions))
            .collect();
        for (i, &fhat) in fhat.iter().enumerate() {
            let of_all = || theirs.iter().map(|f| f[i].clamp(0.0, 1.0));
            let least = of_all().fold(1.0, f64::min);
            let most = of_all().fold(0.0, f64::max);
            assert!(least - 1e-9 <= fhat && fhat <= most + 1e-9);
        }
        // Nested once more, a single member changes nothing.
        let nested: Members<Context> = vec![Box::new(trained(200))];
        let nested = Aggregation::new(nested).expect("one");
        for (one, other) in predict(&nested, &x, &actions).iter().zip(&fhat) {
            assert!((one - other).abs() < 1e-15);
        }
    }

    /// On several threads from 64 examples on.
    #[test]
    fn how_examples_are_grouped_changes_nothing_on_any_number_of_threads() {
        let contexts: Vec<Context> = (0..200)
            .map(|n| Context::dense(vec![f64::from(n) / 200.0]).expect("finite"))
            .collect();
        let batch: Vec<_> = (contexts.iter().enumerate())
            .map(|(n, x)| example(x, &0.5, f64::from(u8::from(n % 3 == 0))))
            .collect();
        let mut alone = learners(0);
        for example in &batch {
            alone
                .learn(std::slice::from_ref(example))
                .expect("readable");
        }
        for (threads, length) in [(1, 200), (2, 200), (8, 200), (2, 64), (1, 63)] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().expect("threads");
            let mut together = learners(0);
            for batch in batch.chunks(length) {
                pool.install(|| together.learn(batch)).expect("readable");
            }
            assert_eq!(together.save(), alone.save(), "{threads} {length}");
        }
        // Linear members start at 0 and Fourier features at ½.
        let mut first = learners(0);
        first.learn(&batch[..1]).expect("readable");
        assert_eq!(first.excess, [0.75, 0.75, 0.0]);
    }

    #[test]
    fn nothing_is_learned_from_a_bad_batch() {
        let mut oracle = trained(10);
        let before = oracle.save();
        let good = Context::dense(vec![0.5]).expect("finite");
        let bad = Context::dense(vec![0.5, 0.5]).expect("finite");
        assert!(matches!(
            oracle.learn(&[example(&good, &0.5, 1.0), example(&bad, &0.5, 1.0)]),
            Err(ContextError::Dimension { .. })
        ));
        assert!(
            oracle
                .learn(&[example(&good, &0.5, 1.0), example(&good, &f64::NAN, 1.0)])
                .is_err()
        );
        assert_eq!(before, oracle.save());
    }

    /// Predicts NaN once it has learned so many examples.
    struct Fragile {
        learned: usize,
        most: usize,
    }

    impl RegressionOracle<(), f64> for Fragile {
        fn prepare(&self, _: &(), _: &mut Vec<f64>) -> Result<(), ContextError> {
            Ok(())
        }

        fn predict(&self, _: &(), _: &[f64], _: &Vec<f64>, out: &mut [f64]) {
            out.fill(if self.learned < self.most {
                0.5
            } else {
                f64::NAN
            });
        }

        fn learn(&mut self, batch: &[Example<'_, (), f64>]) -> Result<(), ContextError> {
            self.learned += batch.len();
            Ok(())
        }

        fn save(&self) -> Vec<u8> {
            vec![self.learned as u8]
        }

        fn load(&mut self, _: &[u8]) -> Result<(), LoadError> {
            Ok(())
        }
    }

    #[test]
    fn a_member_that_fails_late_stops_no_other() {
        for length in [10, 100] {
            let members = [usize::MAX, 5, 7].map(|most| -> Box<dyn RegressionOracle<(), f64>> {
                Box::new(Fragile { learned: 0, most })
            });
            let mut oracle = Aggregation::new(members.into()).expect("three");
            let error = oracle.learn(&vec![example(&(), &0.0, 1.0); length]);
            let message = error.expect_err("the second fails first").to_string();
            assert!(message.contains("member 1 predicted NaN"), "{message}");
            let learned: Vec<Vec<u8>> = oracle.members.iter().map(|m| m.save()).collect();
            assert_eq!(learned, [[length as u8], [5], [7]]);
        }
    }

    /// Predicts one number, and has forgotten this share of the events.
    struct Forgetful {
        predicted: f64,
        share: f64,
    }

    impl RegressionOracle<(), f64> for Forgetful {
        fn prepare(&self, _: &(), _: &mut Vec<f64>) -> Result<(), ContextError> {
            Ok(())
        }

        fn predict(&self, _: &(), _: &[f64], _: &Vec<f64>, out: &mut [f64]) {
            out.fill(self.predicted);
        }

        fn learn(&mut self, _: &[Example<'_, (), f64>]) -> Result<(), ContextError> {
            Ok(())
        }

        fn save(&self) -> Vec<u8> {
            Vec::new()
        }

        fn load(&mut self, _: &[u8]) -> Result<(), LoadError> {
            Ok(())
        }

        fn forgotten(&self) -> f64 {
            self.share
        }
    }

    #[test]
    fn as_much_is_forgotten_as_by_the_members_that_predict() {
        let members = [(0.2, 0.8), (0.7, 0.4)].map(|(predicted, share)| {
            Box::new(Forgetful { predicted, share }) as Box<dyn RegressionOracle<(), f64>>
        });
        let mut oracle = Aggregation::new(members.into()).expect("two");
        let forgotten = |oracle: &Aggregation<(), f64>| oracle.forgotten();
        assert!((forgotten(&oracle) - 0.6).abs() < 1e-12);
        for _ in 0..100 {
            oracle
                .learn(&[example(&(), &0.0, 0.7)])
                .expect("no features");
        }
        // The first errs, and no longer counts.
        assert_eq!(forgotten(&oracle), 0.4);
    }

    #[test]
    fn a_loaded_state_goes_on_to_the_bit() {
        let mut one = trained(30);
        let mut other = learners(0);
        other.load(&one.save()).expect("same kind");
        let x = Context::dense(vec![0.5]).expect("finite");
        for oracle in [&mut one, &mut other] {
            oracle.learn(&[example(&x, &0.7, 0.1)]).expect("readable");
        }
        assert_eq!(one.save(), other.save());
        assert_eq!(predict(&one, &x, &[0.2]), predict(&other, &x, &[0.2]));
    }

    #[test]
    fn a_member_that_does_not_fit_leaves_all_as_it_was() {
        let mut other = learners(1); // the third member has another seed
        let before = other.save();
        assert!(matches!(
            other.load(&trained(30).save()),
            Err(LoadError::Mismatch { .. })
        ));
        assert_eq!(before, other.save());
        assert!(matches!(
            told(2).load(&told(3).save()),
            Err(LoadError::Mismatch { .. })
        ));
    }

    #[test]
    fn threads_do_not_show() {
        let oracle = trained(50);
        let x = Context::dense(vec![0.5]).expect("finite");
        let actions: Vec<f64> = (0..100).map(|i| f64::from(i) / 100.0).collect();
        let alone = predict(&oracle, &x, &actions);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        assert_eq!(predict(&oracle, &x, &actions), alone);
                    }
                });
            }
        });
    }

    proptest! {
        #[test]
        fn one_forecast_is_no_worse_than_the_mixture(
            fs in prop::collection::vec(0.0..=1.0, 1..6),
            past in prop::collection::vec(0.0..=1.0, 0..4),
            y in 0.0..=1.0,
        ) {
            let mut oracle = told(fs.len());
            for loss in past {
                let x: Vec<f64> = fs.iter().map(|f| 1.0 - f).collect();
                oracle.learn(&[example(&x[..], &0.0, loss)]).expect("numbers");
            }
            let mixture: f64 = oracle
                .weights()
                .iter()
                .zip(&fs)
                .map(|(w, f)| w * libm::exp(-ETA * (f - y) * (f - y)))
                .sum();
            let fhat = predict(&oracle, &fs[..], &[0.0])[0];
            prop_assert!((fhat - y) * (fhat - y) <= -libm::log(mixture) / ETA + 1e-12);
        }

        #[test]
        fn damaged_bytes_are_an_error_or_a_state(
            place in 0_usize..4000,
            flip in 1_u8..,
            keep in 0_usize..4000,
        ) {
            let mut oracle = trained(3);
            let before = oracle.save();
            let mut bytes = before.clone();
            let place = place % bytes.len();
            bytes[place] ^= flip;
            match oracle.load(&bytes) {
                Ok(()) => prop_assert!(oracle.weights().iter().all(|w| w.is_finite())),
                Err(_) => prop_assert_eq!(&before, &oracle.save()),
            }
            bytes.truncate(keep % bytes.len());
            prop_assert!(oracle.load(&bytes).is_err());
        }
    }
}
