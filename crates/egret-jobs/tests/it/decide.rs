use std::fs;
use std::path::PathBuf;

use egret::Limits;
use egret_jobs::decide::{ContextSource, DecideRequest, LimitsSource, decide};
use egret_jobs::{JobError, Silent};
use serde_json::json;
use tempfile::TempDir;

use crate::{assert_cancelled, assert_place, assert_request, folder, fresh, json_of, x};

fn model() -> (TempDir, PathBuf) {
    let folder = folder();
    let file = folder.path().join("model.egret");
    fs::write(&file, fresh().save()).expect("written");
    (folder, file)
}

fn request(model: PathBuf, contexts: ContextSource) -> DecideRequest {
    DecideRequest {
        first_event: Some(1_000),
        ..DecideRequest::new(model, contexts)
    }
}

#[test]
fn decisions_are_the_models_own() {
    let (folder, file) = model();
    let contexts: Vec<_> = (0..50).map(x).collect();
    let given = request(file.clone(), ContextSource::Given(contexts.clone()));
    let report = decide(&given, &Silent).expect("decisions");
    let model = fresh();
    assert_eq!(report.decisions.len(), 50);
    for (place, decided) in report.decisions.iter().enumerate() {
        let event = 1_000 + place as u64;
        let own = model.decide(event, &contexts[place]).expect("an action");
        assert_eq!(decided.event, event);
        assert_eq!(decided.action, own.action.into());
        let density = own.propensity.density().expect("it was drawn");
        assert_eq!(decided.density, Some(density.get()));
    }

    let numbers = |place: usize| contexts[place].as_dense().expect("dense");
    let csv: String = (0..50)
        .map(|place| format!("{},{}\n", numbers(place)[0], numbers(place)[1]))
        .collect();
    let lines: String = (0..50)
        .map(|place| format!("{}\n", json!(numbers(place))))
        .collect();
    for (name, text) in [
        ("contexts.csv", format!("size,one\n{csv}")),
        ("contexts.jsonl", lines),
    ] {
        let table = folder.path().join(name);
        fs::write(&table, text).expect("written");
        let request = request(file.clone(), ContextSource::Table(table));
        assert_eq!(decide(&request, &Silent).expect("decisions"), report);
    }
}

/// Limits in the request, in a column, in a field beside named features or beside a list of numbers: all the same.
#[test]
fn actions_are_within_the_limits_of_their_request() {
    let (folder, file) = model();
    let contexts: Vec<_> = (0..12).map(x).collect();
    let limits: Vec<Option<Limits>> = (0..12)
        .map(|row| match row % 3 {
            0 => None,
            1 => Some(Limits::Interval {
                low: 0.25,
                high: 0.5,
            }),
            _ => Some(Limits::Interval {
                low: 0.75,
                high: 0.75,
            }),
        })
        .collect();
    let given = DecideRequest {
        limits: Some(LimitsSource::Given(limits.clone())),
        ..request(file.clone(), ContextSource::Given(contexts.clone()))
    };
    assert_request(&given);
    let report = decide(&given, &Silent).expect("decisions");
    let model = fresh();
    for (row, decided) in report.decisions.iter().enumerate() {
        assert_eq!(decided.limits, limits[row]);
        let event = 1_000 + row as u64;
        let own = match &limits[row] {
            Some(limits) => model.decide_within(event, &contexts[row], limits),
            None => model.decide(event, &contexts[row]),
        };
        let own = own.expect("an action");
        assert_eq!(decided.action, own.action.into());
        let density = own.propensity.density().expect("it was drawn");
        assert_eq!(decided.density, Some(density.get()));
        assert!(row % 3 != 2 || (own.action, density.get()) == (0.75, 1.0));
    }
    let value = json_of(&report);
    assert_eq!(
        value["decisions"][1]["limits"],
        json!({"interval": {"low": 0.25, "high": 0.5}})
    );
    assert!(value["decisions"][0].get("limits").is_none());

    let numbers = |row: usize| contexts[row].as_dense().expect("dense");
    let csv: String = (0..12)
        .map(|row| {
            let limits = limits[row]
                .as_ref()
                .map_or(String::new(), |limits| json!(limits).to_string());
            let limits = limits.replace('"', "\"\"");
            format!("{},\"{limits}\",{}\n", numbers(row)[0], numbers(row)[1])
        })
        .collect();
    let lines: String = (0..12)
        .map(|row| {
            format!(
                "{}\n",
                json!({"context": numbers(row), "allowed": limits[row]})
            )
        })
        .collect();
    for (name, text) in [
        ("contexts.csv", format!("size,allowed,one\n{csv}")),
        ("contexts.jsonl", lines),
    ] {
        let table = folder.path().join(name);
        fs::write(&table, text).expect("written");
        let request = DecideRequest {
            limits: Some(LimitsSource::Column("allowed".to_owned())),
            ..request(file.clone(), ContextSource::Table(table))
        };
        assert_request(&request);
        assert_eq!(decide(&request, &Silent).expect("decisions"), report);
    }

    let table = folder.path().join("outside.jsonl");
    let line = json!({"context": [0.5, 1.0], "limits": {"interval": {"low": 0.5, "high": 1.5}}});
    fs::write(&table, format!("{line}\n")).expect("written");
    let outside = DecideRequest {
        limits: Some(LimitsSource::Column("limits".to_owned())),
        ..request(file, ContextSource::Table(table.clone()))
    };
    let refused = decide(&outside, &Silent);
    let words = refused.as_ref().expect_err("outside").to_string();
    assert!(
        words.contains("from 0.5 to 1.5") && words.contains("interval:0,1"),
        "{words}"
    );
    assert_place(refused, &table, 1, None);
}

#[test]
fn requests_and_reports_are_json() {
    let (_folder, file) = model();
    assert_request(&request(file.clone(), ContextSource::Table("x.csv".into())));
    let given = request(file, ContextSource::Given((0..3).map(x).collect()));
    assert_request(&given);
    let report = decide(&given, &Silent).expect("decisions");
    let value = json_of(&report);
    assert_eq!(value["decisions"][2]["event"], 1_002);
    let density = report.decisions[2].density;
    assert_eq!(value["decisions"][2]["density"], json!(density));
}

#[test]
fn cancelling_ends_it() {
    let (_folder, file) = model();
    let given = request(file, ContextSource::Given(vec![x(0)]));
    assert_cancelled(decide(&given, &crate::cancel));
}

#[test]
fn a_bad_row_is_named() {
    let (folder, file) = model();
    for (name, text, row) in [
        ("a.csv", "size,one\n0.5,1\n0.5,one\n", 3),
        ("b.csv", "size,one\n0.5,1\n0.5,nan\n", 3),
        ("c.csv", "size,one\n0.5\n", 2),
        ("d.jsonl", "[0.5, 1]\n{}\n", 2),
    ] {
        let table = folder.path().join(name);
        fs::write(&table, text).expect("written");
        let request = request(file.clone(), ContextSource::Table(table.clone()));
        assert_place(decide(&request, &Silent), &table, row, None);
    }
}

#[test]
fn a_file_that_is_no_model_is_named() {
    let (folder, file) = model();
    fs::write(&file, "not a model").expect("written");
    let error = decide(&request(file, ContextSource::Given(vec![x(0)])), &Silent);
    assert!(matches!(error, Err(JobError::Model { .. })), "{error:?}");
    let nowhere = folder.path().join("nowhere.egret");
    let error = decide(&request(nowhere, ContextSource::Given(vec![])), &Silent);
    assert!(matches!(error, Err(JobError::File { .. })), "{error:?}");
}

/// Numbers that the model knows to be used are not used again.
#[test]
fn decisions_go_on_after_the_model_s_own() {
    let folder = folder();
    let file = folder.path().join("model.egret");
    fs::write(&file, fresh().with_next_event(400).save()).expect("written");
    let contexts = ContextSource::Given((0..5).map(x).collect());
    let request = |first_event| DecideRequest {
        first_event,
        ..request(file.clone(), contexts.clone())
    };
    let report = decide(&request(None), &Silent).expect("decisions");
    assert_eq!((report.decisions[0].event, report.next_event), (400, 405));
    assert_eq!(
        decide(&request(Some(400)), &Silent).expect("decisions"),
        report
    );
    let error = decide(&request(Some(399)), &Silent).expect_err("used");
    assert!(error.to_string().contains("give 400 or more"), "{error}");
}
