use egret::{
    Blueprint, Context, OracleSpec, OracleSpecError, ReferenceMeasure, RegressionOracle, Space,
    UniformSphere, Vector,
};

use crate::Truth;
use crate::simulator::{affine, constants};

const DIM: usize = 8;
const CONTEXT: usize = 4;

/// Actions of length 1 in ℝ⁸; f(x, a) = ½ − 0.4 ⟨a, u(x)⟩ with u(x) = v / |v|, v = W (1, 2x − 1).
#[derive(Debug, Clone)]
pub struct SphereTruth {
    weights: [f64; DIM * (1 + CONTEXT)],
}

impl SphereTruth {
    /// The one of its name.
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

impl Default for SphereTruth {
    fn default() -> Self {
        Self::new()
    }
}

impl Truth for SphereTruth {
    type Action = Vector;

    fn name(&self) -> &str {
        "sphere"
    }

    fn context_dim(&self) -> usize {
        CONTEXT
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, Vector>> {
        Box::new(UniformSphere::new(DIM).expect("8 is a dimension"))
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, Vector>>, OracleSpecError> {
        let blueprint = Blueprint {
            space: Space::Sphere { dim: DIM },
            context_dim: CONTEXT,
            embeddings: None,
            oracle: spec.clone(),
        };
        blueprint.vector_oracle()
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

#[cfg(test)]
mod tests {
    use egret::{AnyLearner, Forecaster, Model};

    use super::*;
    use crate::simulator::tests::{check_truth, check_untuned, regrets};

    #[test]
    fn the_truth_is_as_told() {
        check_truth(SphereTruth::new(), 400, |best, rng| {
            let moved: Vec<f64> = (best.as_slice().iter())
                .map(|a| a + 0.1 * (rng.unit() - 0.5))
                .collect();
            let length = moved.iter().map(|a| a * a).sum::<f64>().sqrt();
            let unit: Vec<f64> = moved.iter().map(|a| a / length).collect();
            Vector::new(&unit).expect("finite")
        });
    }

    #[test]
    fn the_default_is_the_model_without_tuning() {
        let space = Space::Sphere { dim: DIM };
        let model = Model::untuned(space, CONTEXT, 7).expect("a space");
        let AnyLearner::Vector(learner) = &model.learner else {
            unreachable!("its actions are vectors");
        };
        check_untuned(SphereTruth::new(), learner);
    }

    #[test]
    fn a_learner_beats_uniform_play() {
        let linear = OracleSpec::LeastSquares {
            forecaster: Forecaster::Ridge,
            lambda: 1.0,
            squares: false,
        };
        let (learned, uniform) = regrets(SphereTruth::new(), &linear, 3_000);
        assert!(learned < uniform / 2.0, "{learned} {uniform}");
    }
}
