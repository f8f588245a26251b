use egret::EventRng;
use egret::lanes::dot;

use crate::worlds::normals;

/// The normal posterior N(θ, v²A⁻¹) of a linear model, A = I + Σ φφᵀ, with v² the mean squared error so far.
pub(super) struct Posterior {
    /// The upper triangle U with UᵀU = A, row by row.
    upper: Vec<f64>,
    /// Σ ℓφ.
    sums: Vec<f64>,
    /// θ.
    mean: Vec<f64>,
    squared_errors: f64,
    events: f64,
}

impl Posterior {
    pub fn new(dim: usize) -> Self {
        let mut upper = vec![0.0; dim * dim];
        upper.iter_mut().step_by(dim + 1).for_each(|v| *v = 1.0);
        Self {
            upper,
            sums: vec![0.0; dim],
            mean: vec![0.0; dim],
            // As of losses of 0 and 1 before any is known.
            squared_errors: 0.25,
            events: 1.0,
        }
    }

    /// Draws a θ.
    pub fn draw(&mut self, rng: &mut EventRng) -> Vec<f64> {
        let mut half = self.sums.clone();
        let dim = half.len();
        for (place, row) in self.upper.chunks_exact(dim).enumerate() {
            let value = half[place] / row[place];
            half[place] = value;
            let rest = half[place + 1..].iter_mut().zip(&row[place + 1..]);
            rest.for_each(|(sum, u)| *sum -= u * value);
        }
        let deviation = (self.squared_errors / self.events).sqrt();
        let noisy = half
            .iter()
            .map(|value| value + deviation * normals::pair(rng)[0]);
        let drawn = self.solve(noisy.collect());
        self.mean = self.solve(half);
        drawn
    }

    /// U⁻¹ of these.
    fn solve(&self, mut values: Vec<f64>) -> Vec<f64> {
        let dim = values.len();
        for (place, row) in self.upper.chunks_exact(dim).enumerate().rev() {
            let rest = dot(&row[place + 1..], &values[place + 1..]);
            values[place] = (values[place] - rest) / row[place];
        }
        values
    }

    pub fn learn(&mut self, mut phi: Vec<f64>, loss: f64) {
        self.squared_errors += (loss - dot(&self.mean, &phi)).powi(2);
        self.events += 1.0;
        for (sum, phi) in self.sums.iter_mut().zip(&phi) {
            *sum += loss * phi;
        }
        let dim = phi.len();
        for (place, row) in self.upper.chunks_exact_mut(dim).enumerate() {
            let root = row[place].hypot(phi[place]);
            let (cos, sin) = (root / row[place], phi[place] / row[place]);
            row[place] = root;
            let rest = row[place + 1..].iter_mut().zip(&mut phi[place + 1..]);
            rest.for_each(|(u, phi)| {
                *u = (*u + sin * *phi) / cos;
                *phi = cos * *phi - sin * *u;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use egret::Stream;

    use super::*;
    use crate::worlds::baselines::ridge::Ridge;

    #[test]
    fn draws_have_the_mean_and_spread_of_ridge_regression() {
        let (mut posterior, mut ridge) = (Posterior::new(3), Ridge::new(3));
        let mut rng = EventRng::new(1, 0, Stream::World);
        for _ in 0..40 {
            let phi = vec![1.0, rng.unit(), rng.unit()];
            let loss = rng.unit();
            ridge.learn(&phi, loss);
            posterior.learn(phi, loss);
        }
        let n = 20_000;
        let along = [0.3, -1.0, 0.5];
        let (mut sum, mut squares) = (0.0, 0.0);
        for event in 0..n {
            let drawn = posterior.draw(&mut EventRng::new(2, event, Stream::World));
            let off = dot(&drawn, &along) - dot(&ridge.theta, &along);
            sum += off;
            squares += off * off;
        }
        assert!((posterior.mean[1] - ridge.theta[1]).abs() < 1e-9);
        let v = posterior.squared_errors / posterior.events;
        let expected = v * dot(&ridge.spread(&along), &along);
        // Six standard errors of a mean, and of a variance.
        let n = n as f64;
        assert!((sum / n).abs() < 6.0 * (expected / n).sqrt(), "{sum}");
        assert!(
            (squares / n / expected - 1.0).abs() < 6.0 * (2.0 / n).sqrt(),
            "{squares}"
        );
    }
}
