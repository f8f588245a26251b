//! Models of PyTorch as ONNX files: they decide, and are policies to evaluate.

use std::path::{Path, PathBuf};

use egret::{
    AnyAction, Context, Density, EventRng, Objective, Propensity, Settings, Space, Stream,
};
use egret_jobs::decide::{ContextSource, DecideRequest, OnnxFrame, decide};
use egret_jobs::evaluate::{EvaluateRequest, Predictions, evaluate};
use egret_jobs::{LogSource, Silent};
use egret_log::{Format, Record, Writer};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../egret-onnx/tests/it")
        .join(name)
}

fn space() -> Space {
    "interval:5,50".parse().expect("a space")
}

fn revenue() -> Objective {
    Objective::maximize(0.0, 50.0).expect("a range")
}

fn customer(event: u64) -> Context {
    let mut chance = EventRng::new(1, event, Stream::World);
    Context::dense(vec![chance.unit(), chance.unit()]).expect("finite")
}

/// Prices at random, to customers as `make_torch_models.py` has them.
fn log(folder: &Path) -> PathBuf {
    let path = folder.join("log.parquet");
    let mut writer = Writer::create(&path, Format::Parquet).expect("a folder to write to");
    for event in 0..1_500 {
        let mut chance = EventRng::new(2, event, Stream::World);
        let (x, price) = (customer(event), 5.0 + 45.0 * chance.unit());
        let numbers = x.as_dense().expect("dense");
        let worth = 10.0 + 25.0 * numbers[0] + 5.0 * numbers[1];
        let outcome = if price < worth { price } else { 0.0 };
        let drawn = Propensity::Density(Density::new(1.0).expect("positive"));
        let mut record = Record::bare(x, price.into(), drawn);
        record.seq = Some(event);
        record.mu = Some(space().into());
        record.objective = Some(revenue());
        record.outcome = Some(outcome);
        record.loss = Some(revenue().loss(outcome).expect("in the range"));
        writer.write(&record).expect("written");
    }
    writer.finish().expect("written");
    path
}

#[test]
fn files_of_onnx_are_policies_and_predictions() {
    let folder = tempfile::tempdir().expect("a folder");
    let (net, played) = (file("torch_revenue.onnx"), file("torch_price.onnx"));
    let (net, played) = (net.display(), played.display());
    let texts = [
        "blind=uniform".to_owned(),
        format!("best=best-of:m=16,model={net}"),
        format!("smooth=smooth:tau=8,model={net}"),
        format!("price=kernel:model={played},bandwidth=3"),
    ];
    let policies = texts.iter().map(|text| text.parse().expect("a policy"));
    let request = EvaluateRequest {
        log: LogSource::new([log(folder.path())]),
        policies: policies.collect(),
        predictions: Some(Predictions::Model(file("torch_revenue.onnx"))),
        ..EvaluateRequest::default()
    };
    let report = evaluate(&request, &Silent).expect("an evaluation");
    let value = |policy: &str, estimator: &str| {
        let mut rows = report.rows.iter();
        let row = rows.find(|row| row.policy == policy && row.estimator == estimator);
        row.expect("a row for each").estimate
    };
    for estimator in ["snips", "dr"] {
        for policy in ["best", "smooth", "price"] {
            let (it, blind) = (value(policy, estimator), value("blind", estimator));
            assert!(
                blind + 2.0 < it,
                "{policy} by {estimator}: {it}, blind {blind}"
            );
        }
    }
    // Each event takes sixteen decisions: a few will do.
    let igw = format!("capped-igw:model={net},tau=8,gamma=100");
    let request = EvaluateRequest {
        policies: vec![igw.parse().expect("a policy")],
        predictions: None,
        to_seq: Some(20),
        ..request
    };
    let report = evaluate(&request, &Silent).expect("an evaluation");
    assert!((0.0..=50.0).contains(&report.rows[0].estimate));
}

#[test]
fn a_file_of_onnx_decides() {
    let contexts: Vec<Context> = (0..40).map(customer).collect();
    let frame = OnnxFrame {
        space: space(),
        objective: revenue(),
        settings: Settings::default().with_seed(7),
    };
    let source = ContextSource::Given(contexts.clone());
    let request = DecideRequest {
        onnx: Some(frame),
        ..DecideRequest::new(file("torch_revenue.onnx"), source.clone())
    };
    let report = decide(&request, &Silent).expect("decisions");
    let model = egret_onnx::OnnxModel::load(file("torch_revenue.onnx")).expect("a model");
    let model = model.into_model(space(), revenue(), Settings::default().with_seed(7));
    let model = model.expect("rows of two features and a price");
    for (event, (decided, x)) in report.decisions.iter().zip(&contexts).enumerate() {
        let expected = model.decide(event as u64, x).expect("a decision");
        assert_eq!(decided.action, expected.action);
        assert_eq!(
            decided.density,
            expected.propensity.density().map(Density::get)
        );
        assert!(
            matches!(decided.action, AnyAction::Number(price) if (5.0..=50.0).contains(&price))
        );
    }
    let bare = DecideRequest::new(file("torch_revenue.onnx"), source);
    let error = decide(&bare, &Silent).expect_err("no space").to_string();
    assert!(error.contains("give both"), "{error}");
}
