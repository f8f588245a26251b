//! Logs whose truth is known.

use egret::{EventRng, Stream};
use egret_offline::{Confidence, Evaluation, PathPoint, Plan, Report, WeightedEvents};

/// The events of a simulated log.
#[derive(Debug, Clone, Default)]
pub struct Log {
    pub losses: Vec<f64>,
    pub weights: Vec<f64>,
    pub predicted: Vec<f64>,
    pub policy_predicted: Vec<f64>,
    pub event_weights: Option<Vec<f64>>,
}

impl Log {
    pub fn events(&self) -> WeightedEvents<'_> {
        WeightedEvents {
            losses: &self.losses,
            weights: &self.weights,
            predicted: Some(&self.predicted),
            policy_predicted: Some(&self.policy_predicted),
            event_weights: self.event_weights.as_deref(),
            ..WeightedEvents::default()
        }
    }

    pub fn part(&self, range: std::ops::Range<usize>) -> Self {
        let part = |column: &Vec<f64>| column[range.clone()].to_vec();
        Self {
            losses: part(&self.losses),
            weights: part(&self.weights),
            predicted: part(&self.predicted),
            policy_predicted: part(&self.policy_predicted),
            event_weights: self.event_weights.as_ref().map(part),
        }
    }

    pub fn report(&self, plan: &Plan, confidence: Confidence) -> Report {
        let mut evaluation = Evaluation::new(plan.clone()).expect("a plan");
        evaluation.observe(&self.events()).expect("in range");
        evaluation.report(confidence)
    }
}

/// Whether any interval over so many events missed. A path ends before the first that holds no value at all, which is a miss.
pub fn ever_missed(path: &[PathPoint], events: usize, value: f64) -> bool {
    let missed = |point: &PathPoint| value < point.low || point.high < value;
    path.iter().any(missed) || path.last().is_none_or(|last| last.n < events as u64)
}

/// How weights spread.
#[derive(Debug, Clone, Copy)]
pub enum Weights {
    /// The log plays all actions alike, the policy one in so many of them: w is this, or 0.
    Window(f64),
    /// P(w > x) ∝ x^(−a): no variance for a ≤ 2.
    Pareto(f64),
    /// As a window that is one in 1 + t/50 at time t, events counted by its inverse: what growing γ does.
    Narrowing,
    /// Actions on [0, 1] with density ½ + a, where the policy has 2(1 − a); a loss is 1 with probability 0.9·a. The log
    /// plays what costs more: without weights its losses are 0.525 on average.
    Chosen,
    /// Actions with density k·a^(k−1), where the policy is uniform; a loss is 1 with probability 0.6·a. Large weights go
    /// with small losses, and have no variance for k ≥ 2.
    Rare(f64),
}

/// The value of each simulated policy: losses are 1 with this probability, or evenly spread around it.
pub const VALUE: f64 = 0.3;

/// `n` events from the generator of a trial. f̂ knows half of what there is to know of a loss.
pub fn log(weights: Weights, n: usize, trial: u64) -> Log {
    let mut rng = EventRng::new(11, trial, Stream::World);
    let mut log = Log::default();
    let mut event_weights = Vec::new();
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
            event_weight: 1.0,
            mean: kind,
            fhat: kind,
            policy_predicted: kind,
        };
        match weights {
            Weights::Window(w) => event.w = window(w, u),
            Weights::Pareto(a) => event.w = (a - 1.0) / a * u.powf(-1.0 / a),
            Weights::Narrowing => {
                let w = 1.0 + t as f64 / 50.0;
                (event.w, event.event_weight) = (window(w, u), 1.0 / w);
            }
            Weights::Chosen => {
                // (a + a²)/2 = u; the model is right about what costs more, and wrong about how much.
                let a = 0.5 * ((1.0 + 8.0 * u).sqrt() - 1.0);
                event.w = 2.0 * (1.0 - a) / (0.5 + a);
                (event.mean, event.fhat, event.policy_predicted) = (0.9 * a, a, 1.0 / 3.0);
            }
            Weights::Rare(k) => {
                let a = u.powf(1.0 / k);
                event.w = a.powf(1.0 - k) / k;
                (event.mean, event.fhat, event.policy_predicted) = (0.6 * a, a, 0.5);
            }
        }
        log.losses.push(f64::from(rng.unit() < event.mean));
        log.weights.push(event.w);
        log.predicted.push(event.fhat);
        log.policy_predicted.push(event.policy_predicted);
        event_weights.push(event.event_weight);
    }
    if matches!(weights, Weights::Narrowing) {
        log.event_weights = Some(event_weights);
    }
    log
}

/// What there is to say of one event before its loss is drawn.
struct Event {
    w: f64,
    event_weight: f64,
    mean: f64,
    fhat: f64,
    policy_predicted: f64,
}

fn window(w: f64, u: f64) -> f64 {
    if u * w < 1.0 { w } else { 0.0 }
}

pub fn level(level: f64) -> Confidence {
    Confidence::new(level).expect("between 0 and 1")
}
