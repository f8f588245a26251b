use std::path::Path;

use egret::AnyModel;
use egret_jobs::select::{SelectRequest, select};
use egret_jobs::train::{CandidateRequest, TrainingLog};
use egret_jobs::{LogSource, Silent, Step};
use egret_offline::TrainingMethod;
use serde_json::json;

use crate::{
    assert_cancelled, assert_place, assert_request, json_of, learned_log, learned_log_of, log,
    spoil, x,
};

fn request(log: &Path) -> SelectRequest {
    let candidate = |method, epochs| CandidateRequest {
        method,
        epochs: Some(epochs),
        ..CandidateRequest::default()
    };
    SelectRequest {
        from: TrainingLog {
            log: LogSource::new([log]),
            ..TrainingLog::default()
        },
        candidates: vec![
            candidate(TrainingMethod::DirectMethod, 2),
            candidate(TrainingMethod::clipped_ips(), 2),
        ],
        seed: 5,
        ..SelectRequest::default()
    }
}

#[test]
fn the_winner_is_the_candidate_with_the_lowest_estimate() {
    let (_folder, file) = log("log.parquet", 400);
    let steps = std::sync::Mutex::new(Vec::new());
    let note = |step: Step<'_>| {
        if let Step::Trained { done, of } = step {
            steps.lock().expect("no panic").push((done, of));
        }
        std::ops::ControlFlow::Continue(())
    };
    let (model, report) = select(&request(&file), &note).expect("a model");
    assert_eq!(report.candidates.len(), 2);
    assert_eq!(report.parts, [288, 36, 36]);
    assert_eq!(report.counts.used, 360);
    let least = report
        .candidates
        .iter()
        .map(|row| row.estimate)
        .fold(f64::INFINITY, f64::min);
    let winners: Vec<_> = report.candidates.iter().filter(|row| row.winner).collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(winners[0].estimate, least);
    for row in &report.candidates {
        assert!(row.low <= row.high);
        // 40 to judge by, of which some have no loss.
        assert_eq!(row.n, 36);
    }
    let mut steps = steps.into_inner().expect("no panic");
    steps.sort_unstable();
    // Between epochs it says again how many are trained, so that it can be stopped there.
    steps.dedup();
    assert_eq!(steps, [(0, 2), (1, 2), (2, 2)]);
    let loaded = AnyModel::load(&model.save()).expect("just saved");
    assert_eq!(loaded.decide(3, &x(3)), model.decide(3, &x(3)));
}

#[test]
fn the_model_that_made_the_log_narrows_intervals_by_betting() {
    let (_folder, file, start) = learned_log(1_500);
    let rows = |logged_by: &[&Path]| {
        let request = SelectRequest {
            logged_by: logged_by.iter().map(|file| file.to_path_buf()).collect(),
            ..request(&file)
        };
        let (_, report) = select(&request, &Silent).expect("a model");
        report.candidates
    };
    let mut betting = 0;
    for (with, without) in rows(&[&start]).iter().zip(rows(&[])) {
        assert_eq!(with.estimate, without.estimate);
        if (with.low, with.high) != (without.low, without.high) {
            betting += 1;
            let [with, without] = [with, &without].map(|row| row.high - row.low);
            assert!(with < without, "{with} beside {without}");
        }
    }
    assert!(0 < betting);
    let (_other_folder, _, other) = learned_log_of(10, 8);
    let other = SelectRequest {
        logged_by: vec![other],
        ..request(&file)
    };
    let error = select(&other, &Silent).expect_err("another model");
    assert_eq!(error.place().map(|place| place.row), Some(1));
    let pipe = SelectRequest {
        logged_by: vec![start],
        ..request(Path::new("-"))
    };
    let error = select(&pipe, &Silent).expect_err("a pipe");
    assert!(error.to_string().contains("read twice"), "{error}");
}

#[test]
fn requests_and_reports_are_json() {
    let (_folder, file) = log("log.jsonl", 200);
    let request = request(&file);
    assert_request(&request);
    let (_, report) = select(&request, &Silent).expect("a model");
    let value = json_of(&report);
    assert_eq!(value["log"]["used"], 180);
    assert_eq!(
        value["candidates"][1]["candidate"],
        json!(report.candidates[1].candidate)
    );
}

#[test]
fn cancelling_ends_it() {
    let (_folder, file) = log("log.jsonl", 100);
    assert_cancelled(select(&request(&file), &crate::cancel));
    let trained = |step: Step<'_>| match step {
        Step::Trained { .. } => crate::cancel(step),
        _ => std::ops::ControlFlow::Continue(()),
    };
    assert_cancelled(select(&request(&file), &trained));
}

#[test]
fn a_bad_row_is_named() {
    let (_folder, file) = log("log.jsonl", 100);
    spoil(&file, &[("loss", json!(-1))]);
    assert_place(select(&request(&file), &Silent), &file, 101, Some("loss"));
}
