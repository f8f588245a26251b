use std::path::Path;

use serde_json::Value;

use crate::{egret, folder, stdout};

/// A small run's figures, without those of time.
fn worlds(results: &str, threads: &str) -> Vec<Value> {
    let arguments = [
        "lab",
        "worlds",
        "--worlds",
        "distance,price",
        "--seeds",
        "2",
        "--decisions",
        "4000",
        "--threads",
        threads,
        "--results",
        results,
        "--json",
    ];
    let mut value: Value = serde_json::from_str(&stdout(egret(&arguments))).expect("JSON");
    let rows = value["worlds"].as_array_mut().expect("a list");
    for row in rows.iter_mut() {
        let microseconds = row
            .as_object_mut()
            .and_then(|row| row.remove("microseconds"));
        assert!(
            0.0 < microseconds
                .and_then(|time| time.as_f64())
                .expect("a number")
        );
    }
    rows.clone()
}

#[test]
fn worlds_as_json_resume_and_do_not_depend_on_threads() {
    let results = folder("lab-worlds");
    let _ = std::fs::remove_dir_all(&results);
    let other = folder("lab-worlds-other");
    let _ = std::fs::remove_dir_all(&other);
    let text = |path: &Path| path.to_str().expect("plain letters").to_owned();

    let rows = worlds(&text(&results), "1");
    let names: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row["world"].as_str(), row["learner"].as_str()))
        .map(|(world, learner)| (world.expect("a name"), learner.expect("a name")))
        .collect();
    // In the order of the list of worlds, whatever the order of the flag.
    let of = |world| ["default", "naive", "uniform"].map(|learner| (world, learner));
    assert_eq!(names, [of("price"), of("distance")].concat());
    for row in &rows {
        let number = |key: &str| {
            row[key]
                .as_f64()
                .unwrap_or_else(|| panic!("{key} of {row}"))
        };
        let [share, late, best, uniform] = ["share", "late", "best", "uniform"].map(number);
        let possible = 100.0 * (uniform - late) / (uniform - best);
        // Means of shares, and the share of means.
        assert!((share - possible).abs() < 1.0, "{row}");
        assert!(
            (0.1..=1_000.0 + 1e-9).contains(&number("effective_per_1000")),
            "{row}"
        );
        // Bounds that a learner that does not learn fails: after 4,000 decisions egret and the naive learner have half of
        // what is possible, and uniform play has nothing.
        match row["learner"].as_str() {
            Some("uniform") => assert!(share.abs() < 10.0, "{row}"),
            _ => assert!(50.0 < share && share < 100.0, "{row}"),
        }
    }
    assert_eq!(rows, worlds(&text(&other), "2"));

    // Part of the work is lost, and the same command makes it good.
    let journal = results.join("journal.jsonl");
    let lines = std::fs::read_to_string(&journal).expect("there");
    std::fs::write(&journal, &lines[..lines.len() / 2]).expect("written");
    assert_eq!(rows, worlds(&text(&results), "2"));
    for file in [
        "report.html",
        "report.md",
        "results.parquet",
        "figures/shares.svg",
        "figures/price-loss.png",
    ] {
        assert!(results.join(file).is_file(), "{file}");
    }
}

#[test]
fn unknown_worlds_and_learners_are_refused_with_the_list() {
    for (flag, known) in [("--worlds", "click_rare"), ("--learners", "naive")] {
        let output = egret(&["lab", "worlds", flag, "none"]);
        assert!(!output.status.success());
        let errors = String::from_utf8_lossy(&output.stderr);
        for word in [flag, "\"none\"", known] {
            assert!(errors.contains(word), "{errors}");
        }
    }
}
