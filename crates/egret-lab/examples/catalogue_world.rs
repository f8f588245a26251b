//! Catalogues: the default learner among many items against twenty lines of ridge regression that score every item.
//!
//!     cargo run --release -p egret-lab --example catalogue_world [ITEMS [EVENTS [SEEDS]]]
//!
//! An item has 32 features and a context 8. A click has the probability σ(−2.5 + 1.5 ⟨Wx, e⟩), and no click is a loss of 1. Prints
//! the mean loss over the last quarter of the events, that of uniform play and of the best item, effective events in 1,000 for
//! uniform play, and the times of a decision and of learning from it.

use std::error::Error;
use std::time::{Duration, Instant};

use egret::{Context, EmbeddingRows, EventRng, Items, Loss, Model, OutOfRange, Settings, Stream};

const FEATURES: usize = 32;
const CONTEXT: usize = 8;

struct World {
    rows: EmbeddingRows,
    /// Row after row.
    directions: Vec<f32>,
    seed: u64,
}

impl World {
    fn new(items: usize, seed: u64) -> Result<Self, OutOfRange> {
        let mut rng = EventRng::new(seed, 0, Stream::World);
        let mut embeddings = Vec::with_capacity(items * FEATURES);
        embeddings.extend(normals(items * FEATURES, &mut rng));
        // ⟨Wx, e⟩ has about the deviation 1.7.
        let scale = 1.7 / ((CONTEXT * FEATURES) as f32).sqrt();
        let directions = normals(FEATURES * CONTEXT, &mut rng).map(|value| scale * value);
        Ok(Self {
            directions: directions.collect(),
            rows: EmbeddingRows::from_singles(FEATURES, embeddings)?,
            seed,
        })
    }

    fn items(&self) -> usize {
        self.rows.len()
    }

    fn row(&self, item: usize) -> &[f32] {
        &self.rows.values()[item * FEATURES..][..FEATURES]
    }

    fn context(&self, event: u64) -> Vec<f32> {
        let mut rng = EventRng::new(self.seed, 1 + event, Stream::World);
        normals(CONTEXT, &mut rng).collect()
    }

    /// Wx.
    fn direction(&self, x: &[f32]) -> Vec<f32> {
        let rows = self.directions.chunks_exact(CONTEXT);
        rows.map(|row| dot(row, x)).collect()
    }

    /// The probability of no click.
    fn mean_loss(&self, direction: &[f32], item: usize) -> f64 {
        let score = f64::from(dot(direction, self.row(item)));
        1.0 / (1.0 + (-2.5 + 1.5 * score).exp())
    }

    fn best(&self, direction: &[f32]) -> f64 {
        let losses = (0..self.items()).map(|item| self.mean_loss(direction, item));
        losses.fold(1.0, f64::min)
    }
}

/// Standard normal numbers, two from each draw of Box and Muller.
fn normals(count: usize, rng: &mut EventRng) -> impl Iterator<Item = f32> {
    (0..count.div_ceil(2))
        .flat_map(|_| {
            let (radius, angle) = ((-2.0 * (1.0 - rng.unit()).ln()).sqrt(), rng.unit());
            let (sin, cos) = (std::f64::consts::TAU * angle).sin_cos();
            [(radius * cos) as f32, (radius * sin) as f32]
        })
        .take(count)
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    for (a, b) in a.chunks(8).zip(b.chunks(8)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
}

/// Ridge regression on (1, x) ⊗ (1, e): 2% uniform, otherwise one of the best 100 of all items.
struct Ridge {
    inverse: Vec<f64>,
    theta: Vec<f64>,
}

const LENGTH: usize = (1 + CONTEXT) * (1 + FEATURES);

impl Ridge {
    fn new() -> Self {
        let mut inverse = vec![0.0; LENGTH * LENGTH];
        for place in 0..LENGTH {
            inverse[place * (LENGTH + 1)] = 1.0;
        }
        let theta = vec![0.0; LENGTH];
        Self { inverse, theta }
    }

    fn decide(&self, world: &World, x: &[f32], rng: &mut EventRng) -> usize {
        let items = world.items();
        if rng.unit() < 0.02 {
            return (rng.unit() * items as f64) as usize;
        }
        let mut weights = [0.0_f32; FEATURES];
        for (row, x) in self.theta.chunks_exact(1 + FEATURES).zip(with_one(x)) {
            for (weight, theta) in weights.iter_mut().zip(&row[1..]) {
                *weight += x * *theta as f32;
            }
        }
        let mut scores: Vec<(f32, usize)> = (0..items)
            .map(|item| (dot(&weights, world.row(item)), item))
            .collect();
        let most = 100.min(items);
        if most < items {
            scores.select_nth_unstable_by(most, |a, b| a.0.total_cmp(&b.0));
        }
        scores[(rng.unit() * most as f64) as usize].1
    }

    fn learn(&mut self, x: &[f32], row: &[f32], loss: f64) {
        let outer = with_one(x).flat_map(|x| with_one(row).map(move |e| f64::from(x * e)));
        let phi: Vec<f64> = outer.collect();
        let rows = self.inverse.chunks_exact(LENGTH);
        let gain: Vec<f64> = rows.map(|row| product(row, &phi)).collect();
        let scale = 1.0 / (1.0 + product(&gain, &phi));
        let error = (loss - product(&self.theta, &phi)) * scale;
        for (theta, gain) in self.theta.iter_mut().zip(&gain) {
            *theta += error * gain;
        }
        for (row, one) in self.inverse.chunks_exact_mut(LENGTH).zip(&gain) {
            for (entry, other) in row.iter_mut().zip(&gain) {
                *entry -= scale * one * other;
            }
        }
    }
}

fn with_one(values: &[f32]) -> impl Iterator<Item = f32> {
    std::iter::once(1.0).chain(values.iter().copied())
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The sum of the losses of the last quarter, and the times of decisions and of learning.
#[derive(Default)]
struct Played {
    late: f64,
    deciding: Duration,
    learning: Duration,
    inverse_densities: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let mut next = |default| arguments.next().unwrap_or(Ok(default));
    let (items, events, seeds) = (next(200_000)? as usize, next(20_000)?, next(1)?);
    // Every item is scored: that takes long in large catalogues.
    let with_ridge = items <= 200_000;
    println!(
        "| seed | items | learner | late loss | uniform | best | effective | µs to decide | µs to learn |"
    );
    println!("|--:|--:|---|--:|--:|--:|--:|--:|--:|");
    for seed in 1..=seeds {
        let world = World::new(items, seed)?;
        let started = Instant::now();
        let settings = Settings::default().with_seed(seed);
        let mut model = Model::with_settings(Items::new(world.rows.clone())?, CONTEXT, settings)?;
        let built = started.elapsed();
        let mut ridge = Ridge::new();
        let (mut own, mut naive) = (Played::default(), Played::default());
        let (mut uniform, mut best) = (0.0, 0.0);
        let late_from = events - events / 4;
        for event in 0..events {
            let x = world.context(event);
            let direction = world.direction(&x);
            let mut rng = EventRng::new(seed, event, Stream::Replay);
            let chance = rng.unit();
            let late = late_from <= event;
            let loss_of = |item: usize| {
                let mean = world.mean_loss(&direction, item);
                (mean, f64::from(chance < mean))
            };
            let context = Context::dense(x.iter().map(|&value| f64::from(value)).collect())?;
            let started = Instant::now();
            let decision = model.decide(event, &context)?;
            let decided = Instant::now();
            let (mean, loss) = loss_of(decision.action.0 as usize);
            model.learn(&decision.observed(&context, Loss::new(loss)?))?;
            if late {
                own.late += mean;
                own.deciding += decided - started;
                own.learning += decided.elapsed();
                let weight = decision.importance_weight(1.0).expect("a density");
                own.inverse_densities += weight * weight;
            }
            if with_ridge {
                let started = Instant::now();
                let item = ridge.decide(&world, &x, &mut rng);
                let decided = Instant::now();
                let (mean, loss) = loss_of(item);
                ridge.learn(&x, world.row(item), loss);
                if late {
                    naive.late += mean;
                    naive.deciding += decided - started;
                    naive.learning += decided.elapsed();
                }
            }
            if late {
                uniform += loss_of((rng.unit() * items as f64) as usize).0;
                if event % 50 == 0 {
                    best += 50.0 * world.best(&direction);
                }
            }
        }
        let count = (events - late_from) as f64;
        let line = |name: &str, played: &Played, effective: String| {
            let micros = |time: Duration| 1e6 * time.as_secs_f64() / count;
            println!(
                "| {seed} | {items} | {name} | {:.4} | {:.4} | {:.4} | {effective} | {:.0} | {:.0} |",
                played.late / count,
                uniform / count,
                best / count,
                micros(played.deciding),
                micros(played.learning),
            );
        };
        let effective = 1_000.0 * count / own.inverse_densities;
        line("default", &own, format!("{effective:.0}"));
        if with_ridge {
            line("ridge, every item", &naive, "–".to_owned());
        }
        let mebibytes = model.save().len() as f64 / f64::from(1 << 20);
        let seconds = built.as_secs_f64();
        eprintln!("the model took {seconds:.1} s to make and has a file of {mebibytes:.0} MiB");
    }
    Ok(())
}
