use std::sync::OnceLock;

use egret::{
    Action, Context, EventRng, Item, Loss, OracleSpec, OracleSpecError, ReferenceMeasure,
    RegressionOracle, Stream, Vector,
};

use crate::simulator_box::BoxTruth;
use crate::simulator_catalogue::CatalogueTruth;
use crate::simulator_interval::{BimodalTruth, IntervalTruth};
use crate::simulator_mixed::MixedTruth;
use crate::simulator_sphere::SphereTruth;
use crate::{Environment, World};

/// What a simulator knows and a learner does not: the expected loss of each action, and the best one.
///
/// Contexts are uniform on [0, 1]ᵈ. Expected losses are in [0.1, 0.9]; to each round comes noise, uniform on
/// [−0.1, 0.1] and the same for every action, so that losses are in [0, 1] and no action's expectation is moved.
pub trait Truth: Send + Sync {
    /// What is chosen.
    type Action: Action;

    /// What tables call it.
    fn name(&self) -> &str;

    /// The name, with every number that a truth of the same name may have another of: results are saved and compared
    /// under it. A change of what is true has to change it too.
    fn fingerprint(&self) -> String {
        self.name().to_owned()
    }

    /// How many features a context has.
    fn context_dim(&self) -> usize;

    /// μ.
    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, Self::Action>>;

    /// An oracle for these contexts and actions, nothing learned.
    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, Self::Action>>, OracleSpecError>;

    /// How many numbers an oracle sees of an action; none on an interval, where it sees the action itself.
    fn action_dim(&self) -> Option<usize>;

    /// The expected loss, in [0.1, 0.9].
    fn expected(&self, x: &[f64], action: &Self::Action) -> f64;

    /// An action whose expected loss is the least.
    fn best(&self, x: &[f64]) -> Self::Action;
}

/// A problem whose truth is known, so that regret is.
///
/// ```
/// use egret_lab::{AnyEnvironment, simulator};
///
/// let AnyEnvironment::Number(environment) = simulator("interval")? else {
///     unreachable!("its actions are numbers");
/// };
/// let world = environment.world(7, 100);
/// assert!(0.0 <= world.regret(3, &0.5).expect("the truth is known"));
/// # Ok::<(), egret_lab::UnknownSimulator>(())
/// ```
#[derive(Debug, Clone)]
pub struct Simulator<T> {
    truth: T,
}

impl<T: Truth> Simulator<T> {
    /// Worlds in which this is true.
    pub fn new(truth: T) -> Self {
        Self { truth }
    }

    /// What is true.
    pub fn truth(&self) -> &T {
        &self.truth
    }
}

impl<T: Truth> Environment<T::Action> for Simulator<T> {
    fn name(&self) -> &str {
        self.truth.name()
    }

    fn fingerprint(&self) -> String {
        format!("simulator {}", self.truth.fingerprint())
    }

    fn context_dim(&self) -> usize {
        self.truth.context_dim()
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, T::Action>> {
        self.truth.measure()
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, T::Action>>, OracleSpecError> {
        self.truth.oracle(spec)
    }

    fn untuned(&self, seed: u64) -> OracleSpec {
        match self.truth.action_dim() {
            None => OracleSpec::untuned(seed),
            Some(dim) => OracleSpec::untuned_features(self.context_dim(), dim, seed),
        }
    }

    fn world(&self, seed: u64, rounds: usize) -> Box<dyn World<T::Action> + '_> {
        Box::new(SimulatedWorld {
            truth: &self.truth,
            rounds: (0..rounds)
                .map(|round| Round::new(seed, round as u64, self.truth.context_dim()))
                .collect(),
        })
    }
}

struct SimulatedWorld<'a, T> {
    truth: &'a T,
    rounds: Vec<Round>,
}

struct Round {
    context: Context,
    noise: f64,
    /// The least expected loss, once it was asked for: a catalogue is searched for it.
    least: OnceLock<f64>,
}

/// The most that noise adds or takes.
const NOISE: f64 = 0.1;

impl Round {
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

impl<T: Truth> World<T::Action> for SimulatedWorld<'_, T> {
    fn rounds(&self) -> usize {
        self.rounds.len()
    }

    fn context(&self, round: usize) -> &Context {
        &self.rounds[round].context
    }

    fn loss(&self, round: usize, action: &T::Action) -> Loss {
        let round = &self.rounds[round];
        let loss = self.truth.expected(round.x(), action) + round.noise;
        // Rounding may lead beyond the ends.
        Loss::new(loss.clamp(0.0, 1.0)).expect("within [0, 1]")
    }

    fn regret(&self, round: usize, action: &T::Action) -> Option<f64> {
        let round = &self.rounds[round];
        let x = round.x();
        let least = (round.least).get_or_init(|| self.truth.expected(x, &self.truth.best(x)));
        Some(self.truth.expected(x, action) - least)
    }
}

/// An environment over one of the kinds of action.
pub enum AnyEnvironment {
    /// Over numbers.
    Number(Box<dyn Environment<f64>>),
    /// Over vectors.
    Vector(Box<dyn Environment<Vector>>),
    /// Over items of a catalogue.
    Item(Box<dyn Environment<Item>>),
    /// Over pairs of an item and a number.
    Mixed(Box<dyn Environment<(Item, f64)>>),
}

impl AnyEnvironment {
    /// What tables call it.
    pub fn name(&self) -> &str {
        match self {
            Self::Number(environment) => environment.name(),
            Self::Vector(environment) => environment.name(),
            Self::Item(environment) => environment.name(),
            Self::Mixed(environment) => environment.name(),
        }
    }
}

/// The names that [`simulator`] knows.
pub const SIMULATORS: [&str; 6] = [
    "interval",
    "interval_bimodal",
    "box",
    "sphere",
    "catalogue",
    "mixed",
];

/// The simulator of this name.
///
/// | name               | actions              | expected loss                                     | an oracle that fits |
/// |--------------------|----------------------|---------------------------------------------------|---------------------|
/// | `interval`         | \[0, 1\]             | the distance from a point that moves with x       | argmin, Fourier     |
/// | `interval_bimodal` | \[0, 1\]             | two valleys; x says where, and which is deeper    | Fourier             |
/// | `box`              | \[0, 1\]⁸            | the distance from a point that moves with x       | linear with squares |
/// | `sphere`           | unit vectors of ℝ⁸   | the angle to a direction that turns with x        | linear              |
/// | `catalogue`        | 100,000 items        | a score bilinear in x and the item's embedding    | linear              |
/// | `mixed`            | one of 5 kinds and a number | each kind has a valley of its own          | linear              |
pub fn simulator(name: &str) -> Result<AnyEnvironment, UnknownSimulator> {
    Ok(match name {
        "interval" => AnyEnvironment::Number(Box::new(Simulator::new(IntervalTruth))),
        "interval_bimodal" => AnyEnvironment::Number(Box::new(Simulator::new(BimodalTruth))),
        "box" => AnyEnvironment::Vector(Box::new(Simulator::new(BoxTruth::new()))),
        "sphere" => AnyEnvironment::Vector(Box::new(Simulator::new(SphereTruth::new()))),
        "catalogue" => AnyEnvironment::Item(Box::new(Simulator::new(CatalogueTruth::new(100_000)))),
        "mixed" => AnyEnvironment::Mixed(Box::new(Simulator::new(MixedTruth))),
        _ => {
            return Err(UnknownSimulator {
                name: name.to_owned(),
            });
        }
    })
}

/// No simulator is called so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the simulator {name:?} is not known, expected {}", SIMULATORS.join(", "))]
pub struct UnknownSimulator {
    /// What was asked for.
    pub name: String,
}

/// 1 / (1 + e⁻ᵛ), with the same bits everywhere.
pub(crate) fn sigmoid(v: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-v))
}

/// So many numbers, uniform on [−1, 1], that are part of what is true.
pub(crate) fn constants<const N: usize>(truth: u64) -> [f64; N] {
    let mut rng = EventRng::new(truth, 0, Stream::World);
    std::array::from_fn(|_| 2.0 * rng.unit() - 1.0)
}

/// W (1, 2x − 1), where W has a row for each number of the result.
pub(crate) fn affine<const N: usize>(weights: &[f64], x: &[f64]) -> [f64; N] {
    let width = 1 + x.len();
    std::array::from_fn(|row| {
        let row = &weights[row * width..(row + 1) * width];
        let linear = row[1..].iter().zip(x).map(|(w, x)| w * (2.0 * x - 1.0));
        row[0] + linear.sum::<f64>()
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use egret::{Batch, Explorer, Learner, Settings};

    use super::*;

    /// What holds of every truth: bounds, the same world for the same seed, and no action of `tries` from μ, nor of
    /// those `near` the best, that is better than the best.
    pub(crate) fn check_truth<T: Truth>(
        truth: T,
        tries: usize,
        near: impl Fn(&T::Action, &mut EventRng) -> T::Action,
    ) {
        let simulator = Simulator::new(truth);
        let (world, again) = (simulator.world(3, 20), simulator.world(3, 20));
        let other = simulator.world(4, 20);
        let measure = simulator.measure();
        for round in 0..world.rounds() {
            let x = world.context(round);
            assert_eq!(x, again.context(round));
            assert_ne!(x, other.context(round));
            let mut rng = EventRng::new(9, round as u64, Stream::Action);
            let mut actions = <T::Action as Action>::Batch::default();
            measure.sample(x, tries, &mut rng, &mut actions);
            let best = (simulator.truth).best(x.as_dense().expect("dense"));
            assert_eq!(world.regret(round, &best), Some(0.0));
            for place in 0..tries {
                let action = if place % 2 == 0 {
                    actions.get(place)
                } else {
                    near(&best, &mut rng)
                };
                let regret = world.regret(round, &action).expect("known");
                assert!(
                    -1e-12 <= regret,
                    "{action:?} is better than {best:?} by {regret}"
                );
                let loss = world.loss(round, &action);
                assert_eq!(loss, again.loss(round, &action));
                // Noise is of the round: differences of losses are those of expectations.
                let gap = loss.get() - world.loss(round, &best).get();
                assert!((gap - regret).abs() < 1e-9, "{gap} {regret}");
                let expected = (simulator.truth).expected(x.as_dense().expect("dense"), &action);
                assert!(
                    (0.1 - 1e-12..=0.9 + 1e-12).contains(&expected),
                    "{expected}"
                );
            }
        }
    }

    /// The default's oracle is that of `model`, the learner without tuning for these actions with seed 7: a state holds
    /// parameters, settings and how actions are scaled.
    pub(crate) fn check_untuned<T: Truth>(truth: T, model: &Learner<Context, T::Action>) {
        let simulator = Simulator::new(truth);
        let oracle = simulator.oracle(&simulator.untuned(7)).expect("it fits");
        assert!(oracle.save() == model.oracle().save(), "another oracle");
    }

    /// The mean regret of the last half of so many rounds, of a learner with this oracle and of uniform play.
    pub(crate) fn regrets<T: Truth>(truth: T, oracle: &OracleSpec, rounds: usize) -> (f64, f64) {
        let simulator = Simulator::new(truth);
        let play = |explorer: Explorer| {
            let settings = Settings {
                explorer,
                // A grid up to 1,024 takes seconds where draws are dear.
                taus: vec![32.0],
                ..Settings::paper()
            };
            let oracle = simulator.oracle(oracle).expect("it fits");
            let mut learner =
                Learner::new(simulator.measure(), oracle, settings).expect("settings");
            let world = simulator.world(1, rounds);
            let mut sum = 0.0;
            for round in 0..rounds {
                let x = world.context(round);
                let decision = learner.decide(round as u64, x).expect("a decision");
                if rounds / 2 <= round {
                    sum += world.regret(round, &decision.action).expect("known");
                }
                let loss = world.loss(round, &decision.action);
                learner.learn(&decision.observed(x, loss)).expect("learned");
            }
            sum / (rounds - rounds / 2) as f64
        };
        (play(Settings::paper().explorer), play(Explorer::Uniform))
    }

    #[test]
    fn every_name_makes_its_simulator_and_no_other_does() {
        for name in SIMULATORS {
            let environment = simulator(name).expect("known");
            assert_eq!(environment.name(), name);
        }
        let error = simulator("moon").err().expect("unknown");
        assert_eq!(
            error.to_string(),
            "the simulator \"moon\" is not known, expected interval, interval_bimodal, box, sphere, catalogue, mixed"
        );
    }
}
