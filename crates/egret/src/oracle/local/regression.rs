use serde::{Deserialize, Serialize};

use crate::codec::{LoadError, saved_state};
use crate::event::{Context, ContextError};
use crate::numeric::{OutOfRange, bounds::Bounds, elementary::exp, pool::Pool};
use crate::oracle::{
    Example, GrowError, RegressionOracle,
    features::limits::{check_size, check_within},
    local::{
        context_features::ContextFeatures,
        least_squares::{self, Lane, LeastSquares, fill, padded},
    },
    network::{feature_scale, replay_memory::check_size_of_loss},
};

/// Least squares of the loss on the context, around each of a few actions.
///
/// f̂(x, a) = Σⱼ hⱼ(a) yⱼ(x),  yⱼ(x) = ½ + θⱼ·φ(x)
///
/// hⱼ are the hat functions of J evenly spaced actions: f̂ is linear in the action between two of them. θⱼ is the ridge
/// regression of all losses, each counted hⱼ(a) times, on φ(x): the features of the context scaled to any units, and their
/// squares if there are few. So no step size has to fit the noise, and more events are never worse: on outcomes of 0 or 1
/// and on rare ones this is hard to beat. What it cannot see are interactions of features.
///
/// The world may move. So there are two θⱼ at each action, one of all events and one that forgets those older than about
/// `memory` events, and each action weighs them by how well they predict there:
///
/// yⱼ = ½ + (1 − v)·θⱼ·φ + v·θⱼ′·φ,  v = 1/(1 + e^(−o)),  o += hⱼ(a) ((θⱼ error)² − (θⱼ′ error)²)/(2σ²),  o ∈ [−5, 5]
///
/// σ² is the mean squared error of f̂. Where nothing moves, the first wins everywhere; where something moves, it is
/// forgotten there and nowhere else.
///
/// Beyond 127 features of a context, their sums over 31 groups are used. Features that contexts got later are not read.
///
/// ```
/// use egret::{
///     Context, EventRng, Example, LocalRegression, LocalSettings, Loss, LossCurve, RegressionOracle, Stream, Weight,
/// };
///
/// let settings = LocalSettings { context_dim: 1, ..LocalSettings::default() };
/// let mut oracle = LocalRegression::new((5.0, 50.0), settings)?;
/// let mut rng = EventRng::new(1, 0, Stream::World);
/// for _ in 0..5_000 {
///     let (x, price, chance) = (rng.unit(), 5.0 + 45.0 * rng.unit(), rng.unit());
///     // Customers buy up to 15 + 20x, nine of ten of them.
///     let sold = price < 15.0 + 20.0 * x && chance < 0.9;
///     let loss = Loss::new(if sold { 1.0 - price / 50.0 } else { 1.0 })?;
///     let x = Context::dense(vec![x])?;
///     oracle.learn(&[Example { x: &x, action: &price, loss: loss.into(), weight: Weight::ONE }])?;
/// }
/// let (mut buffer, mut fhat) = (Vec::new(), Vec::new());
/// let x = Context::dense(vec![0.5])?;
/// LossCurve::<_, f64>::new(&oracle, &x, &mut buffer)?.predict(&vec![8.0, 22.0, 45.0], &mut fhat)?;
/// assert!(fhat[1] + 0.15 < fhat[0] && fhat[1] + 0.15 < fhat[2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LocalRegression {
    bounds: Bounds,
    settings: LocalSettings,
    features: ContextFeatures,
    places: Vec<Place>,
    /// σ², and how many events it is from.
    error: f64,
    events: u64,
    /// For learning.
    phi: Phi,
    scratch: least_squares::Scratch,
    /// For deciding, on many threads.
    buffers: Pool<Phi>,
    /// The kind of its saved state.
    kind: &'static str,
}

/// φ(x), as numbers and in lanes.
#[derive(Debug, Default)]
struct Phi {
    numbers: Vec<f64>,
    lanes: Vec<Lane>,
}

impl Phi {
    fn new(dim: usize) -> Self {
        Self {
            numbers: vec![0.0; dim],
            lanes: padded(dim),
        }
    }

    fn fill(&mut self, features: &ContextFeatures, x: &Context) {
        features.fill(x, &mut self.numbers);
        fill(&mut self.lanes, &self.numbers);
    }
}

/// Settings of a [`LocalRegression`], checked when it is made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LocalSettings {
    /// How many features a context has; may be 0.
    pub context_dim: usize,
    /// J, from 2 to 1,024; by default 16.
    pub places: usize,
    /// How many events the regression that forgets remembers, from 100 to 10⁹; by default 4,000.
    pub memory: f64,
}

impl Default for LocalSettings {
    fn default() -> Self {
        Self {
            context_dim: 0,
            places: 16,
            memory: 4_000.0,
        }
    }
}

/// What is learned around one action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Place {
    keeps: LeastSquares,
    forgets: LeastSquares,
    /// The event up to which the second has forgotten.
    forgotten: u64,
    /// o.
    odds: f64,
}

impl Place {
    /// What the two regressions say, and yⱼ.
    #[inline(always)]
    fn predict(&self, phi: &[Lane]) -> [f64; 3] {
        let share = 1.0 / (1.0 + exp(-self.odds));
        let (keeps, forgets) = (self.keeps.predict(phi), self.forgets.predict(phi));
        let mixed = 0.5 + (1.0 - share) * keeps + share * forgets;
        [0.5 + keeps, 0.5 + forgets, mixed]
    }
}

/// yⱼ of each place.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn predict(places: &[Place], phi: &[Lane], out: &mut [f64]) {
    for (out, place) in out.iter_mut().zip(places) {
        *out = place.predict(phi)[2];
    }
}

/// On the line from `low` to `high`.
fn between(low: f64, high: f64, toward_high: f64) -> f64 {
    low + toward_high * (high - low)
}

/// The prior variance of what the context adds to an item's loss, in variances of a loss: as much as a loss varies by itself. An item
/// learns from its own losses alone, which are few, and a wider prior lets their noise in: at 4, as on an interval, a hundred items
/// had 3 points less of what is possible after 4,000 decisions, and at ½ one less.
const OF_ITEMS: f64 = 1.0;

/// |o| is at most this, so that a hundred events can turn it.
const MOST_ODDS: f64 = 5.0;

/// σ² is over about so many events.
const ERROR_HORIZON: u64 = 5_000;

/// The largest variance of losses in [0, 1], where σ² starts.
const LARGEST_ERROR: f64 = 0.25;

/// Losses are not predicted better than this.
const LEAST_ERROR: f64 = 1e-12;

/// Forgetting is done when it amounts to this share of the memory.
const FORGETS_AT_ONCE: f64 = 1.0 / 32.0;

impl LocalRegression {
    /// For actions between `low` and `high`, both finite.
    pub fn new((low, high): (f64, f64), settings: LocalSettings) -> Result<Self, OutOfRange> {
        let LocalSettings {
            context_dim,
            places,
            memory,
        } = settings;
        let expected = "[2, 1024]";
        OutOfRange::unless(
            (2..=1024).contains(&places),
            "places",
            places as f64,
            expected,
        )?;
        OutOfRange::unless(
            (100.0..=1e9).contains(&memory),
            "memory",
            memory,
            "[100, 1e9]",
        )?;
        let length = ContextFeatures::len(context_dim);
        let empty = LeastSquares::new(length);
        let place = Place {
            keeps: empty.clone(),
            forgets: empty,
            forgotten: 0,
            odds: 0.0,
        };
        Ok(Self {
            bounds: Bounds::new(low, high)?,
            settings,
            features: ContextFeatures::new(context_dim),
            places: vec![place; places],
            error: LARGEST_ERROR,
            events: 0,
            phi: Phi::new(length),
            scratch: least_squares::Scratch::new(length),
            buffers: Pool::default(),
            kind: KIND,
        })
    }

    /// For a list of `settings.places` items, the j-th of which is the action j + ½: a regression of each.
    pub(crate) fn on_list(settings: LocalSettings) -> Result<Self, OutOfRange> {
        let local = Self::new((0.0, settings.places as f64), settings)?;
        let features = local.features.with_prior_variance(OF_ITEMS);
        Ok(Self {
            features,
            kind: LIST_KIND,
            ..local
        })
    }

    /// The two actions around this one: their places, and hⱼ of the second.
    fn around(&self, action: f64) -> (usize, f64) {
        let count = self.places.len() as f64;
        let share = (action - self.bounds.low()) / self.bounds.width();
        // Each place is the middle of one of J cells.
        let position = (share * count - 0.5).clamp(0.0, count - 1.0);
        let left = (position as usize).min(self.places.len() - 2);
        (left, position - left as f64)
    }

    fn check_context(&self, x: &Context) -> Result<(), ContextError> {
        x.expect_dim(self.settings.context_dim)?;
        check_size(x)
    }

    /// yⱼ(x) of some places.
    fn predict_places(&self, x: &Context, places: &[Place], out: &mut [f64]) {
        let length = ContextFeatures::len(self.features.dim());
        self.buffers.with(|phi| {
            if phi.numbers.len() != length {
                *phi = Phi::new(length);
            }
            phi.fill(&self.features, x);
            predict(places, &phi.lanes, out);
        });
    }

    fn step(&mut self, example: &Example<'_, Context, f64>) {
        let (left, toward_right) = self.around(*example.action);
        self.features.look_at(example.x, &mut self.phi.numbers);
        self.phi.fill(&self.features, example.x);
        let phi = &self.phi.lanes[..];
        let (loss, weight) = (example.loss.get(), example.weight.get());
        // Squared errors are compared within [0, 1], whatever a pseudo-loss is.
        let seen = loss.clamp(0.0, 1.0);
        let squared = |predicted: f64| {
            let error = predicted.clamp(0.0, 1.0) - seen;
            error * error
        };
        let mut error = 0.0;
        self.events += 1;
        for (place, hat) in [(left, 1.0 - toward_right), (left + 1, toward_right)] {
            if hat <= 0.0 {
                continue;
            }
            let place = &mut self.places[place];
            let [keeps, forgets, mixed] = place.predict(phi).map(squared);
            error += hat * mixed;
            let turn = hat * (keeps - forgets) / (2.0 * self.error);
            place.odds = (place.odds + turn).clamp(-MOST_ODDS, MOST_ODDS);
            let late = (self.events - place.forgotten) as f64 / self.settings.memory;
            if FORGETS_AT_ONCE <= late {
                place.forgets.forget(exp(late.min(30.0)));
                place.forgotten = self.events;
            }
            for squares in [&mut place.keeps, &mut place.forgets] {
                squares.learn(phi, loss - 0.5, hat * weight, &mut self.scratch);
            }
        }
        let count = self.events.min(ERROR_HORIZON) as f64;
        self.error = (self.error + (error - self.error) / count).clamp(LEAST_ERROR, LARGEST_ERROR);
    }
}

impl RegressionOracle<Context, f64> for LocalRegression {
    /// yⱼ(x).
    fn prepare(&self, x: &Context, prepared: &mut Vec<f64>) -> Result<(), ContextError> {
        self.check_context(x)?;
        let start = prepared.len();
        prepared.resize(start + self.places.len(), 0.0);
        self.predict_places(x, &self.places, &mut prepared[start..]);
        Ok(())
    }

    fn predict(&self, _: &Context, prepared: &[f64], actions: &Vec<f64>, out: &mut [f64]) {
        for (out, &action) in out.iter_mut().zip(actions) {
            if action.is_nan() {
                *out = action;
                continue;
            }
            let (left, toward_right) = self.around(action);
            *out = between(prepared[left], prepared[left + 1], toward_right);
        }
    }

    /// From two places.
    fn predict_one(
        &self,
        x: &Context,
        action: &f64,
        _: &mut Vec<f64>,
    ) -> Result<f64, ContextError> {
        self.check_context(x)?;
        if action.is_nan() {
            return Ok(*action);
        }
        let (left, toward_right) = self.around(*action);
        let mut ends = [0.0; 2];
        self.predict_places(x, &self.places[left..left + 2], &mut ends);
        Ok(between(ends[0], ends[1], toward_right))
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
            self.step(example);
        }
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        let saved = Saved {
            bounds: (self.bounds.low(), self.bounds.high()),
            settings: self.settings,
            read: self.features.dim(),
            scale: self.features.state().clone(),
            places: self.places.clone(),
            error: self.error,
            events: self.events,
        };
        saved_state::to_bytes(self.kind, &saved)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), LoadError> {
        let saved: Saved = saved_state::from_bytes(self.kind, state)?;
        let bounds = (self.bounds.low(), self.bounds.high());
        saved_state::expect_same("an interval", &saved.bounds, &bounds)?;
        saved_state::expect_same("settings", &saved.settings, &self.settings)?;
        saved_state::expect_same("features read:", &saved.read, &self.features.dim())?;
        self.features.check(&saved.scale)?;
        let count = self.places.len();
        saved_state::expect_same("places:", &saved.places.len(), &count)?;
        saved_state::expect_count("events", saved.events)?;
        saved_state::expect_numbers("squared error", &[saved.error], 1, |error| {
            (LEAST_ERROR..=LARGEST_ERROR).contains(&error)
        })?;
        let length = ContextFeatures::len(self.features.dim());
        for place in &saved.places {
            place.keeps.check(length)?;
            place.forgets.check(length)?;
            saved_state::expect_numbers("log odds", &[place.odds], 1, |odds| {
                odds.abs() <= MOST_ODDS
            })?;
            if saved.events < place.forgotten {
                return Err(LoadError::Invalid("more was forgotten than learned".into()));
            }
        }
        self.features.restore(saved.scale);
        self.places = saved.places;
        self.error = saved.error;
        self.events = saved.events;
        Ok(())
    }

    fn squared_error(&self) -> Option<f64> {
        Some(self.error)
    }

    /// It goes on with the features it had.
    fn grow(&mut self, dim: usize) -> Result<bool, GrowError> {
        self.settings.context_dim = dim;
        Ok(false)
    }
}

const KIND: &str = "local regression";

/// Another kind, for its φ is scaled otherwise.
const LIST_KIND: &str = "regression of each item";

#[derive(Serialize, Deserialize)]
struct Saved {
    bounds: (f64, f64),
    settings: LocalSettings,
    read: usize,
    scale: feature_scale::State,
    places: Vec<Place>,
    error: f64,
    events: u64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::{PseudoLoss, Weight};
    use crate::numeric::{EventRng, Stream};

    const DIM: usize = 2;

    fn settings() -> LocalSettings {
        LocalSettings {
            context_dim: DIM,
            ..LocalSettings::default()
        }
    }

    fn oracle() -> LocalRegression {
        LocalRegression::new((-1.0, 3.0), settings()).expect("in range")
    }

    /// A context in odd units, an action, a chance.
    fn event(number: u64) -> (Context, f64, f64) {
        let mut rng = EventRng::new(3, number, Stream::World);
        let x = Context::dense(vec![1000.0 * rng.unit(), rng.unit()]).expect("finite");
        (x, 4.0 * rng.unit() - 1.0, rng.unit())
    }

    fn learn(
        oracle: &mut LocalRegression,
        x: &Context,
        action: f64,
        loss: f64,
    ) -> Result<(), ContextError> {
        oracle.learn(&[Example {
            x,
            action: &action,
            loss: PseudoLoss::new(loss).expect("finite"),
            weight: Weight::ONE,
        }])
    }

    fn predict(oracle: &LocalRegression, x: &Context, actions: &[f64]) -> Vec<f64> {
        let (mut prepared, mut out) = (Vec::new(), vec![0.0; actions.len()]);
        oracle.prepare(x, &mut prepared).expect("readable");
        oracle.predict(x, &prepared, &actions.to_vec(), &mut out);
        out
    }

    /// P(loss) on [0, 1]², of x₁ and the action as shares.
    type Mean = fn(f64, f64) -> f64;

    fn mean_at(mean: Mean, x: &Context, action: f64) -> f64 {
        let x = x.as_dense().expect("dense")[0] / 1000.0;
        mean(x, (action + 1.0) / 4.0)
    }

    /// Outcomes of 0 and 1.
    fn teach(oracle: &mut LocalRegression, events: std::ops::Range<u64>, mean: Mean) {
        for number in events {
            let (x, action, chance) = event(number);
            let loss = f64::from(u8::from(chance < mean_at(mean, &x, action)));
            learn(oracle, &x, action, loss).expect("a good event");
        }
    }

    /// The mean of (f̂ − f*)² over events that were not learned.
    fn distance(oracle: &LocalRegression, mean: Mean) -> f64 {
        let squares = (1_000_000..1_000_400).map(|number| {
            let (x, action, _) = event(number);
            (predict(oracle, &x, &[action])[0] - mean_at(mean, &x, action)).powi(2)
        });
        squares.sum::<f64>() / 400.0
    }

    const VALLEY: Mean = |x, u| (u - 0.2 - 0.6 * x).abs();

    #[test]
    fn noise_averages_out() {
        let mut oracle = oracle();
        let mut found = Vec::new();
        for block in 0..4 {
            let end = 500 * 4_u64.pow(block);
            let start = if block == 0 { 0 } else { end / 4 };
            teach(&mut oracle, start..end, VALLEY);
            found.push(distance(&oracle, VALLEY));
        }
        // Four times the events, at most 0.45 times the error, until the bias of hats and squares is left.
        assert!(
            found[1] < 0.45 * found[0] && found[2] < 0.45 * found[1],
            "{found:?}"
        );
        assert!(found[3] < 0.7 * found[2] && found[3] < 0.001, "{found:?}");
    }

    #[test]
    fn rare_outcomes_are_told_apart() {
        let rare: Mean = |_, u| if u < 0.5 { 0.99 } else { 0.97 };
        let mut oracle = oracle();
        teach(&mut oracle, 0..40_000, rare);
        let (x, _, _) = event(7);
        let fhat = predict(&oracle, &x, &[0.0, 2.0]);
        assert!(
            (fhat[0] - 0.99).abs() < 0.005 && (fhat[1] - 0.97).abs() < 0.005,
            "{fhat:?}"
        );
    }

    /// Losses of 0.2 near one place and of 0.8 near the next, within a quarter of the way: an eighth of what a place learns
    /// is of the other.
    #[test]
    fn an_event_counts_most_for_the_nearest_place() {
        let mut oracle = oracle();
        let (x, _, _) = event(7);
        // Places 5 and 6 of 16 on [−1, 3] are at 0.375 and 0.625.
        let (low, high) = (0.375, 0.625);
        for number in 0..4_000 {
            let (_, _, chance) = event(number);
            let (near, loss) = match number % 2 {
                0 => (low + 0.25 * (high - low) * chance, 0.2),
                _ => (high - 0.25 * (high - low) * chance, 0.8),
            };
            learn(&mut oracle, &x, near, loss).expect("a good event");
        }
        let fhat = predict(&oracle, &x, &[low, high]);
        assert!(
            (fhat[0] - 0.275).abs() < 0.03 && (fhat[1] - 0.725).abs() < 0.03,
            "{fhat:?}"
        );
    }

    #[test]
    fn what_moved_is_forgotten_there_and_nowhere_else() {
        let before: Mean = |_, u| if u < 0.5 { 0.3 } else { 0.7 };
        let after: Mean = |_, u| if u < 0.5 { 0.3 } else { 0.1 };
        let mut oracle = oracle();
        teach(&mut oracle, 0..20_000, before);
        let odds = |oracle: &LocalRegression, places: std::ops::Range<usize>| {
            let places = &oracle.places[places];
            places.iter().map(|place| place.odds).sum::<f64>() / places.len() as f64
        };
        assert!(odds(&oracle, 0..16) < -0.5, "{}", odds(&oracle, 0..16));
        teach(&mut oracle, 20_000..25_000, after);
        assert!(odds(&oracle, 0..6) < 0.0 && 4.0 < odds(&oracle, 9..16));
        let moved = distance(&oracle, after);
        assert!(moved < 0.02, "{moved}");
        for place in &mut oracle.places {
            place.odds = -MOST_ODDS;
        }
        assert!(2.0 * moved < distance(&oracle, after));
    }

    #[test]
    fn a_loaded_state_goes_on_to_the_bit_and_groups_change_nothing() {
        let mut one = oracle();
        teach(&mut one, 0..300, VALLEY);
        let mut other = oracle();
        other.load(&one.save()).expect("the same oracle");
        teach(&mut one, 300..400, VALLEY);
        let events: Vec<_> = (300..400).map(event).collect();
        let losses: Vec<PseudoLoss> = (events.iter())
            .map(|(x, action, chance)| {
                let loss = f64::from(u8::from(*chance < mean_at(VALLEY, x, *action)));
                PseudoLoss::new(loss).expect("finite")
            })
            .collect();
        let batch: Vec<_> = (events.iter().zip(&losses))
            .map(|((x, action, _), &loss)| Example {
                x,
                action,
                loss,
                weight: Weight::ONE,
            })
            .collect();
        other.learn(&batch).expect("good events");
        assert_eq!(one.save(), other.save());
    }

    #[test]
    fn what_cannot_be_learned_is_refused_and_changes_nothing() {
        let mut oracle = oracle();
        teach(&mut oracle, 0..10, VALLEY);
        let before = oracle.save();
        let (good, action, _) = event(1);
        let short = Context::dense(vec![0.0; DIM - 1]).expect("finite");
        let huge = Context::dense(vec![1e31; DIM]).expect("finite");
        assert!(learn(&mut oracle, &short, action, 0.5).is_err());
        assert!(learn(&mut oracle, &huge, action, 0.5).is_err());
        assert!(learn(&mut oracle, &good, f64::NAN, 0.5).is_err());
        assert!(learn(&mut oracle, &good, 3.5, 0.5).is_err());
        assert!(learn(&mut oracle, &good, action, 1e31).is_err());
        assert_eq!(oracle.save(), before);
        let mut other = LocalRegression::new((-1.0, 2.0), settings()).expect("in range");
        assert!(other.load(&before).is_err());
    }

    /// 40 items whose mean losses are linear in the context, and 25 losses of 0 or 1 for each: how far off f̂ is from the mean.
    fn error_on_a_list(mut oracle: LocalRegression) -> f64 {
        let items = oracle.settings.places;
        let mut rng = EventRng::new(5, 0, Stream::World);
        let slopes: Vec<f64> = (0..items * DIM).map(|_| 0.3 * rng.unit() - 0.15).collect();
        let mean = |x: &[f64], item: usize| {
            let own = slopes[item * DIM..][..DIM].iter().zip(x);
            0.5 + own.map(|(slope, x)| slope * x).sum::<f64>()
        };
        let (mut squares, checked) = (0.0, 1_000);
        for event in 0..25 * items + checked {
            let x: Vec<f64> = (0..DIM).map(|_| 2.0 * rng.unit() - 1.0).collect();
            let item = event % items;
            let (mean, action) = (mean(&x, item), item as f64 + 0.5);
            let x = Context::dense(x).expect("finite");
            if event < 25 * items {
                let loss = f64::from(u8::from(rng.unit() < mean));
                learn(&mut oracle, &x, action, loss).expect("a good event");
            } else {
                let fhat = oracle.predict_one(&x, &action, &mut Vec::new());
                squares += (fhat.expect("a good context") - mean).powi(2);
            }
        }
        (squares / checked as f64).sqrt()
    }

    #[test]
    fn items_with_few_losses_are_predicted_better_under_a_prior_of_their_own() {
        let settings = LocalSettings {
            places: 40,
            ..settings()
        };
        let list = LocalRegression::on_list(settings).expect("in range");
        let wide = LocalRegression::new((0.0, 40.0), settings).expect("in range");
        // Neither knows the other's scale.
        let mut other = LocalRegression::new((0.0, 40.0), settings).expect("in range");
        assert!(other.load(&list.save()).is_err());
        let mut other = LocalRegression::on_list(settings).expect("in range");
        assert!(other.load(&wide.save()).is_err() && other.load(&list.save()).is_ok());
        let [list, wide] = [list, wide].map(error_on_a_list);
        assert!(list < 0.9 * wide, "{list} {wide}");
    }

    #[test]
    fn the_largest_numbers_stay_numbers() {
        let mut oracle = oracle();
        for number in 0..40 {
            let (_, action, _) = event(number);
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
    fn one_action_is_predicted_as_among_many() {
        let mut oracle = oracle();
        teach(&mut oracle, 0..300, VALLEY);
        for number in 300..400 {
            let (x, action, _) = event(number);
            let one = oracle.predict_one(&x, &action, &mut Vec::new());
            let many = predict(&oracle, &x, &[0.0, action]);
            assert_eq!(one.expect("readable").to_bits(), many[1].to_bits());
        }
        let (x, _, _) = event(1);
        let nan = oracle.predict_one(&x, &f64::NAN, &mut Vec::new());
        assert!(nan.expect("readable").is_nan());
        let short = Context::dense(vec![0.0; DIM - 1]).expect("finite");
        assert!(oracle.predict_one(&short, &0.0, &mut Vec::new()).is_err());
    }

    #[test]
    fn later_features_are_left_to_others() {
        let mut oracle = oracle();
        teach(&mut oracle, 0..100, VALLEY);
        let (x, action, _) = event(5);
        let before = predict(&oracle, &x, &[action]);
        assert_eq!(oracle.grow(DIM + 3), Ok(false));
        let mut values = x.as_dense().expect("dense").to_vec();
        values.extend([1.0, 2.0, 3.0]);
        let longer = Context::dense(values).expect("finite");
        assert_eq!(predict(&oracle, &longer, &[action]), before);
        assert!(oracle.prepare(&x, &mut Vec::new()).is_err());
        learn(&mut oracle, &longer, action, 1.0).expect("a good event");
        let mut other = self::oracle();
        other.grow(DIM + 3).expect("always");
        other.load(&oracle.save()).expect("the same oracle");
    }

    #[test]
    fn values_are_frozen() {
        // A change here is value-breaking: the same events would give another model.
        let mut oracle = oracle();
        teach(&mut oracle, 0..200, VALLEY);
        let (x, _, _) = event(300);
        assert_eq!(predict(&oracle, &x, &[0.5])[0].to_bits(), FROZEN);
    }

    const FROZEN: u64 = 4589347119266257656;

    proptest! {
        #[test]
        fn settings_are_checked(places in 0_usize..2000, memory in any::<f64>()) {
            let settings = LocalSettings { places, memory, ..settings() };
            let good = (2..=1024).contains(&places) && (100.0..=1e9).contains(&memory);
            prop_assert_eq!(LocalRegression::new((0.0, 1.0), settings).is_ok(), good);
        }

        #[test]
        fn damaged_bytes_are_taken_on_or_refused(
            place in any::<prop::sample::Index>(),
            flip in 1..=u8::MAX,
        ) {
            let mut oracle = oracle();
            teach(&mut oracle, 0..30, VALLEY);
            let before = oracle.save();
            let mut damaged = before.clone();
            let place = place.index(damaged.len());
            damaged[place] ^= flip;
            match oracle.load(&damaged) {
                Err(_) => prop_assert_eq!(oracle.save(), before),
                Ok(()) => teach(&mut oracle, 30..40, VALLEY),
            }
        }
    }
}
