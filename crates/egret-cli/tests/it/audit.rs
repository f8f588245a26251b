use std::fs;
use std::process::Output;
use std::sync::LazyLock;

use serde_json::Value;

use crate::demo::check_tags;
use crate::{egret, figures, folder, stdout};

/// The folder of a demo, made once for all tests here.
static DEMO: LazyLock<String> = LazyLock::new(|| {
    figures(9, 1_600, "audit-demo");
    path("audit-demo")
});

fn path(name: &str) -> String {
    let path = folder(name);
    path.to_str().expect("a path in plain letters").to_owned()
}

fn log() -> String {
    format!("{}/log.parquet", *DEMO)
}

fn start() -> String {
    format!("{}/start.egret", *DEMO)
}

/// The log as lines, with some of them changed.
fn spoiled(name: &str, spoil: impl Fn(usize, &mut Value)) -> String {
    let file = path(&format!("{name}.jsonl"));
    stdout(egret(&["log", "convert", &log(), "-o", &file]));
    let lines: Vec<String> = fs::read_to_string(&file)
        .expect("just written")
        .lines()
        .enumerate()
        .map(|(place, line)| {
            let mut record: Value = serde_json::from_str(line).expect("JSON");
            spoil(place, &mut record);
            record.to_string()
        })
        .collect();
    fs::write(&file, lines.join("\n")).expect("written");
    file
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_right_log_is_replayed_whole() {
    let (log, start) = (log(), start());
    let arguments = ["audit", &log, "--model", &start, "--relearn"];
    let text = stdout(egret(&arguments));
    assert!(text.contains("no fault found in 1,600 events"), "{text}");
    assert!(text.contains("all 1,600 decisions replay bit for bit"));
    let output = egret(&[&arguments[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0));
    let report = json(&output);
    assert_eq!(report["replay"]["equal"], 1_600);
    assert_eq!(report["replay"]["relearned"], 1_599);
    assert_eq!(report["alarm"], false);
    // 1/p, bins, predictions, proposals, and the sides of features.
    assert_eq!(report["tests"].as_array().expect("a list").len(), 5);
    // All models of the folder: those that are learned and given both are equal.
    let output = egret(&["audit", &log, "--models", &DEMO, "--relearn", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        json(&output)["replay"]["unequal_models"],
        Value::Array(vec![])
    );
}

#[test]
fn lines_are_audited_as_columns_are() {
    let lines = spoiled("audit-lines", |_, _| {});
    let start = start();
    let report = |log: &str| {
        let arguments = ["audit", log, "--model", &start, "--relearn", "--json"];
        stdout(egret(&arguments))
    };
    assert_eq!(report(&lines), report(&log()));
}

#[test]
fn a_wrong_log_has_an_exit_code_of_its_own() {
    let start = start();
    let one = spoiled("audit-one", |place, record| {
        if place == 700 {
            record["density"] = (record["density"].as_f64().expect("a number") * 1.01).into();
        }
    });
    let output = egret(&["audit", &one, "--model", &start, "--relearn", "--json"]);
    assert_eq!(output.status.code(), Some(3));
    let report = json(&output);
    assert_eq!(report["replay"]["differing"], 1);
    assert_eq!(report["consistency"]["inconsistent"], 1);
    assert_eq!(report["replay"]["first_differences"][0]["seq"], 700);
    // What the paper logs, as if kappa were 1: no model is needed.
    let paper = format!("{}/paper-log.parquet", *DEMO);
    let output = egret(&["audit", &paper]);
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("do not weigh this log"), "{text}");
    let gap = spoiled("audit-gap", |place, record| {
        if 100 <= place {
            record["seq"] = (place + 5).into();
        }
    });
    let output = egret(&["audit", &gap, "--json"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(json(&output)["sequence"]["missing"], 5);
}

#[test]
fn without_a_seed_g_and_z_are_still_checked() {
    let strip = |names: &'static [&'static str]| {
        move |_: usize, record: &mut Value| {
            let fields = record.as_object_mut().expect("an object");
            for &name in names {
                assert!(fields.remove(name).is_some(), "{name}");
            }
        }
    };
    let seedless = spoiled("audit-seedless", strip(&["seed", "batchesLearned"]));
    let report = json(&egret(&["audit", &seedless, "--json"]));
    assert_eq!(report["alarm"], false);
    assert_eq!(report["unchecked"]["events"], 0);
    let wrong = spoiled("audit-seedless-wrong", |place, record| {
        strip(&["seed"])(place, record);
        if place == 700 {
            record["density"] = (record["density"].as_f64().expect("a number") * 1.01).into();
        }
    });
    let output = egret(&["audit", &wrong, "--json"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(json(&output)["consistency"]["inconsistent"], 1);
    // Without z there is nothing to check by, and the report says so.
    let bare = spoiled("audit-bare", strip(&["seed", "z"]));
    let report = json(&egret(&["audit", &bare, "--json"]));
    assert_eq!(report["unchecked"]["events"], 1_600);
    let text = stdout(egret(&["audit", &bare]));
    assert!(
        text.contains("Consistency and proposals were not checked in 1,600 events"),
        "{text}"
    );
}

#[test]
fn pictures_are_whole() {
    for (name, tag) in [("audit.svg", "<svg"), ("audit.html", "<html")] {
        let file = path(name);
        stdout(egret(&["audit", &log(), "--plot", &file]));
        let picture = fs::read_to_string(&file).expect("written");
        assert!(picture.contains(tag));
        check_tags(&picture);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |arguments: &[&str]| {
        let output = egret(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).expect("text")
    };
    let log = log();
    assert!(refused(&["audit", &log, "--relearn"]).contains("--model"));
    assert!(refused(&["audit", &log, "--alpha", "2"]).contains("alpha is 2"));
    assert!(refused(&["audit", &log, "--model", &log]).contains("is not a model"));
    assert!(refused(&["audit", &log, "--plot", "a.pdf"]).contains(".svg"));
    let lines = spoiled("audit-spaces", |place, record| {
        if place == 40 {
            record["mu"] = serde_json::json!({"interval": {"low": 5.0, "high": 51.0}});
        }
    });
    let other = refused(&["audit", &lines]);
    assert!(
        other.contains("row 41, mu: the records before it, or the models, are over interval:5,50"),
        "{other}"
    );
    let over = refused(&["audit", &lines, "--skip-bad", &lines]);
    assert!(over.contains("would overwrite an input file"), "{over}");
    assert!(fs::metadata(&lines).is_ok_and(|file| 0 < file.len()));
    assert!(refused(&["audit", "no-such-log.parquet"]).contains("no-such-log"));
}
