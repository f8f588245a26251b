use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace::Workspace;

const VERSION: &str = "0.20.2";

/// Checks licences, bans and sources as `deny.toml` has them.
///
/// The tool is installed below the target directory if it is not there in this version; that
/// it cannot be installed is an error.
pub fn check(workspace: &Workspace) -> Result<()> {
    let tools = workspace.target.join("tools");
    let program = tools
        .join("bin")
        .join("cargo-deny")
        .with_extension(std::env::consts::EXE_EXTENSION);
    if !is_installed(&program) {
        install(workspace, &tools)?;
    }
    println!("Advisories are not checked: their list needs a network beyond the registry.");
    let mut deny = Command::new(program);
    if workspace.ci {
        deny.arg("--locked");
    }
    workspace.run(deny.args(["check", "licenses", "bans", "sources"]))
}

fn is_installed(program: &Path) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| {
            output.stdout.trim_ascii() == format!("cargo-deny {VERSION}").as_bytes()
        })
}

fn install(workspace: &Workspace, tools: &Path) -> Result<()> {
    println!("cargo-deny {VERSION} is not installed yet: this takes a minute or two, once.");
    let build = tools.join("build");
    // Unoptimised: it is built in a quarter of the time, and runs for a second.
    let arguments: [&OsStr; 10] = [
        "install".as_ref(),
        "--debug".as_ref(),
        "cargo-deny".as_ref(),
        "--version".as_ref(),
        VERSION.as_ref(),
        "--locked".as_ref(),
        "--root".as_ref(),
        tools.as_ref(),
        "--target-dir".as_ref(),
        build.as_ref(),
    ];
    workspace
        .run(
            workspace
                .bare_cargo()
                .env("CARGO_PROFILE_DEV_DEBUG", "0")
                .args(arguments),
        )
        .with_context(|| format!("cargo-deny {VERSION} cannot be installed"))?;
    fs::remove_dir_all(&build).with_context(|| format!("{} stays", build.display()))
}
