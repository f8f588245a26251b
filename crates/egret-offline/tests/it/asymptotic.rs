//! Asymptotic confidence sequences hold while one looks, where normal intervals do not, behind the same verdicts.
//!
//! The larger run, whose table is in `docs/offline.md`:
//!
//!     LOGS=1000 EVENTS=10000 cargo test -p egret-offline --release --test it -- --ignored --nocapture looked_at_over_the_whole_grid

use egret::{EventRng, Stream};
use egret_offline::{
    Estimate, Estimator, Evaluation, IntervalKind, PairedEvents, Plan, PolicyComparison,
};
use egret_testkit::allowed_misses;
use rayon::prelude::*;

use crate::logs::{Log, VALUE, Weights, level, log};
use crate::reliability::{self, Cell, LOSSES, Losses, Row, WEIGHTS};

use IntervalKind::{Asymptotic, Normal};

const ALPHA: f64 = 0.05;

const ESTIMATORS: [Estimator; 3] = [Estimator::Snips, Estimator::Dr, Estimator::Ips];

fn plan(weight_bound: Option<f64>) -> Plan {
    Plan {
        estimators: ESTIMATORS.to_vec(),
        intervals: vec![Normal, Asymptotic],
        weight_bound,
        ..Plan::default()
    }
}

/// Where one looks: after 100 events, and then whenever there are one in `part` more.
fn looks(events: usize, part: usize) -> Vec<usize> {
    let next = |&n: &usize| Some((n + n.div_ceil(part)).min(events)).filter(|&more| n < more);
    std::iter::successors(Some(100), next).collect()
}

/// What came of looking at a row while logs grew.
#[derive(Debug, Clone, Copy)]
struct Watched {
    row: Row,
    /// On how many logs it was called reliable at some look.
    reliable: u64,
    /// On how many it missed at a look at which it was called so.
    missed: u64,
}

/// One log, as `missed` judges its rows.
fn watch_one(log: &Log, plan: &Plan, missed: impl Fn(&Estimate) -> bool) -> Vec<Watched> {
    let mut evaluation = Evaluation::new(plan.clone()).expect("a plan");
    let mut seen: Vec<Watched> = Vec::new();
    let mut before = 0;
    for n in looks(log.losses.len(), 50) {
        let more = log.part(before..n);
        evaluation.observe(&more.events()).expect("in range");
        before = n;
        let rows = evaluation.report(level(1.0 - ALPHA)).estimates;
        if seen.is_empty() {
            let unseen = |row: &Estimate| Watched {
                row: (row.estimator, row.interval),
                reliable: 0,
                missed: 0,
            };
            seen = rows.iter().map(unseen).collect();
        }
        for (seen, row) in seen.iter_mut().zip(&rows) {
            if row.verdict.is_reliable() {
                seen.reliable = 1;
                seen.missed |= u64::from(missed(row));
            }
        }
    }
    seen
}

/// So many logs.
fn watch(
    logs: u64,
    plan: &Plan,
    log: impl Fn(u64) -> Log + Sync,
    missed: impl Fn(&Estimate) -> bool + Sync,
) -> Vec<Watched> {
    let one = |trial| watch_one(&log(trial), plan, &missed);
    let all = (0..logs).into_par_iter().map(one).reduce_with(added);
    all.expect("there are logs")
}

fn added(mut all: Vec<Watched>, more: Vec<Watched>) -> Vec<Watched> {
    for (one, more) in all.iter_mut().zip(more) {
        one.reliable += more.reliable;
        one.missed += more.missed;
    }
    all
}

fn watch_cell(cell: Cell, logs: u64) -> Vec<Watched> {
    let value = cell.value();
    let missed = |row: &Estimate| !(row.low <= value && value <= row.high);
    let plan = plan(cell.weights.bound());
    watch(logs, &plan, |trial| cell.log(10_000 + trial), missed)
}

/// What of a row misses more often than in 7% of the logs that it is called reliable on. It holds in the limit only: 2% more are
/// allowed, as in `reliability.rs`. A method that misses 7% is found once in a million.
fn broken(found: &[Watched], kind: IntervalKind) -> Vec<&Watched> {
    let of_kind = found.iter().filter(|watched| watched.row.1 == kind);
    of_kind
        .filter(|watched| allowed_misses(watched.reliable, 0.07) < watched.missed)
        .collect()
}

#[test]
fn reliable_ones_hold_however_often_one_looks() {
    use reliability::Weights::{Constant, Lognormal, UpTo3, UpTo5};
    let logs = 200;
    let weights = [Constant, UpTo3, UpTo5, Lognormal(0.5)];
    let losses = [
        Losses::Bernoulli(0.5),
        Losses::Bernoulli(0.1),
        Losses::SmallRange,
    ];
    let mut all: Option<Vec<Watched>> = None;
    for (weights, losses) in weights
        .into_iter()
        .flat_map(|weights| losses.map(|losses| (weights, losses)))
    {
        let n = 10_000;
        let found = watch_cell(Cell { weights, losses, n }, logs);
        let missing = broken(&found, Asymptotic);
        assert!(missing.is_empty(), "{weights:?} {losses:?}: {missing:?}");
        all = Some(match all {
            Some(all) => added(all, found),
            None => found,
        });
    }
    let all = all.expect("there are cells");
    for watched in &all {
        // Of 2,400 logs, what misses 5% is seen to miss 7.3% once in a million times. The power beside it: a normal interval is
        // looked at as often, and misses on more than every fifth log. Without its logarithm of n this one misses 11%.
        let rate = watched.missed as f64 / watched.reliable as f64;
        assert!(2_000 < watched.reliable, "{watched:?}");
        match watched.row.1 {
            Asymptotic => assert!(
                watched.missed <= allowed_misses(watched.reliable, ALPHA),
                "{watched:?}: {rate}"
            ),
            _ => assert!(0.2 < rate, "{watched:?}: {rate}"),
        }
    }
}

#[test]
fn event_weights_leave_it_right() {
    let missed = |row: &Estimate| !(row.low <= VALUE && VALUE <= row.high);
    let logs = 400;
    // As `--stabilize` weighs events: the variance of terms falls.
    let falling = |trial| log(Weights::Narrowing, 3_000, 710_000 + trial);
    // As 1/passProb does: losses of 1 were all kept, of the others one in four. The log has 3,000 that were kept.
    let kept = |trial| {
        let mut log = log(Weights::Window(2.0), 9_000, 720_000 + trial);
        let mut rng = EventRng::new(12, trial, Stream::World);
        let mut rows: Vec<usize> = (0..9_000)
            .filter(|&row| log.losses[row] == 1.0 || rng.unit() < 0.25)
            .collect();
        rows.truncate(3_000);
        let h = |&row: &usize| if log.losses[row] == 1.0 { 1.0 } else { 4.0 };
        let event_weights: Vec<f64> = rows.iter().map(h).collect();
        for column in [
            &mut log.losses,
            &mut log.weights,
            &mut log.predicted,
            &mut log.policy_predicted,
        ] {
            *column = rows.iter().map(|&row| column[row]).collect();
        }
        log.event_weights = Some(event_weights);
        log
    };
    let found = [
        watch(logs, &plan(None), falling, missed),
        watch(logs, &plan(None), kept, missed),
    ];
    for found in &found {
        assert!(found.iter().all(|watched| 390 <= watched.reliable));
        assert!(broken(found, Asymptotic).is_empty(), "{found:?}");
        // The power beside it.
        let normal = broken(found, Normal).len();
        assert_eq!(normal, ESTIMATORS.len(), "{found:?}");
    }
}

/// Adds events to a comparison of two windows on the same actions, of which the first has the loss 0.3 and the second 0.4.
fn compare_more(comparison: &mut PolicyComparison, events: usize, rng: &mut EventRng) {
    let (mut losses, mut first, mut second) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..events {
        let a = rng.unit();
        losses.push(f64::from(rng.unit() < 0.2 + 0.4 * a));
        first.push(if a < 0.5 { 2.0 } else { 0.0 });
        second.push(if (0.25..0.75).contains(&a) { 2.0 } else { 0.0 });
    }
    let predicted = vec![0.4; events];
    let paired = PairedEvents {
        losses: &losses,
        weights: [&first, &second],
        predictions: Some([&predicted; 3].map(|column| &column[..])),
        ..PairedEvents::default()
    };
    comparison.observe(&paired).expect("in range");
}

#[test]
fn differences_hold_however_often_one_looks() {
    let logs = 300;
    let missed = |trial: u64| {
        let mut rng = EventRng::new(13, trial, Stream::World);
        let mut comparison = PolicyComparison::new(None).expect("no bound");
        let mut missed: Vec<(Row, bool)> = Vec::new();
        for n in looks(3_000, 10) {
            let more = n - comparison.events() as usize;
            compare_more(&mut comparison, more, &mut rng);
            for row in comparison.report(level(1.0 - ALPHA)).differences {
                let outside = !(row.low <= -0.1 && -0.1 <= row.high);
                missed.push((
                    (row.estimator, row.interval),
                    row.verdict.is_reliable() && outside,
                ));
            }
        }
        missed
    };
    let all: Vec<Vec<(Row, bool)>> = (0..logs).into_par_iter().map(missed).collect();
    for estimator in ESTIMATORS {
        for kind in [Asymptotic, Normal] {
            let ever = |missed: &&Vec<(Row, bool)>| missed.contains(&((estimator, kind), true));
            let missed = all.iter().filter(ever).count() as u64;
            let broken = allowed_misses(logs, 0.07) < missed;
            assert_eq!(broken, kind == Normal, "{estimator}, {kind}: {missed}");
        }
    }
}

#[test]
fn a_difference_is_widened_alike() {
    let mut comparison = PolicyComparison::new(None).expect("no bound");
    compare_more(
        &mut comparison,
        1_000,
        &mut EventRng::new(14, 0, Stream::World),
    );
    let rows = comparison.report(level(0.95)).differences;
    let of = |estimator, kind| {
        let mut rows = rows.iter();
        rows.find(|row| (row.estimator, row.interval) == (estimator, kind))
            .expect("each estimator has it")
    };
    for estimator in ESTIMATORS {
        let [normal, asymptotic] = [Normal, Asymptotic].map(|kind| of(estimator, kind));
        let ratio = (asymptotic.high - asymptotic.low) / (normal.high - normal.low);
        assert!((ratio - 1.548_604).abs() < 1e-6, "{estimator}: {ratio}");
        assert_eq!(asymptotic.estimate, normal.estimate);
        assert_eq!(asymptotic.verdict.kind, normal.verdict.kind);
        let more = asymptotic.more_events.expect("it shrinks");
        assert!((3_200..3_300).contains(&more), "{more}");
    }
}

#[test]
fn it_is_the_normal_interval_widened_behind_the_same_verdict() {
    for (trial, cell) in WEIGHTS
        .into_iter()
        .flat_map(|weights| LOSSES.map(|losses| (weights, losses)))
        .flat_map(|(weights, losses)| [300, 1_000].map(|n| Cell { weights, losses, n }))
        .enumerate()
    {
        let plan = Plan {
            estimators: Estimator::ALL.to_vec(),
            ..plan(cell.weights.bound())
        };
        let report = cell.log(trial as u64).report(&plan, level(0.95));
        assert!(report.skipped.is_empty());
        for rows in report.estimates.chunks_exact(2) {
            let [normal, asymptotic] = rows else {
                unreachable!("two intervals of each estimator")
            };
            assert_eq!(asymptotic.interval, Asymptotic);
            assert_eq!(asymptotic.estimate, normal.estimate);
            assert_eq!(asymptotic.verdict.kind, normal.verdict.kind, "{cell:?}");
            let ratio = (asymptotic.high - asymptotic.low) / (normal.high - normal.low);
            let expected = if cell.n == 300 { 1.632_504 } else { 1.548_604 };
            // Losses that do not differ have intervals without a width.
            assert!(
                (ratio - expected).abs() < 1e-6 || normal.low == normal.high,
                "{cell:?}: {ratio}"
            );
        }
    }
}

#[test]
fn snips_of_1_less_the_losses_is_the_mirror_image() {
    let plan = Plan {
        estimators: vec![Estimator::Snips],
        intervals: vec![Asymptotic],
        ..Plan::default()
    };
    for weights in [Weights::Pareto(2.5), Weights::Narrowing] {
        let log = log(weights, 1_000, 740_000);
        let mut mirrored = log.clone();
        mirrored
            .losses
            .iter_mut()
            .for_each(|loss| *loss = 1.0 - *loss);
        let [row, image] = [log, mirrored].map(|log| {
            let report = log.report(&plan, level(0.95));
            report.estimates[0].clone()
        });
        assert!(
            (1.0 - image.high - row.low).abs() < 1e-12,
            "{row:?} {image:?}"
        );
        assert!(
            (1.0 - image.low - row.high).abs() < 1e-12,
            "{row:?} {image:?}"
        );
        assert_eq!(row.verdict.kind, image.verdict.kind);
    }
}

#[test]
#[ignore = "takes minutes; prints the table of docs/offline.md"]
fn looked_at_over_the_whole_grid() {
    let number = |name: &str, usual: &str| std::env::var(name).unwrap_or(usual.to_owned());
    let logs = number("LOGS", "1000").parse().expect("a number");
    let n = number("EVENTS", "10000").parse().expect("a number");
    println!("| weights | interval | snips | dr | ips |\n|---|---|--:|--:|--:|");
    let mut missing = Vec::new();
    for weights in WEIGHTS {
        let cells = LOSSES.map(|losses| watch_cell(Cell { weights, losses, n }, logs));
        for cell in &cells {
            for watched in broken(cell, Asymptotic) {
                missing.push(format!("{weights:?}: {watched:?}"));
            }
        }
        for kind in [Asymptotic, Normal] {
            let column = |estimator| {
                let of = |found: &Watched| found.row == (estimator, kind);
                let found: Vec<&Watched> = cells.iter().flatten().filter(|one| of(one)).collect();
                let reliable: u64 = found.iter().map(|one| one.reliable).sum();
                let share = reliable as f64 / (logs * found.len() as u64) as f64;
                let held = |one: &&Watched| 1.0 - one.missed as f64 / one.reliable as f64;
                let enough = found.into_iter().filter(|one| 200 <= one.reliable);
                let least = enough.map(|one| held(&one)).fold(f64::INFINITY, f64::min);
                match least.is_finite() {
                    true => format!("{:.0}% ({:.1}%)", 100.0 * share, 100.0 * least),
                    false => format!("{:.0}% (–)", 100.0 * share),
                }
            };
            let columns = ESTIMATORS.map(column);
            println!("| {weights:?} | {kind} | {} |", columns.join(" | "));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
