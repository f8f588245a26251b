//! The bound that Theorem 1 rests on (appendix B.1 of the paper), on finite spaces where each expectation is a sum.
//!
//! For P with dP/dμ = g/z, κ = 1/z ≥ 1, and any Q with dQ/dμ ≤ τ,
//!
//! E_{a∼P, a*∼Q}[f(a) − f(a*) − (γ/4)(f̂(a) − f(a))²] ≤ κτ/γ.

use egret::{EventRng, Igw, Stream};

use crate::curves::between;

struct Instance {
    igw: Igw,
    /// μ, f̂ and q = dQ/dμ of each action.
    mu: Vec<f64>,
    fhat: Vec<f64>,
    q: Vec<f64>,
}

impl Instance {
    fn random(rng: &mut EventRng) -> Self {
        let count = 2 + (60.0 * rng.unit()) as usize;
        let mut mu: Vec<f64> = (0..count).map(|_| between(0.05, 1.0, rng)).collect();
        let total: f64 = mu.iter().sum();
        mu.iter_mut().for_each(|mass| *mass /= total);
        let fhat = losses(count, rng);
        let igw = Igw::new(between(1.0, 100.0, rng), between(0.3, 1e4, rng)).expect("in range");
        let q = smooth(&mu, igw.tau(), rng);
        Self { igw, mu, fhat, q }
    }

    fn mean(&self, h: impl Fn(usize) -> f64) -> f64 {
        self.mu
            .iter()
            .enumerate()
            .map(|(i, mass)| mass * h(i))
            .sum()
    }

    fn z(&self, beta: f64) -> f64 {
        self.mean(|i| self.igw.weight(self.fhat[i], beta))
    }

    /// The largest β with z(β) ≤ `target`.
    fn beta_of(&self, target: f64) -> f64 {
        let (mut low, mut high) = (self.igw.beta_min() - 100.0 / self.igw.gamma(), 1.0);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if self.z(middle) <= target {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The left side over the right, κτ/γ.
    fn ratio(&self, beta: f64, f: &[f64]) -> f64 {
        let z = self.z(beta);
        let (tau, gamma) = (self.igw.tau(), self.igw.gamma());
        let left = self.mean(|i| {
            let p = self.igw.weight(self.fhat[i], beta) / z;
            let error = self.fhat[i] - f[i];
            p * (f[i] - 0.25 * gamma * error * error) - self.q[i] * f[i]
        });
        left / (tau / z / gamma)
    }

    /// The f in [0, 1] with the largest left side: f̂ + (2/γ)(1 − q/p), cut off.
    fn worst(&self, beta: f64) -> Vec<f64> {
        let z = self.z(beta);
        let of = |(&fhat, &q): (&f64, &f64)| {
            let p = self.igw.weight(fhat, beta) / z;
            (fhat + 2.0 / self.igw.gamma() * (1.0 - q / p)).clamp(0.0, 1.0)
        };
        self.fhat.iter().zip(&self.q).map(of).collect()
    }
}

/// Losses that are even, or nearly all alike, or of two kinds.
fn losses(count: usize, rng: &mut EventRng) -> Vec<f64> {
    let (kind, level) = ((3.0 * rng.unit()) as u32, rng.unit());
    let of = |_| match kind {
        0 => rng.unit(),
        1 => (level + 0.02 * rng.unit()).min(1.0),
        _ => rng.unit().round(),
    };
    (0..count).map(of).collect()
}

/// A density of at most τ: the cap on actions in random order until the mass is spent, or a mixture of that with μ.
fn smooth(mu: &[f64], tau: f64, rng: &mut EventRng) -> Vec<f64> {
    let mut order: Vec<(f64, usize)> = (0..mu.len()).map(|i| (rng.unit(), i)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut q = vec![0.0; mu.len()];
    let mut left = 1.0_f64;
    for (_, i) in order {
        let mass = left.min(tau * mu[i]);
        q[i] = mass / mu[i];
        left -= mass;
    }
    let mixed = (2.0 * rng.unit() - 1.0).max(0.0);
    q.iter().map(|q| (1.0 - mixed) * q + mixed).collect()
}

#[test]
fn the_bound_holds_wherever_kappa_is_one_or_more() {
    let mut tightest = f64::NEG_INFINITY;
    for trial in 0..5_000 {
        let mut rng = EventRng::new(41, trial, Stream::World);
        let instance = Instance::random(&mut rng);
        let target = between(0.02, 1.0, &mut rng);
        for target in [1.0, target] {
            let beta = instance.beta_of(target);
            let count = instance.mu.len();
            let near = instance.fhat.iter().map(|fhat| {
                let shift = (2.0 * rng.unit() - 1.0) * 4.0 / instance.igw.gamma();
                (fhat + shift).clamp(0.0, 1.0)
            });
            let near: Vec<f64> = near.collect();
            for f in [losses(count, &mut rng), near, instance.worst(beta)] {
                let ratio = instance.ratio(beta, &f);
                assert!(ratio <= 1.0 + 1e-9, "trial {trial}, z = {target}: {ratio}");
                tightest = tightest.max(ratio);
            }
        }
    }
    // Power: half the bound would be broken.
    assert!(0.9 < tightest, "{tightest}");
}

#[test]
fn the_bound_fails_where_kappa_is_less_than_one() {
    let mut broken = 0;
    for trial in 0..5_000 {
        let mut rng = EventRng::new(42, trial, Stream::World);
        let instance = Instance::random(&mut rng);
        // κ = 1/2, where τ leaves room for it.
        let beta = instance.beta_of(0.5 * (1.0 + instance.igw.tau()).min(3.0));
        let worst = instance.worst(beta);
        broken += u32::from(1.0 + 1e-9 < instance.ratio(beta, &worst));
    }
    assert!(50 < broken, "{broken}");
}
