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
    /// Actions on [0, 1] with density ½ + a, where the target has 2(1 − a); a loss is 1 with probability 0.9·a. The log
    /// plays what costs more: without weights its losses are 0.525 on average.
    Chosen,
    /// Actions with density k·a^(k−1), where the target is uniform; a loss is 1 with probability 0.6·a. Large weights go
    /// with small losses, and have no variance for k ≥ 2.
    Rare(f64),
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
        // Two kinds of contexts; the model knows the kind.
        let kind = if rng.unit() < 0.5 {
            VALUE - 0.2
        } else {
            VALUE + 0.2
        };
        let mut event = Event {
            w: 0.0,
            share: 1.0,
            mean: kind,
            fhat: kind,
            baseline: kind,
        };
        match weights {
            Weights::Window(w) => event.w = window(w, u),
            Weights::Pareto(a) => event.w = (a - 1.0) / a * u.powf(-1.0 / a),
            Weights::Narrowing => {
                let w = 1.0 + t as f64 / 50.0;
                (event.w, event.share) = (window(w, u), 1.0 / w);
            }
            Weights::Chosen => {
                // (a + a²)/2 = u; the model is right about what costs more, and wrong about how much.
                let a = 0.5 * ((1.0 + 8.0 * u).sqrt() - 1.0);
                event.w = 2.0 * (1.0 - a) / (0.5 + a);
                (event.mean, event.fhat, event.baseline) = (0.9 * a, a, 1.0 / 3.0);
            }
            Weights::Rare(k) => {
                let a = u.powf(1.0 / k);
                event.w = a.powf(1.0 - k) / k;
                (event.mean, event.fhat, event.baseline) = (0.6 * a, a, 0.5);
            }
        }
        log.losses.push(f64::from(rng.unit() < event.mean));
        log.weights.push(event.w);
        log.fhats.push(event.fhat);
        log.baselines.push(event.baseline);
        shares.push(event.share);
    }
    if matches!(weights, Weights::Narrowing) {
        log.shares = Some(shares);
    }
    log
}

/// What there is to say of one event before its loss is drawn.
struct Event {
    w: f64,
    share: f64,
    mean: f64,
    fhat: f64,
    baseline: f64,
}

fn window(w: f64, u: f64) -> f64 {
    if u * w < 1.0 { w } else { 0.0 }
}

pub fn level(level: f64) -> Confidence {
    Confidence::new(level).expect("between 0 and 1")
}
