//! Intervals that are called reliable cover, and on easy logs most are called so.
//!
//! A grid of weights × losses × sizes × estimators × intervals. The larger run, whose table is in `docs/offline.md`:
//!
//!     LOGS=1000 SIZES=100,300,1000,3000,10000 cargo test -p egret-offline --release --test it -- --ignored --nocapture reliable_ones

use egret::{EventRng, Stream};
use egret_offline::{Estimate, Estimator, IntervalKind, Plan};
use egret_testkit::allowed_misses;
use rayon::prelude::*;

use crate::logs::{Log, level};

/// How weights spread; their mean is 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Weights {
    Constant,
    /// 0, 1 or 3.
    UpTo3,
    /// 5 with probability 0.1.
    UpTo5,
    /// 20 with probability 0.02.
    UpTo20,
    /// 50 with probability 0.01: the case of a review.
    UpTo50,
    Lognormal(f64),
    /// P(w > x) ∝ x^(−a).
    Pareto(f64),
    /// The inverse density of CappedIGW at τ = 4 and γ = 100 over f̂(a) = a, with its bound known. Losses grow with a.
    CappedIgw,
}

pub const WEIGHTS: [Weights; 12] = [
    Weights::Constant,
    Weights::UpTo3,
    Weights::UpTo5,
    Weights::UpTo20,
    Weights::UpTo50,
    Weights::Lognormal(0.5),
    Weights::Lognormal(1.0),
    Weights::Lognormal(1.5),
    Weights::Pareto(1.5),
    Weights::Pareto(2.0),
    Weights::Pareto(3.0),
    Weights::CappedIgw,
];

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Losses {
    Bernoulli(f64),
    /// Evenly in [0.1, 0.2].
    SmallRange,
    /// The product of two numbers in [0, 1].
    Continuous,
}

pub const LOSSES: [Losses; 6] = [
    Losses::Bernoulli(0.5),
    Losses::Bernoulli(0.1),
    Losses::Bernoulli(0.03),
    Losses::Bernoulli(0.01),
    Losses::SmallRange,
    Losses::Continuous,
];

impl Losses {
    fn mean(self) -> f64 {
        match self {
            Self::Bernoulli(mean) => mean,
            Self::SmallRange => 0.15,
            Self::Continuous => 0.25,
        }
    }

    fn draw(self, rng: &mut EventRng) -> f64 {
        match self {
            Self::Bernoulli(mean) => f64::from(rng.unit() < mean),
            Self::SmallRange => 0.1 + 0.1 * rng.unit(),
            Self::Continuous => rng.unit() * rng.unit(),
        }
    }
}

/// (a, 1/p(a)) of CappedIGW, where ∫ g = τβ + τ/γ · ln(1 + γ(1 − β)) is 1.
fn capped_igw(rng: &mut EventRng) -> (f64, f64) {
    let (tau, gamma, beta) = capped_igw_settings();
    loop {
        let a = rng.unit();
        let g = tau / (1.0 + gamma * (a - beta).max(0.0));
        if rng.unit() * tau < g {
            return (a, 1.0 / g);
        }
    }
}

fn capped_igw_settings() -> (f64, f64, f64) {
    let (tau, gamma) = (4.0, 100.0);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let beta: f64 = 0.5 * (low + high);
        if tau * beta + tau / gamma * (gamma * (1.0 - beta)).ln_1p() < 1.0 {
            low = beta;
        } else {
            high = beta;
        }
    }
    (tau, gamma, 0.5 * (low + high))
}

impl Weights {
    /// A known bound.
    pub fn bound(self) -> Option<f64> {
        let (tau, gamma, beta) = capped_igw_settings();
        (self == Self::CappedIgw).then(|| (1.0 + gamma * (1.0 - beta)) / tau)
    }

    /// A weight, and the action that losses grow with.
    fn draw(self, rng: &mut EventRng) -> (f64, Option<f64>) {
        let mut rare = |w: f64, q: f64| {
            let rest = (1.0 - w * q) / (1.0 - q);
            if rng.unit() < q { w } else { rest }
        };
        let w = match self {
            Self::Constant => 1.0,
            Self::UpTo3 => {
                let u = rng.unit();
                f64::from(u8::from(u < 0.4)) + 3.0 * f64::from(u8::from(0.8 < u))
            }
            Self::UpTo5 => rare(5.0, 0.1),
            Self::UpTo20 => rare(20.0, 0.02),
            Self::UpTo50 => rare(50.0, 0.01),
            Self::Lognormal(sigma) => {
                let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
                let normal = radius * (std::f64::consts::TAU * rng.unit()).cos();
                (sigma * normal - 0.5 * sigma * sigma).exp()
            }
            Self::Pareto(a) => (a - 1.0) / a * (1.0 - rng.unit()).powf(-1.0 / a),
            Self::CappedIgw => {
                let (a, w) = capped_igw(rng);
                return (w, Some(a));
            }
        };
        (w, None)
    }
}

/// A cell of the grid.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    pub weights: Weights,
    pub losses: Losses,
    pub n: usize,
}

impl Cell {
    /// Weights up to 5, at least 1,000 events, and a mean loss in [0.1, 0.9].
    fn is_easy(self) -> bool {
        let weights = [Weights::Constant, Weights::UpTo3, Weights::UpTo5];
        weights.contains(&self.weights) && 1_000 <= self.n && 0.1 <= self.losses.mean()
    }

    pub fn log(self, trial: u64) -> Log {
        let mut rng = EventRng::new(41, trial, Stream::World);
        let mut log = Log::default();
        let mean = self.losses.mean();
        for _ in 0..self.n {
            let (w, action) = self.weights.draw(&mut rng);
            let loss = match action {
                // Twice the loss with probability a, else none.
                Some(a) if rng.unit() < a => (2.0 * self.losses.draw(&mut rng)).min(1.0),
                Some(_) => 0.0,
                None => self.losses.draw(&mut rng),
            };
            // What is known of a context, right or wrong, whatever the action.
            let predicted = mean * (0.5 + rng.unit());
            log.losses.push(loss);
            log.weights.push(w);
            log.predicted.push(predicted);
            log.policy_predicted.push(predicted);
        }
        log
    }

    /// The value: that of doubled losses, cut off at 1, where losses grow with a.
    pub fn value(self) -> f64 {
        match (self.weights, self.losses) {
            (Weights::CappedIgw, Losses::Bernoulli(mean)) => 0.5 * mean,
            // E min(2uv, 1)/2 = E uv − E (2uv − 1)₊/2.
            (Weights::CappedIgw, Losses::Continuous) => 0.25 - 0.5 * CONTINUOUS_EXCESS,
            _ => self.losses.mean(),
        }
    }
}

/// E (2uv − 1)₊ = ∫ (2x − 1)(−ln x) dx over [½, 1] = ¼ ln 2 − ⅛.
const CONTINUOUS_EXCESS: f64 = 0.25 * std::f64::consts::LN_2 - 0.125;

/// How often rows were called reliable, and how often those missed.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    logs: u64,
    reliable: u64,
    missed: u64,
}

const ESTIMATORS: [Estimator; 4] = [
    Estimator::Snips,
    Estimator::Sndr,
    Estimator::Dr,
    Estimator::Ips,
];

pub type Row = (Estimator, IntervalKind);

/// The counts of each estimator and interval over so many logs.
fn count(cell: Cell, logs: u64, intervals: &[IntervalKind]) -> Vec<(Row, Count)> {
    let plan = Plan {
        estimators: ESTIMATORS.to_vec(),
        intervals: intervals.to_vec(),
        weight_bound: cell.weights.bound(),
        ..Plan::default()
    };
    let value = cell.value();
    let rows: Vec<Vec<Estimate>> = (0..logs)
        .into_par_iter()
        .map(|trial| cell.log(trial).report(&plan, level(0.95)).estimates)
        .collect();
    let mut counts: Vec<(Row, Count)> = Vec::new();
    for estimate in rows.iter().flatten() {
        let row = (estimate.estimator, estimate.interval);
        let place = counts.iter().position(|(known, _)| *known == row);
        let place = place.unwrap_or_else(|| {
            counts.push((row, Count::default()));
            counts.len() - 1
        });
        let count = &mut counts[place].1;
        let held = estimate.low <= value && value <= estimate.high;
        let reliable = estimate.verdict.is_reliable();
        count.logs += 1;
        count.reliable += u64::from(reliable);
        count.missed += u64::from(reliable && !held);
    }
    counts
}

/// Counts every cell, and what breaks the promise.
fn run(
    sizes: &[usize],
    logs: u64,
    intervals: &[IntervalKind],
) -> (Vec<(Cell, Row, Count)>, Vec<String>) {
    let (mut all, mut broken) = (Vec::new(), Vec::new());
    for (weights, losses) in WEIGHTS
        .into_iter()
        .flat_map(|weights| LOSSES.map(|losses| (weights, losses)))
    {
        for &n in sizes {
            let cell = Cell { weights, losses, n };
            for (row, found) in count(cell, logs, intervals) {
                let Count {
                    logs,
                    reliable,
                    missed,
                } = found;
                // Once in a million for each row, and so once in a thousand for up to a thousand of them.
                if 200 <= reliable && allowed_misses(reliable, 0.07) < missed {
                    broken.push(format!("{cell:?} {row:?}: {missed} of {reliable} missed"));
                }
                if cell.is_easy() && row.1 == IntervalKind::Normal && 5 * reliable < 4 * logs {
                    broken.push(format!(
                        "{cell:?} {row:?}: only {reliable} of {logs} are reliable"
                    ));
                }
                all.push((cell, row, found));
            }
        }
    }
    (all, broken)
}

#[test]
fn reliable_intervals_cover_and_easy_logs_are_reliable() {
    let (all, broken) = run(&[300, 1_000], 250, &[IntervalKind::Normal]);
    assert!(broken.is_empty(), "{broken:#?}");
    // What the verdicts are for: without them some of these intervals cover less than 80%.
    let refused = all
        .iter()
        .filter(|(.., count)| 5 * count.reliable < count.logs);
    assert!(100 < refused.count());
}

#[test]
#[ignore = "takes minutes; prints the table of docs/offline.md"]
fn reliable_ones_over_the_whole_grid() {
    let number = |name: &str, usual: &str| std::env::var(name).unwrap_or(usual.to_owned());
    let logs = number("LOGS", "1000").parse().expect("a number");
    let sizes = number("SIZES", "100,300,1000,3000,10000");
    let sizes: Vec<usize> = sizes
        .split(',')
        .map(|n| n.parse().expect("a number"))
        .collect();
    let kinds = [IntervalKind::Normal, IntervalKind::Betting];
    let (all, broken) = run(&sizes, logs, &kinds);
    println!(
        "| weights | events | snips | dr | sndr | ips | betting on ips |\n|---|--:|--:|--:|--:|--:|--:|"
    );
    for weights in WEIGHTS {
        for &n in &sizes {
            let cell = |estimator, kind| {
                let rows: Vec<&Count> = all
                    .iter()
                    .filter(|(cell, row, _)| {
                        cell.weights == weights && cell.n == n && *row == (estimator, kind)
                    })
                    .map(|(.., count)| count)
                    .collect();
                let sum = |of: fn(&Count) -> u64| rows.iter().map(|count| of(count)).sum::<u64>();
                let share = sum(|count| count.reliable) as f64 / sum(|count| count.logs) as f64;
                let least = rows
                    .iter()
                    .filter(|count| 200 <= count.reliable)
                    .map(|count| 1.0 - count.missed as f64 / count.reliable as f64)
                    .fold(f64::INFINITY, f64::min);
                match least.is_finite() {
                    true => format!("{:.0}% ({:.1}%)", 100.0 * share, 100.0 * least),
                    false => format!("{:.0}% (–)", 100.0 * share),
                }
            };
            let columns = [
                Estimator::Snips,
                Estimator::Dr,
                Estimator::Sndr,
                Estimator::Ips,
            ]
            .map(|estimator| cell(estimator, IntervalKind::Normal));
            let betting = cell(Estimator::Ips, IntervalKind::Betting);
            println!(
                "| {weights:?} | {n} | {} | {betting} |",
                columns.join(" | ")
            );
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
