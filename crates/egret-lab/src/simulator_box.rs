use egret::{
    Blueprint, Context, OracleSpec, OracleSpecError, ReferenceMeasure, RegressionOracle, Space,
    UniformBox, Vector,
};

use crate::Truth;
use crate::simulator::{affine, constants, sigmoid};

const DIM: usize = 8;
const CONTEXT: usize = 4;

/// Actions in [0, 1]⁸; f(x, a) = 0.1 + 0.8 √(Σ (aⱼ − a*ⱼ(x))² / 8) with a*(x) = σ(W (1, 2x − 1)).
#[derive(Debug, Clone)]
pub struct BoxTruth {
    weights: [f64; DIM * (1 + CONTEXT)],
}

impl BoxTruth {
    /// The one of its name.
    pub fn new() -> Self {
        Self {
            weights: constants(0xb0),
        }
    }

    fn centre(&self, x: &[f64]) -> [f64; DIM] {
        affine(&self.weights, x).map(sigmoid)
    }
}

impl Default for BoxTruth {
    fn default() -> Self {
        Self::new()
    }
}

impl Truth for BoxTruth {
    type Action = Vector;

    fn name(&self) -> &str {
        "box"
    }

    fn context_dim(&self) -> usize {
        CONTEXT
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, Vector>> {
        Box::new(UniformBox::new(&[(0.0, 1.0); DIM]).expect("0 < 1"))
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, Vector>>, OracleSpecError> {
        let blueprint = Blueprint {
            space: Space::Box {
                sides: vec![(0.0, 1.0); DIM],
            },
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
        let centre = self.centre(x);
        let squares = centre
            .iter()
            .zip(action.as_slice())
            .map(|(c, a)| (a - c) * (a - c));
        0.1 + 0.8 * libm::sqrt(squares.sum::<f64>() / DIM as f64)
    }

    fn best(&self, x: &[f64]) -> Vector {
        Vector::new(&self.centre(x)).expect("within (0, 1)")
    }
}

#[cfg(test)]
mod tests {
    use egret::{AnyLearner, Forecaster, Model};

    use super::*;
    use crate::simulator::tests::{check_truth, check_untuned, regrets};

    #[test]
    fn the_truth_is_as_told() {
        check_truth(BoxTruth::new(), 400, |best, rng| {
            let moved = (best.as_slice().iter()).map(|a| a + 0.02 * (rng.unit() - 0.5));
            let moved: Vec<f64> = moved.map(|a| a.clamp(0.0, 1.0)).collect();
            Vector::new(&moved).expect("finite")
        });
    }

    #[test]
    fn the_default_is_the_model_without_tuning() {
        let space = Space::Box {
            sides: vec![(0.0, 1.0); DIM],
        };
        let model = Model::untuned(space, CONTEXT, 7).expect("a space");
        let AnyLearner::Vector(learner) = &model.learner else {
            unreachable!("its actions are vectors");
        };
        check_untuned(BoxTruth::new(), learner);
    }

    #[test]
    fn a_learner_beats_uniform_play() {
        let linear = OracleSpec::LeastSquares {
            forecaster: Forecaster::Ridge,
            lambda: 1.0,
            squares: true,
        };
        let (learned, uniform) = regrets(BoxTruth::new(), &linear, 3_000);
        assert!(learned < 0.6 * uniform, "{learned} {uniform}");
    }
}
