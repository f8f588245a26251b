use egret::lanes::dot;

/// Ridge regression with λ = 1: θ = A⁻¹b with A = I + Σ φφᵀ and b = Σ ℓφ, by the formula of Sherman and Morrison.
#[derive(Clone)]
pub(super) struct Ridge {
    pub theta: Vec<f64>,
    /// A⁻¹, row by row.
    inverse: Vec<f64>,
}

impl Ridge {
    pub fn new(dim: usize) -> Self {
        let mut inverse = vec![0.0; dim * dim];
        inverse.iter_mut().step_by(dim + 1).for_each(|v| *v = 1.0);
        Self {
            theta: vec![0.0; dim],
            inverse,
        }
    }

    pub fn predict(&self, phi: &[f64]) -> f64 {
        dot(&self.theta, phi)
    }

    /// A⁻¹φ.
    pub fn spread(&self, phi: &[f64]) -> Vec<f64> {
        let rows = self.inverse.chunks(phi.len());
        rows.map(|row| dot(row, phi)).collect()
    }

    pub fn learn(&mut self, phi: &[f64], loss: f64) {
        self.add(phi, loss, 1.0);
    }

    /// Takes out what was learned.
    pub fn forget(&mut self, phi: &[f64], loss: f64) {
        self.add(phi, loss, -1.0);
    }

    /// Adds ±φφᵀ to A and ±ℓφ to b.
    fn add(&mut self, phi: &[f64], loss: f64, sign: f64) {
        let dim = phi.len();
        let gain = self.spread(phi);
        let scale = sign / (1.0 + sign * dot(&gain, phi));
        let error = scale * (loss - self.predict(phi));
        for (row, g) in self.inverse.chunks_mut(dim).zip(&gain) {
            row.iter_mut()
                .zip(&gain)
                .for_each(|(v, h)| *v -= scale * g * h);
        }
        self.theta
            .iter_mut()
            .zip(&gain)
            .for_each(|(v, g)| *v += error * g);
    }
}

#[cfg(test)]
mod tests {
    use egret::{EventRng, Stream};

    use super::*;

    #[test]
    fn ridge_solves_its_normal_equations() {
        let mut ridge = Ridge::new(3);
        let mut rng = EventRng::new(1, 0, Stream::World);
        // (A, b) summed as they are defined.
        let mut a = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let mut b = [0.0; 3];
        for number in 0..500 {
            let phi = [1.0, rng.unit(), rng.unit()];
            let loss = rng.unit();
            ridge.learn(&phi, loss);
            if number % 3 == 0 {
                ridge.forget(&phi, loss);
                continue;
            }
            for row in 0..3 {
                b[row] += loss * phi[row];
                for column in 0..3 {
                    a[row][column] += phi[row] * phi[column];
                }
            }
        }
        for (row, b) in a.iter().zip(b) {
            assert!((dot(row, &ridge.theta) - b).abs() < 1e-9);
        }
    }
}
