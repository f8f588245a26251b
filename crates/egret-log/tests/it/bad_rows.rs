use std::fs;
use std::path::PathBuf;

use egret::{Context, Density, FeatureValue, Features, Loss, Propensity};
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

const KNOBS: &str = r#"{"mixed":{"knobs":{"a":{"steps":{"low":0.0,"high":1.0,"step":0.5}}}}}"#;

fn with_mu(action: &str, mu: &str) -> String {
    good_with(
        "\"action\":0.5",
        &format!("\"action\":{action},\"mu\":{mu}"),
    )
}

fn limited(limits: &str) -> String {
    with_mu(
        &format!("0.5,\"limits\":{limits}"),
        r#"{"interval":{"low":0.0,"high":2.0}}"#,
    )
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
            good_with("\"density\",", "\"pointMass\","),
            "a point mass has no density",
        ),
        (
            good_with("\"density\",", "\"drawn\","),
            "expected density or pointMass",
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
        (
            good_with("[1.0]", r#"{"a":1,"a":2}"#),
            "context: the feature a is given twice",
        ),
        (
            good_with("[1.0]", r#"{"a":{"b":1},"a.b":2}"#),
            "context: the feature a.b is given twice",
        ),
        (
            good_with("[1.0]", r#"{"dim":3,"indices":1,"values":[2]}"#),
            "context: indices and values of a sparse context are lists",
        ),
        (
            good_with("[1.0]", r#"{"dim":3,"indices":1,"values":2,"x":null}"#),
            "context: dim, indices and values alone",
        ),
        (
            good_with("[1.0]", r#"[1.0],"contextRest":"{\"a\":1}""#),
            "contextRest: the features of this context have no names",
        ),
        (
            good_with("[1.0]", r#"{"a":2},"contextRest":"{\"a\":1}""#),
            "contextRest: the feature a is in context too",
        ),
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
        (
            good_with("0.5", r#"{}"#),
            "action: a mixed action has at least one knob",
        ),
        (
            good_with("0.5", r#"{"a":1,"a":2}"#),
            "action: the knob a is given twice",
        ),
        (
            good_with("0.5", r#"{"a":true}"#),
            "action: a number or the name of a category",
        ),
        (
            with_mu("[1,2]", r#"{"set":{"count":2,"size":2}}"#),
            "the action {1, 2} is not in the action space set:2,2",
        ),
        (
            with_mu("[1,1]", r#"{"set":{"count":2,"size":2}}"#),
            "the action [1.0, 1.0] is not in the action space set:2,2",
        ),
        (
            with_mu("[0,1]", r#"{"set":{"count":2,"size":3}}"#),
            "mu: count is 2, expected a number in [size, 2^32]",
        ),
        (
            with_mu(r#"{"a":0.3}"#, KNOBS),
            "the action {\"a\": 0.3} is not in the action space mixed:a",
        ),
        (
            with_mu(r#"{"a":0.5,"b":1}"#, KNOBS),
            "is not in the action space mixed:a",
        ),
        (with_mu("0.5", KNOBS), "is not in the action space mixed:a"),
        (
            with_mu("0.5", r#"{"mixed":{"knobs":{}}}"#),
            "mu: a mixed space has at least one knob",
        ),
        (
            good_with(
                "\"seq\":3",
                r#""limits":{"interval":{"low":0.0,"high":1.0}}"#,
            ),
            "mu is missing",
        ),
        (
            limited(r#"{"interval":{"low":0.0,"high":3.0}}"#),
            "limits: the limits (from 0 to 3) are no part of interval:0,2",
        ),
        (
            limited(r#"{"items":{"allowed":[0]}}"#),
            "limits: the limits (items [0]) are no part of interval:0,2",
        ),
        (
            limited(r#"{"interval":{"low":1.0,"high":2.0}}"#),
            "limits: they do not allow the action 0.5",
        ),
        (
            limited(r#"{"interval":{"low":0.0}}"#),
            "limits: missing field `high`",
        ),
        (limited(r#"{"anything":1}"#), "limits: unknown variant"),
        (
            good_with(
                "0.25",
                r#"0.25,"outcome":20,"objective":{"direction":"maximize","low":0,"high":50}"#,
            ),
            "loss is 0.25, and the outcome 20 has the loss 0.6 by the objective maximize:0,50",
        ),
        (
            good_with(
                "0.25",
                r#"null,"outcome":51,"objective":{"direction":"maximize","low":0,"high":50}"#,
            ),
            "outcome: 51 is outside the range of the objective maximize:0,50: widen it, or cut off what is outside (0,50,clip)",
        ),
        (
            good_with(
                "0.25",
                r#"0.25,"objective":{"direction":"maximize","low":50,"high":0}"#,
            ),
            "objective: high - low is -50",
        ),
        (
            good_with("\"seq\":3", "\"largestInverseDensity\":0"),
            "largestInverseDensity is 0, expected",
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
fn an_object_is_named_features_in_any_order() {
    let named = |context: &str| {
        let line = good_with("[1.0]", context);
        Record::from_json(&line).expect("good").context
    };
    let context = named(r#"{"age":1,"size":2.5,"tags":["a"],"user":{"new":true,"town":null}}"#);
    assert_eq!(
        context,
        named(r#"{"user":{"town":null,"new":true},"tags":["a"],"size":2.5,"age":1}"#)
    );
    let features = context.as_named().expect("named");
    assert_eq!(features.get("user.new"), Some(&FeatureValue::Flag(true)));
    assert_eq!(features.get("age"), Some(&FeatureValue::Integer(1)));
    assert!(named("{}").as_named().is_some_and(Features::is_empty));
    let sparse = named(r#"{"values":[2],"indices":[1],"dim":3}"#);
    assert_eq!(sparse, Context::sparse(3, vec![(1, 2.0)]).expect("sparse"));
    assert!(
        named(r#"{"dim":3,"indices":[1],"values":[2],"x":1}"#)
            .as_named()
            .is_some()
    );
}

#[test]
fn the_loss_is_that_of_the_outcome() {
    let line = good_with(
        "0.25",
        r#"null,"outcome":20,"objective":{"direction":"maximize","low":0,"high":50}"#,
    );
    let record = Record::from_json(&line).expect("good");
    assert_eq!(record.loss.map(Loss::get), Some(0.6));
    // A record that is made without a loss is read back with one, and a wrong one is not written.
    let folder = tempfile::tempdir().expect("a folder");
    for (name, format) in [
        ("log.parquet", Format::Parquet),
        ("log.jsonl", Format::JsonLines),
    ] {
        let file = folder.path().join(name);
        let mut writer = Writer::create(&file, format).expect("a folder to write to");
        let mut without = record.clone();
        without.loss = None;
        writer.write(&without).expect("good");
        without.loss = Some(Loss::new(1.0).expect("in range"));
        let error = writer.write(&without).expect_err("another loss");
        assert!(
            error.to_string().contains("one of the two is wrong"),
            "{error}"
        );
        writer.finish().expect("written");
        assert_eq!(crate::read(&file), std::slice::from_ref(&record));
    }
}

#[test]
fn a_parquet_file_holds_named_contexts_or_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let dense = Record::from_json(GOOD).expect("good");
    let named = Record::from_json(&good_with("[1.0]", r#"{"age":1}"#)).expect("good");
    for [first, second] in [[&dense, &named], [&named, &dense]] {
        let file = folder.path().join("log.parquet");
        let mut writer = Writer::create(&file, Format::Parquet).expect("a folder to write to");
        writer.write(first).expect("the first");
        let error = writer.write(second).expect_err("mixed").to_string();
        assert!(
            error.contains("a Parquet file holds one of the two"),
            "{error}"
        );
        writer.write(first).expect("the writer goes on");
        assert_eq!(writer.finish().expect("written"), 2);
    }
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

/// Any JSON, small whole numbers and the words of contexts most of all.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..5_u32).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z.é]{0,3}".prop_map(Value::from),
    ];
    let name = prop_oneof![
        Just("dim".to_owned()),
        Just("indices".to_owned()),
        Just("values".to_owned()),
        "[ab.]{0,3}"
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(name.clone(), inner, 0..4)
                .prop_map(|members| members.into_iter().collect::<Value>()),
        ]
    })
}

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn any_context_is_read_or_refused_by_name(context in any_json()) {
        let line = good_with("[1.0]", &context.to_string());
        match Record::from_json(&line) {
            Ok(record) => {
                let again = Record::from_json(&record.to_json());
                prop_assert_eq!(again.expect("its own line"), record);
            }
            Err(error) => {
                let field = error.field().unwrap_or_default();
                prop_assert!(field.starts_with("context"), "{}: {}", field, error);
            }
        }
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn damaged_bytes_never_panic(
        records in prop_oneof![Just(Kind::MixedVectors), Just(Kind::NamedNumbers)]
            .prop_flat_map(|kind| proptest::collection::vec(any_record(kind), 1..30)),
        format in prop_oneof![Just(Format::Parquet), Just(Format::JsonLines)],
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let name = if format == Format::Parquet { "log.parquet" } else { "log.jsonl" };
        let file = folder.path().join(name);
        let mut writer = Writer::create(&file, format).expect("a folder to write to");
        for record in records.iter().filter(|record| record.check().is_ok()) {
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
