use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Float64Array, RecordBatch};
use egret_lab::{Encoding, Supervised};
use parquet::arrow::ArrowWriter;

fn write_parquet(path: &Path) {
    let colours: DictionaryArray<Int32Type> = [Some("red"), None, Some("blue"), Some("red")]
        .into_iter()
        .collect();
    let batch = RecordBatch::try_from_iter_with_nullable([
        (
            "size",
            Arc::new(Float64Array::from(vec![
                Some(1.0),
                Some(4.0),
                None,
                Some(2.5),
            ])) as ArrayRef,
            true,
        ),
        ("colour", Arc::new(colours) as ArrayRef, true),
        (
            "price",
            Arc::new(Float64Array::from(vec![10.0, 30.0, 20.0, 15.0])) as ArrayRef,
            true,
        ),
    ])
    .expect("columns of one length");
    let file = File::create(path).expect("a new file");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("a footer");
}

#[test]
fn the_same_data_are_the_same_from_every_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    write_parquet(&path("houses.parquet"));
    let csv = "size;colour;price\n1;red;10\n4;NA;30\n?;\"blue\";20\n2.5;red;15\n";
    fs::write(path("houses.csv"), csv).expect("written");
    let arff = concat!(
        "@relation houses\n@attribute size real\n@attribute colour {green,red,blue}\n",
        "@attribute price numeric\n@data\n1,red,10\n4,?,30\n?,'blue',20\n{0 2.5,1 red,2 15}\n",
    );
    fs::write(path("houses.arff"), arff).expect("written");

    let read = |name: &str| Supervised::read(&path(name), &Encoding::default()).expect("sound");
    let parquet = read("houses.parquet");
    assert_eq!((parquet.name(), parquet.width()), ("houses", 3));
    // The median size is 2.5; blue comes before red, which is the more frequent.
    assert_eq!(parquet.rows()[1].0.as_dense(), Some(&[1.0, 0.0, 1.0][..]));
    assert_eq!(parquet.rows()[2].0.as_dense(), Some(&[0.5, 1.0, 0.0][..]));
    for other in ["houses.csv", "houses.arff"] {
        assert_eq!(read(other).rows(), parquet.rows(), "{other}");
    }
}
