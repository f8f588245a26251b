use std::ops::Range;

use egret::{
    ActionFeatures, Catalogue, Context, Interval, Item, OracleSpec, OracleSpecError, Product,
    ReferenceMeasure, RegressionOracle,
};

use crate::environment::simulator::{LossModel, sigmoid};

const KINDS: usize = 5;
const CONTEXT: usize = 3;

/// An action is one of 5 kinds k and a number a in [0, 1]. Each kind has its own valley.
///
/// f(x, k, a) = 0.9 − 0.8 d (1 − (a − c)²),  d = σ(4 x₀ − k),  for odd k d = σ(4 (1 − x₀) − k)
///
/// c = (1 + k)/6 + (x₁ − ½)/4. Kind 1 is the best at small x₀, kind 0 at large x₀.
#[derive(Debug, Clone, Copy)]
pub struct MixedLossModel;

impl MixedLossModel {
    /// The centre and the depth of a kind's valley.
    fn valley(x: &[f64], kind: usize) -> (f64, f64) {
        let k = kind as f64;
        let favour = if kind.is_multiple_of(2) {
            x[0]
        } else {
            1.0 - x[0]
        };
        let centre = (1.0 + k) / 6.0 + (x[1] - 0.5) / 4.0;
        (centre, sigmoid(4.0 * favour - k))
    }
}

impl LossModel for MixedLossModel {
    type Action = (Item, f64);

    fn name(&self) -> &str {
        "mixed"
    }

    fn context_dim(&self) -> usize {
        CONTEXT
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, (Item, f64)>> {
        let kinds = Catalogue::uniform(KINDS).expect("five");
        let numbers = Interval::new(0.0, 1.0).expect("0 < 1");
        Box::new(Product::new(kinds, numbers))
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, (Item, f64)>>, OracleSpecError> {
        spec.over(CONTEXT, &Parabolas)
    }

    fn action_dim(&self) -> Option<usize> {
        Some(Parabolas.dim())
    }

    fn expected(&self, x: &[f64], &(kind, number): &(Item, f64)) -> f64 {
        let (centre, depth) = Self::valley(x, kind.0 as usize);
        let away = number - centre;
        0.9 - 0.8 * depth * (1.0 - away * away)
    }

    fn best(&self, x: &[f64]) -> (Item, f64) {
        let mut best = (0, Self::valley(x, 0));
        for kind in 1..KINDS {
            let valley = Self::valley(x, kind);
            if best.1.1 < valley.1 {
                best = (kind, valley);
            }
        }
        (Item(best.0 as u32), best.1.0)
    }
}

/// 1, a and a² for the kind of the action, 0 for the other kinds: each kind gets its own parabola.
#[derive(Debug, Clone, Copy)]
struct Parabolas;

impl ActionFeatures<(Item, f64)> for Parabolas {
    fn dim(&self) -> usize {
        3 * KINDS
    }

    fn fill(&self, actions: &(Vec<Item>, Vec<f64>), range: Range<usize>, out: &mut [f64]) {
        let n = range.len();
        let (kinds, numbers) = (&actions.0[range.clone()], &actions.1[range]);
        out.fill(0.0);
        for (i, (kind, number)) in kinds.iter().zip(numbers).enumerate() {
            let first = 3 * kind.0 as usize;
            if 3 * KINDS <= first {
                out[i] = f64::NAN;
                continue;
            }
            for (power, value) in [1.0, *number, number * number].into_iter().enumerate() {
                out[(first + power) * n + i] = value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use egret::Forecaster;

    use super::*;
    use crate::environment::simulator::checks::{check_model, regrets};

    #[test]
    fn no_action_beats_the_best() {
        check_model(MixedLossModel, 400, |&(kind, number), rng| {
            (kind, (number + 0.1 * (rng.unit() - 0.5)).clamp(0.0, 1.0))
        });
        assert_eq!(MixedLossModel.best(&[0.9, 0.5, 0.5]).0, Item(0));
        assert_eq!(MixedLossModel.best(&[0.1, 0.5, 0.5]).0, Item(1));
    }

    #[test]
    fn a_learner_beats_uniform_play() {
        let linear = OracleSpec::LeastSquares {
            forecaster: Forecaster::Ridge,
            lambda: 1.0,
            squares: false,
        };
        let (learned, uniform) = regrets(MixedLossModel, &linear, 2_000);
        assert!(learned < uniform / 2.0, "{learned} {uniform}");
    }
}
