use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace::Workspace;

/// Runs tests/python with the real packages: pyarrow, pandas, polars, DuckDB, Vowpal Wabbit, obp.
///
/// They are installed below the target directory, in the versions that requirements.txt names, and those of
/// requirements-alone.txt without what they depend on; that they cannot be is an error. Tests find the binary in EGRET and a folder of their own in EGRET_SCRATCH.
pub fn check(workspace: &Workspace) -> Result<()> {
    let tests = workspace.root.join("tests").join("python");
    let home = workspace.target.join("python");
    let environment = home.join("venv");
    let python = match cfg!(windows) {
        true => environment.join("Scripts").join("python.exe"),
        false => environment.join("bin").join("python"),
    };
    install(workspace, &tests, &home, &python)?;
    workspace.cargo("build", &["--release", "-p", "egret-cli"])?;
    let scratch = home.join("scratch");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)
            .with_context(|| format!("cannot empty {}", scratch.display()))?;
    }
    fs::create_dir_all(&scratch).with_context(|| format!("cannot make {}", scratch.display()))?;
    let egret = workspace.target.join("release").join("egret");
    workspace.run(
        Command::new(python)
            // No compiled files beside the tests.
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env(
                "EGRET",
                egret.with_extension(std::env::consts::EXE_EXTENSION),
            )
            .env("EGRET_SCRATCH", &scratch)
            .arg(tests.join("run.py")),
    )
}

/// An environment with the packages, unless it is there with the same ones.
fn install(workspace: &Workspace, tests: &Path, home: &Path, python: &Path) -> Result<()> {
    let [wanted, alone] =
        ["requirements.txt", "requirements-alone.txt"].map(|name| tests.join(name));
    let mut list = String::new();
    for file in [&wanted, &alone] {
        list +=
            &fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    }
    let stamp = home.join("installed.txt");
    if python.exists() && fs::read_to_string(&stamp).is_ok_and(|installed| installed == list) {
        return Ok(());
    }
    println!("The packages of tests/python are not installed yet: this takes a minute, once.");
    let system = system_python()?;
    if home.exists() {
        fs::remove_dir_all(home).with_context(|| format!("cannot empty {}", home.display()))?;
    }
    // Without a pip of its own, which Debian packs apart: the system's installs into it.
    let environment = home.join("venv");
    workspace.run(
        Command::new(system)
            .args(["-m", "venv", "--without-pip"])
            .arg(&environment),
    )?;
    for (file, options) in [(&wanted, &[][..]), (&alone, &["--no-deps"])] {
        workspace
            .run(
                Command::new(system)
                    .args(["-m", "pip", "--python"])
                    .arg(python)
                    .args(["install", "--quiet", "--disable-pip-version-check"])
                    .args(options)
                    .arg("-r")
                    .arg(file),
            )
            .with_context(|| format!("the packages of {} cannot be installed", file.display()))?;
    }
    fs::write(&stamp, list).with_context(|| format!("cannot write {}", stamp.display()))
}

/// A Python with pip 22.3 or newer, which can install for another.
fn system_python() -> Result<&'static str> {
    const NEW_ENOUGH: &str = "import sys, pip; \
         sys.exit(tuple(map(int, pip.__version__.split('.')[:2])) < (22, 3))";
    let works = |program: &&str| {
        Command::new(program)
            .args(["-c", NEW_ENOUGH])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    let found = ["python3", "python"].into_iter().find(works);
    ensure!(
        found.is_some(),
        "there is no Python with pip 22.3 or newer: on Debian, apt install python3-pip"
    );
    found.context("looked at just now")
}
