use egret::{
    Context, OracleSpec, OracleSpecError, ReferenceMeasure, RegressionOracle, UniformBox, Vector,
};

use crate::environment::simulator::{LossModel, affine, constants, oracle_over, sigmoid};

const DIM: usize = 8;
const CONTEXT: usize = 4;

/// Actions in [0, 1]⁸; f(x, a) = 0.1 + 0.8 √(Σ (aⱼ − a*ⱼ(x))² / 8) with a*(x) = σ(W (1, 2x − 1)).
#[derive(Debug, Clone)]
pub struct BoxLossModel {
    weights: [f64; DIM * (1 + CONTEXT)],
}

impl BoxLossModel {
    /// The model with its fixed weights.
    pub fn new() -> Self {
        Self {
            weights: constants(0xb0),
        }
    }

    fn centre(&self, x: &[f64]) -> [f64; DIM] {
        affine(&self.weights, x).map(sigmoid)
    }
}

impl Default for BoxLossModel {
    fn default() -> Self {
        Self::new()
    }
}

impl LossModel for BoxLossModel {
    type Action = Vector;

    fn name(&self) -> &str {
        "box"
    }

    fn context_dim(&self) -> usize {
        CONTEXT
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, Vector>> {
        Box::new(unit_box())
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, Vector>>, OracleSpecError> {
        oracle_over(unit_box(), CONTEXT, spec)
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

fn unit_box() -> UniformBox {
    UniformBox::new(&[(0.0, 1.0); DIM]).expect("0 < 1")
}

#[cfg(test)]
mod tests {
    use egret::{Forecaster, Model, ModelSpec, Settings};

    use super::*;
    use crate::environment::simulator::checks::{check_default_oracle, check_model, regrets};

    #[test]
    fn no_action_beats_the_best() {
        check_model(BoxLossModel::new(), 400, |best, rng| {
            let moved = (best.as_slice().iter()).map(|a| a + 0.02 * (rng.unit() - 0.5));
            let moved: Vec<f64> = moved.map(|a| a.clamp(0.0, 1.0)).collect();
            Vector::new(&moved).expect("finite")
        });
    }

    #[test]
    fn the_default_oracle_is_that_of_the_default_model() {
        let settings = Settings::default().with_seed(7);
        let spec = ModelSpec::new(unit_box(), CONTEXT).with_seed(7);
        let model = Model::from_spec(spec, settings).expect("a space");
        check_default_oracle(BoxLossModel::new(), model.learner());
    }

    #[test]
    fn a_learner_beats_uniform_play() {
        let linear = OracleSpec::LeastSquares {
            forecaster: Forecaster::Ridge,
            lambda: 1.0,
            squares: true,
        };
        let (learned, uniform) = regrets(BoxLossModel::new(), &linear, 3_000);
        assert!(learned < 0.6 * uniform, "{learned} {uniform}");
    }
}
