use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Float32Type;
use arrow_array::{ArrayRef, Float64Array, ListArray, RecordBatch, StringArray};
use egret::{Objective, Space};
use egret_log::{ColumnScan, Format, LogMapping, MemoryTable, OnBad, ReadError, Reader, Writer};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::any_record::{KINDS, any_record};
use crate::read;

/// A Parquet file, in batches of so many rows.
fn in_memory(path: &Path, batch: usize) -> MemoryTable {
    let file = File::open(path).expect("written before");
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
    let metadata = builder.metadata().file_metadata();
    let told = metadata.key_value_metadata().into_iter().flatten();
    let told = told.filter(|entry| entry.key.starts_with("egret."));
    let told = told.filter_map(|entry| Some((entry.key.clone(), entry.value.clone()?)));
    let schema = builder.schema().as_ref().clone();
    let schema = Arc::new(schema.with_metadata(told.collect()));
    let reader = builder.with_batch_size(batch).build().expect("batches");
    MemoryTable::new(schema, reader.map(|batch| batch.expect("rows")).collect())
}

fn numbers(scan: &ColumnScan) -> Vec<[Option<f64>; 2]> {
    let mut rows = Vec::new();
    scan.for_each(|batch| {
        rows.extend(
            (0..batch.rows()).map(|row| [0, 1].map(|column| batch.column(column).get(row))),
        );
        Ok::<(), ReadError>(())
    })
    .expect("good rows");
    rows
}

#[test]
fn a_table_is_read_as_its_file_is_and_more_than_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("log.parquet");
    let mut runner = TestRunner::deterministic();
    for kind in KINDS {
        let mut writer = Writer::create(&file, Format::Parquet).expect("a folder to write to");
        for _ in 0..60 {
            let record = any_record(kind).new_tree(&mut runner).expect("a record");
            writer.write(&record.current()).expect("written");
        }
        writer.finish().expect("written");
        let expected = read(&file);
        for batch in [7, 60] {
            let table = in_memory(&file, batch);
            assert_eq!(table.rows(), 60);
            for _ in 0..2 {
                let read = Reader::of_table(&table, OnBad::Stop, LogMapping::default());
                let read: Result<Vec<_>, _> = read.expect("a table").collect();
                assert_eq!(read.expect("records"), expected);
            }
            let there = ColumnScan::open(&[&file], &[], &["loss", "density"]).expect("a file");
            let here = ColumnScan::of_table(&table, &[], &["loss", "density"]).expect("a table");
            assert_eq!(numbers(&here), numbers(&there));
            assert_eq!(here.shared_objective().ok(), there.shared_objective().ok());
        }
    }
}

/// 10,000 rows in one batch: more than are decoded at once.
fn long(density_of_9000: f64) -> MemoryTable {
    let rows = 10_000;
    let contexts = ListArray::from_iter_primitive::<Float32Type, _, _>(
        (0..rows).map(|row| Some(vec![Some(row as f32), Some(0.5)])),
    );
    let actions: Float64Array = (0..rows).map(|row| Some(row as f64 / 1e4)).collect();
    let density = |row| if row == 8_999 { density_of_9000 } else { 1.0 };
    let densities: Float64Array = (0..rows).map(|row| Some(density(row))).collect();
    let outcomes: Float64Array = (0..rows).map(|row| Some(row as f64)).collect();
    let modes: StringArray = (0..rows).map(|_| Some("online")).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("context", Arc::new(contexts)),
        ("action", Arc::new(actions)),
        ("density", Arc::new(densities)),
        ("outcome", Arc::new(outcomes)),
        ("mode", Arc::new(modes)),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("equal lengths");
    let objective = Objective::maximize(0.0, 12_345.6).expect("a range");
    let space: Space = "interval:0,1".parse().expect("a space");
    MemoryTable::new(batch.schema(), vec![batch]).stating(Some(&space), Some(&objective))
}

#[test]
fn slices_of_a_long_batch_are_its_rows() {
    let table = long(1.0);
    let records = Reader::of_table(&table, OnBad::Stop, LogMapping::default());
    let mut expected = Vec::new();
    for (row, record) in records.expect("a table").enumerate() {
        let record = record.expect("a record");
        assert_eq!(record.context.as_dense(), Some(&[row as f64, 0.5][..]));
        let space = record.mu.as_ref().map(ToString::to_string);
        assert_eq!(space.as_deref(), Some("interval:0,1"));
        expected.push(["loss", "density"].map(|name| record.number(name)));
    }
    let scan = ColumnScan::of_table(&table, &["loss", "density"], &[]).expect("a table");
    assert_eq!(scan.rows(), Some(10_000));
    // To the bit, though the losses of outcomes are worked out all at once here.
    assert_eq!(numbers(&scan), expected);
    let among = |words: &[&str]| scan.words_are_among("mode", words).expect("in memory");
    assert!(among(&["online", "logging"]) && !among(&["logging"]));
    assert!(scan.words_are_among("densityKind", &[]).expect("in memory"));
}

#[test]
fn what_is_wrong_is_named_with_its_row() {
    let table = long(-1.0);
    let expected = "the table, row 9000: density is -1, expected a number in (0, inf)";
    let mut records =
        Reader::of_table(&table, OnBad::Stop, LogMapping::default()).expect("a table");
    let error = records.find_map(Result::err).expect("a bad row");
    assert_eq!(error.to_string(), expected);
    let scan = ColumnScan::of_table(&table, &["density"], &[]).expect("a table");
    let error = scan
        .for_each(|_| Ok::<(), ReadError>(()))
        .expect_err("a bad row");
    assert_eq!(error.to_string(), expected);
    let error = ColumnScan::of_table(&table, &["q"], &[])
        .err()
        .expect("no such column");
    assert_eq!(
        error.to_string(),
        "the table: there is no column \"q\", only context, action, density, outcome, mode"
    );
    let mapped = LogMapping {
        action: vec!["prices".to_owned()],
        ..LogMapping::default()
    };
    let error = Reader::of_table(&table, OnBad::Stop, mapped)
        .err()
        .expect("no such column");
    assert!(error.to_string().starts_with("the table: "), "{error}");
}
