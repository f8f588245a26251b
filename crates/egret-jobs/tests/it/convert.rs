use egret_jobs::convert::{ConvertRequest, convert};
use egret_jobs::{JobError, LogSource, Silent};
use egret_log::Format;
use serde_json::json;

use crate::{
    assert_cancelled, assert_place, assert_report, assert_request, log, names_in, read, records,
    spoil,
};

fn request(log: &std::path::Path, output: &str) -> ConvertRequest {
    ConvertRequest {
        log: LogSource::new([log]),
        output: log.with_file_name(output),
        format: None,
        features: Vec::new(),
    }
}

#[test]
fn records_come_out_as_they_went_in() {
    let (_folder, file) = log("log.jsonl", 40);
    let there = request(&file, "there.parquet");
    let report = convert(&there, &Silent).expect("written");
    assert_eq!((report.rows, report.skipped), (40, 0));
    assert_eq!(report.output, there.output);
    assert_report(&report);
    assert_eq!(read(&there.output), records(40));
    let back = request(&there.output, "back.jsonl");
    convert(&back, &Silent).expect("written");
    assert_eq!(
        std::fs::read(&back.output).expect("written"),
        std::fs::read(&file).expect("written")
    );
}

#[test]
fn features_get_names() {
    let (_folder, file) = log("log.jsonl", 5);
    let mut named = request(&file, "named");
    named.format = Some(Format::JsonLines);
    named.features = vec!["size".to_owned(), "one".to_owned()];
    convert(&named, &Silent).expect("written");
    let context = read(&named.output)[0].context.clone();
    let features = context.as_named().expect("names were given");
    let names: Vec<&str> = features.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["one", "size"]);
    named.features.pop();
    let error = convert(&named, &Silent).expect_err("too few names");
    assert!(
        error.to_string().contains("row 1: context is 2 numbers"),
        "{error}"
    );
}

#[test]
fn requests_are_json() {
    let mut asked = request(std::path::Path::new("log.jsonl"), "log.parquet");
    assert_request(&asked);
    asked.format = Some(Format::DsJson);
    assert_request(&asked);
}

#[test]
fn cancelling_leaves_no_file() {
    for output in ["out.parquet", "out.jsonl"] {
        let (folder, file) = log("log.jsonl", 20);
        spoil(&file, &[("loss", json!(2))]);
        let mut request = request(&file, output);
        request.log.skip_bad = Some(folder.path().join("bad.jsonl"));
        assert_cancelled(convert(&request, &crate::cancel));
        assert_eq!(names_in(&folder), ["log.jsonl"]);
    }
}

#[test]
fn a_bad_row_is_named_and_nothing_is_written() {
    let (folder, file) = log("log.jsonl", 20);
    spoil(&file, &[("gamma", json!(-3))]);
    let request = request(&file, "out.parquet");
    assert_place(convert(&request, &Silent), &file, 21, Some("gamma"));
    assert_eq!(names_in(&folder), ["log.jsonl"]);
}

#[test]
fn an_output_without_a_format_is_refused() {
    let (_folder, file) = log("log.jsonl", 2);
    let error = convert(&request(&file, "out.csv"), &Silent).expect_err("no format");
    let JobError::Request { field, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(field, "output");
}
