use std::fs;

use egret_log::{Format, Merge, ReadError, Record, Writer};

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

#[test]
fn logs_of_two_objectives_are_refused() {
    let objective = |high: u32| {
        format!(
            ",\"outcome\":1,\"objective\":{{\"direction\":\"maximize\",\"low\":0,\"high\":{high}}}"
        )
    };
    let parts = [line(1, "e", &objective(2)), line(2, "e", &objective(4))];
    let error = merged(&parts).expect_err("two objectives");
    assert!(
        error.contains("1.jsonl, row 1: objective: maximize:0,4 here and maximize:0,2 in "),
        "{error}"
    );
    assert!(
        error.contains("0.jsonl: losses of two objectives"),
        "{error}"
    );
    let parts = [
        line(1, "e", &objective(2)),
        line(2, "e", &objective(2)),
        line(3, "e", ""),
    ];
    assert_eq!(merged(&parts), Ok((vec![1, 2, 3], 0)));
}

#[test]
fn one_record_in_two_formats_comes_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = folder.path().join("a.jsonl");
    let table = folder.path().join("b.parquet");
    let context = r#"{"user":{"age":3,"town":null},"tags":["a"]}"#;
    let line = line(1, "e", "").replace("[1.0]", context);
    fs::write(&lines, &line).expect("written");
    let mut writer = Writer::create(&table, Format::Parquet).expect("a folder to write to");
    let record = Record::from_json(line.trim()).expect("good");
    writer.write(&record).expect("good");
    writer.finish().expect("written");
    let mut merge = Merge::open(&[folder.path()]).expect("files");
    assert_eq!(merge.by_ref().filter(Result::is_ok).count(), 1);
    assert_eq!(merge.duplicates(), 1);
}
