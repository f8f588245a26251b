use egret::{
    Blueprint, Context, Interval, OracleSpec, OracleSpecError, ReferenceMeasure, RegressionOracle,
    Space,
};

use crate::Truth;
use crate::simulator::sigmoid;

/// Actions in [0, 1]; f(x, a) = 0.1 + 0.8 |a − a*(x)| with a*(x) = σ(3 (x₀ − x₁) + x₂ − ½).
#[derive(Debug, Clone, Copy)]
pub struct IntervalTruth;

impl Truth for IntervalTruth {
    type Action = f64;

    fn name(&self) -> &str {
        "interval"
    }

    fn context_dim(&self) -> usize {
        3
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, f64>> {
        measure()
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, f64>>, OracleSpecError> {
        oracle(spec)
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

/// Actions in [0, 1]; two valleys, and x says where they are and which is the deeper one.
///
/// f(x, a) = 0.9 − 0.8 max(d₁ exp(−((a − c₁)/w)²), d₂ exp(−((a − c₂)/w)²)),  w = 0.1
///
/// c₁ = 0.15 + 0.2 x₀, c₂ = 0.65 + 0.2 x₁, d₁ = 0.6 + 0.4 s, d₂ = 1 − 0.4 s, s = σ(10 (x₂ − ½)).
#[derive(Debug, Clone, Copy)]
pub struct BimodalTruth;

impl BimodalTruth {
    /// Where the valleys are, and how deep.
    fn valleys(x: &[f64]) -> [(f64, f64); 2] {
        let s = sigmoid(10.0 * (x[2] - 0.5));
        [
            (0.15 + 0.2 * x[0], 0.6 + 0.4 * s),
            (0.65 + 0.2 * x[1], 1.0 - 0.4 * s),
        ]
    }
}

impl Truth for BimodalTruth {
    type Action = f64;

    fn name(&self) -> &str {
        "interval_bimodal"
    }

    fn context_dim(&self) -> usize {
        3
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, f64>> {
        measure()
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, f64>>, OracleSpecError> {
        oracle(spec)
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

fn measure() -> Box<dyn ReferenceMeasure<Context, f64>> {
    Box::new(Interval::new(0.0, 1.0).expect("0 < 1"))
}

fn oracle(spec: &OracleSpec) -> Result<Box<dyn RegressionOracle<Context, f64>>, OracleSpecError> {
    let blueprint = Blueprint {
        space: Space::Interval {
            low: 0.0,
            high: 1.0,
        },
        context_dim: 3,
        embeddings: None,
        oracle: spec.clone(),
    };
    blueprint.number_oracle()
}

#[cfg(test)]
mod tests {
    use egret::{EventRng, LearningRate};

    use super::*;
    use crate::simulator::tests::{check_truth, regrets};

    fn near(best: &f64, rng: &mut EventRng) -> f64 {
        (best + 0.02 * (rng.unit() - 0.5)).clamp(0.0, 1.0)
    }

    #[test]
    fn the_truth_is_as_told() {
        check_truth(IntervalTruth, 400, near);
        check_truth(BimodalTruth, 400, near);
    }

    #[test]
    fn both_valleys_are_the_deeper_one_at_times() {
        let best = |last| BimodalTruth.best(&[0.5, 0.5, last]);
        assert_eq!((best(0.9), best(0.1)), (0.25, 0.75));
        // The other valley is one too.
        let other = BimodalTruth.expected(&[0.5, 0.5, 0.9], &0.75);
        assert!(other < BimodalTruth.expected(&[0.5, 0.5, 0.9], &0.65) - 0.1);
    }

    #[test]
    fn a_learner_beats_uniform_play() {
        let argmin = OracleSpec::Argmin {
            hidden: None,
            // The paper's rate is for batches of eight.
            learning_rate: LearningRate::new(0.3, 100.0).expect("in range"),
            seed: 0,
        };
        let (learned, uniform) = regrets(IntervalTruth, &argmin, 4_000);
        assert!(learned < uniform / 2.0, "{learned} {uniform}");
        let fourier = OracleSpec::Fourier {
            features: 256,
            scale: 2.0,
            seed: 1,
        };
        let (learned, uniform) = regrets(BimodalTruth, &fourier, 2_000);
        assert!(learned < uniform / 2.0, "{learned} {uniform}");
    }
}
