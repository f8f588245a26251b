use crate::event::Context;
use crate::numeric::{EventRng, OutOfRange};
use crate::oracle::{
    ArgminModel,
    optimizer::init::{check_parameters, push_uniform},
};

/// u + ⟨x, w⟩: the argmin of the paper's online experiments.
///
/// All parameters start at 0, so every argmin starts in the middle of the interval. The cost is one pass over the
/// features of the context.
///
/// ```
/// use egret::{ArgminModel, Context, LinearArgmin};
///
/// let model = LinearArgmin::new(2)?;
/// let x = Context::dense(vec![2.0, -1.0]).expect("finite");
/// assert_eq!(model.initial(), [0.0, 0.0, 0.0]);
/// assert_eq!(model.forward(&[0.5, 1.0, 3.0], &x, &mut []), -0.5);
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinearArgmin {
    dim: usize,
    seed: Option<u64>,
}

impl LinearArgmin {
    /// For contexts of `dim` features; at most 2²⁸ parameters.
    pub fn new(dim: usize) -> Result<Self, OutOfRange> {
        check_parameters(dim.checked_add(1))?;
        Ok(Self { dim, seed: None })
    }

    /// Parameters start uniform within ±1/√dim instead of 0, as in PyTorch's linear layer.
    pub fn random(dim: usize, seed: u64) -> Result<Self, OutOfRange> {
        let seed = Some(seed);
        Ok(Self {
            seed,
            ..Self::new(dim)?
        })
    }
}

impl ArgminModel for LinearArgmin {
    fn shape(&self) -> String {
        format!("a linear argmin of {} features", self.dim)
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn initial(&self) -> Vec<f64> {
        let n = self.dim + 1;
        match self.seed {
            None => vec![0.0; n],
            Some(seed) => {
                let mut parameters = Vec::with_capacity(n);
                push_uniform(
                    &mut EventRng::before_events(seed),
                    self.dim,
                    n,
                    &mut parameters,
                );
                parameters
            }
        }
    }

    fn grow(&mut self, dim: usize) -> Option<usize> {
        let grown = Self {
            seed: self.seed,
            ..Self::new(dim).ok()?
        };
        let end = self.dim + 1;
        *self = grown;
        Some(end)
    }

    fn scratch(&self) -> usize {
        0
    }

    fn forward(&self, parameters: &[f64], x: &Context, _: &mut [f64]) -> f64 {
        parameters[0] + x.dot(&parameters[1..])
    }

    fn backward(&self, _: &[f64], x: &Context, dy: f64, _: &mut [f64], gradient: &mut [f64]) {
        gradient[0] += dy;
        let gradient = &mut gradient[1..];
        x.for_each(|feature, value| gradient[feature] += dy * value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_parameters_within_the_bound() {
        let initial = |seed| LinearArgmin::random(100, seed).expect("small").initial();
        let parameters = initial(1);
        assert_eq!(parameters.len(), 101);
        assert!(parameters.iter().all(|p| p.abs() < 0.1));
        assert!(parameters.iter().any(|p| *p < -0.09));
        assert!(parameters.iter().any(|p| 0.09 < *p));
        assert_eq!(parameters, initial(1));
        assert_ne!(parameters, initial(2));
    }

    #[test]
    fn too_many_parameters_are_refused() {
        assert!(LinearArgmin::new((1 << 28) - 1).is_ok());
        assert!(LinearArgmin::new(1 << 28).is_err());
        assert!(LinearArgmin::random(usize::MAX, 0).is_err());
    }

    #[test]
    fn no_features_leave_a_constant() {
        let model = LinearArgmin::random(0, 3).expect("small");
        let x = Context::dense(vec![]).expect("finite");
        assert_eq!(model.forward(&[0.25], &x, &mut []), 0.25);
        assert_eq!(model.initial().len(), 1);
    }
}
