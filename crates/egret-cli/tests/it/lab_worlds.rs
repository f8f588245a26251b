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

#[test]
fn data_sets_are_worlds_and_the_default_is_compared_with_each_learner() {
    let home = folder("lab-worlds-data");
    let _ = std::fs::remove_dir_all(&home);
    let (data, results) = (home.join("data"), home.join("results"));
    std::fs::create_dir_all(&data).expect("made");
    // The price follows the size, with a town that says nothing.
    let rows = (0..600).map(|row: u32| {
        let size = row * 37 % 100;
        format!(
            "{size},{},{}\n",
            ["Porto", "Faro"][row as usize % 2],
            20 + 3 * size
        )
    });
    let text = String::from("size,town,price\n") + &rows.collect::<String>();
    std::fs::write(data.join("44025.csv"), text).expect("written");
    let run = |worlds: &str| {
        let (data, results) = (data.to_str(), results.to_str());
        let mut arguments = vec!["lab", "worlds", "--worlds", worlds, "--seeds", "2"];
        arguments.extend(["--decisions", "4000", "--json"]);
        arguments.extend(["--data", data.expect("plain letters")]);
        arguments.extend(["--results", results.expect("plain letters")]);
        let value: Value = serde_json::from_str(&stdout(egret(&arguments))).expect("JSON");
        value["worlds"].as_array().expect("a list").clone()
    };
    // The name of a set stands for all of its worlds, and the end of a name for all sets that have it.
    let rows = run("44025_california");
    let worlds: Vec<_> = rows.iter().map(|row| row["world"].clone()).collect();
    assert_eq!(worlds[..3], ["44025_california/zero_one"; 3]);
    assert_eq!(worlds[3..6], ["44025_california/sale"; 3]);
    assert_eq!(worlds[6..], ["44025_california/tenths"; 3]);
    assert_eq!(run("sale")[..], rows[3..6]);
    let default_share = |world: &Value| {
        let of = rows
            .iter()
            .find(|row| row["world"] == *world && row["learner"] == "default");
        of.and_then(|row| row["share"].as_f64()).expect("it plays")
    };
    for row in &rows {
        // There are no more rounds than rows.
        assert_eq!(row["decisions"], 600);
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{row}"));
        assert!(0.0 <= number(&row["largest_fall"]), "{row}");
        if row["learner"] == "default" {
            assert!(row["ahead"].is_null(), "{row}");
            continue;
        }
        let ahead = |key: &str| number(&row["ahead"][key]);
        let difference = default_share(&row["world"]) - number(&row["share"]);
        assert!((ahead("mean") - difference).abs() < 1e-9, "{row}");
        assert!(
            ahead("low") <= ahead("mean") && ahead("mean") <= ahead("high"),
            "{row}"
        );
    }
    let zero_one = rows[0]["uniform"].as_f64().expect("a number");
    // The mean of (y² + (1 − y)²)/2 over labels that are uniform on [0, 1] is 1/3.
    assert!((zero_one - 1.0 / 3.0).abs() < 0.02, "{zero_one}");
    for figure in [
        "losses.svg",
        "effective.svg",
        "44025_california-sale-loss.png",
    ] {
        assert!(results.join("figures").join(figure).is_file(), "{figure}");
    }
}

#[test]
fn peers_without_their_python_are_refused_before_anything_is_played() {
    let output = egret(&[
        "lab",
        "worlds",
        "--peers",
        "vw",
        "--python",
        "/no/such/python",
    ]);
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("--python PATH"), "{errors}");
}
