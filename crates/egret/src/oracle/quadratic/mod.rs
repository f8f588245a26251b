//! Ridge regression on squares, products and random cosines.
//!
//! | file     | what                                                     |
//! |----------|----------------------------------------------------------|
//! | `changes` | when losses are no longer as predicted                   |
//! | `errors` | the squared error to expect of a prediction              |
//! | `priors` | how near to 0 each part of θ is held                     |
//! | `waves`  | random cosines                                           |

mod changes;
mod errors;
mod priors;
mod waves;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::codec::{LoadError, saved_state};
use crate::event::{Action, Batch, Context, ContextError};
use crate::numeric::{
    OutOfRange,
    lanes::{self, LANES, Lanes},
    pool::Pool,
};
use crate::oracle::{
    ActionFeatures, Example, GrowError, ItemTree, RegressionOracle, Scaling,
    features::{
        basis::waves,
        limits::{check_action, check_count, check_size},
    },
    local::{
        context_features::ContextFeatures,
        least_squares::{self, Lane, LeastSquares},
        scaled_columns::{ScaledColumns, hashed},
    },
    network::{feature_scale, replay_memory::check_size_of_loss},
};

use self::{
    changes::{Changes, Move},
    errors::Errors,
    priors::Priors,
    waves::Waves,
};

/// Least squares of the loss on a quadratic function of the action, whose minimum moves with the context.
///
/// f̂(x, a) = ½ + θ·(φ(x), u, u² − 1, uᵢuⱼ, s ⊗ u, cos(ω·(s, u) + b))
///
/// u are the features of the action, scaled to mean 0 and deviation 1 under μ; φ and s those of the context, scaled too. The
/// entries of ω are normal with variance 4 over the number of inputs, b is uniform: with random cosines there may be several
/// basins, and bends that no quadratic function has. The mean of the u² has a weight of its own: knobs bend f̂ alike until losses tell
/// one from another. All of it is one ridge regression. So there is no step size, twenty knobs are learned from a few hundred losses,
/// and noise is averaged out. The larger the errors of f̂, the longer it keeps to its prior; and how near to 0 the prior holds the
/// weights of u, of the mean of u², of its differences, of pairs, of s ⊗ u and of cosines is learned for each from the losses: what a
/// world does not need adds no noise. Where losses are no longer as predicted, the world has moved, and what was learned counts less.
/// It may also forget events older than about `memory`.
///
/// Of knobs, an example counts the less, the larger the errors of predictions like its own: f̂ is then true above all where
/// losses are well predicted, as near the best actions. Of items all count alike: they cannot be moved to where f̂ is true.
///
/// | features of an action | products                                                       |
/// |-----------------------|----------------------------------------------------------------|
/// | up to 24              | of all pairs                                                   |
/// | more                  | none, squares alone                                            |
///
/// At most about 400 products s ⊗ u: with more, features of the context are first summed into groups, with signs that a hash
/// gives.
#[derive(Debug)]
pub struct QuadraticRegression<E> {
    actions: E,
    scaling: Vec<Scaling>,
    settings: QuadraticSettings,
    features: ContextFeatures,
    groups: usize,
    waves: Waves,
    /// Features that contexts got later, one growth after another.
    later: Vec<Later>,
    squares: LeastSquares,
    /// How many events were learned, and how many of them when the past last was made to count less.
    events: u64,
    forgotten: u64,
    errors: Errors,
    priors: Priors,
    changes: Changes,
    /// The parts of θ that have priors of their own: all but that of the context, which comes first.
    parts: Vec<Range<usize>>,
    learning: Learning,
    buffers: Pool<Scratch>,
}

/// Settings of a [`QuadraticRegression`], checked when it is made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct QuadraticSettings {
    /// How many features a context has; may be 0.
    pub context_dim: usize,
    /// How many events it remembers, from 100 to 10⁹; none to remember all while the world stays.
    pub memory: Option<f64>,
    /// How many random cosines, from 0 to 1,024.
    pub cosines: usize,
    /// Seed of the random cosines.
    pub seed: u64,
}

/// Features that contexts got later: they shift f̂, and its minimum.
#[derive(Debug, Clone)]
struct Later {
    columns: ScaledColumns,
    /// Whether there are products with u: not where there would be too many.
    products: bool,
}

impl Later {
    fn new(features: Range<usize>, action_dim: usize) -> Self {
        let columns = ScaledColumns::new(features);
        Self {
            products: columns.len().saturating_mul(action_dim) <= MOST_PRODUCTS,
            columns,
        }
    }

    /// How many weights so many features have.
    fn length(features: usize, action_dim: usize) -> usize {
        let columns = ScaledColumns::count(features);
        let products = columns.saturating_mul(action_dim);
        if products <= MOST_PRODUCTS {
            columns + products
        } else {
            columns
        }
    }

    /// What the features and their products are multiplied by, so that each part has the same prior variance.
    fn factors(&self, action_dim: usize) -> [f64; 2] {
        let columns = self.columns.len();
        [columns, columns * action_dim].map(|count| (PRIOR_VARIANCE / count.max(1) as f64).sqrt())
    }
}

/// φ of a context, and features of actions.
#[derive(Debug, Clone, Default)]
struct Scratch {
    context: Vec<f64>,
    phi: Vec<f64>,
    /// θ, or the cosines of an action.
    weights: Vec<f64>,
}

/// φ of an example as numbers, beside the shifts of its cosines; φ as least squares takes it, and scratch space.
#[derive(Debug)]
struct Learning {
    numbers: [Vec<f64>; 2],
    lanes: Vec<Lane>,
    scratch: least_squares::Scratch,
}

impl Learning {
    fn new(length: usize) -> Self {
        Self {
            numbers: Default::default(),
            lanes: least_squares::padded(length),
            scratch: least_squares::Scratch::new(length),
        }
    }
}

/// How many actions are predicted at a time.
const BLOCK: usize = 32;

/// Products of pairs are left out beyond.
const MOST_PAIRED: usize = 24;

/// About how many products of context and action there may be.
const MOST_PRODUCTS: usize = 400;

/// The prior variance of each part of θ·φ, in variances of an example, where λ is 1.
const PRIOR_VARIANCE: f64 = 10.0;

/// The prior deviation of the constant, in those of an example of weight 1: losses may be anywhere in [0, 1].
const OF_CONSTANT: f64 = 8.0;

/// The prior deviation of the cosines' part: they are for what a quadratic function cannot say.
const OF_COSINES: f64 = 0.5;

/// Beyond this squared error that is expected of its prediction, an example counts the less: it says less, and the prior of θ is
/// one of losses, not of noise.
const LOSS_VARIANCE: f64 = 0.004;

/// Forgetting is done when it amounts to this share of the memory.
const FORGETS_AT_ONCE: f64 = 1.0 / 32.0;

/// How many products uᵢuⱼ with i < j there are.
fn pairs(dim: usize) -> usize {
    if dim <= MOST_PAIRED {
        dim * dim.saturating_sub(1) / 2
    } else {
        0
    }
}

/// Into how many groups the features of a context are summed for products.
fn groups(context_dim: usize, action_dim: usize) -> usize {
    context_dim.min((MOST_PRODUCTS / action_dim.max(1)).max(1))
}

/// The length of θ before growth.
fn length(context_dim: usize, action_dim: usize, cosines: usize) -> usize {
    let of_action = action_dim
        .saturating_mul(2)
        .saturating_add(pairs(action_dim));
    let products = groups(context_dim, action_dim).saturating_mul(action_dim);
    ContextFeatures::len(context_dim)
        .saturating_add(of_action)
        .saturating_add(products)
        .saturating_add(cosines)
}

/// Reflects a vector so that the first axis and that of the mean change places: x₁ becomes Σxᵢ/√d, and the others say how the xᵢ
/// differ. Done twice, it changes nothing.
///
/// The prior of what is reflected is that of weights with a mean and differences from it. Of twenty curvatures that are learned one by
/// one, noise turns some into hills; their knobs are sent to an end, where nothing is learned of the middle.
fn turn_to_mean(x: &mut [f64]) {
    if let 2.. = x.len() {
        let part = 1.0 / (x.len() as f64).sqrt();
        let mean = part * x.iter().sum::<f64>();
        let step = (x[0] - mean) / (1.0 - part) * part;
        for value in &mut *x {
            *value += step;
        }
        x[0] = mean;
    }
}

fn scale_mean_and_rest(x: &mut [f64], mean: f64, rest: f64) {
    for (place, value) in x.iter_mut().enumerate() {
        *value *= if place == 0 { mean } else { rest };
    }
}

/// Appends the parts of θ of these lengths that are not empty.
fn append_parts(parts: &mut Vec<Range<usize>>, mut start: usize, lengths: &[usize]) {
    for length in lengths.iter().filter(|length| 0 < **length) {
        parts.push(start..start + length);
        start += length;
    }
}

/// How many numbers are saved, of contexts that had so many features at first and after each growth.
pub(crate) fn saved_numbers(widths: &[usize], action_dim: usize, cosines: usize) -> usize {
    let grown = widths.windows(2).map(|pair| pair[1] - pair[0]);
    let later = grown.map(|columns| Later::length(columns, action_dim));
    let first = length(widths[0], action_dim, cosines);
    let length = later.fold(first, usize::saturating_add);
    let theta_and_priors = length.saturating_mul(2);
    least_squares::size(length)
        .saturating_add(theta_and_priors)
        .saturating_add(changes::saved_numbers(
            groups(widths[0], action_dim),
            action_dim,
        ))
}

/// How many numbers ω has.
pub(crate) fn derived_numbers(context_dim: usize, action_dim: usize, cosines: usize) -> usize {
    let inputs = groups(context_dim, action_dim).saturating_add(action_dim);
    cosines.saturating_mul(inputs)
}

impl<E> QuadraticRegression<E> {
    /// `scaling` has one entry for each feature of an action; there are at most 1,024.
    pub fn new<A: Action>(
        actions: E,
        scaling: Vec<Scaling>,
        settings: QuadraticSettings,
    ) -> Result<Self, OutOfRange>
    where
        E: ActionFeatures<A>,
    {
        let dim = actions.dim();
        check_count("action features", dim)?;
        OutOfRange::unless(dim <= 1024, "action features", dim as f64, "[1, 1024]")?;
        OutOfRange::unless(
            scaling.len() == dim,
            "scalings",
            scaling.len() as f64,
            "one for each action feature",
        )?;
        let cosines = settings.cosines;
        OutOfRange::unless(cosines <= 1024, "cosines", cosines as f64, "[0, 1024]")?;
        if let Some(memory) = settings.memory {
            let allowed = (100.0..=1e9).contains(&memory);
            OutOfRange::unless(allowed, "memory", memory, "[100, 1e9]")?;
        }
        let groups = groups(settings.context_dim, dim);
        let length = length(settings.context_dim, dim, cosines);
        let mut parts = Vec::new();
        let start = ContextFeatures::len(settings.context_dim);
        append_parts(
            &mut parts,
            start,
            &[dim, 1, dim - 1, pairs(dim), groups * dim, cosines],
        );
        Ok(Self {
            groups,
            waves: Waves::new(groups + dim, cosines, settings.seed),
            later: Vec::new(),
            squares: LeastSquares::new(length),
            features: ContextFeatures::new(settings.context_dim),
            actions,
            scaling,
            settings,
            events: 0,
            forgotten: 0,
            errors: Errors::new(),
            priors: Priors::new(length),
            changes: Changes::new(groups, dim),
            parts,
            learning: Learning::new(length),
            buffers: Pool::default(),
        })
    }

    fn context_length(&self) -> usize {
        ContextFeatures::len(self.features.dim())
    }

    /// φ(x), and the sums of its scaled features by group.
    fn fill_context(&self, x: &Context, out: &mut Vec<f64>) {
        let (length, groups) = (self.context_length(), self.groups);
        out.clear();
        out.resize(length + groups, 0.0);
        let (phi, sums) = out.split_at_mut(length);
        self.features.fill(x, phi);
        phi[0] = OF_CONSTANT;
        let few = ScaledColumns::count(self.features.dim()) <= groups;
        for (column, value) in self.features.scaled(phi).enumerate() {
            if few {
                sums[column] = value;
            } else {
                let (place, sign) = hashed(column, groups);
                sums[place] += sign * value;
            }
        }
        for Later { columns, .. } in &self.later {
            let start = out.len();
            out.resize(start + columns.len(), 0.0);
            columns.fill(x, &mut out[start..]);
        }
    }

    /// φ(x), the sums by group, and the features that came later.
    fn split<'a>(&self, context: &'a [f64]) -> (&'a [f64], &'a [f64], &'a [f64]) {
        let (own, rest) = context.split_at(self.context_length());
        let (sums, later) = rest.split_at(self.groups);
        (own, sums, later)
    }

    /// Counts one more context.
    fn look_at(&mut self, x: &Context, scratch: &mut Vec<f64>) {
        let later = self.later.iter().map(|later| later.columns.len());
        let longest = later.fold(self.context_length(), usize::max);
        scratch.clear();
        scratch.resize(longest, 0.0);
        self.features.look_at(x, scratch);
        for later in &mut self.later {
            later.columns.look_at(x, scratch);
        }
    }

    /// u of some actions of a batch, row after row; NaN where features cannot be read.
    fn fill_actions<A: Action>(&self, actions: &A::Batch, range: Range<usize>, out: &mut [f64])
    where
        E: ActionFeatures<A>,
    {
        let dim = self.scaling.len();
        for (place, row) in range.zip(out.chunks_exact_mut(dim)) {
            self.actions.fill(actions, place..place + 1, row);
        }
        scale_rows(&self.scaling, out);
    }

    /// Weights of the parts, so that each has the same prior variance: of u and the differences of u², of the mean of u², of pairs, of
    /// products.
    fn factors(&self) -> [f64; 4] {
        let dim = self.scaling.len();
        [dim, 1, pairs(dim), self.groups * dim]
            .map(|count| (PRIOR_VARIANCE / count.max(1) as f64).sqrt())
    }

    /// φ(x, a); `shifts` is scratch space.
    fn expand(&self, context: &[f64], u: &[f64], shifts: &mut Vec<f64>, phi: &mut Vec<f64>) {
        let [plain, mean, paired, product] = self.factors();
        let (own, sums, mut later_values) = self.split(context);
        phi.clear();
        phi.extend_from_slice(own);
        phi.extend(u.iter().map(|u| plain * u));
        let start = phi.len();
        phi.extend(u.iter().map(|u| u * u - 1.0));
        let squares = &mut phi[start..];
        turn_to_mean(squares);
        scale_mean_and_rest(squares, mean, plain);
        if u.len() <= MOST_PAIRED {
            for (place, first) in u.iter().enumerate() {
                phi.extend(u[place + 1..].iter().map(|second| paired * first * second));
            }
        }
        for sum in sums {
            phi.extend(u.iter().map(|u| product * sum * u));
        }
        if 0 < self.settings.cosines {
            let start = phi.len();
            phi.resize(start + self.settings.cosines, 0.0);
            shifts.clear();
            self.waves.append_shifts(sums, shifts);
            let out = &mut phi[start..];
            waves(u, self.waves.of_actions(sums.len()), shifts, out);
            for value in out {
                *value *= OF_COSINES;
            }
        }
        for later in &self.later {
            let (values, rest) = later_values.split_at(later.columns.len());
            let [plain, product] = later.factors(u.len());
            phi.extend(values.iter().map(|value| plain * value));
            if later.products {
                for value in values {
                    phi.extend(u.iter().map(|u| product * value * u));
                }
            }
            later_values = rest;
        }
    }

    fn step<A: Action>(&mut self, context: &[f64], u: &[f64], (loss, weight): (f64, f64))
    where
        E: ActionFeatures<A>,
    {
        let [mut phi, mut shifts] = std::mem::take(&mut self.learning.numbers);
        self.expand(context, u, &mut shifts, &mut phi);
        self.events += 1;
        let moving = self.changes.memory();
        let memories = [self.settings.memory, moving].into_iter().flatten();
        let late = (self.events - self.forgotten) as f64 / memories.fold(f64::INFINITY, f64::min);
        if FORGETS_AT_ONCE <= late {
            self.forget(libm::exp(late.min(30.0)));
        }
        let Learning { lanes, scratch, .. } = &mut self.learning;
        least_squares::fill(lanes, &phi);
        let predicted = (0.5 + self.squares.predict(lanes)).clamp(0.0, 1.0);
        self.changes.count_event();
        let worth = self.changes.worth() as u64;
        // What is seldom played may err more than it has so far, and so may what f̂ knows little of. All before the loss is looked at: a
        // bet goes by it.
        let variance = self.errors.expected(predicted).max(self.errors.all());
        let unknown = self.priors.variance();
        let like_it = (self.errors).count(predicted, loss.clamp(0.0, 1.0), worth.max(1));
        let error = if self.actions.are_knobs() {
            like_it
        } else {
            self.errors.all()
        };
        // The noisier the losses, the longer the prior holds.
        let trust = LOSS_VARIANCE / error.max(LOSS_VARIANCE);
        if let Some(memory) = moving {
            // A constant that walks so far at every event is known from about the last `events`; it is OF_CONSTANT times its weight.
            let events = memory / changes::LEVEL;
            let walk = 1.0 / (OF_CONSTANT * events);
            self.squares.loosen_first(walk * walk / trust);
        }
        let spread = (self.squares).learn(lanes, loss - 0.5, trust * weight, scratch);
        if 0.0 < weight {
            let square = (predicted - loss) * (predicted - loss);
            self.priors.count((trust * weight * square).min(1.0), worth);
            self.priors
                .turn(&self.parts, self.events, &mut self.squares, scratch);
            let (_, sums, _) = self.split(context);
            let expected = (predicted, (variance + spread * unknown).sqrt());
            let weights = self.squares.dim();
            match (self.changes).moved((sums, u), (loss, weight), expected, weights) {
                Some(Move::Near) => self.forget(changes::FORGETS),
                Some(Move::Far) => self.begin_anew(),
                None => {}
            }
        }
        self.learning.numbers = [phi, shifts];
    }

    /// Makes all that was learned count so many times less.
    fn forget(&mut self, factor: f64) {
        self.priors.forget(factor, &mut self.squares);
        self.errors.forget(factor);
        self.changes.forget(factor);
        self.forgotten = self.events;
    }

    /// Keeps nothing that was learned but how contexts are scaled.
    fn begin_anew(&mut self) {
        let length = self.squares.dim();
        self.squares = LeastSquares::new(length);
        self.priors = Priors::new(length);
        self.errors = Errors::new();
        self.forgotten = self.events;
    }
}

impl<A: Action, E: ActionFeatures<A>> RegressionOracle<Context, A> for QuadraticRegression<E> {
    /// A constant, weights of u, and of uᵢuⱼ with i ≤ j where there are pairs, of uᵢ² where there are none.
    fn prepare(&self, x: &Context, prepared: &mut Vec<f64>) -> Result<(), ContextError> {
        x.expect_dim(self.settings.context_dim)?;
        check_size(x)?;
        let dim = self.scaling.len();
        let [plain, mean, paired, product] = self.factors();
        self.buffers.with(|scratch| {
            let Scratch {
                context,
                weights: theta,
                ..
            } = scratch;
            self.fill_context(x, context);
            let (own, sums, mut later_values) = self.split(context);
            self.squares.copy_theta(theta);
            let (of_context, rest) = theta.split_at_mut(own.len());
            let (of_u, rest) = rest.split_at_mut(dim);
            let (of_squares, rest) = rest.split_at_mut(dim);
            scale_mean_and_rest(of_squares, mean, plain);
            turn_to_mean(of_squares);
            let (of_pairs, rest) = rest.split_at(pairs(dim));
            let (of_products, rest) = rest.split_at(self.groups * dim);
            let (of_waves, mut of_later) = rest.split_at(self.settings.cosines);
            let constant: f64 = own
                .iter()
                .zip(&*of_context)
                .map(|(phi, theta)| phi * theta)
                .sum();
            let of_ones: f64 = of_squares.iter().sum();
            prepared.push(0.5 + constant - of_ones);
            let start = prepared.len();
            prepared.extend(of_u.iter().map(|theta| plain * theta));
            for (sum, row) in sums.iter().zip(of_products.chunks_exact(dim)) {
                for (weight, theta) in prepared[start..].iter_mut().zip(row) {
                    *weight += product * sum * theta;
                }
            }
            for later in &self.later {
                let (values, rest) = later_values.split_at(later.columns.len());
                let [plain, product] = later.factors(dim);
                for value in values {
                    prepared[start - 1] += plain * value * of_later[0];
                    of_later = &of_later[1..];
                }
                for value in values.iter().filter(|_| later.products) {
                    let (row, others) = of_later.split_at(dim);
                    for (weight, theta) in prepared[start..].iter_mut().zip(row) {
                        *weight += product * value * theta;
                    }
                    of_later = others;
                }
                later_values = rest;
            }
            let mut of_pairs = of_pairs.iter();
            for (place, weight) in of_squares.iter().enumerate() {
                prepared.push(*weight);
                let row = if dim <= MOST_PAIRED {
                    dim - 1 - place
                } else {
                    0
                };
                prepared.extend(of_pairs.by_ref().take(row).map(|theta| paired * theta));
            }
            self.waves.append_shifts(sums, prepared);
            prepared.extend(of_waves.iter().map(|theta| OF_COSINES * theta));
        });
        Ok(())
    }

    fn predict(&self, _: &Context, prepared: &[f64], actions: &A::Batch, out: &mut [f64]) {
        let dim = self.scaling.len();
        let cosines = self.settings.cosines;
        let (prepared, of_waves) = prepared.split_at(prepared.len() - cosines);
        let (prepared, shifts) = prepared.split_at(prepared.len() - cosines);
        let (linear, quadratic) = prepared[1..].split_at(dim);
        let omega = self.waves.of_actions(self.groups);
        self.buffers.with(
            |Scratch {
                 phi: rows, weights, ..
             }| {
                rows.resize(BLOCK * dim, 0.0);
                weights.resize(cosines, 0.0);
                for (block, out) in out.chunks_mut(BLOCK).enumerate() {
                    let rows = &mut rows[..out.len() * dim];
                    let start = block * BLOCK;
                    self.fill_actions::<A>(actions, start..start + out.len(), rows);
                    if dim <= MOST_PAIRED {
                        quadratic_forms(linear, quadratic, rows, out);
                    } else {
                        parabolas(linear, quadratic, rows, out);
                    }
                    for (out, u) in out.iter_mut().zip(rows.chunks_exact(dim)) {
                        *out += prepared[0];
                        if 0 < cosines {
                            waves(u, omega, shifts, weights);
                            *out += lanes::dot(weights, of_waves);
                        }
                    }
                }
            },
        );
    }

    fn learn(&mut self, batch: &[Example<'_, Context, A>]) -> Result<(), ContextError> {
        let dim = self.scaling.len();
        let mut actions = A::Batch::default();
        for example in batch {
            example.x.expect_dim(self.settings.context_dim)?;
            check_size(example.x)?;
            check_size_of_loss(example)?;
            actions.push(example.action);
        }
        let (mut columns, mut context) = (vec![0.0; batch.len() * dim], Vec::new());
        self.fill_actions::<A>(&actions, 0..batch.len(), &mut columns);
        for (example, u) in batch.iter().zip(columns.chunks_exact(dim)) {
            check_action(u, example.action)?;
        }
        for (example, u) in batch.iter().zip(columns.chunks_exact(dim)) {
            self.look_at(example.x, &mut context);
            self.fill_context(example.x, &mut context);
            let (loss, weight) = (example.loss.get(), example.weight.get());
            self.step::<A>(&context, u, (loss, weight));
        }
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        let saved = Saved {
            settings: self.settings,
            read: self.features.dim(),
            scaling: self.scaling.iter().map(|s| (s.shift, s.factor)).collect(),
            scale: self.features.state().clone(),
            later: self
                .later
                .iter()
                .map(|later| later.columns.state().clone())
                .collect(),
            squares: self.squares.clone(),
            events: self.events,
            forgotten: self.forgotten,
            errors: self.errors.clone(),
            priors: self.priors.clone(),
            changes: self.changes.state().clone(),
        };
        saved_state::to_bytes(KIND, &saved)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), LoadError> {
        let saved: Saved = saved_state::from_bytes(KIND, state)?;
        let scaling: Vec<(f64, f64)> = self.scaling.iter().map(|s| (s.shift, s.factor)).collect();
        saved_state::expect_same("settings", &saved.settings, &self.settings)?;
        saved_state::expect_same("features read:", &saved.read, &self.features.dim())?;
        saved_state::expect_same("scalings", &saved.scaling, &scaling)?;
        self.features.check(&saved.scale)?;
        saved_state::expect_same("growths:", &saved.later.len(), &self.later.len())?;
        for (later, state) in self.later.iter().zip(&saved.later) {
            later.columns.check(state)?;
        }
        saved.squares.check(self.squares.dim())?;
        saved_state::expect_count("events", saved.events)?;
        saved.errors.check()?;
        saved.priors.check(&saved.squares)?;
        self.changes.check(&saved.changes, saved.events)?;
        if saved.events < saved.forgotten {
            return Err(LoadError::Invalid("more was forgotten than learned".into()));
        }
        self.features.restore(saved.scale);
        for (later, state) in self.later.iter_mut().zip(saved.later) {
            later.columns.restore(state);
        }
        self.squares = saved.squares;
        self.events = saved.events;
        self.forgotten = saved.forgotten;
        self.errors = saved.errors;
        self.priors = saved.priors;
        self.changes.restore(saved.changes);
        Ok(())
    }

    fn squared_error(&self) -> Option<f64> {
        Some(self.errors.all())
    }

    fn forgotten(&self) -> f64 {
        match self.events {
            0 => 0.0,
            events => 1.0 - self.changes.worth() / events as f64,
        }
    }

    fn item_tree(&self) -> Option<&ItemTree> {
        self.actions.item_tree()
    }

    /// New features shift f̂ and its minimum.
    fn grow(&mut self, dim: usize) -> Result<bool, GrowError> {
        let columns = self.settings.context_dim..dim;
        self.settings.context_dim = dim;
        let actions = self.scaling.len();
        let more = Later::length(columns.len(), actions);
        let later = Later::new(columns, actions);
        let columns = later.columns.len();
        append_parts(
            &mut self.parts,
            self.squares.dim(),
            &[columns, more - columns],
        );
        self.later.push(later);
        self.squares.grow(more);
        self.priors.grow(more);
        self.learning = Learning::new(self.squares.dim());
        Ok(true)
    }
}

/// Brings the features of actions, row after row, to their scale.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn scale_rows(scaling: &[Scaling], rows: &mut [f64]) {
    for row in rows.chunks_exact_mut(scaling.len()) {
        for (value, scaling) in row.iter_mut().zip(scaling) {
            *value = (*value - scaling.shift) * scaling.factor;
        }
    }
}

/// Σ uᵢ (wᵢ + Σ_{j ≥ i} qᵢⱼ uⱼ) of each row.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn quadratic_forms(linear: &[f64], quadratic: &[f64], rows: &[f64], out: &mut [f64]) {
    let dim = linear.len();
    for (out, u) in out.iter_mut().zip(rows.chunks_exact(dim)) {
        let mut rest = quadratic;
        *out = 0.0;
        for (place, (value, weight)) in u.iter().zip(linear).enumerate() {
            let (row, others) = rest.split_at(dim - place);
            *out += value * (weight + lanes::dot(row, &u[place..]));
            rest = others;
        }
    }
}

/// Σ uᵢ (wᵢ + qᵢ uᵢ) of each row.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn parabolas(linear: &[f64], quadratic: &[f64], rows: &[f64], out: &mut [f64]) {
    for (out, u) in out.iter_mut().zip(rows.chunks_exact(linear.len())) {
        let mut sums = [0.0; LANES];
        let terms = Lanes::of(u)
            .zip(Lanes::of(linear))
            .zip(Lanes::of(quadratic));
        for ((u, w), q) in terms {
            for lane in 0..LANES {
                sums[lane] += u[lane] * (w[lane] + q[lane] * u[lane]);
            }
        }
        *out = lanes::tree(sums);
    }
}

/// Files from before its constant had a wide prior are refused by it.
const KIND: &str = "quadratic regression with a wide constant";

#[derive(Serialize, Deserialize)]
struct Saved {
    settings: QuadraticSettings,
    read: usize,
    scaling: Vec<(f64, f64)>,
    scale: feature_scale::State,
    later: Vec<feature_scale::State>,
    squares: LeastSquares,
    events: u64,
    forgotten: u64,
    errors: Errors,
    priors: Priors,
    changes: changes::State,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{PseudoLoss, Vector, Weight};
    use crate::numeric::{EventRng, Stream};
    use crate::oracle::{LossCurve, VectorFeatures};

    const KNOBS: usize = 4;

    fn oracle(context_dim: usize, cosines: usize) -> QuadraticRegression<VectorFeatures> {
        let settings = QuadraticSettings {
            context_dim,
            memory: None,
            cosines,
            seed: 3,
        };
        // Knobs from 0 to 1,000.
        let scaling = Scaling {
            shift: 500.0,
            factor: 1.0 / 289.0,
        };
        let features = VectorFeatures::new(KNOBS).expect("few");
        QuadraticRegression::new(features, vec![scaling; KNOBS], settings).expect("in range")
    }

    /// A context in odd units, and knobs at random.
    fn event(number: u64, dim: usize) -> (Context, Vector) {
        let mut rng = EventRng::new(1, number, Stream::World);
        let knobs: Vec<f64> = (0..KNOBS).map(|_| 1_000.0 * rng.unit()).collect();
        let x = (0..dim).map(|_| 1e6 * rng.unit()).collect();
        (
            Context::dense(x).expect("finite"),
            Vector::new(&knobs).expect("finite"),
        )
    }

    /// A bowl that is not along the axes, whose middle moves with the first feature.
    fn bowl(x: &Context, knobs: &[f64]) -> f64 {
        let first = x.as_dense().and_then(|x| x.first().copied()).unwrap_or(5e5) / 1e6;
        let u: Vec<f64> = knobs
            .iter()
            .map(|a| a / 1_000.0 - 0.3 - 0.4 * first)
            .collect();
        0.3 * (u[0] + u[1]).powi(2) + 0.1 * (u[2] * u[2] + u[3] * u[3])
    }

    /// As far from a quadratic function as two basins are.
    fn basins(_: &Context, knobs: &[f64]) -> f64 {
        0.5 + 0.4 * (knobs[0] / 200.0).cos()
    }

    fn teach(
        oracle: &mut QuadraticRegression<VectorFeatures>,
        dim: usize,
        events: Range<u64>,
        loss: impl Fn(&Context, &[f64]) -> f64,
    ) {
        for number in events {
            let (x, action) = event(number, dim);
            let example = Example {
                x: &x,
                action: &action,
                loss: PseudoLoss::new(loss(&x, &action)).expect("finite"),
                weight: Weight::ONE,
            };
            oracle.learn(&[example]).expect("a good event");
        }
    }

    fn error(
        oracle: &QuadraticRegression<VectorFeatures>,
        dim: usize,
        loss: impl Fn(&Context, &[f64]) -> f64,
    ) -> f64 {
        let squared = |number: u64| {
            let (x, action) = event(number, dim);
            let (mut buffer, mut out, mut actions) = (Vec::new(), Vec::new(), Default::default());
            <crate::event::Vectors as Batch<Vector>>::push(&mut actions, &action);
            LossCurve::<_, Vector>::new(oracle, &x, &mut buffer)
                .expect("readable")
                .predict(&actions, &mut out)
                .expect("a number");
            (out[0] - loss(&x, &action)).powi(2)
        };
        (100_000..100_300).map(squared).sum::<f64>() / 300.0
    }

    fn save(oracle: &QuadraticRegression<VectorFeatures>) -> Vec<u8> {
        RegressionOracle::<_, Vector>::save(oracle)
    }

    #[test]
    fn a_quadratic_loss_is_learned_to_rounding() {
        let mut oracle = oracle(1, 0);
        teach(&mut oracle, 1, 0..2_000, bowl);
        // A constant is off by 0.01, a model without products of knobs by 0.002, one without those of knob and context by more.
        let found = error(&oracle, 1, bowl);
        assert!(found < 1e-5, "{found}");
    }

    /// How many of 20 knobs f̂ takes for hills, after 1,000 outcomes of 0 or 1 of a bowl.
    fn hills(seed: u64) -> usize {
        let knobs = 20;
        let settings = oracle(0, 64).settings;
        let scaling = Scaling {
            shift: 0.0,
            factor: 3.0_f64.sqrt(),
        };
        let features = VectorFeatures::new(knobs).expect("few");
        let mut oracle =
            QuadraticRegression::new(features, vec![scaling; knobs], settings).expect("in range");
        let x = Context::dense(vec![]).expect("nothing");
        for number in 0..1_000 {
            let mut rng = EventRng::new(seed, number, Stream::World);
            let action: Vec<f64> = (0..knobs).map(|_| 2.0 * rng.unit() - 1.0).collect();
            let mean = 0.2 + action.iter().map(|a| a * a).sum::<f64>() / knobs as f64;
            let example = Example {
                x: &x,
                action: &Vector::new(&action).expect("finite"),
                loss: PseudoLoss::new(f64::from(u8::from(rng.unit() < mean))).expect("finite"),
                weight: Weight::ONE,
            };
            oracle.learn(&[example]).expect("a good event");
        }
        let (mut prepared, mut out) = (Vec::new(), vec![0.0; 2 * knobs + 1]);
        RegressionOracle::<_, Vector>::prepare(&oracle, &x, &mut prepared).expect("readable");
        let mut ends = crate::event::Vectors::default();
        let rows = ends.extend(2 * knobs + 1, knobs);
        for (place, row) in rows.chunks_exact_mut(knobs).skip(1).enumerate() {
            row[place / 2] = if place % 2 == 0 { 0.9 } else { -0.9 };
        }
        RegressionOracle::<_, Vector>::predict(&oracle, &x, &prepared, &ends, &mut out);
        let sums = out[1..].chunks_exact(2).map(|ends| ends[0] + ends[1]);
        sums.filter(|ends| *ends < 2.0 * out[0]).count()
    }

    #[test]
    fn noise_makes_no_hills_of_knobs_that_bend_alike() {
        // Learned one by one, a curvature is about as large as its error: 15 of 100 are hills.
        let hills: usize = (1..=5).map(hills).sum();
        assert!(hills <= 3, "{hills}");
    }

    #[test]
    fn a_mean_and_differences_are_turned_and_turned_back() {
        for before in [vec![2.0], vec![3.0, -1.0], vec![0.5, 4.0, -2.0, 7.0, 1.0]] {
            let mut turned = before.clone();
            turn_to_mean(&mut turned);
            let mean = before.iter().sum::<f64>() / (before.len() as f64).sqrt();
            assert!((turned[0] - mean).abs() < 1e-12, "{turned:?}");
            let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
            assert!((norm(&turned) - norm(&before)).abs() < 1e-9);
            turn_to_mean(&mut turned);
            let off = turned.iter().zip(&before).map(|(a, b)| (a - b).abs());
            assert!(off.fold(0.0, f64::max) < 1e-12, "{turned:?}");
        }
        // What is alike in all has no differences.
        let mut alike = vec![2.0; 9];
        turn_to_mean(&mut alike);
        assert!((alike[0] - 6.0).abs() < 1e-12 && alike[1..].iter().all(|x| x.abs() < 1e-12));
    }

    #[test]
    fn cosines_see_what_squares_cannot() {
        let [without, with] = [0, 64].map(|cosines| {
            let mut oracle = oracle(0, cosines);
            teach(&mut oracle, 0, 0..10_000, basins);
            error(&oracle, 0, basins)
        });
        assert!(with < 0.65 * without, "{with} {without}");
    }

    #[test]
    fn noise_is_kept_out_by_the_prior() {
        // Losses of 0 or 1 that nothing explains: f̂ stays near their mean, though it has a weight for every ten of them.
        let mut oracle = oracle(2, 64);
        for number in 0..800 {
            let (x, action) = event(number, 2);
            let example = Example {
                x: &x,
                action: &action,
                loss: PseudoLoss::new((number * 7 % 10 / 5) as f64).expect("finite"),
                weight: Weight::ONE,
            };
            oracle.learn(&[example]).expect("a good event");
        }
        // Least squares without regard to noise is off by 0.02.
        let found = error(&oracle, 2, |_, _| 0.5);
        assert!(found < 0.01, "{found}");
    }

    #[test]
    fn losses_may_be_anywhere_from_the_first_events_on() {
        // Losses of 0 and 1, seldom one of the other kind.
        for often in [0.0, 1.0] {
            let mut oracle = oracle(2, 64);
            let seldom = |n: f64| if n % 100.0 < 3.0 { 1.0 - often } else { often };
            for number in 0..60 {
                let (x, action) = event(number, 2);
                let example = Example {
                    x: &x,
                    action: &action,
                    loss: PseudoLoss::new(seldom((37 * number) as f64)).expect("finite"),
                    weight: Weight::ONE,
                };
                oracle.learn(&[example]).expect("a good event");
            }
            let off = error(&oracle, 2, |_, _| often).sqrt();
            // Held near ½ as its other weights are near 0, the constant would be off by 0.28.
            assert!(off < 0.15, "{off}");
        }
    }

    #[test]
    fn a_weak_signal_is_found_in_noise_of_zeros_and_ones() {
        let truth = |_: &Context, knobs: &[f64]| 0.5 + 0.1 * (knobs[0] / 1_000.0 - 0.5);
        let mut oracle = oracle(2, 64);
        for number in 0..4_000 {
            let (x, action) = event(number, 2);
            let chance = EventRng::new(3, number, Stream::World).unit();
            let loss = f64::from(u8::from(chance < truth(&x, &action)));
            let example = Example {
                x: &x,
                action: &action,
                loss: PseudoLoss::new(loss).expect("finite"),
                weight: Weight::ONE,
            };
            oracle.learn(&[example]).expect("a good event");
        }
        let found = error(&oracle, 2, truth);
        // Weights that are held as if each said something would be off by twice as much.
        assert!(found < 7e-4, "{found}");
    }

    /// Vectors that are not knobs, so that all examples count alike.
    struct Given(VectorFeatures);

    impl ActionFeatures<Vector> for Given {
        fn dim(&self) -> usize {
            self.0.dim()
        }

        fn fill(&self, actions: &crate::event::Vectors, range: Range<usize>, out: &mut [f64]) {
            self.0.fill(actions, range, out);
        }
    }

    /// A bowl of the first knob beside a cliff, with noise that is large beyond it.
    fn beside_a_cliff(number: u64, knob: f64) -> f64 {
        let noise = EventRng::new(2, number, Stream::World).unit() - 0.5;
        if knob < 700.0 {
            (knob / 1_000.0 - 0.5).powi(2) + 0.02 * noise
        } else {
            0.6 + 0.8 * noise
        }
    }

    /// The squared error of f̂ before the cliff.
    fn error_before_a_cliff<E: ActionFeatures<Vector>>(features: E) -> f64 {
        let settings = oracle(0, 0).settings;
        let scaling = oracle(0, 0).scaling;
        let mut oracle = QuadraticRegression::new(features, scaling, settings).expect("in range");
        let (mut squares, mut counted) = (0.0, 0.0);
        for number in 0..3_000 {
            let (x, action) = event(number, 0);
            let mut prepared = Vec::new();
            oracle.prepare(&x, &mut prepared).expect("readable");
            let (mut one, mut out) = (crate::event::Vectors::default(), [0.0]);
            <crate::event::Vectors as Batch<Vector>>::push(&mut one, &action);
            oracle.predict(&x, &prepared, &one, &mut out);
            if 2_000 <= number && action[0] < 700.0 {
                squares += (out[0] - (action[0] / 1_000.0 - 0.5).powi(2)).powi(2);
                counted += 1.0;
            }
            let example = Example {
                x: &x,
                action: &action,
                loss: PseudoLoss::new(beside_a_cliff(number, action[0])).expect("finite"),
                weight: Weight::ONE,
            };
            oracle.learn(&[example]).expect("a good event");
        }
        squares / counted
    }

    #[test]
    fn of_knobs_examples_that_are_badly_predicted_count_less() {
        let knobs = VectorFeatures::new(KNOBS).expect("few");
        let [alike, weighed] = [
            error_before_a_cliff(Given(VectorFeatures::new(KNOBS).expect("few"))),
            error_before_a_cliff(knobs),
        ];
        assert!(weighed < 0.7 * alike, "{weighed} {alike}");
    }

    #[test]
    fn to_one_that_forgets_the_next_event_counts_more() {
        let [keeps, forgets] = [None, Some(300.0)].map(|memory| {
            let mut oracle = oracle(1, 0);
            oracle.settings.memory = memory;
            teach(&mut oracle, 1, 0..3_000, |x, a| 0.1 + bowl(x, a) + noise(a));
            let before = error(&oracle, 1, |_, _| 0.0).sqrt();
            teach(&mut oracle, 1, 3_000..3_001, |_, _| 1.0);
            error(&oracle, 1, |_, _| 0.0).sqrt() - before
        });
        assert!(0.0 < keeps && 5.0 * keeps < forgets, "{forgets} {keeps}");
    }

    /// Noise of ±.1 that the knobs tell.
    fn noise(knobs: &[f64]) -> f64 {
        0.2 * (997.0 * knobs[1]).fract() - 0.1
    }

    /// The share of what it learned that no longer counts.
    fn forgotten(oracle: &QuadraticRegression<VectorFeatures>) -> f64 {
        RegressionOracle::<_, Vector>::forgotten(oracle)
    }

    #[test]
    fn a_world_that_moved_far_is_learned_as_if_it_were_new() {
        let was = |x: &Context, a: &[f64]| 0.8 - bowl(x, a) + noise(a);
        let is = |x: &Context, a: &[f64]| 0.1 + bowl(x, a) + noise(a);
        let truth = |x: &Context, a: &[f64]| 0.1 + bowl(x, a);
        let mut moved = oracle(1, 8);
        teach(&mut moved, 1, 0..4_000, was);
        assert_eq!(forgotten(&moved), 0.0);
        let mut new = oracle(1, 8);
        assert_eq!(forgotten(&new), 0.0);
        // A θ that is held by 4,000 other events would be off by 100 times as much.
        for events in [4_000..4_300, 4_300..6_000] {
            teach(&mut moved, 1, events.clone(), is);
            teach(&mut new, 1, events, is);
            let [moved, new] = [&moved, &new].map(|oracle| error(oracle, 1, truth));
            assert!(moved < 1.3 * new, "{moved} {new}");
        }
        // It goes by nearly all events since.
        let share = forgotten(&moved);
        assert!((4.0 / 6.0..0.68).contains(&share), "{share}");
    }

    #[test]
    fn of_a_world_that_moved_a_little_a_part_is_kept() {
        let was = |x: &Context, a: &[f64]| 0.1 + bowl(x, a) + noise(a);
        let is = |x: &Context, a: &[f64]| 0.16 + bowl(x, a) + noise(a);
        let truth = |x: &Context, a: &[f64]| 0.16 + bowl(x, a);
        let mut moved = oracle(1, 8);
        teach(&mut moved, 1, 0..4_000, was);
        teach(&mut moved, 1, 4_000..4_150, is);
        // More than the 150 events since counts.
        let share = forgotten(&moved);
        assert!((0.9..1.0 - 150.0 / 4_150.0).contains(&share), "{share}");
        teach(&mut moved, 1, 4_150..4_500, is);
        // Events that count alike would leave 0.06 · 8/9.
        let left = error(&moved, 1, truth).sqrt();
        assert!(left < 0.02, "{left}");
    }

    #[test]
    fn where_all_losses_rise_and_fall_the_constant_follows() {
        let tide = |event: u64| 0.3 + 0.2 * libm::sin(event as f64 / 160.0);
        let mut oracle = oracle(1, 8);
        let mut errors = Vec::new();
        for start in (0..12_000).step_by(20) {
            let level = tide(start);
            let losses = |x: &Context, a: &[f64]| level + 0.3 * bowl(x, a) + noise(a);
            teach(&mut oracle, 1, start..start + 20, losses);
            if 6_000 < start && start % 500 == 0 {
                errors.push(error(&oracle, 1, |x, a| level + 0.3 * bowl(x, a)));
            }
        }
        // Of the level alone the variance is 0.02. What is forgotten as fast as the rest is would leave 0.003.
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(mean < 0.001, "{mean}");
    }

    #[test]
    fn priors_are_learned_also_where_something_is_forgotten() {
        let mut oracle = oracle(1, 8);
        oracle.settings.memory = Some(1_000.0);
        teach(&mut oracle, 1, 0..3_000, |_, a| 0.5 + noise(a));
        assert!(10 < oracle.priors.held(), "{}", oracle.priors.held());
        // They hold no more than the weights are held, or the file would be refused.
        let saved = RegressionOracle::<_, Vector>::save(&oracle);
        assert!(RegressionOracle::<_, Vector>::load(&mut oracle, &saved).is_ok());
    }

    /// Learns 8,000 events of knobs near one of two middles in turn, so near each other that their squares and products say almost the
    /// same. What is saved is loaded every 50 events, and has to go on to the bit. Returns how often something was forgotten.
    fn play_in_turns(seed: u64, near: f64, period: u64, mean: fn(&[f64]) -> f64) -> usize {
        let mut one = oracle(0, 0);
        let mut forgot = 0;
        let x = Context::dense(vec![]).expect("nothing");
        for number in 0..8_000 {
            let mut rng = EventRng::new(seed, number, Stream::World);
            let turn = (number / period % 2) as usize;
            let middle = [300.0, 700.0][turn];
            let explores = rng.unit() < 0.02;
            let knobs: [f64; KNOBS] = std::array::from_fn(|_| match explores {
                true => 1e3 * rng.unit(),
                false => middle + 1e3 * near * (rng.unit() - 0.5),
            });
            let loss = if turn == 0 { 0.5 } else { mean(&knobs) };
            let example = Example {
                x: &x,
                action: &Vector::new(&knobs).expect("finite"),
                loss: PseudoLoss::new(loss).expect("finite"),
                weight: Weight::ONE,
            };
            let loaded = number.is_multiple_of(50).then(|| {
                let mut other = oracle(0, 0);
                RegressionOracle::<_, Vector>::load(&mut other, &save(&one)).expect("its own");
                other
            });
            one.learn(&[example]).expect("a good event");
            forgot += usize::from(one.forgotten == one.events);
            if let Some(mut other) = loaded {
                other.learn(&[example]).expect("a good event");
                assert_eq!(save(&other), save(&one), "{seed} {near} {period}: {number}");
            }
        }
        let mut theta = Vec::new();
        one.squares.copy_theta(&mut theta);
        assert!(theta.iter().all(|weight| weight.abs() < 1e3), "{theta:?}");
        forgot
    }

    #[test]
    fn worlds_that_move_again_and_again_leave_files_that_go_on_to_the_bit() {
        let cosine: fn(&[f64]) -> f64 = |knobs| 0.5 + 0.4 * (knobs[0] / 50.0).cos();
        let sine: fn(&[f64]) -> f64 = |knobs| 0.5 + 0.4 * ((knobs[0] + knobs[1]) / 200.0).sin();
        let mut forgot = 0;
        for near in [0.05, 0.001] {
            for period in [400, 3_000] {
                for mean in [cosine, sine] {
                    for seed in [1, 9, 13] {
                        forgot += play_in_turns(seed, near, period, mean);
                    }
                }
            }
        }
        assert!(100 < forgot, "{forgot}");
    }

    #[test]
    fn a_file_whose_priors_hold_more_than_its_weights_are_held_is_refused() {
        let mut oracle = oracle(1, 8);
        teach(&mut oracle, 1, 0..800, |_, _| 0.5);
        let saved = RegressionOracle::<_, Vector>::save(&oracle);
        assert!(RegressionOracle::<_, Vector>::load(&mut oracle, &saved).is_ok());
        // As before any event, where no weight is held by more than λ = 1.
        oracle.squares = LeastSquares::new(oracle.squares.dim());
        let saved = RegressionOracle::<_, Vector>::save(&oracle);
        let refused = RegressionOracle::<_, Vector>::load(&mut oracle, &saved);
        assert!(refused.is_err_and(|error| error.to_string().contains("prior")));
    }

    #[test]
    fn features_that_came_later_are_read() {
        let mut oracle = oracle(0, 8);
        teach(&mut oracle, 0, 0..500, bowl);
        let before = error(&oracle, 0, bowl);
        let grown = RegressionOracle::<_, Vector>::grow(&mut oracle, 1).expect("grows");
        // Nothing was learned of them: f̂ is as it was.
        assert!(
            grown && (error(&oracle, 1, |_, a| bowl(&event(0, 0).0, a)) - before).abs() < 1e-12
        );
        teach(&mut oracle, 1, 500..3_000, bowl);
        let found = error(&oracle, 1, bowl);
        // It does not have the square of the new feature; without the feature it would be off by 0.004.
        assert!(found < 1e-3, "{found}");
        // Very many are summed.
        RegressionOracle::<_, Vector>::grow(&mut oracle, 1_000).expect("grows");
        teach(&mut oracle, 1_000, 3_000..3_010, bowl);
    }

    #[test]
    fn many_features_are_summed() {
        let mut oracle = oracle(300, 4);
        teach(&mut oracle, 300, 0..20, bowl);
        let (length, groups) = (oracle.squares.dim(), oracle.groups);
        assert_eq!((length, groups), (32 + 2 * KNOBS + 6 + 400 + 4, 100));
    }

    #[test]
    fn a_loaded_state_goes_on_to_the_bit_and_others_are_refused() {
        let mut one = oracle(2, 5);
        teach(&mut one, 2, 0..50, bowl);
        let mut other = oracle(2, 5);
        RegressionOracle::<_, Vector>::load(&mut other, &save(&one)).expect("the same oracle");
        for oracle in [&mut one, &mut other] {
            // The world moves, and some is forgotten.
            teach(oracle, 2, 50..1_000, |x, a| 0.8 - bowl(x, a));
            teach(oracle, 2, 1_000..1_100, bowl);
            assert!(0.0 < forgotten(oracle));
        }
        assert_eq!(save(&one), save(&other));
        let before = save(&one);
        for state in [save(&oracle(2, 4)), save(&oracle(1, 5)), vec![1, 2, 3]] {
            assert!(RegressionOracle::<_, Vector>::load(&mut one, &state).is_err());
        }
        assert_eq!(save(&one), before);
    }

    #[test]
    fn what_cannot_be_learned_is_refused_and_changes_nothing() {
        let mut oracle = oracle(1, 5);
        teach(&mut oracle, 1, 0..10, bowl);
        let before = save(&oracle);
        let (good, action) = event(1, 1);
        let (long, _) = event(1, 2);
        let huge = Context::dense(vec![1e31]).expect("finite");
        let short = Vector::new(&[1.0]).expect("finite");
        for (x, action) in [(&long, &action), (&huge, &action), (&good, &short)] {
            let example = Example {
                x,
                action,
                loss: PseudoLoss::new(0.5).expect("finite"),
                weight: Weight::ONE,
            };
            assert!(oracle.learn(&[example]).is_err());
        }
        assert_eq!(save(&oracle), before);
    }

    #[test]
    fn values_are_frozen() {
        // A change here is value-breaking: the same events would give another model.
        let mut oracle = oracle(1, 5);
        teach(&mut oracle, 1, 0..200, basins);
        assert_eq!(error(&oracle, 1, basins).to_bits(), FROZEN);
    }

    const FROZEN: u64 = 4572711598764228227;
}
