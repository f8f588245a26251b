//! The guides that are shell scripts: every command in them runs, in the order of the page, and comes to what the page says.
#![cfg(unix)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::folder;

/// Runs all `sh` blocks of a page as one script, in an empty folder: the folder, and what was printed.
fn followed(page: &str) -> (PathBuf, String) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/guide/{page}.md"));
    let text = fs::read_to_string(file).expect("the page");
    let mut script = String::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.starts_with("```") {
            in_block = !in_block && line == "```sh";
        } else if in_block {
            script += line;
            script.push('\n');
        }
    }
    assert!(script.contains("egret "), "{page} has no ```sh block");
    let folder = folder(&format!("guide-{page}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("made");
    let egret = Path::new(env!("CARGO_BIN_EXE_egret"));
    let mut places = vec![egret.parent().expect("a folder").to_owned()];
    places.extend(env::split_paths(&env::var_os("PATH").expect("a path")));
    let output = Command::new("sh")
        .args(["-eu", "-c", &script])
        .env("PATH", env::join_paths(places).expect("plain names"))
        .current_dir(&folder)
        .output()
        .expect("a shell");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{page}: {errors}");
    assert_eq!(errors, "", "{page}");
    let printed = String::from_utf8(output.stdout).expect("text");
    (folder, printed)
}

/// The mean of the last column over some days.
fn mean(folder: &Path, days: impl Iterator<Item = u32>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for day in days {
        let file = folder.join(format!("days/{day}.csv"));
        let text = fs::read_to_string(file).expect("a day");
        for line in text.lines().skip(1) {
            let last = line.rsplit(',').next().expect("a cell");
            sum += last.parse::<f64>().expect("a number");
            count += 1.0;
        }
    }
    sum / count
}

#[test]
fn knobs_are_tuned_from_a_shell() {
    let (folder, printed) = followed("knobs");
    // At random about 85 ms, with hiccups; at best 36.
    let (first, last) = (mean(&folder, 0..2), mean(&folder, 80..100));
    assert!(last < 50.0 && last + 10.0 < first, "{first} {last}");
    for part in [
        "after 297 batches before",
        "vector (2,400)",
        "uniform",
        "coordinate 3: ",
        "best [",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    // No event number came twice.
    let next = fs::read_to_string(folder.join("knobs.egret.next-event")).expect("kept");
    assert!(next.contains("2400"), "{next}");
}

#[test]
fn a_log_of_probabilities_is_a_table() {
    let (_, printed) = followed("vowpal-wabbit");
    // Actions at random cost 0.57.
    let said = "worse than the logging policy (";
    assert!(printed.contains(said), "{printed}");
    assert!(printed.contains("reliable"), "{printed}");
}

#[test]
fn one_of_two_hundred_thousand_is_picked() {
    let (folder, printed) = followed("items");
    let clicks = mean(&folder, 1..6);
    assert!(0.85 < clicks, "{clicks}");
    for part in ["10,000 records, 0 bad rows", "items:200000", "item (2,000)"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
}

/// The letters and the names that a reader meets are in the glossary.
#[test]
fn the_glossary_has_every_letter_and_name() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let glossary = fs::read_to_string(docs.join("glossary.md")).expect("a page");
    let mut pages = vec![docs.join("../README.md")];
    for folder in [docs.clone(), docs.join("guide")] {
        for entry in fs::read_dir(folder).expect("a folder") {
            pages.push(entry.expect("an entry").path());
        }
    }
    for page in pages
        .iter()
        .filter(|page| page.extension() == Some("md".as_ref()))
    {
        let text = fs::read_to_string(page).expect("a page");
        let greek = |letter: &char| ('α'..='ω').contains(letter) || ('Α'..='Ω').contains(letter);
        for letter in text.chars().filter(greek) {
            let known = glossary.contains(&format!("| {letter} ("));
            assert!(
                known,
                "{letter} of {} is not in the glossary",
                page.display()
            );
        }
    }
    for name in [
        "ips",
        "snips",
        "clipped-ips",
        "switch",
        "dm",
        "dr",
        "sndr",
        "drs",
        "asymptotic",
        "bootstrap",
        "empirical-bernstein",
        "betting",
        "Pareto k",
        "e-value",
        "effective sample size",
        "confidence sequence",
        "point mass",
        "kernel",
        "SLOPE",
        "CappedIGW",
        "SmoothIGW",
        "SquareCB",
        "Zoom",
        "Corral",
        "regret",
        "warm start",
    ] {
        let known = glossary.lines().any(|line| {
            let word = line
                .trim_start_matches("| ")
                .split(" |")
                .next()
                .unwrap_or_default();
            word.split(", ").any(|part| part.starts_with(name))
        });
        assert!(known, "{name} is not in the glossary");
    }
}
