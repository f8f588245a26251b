use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use egret::{Context, Density, Features, Propensity};
use egret_log::{ColumnScan, Format, Mode, ReadError, Record, Writer};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::any_record::{Kind, any_record};
use crate::read;

/// Losses and densities in row groups of a size, with or without statistics; every 7th row is a point mass if `point_masses`.
fn table(
    path: &Path,
    rows: usize,
    group: usize,
    point_masses: bool,
    statistics: EnabledStatistics,
) {
    let point_mass = |row: usize| point_masses && row % 7 == 3;
    let loss: Float64Array = (0..rows)
        .map(|row| Some(row as f64 / rows as f64))
        .collect();
    let density: Float64Array = (0..rows)
        .map(|row| (!point_mass(row)).then_some(1.0 + row as f64))
        .collect();
    let propensity: StringArray = (0..rows)
        .map(|row| {
            Some(if point_mass(row) {
                "pointMass"
            } else {
                "density"
            })
        })
        .collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("loss", Arc::new(loss)),
        ("density", Arc::new(density)),
        ("propensity", Arc::new(propensity)),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("equal lengths");
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .set_statistics_enabled(statistics)
        .build();
    let file = File::create(path).expect("a folder to write to");
    let mut writer =
        ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a schema");
    writer.write(&batch).expect("written");
    writer.close().expect("written");
}

type Rows = Vec<Vec<Option<f64>>>;

fn collect(files: &[PathBuf], required: &[&str], optional: &[&str]) -> Result<Rows, ReadError> {
    let width = required.len() + optional.len();
    let mut rows: Rows = Vec::new();
    ColumnScan::open(files, required, optional)?.for_each(|batch| {
        for row in 0..batch.rows() {
            rows.push((0..width).map(|c| batch.column(c).get(row)).collect());
        }
        Ok::<(), ReadError>(())
    })?;
    Ok(rows)
}

#[test]
fn rows_come_in_order_whatever_the_row_groups() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = 1_300_000;
    // The last is above what is decoded as one, and so is streamed.
    for (group, statistics) in [
        (9_999, EnabledStatistics::Chunk),
        (300_000, EnabledStatistics::None),
        (rows, EnabledStatistics::Chunk),
    ] {
        let files: Vec<PathBuf> = ["a", "b"]
            .iter()
            .map(|name| folder.path().join(format!("{name}.parquet")))
            .collect();
        table(&files[0], rows, group, true, statistics);
        table(&files[1], 1_000, group, false, statistics);
        let found = collect(&files, &["density", "loss"], &["absent"]).expect("good rows");
        assert_eq!(found.len(), rows + 1_000);
        for (row, found) in found[..rows].iter().enumerate() {
            let density = (row % 7 != 3).then_some(1.0 + row as f64);
            assert_eq!(found[..], [density, Some(row as f64 / rows as f64), None]);
        }
        assert_eq!(found[rows..][3], [Some(4.0), Some(0.003), None]);
    }
}

#[test]
fn columns_and_records_are_the_same_numbers() {
    let mut runner = TestRunner::deterministic();
    let records: Vec<_> = (0..300)
        .map(|_| {
            any_record(Kind::DenseNumbers)
                .new_tree(&mut runner)
                .expect("a record")
                .current()
        })
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    let names = [
        "action",
        "density",
        "loss",
        "tau",
        "betaDraws",
        "tauIndex",
        "q",
        "label",
    ];
    let (required, optional) = names.split_at(6);
    for (name, format) in [
        ("log.parquet", Format::Parquet),
        ("log.jsonl", Format::JsonLines),
    ] {
        let file = folder.path().join(name);
        let mut writer = Writer::create(&file, format).expect("a folder to write to");
        for record in &records {
            writer.write(record).expect("a good record");
        }
        writer.finish().expect("written");
        let expected: Rows = read(&file)
            .iter()
            .map(|record| names[..7].iter().map(|name| record.number(name)).collect())
            .collect();
        assert_eq!(
            collect(&[file], required, &optional[..1]).expect("good rows"),
            expected
        );
    }
}

/// Losses are worked out from outcomes, by one objective of the file or by one of each row.
#[test]
fn losses_of_outcomes_are_the_same_by_columns() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = |seq: u64, outcome: Option<f64>, objective: &str| {
        let context = Context::dense(vec![1.0]).expect("finite");
        let density = Density::new(2.0).expect("positive");
        let mut record = Record::bare(context, 0.5.into(), Propensity::Density(density));
        (record.seq, record.outcome) = (Some(seq), outcome);
        record.objective = Some(objective.parse().expect("an objective"));
        record
    };
    for others in ["maximize:0,50", "minimize:0,100"] {
        let file = folder.path().join("log.parquet");
        let mut writer = Writer::create(&file, Format::Parquet).expect("a folder to write to");
        for record in [
            record(0, Some(20.0), "maximize:0,50"),
            record(1, None, "maximize:0,50"),
            record(2, Some(40.0), others),
        ] {
            writer.write(&record).expect("a good record");
        }
        writer.finish().expect("written");
        let expected: Rows = read(&file)
            .iter()
            .map(|record| vec![record.number("loss")])
            .collect();
        let last = if others == "maximize:0,50" { 0.2 } else { 0.4 };
        assert_eq!(expected, [[Some(0.6)], [None], [Some(last)]]);
        let found = collect(std::slice::from_ref(&file), &["loss"], &[]);
        assert_eq!(found.expect("good rows"), expected);
        // One objective is stated once.
        let metadata =
            ParquetRecordBatchReaderBuilder::try_new(File::open(&file).expect("written"));
        let metadata = metadata.expect("a table");
        let column = metadata.schema().column_with_name("objective").is_some();
        let entries = metadata.metadata().file_metadata().key_value_metadata();
        let entry = entries
            .into_iter()
            .flatten()
            .any(|e| e.key == "egret.objective");
        assert_eq!(
            (column, entry),
            (others != "maximize:0,50", others == "maximize:0,50")
        );
    }
}

/// A feature that is called like a field is not taken for it.
#[test]
fn features_called_like_fields_are_no_fields() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("log.parquet");
    let mut writer = Writer::create(&file, Format::Parquet).expect("a folder to write to");
    for point_mass in [false, true] {
        let features = Features::new()
            .with("propensity", "density")
            .with("mode", "online");
        let propensity = match point_mass {
            true => Propensity::PointMass,
            false => Propensity::Density(Density::new(2.0).expect("positive")),
        };
        let mut record = Record::bare(Context::named(features), 0.5.into(), propensity);
        record.mode = point_mass.then_some(Mode::Apprentice);
        writer.write(&record).expect("a good record");
    }
    writer.finish().expect("written");
    let found = collect(std::slice::from_ref(&file), &["density"], &[]);
    assert_eq!(found.expect("good rows"), [[Some(2.0)], [None]]);
    let columns = ColumnScan::open(&[file], &["density"], &[]).expect("a table");
    assert!(!columns.words_are_among("mode", &["online"]).expect("read"));
}

/// A table with one number spoiled.
fn spoiled(path: &Path, column: &str, value: Option<f64>, row: usize, word: &str) -> String {
    let rows = 1_000;
    let numbers = |name: &str, good: f64| -> ArrayRef {
        let numbers = (0..rows).map(|at| {
            let bad = at == row && name == column;
            if bad { value } else { Some(good) }
        });
        Arc::new(numbers.collect::<Float64Array>())
    };
    let words: StringArray = (0..rows)
        .map(|at| Some(if at == row { word } else { "density" }))
        .collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("loss", numbers("loss", 0.5)),
        ("density", numbers("density", 2.0)),
        ("q", numbers("q", 0.0)),
        ("propensity", Arc::new(words)),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("equal lengths");
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(100));
    let file = File::create(path).expect("a folder to write to");
    let mut writer =
        ArrowWriter::try_new(file, batch.schema(), Some(properties.build())).expect("a schema");
    writer.write(&batch).expect("written");
    writer.close().expect("written");
    collect(&[path.to_owned()], &["loss", "density", "q"], &[])
        .expect_err("a bad row")
        .to_string()
}

#[test]
fn what_cannot_be_is_named_with_its_row() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.parquet");
    let at = |row: usize, reason: &str| format!("{}, row {row}: {reason}", path.display());
    for (column, value, word, reason) in [
        (
            "density",
            Some(0.0),
            "density",
            "density is 0, expected a number in (0, inf)",
        ),
        (
            "density",
            Some(f64::NAN),
            "density",
            "density is NaN, expected a number in (0, inf)",
        ),
        (
            "density",
            Some(f64::INFINITY),
            "density",
            "density is inf, expected a number in (0, inf)",
        ),
        (
            "loss",
            Some(1.5),
            "density",
            "loss is 1.5, expected a number in [0, 1]",
        ),
        (
            "q",
            Some(f64::NAN),
            "density",
            "q is NaN, expected a finite number",
        ),
        (
            "q",
            Some(0.5),
            "pointMass",
            "propensity is \"pointMass\" and density is 2: a point mass has no density",
        ),
        (
            "q",
            Some(0.5),
            "drawn",
            "propensity is \"drawn\", expected density or pointMass",
        ),
        (
            "density",
            None,
            "density",
            "density is missing: give one, or propensity \"pointMass\" where the action was not drawn",
        ),
    ] {
        let error = spoiled(&path, column, value, 437, word);
        assert_eq!(error, at(438, reason));
    }
    let error = collect(std::slice::from_ref(&path), &["lost"], &[]).expect_err("no such column");
    assert!(
        error.to_string().contains("there is no column \"lost\""),
        "{error}"
    );
}

#[test]
fn point_masses_are_dropped_and_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.parquet");
    table(&path, 700, 90, true, EnabledStatistics::Chunk);
    let (mut point_masses, mut kept) = (0, Vec::new());
    ColumnScan::open(&[&path], &["loss", "density"], &[])
        .expect("a file")
        .for_each(|mut batch| {
            assert_eq!(
                batch.column(1).all().is_none(),
                0 < batch.column(1).missing()
            );
            point_masses += batch.drop_missing(1);
            assert_eq!(batch.drop_missing(1), 0);
            assert_eq!(batch.all(0).len(), batch.rows());
            kept.extend_from_slice(batch.all(1));
            Ok::<(), ReadError>(())
        })
        .expect("good rows");
    assert_eq!(point_masses, 100);
    let drawn = (0..700).filter(|row| row % 7 != 3);
    assert!(
        kept.iter()
            .copied()
            .eq(drawn.map(|row| 1.0 + f64::from(row)))
    );
}

/// A column of words is known from statistics alone, or said not to be.
#[test]
fn words_are_known_from_statistics() {
    let folder = tempfile::tempdir().expect("a folder");
    let known = |name: &str, point_masses, statistics, words: &[&str]| {
        let file = folder.path().join(name);
        table(&file, 100, 30, point_masses, statistics);
        let columns = ColumnScan::open(&[file], &["loss"], &[]).expect("a table");
        columns.words_are_among("propensity", words).expect("read")
    };
    let all = EnabledStatistics::Chunk;
    assert!(known("a.parquet", false, all, &["density"]));
    assert!(!known("b.parquet", true, all, &["density"]));
    assert!(!known("c.parquet", true, all, &["density", "pointMass"]));
    assert!(!known(
        "d.parquet",
        false,
        EnabledStatistics::None,
        &["density"]
    ));
    let file = folder.path().join("a.parquet");
    let columns = ColumnScan::open(&[file], &["loss"], &[]).expect("a table");
    assert!(columns.words_are_among("mode", &["online"]).expect("read"));
}

#[test]
fn another_version_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("newer.parquet");
    let loss: ArrayRef = Arc::new(Float64Array::from(vec![0.5]));
    let batch = RecordBatch::try_from_iter([("loss", loss)]).expect("one column");
    let entry = parquet::file::metadata::KeyValue::new("egret.version".into(), "2".to_owned());
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(vec![entry]))
        .build();
    let out = File::create(&file).expect("a folder to write to");
    let mut writer = ArrowWriter::try_new(out, batch.schema(), Some(properties)).expect("a schema");
    writer.write(&batch).expect("written");
    writer.close().expect("written");
    let error = ColumnScan::open(&[file], &["loss"], &[])
        .err()
        .expect("newer");
    assert!(error.to_string().contains("version is 2"), "{error}");
}
