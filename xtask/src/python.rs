use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::virtual_env::VirtualEnv;
use crate::workspace::Workspace;

/// Runs tests/python with the real packages: pyarrow, pandas, polars, DuckDB, Vowpal Wabbit, obp.
///
/// They are installed below the target directory, in the versions that requirements.txt names, and those of
/// requirements-alone.txt without what they depend on; that they cannot be is an error. Tests find the binary in EGRET and a folder of their own in EGRET_SCRATCH.
pub fn check(workspace: &Workspace) -> Result<()> {
    let tests = workspace.root.join("tests").join("python");
    let home = workspace.target.join("python");
    let environment = VirtualEnv::at(home.join("venv"));
    install(workspace, &tests, &home, &environment)?;
    let egret = workspace.built_command()?;
    let scratch = home.join("scratch");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)
            .with_context(|| format!("cannot empty {}", scratch.display()))?;
    }
    fs::create_dir_all(&scratch).with_context(|| format!("cannot make {}", scratch.display()))?;
    workspace.run(
        Command::new(environment.python)
            // No compiled files beside the tests.
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("EGRET", egret)
            .env("EGRET_SCRATCH", &scratch)
            .arg(tests.join("run.py")),
    )
}

/// An environment with the packages, unless it is there with the same ones.
fn install(
    workspace: &Workspace,
    tests: &Path,
    home: &Path,
    environment: &VirtualEnv,
) -> Result<()> {
    let [wanted, alone] =
        ["requirements.txt", "requirements-alone.txt"].map(|name| tests.join(name));
    let mut list = String::new();
    for file in [&wanted, &alone] {
        list +=
            &fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    }
    let stamp = home.join("installed.txt");
    let installed = fs::read_to_string(&stamp).is_ok_and(|installed| installed == list);
    if environment.python.exists() && installed {
        return Ok(());
    }
    println!("The packages of tests/python are not installed yet: this takes a minute, once.");
    environment.create(workspace)?;
    environment.install_list(workspace, &wanted, &[])?;
    environment.install_list(workspace, &alone, &["--no-deps"])?;
    fs::write(&stamp, list).with_context(|| format!("cannot write {}", stamp.display()))
}
