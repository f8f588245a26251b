use crate::event::Context;
use crate::numeric::{
    EventRng, OutOfRange,
    lanes::{LANES, dot, tree},
};
use crate::oracle::{
    ArgminModel,
    argmin::{
        self,
        network_of_eight::{self, EIGHT, Widths},
    },
    optimizer::init::{check_parameters, push_uniform},
};

/// The slope of the leaky ReLU where its input is negative.
const LEAK: f64 = 0.01;

/// Two hidden layers with leaky ReLU, then one output: the argmin of the paper's offline
/// experiments.
///
/// h₁ = ϕ(b₁ + W₁ x),  h₂ = ϕ(b₂ + W₂ h₁),  y = b₃ + ⟨w₃, h₂⟩,  ϕ(s) = s or 0.01 s where s < 0
///
/// Parameters start uniform within ±1/√(inputs of the layer), from a seed. Weights are stored by input, so in the first
/// layer a sparse context costs only the features it lists.
///
/// ```
/// use egret::{ArgminModel, NetworkArgmin};
///
/// let as_wide_as_the_input = NetworkArgmin::new(20, 7)?;
/// let wider = NetworkArgmin::with_hidden(20, [32, 32], 7)?;
/// assert_eq!(wider.shape(), "a 20-32-32-1 network argmin");
/// assert_eq!(wider.initial().len(), (20 + 1) * 32 + (32 + 1) * 32 + (32 + 1));
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkArgmin {
    dim: usize,
    hidden: [usize; 2],
    seed: u64,
}

impl NetworkArgmin {
    /// Hidden layers as wide as the input, as in the paper; at most 2²⁸ parameters.
    pub fn new(dim: usize, seed: u64) -> Result<Self, OutOfRange> {
        Self::with_hidden(dim, [dim, dim], seed)
    }

    /// Hidden layers of the given widths, at least 1; at most 2²⁸ parameters.
    pub fn with_hidden(dim: usize, hidden: [usize; 2], seed: u64) -> Result<Self, OutOfRange> {
        for width in hidden {
            OutOfRange::unless(1 <= width, "hidden width", width as f64, "[1, inf)")?;
        }
        let count = layers(dim, hidden)
            .iter()
            .try_fold(0_usize, |count, &(inputs, outputs)| {
                count.checked_add(inputs.checked_add(1)?.checked_mul(outputs)?)
            });
        check_parameters(count)?;
        Ok(Self { dim, hidden, seed })
    }

    fn widths(&self) -> Widths {
        let [first, second] = self.hidden;
        Widths {
            dim: self.dim,
            first,
            second,
        }
    }
}

/// (inputs, outputs) of each layer.
fn layers(dim: usize, [first, second]: [usize; 2]) -> [(usize, usize); 3] {
    [(dim, first), (first, second), (second, 1)]
}

impl ArgminModel for NetworkArgmin {
    fn shape(&self) -> String {
        let [first, second] = self.hidden;
        format!("a {}-{first}-{second}-1 network argmin", self.dim)
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn initial(&self) -> Vec<f64> {
        let mut rng = EventRng::before_events(self.seed);
        let mut parameters = Vec::new();
        for (inputs, outputs) in layers(self.dim, self.hidden) {
            push_uniform(&mut rng, inputs, (inputs + 1) * outputs, &mut parameters);
        }
        parameters
    }

    fn grow(&mut self, dim: usize) -> Option<usize> {
        let grown = Self::with_hidden(dim, self.hidden, self.seed).ok()?;
        let end = (self.dim + 1) * self.hidden[0];
        *self = grown;
        Some(end)
    }

    fn scratch(&self) -> usize {
        let [first, second] = self.hidden;
        2 * (first + second)
    }

    fn forward(&self, parameters: &[f64], x: &Context, scratch: &mut [f64]) -> f64 {
        forward(self.hidden, parameters, x, scratch)
    }

    fn backward(
        &self,
        parameters: &[f64],
        x: &Context,
        dy: f64,
        scratch: &mut [f64],
        gradient: &mut [f64],
    ) {
        backward(self.hidden, parameters, x, dy, scratch, gradient);
    }

    fn scratch_of_eight(&self) -> usize {
        self.widths().scratch().max(EIGHT * self.scratch())
    }

    fn forward_eight(
        &self,
        parameters: &[f64],
        xs: [&Context; EIGHT],
        scratch: &mut [f64],
    ) -> [f64; EIGHT] {
        match all_dense(xs) {
            Some(xs) => network_of_eight::forward(self.widths(), parameters, xs, scratch),
            None => argmin::forward_each(self, parameters, xs, scratch),
        }
    }

    fn backward_eight(
        &self,
        parameters: &[f64],
        xs: [&Context; EIGHT],
        dy: [f64; EIGHT],
        scratch: &mut [f64],
        gradient: &mut [f64],
    ) {
        match all_dense(xs) {
            Some(_) => network_of_eight::backward(self.widths(), parameters, dy, scratch, gradient),
            None => argmin::backward_each(self, parameters, xs, dy, scratch, gradient),
        }
    }
}

/// The features of each; none if one is sparse, since sparse contexts are faster one by one.
fn all_dense(xs: [&Context; EIGHT]) -> Option<[&[f64]; EIGHT]> {
    let mut dense = [&[][..]; EIGHT];
    for (dense, x) in dense.iter_mut().zip(xs) {
        *dense = x.as_dense()?;
    }
    Some(dense)
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn forward(
    [first, second]: [usize; 2],
    parameters: &[f64],
    x: &Context,
    scratch: &mut [f64],
) -> f64 {
    let (b1, rest) = parameters.split_at(first);
    let (w1, rest) = rest.split_at(x.dim() * first);
    let (b2, rest) = rest.split_at(second);
    let (w2, rest) = rest.split_at(first * second);
    let (h1, rest_of_scratch) = scratch.split_at_mut(first);
    let h2 = &mut rest_of_scratch[..second];

    h1.copy_from_slice(b1);
    x.for_each(|feature, value| add(h1, value, &w1[feature * first..][..first]));
    rectify(h1);
    h2.copy_from_slice(b2);
    let (fours, rest_of_h1) = h1.as_chunks::<4>();
    let (rows_of_fours, rest_of_w2) = w2.split_at(4 * fours.len() * second);
    for (&h, rows) in fours.iter().zip(rows_of_fours.chunks_exact(4 * second)) {
        add_four(h2, h, rows);
    }
    for (&h, row) in rest_of_h1.iter().zip(rest_of_w2.chunks_exact(second)) {
        add(h2, h, row);
    }
    rectify(h2);
    rest[0] + dot(&rest[1..], h2)
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn backward(
    [first, second]: [usize; 2],
    parameters: &[f64],
    x: &Context,
    dy: f64,
    scratch: &mut [f64],
    gradient: &mut [f64],
) {
    let (_, rest) = parameters.split_at(first + x.dim() * first + second);
    let (w2, rest) = rest.split_at(first * second);
    let w3 = &rest[1..];
    let (g_b1, rest) = gradient.split_at_mut(first);
    let (g_w1, rest) = rest.split_at_mut(x.dim() * first);
    let (g_b2, rest) = rest.split_at_mut(second);
    let (g_w2, g_w3) = rest.split_at_mut(first * second);
    let (h1, rest) = scratch.split_at_mut(first);
    let (h2, rest) = rest.split_at_mut(second);
    let (d1, d2) = rest.split_at_mut(first);

    g_w3[0] += dy;
    add(&mut g_w3[1..], dy, h2);
    for ((d, &w), &h) in d2.iter_mut().zip(w3).zip(&*h2) {
        *d = dy * w * slope(h);
    }
    add(g_b2, 1.0, d2);
    let rows = w2.chunks_exact(second).zip(g_w2.chunks_exact_mut(second));
    for ((d, &h), (row, g_row)) in d1.iter_mut().zip(&*h1).zip(rows) {
        *d = add_and_dot(g_row, h, d2, row) * slope(h);
    }
    add(g_b1, 1.0, d1);
    x.for_each(|feature, value| add(&mut g_w1[feature * first..][..first], value, d1));
}

/// sum ← sum + scale · term.
#[inline(always)]
fn add(sum: &mut [f64], scale: f64, term: &[f64]) {
    for (sum, &term) in sum.iter_mut().zip(term) {
        *sum += scale * term;
    }
}

/// As four calls of [`add`], with each sum loaded and stored once.
#[inline(always)]
fn add_four(sum: &mut [f64], [a, b, c, d]: [f64; 4], rows: &[f64]) {
    let n = sum.len();
    let (first, rest) = rows.split_at(n);
    let (second, rest) = rest.split_at(n);
    let (third, rest) = rest.split_at(n);
    let fourth = &rest[..n];
    for i in 0..n {
        sum[i] = (((sum[i] + a * first[i]) + b * second[i]) + c * third[i]) + d * fourth[i];
    }
}

/// sum ← sum + scale · term, and ⟨term, row⟩, in one pass.
#[inline(always)]
fn add_and_dot(sum: &mut [f64], scale: f64, term: &[f64], row: &[f64]) -> f64 {
    let (sums, rest_of_sum) = sum.as_chunks_mut::<LANES>();
    let (terms, rest_of_term) = term.as_chunks::<LANES>();
    let (rows, rest_of_row) = row.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for ((sum, term), row) in sums.iter_mut().zip(terms).zip(rows) {
        for lane in 0..LANES {
            sum[lane] += scale * term[lane];
            lanes[lane] += term[lane] * row[lane];
        }
    }
    let rest = rest_of_sum.iter_mut().zip(rest_of_term).zip(rest_of_row);
    for (((sum, &term), &row), lane) in rest.zip(&mut lanes) {
        *sum += scale * term;
        *lane += term * row;
    }
    tree(lanes)
}

#[inline(always)]
fn rectify(values: &mut [f64]) {
    for value in values {
        *value = rectified(*value);
    }
}

/// ϕ.
#[inline(always)]
pub(crate) fn rectified(value: f64) -> f64 {
    if value > 0.0 { value } else { LEAK * value }
}

/// ϕ′, from ϕ's value, which has the sign of its input.
#[inline(always)]
pub(crate) fn slope(value: f64) -> f64 {
    if value > 0.0 { 1.0 } else { LEAK }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_by_hand() {
        let model = NetworkArgmin::with_hidden(2, [2, 1], 0).expect("small");
        let parameters = [
            0.5, -1.0, // b₁
            1.0, 2.0, // from the first feature
            -3.0, 0.5,  // from the second
            0.25, // b₂
            2.0, -100.0, // w₂
            0.75, 4.0, // b₃, w₃
        ];
        let x = Context::dense(vec![1.0, 0.25]).expect("finite");
        let mut scratch = vec![f64::NAN; model.scratch()];
        // h₁ = ϕ(0.5 + 1 − 0.75, −1 + 2 + 0.125) = (0.75, 1.125)
        // h₂ = ϕ(0.25 + 1.5 − 112.5) = −1.1075
        let y = model.forward(&parameters, &x, &mut scratch);
        assert!((y - (0.75 - 4.0 * 1.1075)).abs() < 1e-14, "{y}");
        assert_eq!(model.initial().len(), parameters.len());
    }

    /// Eight contexts through both ways of computing them.
    fn eight(model: &NetworkArgmin, xs: [&Context; EIGHT]) {
        let parameters = model.initial();
        let dy: [f64; EIGHT] = std::array::from_fn(|lane| 0.3 * lane as f64 - 1.1);
        let bits = |numbers: &[f64]| numbers.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
        let run = |all_at_once: bool| {
            let mut scratch = vec![f64::NAN; model.scratch_of_eight()];
            let mut gradient = vec![0.0; parameters.len()];
            let (p, s, g) = (&parameters[..], &mut scratch[..], &mut gradient[..]);
            // Twice, so that the second is added to a gradient that is not zero.
            let mut y = [0.0; EIGHT];
            for _ in 0..2 {
                if all_at_once {
                    y = model.forward_eight(p, xs, s);
                    model.backward_eight(p, xs, dy, s, g);
                } else {
                    y = argmin::forward_each(model, p, xs, s);
                    argmin::backward_each(model, p, xs, dy, s, g);
                }
            }
            (bits(&y), bits(&gradient))
        };
        assert_eq!(run(true), run(false), "{}", model.shape());
    }

    #[test]
    fn eight_at_once_are_eight_one_by_one() {
        let mut rng = EventRng::before_events(4);
        for (dim, hidden) in [
            (0, [1, 1]),
            (1, [3, 2]),
            (5, [7, 11]),
            (16, [8, 16]),
            (13, [13, 15]),
            (20, [20, 20]),
            (9, [33, 6]),
        ] {
            let model = NetworkArgmin::with_hidden(dim, hidden, 2).expect("small");
            let mut features = vec![0.0; dim * EIGHT];
            rng.fill_unit(&mut features);
            let context = |lane: usize| {
                let features = features[lane * dim..][..dim].iter();
                Context::dense(features.map(|f| f - 0.5).collect()).expect("finite")
            };
            let mut xs: [Context; EIGHT] = std::array::from_fn(context);
            eight(&model, xs.each_ref());
            if 0 < dim {
                xs[3] = Context::sparse(dim, vec![(0, 0.5)]).expect("sorted");
                eight(&model, xs.each_ref());
            }
        }
    }

    #[test]
    fn parameters_start_within_the_bound_of_their_layer() {
        let model = NetworkArgmin::with_hidden(100, [25, 4], 1).expect("small");
        let parameters = model.initial();
        let (first, rest) = parameters.split_at(101 * 25);
        let (second, third) = rest.split_at(26 * 4);
        for (layer, bound) in [(first, 0.1), (second, 0.2), (third, 0.5)] {
            let largest = layer.iter().fold(0.0_f64, |most, p| most.max(p.abs()));
            assert!(0.6 * bound < largest && largest < bound, "{largest}");
        }
        let other = NetworkArgmin::with_hidden(100, [25, 4], 2).expect("small");
        assert_ne!(parameters, other.initial());
        assert_eq!(parameters, model.initial());
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        assert!(NetworkArgmin::new(0, 0).is_err());
        assert!(NetworkArgmin::with_hidden(0, [1, 1], 0).is_ok());
        assert!(NetworkArgmin::with_hidden(3, [3, 0], 0).is_err());
        assert!(NetworkArgmin::new(20_000, 0).is_err());
        assert!(NetworkArgmin::new(usize::MAX, 0).is_err());
        assert!(NetworkArgmin::with_hidden(1, [usize::MAX, 2], 0).is_err());
    }
}
