use std::path::PathBuf;

use egret::{
    AnyLearner, Blueprint, CappedIgw, Context, Decision, Explorer, Forecaster, Item, Model,
    OracleSpec, Settings, Space, Table, Vector,
};
use egret_log::{Format, FromLogged, LoggedAction, Record, Writer};
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

fn model(space: Space, explorer: Explorer) -> Model {
    let embeddings = matches!(space, Space::Items { .. }).then(|| Table {
        dim: 2,
        rows: (0..10).map(f64::from).collect(),
    });
    let oracle = match space {
        Space::Interval { .. } => OracleSpec::paper(),
        _ => OracleSpec::LeastSquares {
            forecaster: Forecaster::Ridge,
            lambda: 1.0,
            squares: true,
        },
    };
    let blueprint = Blueprint {
        space,
        context_dim: 2,
        embeddings,
        oracle,
    };
    Model::new(
        blueprint,
        Settings {
            explorer,
            seed: u64::MAX - 3,
            ..Settings::paper()
        },
    )
    .expect("a model")
}

/// Decisions to records, to a file, and back to decisions that replay.
fn replays<A>(learner: &mut egret::Learner<Context, A>)
where
    A: egret::Action + PartialEq + FromLogged + Into<LoggedAction>,
{
    let folder = tempfile::tempdir().expect("a folder");
    let contexts: Vec<Context> = (0..50)
        .map(|event| Context::dense(vec![f64::from(event) / 50.0, 1.0]).expect("finite"))
        .collect();
    let decisions: Vec<Decision<A>> = contexts
        .iter()
        .enumerate()
        .map(|(event, x)| learner.decide(event as u64, x).expect("an action"))
        .collect();
    let records: Vec<Record> = contexts
        .iter()
        .zip(&decisions)
        .map(|(x, decision)| Record::new(x.clone(), decision))
        .collect();
    for format in [Format::Parquet, Format::JsonLines] {
        let read = read(&write(folder.path(), format, &records));
        assert_eq!(read.len(), decisions.len());
        for (record, decision) in read.iter().zip(&decisions) {
            let again: Decision<A> = record.decision().expect("all of a decision");
            assert_eq!(format!("{again:?}"), format!("{decision:?}"));
            learner.replay(&record.context, &again).expect("replays");
        }
    }
}

#[test]
fn decisions_from_a_log_replay_to_the_bit() {
    let capped = Explorer::CappedIgw(CappedIgw::default());
    let spaces = [
        (
            Space::Interval {
                low: 0.0,
                high: 1.0,
            },
            capped,
        ),
        (
            Space::Interval {
                low: 0.0,
                high: 1.0,
            },
            Explorer::SmoothIgw,
        ),
        (
            Space::Box {
                sides: vec![(0.0, 1.0), (-1.0, 1.0)],
            },
            capped,
        ),
        (
            Space::Items {
                count: 5,
                weights: None,
            },
            capped,
        ),
    ];
    for (space, explorer) in spaces {
        match model(space, explorer).learner {
            AnyLearner::Number(mut learner) => replays::<f64>(&mut learner),
            AnyLearner::Vector(mut learner) => replays::<Vector>(&mut learner),
            AnyLearner::Item(mut learner) => replays::<Item>(&mut learner),
        }
    }
}
