use serde::{Deserialize, Serialize};

use crate::codec::{LoadError, saved_state};
use crate::event::Context;
use crate::numeric::{
    EventRng, OutOfRange,
    lanes::{LANES, dot},
};
use crate::oracle::{
    LearningRate,
    network::{
        feature_scale::{self, FeatureScale},
        later_columns::{self, LaterColumns},
        replay_memory::STEP,
        wide_layer::{self, WideLayer},
    },
    optimizer::{adam::Adam, init::check_parameters},
};

/// A network from a context to a few numbers, trained on [`STEP`] contexts at a time.
///
/// h₁ = ϕ(b₁ + W₁ s(x)),  h₂ = ϕ(b₂ + W₂ h₁),  y = b₃ + W₃ h₂,  ϕ(u) = max(u, 0)
///
/// s is a [`FeatureScale`]. Hidden weights start uniform within ±√(6/inputs of the layer), all others at 0: before
/// anything is learned y = 0 for every context. The optimizer is Adam.
///
/// Contexts of more than 512 features are wide: s, W₁ and how it learns are then those of a [`WideLayer`], whose time
/// grows with the features present. Features that contexts got later are those of [`LaterColumns`], one after another.
#[derive(Debug, Clone)]
pub(crate) struct ContextNetwork {
    seed: u64,
    input: Input,
    later: Vec<LaterColumns>,
    layers: [Layer; 3],
    /// Without W₁ if it is wide.
    parameters: Vec<f64>,
    adam: Adam,
    gradient: Vec<f64>,
    /// s(x), h₁, h₂ and y of each context, row after row; no s(x) if it is wide.
    values: [Vec<f64>; 4],
    /// The derivatives by h₁, h₂ and y.
    slopes: [Vec<f64>; 3],
}

/// How the first layer reads a context.
#[derive(Debug, Clone)]
enum Input {
    /// All features, scaled.
    Dense(FeatureScale),
    /// Those present, each with its row of W₁.
    Wide(WideLayer),
}

/// Contexts of more features are wide.
pub(crate) const MOST_DENSE: usize = 512;

/// Where a layer's parameters lie: biases, then weights by input.
#[derive(Debug, Clone, Copy)]
struct Layer {
    start: usize,
    inputs: usize,
    outputs: usize,
}

impl Layer {
    fn split(self, parameters: &[f64]) -> (&[f64], &[f64]) {
        let Self {
            start,
            inputs,
            outputs,
        } = self;
        parameters[start..][..(inputs + 1) * outputs].split_at(outputs)
    }

    fn split_mut(self, parameters: &mut [f64]) -> (&mut [f64], &mut [f64]) {
        let Self {
            start,
            inputs,
            outputs,
        } = self;
        parameters[start..][..(inputs + 1) * outputs].split_at_mut(outputs)
    }
}

/// Widths, rate and seed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NetworkSettings {
    pub(crate) dim: usize,
    pub(crate) hidden: [usize; 2],
    pub(crate) outputs: usize,
    pub(crate) seed: u64,
}

/// What is saved: I is the state of a [`FeatureScale`] or of a [`WideLayer`].
#[derive(Serialize, Deserialize)]
pub(crate) struct State<I> {
    input: I,
    parameters: Vec<f64>,
    adam: Adam,
    later: Vec<later_columns::State>,
}

/// Either; no byte says which, for the number of features does.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum InputState {
    Dense(feature_scale::State),
    Wide(wide_layer::State),
}

impl From<feature_scale::State> for InputState {
    fn from(state: feature_scale::State) -> Self {
        Self::Dense(state)
    }
}

impl From<wide_layer::State> for InputState {
    fn from(state: wide_layer::State) -> Self {
        Self::Wide(state)
    }
}

impl<I> State<I>
where
    InputState: From<I>,
{
    pub(crate) fn either(self) -> State<InputState> {
        State {
            input: self.input.into(),
            parameters: self.parameters,
            adam: self.adam,
            later: self.later,
        }
    }
}

impl ContextNetwork {
    /// A network before any learning. Widths must be at least 1, with at most 2²⁸ parameters; only rows of features that
    /// are met count if it is wide.
    pub(crate) fn new(settings: NetworkSettings) -> Result<Self, OutOfRange> {
        let NetworkSettings {
            dim,
            hidden: [first, second],
            outputs,
            seed,
        } = settings;
        for width in [first, second, outputs] {
            OutOfRange::unless(1 <= width, "width", width as f64, "[1, inf)")?;
        }
        let (input, inputs) = if dim <= MOST_DENSE {
            (Input::Dense(FeatureScale::new(0..dim)), dim)
        } else {
            (Input::Wide(WideLayer::new(0..dim, first, seed)?), 0)
        };
        let mut start = Some(0_usize);
        let layers =
            [(inputs, first), (first, second), (second, outputs)].map(|(inputs, outputs)| {
                let layer = Layer {
                    start: start.unwrap_or(0),
                    inputs,
                    outputs,
                };
                start = start.and_then(|start| {
                    start.checked_add(inputs.checked_add(1)?.checked_mul(outputs)?)
                });
                layer
            });
        let count = check_parameters(start)?;
        let mut parameters = vec![0.0; count];
        let mut rng = EventRng::before_events(seed);
        for layer in &layers[..2] {
            let bound = (6.0 / layer.inputs.max(1) as f64).sqrt();
            let (_, weights) = layer.split_mut(&mut parameters);
            rng.fill_unit(weights);
            for weight in weights {
                *weight = bound * (2.0 * *weight - 1.0);
            }
        }
        let rows = |width: usize| vec![0.0; STEP * width];
        Ok(Self {
            seed,
            input,
            later: Vec::new(),
            layers,
            parameters,
            adam: Adam::new(count, rate()),
            gradient: vec![0.0; count],
            values: [inputs, first, second, outputs].map(rows),
            slopes: [first, second, outputs].map(rows),
        })
    }

    /// How many features a context has.
    pub(crate) fn dim(&self) -> usize {
        let last = self.later.last();
        last.map_or_else(|| self.first_dim(), LaterColumns::end)
    }

    /// How many it had at first.
    fn first_dim(&self) -> usize {
        match &self.input {
            Input::Dense(scale) => scale.dim(),
            Input::Wide(layer) => layer.range().end,
        }
    }

    /// How many it had at first and after each growth.
    pub(crate) fn lengths(&self) -> Vec<usize> {
        let later = self.later.iter().map(LaterColumns::end);
        std::iter::once(self.first_dim()).chain(later).collect()
    }

    /// Contexts have `dim` features from now on, the new ones last. y stays the same where they are 0.
    pub(crate) fn grow(&mut self, dim: usize) -> Result<(), OutOfRange> {
        let before = self.dim();
        OutOfRange::unless(before < dim, "features", dim as f64, "more than before")?;
        let outputs = self.layers[0].outputs;
        let later = LaterColumns::new(before..dim, outputs, self.seed, rate())?;
        self.later.push(later);
        Ok(())
    }

    /// Whether the saved state holds rows of a [`WideLayer`].
    pub(crate) fn is_wide(&self) -> bool {
        matches!(self.input, Input::Wide(_))
    }

    /// Makes `out` hold y; it also serves as scratch space.
    pub(crate) fn forward(&self, x: &Context, out: &mut Vec<f64>) {
        let [first, second, last] = self.layers.map(|layer| layer.outputs);
        let own = match &self.input {
            Input::Dense(scale) => scale.dim(),
            Input::Wide(_) => first,
        };
        let later = self.later.iter().map(LaterColumns::scratch);
        let scratch = later.fold(own, usize::max);
        out.clear();
        out.resize(last + scratch + first + second, 0.0);
        let (y, rest) = out.split_at_mut(last);
        let (scratch, rest) = rest.split_at_mut(scratch);
        let (h1, h2) = rest.split_at_mut(first);
        match &self.input {
            Input::Dense(scale) => {
                scale.apply(x, &mut scratch[..own]);
                apply(self.layers[0], &self.parameters, scratch, h1, 1);
            }
            Input::Wide(layer) => {
                apply(self.layers[0], &self.parameters, &[], h1, 1);
                layer.add(x, &mut scratch[..own], h1, |_, _| {});
            }
        }
        for later in &self.later {
            later.add(x, scratch, h1);
        }
        self.finish([h1, h2, y], 1);
        out.truncate(last);
    }

    /// Updates the scale of features with one more context.
    pub(crate) fn look_at(&mut self, x: &Context) {
        match &mut self.input {
            Input::Dense(scale) => {
                let dim = scale.dim();
                scale.add(x, &mut self.values[0][..dim]);
            }
            Input::Wide(layer) => layer.look_at(x),
        }
        for later in &mut self.later {
            later.look_at(x);
        }
    }

    /// y of each context, row after row.
    pub(crate) fn forward_step(&mut self, xs: [&Context; STEP]) -> &[f64] {
        let mut values = std::mem::take(&mut self.values);
        let [s, h1, h2, y] = &mut values;
        match &mut self.input {
            Input::Dense(scale) => {
                let dim = scale.dim();
                for (place, x) in xs.into_iter().enumerate() {
                    scale.apply(x, &mut s[place * dim..][..dim]);
                }
                apply(self.layers[0], &self.parameters, s, h1, STEP);
            }
            Input::Wide(layer) => {
                apply(self.layers[0], &self.parameters, &[], h1, STEP);
                layer.add_step(xs, h1);
            }
        }
        for later in &mut self.later {
            later.add_step(xs, h1);
        }
        self.finish([h1, h2, y], STEP);
        self.values = values;
        &self.values[3]
    }

    /// One step of Adam, right after [`forward_step`](Self::forward_step). `by_output` gets y and writes the derivatives of
    /// the objective by y, both row after row.
    pub(crate) fn backward_step(&mut self, by_output: impl FnOnce(&[f64], &mut [f64])) {
        let [d1, d2, dy] = &mut self.slopes;
        by_output(&self.values[3], dy);
        let (inputs, later) = self.values.split_at(1);
        let (layers, parameters) = (self.layers, &self.parameters);
        let gradient = &mut self.gradient;
        add_up(layers[2], &later[1], dy, gradient);
        pass_back(layers[2], parameters, &later[1], dy, d2);
        add_up(layers[1], &later[0], d2, gradient);
        pass_back(layers[1], parameters, &later[0], d2, d1);
        add_up(layers[0], &inputs[0], d1, gradient);
        let mut accepted = match &mut self.input {
            Input::Dense(_) => true,
            Input::Wide(layer) => layer.differentiate(d1),
        };
        for later in &mut self.later {
            accepted &= later.differentiate(d1);
        }
        if accepted && Adam::accepts(gradient) {
            self.adam.step(&mut self.parameters, gradient);
            if let Input::Wide(layer) = &mut self.input {
                layer.step(rate().rate());
            }
            for later in &mut self.later {
                later.step(rate());
            }
        }
    }

    /// Runs `rows` contexts through what follows the first layer's sums.
    fn finish(&self, [h1, h2, y]: [&mut [f64]; 3], rows: usize) {
        let [_, second, last] = self.layers;
        rectify(h1);
        apply(second, &self.parameters, h1, h2, rows);
        rectify(h2);
        apply(last, &self.parameters, h2, y, rows);
    }

    pub(crate) fn state(&self) -> State<InputState> {
        State {
            input: match &self.input {
                Input::Dense(scale) => scale.state().clone().into(),
                Input::Wide(layer) => layer.state().into(),
            },
            parameters: self.parameters.clone(),
            adam: self.adam.clone(),
            later: self.later.iter().map(LaterColumns::state).collect(),
        }
    }

    /// An error unless this is a state of such a network.
    pub(crate) fn check(&self, state: &State<InputState>) -> Result<(), LoadError> {
        match (&self.input, &state.input) {
            (Input::Dense(scale), InputState::Dense(state)) => scale.check(state)?,
            (Input::Wide(layer), InputState::Wide(state)) => layer.check(state)?,
            (_, state) => {
                let wide = matches!(state, InputState::Wide(_));
                saved_state::expect_same("wide contexts:", &wide, &self.is_wide())?;
            }
        }
        let grown = self.later.len();
        saved_state::expect_same("later columns:", &state.later.len(), &grown)?;
        for (later, state) in self.later.iter().zip(&state.later) {
            later.check(state)?;
        }
        let count = self.parameters.len();
        let finite = |parameter: f64| parameter.abs() <= 1e100;
        saved_state::expect_numbers("parameters", &state.parameters, count, finite)?;
        state.adam.check(count)
    }

    /// Restores a checked state.
    pub(crate) fn restore(&mut self, state: State<InputState>) {
        match (&mut self.input, state.input) {
            (Input::Dense(scale), InputState::Dense(state)) => scale.restore(state),
            (Input::Wide(layer), InputState::Wide(state)) => layer.restore(state),
            _ => unreachable!("checked"),
        }
        for (later, state) in self.later.iter_mut().zip(state.later) {
            later.restore(state);
        }
        self.parameters = state.parameters;
        self.adam = state.adam;
    }
}

/// The learning rate. It hardly falls, so that the network follows a changing world.
fn rate() -> LearningRate {
    LearningRate::new(0.003, 1e12).expect("in range")
}

fn rectify(values: &mut [f64]) {
    for value in values {
        *value = value.max(0.0);
    }
}

/// out ← b + W in for each row.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn apply(layer: Layer, parameters: &[f64], inputs: &[f64], out: &mut [f64], rows: usize) {
    let (biases, weights) = layer.split(parameters);
    let (n, m) = (layer.inputs, layer.outputs);
    let mut row = 0;
    while row + 4 <= rows {
        apply_rows::<4>(
            m,
            biases,
            weights,
            &inputs[row * n..],
            &mut out[row * m..],
            n,
        );
        row += 4;
    }
    while row < rows {
        apply_rows::<1>(
            m,
            biases,
            weights,
            &inputs[row * n..],
            &mut out[row * m..],
            n,
        );
        row += 1;
    }
}

/// R rows at once, eight outputs at a time: each weight is loaded once for all of them.
#[inline(always)]
fn apply_rows<const R: usize>(
    m: usize,
    biases: &[f64],
    weights: &[f64],
    inputs: &[f64],
    out: &mut [f64],
    n: usize,
) {
    let whole = m / LANES * LANES;
    for unit in (0..whole).step_by(LANES) {
        let bias: [f64; LANES] = biases[unit..unit + LANES].try_into().expect("eight");
        let mut sums = [bias; R];
        for input in 0..n {
            let weights = &weights[input * m + unit..][..LANES];
            for (row, sums) in sums.iter_mut().enumerate() {
                let value = inputs[row * n + input];
                for lane in 0..LANES {
                    sums[lane] += value * weights[lane];
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            out[row * m + unit..][..LANES].copy_from_slice(sums);
        }
    }
    for unit in whole..m {
        for row in 0..R {
            let mut sum = biases[unit];
            for input in 0..n {
                sum += inputs[row * n + input] * weights[input * m + unit];
            }
            out[row * m + unit] = sum;
        }
    }
}

/// The gradient of a layer's parameters: Σ over rows of (1, in) ⊗ slope.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn add_up(layer: Layer, inputs: &[f64], slopes: &[f64], gradient: &mut [f64]) {
    let (n, m) = (layer.inputs, layer.outputs);
    let (biases, weights) = layer.split_mut(gradient);
    weighted_rows(&[1.0; STEP], slopes, biases);
    for (input, weights) in weights.chunks_exact_mut(m).enumerate() {
        let mut values = [0.0; STEP];
        for (row, value) in values.iter_mut().enumerate() {
            *value = inputs[row * n + input];
        }
        weighted_rows(&values, slopes, weights);
    }
}

/// Σ valueᵢ · rowᵢ.
#[inline(always)]
fn weighted_rows(values: &[f64; STEP], rows: &[f64], out: &mut [f64]) {
    let m = out.len();
    let whole = m / LANES * LANES;
    for unit in (0..whole).step_by(LANES) {
        let mut sums = [0.0; LANES];
        for (row, value) in values.iter().enumerate() {
            let row = &rows[row * m + unit..][..LANES];
            for lane in 0..LANES {
                sums[lane] += value * row[lane];
            }
        }
        out[unit..unit + LANES].copy_from_slice(&sums);
    }
    for unit in whole..m {
        let terms = values.iter().enumerate();
        out[unit] = terms.map(|(row, value)| value * rows[row * m + unit]).sum();
    }
}

/// The derivatives by a layer's inputs; 0 where the ReLU cut an input off.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn pass_back(layer: Layer, parameters: &[f64], inputs: &[f64], slopes: &[f64], out: &mut [f64]) {
    let (n, m) = (layer.inputs, layer.outputs);
    let (_, weights) = layer.split(parameters);
    for (row, slopes) in slopes.chunks_exact(m).enumerate() {
        for input in 0..n {
            let place = row * n + input;
            out[place] = if 0.0 < inputs[place] {
                dot(&weights[input * m..][..m], slopes)
            } else {
                0.0
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::{EventRng, Stream};

    const DIM: usize = 5;

    fn network(hidden: [usize; 2], outputs: usize) -> ContextNetwork {
        let settings = NetworkSettings {
            dim: DIM,
            hidden,
            outputs,
            seed: 3,
        };
        ContextNetwork::new(settings).expect("small")
    }

    fn contexts(seed: u64) -> [Context; STEP] {
        let mut rng = EventRng::new(seed, 0, Stream::World);
        std::array::from_fn(|_| {
            let mut values = vec![0.0; DIM];
            rng.fill_unit(&mut values);
            Context::dense(values).expect("finite")
        })
    }

    /// With every parameter moved off zero.
    fn shaken(hidden: [usize; 2], outputs: usize) -> ContextNetwork {
        let mut network = network(hidden, outputs);
        let mut rng = EventRng::new(8, 0, Stream::World);
        for parameter in &mut network.parameters {
            *parameter += 0.6 * (rng.unit() - 0.5);
        }
        for x in contexts(1) {
            network.look_at(&x);
        }
        network
    }

    #[test]
    fn before_anything_is_learned_all_outputs_are_zero() {
        let mut network = network([8, 16], 3);
        let mut y = Vec::new();
        for x in contexts(2) {
            network.look_at(&x);
            network.forward(&x, &mut y);
            assert_eq!(y, [0.0; 3]);
        }
    }

    #[test]
    fn one_and_many_contexts_give_the_same_bits() {
        for (hidden, outputs) in [([8, 16], 8), ([7, 11], 3)] {
            let mut network = shaken(hidden, outputs);
            let xs = contexts(2);
            let many = network.forward_step(xs.each_ref()).to_vec();
            let mut y = Vec::new();
            for (x, expected) in xs.iter().zip(many.chunks_exact(outputs)) {
                network.forward(x, &mut y);
                assert_eq!(y, expected);
            }
        }
    }

    /// Σ c·y over all contexts and outputs, whose derivative by y is c.
    fn objective(network: &mut ContextNetwork, xs: &[Context; STEP]) -> f64 {
        let y = network.forward_step(xs.each_ref());
        let terms = y.iter().enumerate();
        terms.map(|(place, y)| (1.0 + place as f64) * y).sum()
    }

    #[test]
    fn gradients_are_those_of_differences() {
        for (hidden, outputs) in [([8, 16], 8), ([7, 11], 3)] {
            let mut network = shaken(hidden, outputs);
            let xs = contexts(2);
            let before = network.parameters.clone();
            objective(&mut network, &xs);
            network.backward_step(|_, slopes| {
                for (place, slope) in slopes.iter_mut().enumerate() {
                    *slope = 1.0 + place as f64;
                }
            });
            assert_ne!(network.parameters, before);
            let gradient = network.gradient.clone();
            for (place, &expected) in gradient.iter().enumerate() {
                let step = 1e-6;
                let mut at = |moved: f64| {
                    network.parameters.copy_from_slice(&before);
                    network.parameters[place] += moved;
                    objective(&mut network, &xs)
                };
                let difference = (at(step) - at(-step)) / (2.0 * step);
                assert!(
                    (difference - expected).abs() < 1e-5 * (1.0 + expected.abs()),
                    "{place}: {difference} {expected}"
                );
            }
        }
    }

    #[test]
    fn a_restored_network_is_the_same() {
        let teach = |network: &mut ContextNetwork, seed: u64| {
            let xs = contexts(seed);
            for x in &xs {
                network.look_at(x);
            }
            network.forward_step(xs.each_ref());
            network.backward_step(|y, slopes| {
                for (slope, y) in slopes.iter_mut().zip(y) {
                    *slope = y - 1.0;
                }
            });
        };
        let mut one = shaken([8, 8], 4);
        teach(&mut one, 5);
        let mut other = network([8, 8], 4);
        let state = one.state();
        other.check(&state).expect("the same shape");
        other.restore(state);
        teach(&mut one, 6);
        teach(&mut other, 6);
        assert_eq!(one.parameters, other.parameters);
        assert!(network([8, 8], 5).check(&one.state()).is_err());
        let mut damaged = one.state();
        damaged.parameters[3] = f64::NAN;
        assert!(other.check(&damaged).is_err());
    }

    const WIDE: usize = 100_000;

    /// 40 features each, of 60 in all.
    fn wide_contexts(seed: u64) -> [Context; STEP] {
        let mut rng = EventRng::new(seed, 0, Stream::World);
        std::array::from_fn(|_| {
            let mut entries = Vec::new();
            for feature in (0..WIDE as u32).step_by(WIDE / 60) {
                if rng.unit() < 2.0 / 3.0 {
                    entries.push((feature, 3.0 * rng.unit() - 1.0));
                }
            }
            Context::sparse(WIDE, entries).expect("sorted")
        })
    }

    fn wide(hidden: [usize; 2], outputs: usize) -> ContextNetwork {
        let settings = NetworkSettings {
            dim: WIDE,
            hidden,
            outputs,
            seed: 3,
        };
        ContextNetwork::new(settings).expect("few parameters")
    }

    /// One step that moves y toward 1.
    fn teach_wide(network: &mut ContextNetwork, xs: &[Context; STEP]) {
        for x in xs {
            network.look_at(x);
        }
        network.forward_step(xs.each_ref());
        network.backward_step(|y, slopes| {
            for (slope, y) in slopes.iter_mut().zip(y) {
                *slope = y - 1.0;
            }
        });
    }

    /// With every parameter moved off zero, and rows for the features.
    fn taught_wide(hidden: [usize; 2], outputs: usize) -> ContextNetwork {
        let mut network = wide(hidden, outputs);
        let mut rng = EventRng::new(8, 0, Stream::World);
        for parameter in &mut network.parameters {
            *parameter += 0.6 * (rng.unit() - 0.5);
        }
        teach_wide(&mut network, &wide_contexts(1));
        network
    }

    fn densely(x: &Context) -> Context {
        let mut values = vec![0.0; x.dim()];
        x.for_each(|feature, value| values[feature] = value);
        Context::dense(values).expect("finite")
    }

    #[test]
    fn wide_one_and_many_dense_and_sparse_give_the_same_bits() {
        for (hidden, outputs) in [([8, 16], 8), ([7, 11], 3)] {
            let mut network = taught_wide(hidden, outputs);
            let xs = wide_contexts(2);
            let many = network.forward_step(xs.each_ref()).to_vec();
            let mut y = Vec::new();
            for (x, expected) in xs.iter().zip(many.chunks_exact(outputs)) {
                for x in [x, &densely(x)] {
                    network.forward(x, &mut y);
                    assert_eq!(y, expected);
                }
            }
            let mut other = network.clone();
            teach_wide(&mut network, &xs);
            teach_wide(&mut other, &xs.each_ref().map(densely));
            assert_eq!(bytes(&network), bytes(&other));
        }
    }

    fn bytes(network: &ContextNetwork) -> Vec<u8> {
        postcard::to_stdvec(&network.state()).expect("plain numbers and lists")
    }

    #[test]
    fn wide_gradients_are_those_of_differences() {
        let (hidden, outputs) = ([7, 11], 3);
        let mut network = taught_wide(hidden, outputs);
        let xs = wide_contexts(2);
        let before = network.clone();
        objective(&mut network, &xs);
        network.backward_step(|_, slopes| {
            for (place, slope) in slopes.iter_mut().enumerate() {
                *slope = 1.0 + place as f64;
            }
        });
        let Input::Wide(layer) = &network.input else {
            panic!("{WIDE} features are wide");
        };
        let rows = layer.step_gradient();
        assert!(50 < rows.len(), "{}", rows.len());
        let step = 1e-6;
        let check = |expected: f64, moved: &dyn Fn(&mut ContextNetwork, f64)| {
            let at = |by: f64| {
                let mut network = before.clone();
                moved(&mut network, by);
                objective(&mut network, &xs)
            };
            let difference = (at(step) - at(-step)) / (2.0 * step);
            assert!(
                (difference - expected).abs() < 1e-5 * (1.0 + expected.abs()),
                "{difference} {expected}"
            );
        };
        for (place, &expected) in network.gradient.iter().enumerate() {
            check(expected, &|network, by| network.parameters[place] += by);
        }
        for (slot, gradient) in rows {
            for (output, &expected) in gradient.iter().enumerate() {
                check(expected, &|network, by| {
                    if let Input::Wide(layer) = &mut network.input {
                        layer.weights_mut(slot)[output] += by;
                    }
                });
            }
        }
    }

    #[test]
    fn wide_networks_learn_save_and_go_on_to_the_bit() {
        let error = |network: &ContextNetwork| {
            let mut y = Vec::new();
            let squares = wide_contexts(1).map(|x| {
                network.forward(&x, &mut y);
                y.iter().map(|y| (y - 1.0) * (y - 1.0)).sum::<f64>()
            });
            squares.iter().sum::<f64>()
        };
        let mut one = taught_wide([8, 8], 4);
        let before = error(&one);
        for _ in 0..200 {
            teach_wide(&mut one, &wide_contexts(1));
        }
        assert!(error(&one) < 0.1 * before, "{before} {}", error(&one));
        let saved = bytes(&one);
        let state: State<wide_layer::State> = postcard::from_bytes(&saved).expect("as written");
        let state = state.either();
        let mut other = wide([8, 8], 4);
        other.check(&state).expect("the same shape");
        assert!(wide([8, 8], 5).check(&state).is_err());
        assert!(wide([9, 8], 4).check(&state).is_err());
        assert!(network([8, 8], 4).check(&state).is_err());
        other.restore(state);
        assert_eq!(bytes(&other), saved);
        for seed in 6..9 {
            teach_wide(&mut one, &wide_contexts(seed));
            teach_wide(&mut other, &wide_contexts(seed));
        }
        assert_eq!(bytes(&one), bytes(&other));
        assert_ne!(bytes(&one), saved);
        // 60 rows of 8 weights, with a few numbers each, and less than as much again for everything else.
        assert!(saved.len() < 2 * 60 * 12 * 8, "{}", saved.len());
    }

    #[test]
    fn wide_begins_beyond_512_features() {
        for (dim, wide) in [
            (0, false),
            (512, false),
            (513, true),
            (u32::MAX as usize, true),
        ] {
            let settings = NetworkSettings {
                dim,
                hidden: [4, 4],
                outputs: 2,
                seed: 0,
            };
            let network = ContextNetwork::new(settings).expect("few parameters");
            assert_eq!((network.is_wide(), network.dim()), (wide, dim));
        }
    }

    #[test]
    fn widths_are_checked() {
        let settings = NetworkSettings {
            dim: DIM,
            hidden: [4, 4],
            outputs: 2,
            seed: 0,
        };
        for bad in [
            NetworkSettings {
                hidden: [0, 4],
                ..settings
            },
            NetworkSettings {
                outputs: 0,
                ..settings
            },
            NetworkSettings {
                dim: usize::MAX,
                ..settings
            },
        ] {
            assert!(ContextNetwork::new(bad).is_err());
        }
    }
}
