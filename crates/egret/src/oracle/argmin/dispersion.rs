use serde::{Deserialize, Serialize};

use crate::codec::LoadError;
use crate::event::{Context, ContextError};
use crate::numeric::{OutOfRange, bounds::Bounds};
use crate::oracle::{
    ArgminModel, Example, GrowError, LearningRate, MonotonePieces, RegressionOracle,
    argmin::{
        curve::{self, Dispersion, HEAD, START},
        network_of_eight::EIGHT,
    },
    optimizer::adam::Adam,
};

/// The paper's regression oracle on an interval: a best action â, and how the loss grows away
/// from it (Rucker et al. 2023, details of the online experiment).
///
/// f̂(x, a) = q + Σ_{k ∈ {1, 3/2, 2}} |w_k| · |z|ᵏ,  z = (â(x) − a) / (high − low)
/// â(x) = low + (high − low) · sigmoid(y(x))
///
/// with one set of three weights for z ≥ 0 and one for z < 0. y is the model: a
/// [`LinearArgmin`](crate::LinearArgmin), a [`NetworkArgmin`](crate::NetworkArgmin), or your own. q starts
/// at 0 and the weights at 1.
///
/// A batch is one step of Adam on the mean of weight · (f̂ − loss)², f̂ not clamped. It costs one pass over the contexts
/// and one over the parameters, and allocates nothing. A batch whose gradient overflows is refused.
///
/// ```
/// use egret::{
///     ArgminDispersion, Context, Example, LearningRate, LinearArgmin, Loss, LossCurve,
///     RegressionOracle, Weight,
/// };
///
/// let model = LinearArgmin::new(1)?;
/// let mut oracle = ArgminDispersion::new(model, (0.0, 10.0), LearningRate::default())?;
/// let x = Context::dense(vec![1.0])?;
/// for round in 0..3_000 {
///     let action = f64::from(round % 11);
///     let loss = Loss::new(0.1 * (action - 7.0).abs())?;
///     let (x, action, weight) = (&x, &action, Weight::ONE);
///     oracle.learn(&[Example { x, action, loss: loss.into(), weight }])?;
/// }
///
/// let mut buffer = Vec::new();
/// let curve = LossCurve::new(&oracle, &x, &mut buffer)?;
/// let (pieces, prepared) = curve.monotone_pieces().expect("the argmin is known");
/// assert!((pieces.argmin(prepared) - 7.0).abs() < 0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ArgminDispersion<M> {
    model: M,
    bounds: Bounds,
    /// The head's, then the model's.
    parameters: Vec<f64>,
    adam: Adam,
    gradient: Vec<f64>,
    scratch: Vec<f64>,
}

impl<M: ArgminModel> ArgminDispersion<M> {
    /// For actions between `low` and `high`, both finite.
    pub fn new(
        model: M,
        (low, high): (f64, f64),
        learning_rate: LearningRate,
    ) -> Result<Self, OutOfRange> {
        let bounds = Bounds::new(low, high)?;
        let mut parameters = START.to_vec();
        parameters.append(&mut model.initial());
        Ok(Self {
            adam: Adam::new(parameters.len(), learning_rate),
            gradient: vec![0.0; parameters.len()],
            scratch: vec![0.0; model.scratch_of_eight()],
            parameters,
            bounds,
            model,
        })
    }

    fn split(&self) -> (&[f64; HEAD], &[f64]) {
        split(&self.parameters)
    }

    /// Makes `gradient` that of the mean over the batch of weight · (f̂ − loss)².
    fn differentiate(&mut self, batch: &[Example<'_, Context, f64>]) {
        let Self {
            model,
            bounds,
            parameters,
            gradient,
            scratch,
            ..
        } = self;
        let (head, parameters) = split(parameters);
        gradient.fill(0.0);
        let (head_gradient, model_gradient) = gradient.split_at_mut(HEAD);
        let scale = 2.0 / batch.len() as f64;
        // By y, and what the example adds to the head's gradient.
        let mut by_y = |example: &Example<'_, Context, f64>, y: f64| {
            let (share, share_by_y) = sigmoid(y);
            let at = Dispersion::new(head, bounds, share).gradient(head, *example.action);
            let by_value = scale * example.weight.get() * (at.value - example.loss.get());
            for (sum, by) in head_gradient.iter_mut().zip(at.by_head) {
                *sum += by_value * by;
            }
            // z = sigmoid(y) + a term without y: the width cancels.
            by_value * at.by_z * share_by_y
        };
        let (eights, rest) = batch.as_chunks::<EIGHT>();
        for eight in eights {
            let xs = eight.map(|example| example.x);
            let y = model.forward_eight(parameters, xs, scratch);
            let dy = std::array::from_fn(|place| by_y(&eight[place], y[place]));
            model.backward_eight(parameters, xs, dy, scratch, model_gradient);
        }
        let scratch = &mut scratch[..model.scratch()];
        for example in rest {
            let y = model.forward(parameters, example.x, scratch);
            let dy = by_y(example, y);
            model.backward(parameters, example.x, dy, scratch, model_gradient);
        }
    }
}

fn split(parameters: &[f64]) -> (&[f64; HEAD], &[f64]) {
    parameters
        .split_first_chunk()
        .expect("the head's parameters come first")
}

/// 1/(1 + e⁻ʸ) and its derivative, neither of which overflows or cancels.
fn sigmoid(y: f64) -> (f64, f64) {
    let e = libm::exp(-y.abs());
    let large = 1.0 / (1.0 + e);
    let small = e * large;
    (if y >= 0.0 { large } else { small }, small * large)
}

impl<M: ArgminModel> RegressionOracle<Context, f64> for ArgminDispersion<M> {
    fn prepare(&self, x: &Context, prepared: &mut Vec<f64>) -> Result<(), ContextError> {
        x.expect_dim(self.model.dim())?;
        let (head, parameters) = self.split();
        // The buffer is scratch space first, so that nothing is allocated once it has grown.
        prepared.resize(self.model.scratch(), 0.0);
        let y = self.model.forward(parameters, x, prepared);
        if y.is_nan() {
            return Err(overflow());
        }
        prepared.clear();
        Dispersion::new(head, &self.bounds, sigmoid(y).0).write(prepared);
        Ok(())
    }

    fn predict(&self, _: &Context, prepared: &[f64], actions: &Vec<f64>, out: &mut [f64]) {
        curve::predict(&Dispersion::read(prepared), actions, out);
    }

    fn learn(&mut self, batch: &[Example<'_, Context, f64>]) -> Result<(), ContextError> {
        for example in batch {
            example.x.expect_dim(self.model.dim())?;
        }
        if batch.is_empty() {
            return Ok(());
        }
        self.differentiate(batch);
        if !Adam::accepts(&self.gradient) {
            return Err(overflow());
        }
        self.adam.step(&mut self.parameters, &self.gradient);
        Ok(())
    }

    /// The learning rate is part of the state: a loaded oracle continues exactly as the saved one.
    fn save(&self) -> Vec<u8> {
        let state = State {
            shape: self.model.shape(),
            low: self.bounds.low(),
            high: self.bounds.high(),
            parameters: self.parameters.clone(),
            adam: self.adam.clone(),
        };
        postcard::to_stdvec(&state).expect("plain numbers can be written")
    }

    fn load(&mut self, state: &[u8]) -> Result<(), LoadError> {
        let (state, rest): (State, _) = postcard::take_from_bytes(state)?;
        let expected = describe(&self.model.shape(), self.bounds.low(), self.bounds.high());
        let found = describe(&state.shape, state.low, state.high);
        // By words, so that bounds that are NaN differ too.
        if found != expected {
            return Err(LoadError::Mismatch { found, expected });
        }
        let count = self.parameters.len();
        if state.parameters.len() != count {
            return Err(LoadError::Mismatch {
                found: format!("{} parameters", state.parameters.len()),
                expected: format!("{count} parameters"),
            });
        }
        if let Some(bad) = state.parameters.iter().find(|p| !p.is_finite()) {
            return Err(LoadError::Invalid(format!("a parameter is {bad}")));
        }
        state.adam.check(count)?;
        if !rest.is_empty() {
            let more = rest.len();
            return Err(LoadError::Invalid(format!("{more} bytes too many")));
        }
        self.parameters = state.parameters;
        self.adam = state.adam;
        Ok(())
    }

    /// The parameters of new features start at 0.
    fn grow(&mut self, dim: usize) -> Result<bool, GrowError> {
        let before = self.model.initial().len();
        let place = self.model.grow(dim);
        let place = place.ok_or(GrowError::Oracle(std::any::type_name::<M>()))?;
        let count = self.model.initial().len() - before;
        let zeros = || std::iter::repeat_n(0.0, count);
        let place = HEAD + place;
        self.parameters.splice(place..place, zeros());
        self.adam.grow(place, count);
        self.gradient = vec![0.0; self.parameters.len()];
        self.scratch = vec![0.0; self.model.scratch_of_eight()];
        Ok(true)
    }

    fn monotone_pieces(&self) -> Option<&dyn MonotonePieces> {
        Some(self)
    }
}

/// f̂ decreases up to â and increases after it, smooth on either side. Clamping to [0, 1] adds at most two kinks on each
/// side.
impl<M: ArgminModel> MonotonePieces for ArgminDispersion<M> {
    fn argmin(&self, prepared: &[f64]) -> f64 {
        Dispersion::read(prepared).argmin()
    }

    fn break_points(&self, prepared: &[f64], out: &mut Vec<f64>) {
        out.push(self.argmin(prepared));
    }
}

fn overflow() -> ContextError {
    ContextError::Refused(
        "a feature, action or weight is not a number, or too large to compute with".into(),
    )
}

fn describe(shape: &str, low: f64, high: f64) -> String {
    format!("{shape} on [{low:?}, {high:?}]")
}

/// What is saved.
#[derive(Serialize, Deserialize)]
struct State {
    shape: String,
    low: f64,
    high: f64,
    parameters: Vec<f64>,
    adam: Adam,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::{Loss, Weight};
    use crate::numeric::{EventRng, Stream};
    use crate::oracle::{LinearArgmin, LossCurve, NetworkArgmin};

    const DIM: usize = 5;

    struct Observed {
        x: Context,
        action: f64,
        loss: Loss,
        weight: Weight,
    }

    /// A best action that the linear model can express, and a loss that the curve can.
    fn events(seed: u64, n: usize) -> Vec<Observed> {
        let mut rng = EventRng::new(seed, 0, Stream::World);
        let mut event = || {
            let mut features = [0.0; DIM];
            rng.fill_unit(&mut features);
            let y = 2.0 * features[0] - 3.0 * features[1] + features[4];
            let action = -2.0 + 4.0 * rng.unit();
            let z = sigmoid(y).0 - (action + 2.0) / 4.0;
            let loss = 0.05 + if z >= 0.0 { 0.9 * z } else { 0.8 * z * z };
            Observed {
                x: Context::dense(features.to_vec()).expect("finite"),
                action,
                loss: Loss::new(loss).expect("at most 0.95"),
                weight: Weight::new(3.0 * rng.unit()).expect("positive"),
            }
        };
        (0..n).map(|_| event()).collect()
    }

    fn batch(events: &[Observed]) -> Vec<Example<'_, Context, f64>> {
        events
            .iter()
            .map(|event| Example {
                x: &event.x,
                action: &event.action,
                loss: event.loss.into(),
                weight: event.weight,
            })
            .collect()
    }

    fn oracle<M: ArgminModel>(model: M) -> ArgminDispersion<M> {
        ArgminDispersion::new(model, (-2.0, 2.0), LearningRate::default()).expect("in range")
    }

    fn linear() -> ArgminDispersion<LinearArgmin> {
        oracle(LinearArgmin::random(DIM, 3).expect("small"))
    }

    fn network() -> ArgminDispersion<NetworkArgmin> {
        oracle(NetworkArgmin::with_hidden(DIM, [7, 11], 3).expect("small"))
    }

    fn predict<M: ArgminModel>(oracle: &ArgminDispersion<M>, x: &Context, action: f64) -> f64 {
        let (mut prepared, mut out) = (Vec::new(), [0.0]);
        oracle.prepare(x, &mut prepared).expect("the right length");
        oracle.predict(x, &prepared, &vec![action], &mut out);
        out[0]
    }

    /// The mean over the batch of weight · (f̂ − loss)².
    fn objective<M: ArgminModel>(oracle: &ArgminDispersion<M>, events: &[Observed]) -> f64 {
        let term = |event: &Observed| {
            let residual = predict(oracle, &event.x, event.action) - event.loss.get();
            event.weight.get() * residual * residual
        };
        events.iter().map(term).sum::<f64>() / events.len() as f64
    }

    fn teach<M: ArgminModel>(oracle: &mut ArgminDispersion<M>, events: &[Observed]) {
        for chunk in events.chunks(8) {
            oracle.learn(&batch(chunk)).expect("the right length");
        }
    }

    fn check_gradient<M: ArgminModel>(mut oracle: ArgminDispersion<M>) {
        let mut rng = EventRng::new(5, 0, Stream::World);
        for seed in 0..20 {
            for parameter in &mut oracle.parameters {
                *parameter = 4.0 * rng.unit() - 2.0;
            }
            let events = events(seed, 8);
            oracle.differentiate(&batch(&events));
            let gradient = oracle.gradient.clone();
            let largest = gradient.iter().fold(0.0_f64, |most, g| most.max(g.abs()));
            for (index, &found) in gradient.iter().enumerate() {
                let parameter = oracle.parameters[index];
                let step = 1e-6;
                let mut at = |value: f64| {
                    oracle.parameters[index] = value;
                    objective(&oracle, &events)
                };
                let expected = (at(parameter + step) - at(parameter - step)) / (2.0 * step);
                oracle.parameters[index] = parameter;
                let off = (found - expected).abs();
                assert!(
                    off <= 1e-5 * found.abs() + 1e-8 * largest,
                    "{seed}, parameter {index}: {found}, by differences {expected}"
                );
            }
        }
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        check_gradient(linear());
        check_gradient(network());
    }

    #[test]
    fn both_signs_of_z_are_among_the_events() {
        let oracle = linear();
        let below = events(0, 8)
            .iter()
            .filter(|event| {
                let mut prepared = Vec::new();
                oracle
                    .prepare(&event.x, &mut prepared)
                    .expect("the right length");
                event.action < oracle.argmin(&prepared)
            })
            .count();
        assert!((1..8).contains(&below), "{below}");
    }

    #[test]
    fn predictions_are_the_formula() {
        let mut oracle = oracle(LinearArgmin::new(2).expect("small"));
        let learned = [
            0.1, 0.5, -0.25, 2.0, -1.5, 0.75, 0.125, // the head
            0.3, 1.0, -2.0, // the model
        ];
        oracle.parameters.copy_from_slice(&learned);
        let x = Context::dense(vec![0.5, 0.25]).expect("finite");
        let y = 0.3 + 0.5 - 0.5;
        let argmin = -2.0 + 4.0 / (1.0 + f64::exp(-y));
        for step in 0..=40 {
            let action = -2.0 + 0.1 * f64::from(step);
            let z = (argmin - action) / 4.0;
            let w: [f64; 3] = if z >= 0.0 {
                [0.5, 0.25, 2.0]
            } else {
                [1.5, 0.75, 0.125]
            };
            let expected = 0.1 + w[0] * z.abs() + w[1] * z.abs().powf(1.5) + w[2] * z * z;
            let found = predict(&oracle, &x, action);
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
    }

    #[test]
    fn a_step_by_hand() {
        // â = 1/2, z = 1/4: f̂ = 1/4 + 1/8 + 1/16 = 0.4375, which is too much for every
        // parameter on this side, and z is too large. Adam's first step is the rate.
        let mut oracle = ArgminDispersion::new(
            LinearArgmin::new(2).expect("small"),
            (0.0, 1.0),
            LearningRate::default(),
        )
        .expect("in range");
        let event = Observed {
            x: Context::dense(vec![2.0, -1.0]).expect("finite"),
            action: 0.25,
            loss: Loss::new(0.0).expect("a loss"),
            weight: Weight::new(0.5).expect("positive"),
        };
        oracle.differentiate(&batch(std::slice::from_ref(&event)));
        // 2 · 0.5 · 0.4375, times (1 + 1.5/2 + 2/4) · 1/4 for y.
        let (by_value, by_y) = (0.4375, 0.4375 * 2.25 * 0.25);
        assert_eq!(
            oracle.gradient,
            [
                by_value,
                by_value * 0.25,
                by_value * 0.125,
                by_value * 0.0625,
                0.0,
                0.0,
                0.0,
                by_y,
                by_y * 2.0,
                -by_y,
            ]
        );
        teach(&mut oracle, &[event]);
        let expected = [-0.02, 0.98, 0.98, 0.98, 1.0, 1.0, 1.0, -0.02, -0.02, 0.02];
        for (found, expected) in oracle.parameters.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-7, "{found} {expected}");
        }
    }

    #[test]
    fn a_batch_is_one_step_and_none_is_no_step() {
        let mut oracle = linear();
        let before = oracle.save();
        oracle.learn(&[]).expect("nothing to refuse");
        assert_eq!(oracle.save(), before);
        let (mut once, mut twice) = (oracle.clone(), oracle);
        let events = events(1, 8);
        once.learn(&batch(&events)).expect("the right length");
        twice.learn(&batch(&events[..4])).expect("the right length");
        twice.learn(&batch(&events[4..])).expect("the right length");
        assert_ne!(once.parameters, twice.parameters);
    }

    fn check_learning<M: ArgminModel>(mut oracle: ArgminDispersion<M>, most: f64) {
        let test = events(1, 1_000);
        let before = objective(&oracle, &test);
        teach(&mut oracle, &events(2, 40_000));
        let after = objective(&oracle, &test);
        assert!(after < most && most < 0.1 * before, "{before} to {after}");
    }

    #[test]
    fn learning_finds_what_is_there() {
        check_learning(linear(), 2e-4);
        check_learning(network(), 1e-3);
    }

    fn check_sparse<M: ArgminModel + Clone>(oracle: ArgminDispersion<M>) {
        let (mut dense, mut sparse) = (oracle.clone(), oracle);
        let mut dense_events = events(4, 80);
        let mut sparse_events = events(4, 80);
        for (index, (left, right)) in dense_events.iter_mut().zip(&mut sparse_events).enumerate() {
            let mut entries = Vec::new();
            left.x.for_each(|feature, value| {
                if (feature + index) % 3 == 0 {
                    entries.push((feature as u32, value));
                }
            });
            let mut values = vec![0.0; DIM];
            for &(feature, value) in &entries {
                values[feature as usize] = value;
            }
            left.x = Context::dense(values).expect("finite");
            right.x = Context::sparse(DIM, entries).expect("sorted");
        }
        teach(&mut dense, &dense_events);
        teach(&mut sparse, &sparse_events);
        for (left, right) in dense_events.iter().zip(&sparse_events) {
            let found = predict(&sparse, &right.x, right.action);
            let expected = predict(&dense, &left.x, left.action);
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }

    #[test]
    fn dense_and_sparse_contexts_agree() {
        check_sparse(linear());
        check_sparse(network());
    }

    #[test]
    fn the_pieces_meet_at_the_argmin() {
        let mut oracle = network();
        teach(&mut oracle, &events(6, 400));
        for event in events(7, 50) {
            let mut buffer = Vec::new();
            let curve = LossCurve::new(&oracle, &event.x, &mut buffer).expect("the right length");
            let (pieces, prepared) = curve.monotone_pieces().expect("known");
            let argmin = pieces.argmin(prepared);
            assert!((-2.0..=2.0).contains(&argmin));
            let mut points = Vec::new();
            pieces.break_points(prepared, &mut points);
            assert_eq!(points, [argmin]);
            let least = predict(&oracle, &event.x, argmin);
            assert!(least <= predict(&oracle, &event.x, event.action));
        }
    }

    fn check_save<M: ArgminModel + Clone>(fresh: ArgminDispersion<M>) {
        let mut saved = fresh.clone();
        teach(&mut saved, &events(8, 100));
        let mut loaded = fresh;
        loaded.load(&saved.save()).expect("just saved");
        for _ in 0..3 {
            for event in events(9, 50) {
                let found = predict(&loaded, &event.x, event.action);
                let expected = predict(&saved, &event.x, event.action);
                assert_eq!(found.to_bits(), expected.to_bits());
            }
            assert_eq!(loaded.save(), saved.save());
            teach(&mut saved, &events(10, 40));
            teach(&mut loaded, &events(10, 40));
        }
    }

    #[test]
    fn what_is_loaded_goes_on_as_what_was_saved() {
        check_save(linear());
        check_save(network());
        let mut other_rate = linear();
        other_rate.adam = Adam::new(
            other_rate.parameters.len(),
            LearningRate::new(0.5, 1.0).expect("in range"),
        );
        other_rate.load(&linear().save()).expect("the same shape");
        assert_eq!(other_rate.save(), linear().save());
    }

    #[test]
    fn states_of_other_oracles_are_refused() {
        let mut oracle = linear();
        let before = oracle.save();
        let wider = ArgminDispersion::new(
            LinearArgmin::new(DIM).expect("small"),
            (-2.0, 2.5),
            LearningRate::default(),
        )
        .expect("in range");
        let longer = self::oracle(LinearArgmin::new(DIM + 1).expect("small"));
        for other in [network().save(), wider.save(), longer.save()] {
            let error = oracle.load(&other).expect_err("another oracle's");
            assert!(matches!(error, LoadError::Mismatch { .. }), "{error}");
        }
        assert_eq!(
            oracle.load(&wider.save()).expect_err("wider").to_string(),
            "saved from a linear argmin of 5 features on [-2.0, 2.5], \
             but loaded into a linear argmin of 5 features on [-2.0, 2.0]"
        );
        assert_eq!(oracle.save(), before);
    }

    #[test]
    fn states_that_cannot_be_are_refused() {
        type Damage = fn(&mut ArgminDispersion<LinearArgmin>);
        let damages: [Damage; 3] = [
            |oracle| oracle.parameters[3] = f64::NAN,
            |oracle| oracle.parameters[9] = f64::NEG_INFINITY,
            |oracle| oracle.adam = Adam::new(2, LearningRate::default()),
        ];
        let mut oracle = linear();
        let before = oracle.save();
        for damage in damages {
            let mut damaged = linear();
            damage(&mut damaged);
            let error = oracle.load(&damaged.save()).expect_err("damaged");
            assert!(matches!(error, LoadError::Invalid(_)), "{error}");
        }
        let mut fewer = linear();
        fewer.parameters.truncate(9);
        let error = oracle.load(&fewer.save()).expect_err("one is missing");
        assert!(matches!(error, LoadError::Mismatch { .. }), "{error}");
        let mut more = before.clone();
        more.push(0);
        assert!(oracle.load(&more).is_err());
        assert_eq!(oracle.save(), before);
    }

    #[test]
    fn a_length_that_is_not_there_is_an_error_and_no_allocation() {
        let mut oracle = linear();
        let bytes = oracle.save();
        let parameters = 1 + linear().model.shape().len() + 16;
        assert_eq!(bytes[parameters] as usize, oracle.parameters.len());
        // 2⁶³ − 1 as a length.
        let huge = [[0xff; 8].as_slice(), &[0x7f]].concat();
        for at in [0, parameters] {
            let mut damaged = bytes.clone();
            damaged.splice(at..=at, huge.iter().copied());
            assert!(matches!(oracle.load(&damaged), Err(LoadError::Content(_))));
        }
        assert_eq!(oracle.save(), bytes);
    }

    #[test]
    fn a_wrong_length_changes_nothing() {
        let mut oracle = network();
        let before = oracle.save();
        let mut events = events(11, 8);
        events[7].x = Context::dense(vec![0.0; DIM - 1]).expect("finite");
        let expected = ContextError::Dimension {
            found: DIM - 1,
            expected: DIM,
        };
        assert_eq!(oracle.learn(&batch(&events)), Err(expected.clone()));
        assert_eq!(oracle.prepare(&events[7].x, &mut Vec::new()), Err(expected));
        assert_eq!(oracle.save(), before);
    }

    #[test]
    fn what_overflows_is_refused_and_changes_nothing() {
        type Damage = fn(&mut Observed);
        let damages: [Damage; 3] = [
            |event| event.weight = Weight::new(1e300).expect("finite"),
            |event| event.action = f64::NAN,
            |event| event.action = 1e200,
        ];
        let mut oracle = network();
        let before = oracle.save();
        for damage in damages {
            let mut events = events(12, 8);
            damage(&mut events[3]);
            let found = oracle.learn(&batch(&events));
            assert!(matches!(found, Err(ContextError::Refused(_))), "{found:?}");
        }
        assert_eq!(oracle.save(), before);

        let mut oracle = linear();
        oracle.parameters[HEAD + 1..].copy_from_slice(&[10.0, -10.0, 0.0, 0.0, 0.0]);
        let before = oracle.save();
        let mut events = events(12, 8);
        events[3].x = Context::dense(vec![1e308; DIM]).expect("finite");
        let found = oracle.learn(&batch(&events));
        assert!(matches!(found, Err(ContextError::Refused(_))), "{found:?}");
        let found = oracle.prepare(&events[3].x, &mut Vec::new());
        assert!(matches!(found, Err(ContextError::Refused(_))), "{found:?}");
        assert_eq!(oracle.save(), before);
    }

    fn bits_after_learning<M: ArgminModel>(mut oracle: ArgminDispersion<M>) -> u64 {
        teach(&mut oracle, &events(15, 800));
        predict(&oracle, &events(16, 1)[0].x, 0.5).to_bits()
    }

    #[test]
    fn values_are_frozen() {
        // A change here is value-breaking: the same events would give another model.
        let wide = NetworkArgmin::with_hidden(DIM, [33, 19], 3).expect("small");
        let bits = [
            bits_after_learning(linear()),
            bits_after_learning(network()),
            bits_after_learning(oracle(wide)),
        ];
        assert_eq!(bits, FROZEN);
    }

    const FROZEN: [u64; 3] = [
        4588832889016398801,
        4595698073221675130,
        4597433468290821029,
    ];

    #[test]
    fn a_sigmoid_is_accurate_at_both_ends() {
        assert_eq!(sigmoid(0.0), (0.5, 0.25));
        for y in [0.5, 3.0, 50.0, 700.0] {
            let e = f64::exp(-y);
            let relative = |found: f64, expected: f64| (found / expected - 1.0).abs();
            assert!(relative(sigmoid(-y).0, e / (1.0 + e)) < 1e-15);
            assert!(relative(sigmoid(y).0, 1.0 / (1.0 + e)) < 1e-15);
            assert_eq!(sigmoid(y).1, sigmoid(-y).1);
            assert!(relative(sigmoid(y).1, e / (1.0 + e) / (1.0 + e)) < 1e-15);
        }
        assert_eq!(sigmoid(f64::INFINITY), (1.0, 0.0));
        assert_eq!(sigmoid(f64::NEG_INFINITY), (0.0, 0.0));
        assert!(sigmoid(f64::NAN).0.is_nan());
    }

    proptest! {
        #[test]
        fn bounds_are_checked(low in any::<f64>(), high in any::<f64>()) {
            let model = LinearArgmin::new(1).expect("small");
            let made = ArgminDispersion::new(model, (low, high), LearningRate::default());
            prop_assert_eq!(made.is_ok(), Bounds::new(low, high).is_ok());
        }

        #[test]
        fn any_bytes_are_taken_on_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut oracle = linear();
            let before = oracle.save();
            if oracle.load(&bytes).is_err() {
                prop_assert_eq!(oracle.save(), before);
            }
        }

        #[test]
        fn damaged_bytes_are_taken_on_or_refused(
            flips in proptest::collection::vec((any::<prop::sample::Index>(), 1..=u8::MAX), 1..6),
            keep in proptest::option::of(any::<prop::sample::Index>()),
        ) {
            let mut oracle = linear();
            teach(&mut oracle, &events(13, 16));
            let before = oracle.save();
            let mut damaged = before.clone();
            for (index, flip) in flips {
                let index = index.index(damaged.len());
                damaged[index] ^= flip;
            }
            if let Some(keep) = keep {
                damaged.truncate(keep.index(damaged.len()));
            }
            match oracle.load(&damaged) {
                Err(_) => prop_assert_eq!(oracle.save(), before),
                // Other numbers, but numbers: it goes on, or says why not.
                Ok(()) => {
                    let events = events(14, 8);
                    let _ = oracle.learn(&batch(&events));
                    prop_assert!(oracle.parameters.iter().all(|p| p.is_finite()));
                }
            }
        }
    }
}
