//! Logs over numbers on a logarithmic scale, in steps and with a prior: what is done with an interval is done with them.

use std::fs;
use std::path::{Path, PathBuf};

use egret::{DecisionLoop, LineMeasure, Loss, Model, ModelSpec, Settings, Space};
use egret_jobs::audit::{AuditRequest, audit};
use egret_jobs::evaluate::{EvaluateRequest, evaluate};
use egret_jobs::train::{CandidateRequest, TrainRequest, TrainingLog, train};
use egret_jobs::{LogSource, Silent};
use egret_log::{Format, Writer};
use tempfile::TempDir;

use crate::{folder, read, x};

const SPACES: [&str; 4] = [
    "log:1000,1000000000",
    "steps:5,50,0.1",
    "steps:0,2,1",
    "beta:2,0.5,0,10",
];

/// The place of an action in its space, and what it costs.
fn cost(line: &dyn LineMeasure, event: u64, action: f64) -> Loss {
    let wanted = x(event).as_dense().expect("dense")[0];
    Loss::new((line.cdf(action) - wanted).abs()).expect("both are in [0, 1]")
}

/// A log of a model that learns, the model before it and the model after it.
fn learned_log(space: &str, name: &str) -> (TempDir, [PathBuf; 3]) {
    let folder = folder();
    let files = [name, "start.egret", "end.egret"].map(|name| folder.path().join(name));
    let space: Space = space.parse().expect("a space");
    let spec = ModelSpec::from_parts(space, None, 2);
    let model: Model<f64> = Model::from_spec(spec, Settings::default()).expect("a model");
    fs::write(&files[1], model.save()).expect("written");
    let format = Format::of_name(&files[0]).expect("a known ending");
    let writer = Writer::create(&files[0], format).expect("a folder to write to");
    let mut own = DecisionLoop::with_log(model, writer);
    for event in 0..600 {
        let action = own.decide(x(event)).expect("an action").action;
        let measure = own.model().learner().measure();
        let loss = cost(measure.as_line().expect("numbers"), event, action);
        own.learn(event, loss).expect("it waits");
    }
    let (model, writer) = own.into_parts();
    writer.finish().expect("written");
    fs::write(&files[2], model.save()).expect("written");
    (folder, files)
}

fn evaluation(log: &Path, policy: &str) -> EvaluateRequest {
    EvaluateRequest {
        log: LogSource::new([log]),
        policies: vec![policy.parse().expect("a policy")],
        ..EvaluateRequest::default()
    }
}

#[test]
fn a_log_is_audited_evaluated_and_learned_from() {
    for (space, name) in SPACES
        .iter()
        .flat_map(|space| ["log.parquet", "log.jsonl"].map(|name| (*space, name)))
    {
        let (_folder, [log, start, end]) = learned_log(space, name);
        let records = read(&log);
        let parsed: Space = space.parse().expect("a space");
        assert!(
            records
                .iter()
                .all(|record| record.mu.as_deref() == Some(&parsed))
        );
        let report = audit(
            &AuditRequest {
                log: LogSource::new([&log]),
                models: vec![start],
                relearn: true,
                ..AuditRequest::default()
            },
            &Silent,
        );
        let findings = report.expect("a report").findings;
        assert!(!findings.alarm, "{space}: {}", findings.verdict);
        assert_eq!((findings.replay.equal, findings.replay.differing), (600, 0));

        // Over contexts and actions that are spread evenly |u − x| has mean ⅓.
        let uniform = evaluate(&evaluation(&log, "uniform"), &Silent).expect("a report");
        let row = &uniform.rows[0];
        assert!((row.estimate - 1.0 / 3.0).abs() < 0.08, "{space}: {row:?}");
        for policy in ["capped-igw:", "best-of:m=8,", "smooth:tau=4,"] {
            let policy = format!("{policy}model={}", end.display());
            let better = evaluate(&evaluation(&log, &policy), &Silent).expect("a report");
            assert!(
                better.rows[0].estimate < 0.8 * row.estimate,
                "{space} {policy}"
            );
        }
        let kernel = format!("kernel:model={}", end.display());
        let refused = evaluate(&evaluation(&log, &kernel), &Silent).expect_err("no length");
        assert!(
            refused.to_string().contains("uniform reference measure"),
            "{refused}"
        );

        let request = TrainRequest {
            from: TrainingLog {
                log: LogSource::new([&log]),
                ..TrainingLog::default()
            },
            candidate: CandidateRequest {
                epochs: Some(2),
                ..CandidateRequest::default()
            },
            ..TrainRequest::default()
        };
        let (trained, _) = train(&request, &Silent).expect("a model");
        assert_eq!(trained.spec().space, parsed);
    }
}
