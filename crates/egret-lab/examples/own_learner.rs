//! Your own learner beside egret's, on a simulator or on any table of numbers.
//!
//!     cargo run --release -p egret-lab --example own_learner
//!     cargo run --release -p egret-lab --example own_learner -- houses.csv
//!
//! This learner keeps the mean loss of each of sixteen buckets of actions, ignores the context, and tries a random bucket once in
//! ten decisions. A learner has a name, a fingerprint of its settings, and a function that makes a player.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use egret::{Context, EventRng, Stream};
use egret_lab::{
    Choice, Encoding, Environment, IntervalLossModel, LearnerComparison, LearnerFactory,
    LossFunction, PlayError, Player, Preset, Round, Run, Silent, Simulator, Supervised,
    SupervisedToBandit, Task, run_all,
};

/// Chooses the best of sixteen buckets, except for random choices with probability `epsilon`.
struct Buckets {
    epsilon: f64,
}

impl LearnerFactory<f64> for Buckets {
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
        // A bucket that was never tried looks best.
        self.lost[bucket] / f64::from(self.tried[bucket].max(1))
    }
}

impl Player<f64> for BucketPlayer {
    fn decide(&mut self, event: u64, _x: &Context) -> Result<Choice<f64>, PlayError> {
        // All randomness comes from the seed and the event, so that the run can be repeated.
        let mut chance = EventRng::new(self.seed, event, Stream::Action);
        let best = (0..16).min_by(|&one, &other| self.mean(one).total_cmp(&self.mean(other)));
        let bucket = if chance.unit() < self.epsilon {
            (16.0 * chance.unit()) as usize
        } else {
            best.unwrap_or(0)
        };
        Ok(Choice::Plain((bucket as f64 + 0.5) / 16.0))
    }

    fn learn(&mut self, rounds: &[Round<'_, f64>]) -> Result<(), PlayError> {
        for round in rounds {
            let bucket = (16.0 * round.choice.action()) as usize;
            self.tried[bucket] += 1;
            self.lost[bucket] += round.loss.get();
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
        None => Box::new(Simulator::new(IntervalLossModel)),
    };
    let (ours, theirs) = (Buckets { epsilon: 0.1 }, Preset::Exact.factory());
    let learners: [&dyn LearnerFactory<f64>; 2] = [&theirs, &ours];
    let mut tasks = Vec::new();
    for learner in learners {
        for seed in 1..=5 {
            let run = Run {
                learner,
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
    let comparison = LearnerComparison::new(&records, Some("exact"), 0.9)?;
    print!("{}", comparison.report("Your own learner")?.text());
    Ok(())
}
