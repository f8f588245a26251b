use std::path::{Path, PathBuf};

use egret::{Density, Features, Propensity};
use egret_jobs::audit::{AuditReport, AuditRequest, audit};
use egret_jobs::{JobError, LogSource, Silent};
use egret_log::Record;
use serde_json::json;

use crate::{
    assert_cancelled, assert_place, assert_report, assert_request, json_of, learned_log, log, read,
    restarted, spoil, write,
};

fn request(log: &Path, model: Option<&PathBuf>) -> AuditRequest {
    AuditRequest {
        log: LogSource::new([log]),
        models: model.cloned().into_iter().collect(),
        relearn: model.is_some(),
        ..AuditRequest::default()
    }
}

fn audited(log: &Path, model: Option<&PathBuf>) -> AuditReport {
    audit(&request(log, model), &Silent).expect("a report")
}

/// The same decision, said to be twice as probable.
fn doubled(record: &Record) -> Record {
    let density = record.propensity().density().expect("drawn").get();
    let propensity = Propensity::Density(Density::new(2.0 * density).expect("positive"));
    let decision = record.decision::<f64>().expect("all of it");
    let changed = egret::Decision {
        propensity,
        ..decision
    };
    let mut wrong = Record::new(record.context.clone(), &changed);
    wrong.seq = record.seq;
    wrong.mu = record.mu.clone();
    wrong.loss = record.loss;
    wrong
}

#[test]
fn a_right_log_is_replayed_whole() {
    let (_folder, file, start) = learned_log(150);
    let report = audited(&file, Some(&start));
    let findings = &report.findings;
    assert!(!findings.alarm, "{}", findings.verdict);
    assert_eq!((findings.events, findings.replay.replayed), (150, 150));
    assert_eq!((findings.replay.equal, findings.replay.differing), (150, 0));
    assert_eq!(findings.consistency.inconsistent, 0);
    assert_eq!((report.apprentice, report.skipped), (0, 0));
}

#[test]
fn one_wrong_density_is_found() {
    let (_folder, file, start) = learned_log(60);
    let mut all = read(&file);
    all[41] = doubled(&all[41]);
    write(&file, &all);
    let findings = audited(&file, Some(&start)).findings;
    assert!(findings.alarm);
    assert_eq!((findings.replay.equal, findings.replay.differing), (59, 1));
    assert_eq!(findings.replay.first_differences[0].at, 42);
    // Without a model, the parts of the density do not agree.
    let findings = audited(&file, None).findings;
    assert!(findings.alarm);
    assert_eq!(findings.consistency.inconsistent, 1);
}

#[test]
fn a_model_folder_is_as_good_as_its_models() {
    let (folder, file, start) = learned_log(20);
    let by_file = audited(&file, Some(&start));
    let by_folder = AuditRequest {
        models: Vec::new(),
        model_folder: Some(folder.path().to_owned()),
        ..request(&file, Some(&start))
    };
    assert_eq!(audit(&by_folder, &Silent).expect("a report"), by_file);
}

#[test]
fn requests_and_reports_are_json() {
    let (_folder, file, start) = learned_log(20);
    assert_request(&request(&file, Some(&start)));
    let report = audited(&file, None);
    assert_report(&report.unchecked);
    let value = json_of(&report);
    assert_eq!(value["events"], 20);
    assert_eq!(value["alarm"], json!(false));
    assert_eq!(value["unchecked"]["events"], 0);
}

#[test]
fn cancelling_ends_it() {
    let (_folder, file, _) = learned_log(10);
    assert_cancelled(audit(&request(&file, None), &crate::cancel));
}

#[test]
fn a_bad_row_is_named() {
    let (_folder, file) = log("log.jsonl", 10);
    spoil(&file, &[("tau", json!(0))]);
    let bad = audit(&request(&file, None), &Silent);
    assert_place(bad, &file, 11, Some("tau"));
    let (_folder, file) = log("log.jsonl", 10);
    let mu = json!({"interval": {"low": 0.0, "high": 2.0}});
    spoil(&file, &[("mu", mu)]);
    let bad = audit(&request(&file, None), &Silent);
    assert_place(bad, &file, 11, Some("mu"));
}

#[test]
fn what_cannot_be_asked_names_its_field() {
    let (folder, file) = log("log.jsonl", 10);
    for (request, field) in [
        (
            AuditRequest {
                relearn: true,
                ..request(&file, None)
            },
            "relearn",
        ),
        (
            AuditRequest {
                alpha: 0.0,
                ..request(&file, None)
            },
            "alpha",
        ),
        (
            AuditRequest {
                model_folder: Some(folder.path().to_owned()),
                ..request(&file, None)
            },
            "model_folder",
        ),
    ] {
        let error = audit(&request, &Silent).expect_err("it cannot be");
        let JobError::Request { field: found, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(*found, field);
    }
}

#[test]
fn named_features_need_a_model_with_a_schema() {
    let (_folder, file, start) = learned_log(20);
    let lines = file.with_file_name("named.jsonl");
    let mut all = read(&file);
    all[11].context = Features::new().with("age", 3).into();
    write(&lines, &all);
    let done = audit(&request(&lines, Some(&start)), &Silent);
    assert!(format!("{done:?}").contains("FeatureSchema"), "{done:?}");
    assert_place(done, &lines, 12, Some("context"));
    // What needs no model is audited all the same.
    assert_eq!(audited(&lines, None).findings.events, 20);
}

#[test]
fn a_restart_that_uses_numbers_again_is_a_fault() {
    for (saved, reused) in [(true, 0), (false, 100)] {
        let (_folder, files) = restarted(saved);
        let request = AuditRequest {
            log: LogSource::new(&files),
            ..AuditRequest::default()
        };
        let findings = audit(&request, &Silent).expect("an audit").findings;
        let numbers = findings.random_numbers;
        assert_eq!(
            (numbers.compared, numbers.reused, numbers.twice),
            (250, reused, 0)
        );
        let accused = findings
            .verdict
            .contains("100 events share their random numbers");
        assert_eq!(accused, !saved, "{}", findings.verdict);
        assert!(!accused || findings.alarm);
    }
}
