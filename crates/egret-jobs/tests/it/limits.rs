//! Logs within limits; and those that no model of this egret can decide: over knobs, over sets, or of another model.

use std::fs;
use std::path::{Path, PathBuf};

use egret::{AnyAction, DecisionLoop, Explorer, Limits, Model, Settings};
use egret_jobs::audit::{AuditReport, AuditRequest, audit};
use egret_jobs::evaluate::{EvaluateRequest, Predictions, evaluate};
use egret_jobs::train::{CandidateRequest, TrainRequest, TrainingLog, train};
use egret_jobs::{LogSource, Silent};
use egret_log::{Format, Record, Writer};
use tempfile::TempDir;

use crate::{assert_near, assert_place, folder, fresh, learned_log, loss, read, write, x};

fn evaluation(log: &Path, policy: &str) -> EvaluateRequest {
    EvaluateRequest {
        log: LogSource::new([log]),
        policies: vec![policy.parse().expect("a policy")],
        ..EvaluateRequest::default()
    }
}

fn training(log: &Path) -> TrainRequest {
    TrainRequest {
        from: TrainingLog {
            log: LogSource::new([log]),
            ..TrainingLog::default()
        },
        ..TrainRequest::default()
    }
}

/// What the request of an event allows: nothing else than usual, a narrower interval, or a single number.
fn limits(event: u64) -> Option<Limits> {
    let low = (event * 13 % 50) as f64 / 100.0;
    match event % 4 {
        0 => None,
        3 => Some(Limits::Interval { low, high: low }),
        _ => Some(Limits::Interval {
            low,
            high: low + 0.4,
        }),
    }
}

/// A log of a loop within limits, the model before it, and the model after it with the explorer of the default.
fn limited_log(name: &str, rows: u64, explorer: Explorer) -> (TempDir, [PathBuf; 3]) {
    let folder = folder();
    let settings = Settings {
        explorer,
        ..fresh().settings().clone()
    };
    let model = fresh().under(settings).expect("good settings");
    let files = [name, "start.egret", "end.egret"].map(|name| folder.path().join(name));
    fs::write(&files[1], model.save()).expect("written");
    let format = Format::of_name(&files[0]).expect("a known ending");
    let writer = Writer::create(&files[0], format).expect("a folder to write to");
    let mut own = DecisionLoop::with_log(model, writer);
    for event in 0..rows {
        let decision = match limits(event) {
            Some(limits) => own.decide_within(x(event), &limits),
            None => own.decide(x(event)),
        };
        let action = decision.expect("an action").action;
        own.learn(event, loss(event, action)).expect("it waits");
    }
    let (model, writer) = own.into_parts();
    writer.finish().expect("written");
    let served = model
        .under(fresh().settings().clone())
        .expect("good settings");
    fs::write(&files[2], served.save()).expect("written");
    (folder, files)
}

fn audited(log: &Path, model: Option<&PathBuf>) -> AuditReport {
    let request = AuditRequest {
        log: LogSource::new([log]),
        models: model.cloned().into_iter().collect(),
        relearn: model.is_some(),
        ..AuditRequest::default()
    };
    audit(&request, &Silent).expect("a report")
}

/// The mean loss of a policy that plays uniformly over what each request allows.
fn uniform_loss(rows: u64) -> f64 {
    let losses = (0..rows).map(|event| {
        let (low, high) = match limits(event) {
            Some(Limits::Interval { low, high }) => (low, high),
            _ => (0.0, 1.0),
        };
        let at = |part: u32| low + (high - low) * (f64::from(part) + 0.5) / 100.0;
        let mean = |sum: f64| sum / 100.0;
        mean((0..100).map(|part| loss(event, at(part)).get()).sum())
    });
    losses.sum::<f64>() / rows as f64
}

#[test]
fn a_log_within_limits_is_audited_and_one_that_lost_them_is_found_out() {
    for name in ["log.parquet", "log.jsonl"] {
        let (_folder, [log, start, _]) = limited_log(name, 400, Settings::default().explorer);
        let records = read(&log);
        for (event, record) in (0..).zip(&records) {
            assert_eq!(record.limits, limits(event));
        }
        for model in [None, Some(&start)] {
            let findings = audited(&log, model).findings;
            assert!(!findings.alarm, "{}", findings.verdict);
            assert_eq!(findings.consistency.inconsistent, 0);
        }
        let findings = audited(&log, Some(&start)).findings;
        assert_eq!((findings.replay.equal, findings.replay.differing), (400, 0));

        let mut lost = records;
        for record in &mut lost {
            record.limits = None;
        }
        write(&log, &lost);
        let findings = audited(&log, Some(&start)).findings;
        assert!(findings.alarm, "{}", findings.verdict);
        assert!(100 < findings.replay.differing, "{}", findings.verdict);
    }
}

#[test]
fn policies_are_evaluated_within_the_limits_of_each_event() {
    let (_folder, [log, _, end]) = limited_log("log.parquet", 2_000, Explorer::Uniform);
    let rows = |policy: &str| {
        let report = evaluate(&evaluation(&log, policy), &Silent).expect("a report");
        let ips = report.rows.iter().find(|row| row.estimator == "ips");
        ips.expect("always one").clone()
    };
    let truth = uniform_loss(2_000);
    let uniform = rows("uniform");
    assert!(
        (uniform.low..=uniform.high).contains(&truth),
        "{truth} {uniform:?}"
    );
    // Power: over the whole interval uniform play would cost a third.
    assert!(uniform.high < 0.333, "{uniform:?}");
    for policy in [
        "best-of:m=8,",
        "smooth:tau=4,",
        "capped-igw:",
        "kernel:bandwidth=0.05,",
    ] {
        let policy = format!("{policy}model={}", end.display());
        let row = rows(&policy);
        assert!((row.mean_weight - 1.0).abs() < 0.25, "{policy}: {row:?}");
        assert!(row.estimate < truth, "{policy}: {row:?}");
    }
    // With predictions too: E_q f̂ is over what is allowed.
    let doubly_robust = EvaluateRequest {
        estimators: vec!["dr".parse().expect("an estimator")],
        predictions: Some(Predictions::Model(end)),
        ..evaluation(&log, "uniform")
    };
    let report = evaluate(&doubly_robust, &Silent).expect("a report");
    let row = &report.rows[0];
    assert!((row.low..=row.high).contains(&truth), "{truth} {row:?}");
}

/// A policy whose action is not allowed plays the nearest that is.
#[test]
fn a_fixed_action_is_moved_into_the_limits() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let row = |seq: u32, action: f64, (low, high): (f64, f64)| {
        let text = format!(
            r#"{{"seq":{seq},"context":[1.0],"mu":{{"interval":{{"low":0,"high":1}}}},"action":{action},"density":1.0,"loss":1.0,
            "center":0.9,"limits":{{"interval":{{"low":{low},"high":{high}}}}}}}"#
        );
        Record::from_json(&text.replace('\n', "")).expect("a record")
    };
    // An Epanechnikov kernel of h = 0.1 at the end of [0.2, 0.4]: ¾ · 0.2/(0.1 · ½) = 3 at its center. Pinned, it is 1.
    write(&file, &[row(0, 0.4, (0.2, 0.4)), row(1, 0.3, (0.3, 0.3))]);
    let report = evaluate(
        &evaluation(&file, "kernel:action=center,bandwidth=0.1"),
        &Silent,
    );
    let report = report.expect("a report");
    let ips = report.rows.iter().find(|row| row.estimator == "ips");
    assert_near(ips.expect("always one").estimate, (3.0 + 1.0) / 2.0);
}

#[test]
fn a_log_within_limits_is_learned_from() {
    let (_folder, [log, _, _]) = limited_log("log.parquet", 600, Settings::default().explorer);
    let request = TrainRequest {
        candidate: CandidateRequest {
            epochs: Some(3),
            ..CandidateRequest::default()
        },
        ..training(&log)
    };
    let (model, report) = train(&request, &Silent).expect("a model");
    assert_eq!(report.counts.used, 600);
    // x(13) wants 0.55: that is better than 0.
    let actions = [0.0, 0.55].map(AnyAction::from);
    let predicted = model.predict(&x(13), &actions).expect("numbers");
    assert!(predicted[1] + 0.2 < predicted[0], "{predicted:?}");
}

/// Knobs and sets are evaluated by columns; of sets nothing is learned without the features of their items.
#[test]
fn knobs_and_sets_are_weighed_by_columns() {
    let folder = folder();
    let files = ["log.parquet", "log.jsonl"].map(|name| folder.path().join(name));
    let sets = r#""mu":{"set":{"count":9,"size":2}},"action":[1,7]"#;
    let knobs = r#""mu":{"mixed":{"knobs":{"a":{"categories":["x"]}}}},"action":{"a":"x"}"#;
    for (action, file) in [(sets, &files[0]), (sets, &files[1]), (knobs, &files[0])] {
        let row = |seq: u32, density: f64, loss: f64| {
            let text = format!(
                r#"{{"seq":{seq},"context":[1.0],{action},"density":{density},"loss":{loss},"q":{}}}"#,
                2.0 * density
            );
            Record::from_json(&text).expect("a record")
        };
        write(file, &[row(0, 2.0, 0.5), row(1, 0.5, 1.0)]);
        for (policy, ips) in [
            ("uniform", (0.25 + 2.0) / 2.0),
            ("column:q", (1.0 + 2.0) / 2.0),
        ] {
            let report = evaluate(&evaluation(file, policy), &Silent).expect("a report");
            let row = report.rows.iter().find(|row| row.estimator == "ips");
            assert_near(row.expect("planned").estimate, ips);
        }
        if action == sets {
            let refused = train(&training(file), &Silent);
            let error = refused.expect_err("no model yet").to_string();
            assert!(error.contains("embeddings"), "{error}");
        }
    }
}

#[test]
fn a_model_that_the_log_did_not_begin_with_is_named() {
    let (folder, file, start) = learned_log(10);
    let audited = |model: &Path| {
        let request = AuditRequest {
            log: LogSource::new([&file]),
            models: vec![model.to_owned()],
            relearn: true,
            ..AuditRequest::default()
        };
        audit(&request, &Silent)
    };
    audited(&start).expect("the model of the log");
    let hash = read(&file)[9].model_hash.clone().expect("a hash");
    let bytes = fs::read(&start).expect("a model");
    let own = Model::<f64>::load(&bytes).expect("a model");
    assert_eq!(own.content_hash(), hash);
    let other = folder.path().join("other.egret");
    let settings = own.settings().clone().with_seed(77);
    let reseeded = own.under(settings).expect("good settings");
    fs::write(&other, reseeded.save()).expect("written");
    let refused = audited(&other);
    let words = refused.as_ref().expect_err("another").to_string();
    assert!(words.contains(&hash), "{words}");
    assert!(words.contains(&reseeded.content_hash()), "{words}");
    assert_place(refused, &file, 1, Some("modelHash"));
}
