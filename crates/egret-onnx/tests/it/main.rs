//! A network of scikit-learn, exported by skl2onnx, and two of PyTorch, exported by itself: `make_model.py` and
//! `make_torch_models.py` made them, and say what the originals give.

use std::path::{Path, PathBuf};

use egret::{AnyAction, AnyModel, Context, Objective, Settings};
use egret_onnx::{OnnxError, OnnxModel};
use rayon::prelude::*;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it")
        .join(name)
}

fn model() -> OnnxModel {
    OnnxModel::load(file("revenue.onnx")).expect("a model of rows")
}

fn shop(objective: Objective) -> AnyModel {
    let space = "interval:5,50".parse().expect("a space");
    let made = model().into_model(space, objective, Settings::default());
    made.expect("rows of two features and a price")
}

fn number(action: &AnyAction) -> f64 {
    match action {
        AnyAction::Number(value) => *value,
        other => panic!("{other:?}"),
    }
}

#[derive(Debug)]
struct Told {
    rows: Vec<Vec<f32>>,
    predicted: Vec<f64>,
}

fn told(name: &str) -> Told {
    let text = std::fs::read_to_string(file(name)).expect("a file beside this one");
    let mut json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let mut part = |name: &str| json[name].take();
    let (rows, predicted) = (part("rows"), part("predicted"));
    Told {
        rows: serde_json::from_value(rows).expect("rows of numbers"),
        predicted: serde_json::from_value(predicted).expect("numbers"),
    }
}

/// As shares of the range of outcomes, the exported and the original differ by less than 1e-6.
#[test]
fn predictions_are_those_of_scikit_learn_and_pytorch() {
    for (name, width, range) in [
        ("revenue", 3, 1.0),
        ("torch_revenue", 3, 50.0),
        ("torch_price", 2, 50.0),
    ] {
        let Told { rows, predicted } = told(&format!("{name}.json"));
        let model = OnnxModel::load(file(&format!("{name}.onnx"))).expect("a model of rows");
        assert_eq!((model.width(), rows.len()), (width, 24));
        let found = model.predict(rows.concat()).expect("rows of its width");
        for (found, expected) in found.iter().zip(&predicted) {
            let difference = (f64::from(*found) - expected).abs() / range;
            assert!(difference < 1e-6, "{name}: {found} {expected}");
        }
        // The rows differ, so that equal predictions would be seen.
        let most = predicted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = predicted.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(0.2 * range < most - least, "{name}: {least} to {most}");
    }
}

/// Rayon's threads wait for rten's: a stack that grew with each prediction would overflow.
#[test]
fn many_threads_predict_at_once() {
    let shop = shop(Objective::maximize(0.0, 1.0).expect("a range"));
    let decided: Vec<f64> = (0..4_000_u64)
        .into_par_iter()
        .map(|event| {
            let x = Context::dense(vec![0.5, 1.0]).expect("finite");
            number(&shop.decide(event, &x).expect("a decision").action)
        })
        .collect();
    let x = Context::dense(vec![0.5, 1.0]).expect("finite");
    let alone = shop.decide(3_999, &x).expect("a decision").action;
    assert_eq!(decided[3_999], number(&alone));
}

#[test]
fn a_policy_plays_what_its_network_gives() {
    let Told { rows, predicted } = told("torch_price.json");
    let policy = OnnxModel::load(file("torch_price.onnx")).expect("a model of rows");
    for (row, expected) in rows.iter().zip(&predicted) {
        let x = row.iter().map(|&value| value.into()).collect();
        let played = policy.action(&Context::dense(x).expect("finite"));
        assert!((played.expect("two features") - expected).abs() < 50e-6);
    }
    let x = Context::dense(vec![0.5]).expect("finite");
    let error = policy.action(&x).expect_err("one feature").to_string();
    assert_eq!(
        error,
        "the model failed: the context has 1 features, expected 2"
    );
}

#[test]
fn a_learner_explores_by_it_without_python() {
    // The network predicts shares of 50.
    let objective = Objective::maximize(0.0, 1.0).expect("a range");
    let shop = shop(objective);
    let best = |income: f64| {
        let x = Context::dense(vec![income, 0.0]).expect("finite");
        number(&shop.best(&x).expect("an action"))
    };
    // Customers pay 10 + 25·income.
    assert!((best(0.2) - 15.0).abs() < 5.0, "{}", best(0.2));
    assert!((best(0.9) - 32.5).abs() < 5.0, "{}", best(0.9));
    let x = Context::dense(vec![0.5, 1.0]).expect("finite");
    let decision = shop.decide(0, &x).expect("a decision");
    assert!((5.0..=50.0).contains(&number(&decision.action)));
    assert!(decision.propensity.density().is_some());
}

#[test]
fn contexts_of_another_length_and_other_files_are_errors() {
    let shop = shop(Objective::LOSS);
    let x = Context::dense(vec![0.5]).expect("finite");
    let error = shop.decide(0, &x).expect_err("one feature");
    assert_eq!(error.to_string(), "the context has 1 features, expected 2");
    let x = egret::Features::new().with("income", 0.5).into();
    let error = shop.decide(0, &x).expect_err("a name").to_string();
    assert!(error.contains("have names"), "{error}");
    let refused = |space: &str| {
        let space = space.parse().expect("a space");
        let made = model().into_model(space, Objective::LOSS, Settings::default());
        made.expect_err("other actions").to_string()
    };
    assert!(refused("items:5").ends_with("and not of items:5"));
    assert!(refused("sphere:4").ends_with("and an action alone has 4"));
    for name in ["revenue.json", "none.onnx"] {
        let error = OnnxModel::load(file(name)).err().expect("no model");
        assert!(matches!(error, OnnxError::File { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}
