//! A learner of one's own beside egret's, on a simulator or on any table of numbers.
//!
//!     cargo run --release -p egret-lab --example own_learner
//!     cargo run --release -p egret-lab --example own_learner -- houses.csv
//!
//! The learner here keeps the mean loss of each of sixteen buckets of actions, looks at no context, and tries a bucket by chance
//! once in ten. It has three things to say: its name, what else tells it from others, and how a player of it is made.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use egret::{Context, EventRng, Stream};
use egret_lab::{
    AnyEnvironment, Comparison, Contender, Encoding, Environment, LossFunction, Move, PlayError,
    Player, Preset, Run, Silent, Supervised, SupervisedToBandit, Task, Turn, run_all, simulator,
};

/// Sixteen buckets, the best of them but for one decision in ten.
struct Buckets {
    epsilon: f64,
}

impl Contender<f64> for Buckets {
    fn name(&self) -> &str {
        "buckets"
    }

    fn fingerprint(&self) -> String {
        format!("buckets, epsilon {}", self.epsilon)
    }

    fn player(
        &self,
        _environment: &dyn Environment<f64>,
        seed: u64,
    ) -> Result<Box<dyn Player<f64>>, PlayError> {
        Ok(Box::new(BucketPlayer {
            epsilon: self.epsilon,
            seed,
            tried: [0; 16],
            lost: [0.0; 16],
        }))
    }
}

struct BucketPlayer {
    epsilon: f64,
    seed: u64,
    tried: [u32; 16],
    lost: [f64; 16],
}

impl BucketPlayer {
    fn mean(&self, bucket: usize) -> f64 {
        // What was never tried looks best.
        self.lost[bucket] / f64::from(self.tried[bucket].max(1))
    }
}

impl Player<f64> for BucketPlayer {
    fn decide(&mut self, event: u64, _x: &Context) -> Result<Move<f64>, PlayError> {
        // All chance comes from the seed and the event: the run can be made again.
        let mut chance = EventRng::new(self.seed, event, Stream::Action);
        let best = (0..16).min_by(|&one, &other| self.mean(one).total_cmp(&self.mean(other)));
        let bucket = if chance.unit() < self.epsilon {
            (16.0 * chance.unit()) as usize
        } else {
            best.unwrap_or(0)
        };
        Ok(Move::Plain((bucket as f64 + 0.5) / 16.0))
    }

    fn learn(&mut self, turns: &[Turn<'_, f64>]) -> Result<(), PlayError> {
        for turn in turns {
            let bucket = (16.0 * turn.played.action()) as usize;
            self.tried[bucket] += 1;
            self.lost[bucket] += turn.loss.get();
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let environment: Box<dyn Environment<f64>> = match std::env::args().nth(1) {
        Some(file) => {
            let data = Supervised::read(Path::new(&file), &Encoding::default())?;
            Box::new(SupervisedToBandit::new(
                Arc::new(data),
                LossFunction::Absolute,
            ))
        }
        None => match simulator("interval")? {
            AnyEnvironment::Number(environment) => environment,
            _ => return Err("the simulator has other actions than numbers".into()),
        },
    };
    let (ours, theirs) = (Buckets { epsilon: 0.1 }, Preset::Exact.contender());
    let contenders: [&dyn Contender<f64>; 2] = [&theirs, &ours];
    let mut tasks = Vec::new();
    for contender in contenders {
        for seed in 1..=5 {
            let run = Run {
                contender,
                environment: &*environment,
                seed,
                decisions: 2_000,
            };
            tasks.push(Task {
                key: run.key(),
                label: run.label(),
                cost: 1.0,
                work: Box::new(move || run.play(|_| ())),
            });
        }
    }
    let records = run_all(&tasks, None, &Silent)?;
    let comparison = Comparison::new(&records, Some("exact"), 0.9)?;
    print!("{}", comparison.report("A learner of one's own")?.text());
    Ok(())
}
