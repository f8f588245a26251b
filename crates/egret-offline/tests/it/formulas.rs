//! Every estimator beside its formula, written out plainly.

use egret_offline::{Estimator, Evaluation, IntervalKind, LowerMean, Plan, WeightedEvents};

use crate::logs::{Log, Weights, level, log};

/// Estimate and standard error from influence values: dᵢ is what event i adds, less what it should.
fn from_influences(estimate: f64, influences: &[f64]) -> (f64, f64) {
    let n = influences.len() as f64;
    let squares: f64 = influences.iter().map(|d| d * d).sum();
    (estimate, (squares * n / (n - 1.0)).sqrt())
}

/// As in the tables of the documentation; h = 1 where there are no event weights.
fn plain(name: &str, log: &Log) -> (f64, f64) {
    let n = log.losses.len();
    let event_weight = |i: usize| {
        log.event_weights
            .as_ref()
            .map_or(1.0, |event_weights| event_weights[i])
    };
    let h: f64 = (0..n).map(event_weight).sum();
    let mean = |term: &dyn Fn(usize) -> f64| {
        let mean = (0..n).map(|i| event_weight(i) * term(i)).sum::<f64>() / h;
        let influences: Vec<f64> = (0..n)
            .map(|i| event_weight(i) * (term(i) - mean) / h)
            .collect();
        from_influences(mean, &influences)
    };
    let (l, w, f, b) = (
        &log.losses,
        &log.weights,
        &log.predicted,
        &log.policy_predicted,
    );
    let total: f64 = (0..n).map(|i| event_weight(i) * w[i]).sum();
    match name {
        "ips" => mean(&|i| w[i] * l[i]),
        "clipped-ips:3" => mean(&|i| w[i].min(3.0) * l[i]),
        "dm" => mean(&|i| b[i]),
        "dr" => mean(&|i| b[i] + w[i] * (l[i] - f[i])),
        "switch:3" => mean(&|i| {
            b[i] + if w[i] <= 3.0 {
                w[i] * (l[i] - f[i])
            } else {
                0.0
            }
        }),
        "drs:9" => mean(&|i| b[i] + 9.0 * w[i] / (w[i] * w[i] + 9.0) * (l[i] - f[i])),
        "snips" => {
            let ratio = (0..n).map(|i| event_weight(i) * w[i] * l[i]).sum::<f64>() / total;
            let influence = |i: usize| event_weight(i) * w[i] * (l[i] - ratio) / total;
            from_influences(ratio, &(0..n).map(influence).collect::<Vec<f64>>())
        }
        "sndr" => {
            let base = (0..n).map(|i| event_weight(i) * b[i]).sum::<f64>() / h;
            let ratio = (0..n)
                .map(|i| event_weight(i) * w[i] * (l[i] - f[i]))
                .sum::<f64>()
                / total;
            let influence = |i: usize| {
                event_weight(i) * (b[i] - base) / h
                    + event_weight(i) * w[i] * (l[i] - f[i] - ratio) / total
            };
            from_influences(base + ratio, &(0..n).map(influence).collect::<Vec<f64>>())
        }
        other => unreachable!("{other}"),
    }
}

const NAMES: [&str; 8] = [
    "ips",
    "snips",
    "clipped-ips:3",
    "switch:3",
    "dm",
    "dr",
    "sndr",
    "drs:9",
];

#[test]
fn estimates_and_normal_intervals_are_the_formulas() {
    for weights in [
        Weights::Window(4.0),
        Weights::Pareto(2.5),
        Weights::Narrowing,
    ] {
        let mut log = log(weights, 10_001, 8);
        // Policies' predicted losses that differ from f̂, and losses between 0 and 1.
        for i in 0..log.losses.len() {
            log.policy_predicted[i] = 0.5 * log.predicted[i] + 0.1;
            log.losses[i] = (0.7 * log.losses[i] + 0.2 * log.predicted[i]).min(1.0);
        }
        let plan = Plan {
            estimators: NAMES
                .iter()
                .map(|name| name.parse().expect("a name"))
                .collect(),
            intervals: vec![IntervalKind::Normal],
            ..Plan::default()
        };
        let report = log.report(&plan, level(0.9));
        for (row, name) in report.estimates.iter().zip(NAMES) {
            let (estimate, error) = plain(name, &log);
            let margin = 1.644_853_626_951_472_7 * error;
            assert!((row.estimate - estimate).abs() < 1e-12, "{name}");
            assert!((row.low - (estimate - margin)).abs() < 1e-11, "{name}");
            assert!((row.high - (estimate + margin)).abs() < 1e-11, "{name}");
            assert_eq!(row.more_events, Some(3 * 10_001));
        }
    }
}

#[test]
fn a_tuned_number_has_the_least_estimated_error() {
    let log = log(Weights::Pareto(1.5), 3_000, 9);
    let (l, w) = (&log.losses, &log.weights);
    let n = l.len() as f64;
    let score = |c: f64| {
        let terms: Vec<f64> = w.iter().zip(l).map(|(w, l)| w.min(c) * l).collect();
        let mean = terms.iter().sum::<f64>() / n;
        let variance = terms.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / (n - 1.0) / n;
        let bias = w
            .iter()
            .zip(l)
            .map(|(w, l)| (w - w.min(c)) * l)
            .sum::<f64>()
            / n;
        bias * bias + variance
    };
    let grid: Vec<f64> = (0..20).map(|k| 2.0_f64.powi(k)).collect();
    let best = grid
        .iter()
        .copied()
        .min_by(|&a, &b| score(a).total_cmp(&score(b)))
        .expect("twenty");
    let plan = Plan {
        estimators: vec!["clipped-ips".parse().expect("a name")],
        intervals: vec![IntervalKind::Normal],
        ..Plan::default()
    };
    let row = &log.report(&plan, level(0.95)).estimates[0];
    assert!(row.tuned);
    // Neither end of the grid, so that the rule has something to weigh up.
    assert!(1.0 < best && best < 1e3, "{best}");
    assert_eq!(row.estimator.to_string(), format!("clipped-ips:{best}"));
}

#[test]
fn unlimited_numbers_are_the_plain_estimators() {
    let log = log(Weights::Pareto(2.5), 5_000, 10);
    let plan = Plan {
        estimators: [
            "ips",
            "clipped-ips:inf",
            "dr",
            "switch:inf",
            "drs:inf",
            "dm",
            "switch:1e-9",
        ]
        .iter()
        .map(|name| name.parse().expect("a name"))
        .collect(),
        intervals: vec![IntervalKind::Normal],
        ..Plan::default()
    };
    let rows = log.report(&plan, level(0.95)).estimates;
    let same = |a: usize, b: usize| {
        assert_eq!(rows[a].estimate, rows[b].estimate);
        assert_eq!(rows[a].low, rows[b].low);
    };
    same(0, 1);
    same(2, 3);
    same(2, 4);
    same(5, 6);
}

#[test]
fn bets_are_the_plain_products() {
    let log = log(Weights::Pareto(1.5), 700, 12);
    let mut mean = LowerMean::new();
    mean.observe(&log.weights[..300]);
    mean.observe(&log.weights[300..]);
    assert_eq!(mean.events(), 700);
    // Each θ by itself: the largest is what the mixture is, but for a prior of at least e^-9 in all.
    for v in [0.0, 0.3, 1.0, 2.0] {
        let best = (-24..8)
            .map(|k| {
                let theta = 2.0_f64.powi(k);
                let factor = |x: &f64| ((1.0 + theta * x) / (1.0 + theta * v)).ln();
                log.weights.iter().map(factor).sum::<f64>()
            })
            .fold(f64::NEG_INFINITY, f64::max);
        let found = mean.log_wealth(v);
        assert!(
            found <= best + 1e-9 && best - 9.5 < found,
            "{v}: {found} {best}"
        );
    }
}

#[test]
fn the_path_ends_where_the_interval_is() {
    let log = log(Weights::Window(8.0), 10_000, 13);
    let report = log.report(&Plan::default(), level(0.95));
    let row = report
        .estimates
        .iter()
        .find(|row| row.interval == IntervalKind::Betting)
        .expect("betting is planned");
    let last = report.path.last().expect("a path");
    assert_eq!((last.n, last.low, last.high), (10_000, row.low, row.high));
    assert!(report.path.windows(2).all(|pair| pair[0].n < pair[1].n));
    // Each point is what a log that ends there would say.
    for point in report.path.iter().step_by(9) {
        let part = log.part(0..point.n as usize);
        let report = part.report(&Plan::default(), level(0.95));
        let row = report.path.last().expect("a path");
        assert_eq!(row.n, point.n);
        assert!((row.low - point.low).abs() < 1e-9, "{row:?} {point:?}");
        assert!((row.high - point.high).abs() < 1e-9, "{row:?} {point:?}");
    }
}

#[test]
fn what_cannot_be_had_is_skipped_with_a_reason() {
    let log = log(Weights::Pareto(2.5), 100, 14);
    let mut plan = Plan {
        estimators: Estimator::ALL.to_vec(),
        intervals: IntervalKind::ALL.to_vec(),
        ..Plan::default()
    };
    let skipped = |plan: &Plan| {
        let mut skipped: Vec<String> = log
            .report(plan, level(0.95))
            .skipped
            .iter()
            .map(|row| format!("{} {}", row.estimator, row.interval))
            .collect();
        skipped.sort();
        skipped
    };
    let none = [
        "clipped-ips betting",
        "dm betting",
        "dr betting",
        "dr empirical-bernstein",
        "drs betting",
        "ips empirical-bernstein",
        "sndr betting",
        "sndr empirical-bernstein",
        "snips betting",
        "snips empirical-bernstein",
        "switch betting",
    ];
    let found = skipped(&plan);
    // Whether a tuned number bounds the weights depends on which is chosen.
    let found: Vec<&str> = found
        .iter()
        .map(String::as_str)
        .filter(|row| none.contains(row) || !row.ends_with("empirical-bernstein"))
        .collect();
    assert_eq!(found, none);
    plan.weight_bound = Some(1e4);
    let bounded = [
        "clipped-ips betting",
        "dm betting",
        "drs betting",
        "sndr betting",
        "sndr empirical-bernstein",
        "snips betting",
        "snips empirical-bernstein",
        "switch betting",
    ];
    assert_eq!(skipped(&plan), bounded);
}

#[test]
fn a_bootstrap_at_too_high_a_level_is_skipped() {
    let log = log(Weights::Window(4.0), 500, 15);
    let plan = Plan {
        intervals: vec![IntervalKind::Bootstrap],
        ..Plan::default()
    };
    assert_eq!(log.report(&plan, level(0.98)).estimates.len(), 2);
    let report = log.report(&plan, level(0.95).simultaneous(20));
    assert!(report.estimates.is_empty());
    assert!(report.skipped[0].reason.contains("2/alpha"));
}

#[test]
fn no_events_and_no_weight_are_no_panic() {
    let plan = Plan {
        estimators: Estimator::ALL.to_vec(),
        intervals: IntervalKind::ALL.to_vec(),
        weight_bound: Some(2.0),
        ..Plan::default()
    };
    let empty = Evaluation::new(plan.clone()).expect("a plan");
    let report = empty.report(level(0.95));
    assert!(report.path.is_empty());
    assert!(
        report
            .estimates
            .iter()
            .all(|row| !row.verdict.is_reliable())
    );
    for n in [1, 2, 50] {
        let events = WeightedEvents {
            losses: &vec![0.5; n],
            weights: &vec![0.0; n],
            predicted: Some(&vec![0.5; n]),
            policy_predicted: Some(&vec![0.25; n]),
            ..WeightedEvents::default()
        };
        let mut evaluation = Evaluation::new(plan.clone()).expect("a plan");
        evaluation.observe(&events).expect("in range");
        let report = evaluation.report(level(0.95));
        assert!(
            report
                .estimates
                .iter()
                .all(|row| !row.verdict.is_reliable())
        );
    }
}
