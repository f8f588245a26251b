use std::fs;
use std::path::Path;

use crate::{egret, folder, stdout};

const SMALL: &str = "\
[experiment]
name = \"small\"
seeds = 3
decisions = 200
baseline = \"uniform\"

[[data]]
simulator = \"interval\"

[[data]]
file = \"numbers.csv\"
target = \"y\"

[[learner]]
preset = \"exact\"

[[learner]]
preset = \"uniform\"
";

/// A folder with an experiment.
fn experiment(name: &str, text: &str) -> (String, String) {
    let dir = folder(name);
    if dir.exists() {
        fs::remove_dir_all(&dir).expect("emptied");
    }
    fs::create_dir_all(&dir).expect("made");
    let rows: String = (0..300)
        .map(|row| format!("{},{},{}\n", row % 7, row % 11, row % 7 + row % 3))
        .collect();
    fs::write(dir.join("numbers.csv"), format!("a,b,y\n{rows}")).expect("written");
    fs::write(dir.join("experiment.toml"), text).expect("written");
    let path = |name: &str| dir.join(name).to_str().expect("plain letters").to_owned();
    (path("experiment.toml"), path("results"))
}

#[test]
fn an_experiment_runs_resumes_and_is_compared() {
    let (file, results) = experiment("lab-run", SMALL);
    let text = stdout(egret(&["lab", "run", &file, "--results", &results]));
    assert!(
        text.contains("numbers") && text.contains("interval"),
        "{text}"
    );
    assert!(text.contains("µs/decision"), "{text}");
    let at = |name: &str| Path::new(&results).join(name);
    for name in [
        "report.html",
        "report.md",
        "results.parquet",
        "figures/differences.svg",
        "figures/numbers-curves.png",
    ] {
        assert!(at(name).exists(), "no {name}");
    }
    let journal = fs::read_to_string(at("journal.jsonl")).expect("there");
    assert_eq!(journal.lines().count(), 2 * 2 * 3);

    // Cut after five runs, on one thread: the same figures, timings aside.
    let five: Vec<&str> = journal.lines().take(5).collect();
    fs::write(at("journal.jsonl"), five.join("\n") + "\n").expect("written");
    let losses = |text: &str| -> Vec<(String, String)> {
        let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let problems = value["comparison"]["problems"].as_array().expect("a list");
        let outcomes = problems
            .iter()
            .flat_map(|problem| problem["results"].as_array().expect("a list"));
        outcomes
            .map(|of| (of["loss"].to_string(), of["low"].to_string()))
            .collect()
    };
    let run = |more: &[&str]| {
        let mut arguments = vec!["lab", "run", &file, "--results", &results, "--json"];
        arguments.extend(more);
        losses(&stdout(egret(&arguments)))
    };
    let resumed = run(&["--threads", "1"]);
    assert_eq!(resumed.len(), 4);
    assert_eq!(resumed, run(&[]));
    let again = fs::read_to_string(at("journal.jsonl")).expect("there");
    assert_eq!(again.lines().count(), 2 * 2 * 3);

    let text = stdout(egret(&["lab", "compare", &results, "--baseline", "exact"]));
    assert!(text.contains("Against exact"), "{text}");
}

#[test]
fn the_example_is_a_file_that_runs() {
    let text = stdout(egret(&["lab", "run", "--example"]));
    let (file, results) = experiment("lab-example", &text.replace("= 2000", "= 100"));
    let text = stdout(egret(&["lab", "run", &file, "--results", &results]));
    assert!(text.contains("paper kappa_inf=24"), "{text}");
}

#[test]
fn what_is_wrong_is_told_and_nothing_is_written() {
    let (file, results) = experiment("lab-wrong", &SMALL.replace("\"exact\"", "\"exct\""));
    let output = egret(&["lab", "run", &file, "--results", &results]);
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("line 15: preset is \"exct\""), "{errors}");
    assert!(errors.contains("did you mean exact?"), "{errors}");
    assert!(!Path::new(&results).exists());

    let output = egret(&["lab", "compare", &file]);
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("is not a Parquet file"), "{errors}");
}

#[test]
fn learners_of_one_name_with_other_settings_are_two() {
    let text = |gamma: &str, seeds: &str| {
        format!(
            "[experiment]\nname = \"a\"\nseeds = {seeds}\ndecisions = 100\n[[data]]\nsimulator = \"interval\"\n\
             [[learner]]\nname = \"mine\"\npreset = \"exact\"\ngamma = {gamma}\n"
        )
    };
    let run = |name: &str, text: &str| {
        let (file, results) = experiment(name, text);
        stdout(egret(&["lab", "run", &file, "--results", &results]));
        results
    };
    let one = run("lab-mine-one", &text("1", "[1, 2]"));
    let other = run("lab-mine-other", &text("100000", "[3, 4]"));
    let same = run("lab-mine-same", &text("1", "[3, 4]"));
    let seeds = |other: &str| {
        let text = stdout(egret(&["lab", "compare", &one, other, "--json"]));
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let outcomes = value["problems"][0]["results"].as_array().expect("a list");
        let seeds = outcomes.iter().map(|of| of["seeds"].as_u64());
        seeds.collect::<Option<Vec<_>>>().expect("counts")
    };
    assert_eq!(seeds(&other), [2, 2]);
    assert_eq!(seeds(&same), [4]);
}

#[test]
fn folders_of_the_paper_are_compared_too() {
    let (_, results) = experiment("lab-run-paper", SMALL);
    let file = Path::new(&results).with_file_name("experiment.toml");
    let file = file.to_str().expect("plain letters");
    let small = SMALL.replace("= 200", "= 50");
    fs::write(file, small).expect("written");
    stdout(egret(&["lab", "run", file, "--results", &results]));
    let at = |name: &str| Path::new(&results).join(name);
    // As `egret lab paper` names the file, and in a folder below.
    fs::rename(at("results.parquet"), at("online.parquet")).expect("renamed");
    let text = stdout(egret(&["lab", "compare", &results]));
    assert!(text.contains("Against exact"), "{text}");
    fs::create_dir(at("online")).expect("made");
    fs::rename(at("online.parquet"), at("online/online.parquet")).expect("renamed");
    assert_eq!(text, stdout(egret(&["lab", "compare", &results])));
    fs::remove_dir_all(at("online")).expect("removed");
    let output = egret(&["lab", "compare", &results]);
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("no results.parquet or online.parquet"),
        "{errors}"
    );
}

#[test]
fn a_word_that_no_data_set_holds_is_told() {
    let (file, _) = experiment("lab-peers-only", "");
    let dir = Path::new(&file).parent().expect("a folder");
    fs::rename(dir.join("numbers.csv"), dir.join("150_numbers.csv")).expect("renamed");
    let dir = dir.to_str().expect("plain letters");
    let arguments = [
        "--peers", "none", "--data", dir, "--only", "cover", "--only", "zzz",
    ];
    let output = egret(&[&["lab", "peers"], &arguments[..]].concat());
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("no data set's name holds \"zzz\""),
        "{errors}"
    );
    assert!(errors.contains("has: 150_covertype"), "{errors}");
}

#[test]
fn egret_plays_where_no_peer_is_and_a_missing_one_is_told() {
    let (_, results) = experiment("lab-peers", "");
    let small = ["--decisions", "100", "--seeds", "2", "--results", &results];
    let mut arguments = vec!["lab", "peers", "--peers", "none"];
    arguments.extend(small);
    let text = stdout(egret(&arguments));
    assert!(text.contains("egret paper exact"), "{text}");
    let arguments = ["lab", "peers", "--python", "/no/such/python"];
    let output = egret(&arguments);
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("--python PATH"), "{errors}");
}
