use serde_json::Value;

use crate::{egret, folder, stdout};

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(egret(arguments))).expect("JSON")
}

fn results(name: &str) -> String {
    let folder = folder(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder.to_str().expect("plain letters").to_owned()
}

#[test]
fn table_1_as_json() {
    let results = results("lab-table1");
    let rows = json(&[
        "lab",
        "paper",
        "table1",
        "--quick",
        "--json",
        "--results",
        &results,
    ]);
    let rows = rows.as_array().expect("a list");
    assert_eq!(rows.len(), 12);
    for row in rows {
        for key in ["tau", "gamma", "violations"] {
            assert!(row[key].is_number(), "{key} of {row}");
        }
        assert!(row["normalizer"].is_string());
        for key in ["draws", "kappa"] {
            let three = row[key].as_array().expect("a list");
            assert_eq!(three.len(), 3);
        }
    }
}

#[test]
fn the_online_study_as_json_resumes_and_does_not_depend_on_threads() {
    let (one, two) = (results("lab-online-1"), results("lab-online-2"));
    let run = |results: &str, threads: &str| {
        json(&[
            "lab",
            "paper",
            "online",
            "--simulated",
            "--seeds",
            "2",
            "--decisions",
            "160",
            "--json",
            "--threads",
            threads,
            "--results",
            results,
        ])
    };
    let strip = |mut value: Value| {
        let rows = value["results"].as_array_mut().expect("a list");
        for row in rows {
            let row = row.as_object_mut().expect("an object");
            assert!(row.remove("microseconds").is_some());
        }
        value
    };
    let first = strip(run(&one, "1"));
    assert_eq!(first["results"].as_array().map(Vec::len), Some(3 * 5));
    for row in first["results"].as_array().expect("a list") {
        for key in ["dataset", "learner"] {
            assert!(row[key].is_string(), "{row}");
        }
        for key in ["seeds", "decisions", "loss", "low", "high"] {
            assert!(row[key].is_number(), "{row}");
        }
        let capped = row["learner"] == "CappedIGW";
        assert_eq!(capped, row["kappa_inf"].is_number());
        assert_eq!(capped, row["normalizer"].is_string());
    }
    let summary = &first["summary"];
    let sum: u64 = ["wins", "ties", "losses"]
        .iter()
        .map(|key| summary[key].as_u64().expect("a count"))
        .sum();
    assert_eq!(sum, 3, "{summary}");
    assert_eq!(first, strip(run(&two, "2")));

    // Part of the work is lost, and the same command makes it good.
    let journal = std::path::Path::new(&one).join("online.jsonl");
    let text = std::fs::read_to_string(&journal).expect("there");
    std::fs::write(&journal, &text[..text.len() / 2]).expect("written");
    assert_eq!(first, strip(run(&one, "2")));
    for file in [
        "report.html",
        "report.md",
        "online.parquet",
        "figures/online.svg",
        "figures/online.png",
    ] {
        assert!(
            std::path::Path::new(&one)
                .join("online")
                .join(file)
                .is_file(),
            "{file}"
        );
    }
}

#[test]
fn data_that_is_not_there_is_asked_for() {
    let results = results("lab-none");
    let output = egret(&["lab", "paper", "online", "--results", &results]);
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    for word in ["--data", "--openml", "--simulated"] {
        assert!(errors.contains(word), "{errors}");
    }
    let empty = folder("lab-empty");
    std::fs::create_dir_all(&empty).expect("a folder");
    let empty = empty.to_str().expect("plain letters");
    let output = egret(&[
        "lab",
        "paper",
        "online",
        "--data",
        empty,
        "--results",
        &results,
    ]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("150_covertype.parquet"), "{errors}");
}
