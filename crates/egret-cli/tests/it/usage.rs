use std::fs;

use crate::{egret, folder, stdout};

#[test]
fn help_teaches_with_examples() {
    let help = stdout(egret(&["--help"]));
    assert!(help.contains("egret demo --seed 8 --out my-demo"), "{help}");
    let help = stdout(egret(&["demo", "--help"]));
    assert!(help.contains("--decisions"), "{help}");
    assert!(help.contains("Examples:"), "{help}");
}

#[test]
fn it_knows_its_version() {
    let version = stdout(egret(&["--version"]));
    assert_eq!(version, format!("egret {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_are_a_script() {
    assert!(stdout(egret(&["completions", "bash"])).contains("complete"));
}

#[test]
fn a_folder_that_cannot_be_made_says_what_to_do() {
    let file = folder("a-file");
    fs::write(&file, "in the way").expect("written");
    let out = file.join("below");
    let out = out.to_str().expect("a path in plain letters");
    let output = egret(&["demo", "--decisions", "400", "--out", out]);
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("--out DIR"), "{errors}");
    assert!(errors.contains("a-file"), "{errors}");
}

#[test]
fn too_few_decisions_are_refused_with_the_range() {
    let output = egret(&["demo", "--decisions", "3"]);
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("400..=1000000"), "{errors}");
}
