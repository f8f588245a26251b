//! The `egret` command, run as a user would.

mod audit;
mod coverage;
mod decide;
mod demo;
mod guides;
mod interrupt;
mod lab;
mod lab_run;
mod lab_worlds;
mod learn;
mod log;
mod mistakes;
mod ope;
mod own_log;
mod usage;

use std::path::PathBuf;
use std::process::{Command, Output};

/// Runs the command.
fn egret(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_egret"))
        .args(arguments)
        .output()
        .expect("the command starts")
}

fn stdout(output: Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    assert_eq!(errors, "", "no progress where there is no terminal");
    String::from_utf8(output.stdout).expect("text")
}

/// A folder of the test's own, under cargo's for this purpose.
fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// What `demo --json` prints.
fn figures(seed: u64, decisions: u64, name: &str) -> String {
    let (seed, decisions) = (seed.to_string(), decisions.to_string());
    let out = folder(name);
    let out = out.to_str().expect("a path in plain letters");
    let arguments = [
        "demo",
        "--json",
        "--seed",
        &seed,
        "--decisions",
        &decisions,
        "--output",
        out,
    ];
    stdout(egret(&arguments))
}
