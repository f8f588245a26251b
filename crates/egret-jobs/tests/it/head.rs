use egret_jobs::head::{HeadRequest, head};
use egret_jobs::{LogSource, Silent};
use serde_json::json;

use crate::{assert_cancelled, assert_place, assert_request, log, records, spoil};

fn request(log: impl Into<std::path::PathBuf>, rows: usize) -> HeadRequest {
    HeadRequest {
        log: LogSource::new([log]),
        rows,
    }
}

#[test]
fn the_first_records_come_back() {
    for name in ["log.jsonl", "log.parquet"] {
        let (_folder, file) = log(name, 30);
        let found = head(&request(&file, 20), &Silent).expect("records");
        assert_eq!(found, records(20));
        let found = head(&request(&file, 99), &Silent).expect("records");
        assert_eq!(found, records(30));
        assert_eq!(head(&request(&file, 0), &Silent).expect("none"), []);
    }
}

#[test]
fn requests_are_json() {
    assert_request(&request("log.jsonl", 3));
    let least: HeadRequest = serde_json::from_str("{}").expect("a request");
    assert_eq!(least.rows, 10);
}

#[test]
fn cancelling_ends_it() {
    let (_folder, file) = log("log.jsonl", 3);
    assert_cancelled(head(&request(&file, 2), &crate::cancel));
}

#[test]
fn a_bad_row_counts_only_where_it_is_reached() {
    let (_folder, file) = log("log.jsonl", 3);
    spoil(&file, &[("mode", json!("offline"))]);
    assert_place(head(&request(&file, 9), &Silent), &file, 4, Some("mode"));
    assert_eq!(head(&request(&file, 3), &Silent).expect("good").len(), 3);
}
