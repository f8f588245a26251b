//! Logs whose truth is known.

use egret::{EventRng, Stream};
use egret_offline::{Columns, Confidence, Evaluation, Plan, Report};

/// Columns of a simulated log.
#[derive(Debug, Clone, Default)]
pub struct Log {
    pub losses: Vec<f64>,
    pub weights: Vec<f64>,
    pub fhats: Vec<f64>,
    pub baselines: Vec<f64>,
    pub shares: Option<Vec<f64>>,
}

impl Log {
    pub fn columns(&self) -> Columns<'_> {
        Columns {
            losses: &self.losses,
            weights: &self.weights,
            fhats: Some(&self.fhats),
            baselines: Some(&self.baselines),
            shares: self.shares.as_deref(),
            kappas: None,
        }
    }

    pub fn part(&self, range: std::ops::Range<usize>) -> Self {
        let part = |column: &Vec<f64>| column[range.clone()].to_vec();
        Self {
            losses: part(&self.losses),
            weights: part(&self.weights),
            fhats: part(&self.fhats),
            baselines: part(&self.baselines),
            shares: self.shares.as_ref().map(part),
        }
    }

    pub fn report(&self, plan: &Plan, confidence: Confidence) -> Report {
        let mut evaluation = Evaluation::new(plan.clone()).expect("a plan");
        evaluation.observe(&self.columns()).expect("in range");
        evaluation.report(confidence)
    }
}

/// How weights spread.
#[derive(Debug, Clone, Copy)]
pub enum Weights {
    /// The target plays on one in so many of the actions that the log plays alike: w is this, or 0.
    Window(f64),
    /// P(w > x) ∝ x^(−a): no variance for a ≤ 2.
    Pareto(f64),
    /// As a window that is one in 1 + t/50 at time t, events counted by its inverse: what growing γ does.
    Narrowing,
}

/// The value of each simulated policy: losses are 1 with this probability, or evenly spread around it.
pub const VALUE: f64 = 0.3;

/// `n` events from the generator of a trial. f̂ knows half of what there is to know of a loss.
pub fn log(weights: Weights, n: usize, trial: u64) -> Log {
    let mut rng = EventRng::new(11, trial, Stream::World);
    let mut log = Log::default();
    let mut shares = Vec::new();
    for t in 0..n {
        let u = rng.unit();
        let (w, share) = match weights {
            Weights::Window(w) => (window(w, u), 1.0),
            Weights::Pareto(a) => ((a - 1.0) / a * u.powf(-1.0 / a), 1.0),
            Weights::Narrowing => {
                let w = 1.0 + t as f64 / 50.0;
                (window(w, u), 1.0 / w)
            }
        };
        // Two kinds of contexts; the model knows the kind.
        let mean = if rng.unit() < 0.5 {
            VALUE - 0.2
        } else {
            VALUE + 0.2
        };
        log.losses.push(f64::from(rng.unit() < mean));
        log.weights.push(w);
        log.fhats.push(mean);
        log.baselines.push(mean);
        shares.push(share);
    }
    if matches!(weights, Weights::Narrowing) {
        log.shares = Some(shares);
    }
    log
}

fn window(w: f64, u: f64) -> f64 {
    if u * w < 1.0 { w } else { 0.0 }
}

pub fn level(level: f64) -> Confidence {
    Confidence::new(level).expect("between 0 and 1")
}
