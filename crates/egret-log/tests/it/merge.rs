use std::fs;

use egret_log::{Merge, ReadError, Record};

fn line(seq: u64, event: &str, extra: &str) -> String {
    format!(
        "{{\"seq\":{seq},\"eventId\":\"{event}-{seq}\",\"context\":[1.0],\"action\":0.5,\"density\":2.0{extra}}}\n"
    )
}

fn merged(parts: &[String]) -> Result<(Vec<u64>, u64), String> {
    let folder = tempfile::tempdir().expect("a folder");
    for (place, part) in parts.iter().enumerate() {
        fs::write(folder.path().join(format!("{place}.jsonl")), part).expect("written");
    }
    let mut merge = Merge::open(&[folder.path()]).expect("files");
    let records: Result<Vec<Record>, ReadError> = merge.by_ref().collect();
    let records = records.map_err(|error| error.to_string())?;
    let seqs = records
        .iter()
        .map(|record| record.seq.expect("merged by it"));
    Ok((seqs.collect(), merge.duplicates()))
}

fn part(seqs: &[u64]) -> String {
    seqs.iter().map(|&seq| line(seq, "e", "")).collect()
}

#[test]
fn logs_come_in_order_and_each_record_once() {
    let parts = [
        part(&[1, 4, 5, 9]),
        part(&[2, 3, 4, 5]),
        part(&[]) + "\n",
        part(&[5, 7]),
    ];
    assert_eq!(merged(&parts), Ok((vec![1, 2, 3, 4, 5, 7, 9], 3)));
}

#[test]
fn two_records_of_one_place_are_refused() {
    let error = merged(&[part(&[1, 2]), line(2, "f", "")]).expect_err("two events");
    assert!(
        error.contains("1.jsonl, row 1: seq 2 is also that of another record"),
        "{error}"
    );
    assert!(
        error.contains("0.jsonl, row 2 (event \"e-2\", here \"f-2\")"),
        "{error}"
    );
    let error = merged(&[part(&[1, 2]), line(2, "e", ",\"loss\":0.5")]).expect_err("two losses");
    assert!(error.contains("seq 2 is also"), "{error}");
    // Two loops count for themselves.
    let other = line(2, "e", ",\"loop\":\"b\"");
    assert_eq!(merged(&[part(&[1, 2]), other]), Ok((vec![1, 2, 2], 0)));
}

#[test]
fn a_log_out_of_order_or_without_numbers_is_refused() {
    let error = merged(&[part(&[1, 3, 2])]).expect_err("out of order");
    assert!(
        error.contains("0.jsonl, row 3: seq 2 comes after 3"),
        "{error}"
    );
    let without = "{\"context\":[1.0],\"action\":0.5,\"density\":2.0}\n".to_owned();
    let error = merged(&[without]).expect_err("no seq");
    assert!(error.contains("0.jsonl, row 1: seq is missing"), "{error}");
}
