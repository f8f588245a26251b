use std::path::PathBuf;

use egret::{
    ActionKind, AnyModel, CappedIgw, Context, Decision, DecisionLoop, EmbeddingRows, Explorer,
    FeatureSchema, FeatureValue, Features, FieldKind, Forecaster, Interval, KnobValue, Loss,
    MixedAction, Model, ModelSpec, OracleSpec, Propensity, Settings, Space, for_kind,
};
use egret_log::{Format, Record, Writer};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::any_record::{KINDS, Kind, any_record};
use crate::read;

/// Debug prints each number as short as it comes back, and tells 0 from −0: equal text is equal bits.
fn bits(records: &[Record]) -> Vec<String> {
    records.iter().map(|record| format!("{record:?}")).collect()
}

/// Records with features by their dotted names, none of them missing. Whole numbers and others are one kind, for a column
/// of numbers holds both.
fn plain(mut records: Vec<Record>) -> Vec<Record> {
    fn number(value: &FeatureValue) -> FeatureValue {
        match value {
            FeatureValue::Integer(whole) if whole.unsigned_abs() <= 1 << 53 => {
                FeatureValue::Number(*whole as f64)
            }
            FeatureValue::List(values) => FeatureValue::List(values.iter().map(number).collect()),
            other => other.clone(),
        }
    }
    for record in &mut records {
        let Some(features) = record.context.as_named() else {
            continue;
        };
        let mut plain = Features::new();
        features.for_each_leaf(|name, value| {
            if *value != FeatureValue::Missing {
                plain.set(name, number(value));
            }
        });
        record.context = Context::named(plain);
    }
    records
}

fn write(folder: &std::path::Path, format: Format, records: &[Record]) -> PathBuf {
    let file = folder.join(match format {
        Format::Parquet => "log.parquet",
        Format::JsonLines => "log.jsonl",
        Format::DsJson => "log.dsjson",
        Format::Csv | Format::Arrow => unreachable!("not written"),
    });
    let mut writer = Writer::create(&file, format).expect("a folder to write to");
    for record in records {
        writer.write(record).expect("a good record");
    }
    assert_eq!(writer.finish().expect("written"), records.len() as u64);
    file
}

fn there_and_back(kind: Kind, format: Format, fits: fn(&Record) -> bool) {
    let config = Config {
        cases: 64,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(7),
        ..Config::default()
    };
    let folder = tempfile::tempdir().expect("a folder");
    TestRunner::new(config)
        .run(&vec(any_record(kind), 0..20), |mut records| {
            records.retain(|record| fits(record) && record.check().is_ok());
            let file = write(folder.path(), format, &records);
            let mut found = read(&file);
            if format == Format::Parquet {
                (found, records) = (plain(found), plain(records));
            }
            prop_assert_eq!(bits(&found), bits(&records));
            Ok(())
        })
        .expect("what was written is what is read");
}

#[test]
fn parquet_keeps_every_bit() {
    for kind in KINDS {
        there_and_back(kind, Format::Parquet, |_| true);
    }
}

#[test]
fn json_lines_keep_every_bit() {
    for kind in KINDS {
        there_and_back(kind, Format::JsonLines, |_| true);
    }
}

#[test]
fn dsjson_keeps_every_bit_of_what_it_can_hold() {
    for kind in [Kind::DenseNumbers, Kind::NamedNumbers] {
        there_and_back(kind, Format::DsJson, |record| {
            record.loss.is_some()
                && record.mu.is_some()
                && record.limits.is_none()
                && record.propensity().density().is_some()
        });
    }
}

#[test]
fn dsjson_refuses_what_it_cannot_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("log.dsjson");
    let mut writer = Writer::create(&file, Format::DsJson).expect("a folder to write to");
    let line = |mu: &str, rest: &str| {
        let text = format!(
            r#"{{"context":[1.0],"mu":{mu},{rest},"propensity":"density","density":2.0,"loss":0.25}}"#
        );
        Record::from_json(&text).expect("a record")
    };
    let interval = r#"{"interval":{"low":0.0,"high":1.0}}"#;
    let knobs = r#"{"mixed":{"knobs":{"price":{"interval":{"low":0.0,"high":1.0}}}}}"#;
    for (record, reason) in [
        (
            line(
                interval,
                r#""action":0.5,"limits":{"interval":{"low":0.5,"high":0.75}}"#,
            ),
            "the event had limits: dsjson cannot hold it",
        ),
        (
            line(knobs, r#""action":{"price":0.5}"#),
            "the event has no number as its action: dsjson cannot hold it",
        ),
        (
            line(r#"{"set":{"count":5,"size":2}}"#, r#""action":[4,1]"#),
            "the event has no number as its action: dsjson cannot hold it",
        ),
    ] {
        let error = writer.write(&record).expect_err("no place for it");
        assert_eq!(error.to_string(), reason);
    }
}

/// Actions with other knobs, and knobs that come later, share one struct; one of another type is refused.
#[test]
fn knobs_that_come_later_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let records: Vec<Record> = (0..9_000_u32)
        .map(|row| {
            let size = ("size", KnobValue::from(f64::from(row)));
            let colour = ("colour", KnobValue::from("red"));
            let action = match row {
                0..8_500 => MixedAction::new([size]),
                _ => MixedAction::new([colour]),
            };
            let action = action.expect("a knob").into();
            Record::bare(x(0), action, Propensity::PointMass)
        })
        .collect();
    let file = write(folder.path(), Format::Parquet, &records);
    assert_eq!(read(&file), records);
    let mut writer = Writer::create(&file, Format::Parquet).expect("a folder to write to");
    writer.write(&records[0]).expect("a good record");
    let other = MixedAction::new([("size", "large".into())]).expect("a knob");
    let other = Record::bare(x(0), other.into(), Propensity::PointMass);
    let error = writer.write(&other).expect_err("a number before");
    assert_eq!(
        error.to_string(),
        "action is {\"size\": \"large\"}, expected an action of the same kind as the rows before"
    );
}

/// The first batch settles the columns of names; what comes later, and in another part of the file, is there all the same.
#[test]
fn later_names_and_types_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let records: Vec<Record> = (0..20_000_u32)
        .map(|row| {
            let features = match row {
                0..9_000 => Features::new().with("age", row).with("town", "Porto"),
                9_000..15_000 => Features::new().with("age", "old").with("late", row),
                _ => Features::new().with("age", 0.5).with("town", vec![1, 2]),
            };
            let x = Context::named(features);
            let mut record = Record::bare(x, 0.5.into(), Propensity::PointMass);
            if 12_000 <= row {
                // A column more: the writer begins anew, and joins the parts at the end.
                record.set_extra("q", f64::from(row)).expect("a free name");
            }
            record
        })
        .collect();
    let file = write(folder.path(), Format::Parquet, &records);
    assert_eq!(read(&file), records);
}

fn model(space: &str, explorer: Explorer) -> AnyModel {
    let space: Space = space.parse().expect("a space");
    let embeddings = matches!(space, Space::Items { .. })
        .then(|| EmbeddingRows::new(2, (0..10).map(f64::from).collect()).expect("five rows"));
    let oracle = match space {
        Space::Interval { .. } | Space::LogUniform { .. } => OracleSpec::paper(),
        _ => OracleSpec::LeastSquares {
            forecaster: Forecaster::Ridge,
            lambda: 1.0,
            squares: true,
        },
    };
    let spec = ModelSpec::from_parts(space, embeddings, 2).with_oracle(oracle);
    let settings = Settings {
        explorer,
        seed: u64::MAX - 3,
        ..Settings::paper()
    };
    AnyModel::from_spec(spec, settings).expect("a model")
}

fn models() -> [AnyModel; 6] {
    let capped = Explorer::CappedIgw(CappedIgw::default());
    [
        model("interval:0,1", capped),
        model("interval:0,1", Explorer::SmoothIgw),
        model("log:1000,1000000000", capped),
        model("steps:5,50,0.1", capped),
        model("box:0,1,-1,1", capped),
        model("items:5", capped),
    ]
}

fn x(event: u64) -> Context {
    Context::dense(vec![event as f64 / 50.0, 1.0]).expect("finite")
}

/// Decisions to records, to a file, and back to decisions that replay.
fn replays<A: ActionKind>(model: &Model<A>) {
    let folder = tempfile::tempdir().expect("a folder");
    let decisions: Vec<Decision<A>> = (0..50)
        .map(|event| model.decide(event, &x(event)).expect("an action"))
        .collect();
    let records: Vec<Record> = decisions
        .iter()
        .map(|decision| Record::new(x(decision.event), decision))
        .collect();
    for format in [Format::Parquet, Format::JsonLines] {
        let read = read(&write(folder.path(), format, &records));
        assert_eq!(read.len(), decisions.len());
        for (record, decision) in read.iter().zip(&decisions) {
            let again: Decision<A> = record.decision().expect("all of a decision");
            assert_eq!(format!("{again:?}"), format!("{decision:?}"));
            model.replay(&record.context, &again).expect("replays");
        }
    }
}

#[test]
fn decisions_from_a_log_replay_to_the_bit() {
    for model in models() {
        for_kind!(model.kind(), A => replays::<A>(model.typed().expect("its kind")));
    }
}

/// A loop with late outcomes, some of which never come; its log teaches a fresh model the same.
fn teaches<A: ActionKind>(model: &Model<A>) {
    let folder = tempfile::tempdir().expect("a folder");
    for (format, name) in [
        (Format::Parquet, "loop.parquet"),
        (Format::JsonLines, "loop.jsonl"),
    ] {
        let file = folder.path().join(name);
        let writer = Writer::create(&file, format).expect("a folder to write to");
        let copy = Model::<A>::load(&model.save()).expect("just saved");
        let mut own = DecisionLoop::with_log(copy, writer).with_capacity(5);
        for event in 0..50 {
            own.decide(x(event)).expect("an action");
            if let Some(late) = event.checked_sub(3).filter(|late| !late.is_multiple_of(7)) {
                let loss = Loss::new(late as f64 / 50.0).expect("in range");
                own.learn(late, loss).expect("it waits");
            }
        }
        own.expire_all().expect("a log");
        let (learned, writer) = own.into_parts();
        assert_eq!(writer.finish().expect("written"), 50);
        let mut fresh = Model::<A>::load(&model.save()).expect("just saved");
        let mut unknown = 0;
        for (seq, record) in (0..).zip(read(&file)) {
            assert_eq!(record.seq, Some(seq));
            // Of the model that the loop began with, however many batches it has learned since.
            assert_eq!(record.model_hash, Some(model.content_hash()));
            match record.observed::<A>().expect("a good record") {
                Some(observed) => fresh.learn(&observed).expect("a good event"),
                None => unknown += 1,
            }
        }
        // A log says which numbers are used; a model that only learned does not know.
        let fresh = fresh.with_next_event(learned.next_event());
        assert_eq!((unknown, fresh.save()), (10, learned.save()));
        assert_eq!(fresh.batches_learned(), 40);
    }
}

#[test]
fn a_loop_leaves_a_log_that_teaches_the_same_model() {
    for model in models() {
        for_kind!(model.kind(), A => teaches::<A>(model.typed().expect("its kind")));
    }
}

/// Named features in the log teach a model with a schema the same.
#[test]
fn a_log_of_named_features_teaches_the_same_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let schema = FeatureSchema::new()
        .with("user.age", FieldKind::number())
        .and_then(|schema| schema.with("town", FieldKind::category(["Porto", "Lyon"])))
        .expect("a schema");
    let fresh = || {
        let prices = Interval::new(0.0, 1.0).expect("an interval");
        Model::new(prices, schema.clone()).expect("a model")
    };
    let features = |event: u64| {
        let user = Features::new().with("age", (event % 30) as i64);
        let town = ["Porto", "Lyon", "Oslo"].get(event as usize % 4).copied();
        Features::new().with("user", user).with("town", town)
    };
    for (format, name) in [
        (Format::Parquet, "named.parquet"),
        (Format::JsonLines, "named.jsonl"),
    ] {
        let file = folder.path().join(name);
        let writer = Writer::create(&file, format).expect("a folder to write to");
        let mut own = DecisionLoop::with_log(fresh(), writer);
        for event in 0..60 {
            own.decide(features(event)).expect("an action");
            let loss = Loss::new(event as f64 / 60.0).expect("in range");
            own.learn(event, loss).expect("it waits");
        }
        let (learned, writer) = own.into_parts();
        assert_eq!(writer.finish().expect("written"), 60);
        let mut again = fresh();
        for record in read(&file) {
            let observed = record.observed::<f64>().expect("a good record");
            again
                .learn(&observed.expect("a loss"))
                .expect("a good event");
        }
        // A log says which numbers are used; a model that only learned does not know.
        let again = again.with_next_event(learned.next_event());
        assert_eq!(again.save(), learned.save());
    }
}
