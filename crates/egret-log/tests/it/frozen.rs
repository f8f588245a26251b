use std::fs;
use std::path::{Path, PathBuf};

use egret::{ActionKind, Item, ItemLimits, ItemSet, Limits, MixedAction};
use egret_log::{Format, Record, Writer};

use crate::read;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// Makes the files of version 1 from those of JSON lines. Run it no more once version 1 is published: from then on what
/// they hold is what is read for ever. `cargo nextest run -p egret-log --run-ignored only files_are_made`
#[test]
#[ignore = "writes to tests/data"]
fn files_are_made_from_json_lines() {
    for name in [
        "version-1",
        "version-1-items",
        "version-1-vectors",
        "version-1-mixed",
        "version-1-sets",
    ] {
        let records = read(&data(&format!("{name}.jsonl")));
        let write = |ending: &str, format, records: &[Record]| {
            let file = data(&format!("{name}.{ending}"));
            let mut writer = Writer::create(file, format).expect("this repository");
            for record in records {
                writer.write(record).expect("a good record");
            }
            writer.finish().expect("written");
        };
        write("parquet", Format::Parquet, &records);
        if name == "version-1" {
            write("dsjson", Format::DsJson, &records[..1]);
        }
    }
}

/// Files of the first egret that wrote version 1.
#[test]
fn old_files_are_read_as_ever() {
    for (name, others) in [
        ("version-1.jsonl", &["version-1.parquet"][..]),
        ("version-1-items.jsonl", &["version-1-items.parquet"]),
        ("version-1-vectors.jsonl", &["version-1-vectors.parquet"]),
        ("version-1-mixed.jsonl", &["version-1-mixed.parquet"]),
        ("version-1-sets.jsonl", &["version-1-sets.parquet"]),
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
    assert_eq!(
        (first.batches_learned, first.settings_version),
        (Some(12), Some(3))
    );
    assert_eq!(first.model_hash.as_deref(), Some("3f2a"));
    assert_eq!(first.schema_hash.as_deref(), Some("91bc"));
    assert_eq!(first.largest_inverse_density, Some(8.0));
    assert_eq!(
        (first.outcome, first.loss.map(f64::from)),
        (Some(40.0), Some(0.2))
    );
    let objective = first.objective.expect("stated").to_string();
    assert_eq!(objective, "maximize:0,50");
    let decision = first.decision::<f64>().expect("all of a decision");
    assert_eq!(
        Record::new(first.context.clone(), &decision).beta,
        first.beta
    );
}

#[test]
fn named_features_are_what_they_were() {
    let records = read(&data("version-1-vectors.parquet"));
    let value = |row: usize, name: &str| {
        let features = records[row].context.as_named().expect("named");
        features.get(name).cloned()
    };
    assert_eq!(value(0, "age"), Some(0.5.into()));
    assert_eq!(value(0, "new"), Some(true.into()));
    assert_eq!(value(0, "tags"), Some(vec!["a", "b"].into()));
    assert_eq!(value(0, "town"), Some("Porto".into()));
    assert_eq!(value(0, "user.visits"), Some(3_i64.into()));
    assert_eq!(value(1, "user.visits"), Some("many".into()));
    assert_eq!(value(1, "town"), None);
}

#[test]
fn knobs_sets_and_limits_are_what_they_were() {
    let mixed = read(&data("version-1-mixed.parquet"));
    let action = MixedAction::from_any(&mixed[0].action).expect("knobs");
    assert_eq!(action.get("colour"), Some(&"red".into()));
    assert_eq!(action.get("price"), Some(&12.5.into()));
    assert_eq!(action.get("retries"), Some(&3.0.into()));
    assert_eq!((mixed[0].pass_prob, mixed[1].pass_prob), (None, Some(0.25)));
    assert_eq!(mixed[0].model_hash.as_deref(), Some("0a38a7fac68d0471"));
    let sets = read(&data("version-1-sets.parquet"));
    let set = ItemSet::from_any(&sets[0].action).expect("items");
    assert_eq!(set.items(), [Item(7), Item(512), Item(29_999)]);
    let allowed = ItemLimits::Allowed([0, 7, 8, 9].map(Item).to_vec());
    assert_eq!(sets[1].limits, Some(Limits::Items(allowed)));
    assert_eq!(sets[0].limits, None);
}
