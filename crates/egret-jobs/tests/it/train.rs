use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use egret::{
    AnyAction, AnyModel, Context, DecisionLoop, FeatureSchema, Features, FieldKind, Interval,
    LogRule, Model, Objective,
};
use egret_jobs::decide::{ContextSource, DecideRequest, decide};
use egret_jobs::train::{
    CandidateRequest, SplitRequest, TrainReport, TrainRequest, TrainingLog, train,
};
use egret_jobs::{JobError, LogSource, Silent, Step};
use egret_log::{Format, Writer};
use serde_json::json;

use crate::{
    assert_cancelled, assert_place, assert_report, assert_request, folder, json_of, log, names_in,
    read, spoil, x,
};

fn request(log: &Path) -> TrainRequest {
    TrainRequest {
        from: TrainingLog {
            log: LogSource::new([log]),
            ..TrainingLog::default()
        },
        candidate: CandidateRequest {
            epochs: Some(4),
            patience: 4,
            ..CandidateRequest::default()
        },
        seed: 5,
        ..TrainRequest::default()
    }
}

fn trained(request: &TrainRequest) -> (AnyModel, TrainReport) {
    train(request, &Silent).expect("a model")
}

#[test]
fn the_model_has_learned_what_the_log_teaches() {
    let (_folder, file) = log("log.parquet", 600);
    let (model, report) = trained(&request(&file));
    // 10% have no loss, a thirteenth are point masses.
    assert_eq!((report.counts.used, report.counts.without_loss), (540, 60));
    assert_eq!(report.counts.point_masses, 42);
    assert_eq!(
        (report.train, report.validation, report.test),
        (432, 54, 54)
    );
    assert_eq!(report.epochs.len(), 4);
    assert!(report.tested.is_some());

    let loaded = AnyModel::load(&model.save()).expect("just saved");
    // x(13) wants 0.55: that is better than 0.
    let actions = [0.0, 0.55].map(AnyAction::from);
    let predicted = loaded.predict(&x(13), &actions).expect("numbers");
    assert!(predicted[1] + 0.2 < predicted[0], "{predicted:?}");
    assert_eq!(predicted, model.predict(&x(13), &actions).expect("numbers"));
    assert_eq!(loaded.decide(3, &x(3)), model.decide(3, &x(3)));
}

#[test]
fn the_same_seed_gives_the_same_model_and_a_break_changes_nothing() {
    let (folder, file) = log("log.jsonl", 200);
    let (model, report) = trained(&request(&file));
    let (again, _) = trained(&request(&file));
    assert_eq!(again.save(), model.save());
    let other = TrainRequest {
        seed: 6,
        ..request(&file)
    };
    assert_ne!(trained(&other).0.save(), model.save());

    let kept = TrainRequest {
        checkpoint: Some(folder.path().join("training.checkpoint")),
        ..request(&file)
    };
    // Ends after the second epoch; what was done till then is kept.
    let second = |step: Step<'_>| match step {
        Step::Epoch(epoch) if epoch.epoch == 2 => crate::cancel(step),
        _ => ControlFlow::Continue(()),
    };
    assert_cancelled(train(&kept, &second));
    let error = train(&kept, &Silent).expect_err("an earlier training is there");
    let JobError::Request { field, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(field, "checkpoint");
    let resumed = TrainRequest {
        resume: true,
        ..kept
    };
    let (resumed, resumed_report) = trained(&resumed);
    assert_eq!(resumed.save(), model.save());
    assert_eq!(resumed_report, report);
}

#[test]
fn requests_and_reports_are_json() {
    let (_folder, file) = log("log.jsonl", 100);
    let request = TrainRequest {
        split: SplitRequest {
            shares: [0.5, 0.25, 0.25],
            shuffle: true,
        },
        checkpoint: Some("a.checkpoint".into()),
        ..request(&file)
    };
    assert_request(&request);
    assert_request(&request.from);
    assert_request(&request.candidate);
    assert_request(&request.split);
    let (_, report) = trained(&TrainRequest {
        checkpoint: None,
        ..request
    });
    assert_report(&report.counts);
    let value = json_of(&report);
    assert_eq!(value["log"]["used"], 90);
    assert_eq!(report.train + report.validation + report.test, 90);
    assert_eq!(value["epochs"].as_array().map(Vec::len), Some(4));
}

#[test]
fn cancelling_leaves_no_file() {
    let (folder, file) = log("log.jsonl", 50);
    let mut request = request(&file);
    request.checkpoint = Some(folder.path().join("training.checkpoint"));
    request.from.log.skip_bad = Some(folder.path().join("bad.jsonl"));
    assert_cancelled(train(&request, &crate::cancel));
    assert_eq!(names_in(&folder), ["log.jsonl"]);
}

#[test]
fn training_can_be_cancelled_between_epochs() {
    let (_folder, file) = log("log.jsonl", 200);
    let at_epochs = |step: Step<'_>| match step {
        Step::Epoch(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    for paper in [false, true] {
        let request = TrainRequest {
            paper,
            ..request(&file)
        };
        assert_cancelled(train(&request, &at_epochs));
    }
}

#[test]
fn a_bad_row_is_named() {
    for (field, value) in [
        ("action", json!(3)),
        ("loss", json!("much")),
        ("passProb", json!(0.5)),
        ("mu", json!({"interval": {"low": 0.0, "high": 2.0}})),
    ] {
        let (_folder, file) = log("log.jsonl", 30);
        spoil(&file, &[(field, value)]);
        assert_place(train(&request(&file), &Silent), &file, 31, Some(field));
    }
}

#[test]
fn what_cannot_be_asked_names_its_field() {
    let (folder, file) = log("log.jsonl", 30);
    let good = request(&file);
    let bad_split = SplitRequest {
        shares: [0.5, 0.6, 0.7],
        shuffle: false,
    };
    for (request, field) in [
        (
            TrainRequest {
                level: 0.0,
                ..good.clone()
            },
            "level",
        ),
        (
            TrainRequest {
                split: bad_split,
                ..good.clone()
            },
            "split",
        ),
    ] {
        let error = train(&request, &Silent).expect_err("it cannot be");
        let JobError::Request { field: found, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(*found, field, "{error}");
    }
    let embeddings = folder.path().join("embeddings.csv");
    fs::write(&embeddings, "1,2\n3\n").expect("written");
    let mut request = good;
    request.from.embeddings = Some(embeddings.clone());
    assert_place(train(&request, &Silent), &embeddings, 2, None);
}

/// From a loop over named features to decisions for a table, with no encoding by hand.
#[test]
fn named_features_go_all_the_way() {
    let folder = folder();
    let [file, table, model] =
        ["log.parquet", "new.csv", "model.egret"].map(|name| folder.path().join(name));
    let schema = FeatureSchema::new()
        .with("income", FieldKind::number())
        .and_then(|schema| schema.with("country", FieldKind::category(["AU", "NZ"])))
        .and_then(|schema| schema.with("mail", FieldKind::hashed(6).logged(LogRule::Hash)))
        .expect("a schema");
    let objective = Objective::maximize(0.0, 50.0).expect("a range");
    let prices = Interval::new(5.0, 50.0).expect("in order");
    let start = Model::new(prices, schema.clone())
        .expect("a model")
        .with_objective(objective);
    let writer = Writer::create(&file, Format::Parquet).expect("a folder to write to");
    let mut shop = DecisionLoop::with_log(start, writer);
    for event in 0..600_u64 {
        let country = if event % 3 == 0 { "NZ" } else { "AU" };
        let mut customer = Features::new()
            .with("income", 1_000 * (event % 50) as i64)
            .with("mail", format!("u{}@example.com", event % 7));
        if event % 11 != 0 {
            customer.set("country", country);
        }
        let price = shop.decide(customer).expect("an action").action;
        let limit = if country == "NZ" { 40.0 } else { 20.0 };
        shop.outcome(event, if price <= limit { price } else { 0.0 })
            .expect("in the range");
    }
    let (_, writer) = shop.into_parts();
    writer.finish().expect("written");

    // The log has what was sent, but no address, and what came of it in its units.
    let records = read(&file);
    assert!(
        records
            .iter()
            .all(|record| record.objective == Some(objective))
    );
    assert!(
        records
            .iter()
            .all(|record| record.schema_hash.as_deref() == Some(schema.content_hash()))
    );
    let features = records[1].context.as_named().expect("names");
    assert_eq!(features.get("income"), Some(&1_000.into()));
    let mail = serde_json::to_string(features.get("mail").expect("a hash")).expect("JSON");
    assert!(mail.starts_with("\"#"), "{mail}");

    // A schema is inferred from it, and the model decides for a table that nobody encoded.
    let request = TrainRequest {
        from: TrainingLog {
            log: LogSource::new([&file]),
            ..TrainingLog::default()
        },
        ..TrainRequest::default()
    };
    let (trained, _) = train(&request, &Silent).expect("a model");
    assert_eq!(trained.spec().objective, objective);
    let inferred = trained.spec().features.clone().expect("a schema");
    let kinds: Vec<&str> = inferred.fields().map(|(name, _)| name).collect();
    assert_eq!(kinds, ["country", "income", "mail"]);
    fs::write(&model, trained.save()).expect("written");
    fs::write(
        &table,
        "income,country,hat,mail\n12000,NZ,true,007\n,FR,,\n",
    )
    .expect("written");
    let request = DecideRequest {
        model,
        contexts: ContextSource::Table(table),
        first_event: Some(1_000),
        event_numbers: None,
        id: None,
        limits: None,
        onnx: None,
    };
    let decided = decide(&request, &Silent).expect("two decisions").decisions;
    let x: Context = Features::new()
        .with("income", 12_000)
        .with("country", "NZ")
        .with("hat", true)
        // Digits, and a word all the same.
        .with("mail", "007")
        .into();
    let expected = trained.decide(1_000, &x).expect("an action");
    assert_eq!((decided.len(), &decided[0].action), (2, &expected.action));
}
