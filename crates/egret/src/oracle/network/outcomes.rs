use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::codec::{LoadError, saved_state};
use crate::event::{Context, ContextError};
use crate::numeric::{OutOfRange, bounds::Bounds, single};
use crate::oracle::{
    Example, GrowError, RegressionOracle,
    features::limits::{check_size, check_within},
    network::{
        context::{self, ContextNetwork, InputState, NetworkSettings, STEEPEST},
        feature_scale,
        replay_memory::{Event, ReplayMemory, STEP, check_size_of_loss},
        wide_layer,
    },
};

/// Explains the loss by a hidden best action, the outcome: a network predicts which outcomes are likely, and one curve
/// says how the loss grows with the distance from it.
///
/// f̂(x, a) = Σ_k p_k(x) · D(c_k − a),  D(z) = q + v |z| + w z²
///
/// c₁…c_K lie evenly on the interval, scaled to [0, 1]. p is a softmax over the outputs of a network with two hidden
/// layers. There is one pair (v, w) for z ≥ 0 and one for z < 0, none negative. This is the paper's argmin plus
/// dispersion, with a distribution instead of one best action.
///
/// A loss says where the outcome may be: an action 0.4 with loss 0.1 leaves outcomes near 0.3 and 0.5. So the network
/// maximizes the likelihood, with the loss given outcome k normal around D(c_k − a) with deviation σ, and also minimizes
/// the squared error:
///
/// −ln Σ_k p_k · exp(−(ℓ − D_k)²/(2σ²)) + λ (ℓ − f̂)²,  λ = 10
///
/// The curve starts at q = 0, v = 1, w = 0, loss equal to distance, with a strong prior for q = 0. It and σ are then
/// fitted by expectation maximization, a least squares that slowly forgets. Some losses have no such curve: the revenue
/// of a price, or problems where even the best action costs much. An [`Aggregation`](crate::Aggregation) with a
/// [`CurveNetwork`](crate::CurveNetwork) leaves the choice to the data.
///
/// Example weights count in the network's steps. The curve and σ give every event the same weight.
///
/// Each event is one step of Adam on itself and seven of the last 4,096 events, which are saved with the oracle. Context
/// features may be in any units: they are scaled as they arrive. Beyond 512 features, time grows with those that are not
/// 0, and memory with those that ever were.
///
/// ```
/// use egret::{
///     Context, Example, Loss, LossCurve, LatentOutcome, LatentOutcomeSettings, RegressionOracle, Weight,
/// };
///
/// let settings = LatentOutcomeSettings { context_dim: 1, ..LatentOutcomeSettings::default() };
/// let mut oracle = LatentOutcome::new((0.0, 10.0), settings)?;
/// for round in 0..2_000 {
///     let x = Context::dense(vec![f64::from(round % 7)])?;
///     let action = f64::from(round % 11);
///     let loss = Loss::new(0.1 * (action - f64::from(round % 7)).abs())?;
///     oracle.learn(&[Example { x: &x, action: &action, loss: loss.into(), weight: Weight::ONE }])?;
/// }
/// let mut buffer = Vec::new();
/// let x = Context::dense(vec![5.0])?;
/// let curve = LossCurve::new(&oracle, &x, &mut buffer)?;
/// let mut fhat = Vec::new();
/// curve.predict(&vec![0.0, 5.0, 10.0], &mut fhat)?;
/// assert!(fhat[1] + 0.2 < fhat[0] && fhat[1] + 0.2 < fhat[2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct LatentOutcome {
    bounds: Bounds,
    settings: LatentOutcomeSettings,
    network: ContextNetwork,
    memory: ReplayMemory,
    curve: Curve,
    /// The posterior of an event, and what each outcome would cost.
    scratch: Vec<f32>,
}

/// Settings of a [`LatentOutcome`], checked when it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatentOutcomeSettings {
    /// How many features a context has; may be 0.
    pub context_dim: usize,
    /// K, from 2 to 4,096; by default 32.
    pub outcomes: usize,
    /// Widths of the hidden layers; by default 32 and 32.
    pub hidden: [usize; 2],
    /// Seed of the starting weights and of the choice of past events to learn again.
    pub seed: u64,
}

impl Default for LatentOutcomeSettings {
    fn default() -> Self {
        Self {
            context_dim: 0,
            outcomes: 32,
            hidden: [32, 32],
            seed: 0,
        }
    }
}

impl LatentOutcome {
    /// For actions between `low` and `high`, both finite.
    pub fn new(
        (low, high): (f64, f64),
        settings: LatentOutcomeSettings,
    ) -> Result<Self, OutOfRange> {
        let bounds = Bounds::new(low, high)?;
        let outcomes = settings.outcomes;
        OutOfRange::unless(
            (2..=4096).contains(&outcomes),
            "outcomes",
            outcomes as f64,
            "[2, 4096]",
        )?;
        let network = ContextNetwork::new(NetworkSettings {
            dim: settings.context_dim,
            hidden: settings.hidden,
            outputs: outcomes,
            seed: settings.seed,
        })?;
        Ok(Self {
            bounds,
            network,
            memory: ReplayMemory::new(),
            curve: Curve::new(outcomes),
            scratch: Vec::new(),
            settings,
        })
    }

    /// Where on [0, 1] an action lies.
    fn share(&self, action: f64) -> f64 {
        (action - self.bounds.low()) / (self.bounds.high() - self.bounds.low())
    }

    /// How many outcomes lie before an action at this share of the interval; those have z < 0.
    fn outcomes_before(&self, u: f64) -> usize {
        let outcomes = self.settings.outcomes;
        ((u * outcomes as f64 + 0.5) as usize).min(outcomes)
    }

    fn check_context(&self, x: &Context) -> Result<(), ContextError> {
        x.expect_dim(self.network.dim())?;
        check_size(x)
    }

    /// One step on an event and some past ones.
    fn step(&mut self, event: Event<'_>) {
        self.network.look_at(event.x);
        let places = self.memory.add(self.settings.seed, event);
        self.network.forward_past(&mut self.memory, places);
        let events = self.memory.events(places);
        let outcomes = self.settings.outcomes;
        let (curve, scratch) = (&mut self.curve, &mut self.scratch);
        scratch.resize(2 * outcomes, 0.0);
        let (posterior, costs) = scratch.split_at_mut(outcomes);
        self.network.backward_step(|scores, slopes| {
            let rows = scores
                .chunks_exact(outcomes)
                .zip(slopes.chunks_exact_mut(outcomes));
            for (place, (event, (scores, slopes))) in events.into_iter().zip(rows).enumerate() {
                let observed = Observed {
                    share: event.action[0],
                    loss: event.loss,
                    weight: event.weight / STEP as f32,
                };
                curve.differentiate(&observed, scores, slopes, posterior, costs);
                if place == 0 {
                    curve.count(&observed, posterior);
                }
            }
        });
        self.curve.fit();
    }

    /// Loads a network whose first layer saved an `I`.
    fn load_as<I: DeserializeOwned>(&mut self, state: &[u8]) -> Result<(), LoadError>
    where
        InputState: From<I>,
    {
        let saved: Saved<I> = saved_state::from_bytes(KIND, state)?;
        let bounds = (self.bounds.low(), self.bounds.high());
        saved_state::expect_same("an interval", &saved.bounds, &bounds)?;
        saved_state::expect_same("settings", &saved.settings, &self.settings)?;
        let network = saved.network.either();
        self.network.check(&network)?;
        saved.memory.check(&self.network.lengths(), 1)?;
        saved.curve.check(self.settings.outcomes)?;
        self.network.restore(network);
        self.memory = saved.memory;
        self.curve = saved.curve;
        Ok(())
    }
}

/// An action, as a share of the interval, and what it cost.
struct Observed {
    share: f32,
    loss: f32,
    weight: f32,
}

/// q, then v and w for z ≥ 0, then v and w for z < 0.
const HEAD: usize = 5;

/// D, σ and what they are fitted from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Curve {
    head: [f64; HEAD],
    variance: f64,
    /// Σ t tᵀ and Σ t ℓ over what D is linear in, by the posterior.
    squares: [[f64; HEAD]; HEAD],
    products: [f64; HEAD],
    events: u64,
    least_variance: f64,
}

/// Where D starts: loss equal to distance.
const START: [f64; HEAD] = [0.0, 1.0, 0.0, 1.0, 0.0];

/// The strength of the prior for each coefficient, in events. It is strong for q = 0: otherwise q could explain small
/// losses by itself, which would put the outcome wherever one plays and so confirm q.
const BELIEF: [f64; HEAD] = [1_000.0, 1.0, 1.0, 1.0, 1.0];

/// λ.
const SQUARED_ERROR: f64 = 10.0;

/// D forgets events older than about this many, σ those older than half of it.
const HORIZON: f64 = 2_000.0;

impl Curve {
    fn new(outcomes: usize) -> Self {
        let half = 0.5 / outcomes as f64;
        Self {
            head: START,
            variance: (half * half).max(0.01),
            squares: [[0.0; HEAD]; HEAD],
            products: [0.0; HEAD],
            events: 0,
            // Outcomes lie as far apart: no loss is known better.
            least_variance: half * half,
        }
    }

    /// Writes the derivatives by the scores, the posterior over outcomes, and D of each.
    fn differentiate(
        &self,
        observed: &Observed,
        scores: &[f32],
        slopes: &mut [f32],
        posterior: &mut [f32],
        costs: &mut [f32],
    ) {
        let root = (0.5 / self.variance).sqrt() as f32;
        let head = self.head.map(|part| part as f32);
        differentiate(head, root, observed, scores, slopes, posterior, costs);
    }

    /// Counts a new event for D and σ, its outcomes weighted by the posterior; the example weight is ignored.
    fn count(&mut self, observed: &Observed, posterior: &[f32]) {
        let outcomes = posterior.len() as f64;
        let (share, loss) = (f64::from(observed.share), f64::from(observed.loss));
        let mut variance = 0.0;
        // Σ posterior · |z|ᵏ for k = 0…4, of outcomes above the action and of those below.
        let mut moments = [[0.0; 5]; 2];
        for (place, &posterior) in posterior.iter().enumerate() {
            if posterior < 1e-4 {
                continue;
            }
            let z = (place as f64 + 0.5) / outcomes - share;
            let error = self.at(z) - loss;
            let mut power = f64::from(posterior);
            variance += power * error * error;
            for moment in &mut moments[usize::from(z < 0.0)] {
                *moment += power;
                power *= z.abs();
            }
        }
        self.squares[0][0] += moments[0][0] + moments[1][0];
        self.products[0] += loss * (moments[0][0] + moments[1][0]);
        for (first, moments) in [1, 3].into_iter().zip(&moments) {
            for (part, row) in (first..).zip(0..2) {
                self.squares[0][part] += moments[1 + row];
                self.squares[part][0] += moments[1 + row];
                self.products[part] += loss * moments[1 + row];
                for (other, column) in (first..).zip(0..2) {
                    self.squares[part][other] += moments[2 + row + column];
                }
            }
        }
        self.events += 1;
        let events = self.events as f64;
        let share = (1.0 / (events + 1.0)).max(2.0 / HORIZON);
        self.variance += (variance - self.variance) * share;
        self.variance = self.variance.clamp(self.least_variance, 1e60);
    }

    /// Least squares for D with nonnegative coefficients: a few rounds of coordinate descent from the current ones.
    fn fit(&mut self) {
        let keep = 1.0 - 1.0 / HORIZON.min(19.0 + self.events as f64);
        for (squares, product) in self.squares.iter_mut().zip(&mut self.products) {
            for square in squares {
                *square *= keep;
            }
            *product *= keep;
        }
        let inverses: [f64; HEAD] =
            std::array::from_fn(|part| 1.0 / (self.squares[part][part] + BELIEF[part]));
        for _ in 0..4 {
            for (part, (start, belief)) in START.into_iter().zip(BELIEF).enumerate() {
                let mut rest = self.products[part] + belief * start;
                for (other, (square, head)) in self.squares[part].iter().zip(&self.head).enumerate()
                {
                    if other != part {
                        rest -= square * head;
                    }
                }
                self.head[part] = (rest * inverses[part]).clamp(0.0, 1e30);
            }
        }
    }

    /// For each number of outcomes before an action u, what D makes of it: a + b u + c u². `weights` are in
    /// proportion to p.
    fn polynomials(&self, weights: &[f32], out: &mut [[f64; 3]]) {
        let mut place = 0;
        let all = sums(weights, |low| {
            out[place] = low;
            place += 1;
        });
        let inverse = 1.0 / all[0];
        for out in out {
            *out = self.polynomial(*out, all, inverse);
        }
    }

    /// That of one number of outcomes before an action.
    fn polynomial_of(&self, weights: &[f32], before: usize) -> [f64; 3] {
        let (mut place, mut found) = (0, [0.0; 3]);
        let all = sums(weights, |low| {
            if place == before {
                found = low;
            }
            place += 1;
        });
        self.polynomial(found, all, 1.0 / all[0])
    }

    /// From the sums over the outcomes before, those over all, and 1/Σ p.
    #[inline(always)]
    fn polynomial(&self, before: [f64; 3], all: [f64; 3], inverse: f64) -> [f64; 3] {
        let [q, v_below, w_below, v_above, w_above] = self.head;
        let low = before.map(|sum| sum * inverse);
        let high: [f64; 3] = std::array::from_fn(|k| all[k] * inverse - low[k]);
        [
            q + v_below * high[1] + w_below * high[2] - v_above * low[1] + w_above * low[2],
            v_above * low[0] - v_below * high[0] - 2.0 * (w_below * high[1] + w_above * low[1]),
            w_below * high[0] + w_above * low[0],
        ]
    }

    /// D(z).
    #[inline(always)]
    fn at(&self, z: f64) -> f64 {
        let [q, v_below, w_below, v_above, w_above] = self.head;
        let (v, w) = if 0.0 <= z {
            (v_below, w_below)
        } else {
            (v_above, w_above)
        };
        q + z.abs() * (v + w * z.abs())
    }

    fn check(&self, outcomes: usize) -> Result<(), LoadError> {
        saved_state::expect_count("events", self.events)?;
        let expected = Self::new(outcomes).least_variance;
        saved_state::expect_same("least variance", &self.least_variance, &expected)?;
        let finite = |number: f64| number.abs() <= 1e70;
        let positive = |number: f64| (0.0..=1e70).contains(&number);
        saved_state::expect_numbers("curve", &self.head, HEAD, positive)?;
        saved_state::expect_numbers("variance", &[self.variance], 1, |variance| {
            (self.least_variance..=1e60).contains(&variance)
        })?;
        let squares = self.squares.as_flattened();
        saved_state::expect_numbers("squares", squares, HEAD * HEAD, positive)?;
        saved_state::expect_numbers("products", &self.products, HEAD, finite)
    }
}

/// Σ p, Σ p c and Σ p c²: over all outcomes, and given to `each` over those before each outcome and over all.
#[inline(always)]
fn sums(weights: &[f32], mut each: impl FnMut([f64; 3])) -> [f64; 3] {
    let step = 1.0 / weights.len() as f64;
    let mut low = [0.0; 3];
    for (place, weight) in weights.iter().enumerate() {
        each(low);
        let (p, c) = (f64::from(*weight), (place as f64 + 0.5) * step);
        low = [low[0] + p, low[1] + p * c, low[2] + p * c * c];
    }
    each(low);
    low
}

/// [`Curve::differentiate`], with `root` the root of 1/(2σ²).
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn differentiate(
    head: [f32; HEAD],
    root: f32,
    observed: &Observed,
    scores: &[f32],
    slopes: &mut [f32],
    posterior: &mut [f32],
    costs: &mut [f32],
) {
    let &Observed {
        share,
        loss,
        weight,
    } = observed;
    let [q, v_below, w_below, v_above, w_above] = head;
    let step = 1.0 / scores.len() as f32;
    for (place, (posterior, cost)) in posterior.iter_mut().zip(&mut *costs).enumerate() {
        let z = (place as f32 + 0.5) * step - share;
        let (v, w) = if 0.0 <= z {
            (v_below, w_below)
        } else {
            (v_above, w_above)
        };
        *cost = q + z.abs() * (v + w * z.abs());
        // Beyond this nothing is likely.
        let error = ((*cost - loss) * root).clamp(-1e9, 1e9);
        *posterior = -error * error;
    }
    // First what is most likely is taken off: a loss that no outcome explains then leaves p as it is.
    let most = single::largest(posterior);
    for (posterior, score) in posterior.iter_mut().zip(scores) {
        *posterior = score + (*posterior - most);
    }
    softmax(posterior);
    // `slopes` is p for now.
    slopes.copy_from_slice(scores);
    softmax(slopes);
    let fhat = single::dot(slopes, costs);
    let steepest = STEEPEST as f32;
    let by_fhat = (2.0 * SQUARED_ERROR as f32 * (fhat - loss)).clamp(-steepest, steepest);
    for ((slope, posterior), cost) in slopes.iter_mut().zip(posterior).zip(costs) {
        let p = *slope;
        let by_score = p - *posterior + by_fhat * (p * (*cost - fhat));
        let steep = (weight * by_score).clamp(-steepest, steepest);
        // Smaller ones move nothing, but their products would be subnormal, and slow.
        *slope = if steep.abs() < 1e-12 { 0.0 } else { steep };
    }
}

/// p ∝ eˢ, in place.
#[inline(always)]
fn softmax(scores: &mut [f32]) {
    exponentials(scores);
    let inverse = 1.0 / single::sum(scores);
    for p in scores {
        *p *= inverse;
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn weigh(scores: &mut [f32]) {
    exponentials(scores);
}

/// s ← eˢ, but for a factor: the largest is 1.
#[inline(always)]
fn exponentials(scores: &mut [f32]) {
    let most = single::largest(scores);
    for score in scores {
        *score = single::exp(*score - most);
    }
}

impl RegressionOracle<Context, f64> for LatentOutcome {
    /// With a number k of outcomes before it, the loss of an action is a quadratic polynomial: its coefficients for each k.
    fn prepare(&self, x: &Context, prepared: &mut Vec<f64>) -> Result<(), ContextError> {
        self.check_context(x)?;
        let outcomes = self.settings.outcomes;
        prepared.clear();
        prepared.resize(3 * (outcomes + 1), 0.0);
        let polynomials = prepared.as_chunks_mut::<3>().0;
        self.network.forward(x, |scores| {
            weigh(scores);
            self.curve.polynomials(scores, polynomials);
        });
        Ok(())
    }

    fn predict(&self, _: &Context, prepared: &[f64], actions: &Vec<f64>, out: &mut [f64]) {
        let polynomials = prepared.as_chunks::<3>().0;
        for (out, &action) in out.iter_mut().zip(actions) {
            let u = self.share(action);
            let [a, b, c] = polynomials[self.outcomes_before(u)];
            *out = a + u * (b + u * c);
        }
    }

    /// From one polynomial.
    fn predict_one(
        &self,
        x: &Context,
        action: &f64,
        _: &mut Vec<f64>,
    ) -> Result<f64, ContextError> {
        self.check_context(x)?;
        let u = self.share(*action);
        let [a, b, c] = self.network.forward(x, |scores| {
            weigh(scores);
            self.curve.polynomial_of(scores, self.outcomes_before(u))
        });
        Ok(a + u * (b + u * c))
    }

    fn check(&self, example: &Example<'_, Context, f64>) -> Result<(), ContextError> {
        self.check_context(example.x)?;
        check_size_of_loss(example)?;
        check_within(&self.bounds, *example.action)
    }

    fn learn(&mut self, batch: &[Example<'_, Context, f64>]) -> Result<(), ContextError> {
        for example in batch {
            self.check(example)?;
        }
        for example in batch {
            self.step(Event {
                x: example.x,
                action: &[self.share(*example.action)],
                loss: example.loss.get(),
                weight: example.weight.get(),
            });
        }
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        let saved = Saved {
            bounds: (self.bounds.low(), self.bounds.high()),
            settings: self.settings,
            network: self.network.state(),
            memory: self.memory.clone(),
            curve: self.curve.clone(),
        };
        saved_state::to_bytes(KIND, &saved)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), LoadError> {
        if self.network.is_wide() {
            self.load_as::<wide_layer::State>(state)
        } else {
            self.load_as::<feature_scale::State>(state)
        }
    }

    fn grow(&mut self, dim: usize) -> Result<bool, GrowError> {
        self.network.grow(dim)?;
        self.settings.context_dim = dim;
        Ok(true)
    }
}

const KIND: &str = "outcome dispersion";

#[derive(Serialize, Deserialize)]
struct Saved<I> {
    bounds: (f64, f64),
    settings: LatentOutcomeSettings,
    network: context::State<I>,
    memory: ReplayMemory,
    curve: Curve,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::{Loss, PseudoLoss, Weight};
    use crate::numeric::{EventRng, Stream};

    const DIM: usize = 3;

    fn settings() -> LatentOutcomeSettings {
        LatentOutcomeSettings {
            context_dim: DIM,
            outcomes: 16,
            hidden: [8, 8],
            seed: 5,
        }
    }

    fn oracle() -> LatentOutcome {
        LatentOutcome::new((-1.0, 3.0), settings()).expect("in range")
    }

    /// Contexts in any units, an action, and what it costs where the first feature says what is best.
    fn event(number: u64, cost: impl Fn(f64) -> f64) -> (Context, f64, f64) {
        let mut rng = EventRng::new(1, number, Stream::World);
        let features = vec![1000.0 * rng.unit(), rng.unit(), -0.001 * rng.unit()];
        let best = features[0] / 1000.0;
        let share = rng.unit();
        let x = Context::dense(features).expect("finite");
        (x, -1.0 + 4.0 * share, cost(best - share))
    }

    fn teach(oracle: &mut LatentOutcome, events: std::ops::Range<u64>, cost: fn(f64) -> f64) {
        for number in events {
            let (x, action, loss) = event(number, cost);
            learn(oracle, &x, action, loss).expect("a good event");
        }
    }

    fn learn(
        oracle: &mut LatentOutcome,
        x: &Context,
        action: f64,
        loss: f64,
    ) -> Result<(), ContextError> {
        oracle.learn(&[Example {
            x,
            action: &action,
            loss: Loss::new(loss).expect("a loss").into(),
            weight: Weight::ONE,
        }])
    }

    fn predict(oracle: &LatentOutcome, x: &Context, actions: &[f64]) -> Vec<f64> {
        let (mut prepared, mut out) = (Vec::new(), vec![0.0; actions.len()]);
        oracle.prepare(x, &mut prepared).expect("readable");
        oracle.predict(x, &prepared, &actions.to_vec(), &mut out);
        out
    }
    #[test]
    fn a_count_that_would_overflow_is_refused() {
        for (events, good) in [(1 << 53, true), (u64::MAX, false)] {
            let curve = Curve {
                events,
                ..Curve::new(4)
            };
            assert_eq!(curve.check(4).is_ok(), good, "{events}");
        }
    }

    #[test]
    fn predictions_are_the_formula() {
        let mut oracle = oracle();
        teach(&mut oracle, 0..300, |z| 0.1 + 0.5 * z.abs() + 0.3 * z * z);
        oracle.curve.head = [0.05, 0.7, 0.2, 0.3, 0.9];
        let (x, _, _) = event(400, |_| 0.0);
        let p = shares(&oracle.network.forward(&x, |scores| scores.to_vec()));
        let actions: Vec<f64> = (0..=64).map(|i| -1.0 + f64::from(i) / 16.0).collect();
        for (action, found) in actions.iter().zip(predict(&oracle, &x, &actions)) {
            let share = (action + 1.0) / 4.0;
            let terms = p.iter().enumerate();
            let expected: f64 = terms
                .map(|(k, p)| p * oracle.curve.at((k as f64 + 0.5) / 16.0 - share))
                .sum();
            assert!((found - expected).abs() < 1e-6, "{action}");
        }
        assert!(predict(&oracle, &x, &[f64::NAN])[0].is_nan());
    }

    #[test]
    fn one_action_is_predicted_as_among_many() {
        let mut oracle = oracle();
        teach(&mut oracle, 0..300, f64::abs);
        for number in 300..400 {
            let (x, action, _) = event(number, f64::abs);
            let actions = [-1.0, action, 3.0, 100.0, -100.0];
            for (action, many) in actions.iter().zip(predict(&oracle, &x, &actions)) {
                let one = oracle.predict_one(&x, action, &mut Vec::new());
                assert_eq!(one.expect("readable").to_bits(), many.to_bits());
            }
        }
        let (x, _, _) = event(1, f64::abs);
        let nan = oracle.predict_one(&x, &f64::NAN, &mut Vec::new());
        assert!(nan.expect("readable").is_nan());
        let short = Context::dense(vec![0.0; DIM - 1]).expect("finite");
        assert!(oracle.predict_one(&short, &0.0, &mut Vec::new()).is_err());
    }

    /// p ∝ eˢ.
    fn shares(scores: &[f32]) -> Vec<f64> {
        let weights: Vec<f64> = scores.iter().map(|&s| f64::from(s).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    /// −w (ln Σ p exp(…) − λ (ℓ − f̂)²), whose derivative by the scores is what the network learns from.
    fn objective(curve: &Curve, observed: &Observed, scores: &[f32]) -> f64 {
        let p = shares(scores);
        let (share, loss) = (f64::from(observed.share), f64::from(observed.loss));
        let costs: Vec<f64> = (0..p.len())
            .map(|k| curve.at((k as f64 + 0.5) / p.len() as f64 - share))
            .collect();
        let errors = costs.iter().map(|cost| cost - loss);
        let likelihood: f64 = errors
            .zip(&p)
            .map(|(error, p)| p * (-0.5 * error * error / curve.variance).exp())
            .sum();
        let fhat: f64 = costs.iter().zip(&p).map(|(cost, p)| cost * p).sum();
        let error = fhat - loss;
        f64::from(observed.weight) * (SQUARED_ERROR * error * error - likelihood.ln())
    }

    #[test]
    fn gradients_are_those_of_differences() {
        let curve = Curve {
            head: [0.05, 0.7, 0.2, 0.3, 0.9],
            ..Curve::new(8)
        };
        let mut rng = EventRng::new(2, 0, Stream::World);
        for _ in 0..20 {
            let observed = Observed {
                share: rng.unit() as f32,
                loss: rng.unit() as f32,
                weight: 2.0 * rng.unit() as f32,
            };
            let mut scores: Vec<f32> = (0..8).map(|_| 2.0 * rng.unit() as f32).collect();
            let (mut slopes, mut posterior) = ([0.0; 8], [0.0; 8]);
            curve.differentiate(
                &observed,
                &scores,
                &mut slopes,
                &mut posterior,
                &mut [0.0; 8],
            );
            assert!((posterior.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            for place in 0..8 {
                let (score, step) = (scores[place], 1e-3);
                let mut at = |moved: f32| {
                    scores[place] = score + moved;
                    objective(&curve, &observed, &scores)
                };
                let difference = (at(step) - at(-step)) / (2.0 * f64::from(step));
                scores[place] = score;
                assert!(
                    (difference - f64::from(slopes[place])).abs() < 1e-4 * (1.0 + difference.abs()),
                    "{difference} {}",
                    slopes[place]
                );
            }
        }
    }

    /// The mean squared error on events it has not seen.
    fn error_after(events: u64, cost: fn(f64) -> f64) -> f64 {
        let mut oracle = oracle();
        teach(&mut oracle, 0..events, cost);
        let squares = (10_000..10_500).map(|number| {
            let (x, action, loss) = event(number, cost);
            let error = predict(&oracle, &x, &[action])[0] - loss;
            error * error
        });
        squares.sum::<f64>() / 500.0
    }

    #[test]
    fn losses_of_several_shapes_are_learned() {
        let shapes: [fn(f64) -> f64; 4] = [
            f64::abs,
            |z| z * z,
            |z| if 0.0 <= z { 0.9 * z } else { -0.2 * z },
            |z| 0.02 + 0.4 * z.abs(),
        ];
        for (place, shape) in shapes.into_iter().enumerate() {
            let (before, after) = (error_after(0, shape), error_after(2_000, shape));
            assert!(after < 0.1 * before, "{place}: {before} {after}");
        }
    }

    #[test]
    fn a_loaded_state_goes_on_to_the_bit() {
        let mut one = oracle();
        teach(&mut one, 0..50, f64::abs);
        let mut other = oracle();
        other.load(&one.save()).expect("the same oracle");
        for oracle in [&mut one, &mut other] {
            teach(oracle, 50..100, f64::abs);
        }
        assert_eq!(one.save(), other.save());
    }

    #[test]
    fn how_events_are_grouped_changes_nothing() {
        let mut one = oracle();
        teach(&mut one, 0..20, f64::abs);
        let mut other = oracle();
        let events: Vec<_> = (0..20).map(|number| event(number, f64::abs)).collect();
        let batch: Vec<_> = events
            .iter()
            .map(|(x, action, loss)| Example {
                x,
                action,
                loss: PseudoLoss::new(*loss).expect("finite"),
                weight: Weight::ONE,
            })
            .collect();
        other.learn(&batch).expect("good events");
        assert_eq!(one.save(), other.save());
    }

    #[test]
    fn what_cannot_be_learned_is_refused_and_changes_nothing() {
        let mut oracle = oracle();
        teach(&mut oracle, 0..10, f64::abs);
        let before = oracle.save();
        let (good, action, _) = event(1, f64::abs);
        let short = Context::dense(vec![0.0; DIM - 1]).expect("finite");
        let huge = Context::dense(vec![1e31; DIM]).expect("finite");
        assert!(learn(&mut oracle, &short, action, 0.5).is_err());
        assert!(learn(&mut oracle, &huge, action, 0.5).is_err());
        assert!(learn(&mut oracle, &good, f64::NAN, 0.5).is_err());
        assert!(learn(&mut oracle, &good, 3.5, 0.5).is_err());
        let heavy = Example {
            x: &good,
            action: &action,
            loss: PseudoLoss::new(1e31).expect("finite"),
            weight: Weight::ONE,
        };
        assert!(oracle.learn(&[heavy]).is_err());
        assert!(oracle.prepare(&short, &mut Vec::new()).is_err());
        assert_eq!(oracle.save(), before);
    }

    #[test]
    fn the_largest_numbers_stay_numbers() {
        let mut oracle = oracle();
        for number in 0..40 {
            let (_, action, _) = event(number, f64::abs);
            let sign = if number % 2 == 0 { 1.0 } else { -1.0 };
            let x = Context::dense(vec![sign * 1e30; DIM]).expect("finite");
            let example = Example {
                x: &x,
                action: &action,
                loss: PseudoLoss::new(sign * 1e30).expect("finite"),
                weight: Weight::new(1e30).expect("finite"),
            };
            oracle.learn(&[example]).expect("large, but numbers");
            assert!(predict(&oracle, &x, &[action])[0].is_finite());
        }
        let mut other = self::oracle();
        other.load(&oracle.save()).expect("a state like any other");
    }

    #[test]
    fn states_of_other_oracles_are_refused() {
        let mut oracle = oracle();
        let before = oracle.save();
        let other = |bounds, settings| {
            let other = LatentOutcome::new(bounds, settings).expect("in range");
            other.save()
        };
        let seed = LatentOutcomeSettings {
            seed: 6,
            ..settings()
        };
        for state in [other((-1.0, 2.0), settings()), other((-1.0, 3.0), seed)] {
            let error = oracle.load(&state).expect_err("another oracle's");
            assert!(matches!(error, LoadError::Mismatch { .. }), "{error}");
        }
        let mut damaged = self::oracle();
        damaged.curve.variance = f64::NAN;
        assert!(oracle.load(&damaged.save()).is_err());
        assert_eq!(oracle.save(), before);
    }

    #[test]
    fn values_are_frozen() {
        // A change here is value-breaking: the same events would give another model.
        let mut oracle = oracle();
        teach(&mut oracle, 0..200, f64::abs);
        let (x, _, _) = event(300, f64::abs);
        assert_eq!(predict(&oracle, &x, &[0.5])[0].to_bits(), FROZEN);
    }

    const FROZEN: u64 = 4601254675975540896;

    proptest! {
        #[test]
        fn settings_are_checked(outcomes in 0_usize..6000, low in any::<f64>()) {
            let settings = LatentOutcomeSettings { outcomes, hidden: [2, 2], ..settings() };
            let made = LatentOutcome::new((low, 1.0), settings);
            let good = (2..=4096).contains(&outcomes) && Bounds::new(low, 1.0).is_ok();
            prop_assert_eq!(made.is_ok(), good);
        }

        #[test]
        fn damaged_bytes_of_wide_contexts_are_taken_on_or_refused(
            place in any::<prop::sample::Index>(),
            flip in 1..=u8::MAX,
        ) {
            let wide = LatentOutcomeSettings { context_dim: 100_000, hidden: [2, 2], ..settings() };
            let mut oracle = LatentOutcome::new((0.0, 1.0), wide).expect("in range");
            let teach = |oracle: &mut LatentOutcome, events: std::ops::Range<u32>| {
                for event in events {
                    let entries = vec![(event, 1.0), (1_000 * event + 10, -2.0)];
                    let x = Context::sparse(100_000, entries).expect("sorted");
                    learn(oracle, &x, 0.5, 0.25).expect("a good event");
                }
            };
            teach(&mut oracle, 0..3);
            let before = oracle.save();
            let mut damaged = before.clone();
            let place = place.index(damaged.len());
            damaged[place] ^= flip;
            match oracle.load(&damaged) {
                Err(_) => prop_assert_eq!(oracle.save(), before),
                Ok(()) => teach(&mut oracle, 1..6),
            }
        }

        #[test]
        fn damaged_bytes_are_taken_on_or_refused(
            place in any::<prop::sample::Index>(),
            flip in 1..=u8::MAX,
        ) {
            let mut oracle = oracle();
            teach(&mut oracle, 0..3, f64::abs);
            let before = oracle.save();
            let mut damaged = before.clone();
            let place = place.index(damaged.len());
            damaged[place] ^= flip;
            match oracle.load(&damaged) {
                Err(_) => prop_assert_eq!(oracle.save(), before),
                Ok(()) => teach(&mut oracle, 3..6, f64::abs),
            }
        }
    }
}
