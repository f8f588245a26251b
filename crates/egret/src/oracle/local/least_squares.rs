use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::codec::{LoadError, saved_state};
use crate::numeric::lanes::{LANES, tree};

/// Recursive least squares: θ = A⁻¹b with A = λI + Σ w φφᵀ and b = Σ w yφ, over the examples (φ, y) of weight w so far.
///
/// A⁻¹ is kept, and changed by the formula of Sherman and Morrison:
///
/// k = A⁻¹φ,  A⁻¹ −= kkᵀ · w/(1 + w φᵀk),  θ += k (y − θ·φ) · w/(1 + w φᵀk)
///
/// It may forget: then past examples count less and less, and the prior does not.
///
/// Vectors have [`padded`] lengths, with zeros at the end, so that all loops are over whole lanes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Saved", into = "Saved")]
pub(crate) struct LeastSquares {
    dim: usize,
    theta: Vec<Lane>,
    /// A⁻¹ but for `pending`, by panels of [`ROWS`] rows, each from the lane that holds its diagonal on, lane after lane.
    inverse: Vec<[Lane; ROWS]>,
    /// k√scale of the last example. Its square is still to be subtracted: the next example reads all of A⁻¹ anyway, and
    /// memory is what a large A⁻¹ waits for.
    pending: Vec<Lane>,
    /// 1, or −1 where the square is to be added.
    sign: f64,
}

/// Scratch space for learning.
#[derive(Debug)]
pub(crate) struct Scratch {
    gain: Vec<Lane>,
    sums: Vec<[Lane; ROWS]>,
    /// All zeros.
    unit: Vec<Lane>,
}

impl Scratch {
    /// For so many features.
    pub(crate) fn new(dim: usize) -> Self {
        Self {
            gain: padded(dim),
            sums: vec![Default::default(); dim.div_ceil(ROWS)],
            unit: padded(dim),
        }
    }
}

/// Eight numbers of a row.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(align(64))]
pub(crate) struct Lane(pub(crate) [f64; LANES]);

/// How many rows of A⁻¹ are read at a time: so many sums of products stay in registers.
const ROWS: usize = 2;

/// λ: the prior is worth one example.
const LAMBDA: f64 = 1.0;

/// A larger weight counts as this one: it would leave variances that rounding makes negative.
const MOST_WEIGHT: f64 = 1e6;

/// As many zeros as a vector of `dim` numbers needs, and the end of its last lane.
pub(crate) fn padded(dim: usize) -> Vec<Lane> {
    vec![Lane::default(); dim.div_ceil(LANES)]
}

/// Writes numbers to the lanes of a [`padded`] vector.
pub(crate) fn fill(lanes: &mut [Lane], numbers: &[f64]) {
    for (lane, numbers) in lanes.iter_mut().zip(numbers.chunks(LANES)) {
        lane.0[..numbers.len()].copy_from_slice(numbers);
    }
}

/// The lanes of each panel of a matrix, with the panel's first row.
fn panels(dim: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
    let lanes = dim.div_ceil(LANES);
    (0..dim)
        .step_by(ROWS)
        .map(move |row| (row, row / LANES..lanes))
}

impl LeastSquares {
    /// Before any example.
    pub(crate) fn new(dim: usize) -> Self {
        Self::with(dim, padded(dim), |row, column| {
            if row == column { 1.0 / LAMBDA } else { 0.0 }
        })
    }

    /// With these entries of A⁻¹; the column is never before the row.
    fn with(dim: usize, theta: Vec<Lane>, entry: impl Fn(usize, usize) -> f64) -> Self {
        let mut inverse = Vec::new();
        for (first, lanes) in panels(dim) {
            for lane in lanes {
                inverse.push(std::array::from_fn(|row| {
                    Lane(std::array::from_fn(|place| {
                        let (row, column) = (first + row, lane * LANES + place);
                        match row.max(column) < dim {
                            true => entry(row.min(column), row.max(column)),
                            false => 0.0,
                        }
                    }))
                }));
            }
        }
        Self {
            dim,
            theta,
            inverse,
            pending: padded(dim),
            sign: 1.0,
        }
    }

    /// How many features there are.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// Makes `out` hold θ.
    pub(crate) fn copy_theta(&self, out: &mut Vec<f64>) {
        out.clear();
        out.extend(self.theta.iter().flat_map(|lane| lane.0).take(self.dim));
    }

    /// θ·φ.
    #[inline(always)]
    pub(crate) fn predict(&self, phi: &[Lane]) -> f64 {
        dot(&self.theta, phi)
    }

    /// Learns an example, and returns φᵀA⁻¹φ before it, the variance of θ·φ in variances of an example of weight 1; 0 where the example
    /// has no weight.
    pub(crate) fn learn(
        &mut self,
        phi: &[Lane],
        y: f64,
        weight: f64,
        scratch: &mut Scratch,
    ) -> f64 {
        match 0.0 < weight {
            true => update(self, phi, y, weight.min(MOST_WEIGHT), scratch),
            false => 0.0,
        }
    }

    /// Adds to λ of one feature. What is taken off is at most what was added, and leaves a quarter of the feature's λ.
    pub(crate) fn add_prior(&mut self, feature: usize, weight: f64, scratch: &mut Scratch) {
        let mut unit = std::mem::take(&mut scratch.unit);
        // As an example whose loss is 0 and that has this feature alone.
        unit[feature / LANES].0[feature % LANES] = 1.0;
        update(self, &unit, 0.0, weight, scratch);
        unit[feature / LANES].0[feature % LANES] = 0.0;
        scratch.unit = unit;
    }

    /// ‖θ‖² over some features, and how many of them the examples determine: Σ (1 − λᵢA⁻¹ᵢᵢ).
    pub(crate) fn determined(&mut self, features: Range<usize>, lambdas: &[f64]) -> (f64, f64) {
        self.settle();
        let theta = self.theta.iter().flat_map(|lane| lane.0);
        let (mut norm, mut determined) = (0.0, 0.0);
        let each = theta.zip(self.variances()).zip(lambdas);
        for ((theta, variance), lambda) in each.skip(features.start).take(features.len()) {
            norm += theta * theta;
            determined += 1.0 - lambda * variance;
        }
        (norm, determined)
    }

    /// The largest λᵢA⁻¹ᵢᵢ of a settled A⁻¹: above 1 a weight varies more than its prior alone would let it.
    pub(crate) fn most_of_prior(&self, lambdas: &[f64]) -> f64 {
        let each = self.variances().zip(lambdas);
        each.map(|(variance, lambda)| variance * lambda)
            .fold(0.0, f64::max)
    }

    /// Subtracts what is pending.
    fn settle(&mut self) {
        subtract_square(&mut self.inverse, &self.pending, self.sign);
        self.pending.fill(Lane::default());
    }

    /// Divides the weights of all past examples by `factor`, which is at least 1. No feature gets a larger variance than it
    /// had before any example.
    pub(crate) fn forget(&mut self, factor: f64) {
        self.forget_within(factor, |_| 1.0 / LAMBDA);
    }

    /// As [`forget`](Self::forget), where features have other variances before any example.
    pub(crate) fn forget_within(&mut self, factor: f64, most: impl Fn(usize) -> f64) {
        self.settle();
        let mut limits = padded(self.dim);
        for (place, variance) in self.variances().enumerate() {
            let limit = most(place).min(factor * variance) / variance;
            limits[place / LANES].0[place % LANES] = limit.sqrt();
        }
        let mut rest = &mut self.inverse[..];
        for (first, lanes) in panels(self.dim) {
            let (panel, others) = rest.split_at_mut(lanes.len());
            let own: [f64; ROWS] = rows(&limits, first);
            for (block, limits) in panel.iter_mut().zip(&limits[lanes]) {
                for (entries, own) in block.iter_mut().zip(own) {
                    for (entry, limit) in entries.0.iter_mut().zip(limits.0) {
                        *entry *= own * limit;
                    }
                }
            }
            rest = others;
        }
    }

    /// Lets the weight of the first feature move: adds to its variance, up to what it was before any example.
    pub(crate) fn loosen_first(&mut self, variance: f64) {
        // A state that was saved has nothing pending, and goes on to the bit.
        self.settle();
        let first = &mut self.inverse[0][0].0[0];
        // Never less: to lower one variance alone would leave a matrix that is none of variances.
        *first = first.max((*first + variance).min(1.0 / LAMBDA));
    }

    /// Takes `more` features after the others, as if it had never met them.
    pub(crate) fn grow(&mut self, more: usize) {
        let (old, dim) = (self.dim, self.dim + more);
        let Saved { theta, inverse } = self.clone().into();
        let mut lanes = padded(dim);
        fill(&mut lanes, &theta);
        *self = Self::with(dim, lanes, |row, column| match column < old {
            true => inverse[place(old, row, column)],
            false if row == column => 1.0 / LAMBDA,
            false => 0.0,
        });
    }

    /// The diagonal of a settled A⁻¹.
    fn variances(&self) -> impl Iterator<Item = f64> {
        let mut start = 0;
        let panels = panels(self.dim).map(move |(first, lanes)| {
            let panel = start;
            start += lanes.len();
            (first, panel)
        });
        panels.flat_map(move |(first, panel)| {
            let rows = first..(first + ROWS).min(self.dim);
            rows.map(move |row| self.inverse[panel][row - first].0[row % LANES])
        })
    }

    /// An error unless this is a state of as many features.
    pub(crate) fn check(&self, dim: usize) -> Result<(), LoadError> {
        saved_state::expect_same("features of a regression:", &self.dim, &dim)?;
        let theta = self.theta.iter().flat_map(|lane| lane.0);
        if let Some(weight) = theta.into_iter().find(|weight| !(weight.abs() <= 1e100)) {
            return Err(LoadError::Invalid(format!("a weight is {weight}")));
        }
        let most = 1.01 / LAMBDA;
        let mut entries = self.inverse.iter().flatten().flat_map(|lane| lane.0);
        if let Some(entry) = entries.find(|entry| !(entry.abs() <= most)) {
            return Err(LoadError::Invalid(format!("a covariance is {entry}")));
        }
        if self.variances().any(|variance| variance <= 0.0) {
            return Err(LoadError::Invalid("a variance is not positive".into()));
        }
        Ok(())
    }
}

/// What is saved: θ, and the upper half of A⁻¹, row after row.
#[derive(Serialize, Deserialize)]
struct Saved {
    theta: Vec<f64>,
    inverse: Vec<f64>,
}

impl From<LeastSquares> for Saved {
    fn from(mut squares: LeastSquares) -> Self {
        squares.settle();
        let dim = squares.dim;
        let mut theta: Vec<f64> = squares.theta.iter().flat_map(|lane| lane.0).collect();
        theta.truncate(dim);
        let mut inverse = Vec::with_capacity(size(dim));
        let mut rest = &squares.inverse[..];
        for (first, lanes) in panels(dim) {
            let (panel, others) = rest.split_at(lanes.len());
            for row in first..(first + ROWS).min(dim) {
                let entries = panel.iter().flat_map(|block| block[row - first].0);
                let before = row - lanes.start * LANES;
                inverse.extend(entries.skip(before).take(dim - row));
            }
            rest = others;
        }
        Self { theta, inverse }
    }
}

impl TryFrom<Saved> for LeastSquares {
    type Error = LoadError;

    fn try_from(Saved { theta, inverse }: Saved) -> Result<Self, LoadError> {
        let dim = theta.len();
        saved_state::expect_same("variances:", &inverse.len(), &size(dim))?;
        let mut lanes = padded(dim);
        fill(&mut lanes, &theta);
        Ok(Self::with(dim, lanes, |row, column| {
            inverse[place(dim, row, column)]
        }))
    }
}

/// Where an entry of the upper half of a matrix is saved; the column is not before the row.
fn place(dim: usize, row: usize, column: usize) -> usize {
    row * dim - row * row.saturating_sub(1) / 2 + column - row
}

/// How many entries the upper half of a matrix has.
pub(crate) fn size(dim: usize) -> usize {
    dim * (dim + 1) / 2
}

/// Σ aᵢ bᵢ.
#[inline(always)]
fn dot(a: &[Lane], b: &[Lane]) -> f64 {
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        add(&mut sums, a, b);
    }
    tree(sums)
}

/// Adds products to their lanes.
#[inline(always)]
fn add(sums: &mut [f64; LANES], a: &Lane, b: &Lane) {
    for (sum, (a, b)) in sums.iter_mut().zip(a.0.iter().zip(&b.0)) {
        *sum += a * b;
    }
}

/// The numbers of a panel's rows.
#[inline(always)]
fn rows(of: &[Lane], first: usize) -> [f64; ROWS] {
    let start = first % LANES;
    std::array::from_fn(|row| of[first / LANES].0[start + row])
}

/// One example, for θ and A⁻¹; returns φᵀA⁻¹φ before it.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn update(
    squares: &mut LeastSquares,
    phi: &[Lane],
    y: f64,
    weight: f64,
    Scratch { gain, sums, .. }: &mut Scratch,
) -> f64 {
    let LeastSquares {
        theta,
        inverse,
        pending,
        sign,
        ..
    } = squares;
    subtract_and_multiply(inverse, (pending, *sign), phi, sums, gain);
    // Rounding may not make φᵀA⁻¹φ negative.
    let spread = dot(gain, phi).max(0.0);
    // Nor may it make variances negative where a prior is taken off.
    let scale = weight / (1.0 + weight * spread).max(0.1);
    let step = scale * (y - dot(theta, phi));
    let root = scale.abs().sqrt();
    *sign = scale.signum();
    for ((theta, pending), gain) in theta.iter_mut().zip(pending).zip(gain) {
        for lane in 0..LANES {
            theta.0[lane] += step * gain.0[lane];
            pending.0[lane] = gain.0[lane] * root;
        }
    }
    spread
}

/// M −= ±kkᵀ, then out ← Mv, for a symmetric M, given by its panels. `sums` is scratch space.
#[inline(always)]
fn subtract_and_multiply(
    panels: &mut [[Lane; ROWS]],
    (k, sign): (&[Lane], f64),
    v: &[Lane],
    sums: &mut [[Lane; ROWS]],
    out: &mut [Lane],
) {
    out.fill(Lane::default());
    let (mut rest, mut first) = (panels, 0);
    for sums in &mut *sums {
        let diagonal = first / LANES;
        let (panel, others) = rest.split_at_mut(v.len() - diagonal);
        let (own, own_k) = (rows(v, first), rows(k, first).map(|k| sign * k));
        let (block, beyond) = panel.split_first_mut().expect("the diagonal's");
        let mut lanes = [Lane::default(); ROWS];
        *block = less(*block, own_k, &k[diagonal]);
        for row in 0..ROWS {
            add(&mut lanes[row].0, &block[row], &v[diagonal]);
        }
        // Beyond the diagonal each entry stands for two.
        let beyond = beyond.iter_mut().zip(&k[diagonal + 1..]);
        let beyond = beyond.zip(&v[diagonal + 1..]);
        for (((block, k), v), out) in beyond.zip(&mut out[diagonal + 1..]) {
            let (changed, mut other) = (less(*block, own_k, k), *out);
            for row in 0..ROWS {
                add(&mut lanes[row].0, &changed[row], v);
                for lane in 0..LANES {
                    other.0[lane] += own[row] * changed[row].0[lane];
                }
            }
            (*block, *out) = (changed, other);
        }
        *sums = lanes;
        (rest, first) = (others, first + ROWS);
    }
    // In a loop of its own: done above, the compiler would not vectorize that loop.
    for (row, sums) in sums.as_flattened().iter().enumerate() {
        out[row / LANES].0[row % LANES] += tree(sums.0);
    }
}

/// The entries less the products of the rows' numbers and the columns'.
#[inline(always)]
fn less(mut block: [Lane; ROWS], own: [f64; ROWS], k: &Lane) -> [Lane; ROWS] {
    for row in 0..ROWS {
        for lane in 0..LANES {
            block[row].0[lane] -= own[row] * k.0[lane];
        }
    }
    block
}

/// M −= ±kkᵀ for a symmetric M, given by its panels.
fn subtract_square(panels: &mut [[Lane; ROWS]], k: &[Lane], sign: f64) {
    let (mut rest, mut first) = (panels, 0);
    while !rest.is_empty() {
        let diagonal = first / LANES;
        let (panel, others) = rest.split_at_mut(k.len() - diagonal);
        let own = rows(k, first).map(|k| sign * k);
        for (block, k) in panel.iter_mut().zip(&k[diagonal..]) {
            *block = less(*block, own, k);
        }
        (rest, first) = (others, first + ROWS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::{EventRng, Stream};

    const DIM: usize = 5;

    type Seen = ([f64; DIM], f64, f64);

    fn lanes(phi: &[f64]) -> Vec<Lane> {
        let mut lanes = padded(phi.len());
        fill(&mut lanes, phi);
        lanes
    }

    fn learn(squares: &mut LeastSquares, (phi, y, w): &Seen) {
        squares.learn(&lanes(phi), *y, *w, &mut Scratch::new(DIM));
    }

    /// Examples (φ, y, w).
    fn examples(n: usize) -> Vec<Seen> {
        let mut rng = EventRng::new(1, 0, Stream::World);
        let mut example = || {
            let phi = std::array::from_fn(|_| rng.unit() - 0.5);
            (phi, rng.unit(), 2.0 * rng.unit())
        };
        (0..n).map(|_| example()).collect()
    }

    /// Aθ − b, with each example's weight divided by `forgotten` once for each later one.
    fn excess(squares: &LeastSquares, examples: &[Seen], forgotten: f64) -> f64 {
        let mut left = [0.0; DIM];
        for (left, theta) in left.iter_mut().zip(&squares.theta[0].0) {
            *left = LAMBDA * theta;
        }
        for (age, (phi, y, w)) in examples.iter().rev().enumerate() {
            let weight = w / forgotten.powi(age as i32);
            let error = squares.predict(&lanes(phi)) - y;
            for (left, phi) in left.iter_mut().zip(phi) {
                *left += weight * error * phi;
            }
        }
        left.iter().map(|v| v.abs()).fold(0.0, f64::max)
    }

    fn taught(examples: &[Seen]) -> LeastSquares {
        let mut squares = LeastSquares::new(DIM);
        for example in examples {
            learn(&mut squares, example);
        }
        squares
    }

    #[test]
    fn the_normal_equations_hold() {
        let examples = examples(400);
        let squares = taught(&examples);
        assert!(excess(&squares, &examples, 1.0) < 1e-9);
        // Without the last example they do not.
        assert!(1e-3 < excess(&squares, &examples[..399], 1.0));
        squares.check(DIM).expect("its own state");
    }

    #[test]
    fn what_is_forgotten_counts_less() {
        let examples = examples(2_000);
        let mut squares = LeastSquares::new(DIM);
        for example in &examples {
            squares.forget(1.01);
            learn(&mut squares, example);
        }
        // A prior that is not forgotten stands for one example in some hundred.
        let last = excess(&squares, &examples, 1.01);
        assert!(last < 0.3, "{last}");
        assert!(10.0 * last < excess(&squares, &examples, 1.0));
        squares.check(DIM).expect("its own state");
    }

    #[test]
    fn a_world_that_moved_is_learned_anew() {
        let examples = examples(3_000);
        let (mut keeps, mut forgets) = (LeastSquares::new(DIM), LeastSquares::new(DIM));
        let mut errors = [0.0; 2];
        for (n, (phi, _, _)) in examples.iter().enumerate() {
            let sign = if n < 2_000 { 1.0 } else { -1.0 };
            let y = sign * phi[0];
            forgets.forget(1.0 + 1.0 / 200.0);
            for (squares, error) in [&mut keeps, &mut forgets].into_iter().zip(&mut errors) {
                if 2_800 <= n {
                    *error += (squares.predict(&lanes(phi)) - y).powi(2);
                }
                learn(squares, &(*phi, y, 1.0));
            }
        }
        assert!(100.0 * errors[1] < errors[0], "{errors:?}");
    }

    /// The diagonal of (diag(λ) + Σ w φφᵀ)⁻¹, by elimination.
    fn diagonal_of_inverse(lambdas: [f64; DIM], examples: &[Seen]) -> [f64; DIM] {
        let mut rows = [[0.0; 2 * DIM]; DIM];
        for (i, row) in rows.iter_mut().enumerate() {
            (row[i], row[DIM + i]) = (lambdas[i], 1.0);
            for (phi, _, w) in examples {
                for j in 0..DIM {
                    row[j] += w * phi[i] * phi[j];
                }
            }
        }
        for pivot in 0..DIM {
            let own = rows[pivot].map(|entry| entry / rows[pivot][pivot]);
            for row in &mut rows {
                let factor = row[pivot];
                for (entry, own) in row.iter_mut().zip(own) {
                    *entry -= factor * own;
                }
            }
            rows[pivot] = own;
        }
        std::array::from_fn(|i| rows[i][DIM + i])
    }

    #[test]
    fn a_prior_that_is_added_is_a_larger_lambda_and_comes_off_again() {
        let examples = examples(400);
        let (plain, mut held) = (taught(&examples[..200]), taught(&examples[..200]));
        let mut scratch = Scratch::new(DIM);
        held.add_prior(1, 5.0, &mut scratch);
        held.add_prior(3, 2.0, &mut scratch);
        // Aθ = b with λ = 6 of one feature and 3 of another.
        for example in &examples[200..] {
            learn(&mut held, example);
        }
        let mut left = held.theta[0].0;
        for (place, left) in left.iter_mut().enumerate().take(DIM) {
            *left *= [1.0, 6.0, 1.0, 3.0, 1.0][place];
            for (phi, y, w) in &examples {
                *left += w * (held.predict(&lanes(phi)) - y) * phi[place];
            }
        }
        assert!(left[..DIM].iter().all(|left| left.abs() < 1e-9), "{left:?}");
        held.check(DIM).expect("its own state");
        let lambdas = [1.0, 6.0, 1.0, 3.0, 1.0];
        let (norm, determined) = held.determined(1..4, &lambdas);
        let theta = held.theta[0].0;
        let expected: f64 = theta[1..4].iter().map(|theta| theta * theta).sum();
        assert!((norm - expected).abs() < 1e-12, "{norm} {expected}");
        let variances = diagonal_of_inverse(lambdas, &examples);
        let expected: f64 = (1..4).map(|i| 1.0 - lambdas[i] * variances[i]).sum();
        assert!(
            (determined - expected).abs() < 1e-9,
            "{determined} {expected}"
        );
        let most = (0..DIM).map(|i| lambdas[i] * variances[i]);
        let most = most.fold(0.0, f64::max);
        assert!((held.most_of_prior(&lambdas) - most).abs() < 1e-9 && most < 1.0);
        assert_eq!(
            LeastSquares::new(DIM).determined(0..DIM, &[1.0; DIM]),
            (0.0, 0.0)
        );
        // Taken off in steps, it is as if it had never been.
        let mut again = plain.clone();
        for (feature, weight) in [(1, 5.0), (3, 2.0), (3, -2.0), (1, -3.0), (1, -2.0)] {
            again.add_prior(feature, weight, &mut scratch);
        }
        for (phi, _, _) in examples.iter().take(20) {
            let off = again.predict(&lanes(phi)) - plain.predict(&lanes(phi));
            assert!(off.abs() < 1e-12, "{off}");
        }
    }

    #[test]
    fn no_variance_grows_beyond_the_prior() {
        let mut squares = taught(&examples(50));
        for _ in 0..100 {
            squares.forget(2.0);
        }
        squares.check(DIM).expect("as before any example");
        let again = examples(1)[0];
        learn(&mut squares, &(again.0, 1.0, 1e30));
        assert!((squares.predict(&lanes(&again.0)) - 1.0).abs() < 1e-4);
    }
}
