use egret::{
    Context, OracleSpec, OracleSpecError, ReferenceMeasure, RegressionOracle, UniformSphere, Vector,
};

use crate::environment::simulator::{LossModel, affine, constants, oracle_over};

const DIM: usize = 8;
const CONTEXT: usize = 4;

/// Actions are unit vectors of ℝ⁸; f(x, a) = ½ − 0.4 ⟨a, u(x)⟩ with u(x) = v / |v|, v = W (1, 2x − 1).
#[derive(Debug, Clone)]
pub struct SphereLossModel {
    weights: [f64; DIM * (1 + CONTEXT)],
}

impl SphereLossModel {
    /// The model with its fixed weights.
    pub fn new() -> Self {
        Self {
            weights: constants(0x59),
        }
    }

    fn direction(&self, x: &[f64]) -> [f64; DIM] {
        let v: [f64; DIM] = affine(&self.weights, x);
        let length = libm::sqrt(v.iter().map(|v| v * v).sum());
        v.map(|v| v / length)
    }
}

impl Default for SphereLossModel {
    fn default() -> Self {
        Self::new()
    }
}

impl LossModel for SphereLossModel {
    type Action = Vector;

    fn name(&self) -> &str {
        "sphere"
    }

    fn context_dim(&self) -> usize {
        CONTEXT
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, Vector>> {
        Box::new(unit_sphere())
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, Vector>>, OracleSpecError> {
        oracle_over(unit_sphere(), CONTEXT, spec)
    }

    fn action_dim(&self) -> Option<usize> {
        Some(DIM)
    }

    fn expected(&self, x: &[f64], action: &Vector) -> f64 {
        let direction = self.direction(x);
        let products = direction.iter().zip(action.as_slice()).map(|(u, a)| u * a);
        0.5 - 0.4 * products.sum::<f64>().clamp(-1.0, 1.0)
    }

    fn best(&self, x: &[f64]) -> Vector {
        Vector::new(&self.direction(x)).expect("v is not 0")
    }
}

fn unit_sphere() -> UniformSphere {
    UniformSphere::new(DIM).expect("8 is a dimension")
}

#[cfg(test)]
mod tests {
    use egret::{Forecaster, Model, ModelSpec, Settings};

    use super::*;
    use crate::environment::simulator::checks::{check_default_oracle, check_model, regrets};

    #[test]
    fn no_action_beats_the_best() {
        check_model(SphereLossModel::new(), 400, |best, rng| {
            let moved: Vec<f64> = (best.as_slice().iter())
                .map(|a| a + 0.1 * (rng.unit() - 0.5))
                .collect();
            let length = moved.iter().map(|a| a * a).sum::<f64>().sqrt();
            let unit: Vec<f64> = moved.iter().map(|a| a / length).collect();
            Vector::new(&unit).expect("finite")
        });
    }

    #[test]
    fn the_default_oracle_is_that_of_the_default_model() {
        let settings = Settings::default().with_seed(7);
        let spec = ModelSpec::new(unit_sphere(), CONTEXT).with_seed(7);
        let model = Model::from_spec(spec, settings).expect("a space");
        check_default_oracle(SphereLossModel::new(), model.learner());
    }

    #[test]
    fn a_learner_beats_uniform_play() {
        let linear = OracleSpec::LeastSquares {
            forecaster: Forecaster::Ridge,
            lambda: 1.0,
            squares: false,
        };
        let (learned, uniform) = regrets(SphereLossModel::new(), &linear, 3_000);
        assert!(learned < uniform / 2.0, "{learned} {uniform}");
    }
}
