//! Knobs: the default learner on boxes against forty lines of ridge regression with a shrinking box.
//!
//!     cargo run --release -p egret-lab --example knob_worlds [EVENTS [SEEDS]]
//!
//! Prints a table: the mean loss over the last quarter of the events, the least that is possible, effective events in 1,000 for
//! uniform play, and the time of one decision with learning. Worlds marked * were used to choose the default.

use std::error::Error;
use std::time::Instant;

use egret::{Context, EventRng, Loss, Model, Settings, Stream, UniformBox};

/// A mean loss over knobs in [−1, 1] and two features of a context.
struct World {
    name: &'static str,
    knobs: usize,
    zero_one: bool,
    mean: fn(&Middle<'_>, &[f64]) -> f64,
}

/// Where the bowl's middle is for a context: each knob's moves with both features.
struct Middle<'a> {
    x: [f64; 2],
    directions: &'a [[f64; 2]],
}

impl Middle<'_> {
    fn of(&self, knob: usize) -> f64 {
        let [first, second] = self.directions[knob];
        0.4 * (first * (2.0 * self.x[0] - 1.0) + second * (2.0 * self.x[1] - 1.0)) + 0.3 * first
    }

    /// The mean of squared distances of the first knobs, as many as are given.
    fn distance(&self, knobs: &[f64]) -> f64 {
        let squares = (0..)
            .zip(knobs)
            .map(|(knob, a)| (a - self.of(knob)).powi(2));
        squares.sum::<f64>() / knobs.len() as f64
    }
}

fn bowl(middle: &Middle<'_>, a: &[f64]) -> f64 {
    middle.distance(a)
}

fn five_matter(middle: &Middle<'_>, a: &[f64]) -> f64 {
    middle.distance(&a[..5])
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
    let [x, _] = middle.x;
    basin(0.5, 0.05 + 0.1 * x)
        .min(basin(-0.5, 0.15 - 0.1 * x))
        .min(1.0)
}

/// The best knobs are near a limit beyond which all is lost.
fn cliff(middle: &Middle<'_>, a: &[f64]) -> f64 {
    let excess = (0..)
        .zip(a)
        .map(|(knob, a)| a - middle.of(knob))
        .sum::<f64>();
    let load = excess / (a.len() as f64).sqrt();
    let bowl = middle.distance(a);
    if 0.15 < load {
        (bowl + 0.5).min(1.0)
    } else {
        (bowl - 0.1 * load.max(-1.0)).clamp(0.0, 1.0)
    }
}

const fn world(
    name: &'static str,
    knobs: usize,
    zero_one: bool,
    mean: fn(&Middle<'_>, &[f64]) -> f64,
) -> World {
    World {
        name,
        knobs,
        zero_one,
        mean,
    }
}

const WORLDS: [World; 15] = [
    world("bowl", 2, false, bowl),
    world("bowl", 6, false, bowl),
    world("bowl *", 20, false, bowl),
    world("bowl *", 100, false, bowl),
    world("bowl, 0 or 1", 2, true, bowl),
    world("bowl, 0 or 1 *", 6, true, bowl),
    world("bowl, 0 or 1", 20, true, bowl),
    world("five of them matter", 20, false, five_matter),
    world("valley", 6, false, valley),
    world("valley", 20, false, valley),
    world("two basins *", 2, false, basins),
    world("two basins *", 6, false, basins),
    world("two basins", 20, false, basins),
    world("cliff *", 6, false, cliff),
    world("cliff", 20, false, cliff),
];

/// Ridge regression on (1, x, a, a², aᵢaⱼ, a ⊗ x), a shrinking box around its minimum, 2% uniform.
struct ShrinkingBox {
    knobs: usize,
    inverse: Vec<f64>,
    theta: Vec<f64>,
    events: f64,
}

impl ShrinkingBox {
    fn new(knobs: usize) -> Self {
        let length = Self::features(&[0.0; 2], &vec![0.0; knobs]).len();
        let mut inverse = vec![0.0; length * length];
        inverse
            .iter_mut()
            .step_by(length + 1)
            .for_each(|entry| *entry = 1.0);
        Self {
            knobs,
            inverse,
            theta: vec![0.0; length],
            events: 0.0,
        }
    }

    fn features(x: &[f64; 2], a: &[f64]) -> Vec<f64> {
        let mut phi = vec![1.0, x[0], x[1]];
        phi.extend_from_slice(a);
        phi.extend(a.iter().map(|a| a * a));
        phi.extend(a.iter().flat_map(|a| [a * x[0], a * x[1]]));
        if a.len() <= 20 {
            for (place, first) in a.iter().enumerate() {
                phi.extend(a[place + 1..].iter().map(|second| first * second));
            }
        }
        phi
    }

    /// The minimum by coordinates, then a draw from the box around it.
    fn decide(&self, x: &[f64; 2], rng: &mut EventRng) -> Vec<f64> {
        let d = self.knobs;
        let mut draw: Vec<f64> = (0..d).map(|_| 2.0 * rng.unit() - 1.0).collect();
        if rng.unit() < 0.02 {
            return draw;
        }
        let mut best = vec![0.0; d];
        for _ in 0..10 {
            for knob in 0..d {
                let at = |value: f64, best: &mut Vec<f64>| {
                    best[knob] = value;
                    let phi = Self::features(x, best);
                    phi.iter()
                        .zip(&self.theta)
                        .map(|(phi, theta)| phi * theta)
                        .sum::<f64>()
                };
                let [low, middle, high] = [-1.0, 0.0, 1.0].map(|value| at(value, &mut best));
                let (slope, curvature) = (0.5 * (high - low), high + low - 2.0 * middle);
                best[knob] = if 0.0 < curvature {
                    (-slope / curvature).clamp(-1.0, 1.0)
                } else {
                    -slope.signum()
                };
            }
            if d > 20 {
                break;
            }
        }
        let reach = (1.0 + self.events).powf(-0.25).max(0.1);
        for (draw, best) in draw.iter_mut().zip(&best) {
            *draw = (best + reach * *draw).clamp(-1.0, 1.0);
        }
        draw
    }

    fn learn(&mut self, x: &[f64; 2], a: &[f64], loss: f64) {
        let phi = Self::features(x, a);
        let n = phi.len();
        let gain: Vec<f64> = self
            .inverse
            .chunks_exact(n)
            .map(|row| row.iter().zip(&phi).map(|(entry, phi)| entry * phi).sum())
            .collect();
        let spread: f64 = gain.iter().zip(&phi).map(|(gain, phi)| gain * phi).sum();
        let predicted: f64 = self
            .theta
            .iter()
            .zip(&phi)
            .map(|(theta, phi)| theta * phi)
            .sum();
        let scale = 1.0 / (1.0 + spread);
        for (theta, gain) in self.theta.iter_mut().zip(&gain) {
            *theta += scale * (loss - predicted) * gain;
        }
        for (row, own) in self.inverse.chunks_exact_mut(n).zip(&gain) {
            for (entry, gain) in row.iter_mut().zip(&gain) {
                *entry -= scale * own * gain;
            }
        }
        self.events += 1.0;
    }
}

/// Mean loss of the last quarter, effective events in 1,000 there, µs an event.
struct Played {
    late: f64,
    effective: f64,
    microseconds: f64,
}

fn play(world: &World, seed: u64, events: u64, naive: bool) -> Result<Played, Box<dyn Error>> {
    let mut rng = EventRng::new(77 + seed, 0, Stream::World);
    let directions: Vec<[f64; 2]> = (0..world.knobs)
        .map(|_| [rng.unit() - 0.5, rng.unit() - 0.5])
        .collect();
    let space = UniformBox::new(&vec![(-1.0, 1.0); world.knobs])?;
    let mut model = Model::with_settings(space, 2, Settings::default().with_seed(seed))?;
    let mut ridge = ShrinkingBox::new(world.knobs);
    let (mut late, mut inverses, mut seconds) = (0.0, 0.0, 0.0);
    for event in 0..events {
        let mut rng = EventRng::new(1_000 + seed, event, Stream::World);
        let x = [rng.unit(), rng.unit()];
        let context = Context::dense(x.to_vec())?;
        let start = Instant::now();
        let (decision, knobs) = if naive {
            (None, ridge.decide(&x, &mut rng))
        } else {
            let decision = model.decide(event, &context)?;
            let knobs = decision.action.to_vec();
            (Some(decision), knobs)
        };
        seconds += start.elapsed().as_secs_f64();
        let middle = Middle {
            x,
            directions: &directions,
        };
        let mean = (world.mean)(&middle, &knobs);
        let chance = rng.unit();
        let loss = if world.zero_one {
            f64::from(u8::from(chance < mean))
        } else {
            (mean + 0.2 * chance - 0.1).clamp(0.0, 1.0)
        };
        let start = Instant::now();
        match &decision {
            Some(decision) => model.learn(&decision.observed(&context, Loss::new(loss)?))?,
            None => ridge.learn(&x, &knobs, loss),
        }
        seconds += start.elapsed().as_secs_f64();
        if 3 * events <= 4 * event {
            late += mean;
            let bound = decision.and_then(|decision| decision.largest_inverse_density);
            inverses += bound.unwrap_or(50.0);
        }
    }
    let quarter = events as f64 / 4.0;
    Ok(Played {
        late: late / quarter,
        effective: 1_000.0 * quarter / inverses,
        microseconds: 1e6 * seconds / events as f64,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let events = args.next().map_or(Ok(20_000), |text| text.parse())?;
    let seeds: u64 = args.next().map_or(Ok(3), |text| text.parse())?;
    println!("| world | knobs | default | ridge, shrinking box | effective | µs |");
    println!("|---|--:|--:|--:|--:|--:|");
    for world in &WORLDS {
        let mut rows = Vec::new();
        for naive in [false, true] {
            let played: Result<Vec<Played>, _> = (0..seeds)
                .map(|seed| play(world, 10 + seed, events, naive))
                .collect();
            rows.push(played?);
        }
        let mean = |row: &[Played], of: fn(&Played) -> f64| {
            row.iter().map(of).sum::<f64>() / row.len() as f64
        };
        println!(
            "| {} | {} | {:.4} | {:.4} | {:.0} | {:.0} |",
            world.name,
            world.knobs,
            mean(&rows[0], |played| played.late),
            mean(&rows[1], |played| played.late),
            mean(&rows[0], |played| played.effective),
            mean(&rows[0], |played| played.microseconds),
        );
    }
    Ok(())
}
