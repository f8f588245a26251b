use egret::{
    Context, EventRng, Interval, ModelSpec, OracleSpec, OracleSpecError, ReferenceMeasure,
    RegressionOracle, Stream,
};

use crate::environment::{Environment, Feedback, World};
use crate::worlds::mean_loss::MeanLoss;
use crate::worlds::noisy_rounds::{Noise, NoisyRound, NoisyRounds};
use crate::worlds::{KnownRounds, KnownWorld};

/// A problem on an interval whose mean losses are known.
///
/// Contexts are uniform on [0, 1]ᵈ. Each round draws one chance, the same for every action, and the observed loss of an action
/// has the mean f*(x, a) over it.
#[derive(Debug, Clone, Copy)]
pub struct NoisyWorld {
    /// The name shown in tables.
    pub name: &'static str,
    /// The mean loss in words and a formula, where m = .2 + .6·x₀.
    pub about: &'static str,
    features: usize,
    actions: (f64, f64),
    noise: Noise,
    feedback: Feedback,
    mean_loss: fn(x: &[f64], half: Half) -> MeanLoss,
}

/// The half of a run that a round is in: some worlds change in the middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    First,
    Second,
}

const AT_ONCE: Feedback = Feedback { batch: 1, delay: 0 };

/// m = .2 + .6·x₀.
fn m(x: &[f64]) -> f64 {
    0.2 + 0.6 * x[0]
}

/// The highest price.
const HIGHEST: f64 = 50.0;

/// Half of those who buy at all pay 15 + 20·x₀.
fn price(x: &[f64], buyers: f64) -> MeanLoss {
    MeanLoss::Price {
        worth: 15.0 + 20.0 * x[0],
        buyers,
        scale: 3.0,
        highest: HIGHEST,
    }
}

/// A single valley.
fn valley(top: f64, centre: f64, width: f64, depth: f64) -> MeanLoss {
    MeanLoss::Valleys {
        top,
        valleys: [(centre, width, depth), (centre, width, 0.0)],
    }
}

/// Outcomes of 0 or 1 with the mean |a − m|, on three features. Other worlds differ from it in what they name.
const DISTANCE: NoisyWorld = NoisyWorld {
    name: "distance",
    about: "P(loss) = |a − m|",
    features: 3,
    actions: (0.0, 1.0),
    noise: Noise::ZeroOne,
    feedback: AT_ONCE,
    mean_loss: |x, _| MeanLoss::distance(m(x)),
};

/// All worlds. The first seven are those of an independent review.
pub const NOISY_WORLDS: [NoisyWorld; 14] = [
    NoisyWorld {
        name: "price",
        about: "a price in [5, 50], P(sale) = σ((15 + 20·x₀ − a)/3), loss 1 − a/50 or 1",
        actions: (5.0, HIGHEST),
        noise: Noise::Sale,
        mean_loss: |x, _| price(x, 1.0),
        ..DISTANCE
    },
    NoisyWorld {
        name: "price_rare",
        about: "the same, and at most 10% buy",
        actions: (5.0, HIGHEST),
        noise: Noise::Sale,
        mean_loss: |x, _| price(x, 0.1),
        ..DISTANCE
    },
    NoisyWorld {
        name: "click",
        about: "P(click) = .1 + .3·exp(−((a − m)/.1)²), loss 1 without a click",
        mean_loss: |x, _| valley(0.9, m(x), 0.1, 0.3),
        ..DISTANCE
    },
    NoisyWorld {
        name: "click_rare",
        about: "P(click) = .01 + .03·exp(−((a − m)/.15)²), loss 1 without a click",
        mean_loss: |x, _| valley(0.99, m(x), 0.15, 0.03),
        ..DISTANCE
    },
    NoisyWorld {
        name: "half",
        about: "P(loss) = .5 + .5·min(1, 2·|a − m|)",
        mean_loss: |x, _| MeanLoss::Distance {
            centre: m(x),
            bottom: 0.5,
            slope: 1.0,
            most: 0.5,
        },
        ..DISTANCE
    },
    DISTANCE,
    NoisyWorld {
        name: "valleys",
        about: "P(loss) = .8 − .4·max(exp(−((a − .15)/.05)²), 1.25·x₀·exp(−((a − .8)/.08)²))",
        mean_loss: |x, _| MeanLoss::Valleys {
            top: 0.8,
            valleys: [(0.15, 0.05, 0.4), (0.8, 0.08, 0.5 * x[0])],
        },
        ..DISTANCE
    },
    NoisyWorld {
        name: "five_features",
        about: "P(loss) = E|y − a|, y uniform within .2 of .2 + .6·σ(4(x₀ − x₁) + 2(x₂ − x₃) + x₄ − ½)",
        features: 5,
        mean_loss: |x, _| {
            let v = 4.0 * (x[0] - x[1]) + 2.0 * (x[2] - x[3]) + x[4] - 0.5;
            MeanLoss::Label {
                centre: 0.2 + 0.6 / (1.0 + libm::exp(-v)),
                width: 0.2,
            }
        },
        ..DISTANCE
    },
    NoisyWorld {
        name: "small_range",
        about: "loss .5 + .01·|a − m|, without noise",
        noise: Noise::Nothing,
        mean_loss: |x, _| MeanLoss::Distance {
            centre: m(x),
            bottom: 0.5,
            slope: 0.01,
            most: 0.01,
        },
        ..DISTANCE
    },
    NoisyWorld {
        name: "no_noise",
        about: "loss |a − m|, without noise",
        noise: Noise::Nothing,
        ..DISTANCE
    },
    NoisyWorld {
        name: "opening",
        about: "P(loss) = .7 − .3·exp(−((a − .1 − .3·x₀)/.1)²); halfway a valley of depth .5 opens at .6 + .3·x₀",
        mean_loss: |x, half| MeanLoss::Valleys {
            top: 0.7,
            valleys: [
                (0.1 + 0.3 * x[0], 0.1, 0.3),
                (
                    0.6 + 0.3 * x[0],
                    0.1,
                    if half == Half::First { 0.0 } else { 0.5 },
                ),
            ],
        },
        ..DISTANCE
    },
    NoisyWorld {
        name: "shift",
        about: "P(loss) = |a − m|; from halfway on |a − (1 − m)|",
        mean_loss: |x, half| match half {
            Half::First => MeanLoss::distance(m(x)),
            Half::Second => MeanLoss::distance(1.0 - m(x)),
        },
        ..DISTANCE
    },
    NoisyWorld {
        name: "late",
        about: "P(loss) = |a − m|, and outcomes come 500 decisions late",
        feedback: Feedback {
            batch: 1,
            delay: 500,
        },
        ..DISTANCE
    },
    NoisyWorld {
        name: "batches",
        about: "P(loss) = |a − m|, and outcomes come in batches of 500 decisions",
        feedback: Feedback {
            batch: 500,
            delay: 0,
        },
        ..DISTANCE
    },
];

impl NoisyWorld {
    /// The world of this name.
    pub fn named(name: &str) -> Option<Self> {
        NOISY_WORLDS.into_iter().find(|world| world.name == name)
    }

    /// Its actions.
    pub fn interval(&self) -> Interval {
        Interval::new(self.actions.0, self.actions.1).expect("low < high")
    }

    /// The rounds of a seed. Worlds that change do so in the middle.
    pub fn known_rounds(&self, seed: u64, rounds: usize) -> NoisyRounds {
        let round = |round: usize| {
            let mut rng = EventRng::new(seed, round as u64, Stream::World);
            let chance = rng.unit();
            let x: Vec<f64> = (0..self.features).map(|_| rng.unit()).collect();
            let half = if round < rounds / 2 {
                Half::First
            } else {
                Half::Second
            };
            NoisyRound {
                mean_loss: (self.mean_loss)(&x, half),
                context: Context::dense(x).expect("within (0, 1)"),
                chance,
            }
        };
        NoisyRounds::new(self.actions, self.noise, (0..rounds).map(round).collect())
    }
}

impl KnownWorld<f64> for NoisyWorld {
    fn about(&self) -> String {
        self.about.to_owned()
    }

    fn truth(&self, seed: u64, rounds: usize) -> Box<dyn KnownRounds<f64> + '_> {
        Box::new(self.known_rounds(seed, rounds))
    }
}

impl Environment<f64> for NoisyWorld {
    fn name(&self) -> &str {
        self.name
    }

    fn fingerprint(&self) -> String {
        format!("noisy world {}: {}", self.name, self.about)
    }

    fn context_dim(&self) -> usize {
        self.features
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, f64>> {
        Box::new(self.interval())
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, f64>>, OracleSpecError> {
        let spec = ModelSpec {
            oracle: spec.clone(),
            ..ModelSpec::new(self.interval(), self.features)
        };
        spec.build_oracle()
    }

    fn default_oracle(&self, seed: u64) -> OracleSpec {
        OracleSpec::default_on_interval(seed)
    }

    fn world(&self, seed: u64, rounds: usize) -> Box<dyn World<f64> + '_> {
        Box::new(self.known_rounds(seed, rounds))
    }

    fn feedback(&self) -> Feedback {
        self.feedback
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: usize = 1_000;

    fn grid(world: &NoisyWorld) -> impl Iterator<Item = f64> + use<> {
        let (low, high) = world.actions;
        (0..=GRID).map(move |n| low + (high - low) * n as f64 / GRID as f64)
    }

    #[test]
    fn observed_losses_have_their_mean() {
        // Both halves, 20 actions each. By Hoeffding's inequality the mean of n losses in [0, 1] is further than d from its
        // expectation with probability at most 2·exp(−2nd²): 4e-9 at each of 14·2·20 places.
        let n = 20_000;
        let allowed = (10.0 / n as f64).sqrt();
        for world in NOISY_WORLDS {
            let rounds = world.known_rounds(5, 2 * n);
            for half in 0..2 {
                for action in grid(&world).step_by(GRID / 20) {
                    let off: f64 = (half * n..(half + 1) * n)
                        .map(|round| {
                            rounds.loss(round, &action).get() - rounds.mean_loss(round, action)
                        })
                        .sum();
                    let off = off / n as f64;
                    assert!(off.abs() <= allowed, "{}, {action}: {off}", world.name);
                }
            }
        }
    }

    #[test]
    fn rare_outcomes_have_their_mean() {
        // Hoeffding's bound is as large as a rare click is likely. A loss in [0, 1] of mean f has a variance of at most f(1 − f):
        // seven standard errors, an alarm once in 10¹¹.
        let n = 400_000;
        for name in ["price_rare", "click_rare"] {
            let world = NoisyWorld::named(name).expect("listed");
            let rounds = world.known_rounds(6, n);
            let (mut off, mut variance) = (0.0, 0.0);
            for round in 0..n {
                let action = rounds.best_action(round);
                let mean = rounds.mean_loss(round, action);
                off += rounds.loss(round, &action).get() - mean;
                variance += mean * (1.0 - mean);
            }
            assert!(off.abs() < 7.0 * variance.sqrt(), "{name}: {off}");
            // A sixth more or fewer clicks or sales would be seen.
            let earned: f64 = (0..n).map(|round| 1.0 - rounds.best(round)).sum();
            assert!(7.0 * variance.sqrt() < earned / 6.0);
        }
    }

    #[test]
    fn no_action_is_better_than_the_best_and_uniform_is_the_mean_over_actions() {
        for world in NOISY_WORLDS {
            let rounds = world.known_rounds(3, 200);
            for round in 0..rounds.rounds() {
                let best = rounds.best_action(round);
                let (low, high) = world.actions;
                assert!(
                    (low..=high).contains(&best),
                    "{}: {best} is no action",
                    world.name
                );
                let losses: Vec<f64> = grid(&world)
                    .map(|action| rounds.mean_loss(round, action))
                    .collect();
                let least = losses.iter().copied().fold(1.0, f64::min);
                assert!(rounds.best(round) <= least, "{}", world.name);
                assert_eq!(rounds.regret(round, &best), Some(0.0));
                // By the trapezoidal rule, as the tests' own quadrature.
                let ends = (losses[0] + losses[GRID]) / 2.0;
                let mean = (losses.iter().sum::<f64>() - ends) / GRID as f64;
                let uniform = rounds.uniform(round);
                assert!(
                    (uniform - mean).abs() < 1e-5,
                    "{}: {uniform} {mean}",
                    world.name
                );
                assert!(rounds.best(round) < uniform);
            }
        }
    }

    #[test]
    fn the_worlds_are_those_of_the_table() {
        // By hand: x₀ = ½, m = ½.
        let x = [0.5; 5];
        let at = |name: &str, half, action: f64| {
            let world = NoisyWorld::named(name).expect("listed");
            (world.mean_loss)(&x, half).at(action)
        };
        let gauss = |z: f64| libm::exp(-z * z);
        let expected = [
            ("price", 25.0, 1.0 - 0.5 * 0.5),
            ("price_rare", 25.0, 1.0 - 0.05 * 0.5),
            ("click", 0.6, 0.9 - 0.3 * gauss(1.0)),
            ("click_rare", 0.65, 0.99 - 0.03 * gauss(1.0)),
            ("half", 0.3, 0.7),
            ("half", 0.0, 1.0),
            ("distance", 0.1, 0.4),
            ("valleys", 0.2, 0.8 - 0.4 * gauss(1.0)),
            ("valleys", 0.8, 0.8 - 0.4 * 0.625),
            ("five_features", 0.5, 0.1),
            ("five_features", 0.9, 0.4),
            ("small_range", 0.0, 0.505),
            ("no_noise", 0.2, 0.3),
            ("opening", 0.75, 0.7),
            ("shift", 0.5, 0.0),
        ];
        for (name, action, loss) in expected {
            let found = at(name, Half::First, action);
            assert!((found - loss).abs() < 1e-11, "{name} at {action}: {found}");
        }
        assert!((at("opening", Half::Second, 0.75) - 0.2).abs() < 1e-11);
        let shift = NoisyWorld::named("shift").expect("listed");
        let second = (shift.mean_loss)(&[1.0, 0.0, 0.0], Half::Second);
        assert!(second.at(0.2) < 1e-12);
    }

    #[test]
    fn names_are_unique_and_a_seed_gives_the_same_rounds() {
        for (place, world) in NOISY_WORLDS.iter().enumerate() {
            let first = NOISY_WORLDS.iter().position(|of| of.name == world.name);
            assert_eq!(first, Some(place));
            let (one, same, other) = (
                world.known_rounds(1, 20),
                world.known_rounds(1, 20),
                world.known_rounds(2, 20),
            );
            for round in 0..20 {
                assert_eq!(one.context(round), same.context(round));
                assert_ne!(one.context(round), other.context(round));
                for action in grid(world).step_by(100) {
                    assert_eq!(one.loss(round, &action), same.loss(round, &action));
                }
            }
        }
    }
}
