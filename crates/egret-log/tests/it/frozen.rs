use std::fs;
use std::path::{Path, PathBuf};

use egret_log::Record;

use crate::read;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// Files of the first egret that wrote version 1. They are never written again: what they hold is what is read for ever.
#[test]
fn old_files_are_read_as_ever() {
    for (name, others) in [
        ("version-1.jsonl", &["version-1.parquet"][..]),
        ("version-1-items.jsonl", &["version-1-items.parquet"]),
        ("version-1-vectors.jsonl", &["version-1-vectors.parquet"]),
    ] {
        let text = fs::read_to_string(data(name)).expect("a file of this repository");
        let lines = |path: &Path| -> String {
            let records = read(path);
            records
                .iter()
                .map(|record| record.to_json() + "\n")
                .collect()
        };
        assert_eq!(lines(&data(name)), text);
        for other in others {
            assert_eq!(lines(&data(other)), text, "{other}");
        }
    }
    let text = fs::read_to_string(data("version-1.jsonl")).expect("a file of this repository");
    let [record] = &read(&data("version-1.dsjson"))[..] else {
        panic!("one record");
    };
    assert_eq!(Some(record.to_json().as_str()), text.lines().next());
}

#[test]
fn fields_are_where_they_were() {
    let records = read(&data("version-1.parquet"));
    let first = &records[0];
    assert_eq!(first.propensity().density().map(f64::from), Some(3.5));
    assert_eq!(first.number("action"), Some(0.1 + 0.2));
    assert_eq!(
        (first.g, first.z, first.tau),
        (Some(2.625), Some(0.75), Some(6.0))
    );
    assert_eq!((first.seed, first.event), (Some(u64::MAX), Some(7)));
    assert_eq!(first.number("q"), Some(0.1));
    assert_eq!(records[1].propensity(), egret::Propensity::PointMass);
    assert_eq!(records[1].number("density"), None);
    assert_eq!(
        records[1].context.as_dense().map(|x| x[1].to_bits()),
        Some((-0.0_f64).to_bits())
    );
    let decision = first.decision::<f64>().expect("all of a decision");
    assert_eq!(
        Record::new(first.context.clone(), &decision).beta,
        first.beta
    );
}
