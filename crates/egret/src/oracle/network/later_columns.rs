use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::codec::{LoadError, saved_state};
use crate::event::Context;
use crate::numeric::{EventRng, OutOfRange, Stream};
use crate::oracle::{
    LearningRate,
    network::{
        context::MOST_DENSE,
        feature_scale::{self, FeatureScale},
        replay_memory::STEP,
        wide_layer::{self, WideLayer, add_row},
    },
    optimizer::{adam::Adam, init::check_parameters},
};

/// The weights of a first layer for features that contexts got later: adds W s(x) to its sums.
///
/// | how many  | s and W                                                                                |
/// |-----------|----------------------------------------------------------------------------------------|
/// | up to 512 | a [`FeatureScale`] that counts from now on; W starts as in a new network, by Adam      |
/// | more      | a [`WideLayer`]                                                                        |
///
/// s = 0 where these features are 0 and nothing was learned of them yet: such contexts give the sums that they gave
/// before. A shorter context, from before, has none of them and always does.
#[derive(Debug, Clone)]
pub(crate) struct LaterColumns {
    range: Range<usize>,
    outputs: usize,
    input: Input,
}

#[derive(Debug, Clone)]
enum Input {
    Dense(Dense),
    Wide(WideLayer),
}

#[derive(Debug, Clone)]
struct Dense {
    scale: FeatureScale,
    /// By feature.
    weights: Vec<f32>,
    adam: Adam<f32>,
    gradient: Vec<f32>,
    /// s(x) of each context of a step, row after row.
    values: Vec<f32>,
    /// For a context that is counted.
    dense: Vec<f64>,
}

/// What is saved.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum State {
    Dense(DenseState),
    Wide(wide_layer::State),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DenseState {
    scale: feature_scale::State,
    weights: Vec<f32>,
    adam: Adam<f32>,
}

impl LaterColumns {
    /// Before any learning.
    pub(crate) fn new(
        range: Range<usize>,
        outputs: usize,
        seed: u64,
        rate: LearningRate,
    ) -> Result<Self, OutOfRange> {
        let input = if range.len() <= MOST_DENSE {
            let count = check_parameters(range.len().checked_mul(outputs))?;
            let mut drawn = vec![0.0; count];
            // As in `WideLayer`: no decision has so large a number.
            let event = u64::MAX - 1 - range.start as u64;
            EventRng::new(seed, event, Stream::World).fill_unit(&mut drawn);
            let bound = (6.0 / range.end as f64).sqrt();
            let weights = drawn.iter().map(|u| (bound * (2.0 * u - 1.0)) as f32);
            Input::Dense(Dense {
                scale: FeatureScale::new(range.clone()),
                weights: weights.collect(),
                adam: Adam::new(count, rate),
                gradient: vec![0.0; count],
                values: vec![0.0; STEP * range.len()],
                dense: vec![0.0; range.len()],
            })
        } else {
            Input::Wide(WideLayer::new(range.clone(), outputs, seed)?)
        };
        Ok(Self {
            range,
            outputs,
            input,
        })
    }

    /// How long a context is that has these features.
    pub(crate) fn end(&self) -> usize {
        self.range.end
    }

    /// How many numbers of scratch space [`add`](Self::add) needs.
    pub(crate) fn scratch(&self) -> usize {
        match &self.input {
            Input::Dense(_) => self.range.len(),
            Input::Wide(_) => self.outputs,
        }
    }

    /// Updates the scale of features with one more context.
    pub(crate) fn look_at(&mut self, x: &Context) {
        match &mut self.input {
            Input::Dense(dense) => dense.scale.add(x, &mut dense.dense),
            Input::Wide(layer) => layer.look_at(x),
        }
    }

    /// out ← out + W s(x).
    pub(crate) fn add(&self, x: &Context, scratch: &mut [f32], out: &mut [f32]) {
        if x.dim() < self.range.end {
            return;
        }
        let scratch = &mut scratch[..self.scratch()];
        match &self.input {
            Input::Dense(dense) => {
                dense.scale.apply(x, scratch);
                add_product(scratch, &dense.weights, out);
            }
            Input::Wide(layer) => layer.add(x, scratch, out),
        }
    }

    /// As [`add`](Self::add) for each context of a step, row after row.
    pub(crate) fn add_step(&mut self, xs: [&Context; STEP], out: &mut [f32]) {
        let n = self.range.len();
        match &mut self.input {
            Input::Dense(dense) => {
                let rows = dense.values.chunks_exact_mut(n);
                let rows = rows.zip(out.chunks_exact_mut(self.outputs));
                for (x, (s, out)) in xs.into_iter().zip(rows) {
                    if x.dim() < self.range.end {
                        s.fill(0.0);
                    } else {
                        dense.scale.apply(x, s);
                        add_product(s, &dense.weights, out);
                    }
                }
            }
            Input::Wide(layer) => layer.add_step(xs, out),
        }
    }

    /// The gradient after [`add_step`](Self::add_step), from the derivatives by its outputs; whether Adam accepts it.
    pub(crate) fn differentiate(&mut self, slopes: &[f32]) -> bool {
        let n = self.range.len();
        match &mut self.input {
            Input::Dense(dense) => {
                dense.gradient.fill(0.0);
                let rows = dense.values.chunks_exact(n);
                for (s, slopes) in rows.zip(slopes.chunks_exact(self.outputs)) {
                    let rows = dense.gradient.chunks_exact_mut(self.outputs);
                    for (gradient, &value) in rows.zip(s) {
                        if value != 0.0 {
                            add_row(value, slopes, gradient);
                        }
                    }
                }
                Adam::accepts(&dense.gradient)
            }
            Input::Wide(layer) => layer.differentiate(slopes),
        }
    }

    /// One step down an accepted gradient.
    pub(crate) fn step(&mut self, rate: LearningRate) {
        match &mut self.input {
            Input::Dense(dense) => dense.adam.step(&mut dense.weights, &dense.gradient),
            Input::Wide(layer) => layer.step(rate.rate()),
        }
    }

    pub(crate) fn state(&self) -> State {
        match &self.input {
            Input::Dense(dense) => State::Dense(DenseState {
                scale: dense.scale.state().clone(),
                weights: dense.weights.clone(),
                adam: dense.adam.clone(),
            }),
            Input::Wide(layer) => State::Wide(layer.state()),
        }
    }

    /// An error unless this is a state of such columns.
    pub(crate) fn check(&self, state: &State) -> Result<(), LoadError> {
        match (&self.input, state) {
            (Input::Dense(dense), State::Dense(state)) => {
                dense.scale.check(&state.scale)?;
                let count = dense.weights.len();
                let small = |weight: f64| weight.abs() <= 1e12;
                saved_state::expect_numbers("later weights", &state.weights, count, small)?;
                state.adam.check(count)
            }
            (Input::Wide(layer), State::Wide(state)) => layer.check(state),
            (input, state) => {
                let wide = matches!(input, Input::Wide(_));
                let found = matches!(state, State::Wide(_));
                saved_state::expect_same("wide later columns:", &found, &wide)
            }
        }
    }

    /// Restores a checked state.
    pub(crate) fn restore(&mut self, state: State) {
        match (&mut self.input, state) {
            (Input::Dense(dense), State::Dense(state)) => {
                dense.scale.restore(state.scale);
                dense.weights = state.weights;
                dense.adam = state.adam;
            }
            (Input::Wide(layer), State::Wide(state)) => layer.restore(state),
            _ => unreachable!("checked"),
        }
    }
}

/// out ← out + Σ sᵢ rowᵢ.
fn add_product(s: &[f32], rows: &[f32], out: &mut [f32]) {
    for (&value, row) in s.iter().zip(rows.chunks_exact(out.len())) {
        // So that sums of contexts without these features keep their bits, signs of zeros included.
        if value != 0.0 {
            add_row(value, row, out);
        }
    }
}
