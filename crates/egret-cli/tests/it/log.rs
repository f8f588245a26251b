use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{egret, folder, stdout};

/// An empty folder with a log of `rows` events on [0, 10], every 5th a point mass.
pub fn log(name: &str, rows: u64) -> (PathBuf, PathBuf) {
    let folder = folder(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("made");
    let lines = (0..rows).map(|seq| {
        let point_mass = seq % 5 == 4;
        let record = json!({
            "v": 1,
            "seq": seq,
            "eventId": format!("e{seq}"),
            "context": [seq as f64, 0.5],
            "mu": {"interval": {"low": 0.0, "high": 10.0}},
            "action": seq as f64 % 10.0,
            "propensity": if point_mass { "pointMass" } else { "density" },
            "density": (!point_mass).then_some(2.0),
            "z": 0.5,
            "loss": 0.25,
            "mode": "online",
        });
        format!("{record}\n")
    });
    let file = folder.join("log.jsonl");
    fs::write(&file, lines.collect::<String>()).expect("written");
    (folder, file)
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path in plain letters")
}

pub fn refused(arguments: &[&str]) -> String {
    let output = egret(arguments);
    assert!(!output.status.success());
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn a_log_goes_round_all_formats() {
    let (folder, file) = log("round", 40);
    let [parquet, back] = ["log.parquet", "back.jsonl"].map(|name| folder.join(name));
    let told = stdout(egret(&[
        "log",
        "convert",
        text(&file),
        "-o",
        text(&parquet),
    ]));
    assert_eq!(told, format!("40 records in {}\n", parquet.display()));
    stdout(egret(&[
        "log",
        "convert",
        text(&parquet),
        "-o",
        text(&back),
    ]));
    let (first, second) = (
        stdout(egret(&["log", "head", "-n", "40", "--json", text(&file)])),
        fs::read_to_string(&back).expect("written"),
    );
    assert_eq!(first, second);

    // Point masses are no dsjson: an error, or aside.
    let dsjson = folder.join("log.dsjson");
    let error = refused(&["log", "convert", text(&parquet), "-o", text(&dsjson)]);
    assert!(
        error.contains("log.parquet, row 5: the event was a point mass"),
        "{error}"
    );
    assert!(error.contains("--skip-bad FILE"), "{error}");
    assert!(!dsjson.exists());
    let bad = folder.join("bad.jsonl");
    let command = [
        "log",
        "convert",
        text(&parquet),
        "-o",
        text(&dsjson),
        "--json",
    ];
    let told = stdout(egret(&[&command[..], &["--skip-bad", text(&bad)]].concat()));
    let told: Value = serde_json::from_str(&told).expect("one object");
    assert_eq!((&told["rows"], &told["skipped"]), (&json!(32), &json!(8)));
    assert_eq!(fs::read_to_string(bad).expect("written").lines().count(), 8);
    let line = fs::read_to_string(dsjson).expect("written");
    assert!(line.contains("\"pdf_value\":0.2"), "{line}");
}

#[test]
fn stats_count_what_is_there() {
    let (folder, file) = log("stats", 50);
    let lines = fs::read_to_string(&file).expect("written");
    let without: String = lines
        .lines()
        .filter(|line| !line.contains("\"seq\":20,"))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(&file, without).expect("written");
    let found = stdout(egret(&["log", "stats", "--json", text(&folder)]));
    let found: Value = serde_json::from_str(&found).expect("one object");
    assert_eq!(found["rows"], 49);
    assert_eq!(found["point_masses"], 10);
    assert_eq!(found["outcome_mean"], 0.25);
    assert_eq!(found["kappa_mean"], 2.0);
    assert_eq!(found["density"]["median"], 2.0);
    assert_eq!(found["seq"]["missing"], 1);
    assert_eq!(found["modes"]["online"], 49);
    let table = stdout(egret(&["log", "stats", text(&file)]));
    assert!(table.contains("0 to 49, 1 missing"), "{table}");
}

#[test]
fn parts_are_merged_in_order() {
    let (folder, file) = log("merge", 20);
    let lines = fs::read_to_string(&file).expect("written");
    let part = |name: &str, keep: &dyn Fn(usize) -> bool| {
        let kept = lines.lines().enumerate().filter(|(place, _)| keep(*place));
        let path = folder.join(name);
        let kept: String = kept.map(|(_, line)| format!("{line}\n")).collect();
        fs::write(&path, kept).expect("written");
        path
    };
    let (late, early) = (
        part("late.jsonl", &|i| 8 < i),
        part("early.jsonl", &|i| i < 11),
    );
    let out = folder.join("all.jsonl");
    let told = stdout(egret(&[
        "log",
        "merge",
        text(&late),
        text(&early),
        "-o",
        text(&out),
    ]));
    assert!(
        told.contains("20 records") && told.contains("2 more came twice"),
        "{told}"
    );
    assert_eq!(
        fs::read_to_string(&out).expect("written"),
        stdout(egret(&["log", "head", "-n", "99", "--json", text(&file),]))
    );
    fs::write(
        &early,
        lines
            .lines()
            .rev()
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
    )
    .expect("written");
    let again = folder.join("again.jsonl");
    let error = refused(&["log", "merge", text(&early), "-o", text(&again)]);
    assert!(
        error.contains("early.jsonl, row 2: seq 18 comes after 19"),
        "{error}"
    );
    assert!(!again.exists());
}

#[test]
fn head_is_a_table() {
    let (_, file) = log("head", 12);
    let table = stdout(egret(&["log", "head", "-n", "5", text(&file)]));
    assert!(
        table.contains("point mass") && table.contains("e4") && !table.contains("e5"),
        "{table}"
    );
}

#[test]
fn check_lists_every_mistake() {
    let (_, file) = log("check", 10);
    let told = stdout(egret(&["log", "check", text(&file)]));
    assert_eq!(told, "10 records, 0 bad rows\n");
    let lines = fs::read_to_string(&file).expect("written");
    let spoiled = lines
        .replace("\"seq\":2,", "\"seq\":-2,")
        .replace("\"mode\":\"online\"", "\"mode\":\"offline\"");
    fs::write(&file, format!("{lines}{spoiled}")).expect("written");
    let output = egret(&["log", "check", "--named", "2", text(&file)]);
    assert_eq!(output.status.code(), Some(3));
    let told = String::from_utf8(output.stdout).expect("text");
    assert!(told.starts_with("10 records, 10 bad rows\n"), "{told}");
    assert!(
        told.contains("log.jsonl, row 11: mode is \"offline\""),
        "{told}"
    );
    assert!(told.contains("--skip-bad FILE"), "{told}");

    let output = egret(&["log", "check", "--json", text(&file)]);
    assert_eq!(output.status.code(), Some(3));
    let found: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!((&found["rows"], &found["bad"]), (&json!(10), &json!(10)));
    let rows = found["mistakes"].as_array().expect("a list").iter();
    assert_eq!(
        rows.filter_map(|mistake| mistake["rows"].as_u64())
            .sum::<u64>(),
        10
    );
}

#[test]
fn errors_say_what_to_do() {
    let (folder, file) = log("errors", 3);
    let out = folder.join("log.csv");
    let error = refused(&["log", "convert", text(&file), "-o", text(&out)]);
    assert!(
        error.contains("end the name in .parquet, .jsonl or .dsjson"),
        "{error}"
    );
    let nowhere = folder.join("nowhere.parquet");
    let error = refused(&["log", "stats", text(&nowhere)]);
    assert!(error.contains("nowhere.parquet: No such file"), "{error}");
    let out = folder.join("no/such/folder.parquet");
    let error = refused(&["log", "convert", text(&file), "-o", text(&out)]);
    assert!(error.contains("cannot write"), "{error}");
    let swapped = ["log", "head", text(&file), "--space", "interval:1,0"];
    assert!(refused(&swapped).contains("--space"));
    // Only what was there is there.
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1);
}

#[test]
fn every_help_has_an_example() {
    for command in ["check", "convert", "head", "init", "stats", "merge"] {
        let help = stdout(egret(&["log", command, "--help"]));
        assert!(help.contains(&format!("egret log {command} ")), "{help}");
    }
}
