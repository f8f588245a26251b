use egret::{
    Context, EventRng, Loss, ModelSpec, OracleSpec, OracleSpecError, ReferenceMeasure,
    RegressionOracle, Stream, UniformBox, Vector,
};

use crate::environment::{Environment, World};
use crate::worlds::{KnownRounds, KnownWorld};

/// Knobs in [−1, 1] whose mean losses are known; none is above 1.
///
/// Contexts are uniform on [0, 1]², and move the best place of each knob i: mᵢ = .4·(u(2x₀ − 1) + v(2x₁ − 1)) + .3·u, where a seed
/// draws u and v of each knob from [−½, ½]. Without a context mᵢ = 1.2·u. In worlds whose best knobs are in a corner .6 with the sign of
/// u takes the place of .3·u, in worlds of weak signals 1.2·u; in worlds that move, what moves with time.
#[derive(Debug, Clone, Copy)]
pub struct BoxWorld {
    /// The name shown in tables.
    pub name: &'static str,
    /// The mean loss in words and a formula.
    pub about: &'static str,
    knobs: usize,
    features: usize,
    /// Where m is in the middle of all contexts, as a function of u and of the share of the run that is over.
    centre: fn(f64, f64) -> f64,
    outcome: Outcome,
    mean: fn(&Middle<'_>, &[f64]) -> f64,
    /// The least mean loss, by the context and by time.
    least: fn(&Middle<'_>) -> f64,
}

/// How an observed loss comes from its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The mean and a number from [−.1, .1], cut to [0, 1].
    Noisy,
    /// 1 with the mean as its probability, else 0.
    ZeroOne,
}

/// The bowl of six knobs. Other worlds differ from it in what they name.
const BOWL: BoxWorld = BoxWorld {
    name: "bowl_6",
    about: "6 knobs, the mean of (aᵢ − mᵢ)², noise ±.1",
    knobs: 6,
    features: 2,
    centre: |u, _| 0.3 * u,
    outcome: Outcome::Noisy,
    mean: |middle, a| middle.distance(a),
    least: |_| 0.0,
};

const VALLEY: BoxWorld = BoxWorld {
    name: "valley_6",
    about: "6 knobs in pairs, the mean of .9·(u + v)² + .04·(u − v)², u and v the distances of a pair from its m, noise ±.1",
    mean: valley,
    ..BOWL
};

const BASINS: BoxWorld = BoxWorld {
    name: "basins_6",
    about: "6 knobs, the less of .05 + .1·x₀ and .15 − .1·x₀ plus 1.25 times the mean squared distance from .5 + .3·m and from −.5 + .3·m, \
            noise ±.1",
    mean: basins,
    least: |middle| (0.05 + 0.1 * middle.x[0]).min(0.15 - 0.1 * middle.x[0]),
    ..BOWL
};

const CLIFF: BoxWorld = BoxWorld {
    name: "cliff_6",
    about: "6 knobs, s = Σ(aᵢ − mᵢ)/√6: the mean of (aᵢ − mᵢ)² less .1·s, and .5 more where s is above .15, noise ±.1",
    mean: cliff,
    ..BOWL
};

const ZERO_ONE: BoxWorld = BoxWorld {
    name: "bowl_zero_one_6",
    about: "6 knobs, P(loss) = the mean of (aᵢ − mᵢ)²",
    outcome: Outcome::ZeroOne,
    ..BOWL
};

/// The best place of each knob is far from the middle of its range, so that whoever keeps to the middle loses.
const CORNER: BoxWorld = BoxWorld {
    name: "corner_bowl_20",
    about: "as bowl_20, with .6 and the sign of u in place of .3·u: the best knobs are in a corner",
    knobs: 20,
    centre: |u, _| 0.6 * u.signum(),
    ..BOWL
};

/// Even the best knobs lose something: losses are not cut at 0, and those of 0 and 1 vary at their best too.
const FLOOR: BoxWorld = BoxWorld {
    name: "floor_valley_20",
    about: "as valley_20, with .2 more everywhere",
    mean: |middle, a| FLOOR_LOSS + valley(middle, a),
    least: |_| FLOOR_LOSS,
    knobs: 20,
    ..VALLEY
};

/// Conversions: nearly all losses are 1, whatever is played.
const RARE: BoxWorld = BoxWorld {
    name: "rare_6",
    about: "as bowl_6, with 1.2·u in place of .3·u, and P(loss) = .95 and .05 times the mean of (aᵢ − mᵢ)²",
    centre: |u, _| 1.2 * u,
    outcome: Outcome::ZeroOne,
    mean: |middle, a| 0.95 + 0.05 * middle.distance(a),
    least: |_| 0.95,
    ..BOWL
};

/// Halfway the best knobs jump to the other side.
const SHIFT: BoxWorld = BoxWorld {
    name: "shift_6",
    about: "as bowl_6, with 1.2·u in place of .3·u, and from halfway on −1.2·u",
    centre: |u, time| if time < 0.5 { 1.2 * u } else { -1.2 * u },
    ..BOWL
};

/// The best knobs move all the time.
const DRIFT: BoxWorld = BoxWorld {
    name: "drift_6",
    about: "as bowl_6, with .6·cos(2π(u + t)) in place of .3·u, t the share of the run that is over",
    centre: |u, time| 0.6 * libm::cos(std::f64::consts::TAU * (u + time)),
    ..BOWL
};

/// What every action loses rises and falls; the best knobs stay.
const TIDE: BoxWorld = BoxWorld {
    name: "tide_6",
    about: "as bowl_6, with .25 + .2·sin(20πt) more everywhere, t the share of the run that is over: the best knobs stay",
    mean: |middle, a| tide(middle.time) + middle.distance(a),
    least: |middle| tide(middle.time),
    ..BOWL
};

/// What the best knobs of worlds with a tide lose.
fn tide(time: f64) -> f64 {
    0.25 + 0.2 * libm::sin(10.0 * std::f64::consts::TAU * time)
}

/// What the best knobs of worlds with a floor lose.
const FLOOR_LOSS: f64 = 0.2;

/// All worlds on boxes.
pub const BOX_WORLDS: [BoxWorld; 34] = [
    BoxWorld {
        name: "bowl_2",
        about: "2 knobs, the mean of (aᵢ − mᵢ)², noise ±.1",
        knobs: 2,
        ..BOWL
    },
    BOWL,
    BoxWorld {
        name: "bowl_20",
        about: "20 knobs, the mean of (aᵢ − mᵢ)², noise ±.1",
        knobs: 20,
        ..BOWL
    },
    BoxWorld {
        name: "bowl_100",
        about: "100 knobs, the mean of (aᵢ − mᵢ)², noise ±.1",
        knobs: 100,
        ..BOWL
    },
    BoxWorld {
        name: "bowl_zero_one_2",
        about: "2 knobs, P(loss) = the mean of (aᵢ − mᵢ)²",
        knobs: 2,
        ..ZERO_ONE
    },
    ZERO_ONE,
    BoxWorld {
        name: "bowl_zero_one_20",
        about: "20 knobs, P(loss) = the mean of (aᵢ − mᵢ)²",
        knobs: 20,
        ..ZERO_ONE
    },
    BoxWorld {
        name: "five_of_20",
        about: "20 knobs, the mean of (aᵢ − mᵢ)² of the first five, noise ±.1",
        knobs: 20,
        mean: |middle, a| middle.distance(&a[..5]),
        ..BOWL
    },
    VALLEY,
    BoxWorld {
        name: "valley_20",
        about: "as valley_6, with 20 knobs",
        knobs: 20,
        ..VALLEY
    },
    BoxWorld {
        name: "basins_2",
        about: "as basins_6, with 2 knobs",
        knobs: 2,
        ..BASINS
    },
    BASINS,
    BoxWorld {
        name: "basins_20",
        about: "as basins_6, with 20 knobs",
        knobs: 20,
        ..BASINS
    },
    CLIFF,
    BoxWorld {
        name: "cliff_20",
        about: "as cliff_6, with 20 knobs and √20",
        knobs: 20,
        ..CLIFF
    },
    CORNER,
    BoxWorld {
        name: "corner_zero_one_20",
        about: "as corner_bowl_20, with P(loss) = the mean of (aᵢ − mᵢ)²",
        outcome: Outcome::ZeroOne,
        ..CORNER
    },
    BoxWorld {
        name: "corner_valley_6",
        about: "as valley_6, with m of corner_bowl_20",
        knobs: 6,
        mean: valley,
        ..CORNER
    },
    BoxWorld {
        name: "corner_valley_20",
        about: "as valley_20, with m of corner_bowl_20",
        mean: valley,
        ..CORNER
    },
    FLOOR,
    BoxWorld {
        name: "floor_zero_one_20",
        about: "as floor_valley_20, with P(loss) = .2 more than the mean of (aᵢ − mᵢ)²",
        outcome: Outcome::ZeroOne,
        mean: |middle, a| FLOOR_LOSS + middle.distance(a),
        ..FLOOR
    },
    RARE,
    BoxWorld {
        name: "weak_zero_one_20",
        about: "20 knobs, as rare_6, with P(loss) = .4 and .1 times the mean of (aᵢ − mᵢ)²",
        knobs: 20,
        mean: |middle, a| 0.4 + 0.1 * middle.distance(a),
        least: |_| 0.4,
        ..RARE
    },
    BoxWorld {
        name: "small_range_6",
        about: "as rare_6, with .5 and .02 times the mean of (aᵢ − mᵢ)², noise ±.1",
        outcome: Outcome::Noisy,
        mean: |middle, a| 0.5 + 0.02 * middle.distance(a),
        least: |_| 0.5,
        ..RARE
    },
    SHIFT,
    BoxWorld {
        name: "shift_20",
        about: "as shift_6, with 20 knobs",
        knobs: 20,
        ..SHIFT
    },
    BoxWorld {
        name: "shift_zero_one_6",
        about: "as shift_6, with P(loss) = the mean of (aᵢ − mᵢ)²",
        outcome: Outcome::ZeroOne,
        ..SHIFT
    },
    DRIFT,
    BoxWorld {
        name: "drift_20",
        about: "as drift_6, with 20 knobs",
        knobs: 20,
        ..DRIFT
    },
    BoxWorld {
        name: "drift_zero_one_6",
        about: "as drift_6, with P(loss) = the mean of (aᵢ − mᵢ)²",
        outcome: Outcome::ZeroOne,
        ..DRIFT
    },
    TIDE,
    BoxWorld {
        name: "tide_20",
        about: "as tide_6, with 20 knobs",
        knobs: 20,
        ..TIDE
    },
    BoxWorld {
        name: "tide_zero_one_6",
        about: "as tide_6, with P(loss) in place of the mean",
        outcome: Outcome::ZeroOne,
        ..TIDE
    },
    BoxWorld {
        name: "tuning_6",
        about: "as bowl_6, without a context: m stays where it is",
        features: 0,
        centre: |u, _| 1.2 * u,
        ..BOWL
    },
];

/// Where each knob is best for a context.
struct Middle<'a> {
    x: &'a [f64],
    directions: &'a [[f64; 2]],
    centre: fn(f64, f64) -> f64,
    /// The share of the run that is over.
    time: f64,
}

impl Middle<'_> {
    fn of(&self, knob: usize) -> f64 {
        let directions = self.directions[knob];
        let moved = directions.iter().zip(self.x);
        let moved: f64 = moved.map(|(of, x)| of * (2.0 * x - 1.0)).sum();
        0.4 * moved + (self.centre)(directions[0], self.time)
    }

    /// The mean of squared distances of the first knobs, as many as are given.
    fn distance(&self, knobs: &[f64]) -> f64 {
        let squares = (0..)
            .zip(knobs)
            .map(|(knob, a)| (a - self.of(knob)).powi(2));
        squares.sum::<f64>() / knobs.len() as f64
    }
}

/// Steep along the sum of two knobs, shallow along their difference.
fn valley(middle: &Middle<'_>, a: &[f64]) -> f64 {
    let pairs = a.chunks_exact(2).enumerate().map(|(pair, a)| {
        let (u, v) = (a[0] - middle.of(2 * pair), a[1] - middle.of(2 * pair + 1));
        0.45 * (u + v).powi(2) + 0.02 * (u - v).powi(2)
    });
    pairs.sum::<f64>() * 2.0 / a.len() as f64
}

/// The context decides which of two basins is deeper.
fn basins(middle: &Middle<'_>, a: &[f64]) -> f64 {
    let basin = |centre: f64, lift: f64| {
        let squares = (0..)
            .zip(a)
            .map(|(knob, a)| (a - centre - 0.3 * middle.of(knob)).powi(2));
        lift + squares.sum::<f64>() / a.len() as f64 / 0.8
    };
    let x = middle.x[0];
    basin(0.5, 0.05 + 0.1 * x)
        .min(basin(-0.5, 0.15 - 0.1 * x))
        .min(1.0)
}

/// The best knobs are near a limit beyond which all is lost.
fn cliff(middle: &Middle<'_>, a: &[f64]) -> f64 {
    let excess = (0..).zip(a).map(|(knob, a)| a - middle.of(knob));
    let load = excess.sum::<f64>() / (a.len() as f64).sqrt();
    let bowl = middle.distance(a);
    if 0.15 < load {
        (bowl + 0.5).min(1.0)
    } else {
        (bowl - 0.1 * load.max(-1.0)).clamp(0.0, 1.0)
    }
}

impl BoxWorld {
    /// The world of this name.
    pub fn named(name: &str) -> Option<Self> {
        BOX_WORLDS.into_iter().find(|world| world.name == name)
    }

    fn space(&self) -> UniformBox {
        UniformBox::new(&vec![(-1.0, 1.0); self.knobs]).expect("−1 < 1")
    }

    fn rounds(&self, seed: u64, rounds: usize) -> BoxRounds<'_> {
        // Rounds take the events from 1 on.
        let mut rng = EventRng::new(seed, 0, Stream::World);
        let directions = (0..self.knobs).map(|_| [rng.unit() - 0.5, rng.unit() - 0.5]);
        BoxRounds {
            world: self,
            directions: directions.collect(),
            rounds: (0..rounds)
                .map(|round| {
                    let mut rng = EventRng::new(seed, 1 + round as u64, Stream::World);
                    let x = (0..self.features).map(|_| rng.unit()).collect();
                    (Context::dense(x).expect("within (0, 1)"), rng.unit())
                })
                .collect(),
            seed,
        }
    }
}

/// Rounds of a seed.
struct BoxRounds<'a> {
    world: &'a BoxWorld,
    directions: Vec<[f64; 2]>,
    /// Contexts, each with a chance that is the same for every action.
    rounds: Vec<(Context, f64)>,
    seed: u64,
}

/// The uniform policy's loss in a round is the mean over so many draws: over 5,000 rounds it is known to some 0.0005.
const DRAWS: usize = 16;

impl BoxRounds<'_> {
    fn middle(&self, round: usize) -> Middle<'_> {
        Middle {
            x: self.rounds[round].0.as_dense().expect("it was made so"),
            directions: &self.directions,
            centre: self.world.centre,
            time: round as f64 / self.rounds.len() as f64,
        }
    }

    fn mean(&self, round: usize, knobs: &[f64]) -> f64 {
        (self.world.mean)(&self.middle(round), knobs).min(1.0)
    }
}

impl KnownRounds<Vector> for BoxRounds<'_> {
    fn mean_loss(&self, round: usize, action: &Vector) -> f64 {
        self.mean(round, action)
    }

    fn best(&self, round: usize) -> f64 {
        (self.world.least)(&self.middle(round))
    }

    fn uniform(&self, round: usize) -> f64 {
        let mut rng = EventRng::new(self.seed, 1 + round as u64, Stream::Replay);
        let losses = (0..DRAWS).map(|_| {
            let knobs = (0..self.world.knobs).map(|_| 2.0 * rng.unit() - 1.0);
            self.mean(round, &knobs.collect::<Vec<f64>>())
        });
        losses.sum::<f64>() / DRAWS as f64
    }
}

impl World<Vector> for BoxRounds<'_> {
    fn rounds(&self) -> usize {
        self.rounds.len()
    }

    fn context(&self, round: usize) -> &Context {
        &self.rounds[round].0
    }

    fn loss(&self, round: usize, action: &Vector) -> Loss {
        let (mean, chance) = (self.mean(round, action), self.rounds[round].1);
        let loss = match self.world.outcome {
            Outcome::Noisy => (mean + 0.2 * chance - 0.1).clamp(0.0, 1.0),
            Outcome::ZeroOne => f64::from(u8::from(chance < mean)),
        };
        Loss::new(loss).expect("within [0, 1]")
    }

    fn regret(&self, round: usize, action: &Vector) -> Option<f64> {
        Some(self.mean(round, action) - self.best(round))
    }
}

impl KnownWorld<Vector> for BoxWorld {
    fn about(&self) -> String {
        self.about.to_owned()
    }

    fn truth(&self, seed: u64, rounds: usize) -> Box<dyn KnownRounds<Vector> + '_> {
        Box::new(self.rounds(seed, rounds))
    }
}

impl Environment<Vector> for BoxWorld {
    fn name(&self) -> &str {
        self.name
    }

    fn fingerprint(&self) -> String {
        format!("box world {}: {}", self.name, self.about)
    }

    fn context_dim(&self) -> usize {
        self.features
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, Vector>> {
        Box::new(self.space())
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, Vector>>, OracleSpecError> {
        ModelSpec::new(self.space(), self.features)
            .with_oracle(spec.clone())
            .build_oracle()
    }

    fn default_oracle(&self, seed: u64) -> OracleSpec {
        OracleSpec::default_on_vectors(self.knobs, seed)
    }

    fn world(&self, seed: u64, rounds: usize) -> Box<dyn World<Vector> + '_> {
        Box::new(self.rounds(seed, rounds))
    }

    fn sides(&self) -> Option<Vec<(f64, f64)>> {
        Some(self.space().sides())
    }

    fn coordinates(&self) -> Option<fn(&Vector) -> Vec<f64>> {
        Some(|action| action.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The best knobs of a round.
    fn best_knobs(world: &BoxWorld, rounds: &BoxRounds<'_>, round: usize) -> Vec<f64> {
        let middle = rounds.middle(round);
        let x = middle.x;
        let of = |knob: usize| match world.name.split('_').next() {
            Some("basins") => {
                let centre = if 0.05 + 0.1 * x[0] < 0.15 - 0.1 * x[0] {
                    0.5
                } else {
                    -0.5
                };
                centre + 0.3 * middle.of(knob)
            }
            // Just before the edge, and so near that the bowl is no higher than what the load takes off.
            Some("cliff") => middle.of(knob) + 0.1 / (world.knobs as f64).sqrt(),
            _ => middle.of(knob),
        };
        (0..world.knobs).map(of).collect()
    }

    #[test]
    fn the_best_knobs_have_the_least_loss_and_no_draw_has_less() {
        for world in BOX_WORLDS {
            let rounds = world.rounds(3, 50);
            for round in 0..50 {
                let best = best_knobs(&world, &rounds, round);
                assert!(
                    best.iter().all(|knob| knob.abs() <= 1.0),
                    "{}: {best:?}",
                    world.name
                );
                let least = rounds.best(round);
                let found = rounds.mean(round, &best);
                assert!((found - least).abs() < 1e-12, "{}: {found}", world.name);
                let mut rng = EventRng::new(4, round as u64, Stream::World);
                for _ in 0..50 {
                    let knobs = (0..world.knobs).map(|_| 2.0 * rng.unit() - 1.0);
                    let loss = rounds.mean(round, &knobs.collect::<Vec<f64>>());
                    assert!(least <= loss && loss <= 1.0, "{}: {loss}", world.name);
                }
            }
        }
    }

    #[test]
    fn uniform_play_of_a_bowl_is_as_its_formula() {
        // E(a − m)² = 1/3 + m² for a uniform on [−1, 1].
        let world = BoxWorld::named("bowl_6").expect("listed");
        let (count, rounds) = (4_000, world.rounds(5, 4_000));
        let (mut drawn, mut formula) = (0.0, 0.0);
        for round in 0..count {
            drawn += rounds.uniform(round);
            let middles = best_knobs(&world, &rounds, round);
            formula += 1.0 / 3.0 + middles.iter().map(|m| m * m).sum::<f64>() / 6.0;
        }
        // A draw's deviation is below 0.15: of 64,000 draws, seven standard errors.
        let off = (drawn - formula).abs() / count as f64;
        assert!(
            off < 7.0 * 0.15 / f64::sqrt((count * DRAWS) as f64),
            "{off}"
        );
    }

    #[test]
    fn observed_losses_have_their_mean_where_nothing_is_cut() {
        for world in BOX_WORLDS {
            let count = 40_000;
            let rounds = world.rounds(6, count);
            let (mut off, mut met) = (0.0, 0);
            for round in 0..count {
                let mut rng = EventRng::new(7, round as u64, Stream::World);
                let knobs: Vec<f64> = (0..world.knobs).map(|_| 2.0 * rng.unit() - 1.0).collect();
                let mean = rounds.mean(round, &knobs);
                // Noise is cut at the ends; outcomes of 0 or 1 are not.
                if world.outcome == Outcome::ZeroOne || (0.1..=0.9).contains(&mean) {
                    let action = Vector::new(&knobs).expect("finite");
                    off += rounds.loss(round, &action).get() - mean;
                    met += 1;
                }
            }
            // By Hoeffding's inequality, 4e-9 at most in each world. Conversions that never happen would be off by 0.027.
            let allowed = (10.0 / f64::from(met)).sqrt();
            let off: f64 = off / f64::from(met);
            assert!(10_000 < met && off.abs() < allowed, "{}: {off}", world.name);
        }
    }
}
