use std::fs;

use egret_jobs::check::{CheckRequest, check};
use egret_jobs::{LogSource, Silent};
use serde_json::json;

use crate::{assert_cancelled, assert_request, json_of, log, spoil};

fn request(log: impl Into<std::path::PathBuf>) -> CheckRequest {
    CheckRequest {
        log: LogSource::new([log]),
        named: 2,
    }
}

#[test]
fn every_bad_row_is_counted_and_the_first_are_named() {
    let (folder, file) = log("log.jsonl", 10);
    spoil(&file, &[("loss", json!(2))]);
    for _ in 0..3 {
        spoil(&file, &[("mode", json!("offline"))]);
    }
    spoil(&file, &[]);
    // A file that is no log at all.
    let cut = folder.path().join("cut.parquet");
    fs::write(&cut, "PAR1").expect("written");
    let report = check(&request(folder.path()), &Silent).expect("a report");
    assert_eq!((report.rows, report.bad), (11, 5));
    let kinds: Vec<_> = report
        .mistakes
        .iter()
        .map(|mistake| (mistake.kind, mistake.rows, mistake.first.len()))
        .collect();
    assert_eq!(kinds[0], ("unknown word", 3, 2));
    assert!(kinds.contains(&("number out of range", 1, 1)), "{kinds:?}");
    let first = &report.mistakes[0].first;
    assert_eq!((first[0].row, first[1].row), (Some(12), Some(13)));
    assert_eq!(first[0].file, file);
    assert!(first[0].reason.contains("offline"), "{}", first[0].reason);
    let whole = report
        .mistakes
        .iter()
        .flat_map(|mistake| &mistake.first)
        .find(|bad| bad.file == cut)
        .expect("the cut file");
    assert_eq!(whole.row, None);
    let value = json_of(&report);
    assert_eq!(value["mistakes"][0]["first"][0]["row"], 12);
    for bad in &report.mistakes[0].first {
        crate::assert_report(bad);
    }
}

#[test]
fn a_good_log_has_no_mistakes() {
    let (_folder, file) = log("log.parquet", 10);
    let report = check(&request(&file), &Silent).expect("a report");
    assert_eq!((report.rows, report.bad), (10, 0));
    assert_eq!(report.mistakes, []);
}

#[test]
fn requests_are_json() {
    assert_request(&request("log.jsonl"));
}

#[test]
fn cancelling_ends_it() {
    let (_folder, file) = log("log.jsonl", 3);
    assert_cancelled(check(&request(&file), &crate::cancel));
}

#[test]
fn one_file_without_columns_is_an_error_and_not_a_bad_row() {
    let folder = crate::folder();
    let file = folder.path().join("knobs.csv");
    fs::write(&file, "temp,speed,yield\n1,2,3\n").expect("written");
    let error = check(&request(&file), &Silent).expect_err("no column is the action");
    let words = error.to_string();
    assert!(words.contains("which column is the action?"), "{words}");
}
