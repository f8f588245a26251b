//! Each verdict on a log that deserves it, and none on one that does not.

use egret_offline::{Estimate, Estimator, Evaluation, IntervalKind, Plan, VerdictKind};

use crate::logs::{Log, Weights, level, log};

fn usual() -> Plan {
    Plan {
        estimators: vec![
            Estimator::Ips,
            Estimator::Snips,
            Estimator::Dm,
            "clipped-ips:2".parse().expect("a name"),
        ],
        ..Plan::default()
    }
}

fn rows(log: &Log, left_out: u64) -> Vec<Estimate> {
    let mut evaluation = Evaluation::new(usual()).expect("a plan");
    evaluation.observe(&log.events()).expect("in range");
    evaluation.leave_out(left_out);
    evaluation.report(level(0.95)).estimates
}

/// The verdict on IPS with an interval.
fn verdict(log: &Log, left_out: u64, interval: IntervalKind) -> (VerdictKind, String) {
    let row = rows(log, left_out)
        .into_iter()
        .find(|row| row.estimator == Estimator::Ips && row.interval == interval)
        .expect("planned");
    (row.verdict.kind, row.verdict.words)
}

use IntervalKind::{Betting, Normal};

#[test]
fn a_clean_log_is_trusted() {
    let trusted = (0..200)
        .filter(|&trial| {
            let log = log(Weights::Window(4.0), 4_000, trial);
            verdict(&log, 0, Normal).0 == VerdictKind::Trust
                && verdict(&log, 0, Betting).0 == VerdictKind::Trust
        })
        .count();
    // A mean weight four standard errors off comes once in 16,000 logs.
    assert!(199 <= trusted, "{trusted}");
}

#[test]
fn wrong_densities_are_seen_in_the_mean_weight() {
    for factor in [0.8, 1.25] {
        let mut log = log(Weights::Window(4.0), 20_000, 1);
        for w in &mut log.weights {
            *w *= factor;
        }
        for interval in [Normal, Betting] {
            let (kind, words) = verdict(&log, 0, interval);
            assert_eq!(kind, VerdictKind::MeanWeightOff, "{factor} {interval}");
            assert!(words.contains("densities"), "{words}");
        }
    }
}

#[test]
fn impossible_weights_leave_no_value() {
    let mut log = log(Weights::Window(4.0), 20_000, 1);
    for w in &mut log.weights {
        *w *= 3.0;
    }
    let (kind, words) = verdict(&log, 0, Betting);
    assert_eq!(kind, VerdictKind::MeanWeightOff);
    assert!(words.contains("no value is possible"), "{words}");
}

#[test]
fn events_left_out_are_named_with_their_share() {
    let log = log(Weights::Window(4.0), 7_500, 2);
    let (kind, words) = verdict(&log, 2_500, Normal);
    assert_eq!(kind, VerdictKind::LeftOut);
    assert!(words.contains("25.0%"), "{words}");
    assert_eq!(verdict(&log, 1, Normal).0, VerdictKind::Trust);
}

#[test]
fn one_event_that_dominates_is_named() {
    let mut log = log(Weights::Window(2.0), 1_000, 3);
    log.weights[500] = 400.0;
    let (kind, words) = verdict(&log, 0, Normal);
    assert_eq!(kind, VerdictKind::OneEventDominates);
    assert!(words.contains("one event has 2"), "{words}");
}

#[test]
fn few_effective_events_are_counted() {
    let (kind, words) = verdict(&log(Weights::Window(20.0), 1_000, 4), 0, Normal);
    assert_eq!(kind, VerdictKind::TooFewEffective);
    assert!(words.contains("effective"), "{words}");
}

#[test]
fn heavy_tails_point_to_betting() {
    let heavy = log(Weights::Pareto(1.3), 50_000, 5);
    let (kind, words) = verdict(&heavy, 0, Normal);
    assert_eq!(kind, VerdictKind::HeavyTails, "{words}");
    assert!(words.contains("betting"), "{words}");
    assert_eq!(verdict(&heavy, 0, Betting).0, VerdictKind::Trust);
    let light = log(Weights::Pareto(5.0), 50_000, 5);
    assert_eq!(verdict(&light, 0, Normal).0, VerdictKind::Trust);
}

#[test]
fn bias_is_named_where_there_is_some() {
    let log = log(Weights::Window(4.0), 4_000, 6);
    let kinds = |estimator: &str| {
        let rows = rows(&log, 0);
        let row = rows
            .iter()
            .find(|row| row.estimator.to_string() == estimator);
        row.expect("planned").verdict.kind
    };
    assert_eq!(kinds("dm"), VerdictKind::Biased);
    assert_eq!(kinds("clipped-ips:2"), VerdictKind::Biased);
    assert_eq!(kinds("ips"), VerdictKind::Trust);
}

#[test]
fn a_wide_interval_is_called_so() {
    let (kind, words) = verdict(&log(Weights::Window(20.0), 200, 7), 0, Betting);
    assert_eq!(kind, VerdictKind::Uninformative);
    assert!(words.contains("of all possible values"), "{words}");
}

#[test]
fn no_overlap_and_no_events_are_told() {
    let mut log = log(Weights::Window(4.0), 500, 8);
    log.weights.fill(0.0);
    assert_eq!(verdict(&log, 0, Normal).0, VerdictKind::NoOverlap);
    assert_eq!(verdict(&log.part(0..0), 0, Normal).0, VerdictKind::NoEvents);
}
