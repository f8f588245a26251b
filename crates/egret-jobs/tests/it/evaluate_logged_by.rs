//! Decisions that are made again with the model that made the log narrow betting intervals, and nothing else changes.

use std::fs;
use std::path::Path;

use egret::{Interval, Model, Settings};
use egret_jobs::evaluate::{EvaluateReport, EvaluateRequest, EvaluationRow, Predictions, evaluate};
use egret_jobs::{JobError, LogSource, Silent};

use crate::learned_log;

fn request(log: &Path, logged_by: &[&Path], predictions: Option<Predictions>) -> EvaluateRequest {
    EvaluateRequest {
        log: LogSource::new([log]),
        policies: vec!["uniform".parse().expect("a policy")],
        predictions,
        logged_by: logged_by.iter().map(|file| file.to_path_buf()).collect(),
        from_seq: Some(100),
        ..EvaluateRequest::default()
    }
}

fn run(
    log: &Path,
    logged_by: &[&Path],
    predictions: Option<Predictions>,
) -> Result<EvaluateReport, JobError> {
    evaluate(&request(log, logged_by, predictions), &Silent)
}

fn is_bet(row: &&EvaluationRow) -> bool {
    row.interval == "betting" && row.estimator == "dr"
}

#[test]
fn the_model_that_made_the_log_narrows_intervals_of_dr() {
    let (_folder, log, start) = learned_log(1_500);
    let without = run(&log, &[], Some(Predictions::Fit)).expect("a good log");
    let with = run(&log, &[&start], Some(Predictions::Fit)).expect("a good log");
    assert_eq!(without.rows.len(), with.rows.len());
    for (before, after) in without.rows.iter().zip(&with.rows) {
        if is_bet(&before) {
            let width = |row: &EvaluationRow| row.high - row.low;
            assert!(
                width(after) < 0.9 * width(before),
                "{after:?} beside {before:?}"
            );
        } else {
            assert_eq!(before, after);
        }
    }
    assert!(with.rows.iter().any(|row| is_bet(&row)));
}

#[test]
fn it_narrows_differences_too() {
    let (_folder, log, start) = learned_log(1_500);
    let kernel = format!("kernel:model={},bandwidth=0.2", start.display());
    for against in ["logged", "uniform"] {
        let widths = [&[][..], &[&*start]].map(|logged_by| {
            let mut request = request(&log, logged_by, Some(Predictions::Fit));
            request.policies.push(kernel.parse().expect("a policy"));
            request.against = Some(against.to_owned());
            let report = evaluate(&request, &Silent).expect("a good log");
            let differences = report.rows.iter().filter(|row| row.policy.contains('−'));
            let betting = differences.filter(|row| row.interval == "betting");
            let widths: Vec<f64> = betting.map(|row| row.high - row.low).collect();
            widths
        });
        let [without, with] = widths;
        assert_eq!(without.len(), if against == "logged" { 2 } else { 1 });
        for (with, without) in with.into_iter().zip(without) {
            assert!(with < without, "{against}: {with} beside {without}");
        }
    }
}

#[test]
fn another_model_is_refused_at_the_first_decision_that_it_would_not_have_made() {
    let (folder, log, _) = learned_log(150);
    let other = folder.path().join("other.egret");
    let settings = Settings::default().with_seed(8);
    let interval = Interval::new(0.0, 1.0).expect("an interval");
    let model: Model<f64> = Model::with_settings(interval, 2, settings).expect("a model");
    fs::write(&other, model.save()).expect("written");
    let error = run(&log, &[&other], Some(Predictions::Fit)).expect_err("another model");
    let words = error.to_string();
    assert!(words.contains("model"), "{words}");
    assert_eq!(error.place().map(|place| place.row <= 101), Some(true));
}

#[test]
fn it_needs_predictions() {
    let (_folder, log, start) = learned_log(20);
    let error = run(&log, &[&start], None).expect_err("nothing to narrow");
    assert!(error.to_string().contains("--fit"), "{error}");
}
