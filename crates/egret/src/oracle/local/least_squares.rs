use serde::{Deserialize, Serialize};

use crate::codec::{LoadError, saved_state};
use crate::numeric::lanes;

/// Recursive least squares: θ = A⁻¹b with A = λI + Σ w φφᵀ and b = Σ w yφ, over the examples (φ, y) of weight w so far.
///
/// A⁻¹ is kept, and changed by the formula of Sherman and Morrison:
///
/// k = A⁻¹φ,  A⁻¹ −= kkᵀ · w/(1 + w φᵀk),  θ += k (y − θ·φ) · w/(1 + w φᵀk)
///
/// It may forget: then past examples count less and less, and the prior does not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LeastSquares {
    theta: Vec<f64>,
    /// The upper half of A⁻¹, row after row.
    inverse: Vec<f64>,
}

/// λ: the prior is worth one example.
const LAMBDA: f64 = 1.0;

/// A larger weight counts as this one: it would leave variances that rounding makes negative.
const MOST_WEIGHT: f64 = 1e6;

impl LeastSquares {
    /// Before any example.
    pub(crate) fn new(dim: usize) -> Self {
        let mut inverse = Vec::with_capacity(size(dim));
        for row in 0..dim {
            inverse.push(1.0 / LAMBDA);
            inverse.resize(inverse.len() + dim - 1 - row, 0.0);
        }
        Self {
            theta: vec![0.0; dim],
            inverse,
        }
    }

    /// θ.
    pub(crate) fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// θ·φ.
    pub(crate) fn predict(&self, phi: &[f64]) -> f64 {
        lanes::dot(&self.theta, phi)
    }

    /// Learns an example; `gain` is scratch space as long as φ.
    pub(crate) fn learn(&mut self, phi: &[f64], y: f64, weight: f64, gain: &mut [f64]) {
        if weight <= 0.0 {
            return;
        }
        let weight = weight.min(MOST_WEIGHT);
        multiply(&self.inverse, phi, gain);
        // Rounding may not make φᵀA⁻¹φ negative.
        let spread = lanes::dot(gain, phi).max(0.0);
        let scale = weight / (1.0 + weight * spread);
        let step = scale * (y - self.predict(phi));
        for (theta, gain) in self.theta.iter_mut().zip(&*gain) {
            *theta += step * gain;
        }
        subtract_square(&mut self.inverse, scale, gain);
    }

    /// Divides the weights of all past examples by `factor`, which is at least 1. No feature gets a larger variance than it
    /// had before any example.
    pub(crate) fn forget(&mut self, factor: f64) {
        let dim = self.theta.len();
        let mut limits = vec![0.0; dim];
        let mut rest = &self.inverse[..];
        for (limit, length) in limits.iter_mut().zip((1..=dim).rev()) {
            *limit = (1.0 / (LAMBDA * factor * rest[0])).min(1.0).sqrt();
            rest = &rest[length..];
        }
        let mut rest = &mut self.inverse[..];
        for row in 0..dim {
            let (entries, others) = rest.split_at_mut(dim - row);
            let own = factor * limits[row];
            for (entry, limit) in entries.iter_mut().zip(&limits[row..]) {
                *entry *= own * limit;
            }
            rest = others;
        }
    }

    /// Takes `more` features after the others, as if it had never met them.
    pub(crate) fn grow(&mut self, more: usize) {
        let dim = self.theta.len();
        let mut grown = Self::new(dim + more);
        grown.theta[..dim].copy_from_slice(&self.theta);
        let (mut old, mut new) = (&self.inverse[..], &mut grown.inverse[..]);
        for row in 0..dim {
            let (entries, others) = old.split_at(dim - row);
            let (into, rest) = new.split_at_mut(dim + more - row);
            into[..entries.len()].copy_from_slice(entries);
            (old, new) = (others, rest);
        }
        *self = grown;
    }

    /// An error unless this is a state of as many features.
    pub(crate) fn check(&self, dim: usize) -> Result<(), LoadError> {
        let finite = |number: f64| number.abs() <= 1e100;
        saved_state::expect_numbers("weights", &self.theta, dim, finite)?;
        let most = 1.01 / LAMBDA;
        saved_state::expect_numbers("variances", &self.inverse, size(dim), |entry| {
            entry.abs() <= most
        })?;
        let mut rest = &self.inverse[..];
        for length in (1..=dim).rev() {
            if rest[0] <= 0.0 {
                return Err(LoadError::Invalid("a variance is not positive".into()));
            }
            rest = &rest[length..];
        }
        Ok(())
    }
}

/// How many entries the upper half of a matrix has.
pub(crate) fn size(dim: usize) -> usize {
    dim * (dim + 1) / 2
}

/// out ← Mv for a symmetric M, given by its upper half.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn multiply(upper: &[f64], v: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    let mut rest = upper;
    for row in 0..v.len() {
        let (entries, others) = rest.split_at(v.len() - row);
        out[row] += lanes::dot(entries, &v[row..]);
        let own = v[row];
        for (out, entry) in out[row + 1..].iter_mut().zip(&entries[1..]) {
            *out += own * entry;
        }
        rest = others;
    }
}

/// M −= scale · kkᵀ for a symmetric M, given by its upper half.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn subtract_square(upper: &mut [f64], scale: f64, k: &[f64]) {
    let mut rest = upper;
    for row in 0..k.len() {
        let (entries, others) = rest.split_at_mut(k.len() - row);
        let own = scale * k[row];
        for (entry, k) in entries.iter_mut().zip(&k[row..]) {
            *entry -= own * k;
        }
        rest = others;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::{EventRng, Stream};

    const DIM: usize = 5;

    /// Examples (φ, y, w).
    fn examples(n: usize) -> Vec<([f64; DIM], f64, f64)> {
        let mut rng = EventRng::new(1, 0, Stream::World);
        let mut example = || {
            let phi = std::array::from_fn(|_| rng.unit() - 0.5);
            (phi, rng.unit(), 2.0 * rng.unit())
        };
        (0..n).map(|_| example()).collect()
    }

    /// Aθ − b, with each example's weight divided by `forgotten` once for each later one.
    fn excess(squares: &LeastSquares, examples: &[([f64; DIM], f64, f64)], forgotten: f64) -> f64 {
        let mut left = [0.0; DIM];
        for (place, theta) in squares.theta.iter().enumerate() {
            left[place] = LAMBDA * theta;
        }
        for (age, (phi, y, w)) in examples.iter().rev().enumerate() {
            let weight = w / forgotten.powi(age as i32);
            let error = squares.predict(phi) - y;
            for (left, phi) in left.iter_mut().zip(phi) {
                *left += weight * error * phi;
            }
        }
        left.iter().map(|v| v.abs()).fold(0.0, f64::max)
    }

    fn taught(examples: &[([f64; DIM], f64, f64)]) -> LeastSquares {
        let mut squares = LeastSquares::new(DIM);
        for (phi, y, w) in examples {
            squares.learn(phi, *y, *w, &mut [0.0; DIM]);
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
        for (phi, y, w) in &examples {
            squares.forget(1.01);
            squares.learn(phi, *y, *w, &mut [0.0; DIM]);
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
                    *error += (squares.predict(phi) - y).powi(2);
                }
                squares.learn(phi, y, 1.0, &mut [0.0; DIM]);
            }
        }
        assert!(100.0 * errors[1] < errors[0], "{errors:?}");
    }

    #[test]
    fn no_variance_grows_beyond_the_prior() {
        let mut squares = taught(&examples(50));
        for _ in 0..100 {
            squares.forget(2.0);
        }
        squares.check(DIM).expect("as before any example");
        let again = examples(1)[0];
        squares.learn(&again.0, 1.0, 1e30, &mut [0.0; DIM]);
        assert!((squares.predict(&again.0) - 1.0).abs() < 1e-4);
    }
}
