use std::fs;
use std::path::PathBuf;

use egret::{Context, Density, Loss, Propensity};
use egret_log::{Format, OnBad, ReadError, Reader, Record, Writer};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use serde_json::Value;

use crate::any_record::{Kind, any_record};

const GOOD: &str = r#"{"v":1,"seq":3,"context":[1.0],"action":0.5,"propensity":"density","density":2.0,"loss":0.25}"#;

fn good_with(from: &str, to: &str) -> String {
    let line = GOOD.replace(from, to);
    assert_ne!(line, GOOD, "{from} is in the line");
    line
}

#[test]
fn every_kind_of_bad_row_stops_or_is_put_aside_with_its_reason() {
    let cases = [
        (good_with("\"v\":1", "\"v\":2"), "v is 2"),
        (good_with("2.0", "0.0"), "density is 0, expected"),
        (good_with("2.0", "-1"), "density is -1, expected"),
        (good_with("2.0", "1e999"), "number out of range"),
        (good_with("2.0", "NaN"), "expected value"),
        (good_with("2.0", "null"), "density is missing"),
        (good_with("2.0", "\"2\""), "density: invalid type: string"),
        (
            good_with("\"density\",", "\"atom\","),
            "a point mass has no density",
        ),
        (
            good_with("\"density\",", "\"drawn\","),
            "expected density or atom",
        ),
        (good_with("0.25", "1.5"), "loss is 1.5, expected"),
        (good_with("0.25", "-0.5"), "loss is -0.5, expected"),
        (good_with("[1.0]", "[null]"), "context: invalid type: null"),
        (
            good_with("[1.0]", "{\"dim\":1,\"indices\":[1],\"values\":[2]}"),
            "does not exist",
        ),
        (good_with("[1.0]", "\"x\""), "context: invalid type: string"),
        (good_with("\"context\":[1.0],", ""), "context is missing"),
        (good_with("\"action\":0.5,", ""), "action is missing"),
        (good_with("0.5", "\"high\""), "action: invalid type"),
        (good_with("\"seq\":3", "\"seq\":-3"), "seq: invalid value"),
        (good_with("\"seq\":3", "\"tau\":-3"), "tau is -3, expected"),
        (
            good_with("\"seq\":3", "\"time\":\"noon\""),
            "time: \"noon\" is no time",
        ),
        (
            good_with("\"seq\":3", "\"mode\":\"offline\""),
            "expected online, apprentice or logging",
        ),
        (
            good_with("\"seq\":3", "\"mode\":\"apprentice\""),
            "mode is apprentice and density is 2",
        ),
        (good_with("\"seq\":3", "\"v\":1"), "v is given twice"),
        (
            good_with(
                "\"seq\":3",
                "\"mu\":{\"interval\":{\"low\":0.0,\"high\":0.25}}",
            ),
            "the action 0.5 is not in the action space interval:0,0.25",
        ),
        (
            good_with(
                "\"seq\":3",
                "\"mu\":{\"interval\":{\"low\":1.0,\"high\":0.0}}",
            ),
            "mu: ",
        ),
        (GOOD[..40].to_owned(), "EOF while parsing"),
        ("[1, 2]".to_owned(), "invalid type: sequence"),
        (format!("{GOOD} {GOOD}"), "trailing characters"),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let (file, aside) = (
        folder.path().join("log.jsonl"),
        folder.path().join("bad.jsonl"),
    );
    for (line, reason) in cases {
        fs::write(&file, format!("{GOOD}\n\n{line}\n{GOOD}\n")).expect("written");
        let stopped: Vec<_> = Reader::open(&[&file], OnBad::Stop)
            .expect("a file")
            .collect();
        assert_eq!(stopped.len(), 2, "nothing comes after the error");
        let error = stopped[1].as_ref().expect_err(&line).to_string();
        assert!(
            error.starts_with(&format!("{}, row 3: ", file.display())),
            "{error}"
        );
        assert!(error.contains(reason), "{error}\n{reason}");

        let mut reader = Reader::open(&[&file], OnBad::Skip(aside.clone())).expect("a file");
        let records: Result<Vec<Record>, ReadError> = reader.by_ref().collect();
        assert_eq!(records.expect("bad rows are skipped").len(), 2);
        let skipped = reader.finish().expect("written");
        assert_eq!((skipped.rows, skipped.file.as_ref()), (1, Some(&aside)));
        let kept: Value = serde_json::from_str(&fs::read_to_string(&aside).expect("written"))
            .expect("one object");
        assert_eq!(kept["row"], 3);
        assert_eq!(kept["content"], line.as_str());
        assert_eq!(kept["file"], file.to_str().expect("plain letters"));
        assert!(kept["reason"].as_str().expect("text").contains(reason));
    }
}

#[test]
fn next_row_goes_on_after_a_bad_row_and_keeps_none_aside() {
    let folder = tempfile::tempdir().expect("a folder");
    let [first, cut, last, aside] =
        ["a.jsonl", "b.parquet", "c.jsonl", "bad.jsonl"].map(|name| folder.path().join(name));
    let bad = good_with("0.25", "5");
    fs::write(&first, format!("{GOOD}\n{bad}\n{GOOD}\n")).expect("written");
    fs::write(&cut, "PAR1").expect("written");
    fs::write(&last, GOOD).expect("written");
    let inputs = [&first, &cut, &last];
    for on_bad in [OnBad::Stop, OnBad::Skip(aside.clone())] {
        let mut reader = Reader::open(&inputs, on_bad).expect("files");
        let mut next = || reader.next_row().expect("five rows");
        assert!(next().is_ok());
        let ReadError::Row { file, row, error } = next().expect_err("a loss of 5") else {
            panic!("an error of one row");
        };
        assert_eq!((&file, row, error.field()), (&first, 2, Some("loss")));
        assert!(next().is_ok());
        let ReadError::File { file, .. } = next().expect_err("no table") else {
            panic!("an error of the whole file");
        };
        assert_eq!(file, cut);
        assert!(next().is_ok());
        assert!(reader.next_row().is_none());
        assert!(reader.next_row().is_none());
        assert_eq!(reader.skipped(), 0);
        assert_eq!(reader.finish().expect("nothing to write").rows, 0);
        assert!(!aside.exists());
    }
}

#[test]
fn without_bad_rows_there_is_no_file_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, aside) = (
        folder.path().join("log.jsonl"),
        folder.path().join("bad.jsonl"),
    );
    fs::write(&file, GOOD).expect("written");
    let mut reader = Reader::open(&[&file], OnBad::Skip(aside.clone())).expect("a file");
    assert_eq!(reader.by_ref().count(), 1);
    assert_eq!(reader.finish().expect("nothing to write").rows, 0);
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1);
}

#[test]
fn a_folder_is_read_in_order_of_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let inner = folder.path().join("b");
    fs::create_dir(&inner).expect("made");
    let line = |seq: u64| GOOD.replace("\"seq\":3", &format!("\"seq\":{seq}"));
    for (name, seq) in [
        ("c.jsonl", 4),
        ("a.jsonl", 1),
        ("b/2.jsonl", 3),
        ("b/1.jsonl", 2),
    ] {
        fs::write(folder.path().join(name), line(seq)).expect("written");
    }
    fs::write(folder.path().join("notes.txt"), "not a log").expect("written");
    fs::write(folder.path().join(".hidden.jsonl"), "not a log").expect("written");
    let seqs = |inputs: &[PathBuf]| -> Vec<Option<u64>> {
        let reader = Reader::open(inputs, OnBad::Stop).expect("files");
        reader.map(|record| record.expect("good").seq).collect()
    };
    let all = folder.path().to_owned();
    assert_eq!(seqs(std::slice::from_ref(&all)), [1, 2, 3, 4].map(Some));
    assert_eq!(seqs(&[all.join("c.jsonl"), inner]), [4, 2, 3].map(Some));
    // By content, where the name says nothing.
    fs::rename(all.join("c.jsonl"), all.join("log")).expect("renamed");
    assert_eq!(seqs(&[all.join("log")]), [Some(4)]);
    let empty = tempfile::tempdir().expect("a folder");
    let error = Reader::open(&[empty.path()], OnBad::Stop)
        .err()
        .expect("no files");
    assert!(
        error.to_string().contains("has no file that ends in"),
        "{error}"
    );
    assert!(Reader::open(&[all.join("nowhere")], OnBad::Stop).is_err());
}

#[test]
fn named_features_come_in_one_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("log.jsonl");
    let line = |context: &str| good_with("[1.0]", context);
    let lines = [
        line(r#"{"age":1,"size":2}"#),
        line(r#"{"size":3,"age":4}"#),
        line(r#"{"size":3,"height":4}"#),
    ];
    fs::write(&file, lines.join("\n")).expect("written");
    let mut reader = Reader::open(&[&file], OnBad::Stop).expect("a file");
    let mut next = || reader.next().expect("three rows");
    assert_eq!(
        next().expect("good").context.as_dense(),
        Some(&[1.0, 2.0][..])
    );
    assert_eq!(
        next().expect("good").context.as_dense(),
        Some(&[4.0, 3.0][..])
    );
    let error = next().expect_err("other features").to_string();
    assert!(
        error.contains("row 3: the context has the features size, height"),
        "{error}"
    );
}

#[test]
fn a_cut_parquet_file_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("log.parquet");
    write(&file, 1_000);
    let bytes = fs::read(&file).expect("written");
    fs::write(&file, &bytes[..bytes.len() / 2]).expect("written");
    let stopped: Vec<_> = Reader::open(&[&file], OnBad::Stop)
        .expect("a file")
        .collect();
    let error = stopped[0].as_ref().expect_err("cut").to_string();
    assert!(error.starts_with(&file.display().to_string()), "{error}");
    let aside = folder.path().join("bad.jsonl");
    let mut reader = Reader::open(&[&file], OnBad::Skip(aside)).expect("a file");
    assert_eq!(reader.by_ref().count(), 0);
    assert_eq!(reader.finish().expect("written").rows, 1);
}

fn write(file: &std::path::Path, rows: u32) {
    let mut writer = Writer::create(file, Format::Parquet).expect("a folder to write to");
    for row in 0..rows {
        let density = Density::new(1.0 + f64::from(row)).expect("positive");
        let context = Context::dense(vec![f64::from(row)]).expect("finite");
        let mut record = Record::bare(context, 0.5.into(), Propensity::Density(density));
        record.seq = Some(u64::from(row));
        record.loss = Some(Loss::new(0.5).expect("in range"));
        record.event_id = Some(format!("event-{row}"));
        writer.write(&record).expect("a good record");
    }
    writer.finish().expect("written");
}

fn config(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn damaged_bytes_never_panic(
        records in proptest::collection::vec(any_record(Kind::MixedVectors), 1..30),
        format in prop_oneof![Just(Format::Parquet), Just(Format::JsonLines)],
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let name = if format == Format::Parquet { "log.parquet" } else { "log.jsonl" };
        let file = folder.path().join(name);
        let mut writer = Writer::create(&file, format).expect("a folder to write to");
        for record in &records {
            writer.write(record).expect("a good record");
        }
        writer.finish().expect("written");
        let mut bytes = fs::read(&file).expect("written");
        for (place, value) in hits {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        fs::write(&file, bytes).expect("written");
        let aside = folder.path().join("bad.jsonl");
        let mut reader = Reader::open(&[&file], OnBad::Skip(aside)).expect("a file");
        for record in reader.by_ref().flatten() {
            prop_assert!(record.check().is_ok());
        }
        reader.finish().expect("written");
        let columns = egret_log::ColumnScan::open(&[&file], &["density"], &["loss"]);
        if let Ok(columns) = columns {
            let _ = columns.for_each(|batch| {
                assert!((0..batch.rows()).all(|row| batch.column(0).get(row) != Some(0.0)));
                Ok::<(), ReadError>(())
            });
        }
    }
}
