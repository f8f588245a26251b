//! Logs that no model of this egret can decide: under limits, over knobs, over sets, or of another model.

use std::fs;

use egret::{Interval, Limits, Model, Settings};
use egret_jobs::audit::{AuditRequest, audit};
use egret_jobs::evaluate::{EvaluateRequest, evaluate};
use egret_jobs::train::{TrainRequest, TrainingLog, train};
use egret_jobs::{LogSource, Silent};
use egret_log::Record;

use crate::{assert_near, assert_place, folder, learned_log, read, records, write};

fn evaluation(log: &std::path::Path, policy: &str) -> EvaluateRequest {
    EvaluateRequest {
        log: LogSource::new([log]),
        policies: vec![policy.parse().expect("a policy")],
        ..EvaluateRequest::default()
    }
}

fn training(log: &std::path::Path) -> TrainRequest {
    TrainRequest {
        from: TrainingLog {
            log: LogSource::new([log]),
            ..TrainingLog::default()
        },
        ..TrainRequest::default()
    }
}

/// Densities under limits are against a part of μ: what needs the whole of it is refused, and what does not is right.
#[test]
fn limits_are_kept_or_named() {
    let folder = folder();
    let model = folder.path().join("model.egret");
    let line = Interval::new(0.0, 1.0).expect("in order");
    let of_line = Model::with_settings(line, 2, Settings::default()).expect("a model");
    fs::write(&model, of_line.save()).expect("written");
    let mut all = records(40);
    let limited = all.iter().position(|record| record.loss.is_some());
    let limited = limited.expect("a loss");
    let row = limited as u64 + 1;
    let free: Vec<Record> = all.clone();
    all[limited].limits = Some(Limits::Interval {
        low: all[limited].number("action").expect("a number"),
        high: 1.0,
    });
    for name in ["log.parquet", "log.jsonl"] {
        let file = folder.path().join(name);
        write(&file, &free);
        let expected = evaluate(&evaluation(&file, "uniform"), &Silent).expect("a report");
        write(&file, &all);
        let found = evaluate(&evaluation(&file, "uniform"), &Silent).expect("a report");
        assert_near(found.rows[0].estimate, expected.rows[0].estimate);
        let best = format!("best-of:m=8,model={}", model.display());
        let refused = evaluate(&evaluation(&file, &best), &Silent);
        assert_place(refused, &file, row, Some("limits"));
        let refused = train(&training(&file), &Silent);
        assert_place(refused, &file, row, Some("limits"));
        let request = AuditRequest {
            log: LogSource::new([&file]),
            ..AuditRequest::default()
        };
        assert_place(audit(&request, &Silent), &file, row, Some("limits"));
    }
}

/// Knobs and sets are evaluated by columns, and nothing is learned of them yet.
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
        let refused = train(&training(file), &Silent);
        let error = refused.expect_err("no model yet").to_string();
        assert!(error.contains("there are no models over"), "{error}");
    }
}

#[test]
fn a_model_that_the_log_did_not_begin_with_is_named() {
    let (folder, file, start) = learned_log(10);
    let audited = |model: &std::path::Path| {
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
