use std::fs;
use std::path::{Path, PathBuf};

use egret::{AnyModel, Context};
use serde_json::Value;

use crate::log::{log, refused, text};
use crate::{egret, stdout};

/// A folder with a model over [0, 10] and a table of three contexts.
fn model(name: &str) -> (PathBuf, PathBuf, PathBuf) {
    let (folder, file) = log(name, 200);
    let [model, table] = ["model.egret", "contexts.csv"].map(|name| folder.join(name));
    let learned = [
        "train",
        text(&file),
        "--oracle",
        "ridge",
        "-o",
        text(&model),
    ];
    stdout(egret(&learned));
    fs::write(&table, "size,one\n3,0.5\n7,0.5\n1,0.5\n").expect("written");
    (folder, model, table)
}

/// (event, action, density) of each decision that the model itself makes.
fn own(model: &Path, first: u64) -> Vec<(u64, String, f64)> {
    let model = AnyModel::load(&fs::read(model).expect("written")).expect("a model");
    let contexts = [3.0, 7.0, 1.0].map(|size| Context::dense(vec![size, 0.5]).expect("finite"));
    let decisions = (first..).zip(&contexts).map(|(event, x)| {
        let decision = model.decide(event, x).expect("an action");
        let density = decision.propensity.density().expect("it was drawn").get();
        (event, decision.action.to_string(), density)
    });
    decisions.collect()
}

#[test]
fn limits_of_a_request_are_obeyed_and_printed() {
    let (folder, model, _) = model("decide-limits");
    let table = folder.join("limited.csv");
    let rows = r#"size,limits,one
3,"{""interval"":{""low"":2,""high"":2}}",0.5
7,"{""interval"":{""low"":1,""high"":4}}",0.5
1,,0.5
"#;
    fs::write(&table, rows).expect("written");
    let decide = ["decide", text(&table), "--model", text(&model), "--limits"];
    let csv = stdout(egret(&decide));
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("event,action,density,limits"));
    let pinned = r#"0,2.0,1,"{""interval"":{""low"":2.0,""high"":2.0}}""#;
    assert_eq!(lines.next(), Some(pinned));
    let second = lines.next().expect("a line");
    let action: f64 = second
        .split(',')
        .nth(1)
        .expect("a cell")
        .parse()
        .expect("a number");
    assert!((1.0..=4.0).contains(&action), "{second}");
    assert!(lines.next().expect("a line").ends_with(','));
    let error = refused(&[
        "decide",
        text(&table),
        "--model",
        text(&model),
        "--limits=other",
    ]);
    assert!(error.contains("other"), "{error}");
}

#[test]
fn decisions_are_printed_with_their_densities() {
    let (folder, model, table) = model("decide");
    let decide = ["decide", text(&table), "--model", text(&model)];
    let csv = stdout(egret(&decide));
    let expected: String = own(&model, 0)
        .iter()
        .map(|(event, action, density)| format!("{event},{action},{density}\n"))
        .collect();
    assert_eq!(csv, format!("event,action,density\n{expected}"));

    let output = folder.join("decisions.jsonl");
    let flags = ["--first-event", "50", "--json", "-o", text(&output)];
    let told = stdout(egret(&[&decide[..], &flags].concat()));
    assert_eq!(
        told,
        format!("3 decisions in {}, events 50 to 52\n", output.display())
    );
    let lines = fs::read_to_string(&output).expect("written");
    for (line, (event, action, density)) in lines.lines().zip(own(&model, 50)) {
        let found: Value = serde_json::from_str(line).expect("an object");
        assert_eq!(found["event"], event);
        assert_eq!(found["density"], density);
        assert_eq!(found["action"].to_string(), action);
    }
    assert_eq!(lines.lines().count(), 3);
}

#[test]
fn what_cannot_be_is_said_and_nothing_is_written() {
    let (folder, model, table) = model("decide-refused");
    let before = fs::read_dir(&folder).expect("a folder").count();
    let decide = ["decide", text(&table), "--model", text(&model)];
    let over = refused(&[&decide[..], &["-o", text(&table)]].concat());
    assert!(over.contains("-o") && over.contains("would overwrite an input file"));
    let error = refused(&["decide", text(&table), "--model", text(&table)]);
    assert!(error.contains("contexts.csv is not a model"), "{error}");
    fs::write(&table, "size,one\n3,0.5\n7,some\n").expect("written");
    let error = refused(&decide);
    assert!(error.contains("contexts.csv, row 3"), "{error}");
    assert!(error.contains("some"), "{error}");
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), before);
}

#[test]
fn named_features_need_no_encoding() {
    let (folder, _) = log("named_features", 5);
    let [file, schema, model, table] =
        ["named.jsonl", "schema.json", "named.egret", "named.csv"].map(|name| folder.join(name));
    let rows: String = (0..60)
        .map(|n| {
            let country = ["NZ", "AU"][n % 2];
            let action = n as f64 / 60.0;
            format!(
                r#"{{"context": {{"income": {}, "country": "{country}"}}, "action": {action:?}, "density": 1.0,
                    "loss": 0.5, "mu": {{"interval": {{"low": 0.0, "high": 1.0}}}}}}"#,
                1000 * n
            )
            .replace('\n', "")
                + "\n"
        })
        .collect();
    fs::write(&file, rows).expect("written");
    fs::write(&table, "country,income\nNZ,12000\nFR,\n").expect("written");
    let declared =
        r#"{"fields": [{"name": "country", "field": {"kind": {"category": {"values": ["NZ"]}}}}]}"#;
    fs::write(&schema, declared).expect("written");
    let learn = |more: &[&str]| {
        let own = ["learn", text(&file), "-o", text(&model)];
        let printed = stdout(egret(&[&own, more].concat()));
        let told = "country: 30 unseen; not in the schema: income (60)";
        assert_eq!(printed.contains(told), !more.is_empty(), "{printed}");
        let model = AnyModel::load(&fs::read(&model).expect("written")).expect("a model");
        let schema = model.spec().features.clone().expect("a schema");
        let names: Vec<String> = schema.fields().map(|(name, _)| name.to_owned()).collect();
        names
    };
    assert_eq!(learn(&["--features", text(&schema)]), ["country"]);
    assert_eq!(learn(&[]), ["country", "income"]);
    let output = egret(&["decide", text(&table), "--model", text(&model)]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("country: 1 unseen; income: 1 missing"),
        "{told}"
    );
    assert!(output.status.success());
    let decided = String::from_utf8(output.stdout).expect("text");
    assert_eq!(decided.lines().count(), 3, "{decided}");
    fs::write(&schema, "{}").expect("written");
    let bad = [
        "learn",
        text(&file),
        "-o",
        text(&model),
        "--features",
        text(&schema),
    ];
    let error = refused(&bad);
    assert!(
        error.contains("--features") && error.contains("schema.json"),
        "{error}"
    );
}
