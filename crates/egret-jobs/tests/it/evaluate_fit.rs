//! Predictions that are fitted to the log itself: no event is predicted by what it taught, and intervals cover.

use std::sync::Arc;

use egret::{Context, Density, EventRng, Loss, Propensity, Stream};
use egret_jobs::evaluate::{EvaluateReport, EvaluateRequest, EvaluationRow, Predictions, evaluate};
use egret_jobs::{LogSource, Silent};
use egret_log::Record;
use egret_offline::{Estimator, IntervalKind};
use egret_testkit::allowed_misses;

use crate::{folder, space, write};

/// Decisions of density 1/2 + a. A loss is |a − x| but for noise, so that its mean is 1/3 where actions are uniform.
fn records(rows: u64, seed: u64) -> Vec<Record> {
    let mu = Arc::new(space());
    let mut rng = EventRng::new(seed, 0, Stream::World);
    let mut one = || {
        let x = rng.unit();
        let action = (0.25 + 2.0 * rng.unit()).sqrt() - 0.5;
        let density = Density::new(0.5 + action).expect("positive");
        let context = Context::dense(vec![x]).expect("finite");
        let mut record = Record::bare(context, action.into(), Propensity::Density(density));
        let mean = (action - x).abs();
        let noise = 0.2 * mean.min(1.0 - mean) * (2.0 * rng.unit() - 1.0);
        record.loss = Some(Loss::new(mean + noise).expect("in [0, 1]"));
        record.mu = Some(mu.clone());
        record.largest_inverse_density = Some(2.0);
        record
    };
    (0..rows).map(|_| one()).collect()
}

fn fitted(records: &[Record]) -> EvaluateReport {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    write(&file, records);
    let request = EvaluateRequest {
        log: LogSource {
            paths: vec![file],
            ..LogSource::default()
        },
        policies: vec!["uniform".parse().expect("a policy")],
        intervals: vec![IntervalKind::Normal, IntervalKind::Betting],
        predictions: Some(Predictions::Fit),
        ..EvaluateRequest::default()
    };
    evaluate(&request, &Silent).expect("a good log")
}

fn row(report: &EvaluateReport, estimator: Estimator, interval: IntervalKind) -> &EvaluationRow {
    let mut rows = report.rows.iter();
    rows.find(|row| row.estimator == estimator.to_string() && row.interval == interval.to_string())
        .expect("it is in the plan")
}

fn dr(records: &[Record]) -> f64 {
    row(&fitted(records), Estimator::Dr, IntervalKind::Normal).estimate
}

#[test]
fn an_event_is_predicted_by_those_before_it_alone() {
    let kept = records(700, 1);
    let before = dr(&kept);
    let change = |place: usize| {
        let mut changed = kept.clone();
        let loss = kept[place].loss.expect("it has one").get();
        changed[place].loss = Some(Loss::new(1.0 - loss).expect("in [0, 1]"));
        let density = kept[place].propensity().density().expect("it has one");
        let alone = (1.0 - 2.0 * loss) / density.get() / kept.len() as f64;
        dr(&changed) - before - alone
    };
    // The last teaches none of those that are predicted, and the first teaches them all.
    assert!(change(699).abs() < 1e-12, "{}", change(699));
    assert!(1e-6 < change(0).abs(), "{}", change(0));
}

#[test]
fn intervals_cover_and_are_narrower_than_without_predictions() {
    let (trials, truth) = (60, 1.0 / 3.0);
    let mut missed = [0; 2];
    let (mut with, mut without) = (0.0, 0.0);
    for trial in 0..trials {
        let report = fitted(&records(600, 100 + trial));
        for (missed, interval) in missed
            .iter_mut()
            .zip([IntervalKind::Normal, IntervalKind::Betting])
        {
            let row = row(&report, Estimator::Dr, interval);
            *missed += u64::from(!(row.low..=row.high).contains(&truth));
        }
        let width = |estimator| {
            let row = row(&report, estimator, IntervalKind::Normal);
            row.high - row.low
        };
        with += width(Estimator::Dr);
        without += width(Estimator::Snips);
    }
    assert!(missed[0] <= allowed_misses(trials, 0.05), "{missed:?}");
    assert!(missed[1] <= allowed_misses(trials, 0.05), "{missed:?}");
    assert!(with < 0.6 * without, "{with} of {without}");
}
