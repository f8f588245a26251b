use egret::{Context, Interval, OracleSpec, OracleSpecError, ReferenceMeasure, RegressionOracle};

use crate::environment::simulator::{LossModel, oracle_over, sigmoid};

/// Actions in [0, 1]; f(x, a) = 0.1 + 0.8 |a − a*(x)| with a*(x) = σ(3 (x₀ − x₁) + x₂ − ½).
#[derive(Debug, Clone, Copy)]
pub struct IntervalLossModel;

impl LossModel for IntervalLossModel {
    type Action = f64;

    fn name(&self) -> &str {
        "interval"
    }

    fn context_dim(&self) -> usize {
        3
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, f64>> {
        Box::new(unit_interval())
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, f64>>, OracleSpecError> {
        oracle_over(unit_interval(), self.context_dim(), spec)
    }

    fn action_dim(&self) -> Option<usize> {
        None
    }

    fn expected(&self, x: &[f64], action: &f64) -> f64 {
        0.1 + 0.8 * (action - self.best(x)).abs()
    }

    fn best(&self, x: &[f64]) -> f64 {
        sigmoid(3.0 * (x[0] - x[1]) + x[2] - 0.5)
    }
}

/// Actions in [0, 1]. There are two valleys; x says where they are and which is deeper.
///
/// f(x, a) = 0.9 − 0.8 max(d₁ exp(−((a − c₁)/w)²), d₂ exp(−((a − c₂)/w)²)),  w = 0.1
///
/// c₁ = 0.15 + 0.2 x₀, c₂ = 0.65 + 0.2 x₁, d₁ = 0.6 + 0.4 s, d₂ = 1 − 0.4 s, s = σ(10 (x₂ − ½)).
#[derive(Debug, Clone, Copy)]
pub struct BimodalLossModel;

impl BimodalLossModel {
    /// The centre and the depth of each valley.
    fn valleys(x: &[f64]) -> [(f64, f64); 2] {
        let s = sigmoid(10.0 * (x[2] - 0.5));
        [
            (0.15 + 0.2 * x[0], 0.6 + 0.4 * s),
            (0.65 + 0.2 * x[1], 1.0 - 0.4 * s),
        ]
    }
}

impl LossModel for BimodalLossModel {
    type Action = f64;

    fn name(&self) -> &str {
        "interval_bimodal"
    }

    fn context_dim(&self) -> usize {
        3
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, f64>> {
        Box::new(unit_interval())
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, f64>>, OracleSpecError> {
        oracle_over(unit_interval(), self.context_dim(), spec)
    }

    fn action_dim(&self) -> Option<usize> {
        None
    }

    fn expected(&self, x: &[f64], action: &f64) -> f64 {
        let depth = Self::valleys(x).map(|(centre, depth)| {
            let away = (action - centre) / 0.1;
            depth * libm::exp(-(away * away))
        });
        0.9 - 0.8 * depth[0].max(depth[1])
    }

    fn best(&self, x: &[f64]) -> f64 {
        let [first, second] = Self::valleys(x);
        if first.1 < second.1 {
            second.0
        } else {
            first.0
        }
    }
}

fn unit_interval() -> Interval {
    Interval::new(0.0, 1.0).expect("0 < 1")
}

#[cfg(test)]
mod tests {
    use egret::{EventRng, LearningRate};

    use super::*;
    use crate::environment::simulator::checks::{check_model, regrets};

    fn near(best: &f64, rng: &mut EventRng) -> f64 {
        (best + 0.02 * (rng.unit() - 0.5)).clamp(0.0, 1.0)
    }

    #[test]
    fn no_action_beats_the_best() {
        check_model(IntervalLossModel, 400, near);
        check_model(BimodalLossModel, 400, near);
    }

    #[test]
    fn each_valley_is_sometimes_the_deeper_one() {
        let best = |last| BimodalLossModel.best(&[0.5, 0.5, last]);
        assert_eq!((best(0.9), best(0.1)), (0.25, 0.75));
        // The other valley is still a valley.
        let other = BimodalLossModel.expected(&[0.5, 0.5, 0.9], &0.75);
        assert!(other < BimodalLossModel.expected(&[0.5, 0.5, 0.9], &0.65) - 0.1);
    }

    #[test]
    fn a_learner_beats_uniform_play() {
        let argmin = OracleSpec::Argmin {
            hidden: None,
            // The paper's rate is for batches of eight.
            learning_rate: LearningRate::new(0.3, 100.0).expect("in range"),
            seed: 0,
        };
        let (learned, uniform) = regrets(IntervalLossModel, &argmin, 4_000);
        assert!(learned < uniform / 2.0, "{learned} {uniform}");
        let fourier = OracleSpec::Fourier {
            features: 256,
            scale: 2.0,
            seed: 1,
        };
        let (learned, uniform) = regrets(BimodalLossModel, &fourier, 2_000);
        assert!(learned < uniform / 2.0, "{learned} {uniform}");
    }
}
