use std::path::PathBuf;

use egret::{
    ActionKind, AnyModel, CappedIgw, Context, Decision, DecisionLoop, EmbeddingRows, Explorer,
    Forecaster, Loss, Model, ModelSpec, OracleSpec, Settings, Space, for_kind,
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

fn write(folder: &std::path::Path, format: Format, records: &[Record]) -> PathBuf {
    let file = folder.join(match format {
        Format::Parquet => "log.parquet",
        Format::JsonLines => "log.jsonl",
        Format::DsJson => "log.dsjson",
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
            records.retain(fits);
            let file = write(folder.path(), format, &records);
            prop_assert_eq!(bits(&read(&file)), bits(&records));
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
            record.loss.is_some() && record.mu.is_some() && record.propensity().density().is_some()
        });
    }
}

fn model(space: &str, explorer: Explorer) -> AnyModel {
    let space: Space = space.parse().expect("a space");
    let embeddings = matches!(space, Space::Items { .. })
        .then(|| EmbeddingRows::new(2, (0..10).map(f64::from).collect()).expect("five rows"));
    let oracle = match space {
        Space::Interval { .. } => OracleSpec::paper(),
        _ => OracleSpec::LeastSquares {
            forecaster: Forecaster::Ridge,
            lambda: 1.0,
            squares: true,
        },
    };
    let spec = ModelSpec {
        space,
        context_dim: 2,
        embeddings,
        oracle,
    };
    let settings = Settings {
        explorer,
        seed: u64::MAX - 3,
        ..Settings::paper()
    };
    AnyModel::from_spec(spec, settings).expect("a model")
}

fn models() -> [AnyModel; 4] {
    let capped = Explorer::CappedIgw(CappedIgw::default());
    [
        model("interval:0,1", capped),
        model("interval:0,1", Explorer::SmoothIgw),
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
            match record.observed::<A>().expect("a good record") {
                Some(observed) => fresh.learn(&observed).expect("a good event"),
                None => unknown += 1,
            }
        }
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
