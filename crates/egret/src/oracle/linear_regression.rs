use serde::{Deserialize, Serialize};

use crate::codec::{LoadError, saved_state};
use crate::event::{Action, Batch, ContextError};
use crate::numeric::{OutOfRange, lanes};
use crate::oracle::{
    Example, GrowError, ItemTree, JointFeatures, RegressionOracle,
    features::{
        blocks::in_blocks,
        limits::{check_action, check_count},
    },
};

/// Online linear regression with square loss on joint features.
///
/// A = λI + Σ w φφᵀ,  b = Σ w ℓ φ,  over the examples (φ, ℓ) of weight w so far
///
/// | [`Forecaster`]      | f̂(x, a)                                             |
/// |---------------------|-----------------------------------------------------|
/// | `Ridge`             | φ·A⁻¹b                                              |
/// | `VovkAzouryWarmuth` | φ·(A + φφᵀ)⁻¹b = φ·A⁻¹b / (1 + φᵀA⁻¹φ)              |
///
/// Both are exact after each example: a batch is learned one by one. The state is a root R of A⁻¹ = RᵀR, so rounding
/// never makes φᵀA⁻¹φ negative. Vovk–Azoury–Warmuth is pulled to 0 where φ is new. In return its regret against any θ is
/// bounded, on any sequence with |ℓ| ≤ Y and weights 1:
///
/// Σ (f̂ − ℓ)² ≤ Σ (θ·φ − ℓ)² + λ|θ|² + Y² ln det(A/λ),  ln det(A/λ) ≤ d ln(1 + Σ|φ|²/(λd))
///
/// With d the length of φ and m the length of ψ, the part that depends on the action (2 for a number under
/// [`Bilinear`](crate::Bilinear), 3 with squares):
///
/// | cost         | `Ridge` | `VovkAzouryWarmuth` |
/// |--------------|---------|---------------------|
/// | each context | d       | d²                  |
/// | each action  | m       | m²                  |
/// | each example | d²      | d²                  |
///
/// ```
/// use egret::{
///     Bilinear, Context, Example, Forecaster, LinearRegression, Loss, LossCurve, ScalarFeatures,
///     RegressionOracle, Weight,
/// };
///
/// let features = Bilinear::new(1, ScalarFeatures)?;
/// let mut oracle = LinearRegression::new(features, Forecaster::Ridge, 1e-6)?;
/// for (x, action) in [(0.0, 0.1), (1.0, 0.2), (0.5, 0.9), (0.25, 0.6)] {
///     let loss = Loss::new(0.5 * x * action)?; // linear in the features
///     let x = Context::dense(vec![x])?;
///     oracle.learn(&[Example { x: &x, action: &action, loss: loss.into(), weight: Weight::ONE }])?;
/// }
/// let x = Context::dense(vec![0.8])?;
/// let (mut buffer, mut fhat) = (Vec::new(), Vec::new());
/// LossCurve::new(&oracle, &x, &mut buffer)?.predict(&vec![0.5], &mut fhat)?;
/// assert!((fhat[0] - 0.2).abs() < 1e-3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct LinearRegression<F> {
    features: F,
    forecaster: Forecaster,
    lambda: f64,
    /// R, row after row.
    root: Vec<f64>,
    /// A⁻¹b.
    theta: Vec<f64>,
}

/// Which prediction a [`LinearRegression`] makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Forecaster {
    /// Regularized least squares on the past.
    Ridge,
    /// The same, as if the example to predict had been seen with loss 0.
    VovkAzouryWarmuth,
}

impl<F> LinearRegression<F> {
    /// `lambda` is in [10⁻³⁰, 10³⁰]. At most 16,384 features, since R holds the square of that.
    pub fn new<X: ?Sized, A: Action>(
        features: F,
        forecaster: Forecaster,
        lambda: f64,
    ) -> Result<Self, OutOfRange>
    where
        F: JointFeatures<X, A>,
    {
        let dim = features.dim();
        check_count("features", dim)?;
        OutOfRange::unless(dim <= 1 << 14, "features", dim as f64, "[1, 2^14]")?;
        OutOfRange::unless(
            (1e-30..=1e30).contains(&lambda),
            "lambda",
            lambda,
            "[1e-30, 1e30]",
        )?;
        let mut root = vec![0.0; dim * dim];
        for diagonal in root.iter_mut().step_by(dim + 1) {
            *diagonal = 1.0 / lambda.sqrt();
        }
        Ok(Self {
            features,
            forecaster,
            lambda,
            root,
            theta: vec![0.0; dim],
        })
    }

    /// A⁻¹b, the weights of the features.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// R ← (I − α vvᵀ) R with v = Rφ, which makes RᵀR the new A⁻¹; and θ to match.
    ///
    /// α = 1/(s + √(s/w)),  s = 1/w + |v|²  (Potter)
    fn update(&mut self, phi: &[f64], loss: f64, weight: f64, scratch: &mut [f64]) {
        if weight == 0.0 {
            return;
        }
        let d = phi.len();
        let (v, gain) = scratch.split_at_mut(d);
        for (v, row) in v.iter_mut().zip(self.root.chunks_exact(d)) {
            *v = lanes::dot(row, phi);
        }
        linear_form(&self.root, v, gain);
        let s = 1.0 / weight + lanes::dot(v, v);
        let residual = loss - lanes::dot(&self.theta, phi);
        let step = residual / s;
        for (theta, gain) in self.theta.iter_mut().zip(&*gain) {
            *theta += step * gain;
        }
        let alpha = 1.0 / (s + (s / weight).sqrt());
        for v in v.iter_mut() {
            *v *= alpha;
        }
        subtract_product(&mut self.root, v, gain);
    }
}

impl<X: ?Sized, A: Action, F: JointFeatures<X, A>> RegressionOracle<X, A> for LinearRegression<F> {
    /// Uₓᵀθ, and for Vovk–Azoury–Warmuth the upper half of UₓᵀA⁻¹Uₓ with off-diagonal entries doubled.
    fn prepare(&self, x: &X, prepared: &mut Vec<f64>) -> Result<(), ContextError> {
        self.features.check_context(x)?;
        let (d, m) = (self.features.dim(), self.features.action_dim());
        prepared.resize(m, 0.0);
        self.features.collapse(x, &self.theta, prepared);
        if self.forecaster == Forecaster::Ridge {
            return Ok(());
        }
        // RUₓ takes room beyond the m(m + 1)/2 numbers that stay.
        let end = m + m * (m + 1) / 2;
        prepared.resize(end + d * m, 0.0);
        let (kept, product) = prepared.split_at_mut(end);
        for (out, row) in product.chunks_exact_mut(m).zip(self.root.chunks_exact(d)) {
            self.features.collapse(x, row, out);
        }
        let mut places = kept[m..].iter_mut();
        for j in 0..m {
            for (k, place) in (j..m).zip(&mut places) {
                let entry: f64 = product.chunks_exact(m).map(|row| row[j] * row[k]).sum();
                *place = if j == k { entry } else { 2.0 * entry };
            }
        }
        prepared.truncate(end);
        Ok(())
    }

    fn predict(&self, x: &X, prepared: &[f64], actions: &A::Batch, out: &mut [f64]) {
        let m = self.features.action_dim();
        let (weights, quadratic) = prepared.split_at(m);
        let fill = |range, columns: &mut [f64]| self.features.fill(x, actions, range, columns);
        in_blocks(m, out, fill, |columns, out| {
            linear_form(columns, weights, out);
            if self.forecaster == Forecaster::VovkAzouryWarmuth {
                shrink(columns, quadratic, out);
            }
        });
    }

    fn learn(&mut self, batch: &[Example<'_, X, A>]) -> Result<(), ContextError> {
        let (d, m) = (self.features.dim(), self.features.action_dim());
        let mut psis = vec![0.0; batch.len() * m];
        let mut action = A::Batch::default();
        for (example, psi) in batch.iter().zip(psis.chunks_exact_mut(m)) {
            self.features.check_context(example.x)?;
            action.clear();
            action.push(example.action);
            self.features.fill(example.x, &action, 0..1, psi);
            check_action(psi, example.action)?;
        }
        let (mut phi, mut scratch) = (vec![0.0; d], vec![0.0; 2 * d]);
        for (example, psi) in batch.iter().zip(psis.chunks_exact(m)) {
            self.features.expand(example.x, psi, &mut phi);
            let (loss, weight) = (example.loss.get(), example.weight.get());
            self.update(&phi, loss, weight, &mut scratch);
        }
        Ok(())
    }

    fn item_tree(&self) -> Option<&ItemTree> {
        self.features.item_tree()
    }

    fn save(&self) -> Vec<u8> {
        let saved = Saved {
            forecaster: self.forecaster,
            lambda: self.lambda,
            theta: self.theta.clone(),
            root: self.root.clone(),
        };
        saved_state::to_bytes(KIND, &saved)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), LoadError> {
        let saved: Saved = saved_state::from_bytes(KIND, state)?;
        let dim = self.theta.len();
        saved_state::expect_same("a forecaster", &saved.forecaster, &self.forecaster)?;
        saved_state::expect_same("lambda", &saved.lambda, &self.lambda)?;
        saved_state::expect_numbers("weights", &saved.theta, dim, f64::is_finite)?;
        saved_state::expect_numbers("entries", &saved.root, dim * dim, f64::is_finite)?;
        self.theta = saved.theta;
        self.root = saved.root;
        Ok(())
    }

    /// The new weights are 0, with the prior of a new regression. Beyond 1,024 weights it does not read the new features.
    fn grow(&mut self, dim: usize) -> Result<bool, GrowError> {
        let before = self.features.dim();
        let read = self
            .features
            .grow(dim, MOST_GROWN)
            .ok_or(GrowError::Oracle("linear regression on these features"))?;
        let d = self.features.dim();
        let mut root = vec![0.0; d * d];
        let rows = self.root.chunks_exact(before);
        for (new, old) in root.chunks_exact_mut(d).zip(rows) {
            new[..before].copy_from_slice(old);
        }
        for place in before..d {
            root[place * d + place] = 1.0 / self.lambda.sqrt();
        }
        self.root = root;
        self.theta.resize(d, 0.0);
        Ok(read)
    }
}

/// Learning costs the square of the number of weights, so that growth stops here.
pub(crate) const MOST_GROWN: usize = 1024;

const KIND: &str = "linear regression";

#[derive(Serialize, Deserialize)]
struct Saved {
    forecaster: Forecaster,
    lambda: f64,
    theta: Vec<f64>,
    root: Vec<f64>,
}

/// out = Σᵢ wᵢ rowᵢ: of the rows of a matrix, or of columns of features laid one after another.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn linear_form(matrix: &[f64], weights: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (row, &weight) in matrix.chunks_exact(out.len()).zip(weights) {
        for (out, &value) in out.iter_mut().zip(row) {
            *out += weight * value;
        }
    }
}

/// matrix −= v kᵀ.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn subtract_product(matrix: &mut [f64], v: &[f64], k: &[f64]) {
    for (row, &v) in matrix.chunks_exact_mut(k.len()).zip(v) {
        for (entry, &k) in row.iter_mut().zip(k) {
            *entry -= v * k;
        }
    }
}

/// out /= 1 + Σⱼ ψⱼ Σₖ≥ⱼ qⱼₖ ψₖ.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn shrink(columns: &[f64], quadratic: &[f64], out: &mut [f64]) {
    const WIDTH: usize = 64;
    let n = out.len();
    let m = columns.len() / n;
    for (block, out) in out.chunks_mut(WIDTH).enumerate() {
        let column = |j: usize| &columns[j * n + block * WIDTH..][..out.len()];
        let mut form = [0.0; WIDTH];
        let mut place = 0;
        for j in 0..m {
            let mut inner = [0.0; WIDTH];
            for (k, &q) in (j..m).zip(&quadratic[place..]) {
                for (inner, &value) in inner.iter_mut().zip(column(k)) {
                    *inner += q * value;
                }
            }
            place += m - j;
            for ((form, inner), &value) in form.iter_mut().zip(&inner).zip(column(j)) {
                *form += inner * value;
            }
        }
        for (out, form) in out.iter_mut().zip(&form) {
            *out /= 1.0 + form.max(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Context, Item, Loss, Vector, Weight};
    use crate::numeric::{EventRng, Stream};
    use crate::oracle::{Bilinear, Embeddings, ScalarFeatures, VectorFeatures, features_from};
    use proptest::prelude::*;

    const BOTH: [Forecaster; 2] = [Forecaster::Ridge, Forecaster::VovkAzouryWarmuth];

    /// (x, a, ℓ, w) with x of two features.
    type Row = (Context, f64, f64, f64);

    fn rows(seed: u64, n: usize) -> Vec<Row> {
        let mut rng = EventRng::new(seed, 0, Stream::World);
        (0..n)
            .map(|_| {
                let x = Context::dense(vec![rng.unit() - 0.5, rng.unit()]).expect("finite");
                (x, rng.unit(), rng.unit(), 3.0 * rng.unit())
            })
            .collect()
    }

    fn examples(rows: &[Row]) -> Vec<Example<'_, Context, f64>> {
        rows.iter()
            .map(|(x, action, loss, weight)| Example {
                x,
                action,
                loss: Loss::new(*loss).expect("in the unit interval").into(),
                weight: Weight::new(*weight).expect("not negative"),
            })
            .collect()
    }

    fn oracle(forecaster: Forecaster, lambda: f64) -> LinearRegression<Bilinear<ScalarFeatures>> {
        let features = Bilinear::new(2, ScalarFeatures)
            .expect("one feature")
            .with_squares();
        LinearRegression::new(features, forecaster, lambda).expect("positive")
    }

    fn predict<X, A: Action>(
        oracle: &dyn RegressionOracle<X, A>,
        x: &X,
        actions: &[A],
    ) -> Vec<f64> {
        let mut batch = A::Batch::default();
        for action in actions {
            batch.push(action);
        }
        let mut prepared = Vec::new();
        oracle.prepare(x, &mut prepared).expect("readable");
        let mut out = vec![0.0; actions.len()];
        oracle.predict(x, &prepared, &batch, &mut out);
        out
    }

    fn phi(features: &Bilinear<ScalarFeatures>, x: &Context, a: f64) -> Vec<f64> {
        let mut psi = vec![0.0; 3];
        let mut phi = vec![0.0; 9];
        features.fill(x, &vec![a], 0..1, &mut psi);
        JointFeatures::<Context, f64>::expand(features, x, &psi, &mut phi);
        phi
    }

    /// Gaussian elimination with pivots.
    fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
        let n = b.len();
        for i in 0..n {
            let pivot = (i..n)
                .max_by(|&p, &q| a[p][i].abs().total_cmp(&a[q][i].abs()))
                .expect("rows are left");
            a.swap(i, pivot);
            b.swap(i, pivot);
            for r in i + 1..n {
                let factor = a[r][i] / a[i][i];
                let pivot = a[i].clone();
                for (entry, pivot) in a[r].iter_mut().zip(&pivot) {
                    *entry -= factor * pivot;
                }
                b[r] -= factor * b[i];
            }
        }
        for i in (0..n).rev() {
            let known: f64 = (i + 1..n).map(|c| a[i][c] * b[c]).sum();
            b[i] = (b[i] - known) / a[i][i];
        }
        b
    }

    /// A and b of the normal equations.
    fn normal_equations(phis: &[(Vec<f64>, f64, f64)], lambda: f64) -> (Vec<Vec<f64>>, Vec<f64>) {
        let d = phis[0].0.len();
        let mut a = vec![vec![0.0; d]; d];
        let mut b = vec![0.0; d];
        for (i, row) in a.iter_mut().enumerate() {
            row[i] = lambda;
        }
        for (phi, loss, weight) in phis {
            for i in 0..d {
                b[i] += weight * loss * phi[i];
                for j in 0..d {
                    a[i][j] += weight * phi[i] * phi[j];
                }
            }
        }
        (a, b)
    }

    #[test]
    fn predictions_solve_the_normal_equations() {
        let data = rows(1, 60);
        for forecaster in BOTH {
            let mut oracle = oracle(forecaster, 0.1);
            for batch in examples(&data).chunks(7) {
                oracle.learn(batch).expect("readable");
            }
            let phis: Vec<_> = data
                .iter()
                .map(|(x, a, loss, weight)| (phi(&oracle.features, x, *a), *loss, *weight))
                .collect();
            for (x, a, _, _) in &rows(2, 20) {
                let new = phi(&oracle.features, x, *a);
                let mut phis = phis.clone();
                if forecaster == Forecaster::VovkAzouryWarmuth {
                    phis.push((new.clone(), 0.0, 1.0));
                }
                let (matrix, b) = normal_equations(&phis, 0.1);
                let theta = solve(matrix, b);
                let expected: f64 = theta.iter().zip(&new).map(|(t, p)| t * p).sum();
                let found = predict(&oracle, x, &[0.3, *a])[1];
                assert!((found - expected).abs() < 1e-10, "{found} {expected}");
            }
        }
    }

    #[test]
    fn a_linear_loss_is_recovered() {
        let truth = |x: &Context, a: f64| {
            let x = [x.dot(&[1.0, 0.0]), x.dot(&[0.0, 1.0])];
            0.3 + 0.1 * x[0] + 0.2 * (a - 0.5 * x[1]) * (a - 0.4)
        };
        let mut data = rows(3, 200);
        for (x, a, loss, _) in &mut data {
            *loss = truth(x, *a);
        }
        for forecaster in BOTH {
            let mut oracle = oracle(forecaster, 1e-9);
            oracle.learn(&examples(&data)).expect("readable");
            for (x, a, _, _) in rows(4, 20) {
                let error = predict(&oracle, &x, &[a])[0] - truth(&x, a);
                // Vovk–Azoury–Warmuth still shrinks by about d/n.
                let allowed = match forecaster {
                    Forecaster::Ridge => 1e-6,
                    Forecaster::VovkAzouryWarmuth => 0.2,
                };
                assert!(error.abs() < allowed, "{forecaster:?} {error}");
            }
        }
    }

    /// The regret bound of Vovk–Azoury–Warmuth, on losses that move away from each prediction.
    #[test]
    fn regret_is_bounded_on_an_adversarial_sequence() {
        let (lambda, rounds) = (1.0, 500);
        let run = |forecaster| {
            let mut oracle = oracle(forecaster, lambda);
            let (mut phis, mut own, mut log_det) = (Vec::new(), 0.0, 0.0);
            for (x, a, _, _) in rows(5, rounds) {
                let prediction = predict(&oracle, &x, &[a])[0];
                let loss = if prediction < 0.5 { 1.0 } else { 0.0 };
                own += (prediction - loss) * (prediction - loss);
                let new = phi(&oracle.features, &x, a);
                let gain: f64 = oracle
                    .root
                    .chunks_exact(9)
                    .map(|row| lanes::dot(row, &new) * lanes::dot(row, &new))
                    .sum();
                log_det += libm::log1p(gain);
                oracle
                    .learn(&examples(&[(x, a, loss, 1.0)]))
                    .expect("readable");
                phis.push((new, loss, 1.0));
            }
            let (matrix, b) = normal_equations(&phis, lambda);
            let theta = solve(matrix, b);
            let mut best = lambda * theta.iter().map(|t| t * t).sum::<f64>();
            let mut squares = 0.0;
            for (phi, loss, _) in &phis {
                let error: f64 = theta.iter().zip(phi).map(|(t, p)| t * p).sum::<f64>() - loss;
                best += error * error;
                squares += phi.iter().map(|p| p * p).sum::<f64>();
            }
            let coarse = 9.0 * libm::log1p(squares / (lambda * 9.0));
            (own - best, log_det, coarse)
        };
        let (regret, bound, coarse) = run(Forecaster::VovkAzouryWarmuth);
        assert!(
            regret <= bound && bound <= coarse,
            "{regret} {bound} {coarse}"
        );
        assert!(1.0 < regret, "{regret}"); // such losses do cost something
    }

    /// Features that double each round: ridge extrapolates, and pays more than the bound.
    #[test]
    fn the_bound_is_one_that_ridge_breaks() {
        let run = |forecaster| {
            let features = features_from(1, |_: &(), a: &f64, out: &mut [f64]| out[0] = *a);
            let mut oracle =
                LinearRegression::new(features.expect("one"), forecaster, 1.0).expect("positive");
            let (mut own, mut squares, mut action) = (0.0, 0.0, 1.0);
            let mut past = Vec::new();
            for round in 0..60 {
                let loss = f64::from((round + 1) % 2);
                let prediction = predict(&oracle, &(), &[action])[0];
                own += (prediction - loss) * (prediction - loss);
                squares += action * action;
                past.push((vec![action], loss, 1.0));
                let example = Example {
                    x: &(),
                    action: &action,
                    loss: Loss::new(loss).expect("in the unit interval").into(),
                    weight: Weight::ONE,
                };
                oracle.learn(&[example]).expect("readable");
                action *= 2.0;
            }
            let (matrix, b) = normal_equations(&past, 1.0);
            let theta = solve(matrix, b)[0];
            let errors = past.iter().map(|(phi, loss, _)| theta * phi[0] - loss);
            let best = theta * theta + errors.map(|error| error * error).sum::<f64>();
            own - best - libm::log1p(squares)
        };
        assert!(run(Forecaster::VovkAzouryWarmuth) <= 0.0);
        assert!(0.0 < run(Forecaster::Ridge));
    }

    #[test]
    fn functions_as_features_predict_the_same() {
        let data = rows(6, 40);
        for forecaster in BOTH {
            let mut structured = oracle(forecaster, 0.5);
            let by_hand = features_from(9, |x: &Context, a: &f64, out: &mut [f64]| {
                let x = [1.0, x.dot(&[1.0, 0.0]), x.dot(&[0.0, 1.0])];
                for (row, x) in out.chunks_exact_mut(3).zip(x) {
                    row.copy_from_slice(&[x, x * a, x * a * a]);
                }
            })
            .expect("nine");
            let mut by_hand = LinearRegression::new(by_hand, forecaster, 0.5).expect("positive");
            structured.learn(&examples(&data)).expect("readable");
            by_hand.learn(&examples(&data)).expect("readable");
            let actions: Vec<f64> = (0..500).map(|i| f64::from(i) / 499.0).collect();
            let one = predict(&structured, &data[0].0, &actions);
            let other = predict(&by_hand, &data[0].0, &actions);
            for (one, other) in one.iter().zip(&other) {
                assert!((one - other).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn mixed_actions_are_learned() {
        let table = Embeddings::new(1, vec![0.0, 1.0, 3.0]).expect("finite");
        let features = Bilinear::new(0, (ScalarFeatures, table)).expect("two features");
        let mut oracle =
            LinearRegression::new(features, Forecaster::Ridge, 1e-9).expect("positive");
        let x = Context::dense(vec![]).expect("finite");
        let truth =
            |(price, item): (f64, Item)| 0.2 + 0.1 * price + 0.2 * [0.0, 1.0, 3.0][item.0 as usize];
        let mut actions = Vec::new();
        for price in [0.0, 0.5, 1.0] {
            actions.extend([0, 1, 2].map(|item| (price, Item(item))));
        }
        for action in &actions {
            let loss = Loss::new(truth(*action)).expect("in the unit interval");
            let weight = Weight::ONE;
            let x = &x;
            let example = Example {
                x,
                action,
                loss: loss.into(),
                weight,
            };
            oracle.learn(&[example]).expect("readable");
        }
        actions.push((0.3, Item(2)));
        for (fhat, action) in predict(&oracle, &x, &actions).iter().zip(&actions) {
            assert!((fhat - truth(*action)).abs() < 1e-7);
        }
        assert!(predict(&oracle, &x, &[(0.5, Item(3))])[0].is_nan());
    }

    #[test]
    fn sparse_and_dense_contexts_agree() {
        let dense = Context::dense(vec![0.0, 0.7]).expect("finite");
        let sparse = Context::sparse(2, vec![(1, 0.7)]).expect("sorted");
        for forecaster in BOTH {
            let mut oracle = oracle(forecaster, 0.5);
            oracle.learn(&examples(&rows(7, 30))).expect("readable");
            let one = predict(&oracle, &dense, &[0.2, 0.9]);
            let other = predict(&oracle, &sparse, &[0.2, 0.9]);
            assert!((one[0] - other[0]).abs() < 1e-13 && (one[1] - other[1]).abs() < 1e-13);
        }
    }

    #[test]
    fn nothing_is_learned_from_a_bad_batch() {
        let mut oracle = oracle(Forecaster::Ridge, 1.0);
        oracle.learn(&examples(&rows(8, 5))).expect("readable");
        let before = RegressionOracle::<Context, f64>::save(&oracle);
        let mut bad = rows(9, 5);
        bad[4].0 = Context::dense(vec![1.0; 3]).expect("finite");
        assert_eq!(
            oracle.learn(&examples(&bad)),
            Err(ContextError::Dimension {
                found: 3,
                expected: 2
            })
        );
        bad[4] = (rows(9, 5)[4].0.clone(), f64::NAN, 0.5, 1.0);
        assert!(matches!(
            oracle.learn(&examples(&bad)),
            Err(ContextError::Refused(_))
        ));
        assert_eq!(before, RegressionOracle::<Context, f64>::save(&oracle));
        assert!(predict(&oracle, &bad[0].0, &[f64::NAN])[0].is_nan());
    }

    #[test]
    fn vectors_of_another_length_predict_nan() {
        let features = Bilinear::new(2, VectorFeatures::new(2).expect("positive")).expect("two");
        let oracle = LinearRegression::new(features, Forecaster::Ridge, 1.0).expect("positive");
        let vector = |values: &[f64]| Vector::new(values).expect("finite");
        let x = Context::dense(vec![0.5, 0.5]).expect("finite");
        assert_eq!(predict(&oracle, &x, &[vector(&[0.1, 0.2])]), [0.0]);
        assert!(predict(&oracle, &x, &[vector(&[0.1])])[0].is_nan());
    }

    #[test]
    fn the_largest_numbers_stay_finite() {
        let x = Context::dense(vec![1e30, -1e30]).expect("finite");
        for forecaster in BOTH {
            for lambda in [1e-30, 1.0, 1e30] {
                let mut oracle = oracle(forecaster, lambda);
                for weight in [1e-300, 1.0, 1e300] {
                    let row = (x.clone(), 1e30, 1.0, weight);
                    oracle.learn(&examples(&[row])).expect("readable");
                }
                assert!(oracle.theta.iter().all(|value| value.is_finite()));
                assert!(oracle.root.iter().all(|value| value.is_finite()));
                let again = RegressionOracle::<Context, f64>::save(&oracle);
                assert!(RegressionOracle::<Context, f64>::load(&mut oracle, &again).is_ok());
            }
        }
    }

    #[test]
    fn a_loaded_state_goes_on_to_the_bit() {
        let (first, second) = (rows(10, 20), rows(11, 20));
        for forecaster in BOTH {
            let mut one = oracle(forecaster, 0.5);
            one.learn(&examples(&first)).expect("readable");
            let state = RegressionOracle::<Context, f64>::save(&one);
            let mut other = oracle(forecaster, 0.5);
            RegressionOracle::<Context, f64>::load(&mut other, &state).expect("same kind");
            one.learn(&examples(&second)).expect("readable");
            other.learn(&examples(&second)).expect("readable");
            let save = |oracle| RegressionOracle::<Context, f64>::save(oracle);
            assert_eq!(save(&one), save(&other));
            assert_eq!(
                predict(&one, &first[0].0, &[0.1, 0.2]),
                predict(&other, &first[0].0, &[0.1, 0.2])
            );
        }
    }

    #[test]
    fn states_of_others_are_refused() {
        let state = RegressionOracle::<Context, f64>::save(&oracle(Forecaster::Ridge, 0.5));
        let mut others = [
            oracle(Forecaster::VovkAzouryWarmuth, 0.5),
            oracle(Forecaster::Ridge, 0.25),
        ];
        for other in &mut others {
            let before = RegressionOracle::<Context, f64>::save(other);
            assert!(matches!(
                RegressionOracle::<Context, f64>::load(other, &state),
                Err(LoadError::Mismatch { .. })
            ));
            assert_eq!(before, RegressionOracle::<Context, f64>::save(other));
        }
        let smaller = Bilinear::new(2, ScalarFeatures).expect("one feature");
        let mut smaller = LinearRegression::new(smaller, Forecaster::Ridge, 0.5).expect("positive");
        assert!(matches!(
            RegressionOracle::<Context, f64>::load(&mut smaller, &state),
            Err(LoadError::Mismatch { .. })
        ));
    }

    #[test]
    fn states_with_nan_are_refused() {
        let mut broken = oracle(Forecaster::Ridge, 0.5);
        broken.root[5] = f64::NAN;
        let state = RegressionOracle::<Context, f64>::save(&broken);
        assert_eq!(
            RegressionOracle::<Context, f64>::load(&mut oracle(Forecaster::Ridge, 0.5), &state),
            Err(LoadError::Invalid("NaN among the entries".into()))
        );
    }

    proptest! {
        #[test]
        fn lambda_is_positive_and_finite(lambda in prop::num::f64::ANY) {
            let features = Bilinear::new(0, ScalarFeatures).expect("one feature");
            let made = LinearRegression::new(features, Forecaster::Ridge, lambda);
            prop_assert_eq!(made.is_ok(), (1e-30..=1e30).contains(&lambda));
        }

        #[test]
        fn damaged_bytes_are_an_error_or_a_state(
            place in 0_usize..1000,
            flip in 1_u8..,
            keep in 0_usize..1000,
        ) {
            let mut oracle = oracle(Forecaster::Ridge, 0.5);
            oracle.learn(&examples(&rows(12, 5))).expect("readable");
            let mut bytes = RegressionOracle::<Context, f64>::save(&oracle);
            let place = place % bytes.len();
            bytes[place] ^= flip;
            let before = RegressionOracle::<Context, f64>::save(&oracle);
            match RegressionOracle::<Context, f64>::load(&mut oracle, &bytes) {
                Ok(()) => prop_assert!(oracle.theta.iter().all(|value| value.is_finite())),
                Err(_) => prop_assert_eq!(&before, &RegressionOracle::<Context, f64>::save(&oracle)),
            }
            bytes.truncate(keep % bytes.len());
            prop_assert!(RegressionOracle::<Context, f64>::load(&mut oracle, &bytes).is_err());
        }
    }
}
