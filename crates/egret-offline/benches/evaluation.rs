//! What a user waits for. `cargo bench -p egret-offline`.
//!
//! | group        | what is timed                                               | what to look for                   |
//! |--------------|-------------------------------------------------------------|------------------------------------|
//! | `evaluation` | a million events from memory: moments, bets, all together   | 10 million events/s for the usual  |
//! | `bootstrap`  | 200 replicates of IPS, SNIPS and DR                         | about a million events/s and core  |
//!
//! Throughput is in events. `usual` is IPS, SNIPS and DR with normal intervals and bets; with bounds, of the log or of each event,
//! there are more bets. `--test` runs each once, on few events.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use egret::{EventRng, Stream};
use egret_offline::{Confidence, Estimator, Evaluation, IntervalKind, Plan, WeightedEvents};

struct Log {
    losses: Vec<f64>,
    weights: Vec<f64>,
    predicted: Vec<f64>,
    policy_predicted: Vec<f64>,
    event_weights: Vec<f64>,
    weight_bounds: Vec<f64>,
}

impl Log {
    fn new(events: usize) -> Self {
        let column = |event| {
            let mut units = vec![0.0; events];
            EventRng::new(1, event, Stream::World).fill_unit(&mut units);
            units
        };
        let mut weights = column(1);
        for w in &mut weights {
            *w = if *w < 0.5 { 0.0 } else { 1.0 / *w };
        }
        let mut event_weights = column(4);
        event_weights.sort_unstable_by(|a, b| b.total_cmp(a));
        Self {
            losses: column(0),
            weights,
            predicted: column(2),
            policy_predicted: column(3),
            event_weights,
            weight_bounds: vec![2.0; events],
        }
    }

    fn events(&self) -> WeightedEvents<'_> {
        WeightedEvents {
            losses: &self.losses,
            weights: &self.weights,
            predicted: Some(&self.predicted),
            policy_predicted: Some(&self.policy_predicted),
            ..WeightedEvents::default()
        }
    }
}

fn evaluate(plan: &Plan, events: &WeightedEvents<'_>) -> f64 {
    let mut evaluation = Evaluation::new(plan.clone()).expect("a plan");
    evaluation.observe(events).expect("in range");
    let level = Confidence::new(0.95).expect("a level");
    evaluation.report(level).estimates[0].low
}

fn evaluation(criterion: &mut Criterion) {
    let log = Log::new(events(1_000_000));
    let mut group = criterion.benchmark_group("evaluation");
    group.throughput(Throughput::Elements(log.losses.len() as u64));
    group.sample_size(10);
    let usual = vec![Estimator::Ips, Estimator::Snips, Estimator::Dr];
    let moments = Plan {
        estimators: usual.clone(),
        intervals: vec![IntervalKind::Normal],
        ..Plan::default()
    };
    let bets = Plan {
        estimators: vec![Estimator::Ips],
        intervals: vec![IntervalKind::Betting],
        ..Plan::default()
    };
    let usual = Plan {
        intervals: vec![IntervalKind::Normal, IntervalKind::Betting],
        estimators: usual,
        ..Plan::default()
    };
    let all = Plan {
        estimators: Estimator::ALL.to_vec(),
        weight_bound: Some(2.0),
        intervals: vec![
            IntervalKind::Normal,
            IntervalKind::EmpiricalBernstein,
            IntervalKind::Betting,
        ],
        ..Plan::default()
    };
    for (name, plan) in [
        ("moments", &moments),
        ("bets", &bets),
        ("usual", &usual),
        ("all but the bootstrap", &all),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(evaluate(plan, &log.events())));
        });
    }
    group.bench_function("usual, with event weights", |bencher| {
        let events = WeightedEvents {
            event_weights: Some(&log.event_weights),
            ..log.events()
        };
        bencher.iter(|| black_box(evaluate(&usual, &events)));
    });
    let bounded = Plan {
        weight_bound: Some(2.0),
        ..usual.clone()
    };
    group.bench_function("usual, with a bound", |bencher| {
        bencher.iter(|| black_box(evaluate(&bounded, &log.events())));
    });
    let bounds_of_events = Plan {
        event_bounds: true,
        ..usual.clone()
    };
    group.bench_function("usual, with bounds of events", |bencher| {
        let events = WeightedEvents {
            weight_bounds: Some(&log.weight_bounds),
            ..log.events()
        };
        bencher.iter(|| black_box(evaluate(&bounds_of_events, &events)));
    });
    group.finish();
}

fn bootstrap(criterion: &mut Criterion) {
    let log = Log::new(events(100_000));
    let mut group = criterion.benchmark_group("bootstrap");
    group.throughput(Throughput::Elements(log.losses.len() as u64));
    group.sample_size(10);
    let plan = Plan {
        estimators: vec![Estimator::Ips, Estimator::Snips, Estimator::Dr],
        intervals: vec![IntervalKind::Bootstrap],
        ..Plan::default()
    };
    group.bench_function("200 replicates", |bencher| {
        bencher.iter(|| black_box(evaluate(&plan, &log.events())));
    });
    group.finish();
}

/// Few where all is only to run once.
fn events(events: usize) -> usize {
    if std::env::args().any(|argument| argument == "--test") {
        10_000
    } else {
        events
    }
}

criterion_group!(benches, evaluation, bootstrap);
criterion_main!(benches);
