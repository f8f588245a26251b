//! Batches, threads and parts of a log.

use egret_offline::{
    Estimator, Evaluation, IntervalKind, PairedEvents, PairedTruncatedMeans, Plan,
    PolicyComparison, Report, TRUNCATIONS,
};
use proptest::prelude::*;

use crate::logs::{Log, Weights, level, log};

fn everything() -> Plan {
    Plan {
        estimators: Estimator::ALL.to_vec(),
        intervals: IntervalKind::ALL.to_vec(),
        weight_bound: Some(1e4),
        event_bounds: true,
        truncated: false,
        replicates: 20,
        seed: 3,
    }
}

fn in_batches(log: &Log, batches: &[usize], threads: usize) -> Report {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("threads").install(|| {
        let mut evaluation = Evaluation::new(everything()).expect("a plan");
        let mut start = 0_usize;
        for &batch in batches.iter().chain([&usize::MAX]) {
            let end = log.losses.len().min(start.saturating_add(batch));
            let part = log.part(start..end);
            evaluation.observe(&part.events()).expect("in range");
            start = end;
        }
        evaluation.leave_out(7);
        evaluation.report(level(0.95))
    })
}

#[test]
fn threads_and_batches_change_no_bit() {
    for weights in [Weights::Pareto(2.5), Weights::Narrowing] {
        let log = log(weights, 30_000, 1);
        let whole = in_batches(&log, &[], 1);
        // NaN is unequal to itself: there must be none for the comparison to mean anything.
        assert!(whole.estimates.iter().all(|row| row.low.is_finite()));
        assert_eq!(whole, in_batches(&log, &[], 2));
        assert_eq!(
            whole,
            in_batches(&log, &[1, 4_095, 4_096, 5_000, 12_288], 8)
        );
        assert_eq!(whole, in_batches(&log, &[4_096; 7], 8));
        assert_eq!(whole, in_batches(&log, &[97; 300], 2));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn any_batches_give_the_same_bits(
        batches in proptest::collection::vec(1_usize..7_000, 0..8)
    ) {
        let log = log(Weights::Window(8.0), 13_000, 2);
        prop_assert_eq!(in_batches(&log, &batches, 2), in_batches(&log, &[], 1));
    }
}

#[test]
fn a_comparison_does_not_depend_on_batches_or_threads() {
    let (first, second) = (
        log(Weights::Window(8.0), 20_000, 3),
        log(Weights::Pareto(2.5), 20_000, 4),
    );
    let compare = |batches: &[usize], threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads").install(|| {
            let comparison = PolicyComparison::new(Some(1e4)).expect("a bound");
            let mut comparison = comparison.with_event_bounds().with_truncated_means();
            let bounds = vec![1e4; first.losses.len()];
            let nothing = vec![0.0; first.losses.len()];
            let mut start = 0_usize;
            for &batch in batches.iter().chain([&usize::MAX]) {
                let end = first.losses.len().min(start.saturating_add(batch));
                let events = PairedEvents {
                    losses: &first.losses[start..end],
                    weights: [&first.weights[start..end], &second.weights[start..end]],
                    predictions: Some([
                        &first.predicted[start..end],
                        &first.policy_predicted[start..end],
                        &second.policy_predicted[start..end],
                    ]),
                    truncated: Some(PairedTruncatedMeans {
                        common: &nothing[start..end],
                        below: [&nothing[start..end]; TRUNCATIONS.len()],
                        above: [&nothing[start..end]; TRUNCATIONS.len()],
                    }),
                    weight_bounds: Some([&bounds[start..end]; 2]),
                    ..PairedEvents::default()
                };
                comparison.observe(&events).expect("in range");
                start = end;
            }
            comparison.report(level(0.9))
        })
    };
    let whole = compare(&[], 1);
    assert_eq!(whole.differences.len(), 7);
    assert_eq!(whole, compare(&[1, 4_095, 5_000, 4_096], 8));
}

#[test]
fn merging_is_concatenating_but_for_rounding() {
    let log = log(Weights::Window(8.0), 20_000, 5);
    let whole = log.report(&everything(), level(0.95));
    for cut in [0, 1, 4_096, 9_999, 20_000] {
        let part = |range: std::ops::Range<usize>| {
            let first = range.start as u64;
            let mut evaluation = Evaluation::from_row(everything(), first).expect("a plan");
            evaluation
                .observe(&log.part(range).events())
                .expect("in range");
            evaluation
        };
        let mut merged = part(0..cut);
        merged.merge(&part(cut..20_000)).expect("connected");
        let merged = merged.report(level(0.95));
        assert_eq!(merged.estimates.len(), whole.estimates.len());
        for (ours, theirs) in merged.estimates.iter().zip(&whole.estimates) {
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-11 * (1.0 + b.abs());
            assert_eq!(ours.estimator, theirs.estimator);
            assert!(close(ours.estimate, theirs.estimate), "{ours:?}");
            assert!(close(ours.low, theirs.low), "{ours:?}\n{theirs:?}");
            assert!(close(ours.high, theirs.high), "{ours:?}\n{theirs:?}");
        }
        assert_eq!(merged.diagnostics.n, 20_000);
        assert_eq!(
            merged.diagnostics.largest_weights,
            whole.diagnostics.largest_weights
        );
    }
}

#[test]
fn comparisons_merge_too() {
    let (first, second) = (
        log(Weights::Window(8.0), 9_000, 3),
        log(Weights::Window(2.0), 9_000, 4),
    );
    let part = |range: std::ops::Range<usize>, bound| {
        let mut comparison = PolicyComparison::new(bound).expect("a bound");
        let events = PairedEvents {
            losses: &first.losses[range.clone()],
            weights: [&first.weights[range.clone()], &second.weights[range]],
            ..PairedEvents::default()
        };
        comparison.observe(&events).expect("in range");
        comparison
    };
    let whole = part(0..9_000, None).report(level(0.95));
    let mut merged = part(0..5_000, None);
    merged.merge(&part(5_000..9_000, None)).expect("alike");
    let merged = merged.report(level(0.95));
    for (ours, theirs) in merged.differences.iter().zip(&whole.differences) {
        assert_eq!(ours.n, 9_000);
        assert!((ours.low - theirs.low).abs() < 1e-11, "{ours:?}");
        assert!((ours.high - theirs.high).abs() < 1e-11, "{ours:?}");
    }
    let mut other = part(0..10, None);
    assert!(other.merge(&part(10..20, Some(8.0))).is_err());
}

#[test]
fn values_are_frozen() {
    // A change here is value-breaking: the same log would get other intervals, or another machine other bits.
    let mut log = log(Weights::Window(8.0), 5_000, 1);
    for (i, w) in log.weights.iter_mut().enumerate() {
        *w *= 0.5 + (i % 16) as f64 / 16.0;
    }
    let plan = Plan {
        estimators: vec![Estimator::Ips, Estimator::Snips, Estimator::Dr],
        intervals: IntervalKind::ALL.to_vec(),
        weight_bound: Some(16.0),
        ..Plan::default()
    };
    let rows = log.report(&plan, level(0.95)).estimates;
    let bits: Vec<u64> = rows.iter().map(|row| row.low.to_bits()).collect();
    assert_eq!(bits, FROZEN);
}

const FROZEN: [u64; 13] = [
    4597481901892550522,
    4596572989546337900,
    4597422019337326211,
    4595540663218788129,
    4596956280394912634,
    4598078466534054088,
    4597261853549960680,
    4598082274387445176,
    4598563686760175284,
    4598210418686732139,
    4598632547449391216,
    4595927860168746242,
    4598203711731226772,
];

#[test]
fn parts_that_do_not_follow_one_another_are_refused() {
    let plan = Plan::default();
    let mut first = Evaluation::new(plan.clone()).expect("a plan");
    let later = Evaluation::from_row(plan, 7).expect("a plan");
    let error = first.merge(&later).expect_err("rows are missing");
    assert!(error.to_string().contains("found row 7"), "{error}");
    let other = Evaluation::new(everything()).expect("a plan");
    assert!(first.merge(&other).is_err());
}

#[test]
fn a_refused_batch_leaves_no_trace() {
    let log = log(Weights::Window(8.0), 5_000, 6);
    let mut evaluation = Evaluation::new(everything()).expect("a plan");
    evaluation.observe(&log.events()).expect("in range");
    let before = evaluation.report(level(0.95));
    let mut bad = log.clone();
    bad.weights[17] = 1e4 + 1.0;
    let error = evaluation.observe(&bad.events()).expect_err("above bound");
    assert_eq!(
        error.to_string(),
        "weight of row 5017 is 10001, above the bound 10000 that was given"
    );
    let error = evaluation
        .observe(&egret_offline::WeightedEvents {
            predicted: None,
            ..log.events()
        })
        .expect_err("no column");
    assert!(error.to_string().contains("predicted"), "{error}");
    assert_eq!(evaluation.report(level(0.95)), before);
}
