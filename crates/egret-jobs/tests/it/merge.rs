use egret_jobs::Silent;
use egret_jobs::merge::{MergeRequest, merge};
use serde_json::json;

use crate::{
    assert_cancelled, assert_place, assert_report, assert_request, folder, names_in, read, records,
    spoil, write,
};

/// Two parts that share 5 records, and what is to be made of them.
fn parts() -> (tempfile::TempDir, MergeRequest) {
    let folder = folder();
    let paths = ["late.jsonl", "early.parquet"].map(|name| folder.path().join(name));
    write(&paths[0], &records(50)[20..]);
    write(&paths[1], &records(25));
    let request = MergeRequest {
        paths: paths.to_vec(),
        output: folder.path().join("all.jsonl"),
        format: None,
    };
    (folder, request)
}

#[test]
fn parts_are_one_log_in_order() {
    let (_folder, request) = parts();
    let report = merge(&request, &Silent).expect("written");
    assert_eq!((report.rows, report.duplicates), (50, 5));
    assert_report(&report);
    assert_eq!(read(&request.output), records(50));
}

#[test]
fn requests_are_json() {
    assert_request(&parts().1);
}

#[test]
fn cancelling_leaves_no_file() {
    let (folder, request) = parts();
    assert_cancelled(merge(&request, &crate::cancel));
    assert_eq!(names_in(&folder), ["early.parquet", "late.jsonl"]);
}

#[test]
fn a_bad_row_is_named_and_nothing_is_written() {
    let (folder, request) = parts();
    spoil(&request.paths[0], &[("z", json!(0))]);
    let late = &request.paths[0];
    assert_place(merge(&request, &Silent), late, 31, Some("z"));
    assert_eq!(names_in(&folder), ["early.parquet", "late.jsonl"]);
}
