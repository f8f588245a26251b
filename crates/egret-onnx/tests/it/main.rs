//! A network of scikit-learn, exported by skl2onnx: `make_model.py` made it, and says what scikit-learn predicts.

use std::path::{Path, PathBuf};

use egret::{Context, Interval, Learner, Objective, Settings};
use egret_onnx::{OnnxError, OnnxModel};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it")
        .join(name)
}

fn model() -> OnnxModel {
    OnnxModel::load(file("revenue.onnx")).expect("a model of rows")
}

#[derive(Debug)]
struct Told {
    rows: Vec<Vec<f32>>,
    predicted: Vec<f64>,
}

fn told() -> Told {
    let text = std::fs::read_to_string(file("revenue.json")).expect("a file beside this one");
    let mut json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let mut part = |name: &str| json[name].take();
    let (rows, predicted) = (part("rows"), part("predicted"));
    Told {
        rows: serde_json::from_value(rows).expect("rows of numbers"),
        predicted: serde_json::from_value(predicted).expect("numbers"),
    }
}

#[test]
fn predictions_are_those_of_scikit_learn() {
    let Told { rows, predicted } = told();
    let model = model();
    assert_eq!((model.width(), rows.len()), (3, 24));
    let found = model.predict(rows.concat()).expect("rows of three");
    for (found, expected) in found.iter().zip(&predicted) {
        assert!(
            (f64::from(*found) - expected).abs() < 1e-6,
            "{found} {expected}"
        );
    }
    // The rows differ, so that equal predictions would be seen.
    let most = predicted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = predicted.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(0.2 < most - least, "{least} to {most}");
}

#[test]
fn a_learner_explores_by_it_without_python() {
    // The network predicts shares of 50.
    let objective = Objective::maximize(0.0, 1.0).expect("a range");
    let measure = Interval::new(5.0, 50.0).expect("an interval");
    let shop = Learner::<Context, f64>::new(
        Box::new(measure),
        model().into_oracle(objective),
        Settings::default(),
    )
    .expect("settings that fit");
    let best = |income: f64| {
        let x = Context::dense(vec![income, 0.0]).expect("finite");
        shop.best(&x).expect("an action")
    };
    // Customers pay 10 + 25·income.
    assert!((best(0.2) - 15.0).abs() < 5.0, "{}", best(0.2));
    assert!((best(0.9) - 32.5).abs() < 5.0, "{}", best(0.9));
    let x = Context::dense(vec![0.5, 1.0]).expect("finite");
    let decision = shop.decide(0, &x).expect("a decision");
    assert!((5.0..=50.0).contains(&decision.action));
    assert!(decision.propensity.density().is_some());
}

#[test]
fn contexts_of_another_length_and_other_files_are_errors() {
    let oracle = model().into_oracle(Objective::LOSS);
    let measure = Interval::new(5.0, 50.0).expect("an interval");
    let shop = Learner::<Context, f64>::new(Box::new(measure), oracle, Settings::default())
        .expect("settings that fit");
    let x = Context::dense(vec![0.5]).expect("finite");
    assert!(shop.decide(0, &x).is_err());
    for name in ["revenue.json", "none.onnx"] {
        let error = OnnxModel::load(file(name)).err().expect("no model");
        assert!(matches!(error, OnnxError::File { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}
