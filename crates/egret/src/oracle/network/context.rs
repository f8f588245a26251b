use serde::{Deserialize, Serialize};

use crate::codec::{LoadError, saved_state};
use crate::event::Context;
use crate::numeric::{EventRng, OutOfRange, lanes::LANES, pool::Pool};
use crate::oracle::{
    LearningRate,
    network::{
        feature_scale::{self, FeatureScale},
        later_columns::{self, LaterColumns},
        replay_memory::{ReplayMemory, STEP},
        wide_layer::{self, WideLayer},
    },
    optimizer::{adam::Adam, init::check_parameters},
};

/// A network from a context to a few numbers, trained on [`STEP`] contexts at a time.
///
/// h₁ = ϕ(b₁ + W₁ s(x)),  h₂ = ϕ(b₂ + W₂ h₁),  y = b₃ + W₃ h₂,  ϕ(u) = max(u, 0)
///
/// s is a [`FeatureScale`]. Hidden weights start uniform within ±√(6/inputs of the layer), all others at 0: before
/// anything is learned y = 0 for every context. The optimizer is Adam. All but s is in 32 bits.
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
    parameters: Vec<f32>,
    adam: Adam<f32>,
    gradient: Vec<f32>,
    /// s(x), h₁, h₂ and y of each context, row after row; no s(x) if it is wide.
    values: [Vec<f32>; 4],
    /// The derivatives by h₁, h₂ and y.
    slopes: [Vec<f32>; 3],
    /// Scratch space: derivatives by output, and a context that is counted.
    columns: Vec<[f32; STEP]>,
    dense: Vec<f64>,
    buffers: Pool<Vec<f32>>,
}

/// How the first layer reads a context.
#[derive(Debug, Clone)]
enum Input {
    /// All features, scaled.
    Dense(FeatureScale),
    /// Those present, each with its row of W₁.
    Wide(WideLayer),
}

/// The largest derivative by an output that is worth following: with it, squares of gradients are finite in 32 bits.
pub(crate) const STEEPEST: f64 = 1e9;

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
    fn split(self, parameters: &[f32]) -> (&[f32], &[f32]) {
        let Self {
            start,
            inputs,
            outputs,
        } = self;
        parameters[start..][..(inputs + 1) * outputs].split_at(outputs)
    }

    fn split_mut(self, parameters: &mut [f32]) -> (&mut [f32], &mut [f32]) {
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
    parameters: Vec<f32>,
    adam: Adam<f32>,
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
            let mut drawn = vec![0.0; weights.len()];
            rng.fill_unit(&mut drawn);
            for (weight, drawn) in weights.iter_mut().zip(drawn) {
                *weight = (bound * (2.0 * drawn - 1.0)) as f32;
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
            columns: Vec::new(),
            dense: vec![0.0; inputs],
            buffers: Pool::default(),
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

    /// Gives y to `read`.
    pub(crate) fn forward<R>(&self, x: &Context, read: impl FnOnce(&mut [f32]) -> R) -> R {
        let [first, second, last] = self.layers.map(|layer| layer.outputs);
        let own = match &self.input {
            Input::Dense(scale) => scale.dim(),
            Input::Wide(_) => first,
        };
        let later = self.later.iter().map(LaterColumns::scratch);
        let scratch = later.fold(own, usize::max);
        self.buffers.with(|buffer| {
            buffer.resize(scratch + first + second + last, 0.0);
            let (scratch, rest) = buffer.split_at_mut(scratch);
            let (h1, rest) = rest.split_at_mut(first);
            let (h2, y) = rest.split_at_mut(second);
            match &self.input {
                Input::Dense(scale) => {
                    scale.apply(x, &mut scratch[..own]);
                    apply(self.layers[0], &self.parameters, scratch, h1, 1);
                }
                Input::Wide(layer) => {
                    apply(self.layers[0], &self.parameters, &[], h1, 1);
                    layer.add(x, &mut scratch[..own], h1);
                }
            }
            for later in &self.later {
                later.add(x, scratch, h1);
            }
            self.finish([h1, h2, y], 1);
            read(y)
        })
    }

    /// Updates the scale of features with one more context.
    pub(crate) fn look_at(&mut self, x: &Context) {
        match &mut self.input {
            Input::Dense(scale) => {
                scale.add(x, &mut self.dense);
            }
            Input::Wide(layer) => layer.look_at(x),
        }
        for later in &mut self.later {
            later.look_at(x);
        }
    }

    /// As [`forward_step`](Self::forward_step), of past events.
    pub(crate) fn forward_past(&mut self, memory: &mut ReplayMemory, places: [usize; STEP]) {
        match &self.input {
            Input::Dense(scale) if self.later.is_empty() => {
                let mut values = std::mem::take(&mut self.values);
                let [s, h1, h2, y] = &mut values;
                let dim = scale.dim();
                memory.touch(places);
                for (row, place) in places.into_iter().enumerate() {
                    memory.scale(place, scale, &mut s[row * dim..][..dim]);
                }
                apply(self.layers[0], &self.parameters, s, h1, STEP);
                self.finish([h1, h2, y], STEP);
                self.values = values;
            }
            _ => {
                self.forward_step(memory.contexts(places));
            }
        }
    }

    /// y of each context, row after row.
    pub(crate) fn forward_step(&mut self, xs: [&Context; STEP]) -> &[f32] {
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
    pub(crate) fn backward_step(&mut self, by_output: impl FnOnce(&[f32], &mut [f32])) {
        let [d1, d2, dy] = &mut self.slopes;
        by_output(&self.values[3], dy);
        let (inputs, later) = self.values.split_at(1);
        let (layers, parameters) = (self.layers, &self.parameters);
        let (gradient, columns) = (&mut self.gradient, &mut self.columns);
        add_up(layers[2], &later[1], dy, columns, gradient);
        pass_back(layers[2], parameters, &later[1], dy, columns, d2);
        add_up(layers[1], &later[0], d2, columns, gradient);
        pass_back(layers[1], parameters, &later[0], d2, columns, d1);
        add_up(layers[0], &inputs[0], d1, columns, gradient);
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
    fn finish(&self, [h1, h2, y]: [&mut [f32]; 3], rows: usize) {
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
        let finite = |parameter: f64| parameter.abs() <= 1e12;
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

fn rectify(values: &mut [f32]) {
    for value in values {
        *value = value.max(0.0);
    }
}

/// How many outputs are summed at a time.
const UNITS: usize = 2 * LANES;

/// out ← b + W in for each row.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn apply(layer: Layer, parameters: &[f32], inputs: &[f32], out: &mut [f32], rows: usize) {
    let (n, m) = (layer.inputs, layer.outputs);
    let mut row = 0;
    while row + 4 <= rows {
        let (inputs, out) = (&inputs[row * n..], &mut out[row * m..]);
        apply_rows::<4>(layer, parameters, inputs, out);
        row += 4;
    }
    while row < rows {
        let (inputs, out) = (&inputs[row * n..], &mut out[row * m..]);
        apply_rows::<1>(layer, parameters, inputs, out);
        row += 1;
    }
}

/// R rows at once: each weight is loaded once for all of them.
#[inline(always)]
fn apply_rows<const R: usize>(layer: Layer, parameters: &[f32], inputs: &[f32], out: &mut [f32]) {
    let (n, m) = (layer.inputs, layer.outputs);
    let (biases, weights) = layer.split(parameters);
    let rows: [&[f32]; R] = std::array::from_fn(|row| &inputs[row * n..][..n]);
    let mut unit = 0;
    // One row alone leaves registers for more outputs.
    while R == 1 && unit + 2 * UNITS <= m {
        apply_units::<R, { 2 * UNITS }>(layer, parameters, rows, unit, out);
        unit += 2 * UNITS;
    }
    while unit + UNITS <= m {
        apply_units::<R, UNITS>(layer, parameters, rows, unit, out);
        unit += UNITS;
    }
    for unit in unit..m {
        for (row, inputs) in rows.into_iter().enumerate() {
            let mut sum = biases[unit];
            for (input, value) in inputs.iter().enumerate() {
                sum += value * weights[input * m + unit];
            }
            out[row * m + unit] = sum;
        }
    }
}

/// U outputs of R rows, from `unit` on.
#[inline(always)]
fn apply_units<const R: usize, const U: usize>(
    layer: Layer,
    parameters: &[f32],
    rows: [&[f32]; R],
    unit: usize,
    out: &mut [f32],
) {
    let m = layer.outputs;
    let (biases, weights) = layer.split(parameters);
    let bias: [f32; U] = biases[unit..unit + U].try_into().expect("as many");
    let mut sums = [bias; R];
    for (input, weights) in weights.chunks_exact(m).enumerate() {
        let weights: &[f32; U] = weights[unit..unit + U].try_into().expect("as many");
        for row in 0..R {
            let value = rows[row][input];
            for unit in 0..U {
                sums[row][unit] += value * weights[unit];
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        out[row * m + unit..][..U].copy_from_slice(sums);
    }
}

/// The gradient of a layer's parameters: Σ over rows of (1, in) ⊗ slope. `columns` is scratch space.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn add_up(
    layer: Layer,
    inputs: &[f32],
    slopes: &[f32],
    columns: &mut Vec<[f32; STEP]>,
    gradient: &mut [f32],
) {
    let (n, m) = (layer.inputs, layer.outputs);
    let (biases, weights) = layer.split_mut(gradient);
    transpose(inputs, n, columns);
    for unit in (0..m).step_by(LANES) {
        let held = LANES.min(m - unit);
        // Those of eight outputs stay in registers while the inputs pass by.
        let mut block = [[0.0; LANES]; STEP];
        for (row, lanes) in block.iter_mut().enumerate() {
            lanes[..held].copy_from_slice(&slopes[row * m + unit..][..held]);
        }
        let sums = weighted(&[1.0; STEP], &block);
        biases[unit..][..held].copy_from_slice(&sums[..held]);
        let rows = weights.chunks_exact_mut(m).zip(&*columns);
        if held == LANES {
            for (weights, values) in rows {
                weights[unit..unit + LANES].copy_from_slice(&weighted(values, &block));
            }
        } else {
            for (weights, values) in rows {
                weights[unit..].copy_from_slice(&weighted(values, &block)[..held]);
            }
        }
    }
}

/// From rows of n numbers to n columns.
#[inline(always)]
fn transpose(rows: &[f32], n: usize, columns: &mut Vec<[f32; STEP]>) {
    columns.clear();
    columns.resize(n, [0.0; STEP]);
    for (row, values) in rows.chunks_exact(n.max(1)).enumerate() {
        for (column, value) in columns.iter_mut().zip(values) {
            column[row] = *value;
        }
    }
}

/// Σ valueᵢ · rowᵢ.
#[inline(always)]
fn weighted(values: &[f32; STEP], rows: &[[f32; LANES]; STEP]) -> [f32; LANES] {
    let mut sums = [0.0; LANES];
    for (value, row) in values.iter().zip(rows) {
        for (sum, entry) in sums.iter_mut().zip(row) {
            *sum += value * entry;
        }
    }
    sums
}

/// The derivatives by a layer's inputs; 0 where the ReLU cut an input off. `columns` is scratch space.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn pass_back(
    layer: Layer,
    parameters: &[f32],
    inputs: &[f32],
    slopes: &[f32],
    columns: &mut Vec<[f32; STEP]>,
    out: &mut [f32],
) {
    let (n, m) = (layer.inputs, layer.outputs);
    let (_, weights) = layer.split(parameters);
    transpose(slopes, m, columns);
    columns.resize(m + n, [0.0; STEP]);
    let (slopes, sums) = columns.split_at_mut(m);
    let (whole, rest) = sums.as_chunks_mut::<LANES>();
    let (first, last) = weights.split_at(whole.len() * LANES * m);
    for (sums, weights) in whole.iter_mut().zip(first.chunks_exact(LANES * m)) {
        *sums = weigh(weights, slopes);
    }
    for (sum, weights) in rest.iter_mut().zip(last.chunks_exact(m)) {
        [*sum] = weigh(weights, slopes);
    }
    let rows = out.chunks_exact_mut(n).zip(inputs.chunks_exact(n));
    for (row, (out, inputs)) in rows.enumerate() {
        for ((out, sums), input) in out.iter_mut().zip(&*sums).zip(inputs) {
            // Both are read, and one is written: to write some numbers and leave others would be slow.
            let sum = sums[row];
            *out = if 0.0 < *input { sum } else { 0.0 };
        }
    }
}

/// Σ weight · slope over the outputs, for I inputs at once; the rows are the lanes.
#[inline(always)]
fn weigh<const I: usize>(weights: &[f32], slopes: &[[f32; STEP]]) -> [[f32; STEP]; I] {
    let m = slopes.len();
    let weights: [&[f32]; I] = std::array::from_fn(|input| &weights[input * m..][..m]);
    let mut sums = [[0.0; STEP]; I];
    for (unit, slopes) in slopes.iter().enumerate() {
        for input in 0..I {
            let weight = weights[input][unit];
            for row in 0..STEP {
                sums[input][row] += weight * slopes[row];
            }
        }
    }
    sums
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
            *parameter += 0.6 * (rng.unit() as f32 - 0.5);
        }
        for x in contexts(1) {
            network.look_at(&x);
        }
        network
    }

    fn outputs(network: &ContextNetwork, x: &Context) -> Vec<f32> {
        network.forward(x, |y| y.to_vec())
    }

    #[test]
    fn before_anything_is_learned_all_outputs_are_zero() {
        let mut network = network([8, 16], 3);
        for x in contexts(2) {
            network.look_at(&x);
            assert_eq!(outputs(&network, &x), [0.0; 3]);
        }
    }

    #[test]
    fn one_and_many_contexts_give_the_same_bits() {
        for (hidden, outputs) in [([8, 16], 8), ([7, 11], 3)] {
            let mut network = shaken(hidden, outputs);
            let xs = contexts(2);
            let many = network.forward_step(xs.each_ref()).to_vec();
            for (x, expected) in xs.iter().zip(many.chunks_exact(outputs)) {
                assert_eq!(self::outputs(&network, x), expected);
            }
        }
    }

    /// Small, and far above the rounding of 32 bits.
    const STEP_ASIDE: f32 = 1e-3;

    /// Σ c·y over all contexts and outputs, whose derivative by y is c.
    fn objective(network: &mut ContextNetwork, xs: &[Context; STEP]) -> f64 {
        let y = network.forward_step(xs.each_ref());
        let terms = y.iter().enumerate();
        terms
            .map(|(place, y)| (1.0 + place as f64) * f64::from(*y))
            .sum()
    }

    /// The same as [`objective`], formula by formula, for contexts that are scaled already.
    fn plain_objective(layers: [Layer; 3], parameters: &[f64], scaled: &[f64]) -> f64 {
        let rows = scaled.chunks_exact(layers[0].inputs);
        let y = rows.flat_map(|row| {
            let mut values = row.to_vec();
            for (place, layer) in layers.iter().enumerate() {
                let (n, m) = (layer.inputs, layer.outputs);
                let (biases, weights) = parameters[layer.start..][..(n + 1) * m].split_at(m);
                let sums = (0..m).map(|unit| {
                    let terms = values.iter().enumerate();
                    biases[unit] + terms.map(|(i, v)| v * weights[i * m + unit]).sum::<f64>()
                });
                values = sums
                    .map(|sum| if place < 2 { sum.max(0.0) } else { sum })
                    .collect();
            }
            values
        });
        y.enumerate()
            .map(|(place, y)| (1.0 + place as f64) * y)
            .sum()
    }

    #[test]
    fn gradients_are_those_of_differences() {
        for (hidden, outputs) in [([8, 16], 8), ([7, 11], 3), ([32, 24], 20)] {
            let mut network = shaken(hidden, outputs);
            let xs = contexts(2);
            let before: Vec<f64> = network.parameters.iter().map(|&p| f64::from(p)).collect();
            let found = objective(&mut network, &xs);
            network.backward_step(|_, slopes| {
                for (place, slope) in slopes.iter_mut().enumerate() {
                    *slope = 1.0 + place as f32;
                }
            });
            let after = network.parameters.iter().map(|&p| f64::from(p));
            assert!(after.zip(&before).any(|(after, before)| after != *before));
            let Input::Dense(scale) = &network.input else {
                panic!("{DIM} features are few");
            };
            let mut scaled = [0.0_f32; STEP * DIM];
            for (x, row) in xs.iter().zip(scaled.chunks_exact_mut(DIM)) {
                scale.apply(x, row);
            }
            let scaled = scaled.map(f64::from);
            let mut parameters = before;
            let expected = plain_objective(network.layers, &parameters, &scaled);
            assert!((found - expected).abs() < 1e-5 * (1.0 + expected.abs()));
            for (place, &found) in network.gradient.iter().enumerate() {
                let (start, step) = (parameters[place], 1e-6);
                let mut at = |moved: f64| {
                    parameters[place] = start + moved;
                    plain_objective(network.layers, &parameters, &scaled)
                };
                let difference = (at(step) - at(-step)) / (2.0 * step);
                parameters[place] = start;
                assert!(
                    (difference - f64::from(found)).abs() < 1e-4 * (1.0 + difference.abs()),
                    "{place}: {difference} {found}"
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
        damaged.parameters[3] = f32::NAN;
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
            *parameter += 0.6 * (rng.unit() as f32 - 0.5);
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
            for (x, expected) in xs.iter().zip(many.chunks_exact(outputs)) {
                for x in [x, &densely(x)] {
                    assert_eq!(self::outputs(&network, x), expected);
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
                *slope = 1.0 + place as f32;
            }
        });
        let Input::Wide(layer) = &network.input else {
            panic!("{WIDE} features are wide");
        };
        let rows = layer.step_gradient();
        assert!(50 < rows.len(), "{}", rows.len());
        let step = STEP_ASIDE;
        let check = |expected: f32, moved: &dyn Fn(&mut ContextNetwork, f32)| {
            let at = |by: f32| {
                let mut network = before.clone();
                moved(&mut network, by);
                objective(&mut network, &xs)
            };
            let difference = (at(step) - at(-step)) / (2.0 * f64::from(step));
            let expected = f64::from(expected);
            assert!(
                (difference - expected).abs() < 0.02 * (1.0 + expected.abs()),
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
            let squares = wide_contexts(1).map(|x| {
                let y = outputs(network, &x);
                y.iter().map(|y| (y - 1.0) * (y - 1.0)).sum::<f32>()
            });
            squares.iter().sum::<f32>()
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
        assert!(saved.len() < 2 * 60 * 12 * 4, "{}", saved.len());
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
