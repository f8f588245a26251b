use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field};
use egret::{AnyAction, FeatureValue, KnobValue, Limits, Objective, Space};
use egret_log::{Extra, LogMapping, OnBad, ReadError, Reader, Record};
use proptest::prelude::*;

fn mapping() -> LogMapping {
    LogMapping::from_toml(
        r#"
        action = "price"
        density = "p"
        density_per_unit = true
        reward = "revenue"
        reward_range = "0,50"
        context = ["age", "segment", "zip"]
        space = "interval:5,50"
        time = "ts"
        id = "order"
        "#,
    )
    .expect("a mapping")
}

const CSV: &str = "\
,order,ts,price,p,revenue,age,segment,zip,q,note
0,007,2026-01-02 03:04:05,19.5,0.02,19.5,31,\"b, or c\",01234,0.5,
1,008,2026-01-02,30,0.04,0,,a,91234,0.25,\"said \"\"no\"\"
twice\"
";

fn records(file: &Path, mapping: LogMapping) -> Result<Vec<Record>, ReadError> {
    Reader::open_mapped(&[file], OnBad::Stop, mapping)?.collect()
}

fn written(folder: &tempfile::TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let file = folder.path().join(name);
    fs::write(&file, bytes).expect("written");
    file
}

fn error(file: &Path, mapping: LogMapping) -> String {
    records(file, mapping).expect_err("refused").to_string()
}

#[test]
fn columns_of_a_csv_make_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(&folder, "log.csv", CSV);
    let found = records(&file, mapping()).expect("read");
    assert_eq!(found.len(), 2);
    let (first, second) = (&found[0], &found[1]);
    assert_eq!(first.action, AnyAction::Number(19.5));
    assert_eq!(second.action, AnyAction::Number(30.0));
    assert_eq!(first.number("density"), Some(0.02 * 45.0));
    assert_eq!(
        first.objective,
        Some(Objective::maximize(0.0, 50.0).expect("a range"))
    );
    assert_eq!(
        (first.outcome, first.number("loss")),
        (Some(19.5), Some(0.61))
    );
    assert_eq!(second.number("loss"), Some(1.0));
    assert_eq!(
        first.mu.as_deref(),
        Some(&Space::Interval {
            low: 5.0,
            high: 50.0
        })
    );
    assert_eq!(first.event_id.as_deref(), Some("007"));
    assert_eq!(
        first.time.expect("a time").to_string(),
        "2026-01-02T03:04:05Z"
    );
    let features = first.context.as_named().expect("named");
    assert_eq!(features.get("age"), Some(&FeatureValue::Integer(31)));
    assert_eq!(features.get("segment"), Some(&"b, or c".into()));
    assert_eq!(features.get("zip"), Some(&"01234".into()));
    let missing = second.context.as_named().expect("named").get("age");
    assert_eq!(missing, Some(&FeatureValue::Missing));
    assert_eq!(first.extra("q"), Some(&Extra::Number(0.5)));
    assert_eq!(
        second.extra("note"),
        Some(&Extra::Text("said \"no\"\ntwice".to_owned()))
    );
    assert_eq!(first.extra("note"), None);
}

#[test]
fn every_format_means_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let csv = written(&folder, "log.csv", CSV);
    let semicolons = CSV
        .replace("b, or c", "b or c")
        .replace(',', ";")
        .replace("b or c", "b, or c");
    let json = r#"{"order": "007", "ts": "2026-01-02 03:04:05", "price": 19.5, "p": 0.02, "revenue": 19.5, "age": 31, "segment": "b, or c", "zip": "01234", "q": 0.5}
{"order": "008", "ts": "2026-01-02", "price": 30, "p": 0.04, "revenue": 0, "age": null, "segment": "a", "zip": 91234, "q": 0.25, "note": "said \"no\"\ntwice"}
"#;
    let mut gz = flate2_of(CSV);
    // Two members, as parallel writers make them.
    gz.extend(flate2_of(""));
    let expected = records(&csv, mapping()).expect("read");
    for (name, bytes) in [
        ("semicolon.csv", semicolons.clone().into_bytes()),
        ("tabs.tsv", semicolons.replace(';', "\t").into_bytes()),
        ("bom.csv", [b"\xef\xbb\xbf", CSV.as_bytes()].concat()),
        (
            "crlf.csv",
            CSV.replace("\n0,", "\r\n0,")
                .replace("\n1,", "\r\n1,")
                .into_bytes(),
        ),
        ("zipped.csv.gz", gz),
        (
            "zipped.csv.zst",
            zstd::encode_all(CSV.as_bytes(), 3).expect("compressed"),
        ),
        ("unknown", CSV.as_bytes().to_vec()),
        ("log.jsonl", json.as_bytes().to_vec()),
        ("named-otherwise", json.as_bytes().to_vec()),
    ] {
        let file = written(&folder, name, bytes);
        assert_eq!(records(&file, mapping()).expect(name), expected, "{name}");
    }
}

fn flate2_of(text: &str) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(text.as_bytes()).expect("in memory");
    out.finish().expect("in memory")
}

/// A table of two rows as Arrow has it, the mapping for it, and the same as CSV.
fn two_rows() -> (RecordBatch, LogMapping, &'static str) {
    let column = |name: &str, array: ArrayRef| (name.to_owned(), array);
    let batch = RecordBatch::try_from_iter([
        column("order", Arc::new(Int64Array::from(vec![7, 8]))),
        column("price", Arc::new(Float64Array::from(vec![19.5, 30.0]))),
        column("p", Arc::new(Float64Array::from(vec![0.02, 0.04]))),
        column("revenue", Arc::new(Float64Array::from(vec![19.5, 0.0]))),
        column("age", Arc::new(Int64Array::from(vec![Some(31), None]))),
        column("segment", Arc::new(StringArray::from(vec!["b", "a"]))),
    ])
    .expect("columns");
    let mapping = LogMapping {
        context: vec!["age".to_owned(), "segment".to_owned()],
        time: None,
        ..mapping()
    };
    let csv = "order,price,p,revenue,age,segment\n7,19.5,0.02,19.5,31,b\n8,30,0.04,0,,a\n";
    (batch, mapping, csv)
}

#[test]
fn parquet_has_columns_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("log.parquet");
    let (batch, mapping, csv) = two_rows();
    let out = fs::File::create(&file).expect("made");
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(out, batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("closed");
    let found = records(&file, mapping.clone()).expect("read");
    assert_eq!(found[0].event_id.as_deref(), Some("7"));
    assert_eq!(found[0].number("density"), Some(0.02 * 45.0));
    let csv = written(&folder, "same.csv", csv);
    assert_eq!(found, records(&csv, mapping).expect("read"));
}

/// A batch twice, as a file of Arrow, which is what Feather is.
fn arrow_file(batch: &RecordBatch, compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default();
    let options = options.try_with_compression(compression).expect("known");
    let mut bytes = Vec::new();
    let mut writer = FileWriter::try_new_with_options(&mut bytes, &batch.schema(), options);
    let writer = writer.as_mut().expect("a writer");
    for _ in 0..2 {
        writer.write(batch).expect("written");
    }
    writer.finish().expect("written");
    bytes
}

fn arrow_stream(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).expect("a writer");
    for _ in 0..2 {
        writer.write(batch).expect("written");
    }
    writer.finish().expect("written");
    bytes
}

#[test]
fn arrow_is_read_as_a_file_and_as_a_stream() {
    let folder = tempfile::tempdir().expect("a folder");
    let (batch, mapping, csv) = two_rows();
    let rows = csv.split_once('\n').expect("a line of names").1;
    let csv = written(&folder, "same.csv", format!("{csv}{rows}"));
    let expected = records(&csv, mapping.clone()).expect("read");
    assert_eq!(expected.len(), 4);
    let stream = arrow_stream(&batch);
    for (name, bytes) in [
        ("log.arrow", arrow_file(&batch, None)),
        (
            "log.feather",
            arrow_file(&batch, Some(CompressionType::LZ4_FRAME)),
        ),
        ("log.ipc", arrow_file(&batch, Some(CompressionType::ZSTD))),
        ("no-ending", arrow_file(&batch, None)),
        ("log.arrows", stream.clone()),
        ("stream", stream.clone()),
        (
            "log.arrow.zst",
            zstd::encode_all(&stream[..], 3).expect("compressed"),
        ),
    ] {
        let file = written(&folder, name, bytes);
        let found = records(&file, mapping.clone()).expect(name);
        assert_eq!(found, expected, "{name}");
    }
    // Rows are named as in other formats.
    let mut bad = mapping.clone();
    bad.space = Some("interval:5,20".parse().expect("a space"));
    let message = error(&folder.path().join("log.feather"), bad);
    assert!(message.contains("log.feather, row 2"), "{message}");
    assert!(message.contains("price"), "{message}");
}

#[test]
fn arrow_of_records_needs_no_mapping() {
    let folder = tempfile::tempdir().expect("a folder");
    let column = |name: &str, array: ArrayRef| (name.to_owned(), array);
    let batch = RecordBatch::try_from_iter([
        column(
            "context",
            Arc::new(StructArray::from(vec![(
                Arc::new(Field::new("age", DataType::Float64, true)),
                Arc::new(Float64Array::from(vec![31.0])) as ArrayRef,
            )])),
        ),
        column("action", Arc::new(Float64Array::from(vec![19.5]))),
        column("density", Arc::new(Float64Array::from(vec![0.9]))),
        column("loss", Arc::new(Float64Array::from(vec![0.25]))),
    ])
    .expect("columns");
    let said = [(
        "egret.mu".to_owned(),
        r#"{"interval":{"low":5,"high":50}}"#.to_owned(),
    )];
    let schema = batch.schema().as_ref().clone().with_metadata(said.into());
    let batch = batch
        .with_schema(Arc::new(schema))
        .expect("the same columns");
    let file = written(&folder, "log.arrow", arrow_file(&batch, None));
    let found = records(&file, LogMapping::default()).expect("read");
    let space = Space::Interval {
        low: 5.0,
        high: 50.0,
    };
    assert_eq!(found[0].mu.as_deref(), Some(&space));
    assert_eq!(found[0].number("density"), Some(0.9));
    assert!(found[0].context.as_named().is_some());
}

#[test]
fn damaged_arrow_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (batch, mapping, _) = two_rows();
    let whole = arrow_file(&batch, Some(CompressionType::LZ4_FRAME));
    // It may break off anywhere: what was read before stays right, and the rest is an error.
    for end in (8..whole.len()).step_by(7) {
        let file = written(&folder, "cut.arrow", &whole[..end]);
        let reader = Reader::open_mapped(&[&file], OnBad::Stop, mapping.clone());
        let rows = reader.expect("opened").take_while(Result::is_ok).count();
        assert!(rows <= 4, "{end}");
    }
    for place in 8..whole.len() {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x41;
        let file = written(&folder, "changed.arrow", bytes);
        let reader = Reader::open_mapped(&[&file], OnBad::Stop, mapping.clone());
        let _ = reader.expect("opened").take_while(Result::is_ok).count();
    }
    let file = written(&folder, "old.feather", "FEA1 and so on");
    let message = error(&file, mapping);
    assert!(message.contains("to_feather"), "{message}");
}

#[test]
fn a_file_beside_the_log_says_what_columns_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(&folder, "log.csv", CSV);
    let by_flags = records(&file, mapping()).expect("read");
    let text = toml_of(&mapping());
    let own = written(&folder, "log.csv.toml", &text);
    assert_eq!(
        records(&file, LogMapping::default()).expect("read"),
        by_flags
    );
    // Flags go before the file, one by one.
    let other = LogMapping {
        context: vec!["age".to_owned()],
        ..LogMapping::default()
    };
    let fewer = records(&file, other).expect("read");
    assert_eq!(fewer[0].context.as_named().expect("named").len(), 1);
    assert_eq!(fewer[0].outcome, Some(19.5));
    fs::remove_file(&own).expect("there");
    // One for all tables of a folder; the folder stands for them then.
    let refused = Reader::open(&[folder.path()], OnBad::Stop)
        .map(|_| ())
        .expect_err("no log");
    assert!(
        refused
            .to_string()
            .contains("no .csv whose columns are named"),
        "{refused}"
    );
    written(&folder, "log.toml", &text);
    let all = Reader::open(&[folder.path()], OnBad::Stop).expect("opened");
    assert_eq!(all.collect::<Result<Vec<_>, _>>().expect("read"), by_flags);
    let pattern = folder.path().join("*.csv");
    let all = Reader::open(&[pattern], OnBad::Stop).expect("opened");
    assert_eq!(all.count(), 2);
    written(&folder, "log.toml", "acton = \"price\"");
    let error = error(&file, LogMapping::default());
    assert!(
        error.contains("log.toml") && error.contains("acton") && error.contains("action"),
        "{error}"
    );
}

fn toml_of(mapping: &LogMapping) -> String {
    let json = serde_json::to_value(mapping).expect("JSON");
    let fields = json.as_object().expect("an object");
    let present = fields.iter().filter(|(_, value)| !value.is_null());
    present
        .map(|(name, value)| format!("{name} = {value}\n"))
        .collect()
}

#[test]
fn vectors_and_items_and_losses() {
    let folder = tempfile::tempdir().expect("a folder");
    let csv = "x,y,prob,cost,item\n0.5,3,2,12,4\n";
    let file = written(&folder, "log.csv", csv);
    let base = LogMapping::from_toml("density = \"prob\"\nloss = \"cost\"\nloss_range = \"10,30\"")
        .expect("a mapping");
    let knobs = LogMapping {
        action: vec!["y".to_owned(), "x".to_owned()],
        space: Some("box:0,10,0,1".parse().expect("a space")),
        density_per_unit: Some(true),
        ..base.clone()
    };
    let record = &records(&file, knobs).expect("read")[0];
    assert_eq!(record.action.to_string(), "[3.0, 0.5]");
    assert_eq!(
        (record.number("density"), record.number("loss")),
        (Some(20.0), Some(0.1))
    );
    let items = LogMapping {
        action: vec!["item".to_owned()],
        space: Some("items:5".parse().expect("a space")),
        density_per_unit: Some(true),
        ..base.clone()
    };
    let record = &records(&file, items).expect("read")[0];
    assert_eq!(
        (record.action.to_string().as_str(), record.number("density")),
        ("4", Some(10.0))
    );
    // No density at all: said, and read all the same.
    let none = LogMapping {
        action: vec!["item".to_owned()],
        density: Some("none".to_owned()),
        ..base
    };
    let record = &records(&file, none).expect("read")[0];
    assert_eq!(record.number("density"), None);
}

#[test]
fn words_and_numbers_are_the_knobs_of_a_mixed_space() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(
        &folder,
        "log.csv",
        "Colour,size,price,p,cost\nred,2,19.5,0.125,1\n",
    );
    let base = LogMapping::from_toml("density = \"p\"\nloss = \"cost\"").expect("a mapping");
    let over = |action: &[&str], space: &str| LogMapping {
        action: action.iter().map(|&name| name.to_owned()).collect(),
        space: Some(space.parse().expect("a space")),
        density_per_unit: Some(true),
        ..base.clone()
    };
    // Categories that look like numbers are names all the same.
    let all = over(
        &["Colour", "price", "size"],
        "mixed:Colour=red|blue;size=1|2|3;price=5..50/0.5",
    );
    let record = &records(&file, all).expect("read")[0];
    let AnyAction::Mixed(action) = &record.action else {
        panic!("{}", record.action);
    };
    let expected = [
        ("Colour", KnobValue::from("red")),
        ("price", KnobValue::from(19.5)),
        ("size", KnobValue::from("2")),
    ];
    for (knob, value) in expected {
        assert_eq!(action.get(knob), Some(&value));
    }
    // Of 2 · 3 · 91 actions.
    assert_eq!(record.number("density"), Some(0.125 * 546.0));
    let alone = over(&["Colour"], "mixed:Colour=red|blue");
    let record = &records(&file, alone).expect("read")[0];
    assert_eq!(record.number("density"), Some(0.25));
    // What is no category is told, and so is what words need.
    let other = over(&["Colour"], "mixed:Colour=green|blue");
    let found = error(&file, other);
    assert!(found.contains("red"), "{found}");
    let found = error(&file, over(&["Colour"], "items:2"));
    assert!(found.contains("mixed:colour=red|green|blue"), "{found}");
}

#[test]
fn a_decimal_comma_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let mapping = LogMapping::from_toml("action = \"a\"\ndensity = \"p\"").expect("a mapping");
    for row in ["11,43;1", "11.43;0,5"] {
        let file = written(&folder, "log.csv", format!("a;p\n{row}\n"));
        let found = error(&file, mapping.clone());
        assert!(found.contains("a number with a decimal point"), "{found}");
    }
}

#[test]
fn the_probability_of_being_dropped_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(&folder, "log.csv", "a,p,pdrop\n0.5,1,0.75\n0.5,1,\n");
    let mapping = LogMapping::from_toml("action = \"a\"\ndensity = \"p\"").expect("a mapping");
    let kept: Vec<Option<f64>> = records(&file, mapping.clone())
        .expect("read")
        .iter()
        .map(|record| record.pass_prob)
        .collect();
    assert_eq!(kept, [Some(0.25), None]);
    let never = written(&folder, "never.csv", "a,p,pdrop\n0.5,1,1\n");
    let found = error(&never, mapping);
    assert!(found.contains("passProb"), "{found}");
}

#[test]
fn nested_objects_go_by_their_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = r#"{"decision": {"price": 20, "p": 1.5}, "user": {"age": 31, "at": {"city": "X"}}, "money": {"paid": 5}, "other": {"x": 1}}"#;
    let file = written(&folder, "log.jsonl", line);
    let mapping = LogMapping::from_toml(
        r#"
        action = "decision.price"
        density = "decision.p"
        reward = "money.paid"
        reward_range = "0,10"
        context = ["user"]
        "#,
    )
    .expect("a mapping");
    let record = &records(&file, mapping).expect("read")[0];
    let features = record.context.as_named().expect("named");
    assert_eq!(features.get("user.at.city"), Some(&"X".into()));
    assert_eq!((features.len(), record.outcome), (2, Some(5.0)));
    assert_eq!(record.extra("other.x"), Some(&Extra::Number(1.0)));
}

#[test]
fn mistakes_name_file_row_column_and_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(&folder, "log.csv", CSV);
    let with = |change: &dyn Fn(&mut LogMapping)| {
        let mut mapping = mapping();
        change(&mut mapping);
        error(&file, mapping)
    };
    let named = |name: &str| Some(name.to_owned());
    for (error, parts) in [
        (
            with(&|mapping| mapping.action = vec!["prise".to_owned()]),
            &[
                "log.csv: ",
                "no column \"prise\"",
                "did you mean \"price\"?",
            ][..],
        ),
        (
            with(&|mapping| mapping.action.clear()),
            &["which column is the action?", "--action", "log init"],
        ),
        (
            with(&|mapping| mapping.density = None),
            &[
                "--density",
                "no other policy can be evaluated",
                "--density none",
            ],
        ),
        (
            with(&|mapping| mapping.reward_range = None),
            &["reward_range", "0,50"],
        ),
        (
            with(&|mapping| mapping.space = None),
            &["density_per_unit", "interval:5,50"],
        ),
        (
            with(&|mapping| mapping.loss = named("age")),
            &["there is a reward too"],
        ),
        (
            with(&|mapping| mapping.density = named("note")),
            &["log.csv, row 2: column note: density is missing"],
        ),
        (
            with(&|mapping| mapping.density = named("segment")),
            &["row 2: column segment: density is \"b, or c\", expected a number"],
        ),
        (
            with(&|mapping| mapping.time = named("segment")),
            &["row 2: column segment: time: \"b, or c\" is no time"],
        ),
        (
            with(&|mapping| mapping.reward_range = Some("0,10".parse().expect("a range"))),
            &[
                "row 2: column revenue: outcome: 19.5 is outside",
                "0,10,clip",
            ],
        ),
        (
            with(&|mapping| mapping.space = Some("interval:20,50".parse().expect("a space"))),
            &["row 2: column price: the action 19.5 is not in the action space interval:20,50"],
        ),
    ] {
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in: {error}");
        }
    }
    for (text, part) in [
        (
            "price,p,revenue\n1,2\n",
            "row 2: 2 cells, and 3 names in line 1",
        ),
        ("price,p,price\n1,2,3\n", "two columns are called \"price\""),
        ("\n", "no names of columns"),
        (
            "price,p,revenue\n20,1,5\n20,1,\"5\n20,1,6\n20,1,7\n",
            "row 3: a quote opens in this row",
        ),
        (
            "price,p,revenue\n20,1,5\n\"20,1,5\n20,1,6\n20\",1,7\n",
            "row 3: a quote opens in this row",
        ),
    ] {
        let file = written(&folder, "bad.csv", text);
        let plain = LogMapping {
            context: Vec::new(),
            time: None,
            id: None,
            ..mapping()
        };
        let error = error(&file, plain);
        assert!(error.contains("bad.csv") && error.contains(part), "{error}");
    }
    let latin = written(
        &folder,
        "latin.csv",
        b"price,p,revenue,name\n20,1,5,Andr\xe9\n",
    );
    let error = error(
        &latin,
        LogMapping {
            context: Vec::new(),
            time: None,
            id: None,
            ..mapping()
        },
    );
    assert!(
        error.contains("row 2: name is") && error.contains("UTF-8"),
        "{error}"
    );
}

#[test]
fn a_space_that_is_given_is_applied_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = r#"{"context": [1], "action": 3, "density": 1.5, "loss": 0.5}"#;
    let file = written(&folder, "log.jsonl", line);
    let over = |space: &str| LogMapping {
        space: Some(space.parse().expect("a space")),
        ..LogMapping::default()
    };
    let record = &records(&file, over("interval:0,5")).expect("read")[0];
    assert_eq!(
        (
            record.mu.as_deref().expect("set").to_string().as_str(),
            &record.action
        ),
        ("interval:0,5", &AnyAction::Number(3.0))
    );
    assert!(error(&file, over("interval:0,2")).contains("row 1: the action 3.0 is not in"));
    let own = written(
        &folder,
        "own.jsonl",
        line.replace(
            "{\"con",
            "{\"mu\": {\"interval\": {\"low\": 0, \"high\": 5}}, \"con",
        ),
    );
    assert!(records(&own, over("interval:0,5")).is_ok());
    let error = error(&own, over("interval:0,9"));
    assert!(
        error.contains("mu is interval:0,5, and interval:0,9 was given"),
        "{error}"
    );
}

/// Rows that a table has, one way or another: read, or named as bad with their line.
fn accounted(bytes: &[u8], name: &str) -> (u64, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(&folder, name, bytes);
    let mapping = LogMapping {
        context: vec!["age".to_owned()],
        time: None,
        id: None,
        ..mapping()
    };
    let mut reader = Reader::open_mapped(&[&file], OnBad::Stop, mapping).expect("opened");
    let (mut good, mut bad, mut last) = (0, 0, 0);
    while let Some(row) = reader.next_row() {
        match row {
            Ok(record) => {
                assert!(record.check().is_ok());
                good += 1;
            }
            Err(ReadError::Row { row, .. }) => {
                assert!(last <= row, "row {row} after {last}");
                last = row;
                bad += 1;
            }
            Err(ReadError::File { .. } | ReadError::Io { .. }) => bad += 1,
            Err(error) => panic!("{error}"),
        }
    }
    (good, bad)
}

#[test]
fn a_quote_that_is_never_closed_costs_one_row() {
    let row = "20,0.02,5,31\n";
    let broken = "20,0.02,5,\"31\n";
    let noted = "20,0.02,5,\"3\n1\"\n";
    let table = |parts: &[&str]| format!("price,p,revenue,age\n{}", parts.concat());
    let many = row.repeat(20_000);
    for (text, expected) in [
        (table(&[row, broken, row, row]), (3, 1)),
        (table(&[broken, row]), (1, 1)),
        (table(&[row, broken]), (1, 1)),
        (table(&[noted, row, broken, row]), (3, 1)),
        (table(&[&many, broken, &many]), (40_000, 1)),
        (format!("\u{feff}{}", table(&[broken, row])), (1, 1)),
        (
            table(&[row, broken, row, row]).replace('\n', "\r\n"),
            (3, 1),
        ),
        (table(&[row, "\n\n", broken, row]), (2, 1)),
    ] {
        assert_eq!(accounted(text.as_bytes(), "log.csv"), expected);
    }
}

#[test]
fn rows_are_counted_by_lines_however_they_end() {
    let folder = tempfile::tempdir().expect("a folder");
    for text in ["a,b\n1,2\n\n1\n", "a,b\r\n1,2\r\n\r\n1\r\n"] {
        let file = written(&folder, "log.csv", text);
        let mapping = LogMapping {
            action: vec!["a".to_owned()],
            space: Some("interval:0,9".parse().expect("a space")),
            density: Some("b".to_owned()),
            ..LogMapping::default()
        };
        let error = error(&file, mapping);
        assert!(error.contains("row 4: 1 cells"), "{error}");
    }
}

#[test]
fn what_no_density_can_be_is_told_as_it_was_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "price,p,revenue,age\n20,-0.02,5,31\n";
    let file = written(&folder, "log.csv", text);
    let mapping = LogMapping {
        context: Vec::new(),
        time: None,
        id: None,
        ..mapping()
    };
    assert_eq!(mapping.density_per_unit, Some(true));
    let error = error(&file, mapping);
    assert!(
        error.contains("column p: density is -0.02, expected"),
        "{error}"
    );
}

#[test]
fn a_range_beside_the_other_kind_of_outcome_is_refused() {
    let flags = LogMapping {
        loss_range: Some("0,2".parse().expect("a range")),
        ..mapping()
    };
    let error = flags
        .or(&LogMapping::default())
        .check()
        .expect_err("no loss");
    assert!(error.to_string().contains("loss_range"), "{error}");
    // What a file says of rewards goes with the file's reward.
    let costs = LogMapping {
        loss: Some("cost".to_owned()),
        ..LogMapping::default()
    };
    assert!(costs.or(&mapping()).check().is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400), header in any::<bool>(), zipped in any::<bool>()) {
        let mut all = if header { b"price,p,revenue,age\n".to_vec() } else { Vec::new() };
        all.extend(bytes);
        let name = if zipped { "log.csv.gz" } else { "log.csv" };
        accounted(&all, name);
        accounted(&all, "log.jsonl");
    }

    #[test]
    fn every_row_is_accounted_for(rows in prop::collection::vec(("[0-9.,\"\\-a-z \n;]{0,12}", any::<bool>()), 0..20)) {
        // Odd text in a quoted cell, and rows that are surely good between.
        let mut text = String::from("price,p,revenue,age\n");
        let mut good = 0;
        for (cell, sound) in &rows {
            if *sound {
                text += "20,0.02,5,31\n";
                good += 1;
            } else {
                let quoted = cell.replace('"', "\"\"");
                text += &format!("20,0.02,5,\"{quoted}\"\n");
            }
        }
        let (read, bad) = accounted(text.as_bytes(), "log.csv");
        prop_assert_eq!(read + bad, rows.len() as u64);
        prop_assert!(good <= read);
    }
}

#[test]
fn what_a_request_allowed_is_read_from_a_column_of_any_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let mapping = |rest: &str| {
        let text =
            "action = \"price\"\ndensity = \"p\"\nloss = \"cost\"\nspace = \"interval:5,50\"";
        LogMapping::from_toml(&format!("{text}\n{rest}")).expect("a mapping")
    };
    let named = mapping("limits = \"allowed\"");
    let csv = "price,p,cost,allowed\n9,1,0.5,\"{\"\"interval\"\":{\"\"low\"\":8,\"\"high\"\":10}}\"\n30,1,0.5,\n";
    let lines = concat!(
        r#"{"price": 9, "p": 1, "cost": 0.5, "allowed": {"interval": {"low": 8, "high": 10}}}"#,
        "\n",
        r#"{"price": 30, "p": 1, "cost": 0.5, "allowed": null}"#,
        "\n"
    );
    let (low, high) = (8.0, 10.0);
    let expected = [Some(Limits::Interval { low, high }), None];
    for (name, text) in [("log.csv", csv), ("log.jsonl", lines)] {
        let file = written(&folder, name, text);
        let found = records(&file, named.clone()).expect("read");
        assert_eq!(
            found.iter().map(|row| &row.limits).collect::<Vec<_>>(),
            [&expected[0], &expected[1]]
        );
        // An action that was not allowed is no row of a log, and neither are limits that are none.
        let wrong = written(&folder, name, text.replace("30", "55"));
        assert!(error(&wrong, named.clone()).contains("55"));
        let wrong = written(&folder, name, text.replace("9", "12"));
        assert!(error(&wrong, named.clone()).contains("allowed"));
        let wrong = written(&folder, name, text.replace("low\"", "least\""));
        assert!(error(&wrong, named.clone()).contains("allowed"));
        // The whole width is not what a part is to be multiplied by.
        let file = written(&folder, name, text);
        let per_unit = mapping("limits = \"allowed\"\ndensity_per_unit = true");
        let refused = error(&file, per_unit);
        assert!(
            refused.contains("allowed") && refused.contains("leave out density_per_unit"),
            "{refused}"
        );
    }
    let file = written(&folder, "log.csv", csv);
    let missing = error(&file, mapping("limits = \"alowed\""));
    assert!(missing.contains("did you mean \"allowed\"?"), "{missing}");
}
