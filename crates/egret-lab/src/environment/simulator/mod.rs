//! Simulated problems whose expected losses are known, so that regret is.
//!
//! | name               | actions              | expected loss                                     | an oracle that fits |
//! |--------------------|----------------------|---------------------------------------------------|---------------------|
//! | `interval`         | \[0, 1\]             | the distance from a point that moves with x       | argmin, Fourier     |
//! | `interval_bimodal` | \[0, 1\]             | two valleys; x says where, and which is deeper    | Fourier             |
//! | `box`              | \[0, 1\]⁸            | the distance from a point that moves with x       | least squares with squares |
//! | `sphere`           | unit vectors of ℝ⁸   | the angle to a direction that turns with x        | least squares       |
//! | `catalogue`        | 100,000 items        | a score bilinear in x and the item's embedding    | least squares       |
//! | `mixed`            | one of 5 kinds and a number | each kind has its own valley               | least squares       |
//! | `pricing`          | prices in \[0, 1\]   | the gap to the customer's worth; too high costs more | argmin           |
//!
//! Each problem but the last is a [`LossModel`], and [`Simulator`] makes the worlds. [`PricingSimulator`] has its own
//! contexts and its own noise.

mod catalogue;
#[cfg(test)]
mod checks;
mod interval;
mod mixed;
mod pricing;
mod sphere;
mod unit_box;

use std::any::TypeId;
use std::sync::OnceLock;

use egret::{
    Action, ActionKind, ActionSpace, Catalogue, Context, EventRng, Loss, ModelSpec, OracleSpec,
    OracleSpecError, ReferenceMeasure, RegressionOracle, Stream, Vector,
};

pub use self::catalogue::CatalogueLossModel;
pub use self::interval::{BimodalLossModel, IntervalLossModel};
pub use self::mixed::MixedLossModel;
pub use self::pricing::{Customer, PricingSimulator};
pub use self::sphere::SphereLossModel;
pub use self::unit_box::BoxLossModel;
use crate::environment::{Environment, World};

/// What a simulator knows and a learner does not: the expected loss of each action, and the best action.
///
/// Contexts are uniform on [0, 1]ᵈ and expected losses lie in [0.1, 0.9]. Each round adds noise, uniform on [−0.1, 0.1] and
/// the same for every action. So losses lie in [0, 1], and the noise changes no action's expected loss.
pub trait LossModel: Send + Sync {
    /// The type of an action.
    type Action: Action;

    /// The name shown in tables.
    fn name(&self) -> &str;

    /// The name and every parameter that models of this name may differ in. Results are saved and compared under it, so a
    /// change of the expected losses must change it too.
    fn fingerprint(&self) -> String {
        self.name().to_owned()
    }

    /// The number of features of a context.
    fn context_dim(&self) -> usize;

    /// The reference measure μ.
    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, Self::Action>>;

    /// An untrained oracle for these contexts and actions.
    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, Self::Action>>, OracleSpecError>;

    /// How many features of an action an oracle sees; `None` on an interval, where it sees the action itself.
    fn action_dim(&self) -> Option<usize>;

    /// The expected loss, in [0.1, 0.9].
    fn expected(&self, x: &[f64], action: &Self::Action) -> f64;

    /// An action with the smallest expected loss.
    fn best(&self, x: &[f64]) -> Self::Action;
}

/// An environment made from a [`LossModel`].
///
/// ```
/// use egret_lab::{Environment, IntervalLossModel, Simulator};
///
/// let environment = Simulator::new(IntervalLossModel);
/// let world = environment.world(7, 100);
/// assert!(0.0 <= world.regret(3, &0.5).expect("a simulator knows its regret"));
/// ```
#[derive(Debug, Clone)]
pub struct Simulator<M> {
    model: M,
}

impl<M: LossModel> Simulator<M> {
    /// Worlds whose expected losses are those of the model.
    pub const fn new(model: M) -> Self {
        Self { model }
    }

    /// The expected losses.
    pub fn model(&self) -> &M {
        &self.model
    }
}

impl<M: LossModel> Environment<M::Action> for Simulator<M> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn fingerprint(&self) -> String {
        format!("simulator {}", self.model.fingerprint())
    }

    fn context_dim(&self) -> usize {
        self.model.context_dim()
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, M::Action>> {
        self.model.measure()
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, M::Action>>, OracleSpecError> {
        self.model.oracle(spec)
    }

    fn default_oracle(&self, seed: u64) -> OracleSpec {
        match self.model.action_dim() {
            None => OracleSpec::default_on_interval(seed),
            Some(dim) if TypeId::of::<M::Action>() == TypeId::of::<Vector>() => {
                OracleSpec::default_on_vectors(dim, seed)
            }
            Some(dim) => {
                let items = self.model.measure().catalogue().map_or(0, Catalogue::len);
                OracleSpec::default_on_features(items, dim, seed)
            }
        }
    }

    fn world(&self, seed: u64, rounds: usize) -> Box<dyn World<M::Action> + '_> {
        Box::new(SimulatedWorld {
            model: &self.model,
            rounds: (0..rounds)
                .map(|round| SimulatedRound::new(seed, round as u64, self.model.context_dim()))
                .collect(),
        })
    }
}

struct SimulatedWorld<'a, M> {
    model: &'a M,
    rounds: Vec<SimulatedRound>,
}

struct SimulatedRound {
    context: Context,
    noise: f64,
    /// The smallest expected loss, computed on first use: a catalogue is searched for it.
    least: OnceLock<f64>,
}

/// Noise lies in [−NOISE, NOISE].
const NOISE: f64 = 0.1;

impl SimulatedRound {
    fn new(seed: u64, round: u64, dim: usize) -> Self {
        let mut rng = EventRng::new(seed, round, Stream::World);
        let noise = NOISE * (2.0 * rng.unit() - 1.0);
        let x = (0..dim).map(|_| rng.unit()).collect();
        Self {
            context: Context::dense(x).expect("within (0, 1)"),
            noise,
            least: OnceLock::new(),
        }
    }

    fn x(&self) -> &[f64] {
        self.context.as_dense().expect("made dense")
    }
}

impl<M: LossModel> World<M::Action> for SimulatedWorld<'_, M> {
    fn rounds(&self) -> usize {
        self.rounds.len()
    }

    fn context(&self, round: usize) -> &Context {
        &self.rounds[round].context
    }

    fn loss(&self, round: usize, action: &M::Action) -> Loss {
        let round = &self.rounds[round];
        let loss = self.model.expected(round.x(), action) + round.noise;
        // Rounding errors may leave [0, 1].
        Loss::new(loss.clamp(0.0, 1.0)).expect("within [0, 1]")
    }

    fn regret(&self, round: usize, action: &M::Action) -> Option<f64> {
        let round = &self.rounds[round];
        let x = round.x();
        let least = (round.least).get_or_init(|| self.model.expected(x, &self.model.best(x)));
        Some(self.model.expected(x, action) - least)
    }
}

/// An untrained oracle over a space of egret's.
fn oracle_over<A: ActionKind>(
    space: impl ActionSpace,
    context_dim: usize,
    oracle: &OracleSpec,
) -> Result<Box<dyn RegressionOracle<Context, A>>, OracleSpecError> {
    let spec = ModelSpec {
        oracle: oracle.clone(),
        ..ModelSpec::new(space, context_dim)
    };
    spec.build_oracle()
}

/// 1 / (1 + e⁻ᵛ), with the same bits on every machine.
fn sigmoid(v: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-v))
}

/// Fixed parameters of a model, uniform on [−1, 1]; `model` is the seed that draws them.
fn constants<const N: usize>(model: u64) -> [f64; N] {
    let mut rng = EventRng::new(model, 0, Stream::World);
    std::array::from_fn(|_| 2.0 * rng.unit() - 1.0)
}

/// W (1, 2x − 1), where W has a row for each number of the result.
fn affine<const N: usize>(weights: &[f64], x: &[f64]) -> [f64; N] {
    let width = 1 + x.len();
    std::array::from_fn(|row| {
        let row = &weights[row * width..(row + 1) * width];
        let linear = row[1..].iter().zip(x).map(|(w, x)| w * (2.0 * x - 1.0));
        row[0] + linear.sum::<f64>()
    })
}
