//! Every job, from request to report, on small logs that the tests make.

mod audit;
mod check;
mod convert;
mod decide;
mod estimated_density;
mod evaluate;
mod evaluate_fit;
mod evaluate_logged_by;
mod evaluate_parts;
mod head;
mod items;
mod limits;
mod merge;
mod messy_table;
mod objective;
#[cfg(feature = "onnx")]
mod onnx;
mod own_log;
mod policy_text;
mod scales;
mod select;
mod summarize;
mod train;

use std::fmt::Debug;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use egret::{Context, DecisionLoop, Interval, Loss, Model, Propensity, Settings, Space};
use egret_jobs::{JobError, Step};
use egret_log::{Format, Mode, OnBad, Reader, Record, Writer};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn space() -> Space {
    Space::Interval {
        low: 0.0,
        high: 1.0,
    }
}

/// A model over [0, 1] that has learned nothing.
fn fresh() -> Model<f64> {
    fresh_of(7)
}

fn fresh_of(seed: u64) -> Model<f64> {
    let settings = Settings::default().with_seed(seed);
    Model::with_settings(Interval::new(0.0, 1.0).expect("an interval"), 2, settings)
        .expect("a model")
}

/// The context of an event: a number that goes through [0, 1), and 1.
fn x(event: u64) -> Context {
    Context::dense(vec![(event * 7 % 20) as f64 / 20.0, 1.0]).expect("finite")
}

/// The further from the context's number, the worse.
fn loss(event: u64, action: f64) -> Loss {
    let wanted = x(event).as_dense().expect("dense")[0];
    Loss::new((action - wanted).abs()).expect("both are in [0, 1]")
}

/// Decisions of a model that does not learn, with columns of other policies. Every 10th event has no loss yet, every 13th
/// is a point mass.
fn records(rows: u64) -> Vec<Record> {
    let (model, mu) = (fresh(), Arc::new(space()));
    (0..rows)
        .map(|event| {
            let decision = model.decide(event, &x(event)).expect("an action");
            let mut record = Record::new(x(event), &decision);
            if event % 13 == 12 {
                let action = decision.action.into();
                record = Record::bare(x(event), action, Propensity::PointMass);
            }
            record.seq = Some(event);
            record.mu = Some(mu.clone());
            record.mode = Some(Mode::Online);
            record.loss = (event % 10 != 9).then(|| loss(event, decision.action));
            for (name, value) in [
                ("q", 2.0 * decision.action),
                ("center", 0.5),
                ("predicted", 0.5 * decision.action),
                ("q_predicted", 0.25 + 0.001 * event as f64),
            ] {
                record.set_extra(name, value).expect("its own name");
            }
            record
        })
        .collect()
}

/// Writes records; the ending of the name says in which format.
fn write(file: &Path, records: &[Record]) {
    let format = Format::of_name(file).expect("a known ending");
    let mut writer = Writer::create(file, format).expect("a folder to write to");
    for record in records {
        writer.write(record).expect("a good record");
    }
    writer.finish().expect("written");
}

fn read(file: &Path) -> Vec<Record> {
    let reader = Reader::open(&[file], OnBad::Stop).expect("a file");
    reader.collect::<Result<_, _>>().expect("good rows")
}

/// A log in a folder of its own.
fn log(name: &str, rows: u64) -> (TempDir, PathBuf) {
    let folder = folder();
    let file = folder.path().join(name);
    write(&file, &records(rows));
    (folder, file)
}

/// A log of a model that learns, and the model before its first event.
fn learned_log(rows: u64) -> (TempDir, PathBuf, PathBuf) {
    learned_log_of(rows, 7)
}

/// The same with another seed.
fn learned_log_of(rows: u64, seed: u64) -> (TempDir, PathBuf, PathBuf) {
    let folder = folder();
    let [file, start] = ["log.parquet", "start.egret"].map(|name| folder.path().join(name));
    fs::write(&start, fresh_of(seed).save()).expect("written");
    let writer = Writer::create(&file, Format::Parquet).expect("a folder to write to");
    let mut own = DecisionLoop::with_log(fresh_of(seed), writer);
    for event in 0..rows {
        let decision = own.decide(x(event)).expect("an action");
        own.learn(event, loss(event, decision.action))
            .expect("it waits");
    }
    let (_, writer) = own.into_parts();
    writer.finish().expect("written");
    (folder, file, start)
}

/// The logs of a loop of 150 events and of one of 100 after it, from the model as the first left it, or with event numbers
/// lost; and their files.
fn restarted(saved: bool) -> (TempDir, Vec<PathBuf>) {
    let folder = folder();
    let mut model = fresh();
    let mut place = 0;
    let mut run = |name: &str, events: u64| {
        let file = folder.path().join(name);
        let writer = Writer::create(&file, Format::Parquet).expect("a folder to write to");
        let mut own = DecisionLoop::with_log(Model::load(&model.save()).expect("saved"), writer);
        for _ in 0..events {
            place += 1;
            let x = Context::dense(vec![1.0 / f64::from(place), 1.0]).expect("finite");
            let decision = own.decide(x).expect("an action");
            let loss = Loss::new(decision.action).expect("in range");
            own.learn(decision.event, loss).expect("it waits");
        }
        let (last, writer) = own.into_parts();
        model = if saved { last } else { last.with_next_event(0) };
        writer.finish().expect("written");
        file
    };
    let files = vec![run("1.parquet", 150), run("2.parquet", 100)];
    (folder, files)
}

/// Adds a line to a log of JSON lines: its first record with some fields replaced.
fn spoil(file: &Path, fields: &[(&str, Value)]) {
    let mut text = fs::read_to_string(file).expect("a log of lines");
    let first = text.lines().next().expect("a record");
    let mut row: Value = serde_json::from_str(first).expect("an object");
    for (name, value) in fields {
        row[*name] = value.clone();
    }
    text += &format!("{row}\n");
    fs::write(file, text).expect("written");
}

/// Ends a job as soon as it tells of anything.
fn cancel(_: Step<'_>) -> ControlFlow<()> {
    ControlFlow::Break(())
}

fn assert_cancelled<T: Debug>(done: Result<T, JobError>) {
    let error = done.expect_err("it was cancelled");
    assert!(matches!(error, JobError::Cancelled), "{error}");
}

/// The error names the file, the row and the field, in its words and as data.
fn assert_place<T: Debug>(done: Result<T, JobError>, file: &Path, row: u64, field: Option<&str>) {
    let error = done.expect_err("a bad row");
    let place = error.place().expect("an error of one row");
    assert_eq!(
        (&*place.file, place.row, place.field.as_deref()),
        (file, row, field),
        "{error}"
    );
    let words = error.to_string();
    assert!(words.contains(&format!("row {row}")), "{words}");
    assert!(words.contains(file.to_str().expect("text")), "{words}");
    assert!(words.contains(field.unwrap_or("")), "{words}");
}

fn names_in(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.into_string().expect("text"))
        .collect();
    names.sort();
    names
}

/// A request comes back from JSON as it was, and refuses a field that it does not have.
fn assert_request<R: Serialize + DeserializeOwned + PartialEq + Debug>(request: &R) {
    let text = serde_json::to_string(request).expect("in memory");
    let again: R = serde_json::from_str(&text).expect("its own");
    assert_eq!(again, *request, "{text}");
    let mut value = serde_json::to_value(request).expect("in memory");
    value["no_such_field"] = json!(1);
    let error = serde_json::from_value::<R>(value).expect_err("an unknown field");
    assert!(error.to_string().contains("no_such_field"), "{error}");
}

/// A report comes back from JSON as it was.
fn assert_report<R: Serialize + DeserializeOwned + PartialEq + Debug>(report: &R) {
    let text = serde_json::to_string(report).expect("in memory");
    let again: R = serde_json::from_str(&text).expect("its own");
    assert_eq!(again, *report, "{text}");
}

/// The JSON of a report that only goes out, after a trip through text.
fn json_of<R: Serialize>(report: &R) -> Value {
    let value = serde_json::to_value(report).expect("in memory");
    let again: Value = serde_json::from_str(&value.to_string()).expect("JSON");
    assert_eq!(again, value);
    value
}

/// Equal but for the order in which numbers were added.
fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
}
