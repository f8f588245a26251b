use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Where things are, and how commands are run there.
pub struct Workspace {
    /// The top of the repository.
    pub root: PathBuf,
    /// Where cargo builds, CARGO_TARGET_DIR respected.
    pub target: PathBuf,
    /// Whether CI=true.
    pub ci: bool,
    cargo: OsString,
}

impl Workspace {
    /// Asks cargo.
    pub fn find() -> Result<Self> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(&cargo)
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .output()
            .context("cargo does not start")?;
        ensure!(
            output.status.success(),
            "cargo metadata failed:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let metadata: serde_json::Value =
            serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")?;
        let path = |key: &str| {
            metadata[key]
                .as_str()
                .map(PathBuf::from)
                .with_context(|| format!("cargo metadata has no {key}"))
        };
        Ok(Self {
            root: path("workspace_root")?,
            target: path("target_directory")?,
            ci: env::var_os("CI").is_some_and(|value| value == "true"),
            cargo,
        })
    }

    /// The cargo that runs this.
    pub fn bare_cargo(&self) -> Command {
        Command::new(&self.cargo)
    }

    /// Runs a command of cargo at the root.
    pub fn cargo(&self, command: &str, arguments: &[&str]) -> Result<()> {
        self.cargo_with(&[], command, arguments)
    }

    /// Runs tests of the whole workspace with every feature, built as `checked.toml` says.
    pub fn cargo_test(&self, which: &[&str]) -> Result<()> {
        let all = [
            "--release",
            "--config",
            "xtask/checked.toml",
            "--workspace",
            "--all-features",
        ];
        self.cargo("test", &[&all, which].concat())
    }

    /// The command egret, once it is built.
    pub fn built_command(&self) -> Result<PathBuf> {
        self.cargo("build", &["--release", "-p", "egret-cli"])?;
        let egret = self.target.join("release").join("egret");
        Ok(egret.with_extension(env::consts::EXE_EXTENSION))
    }

    /// Runs a command of cargo at the root, with more in its environment.
    pub fn cargo_with(
        &self,
        variables: &[(&str, &str)],
        command: &str,
        arguments: &[&str],
    ) -> Result<()> {
        let mut cargo = self.bare_cargo();
        cargo.arg(command).envs(variables.iter().copied());
        // Formatting looks at no dependency and knows no such flag.
        if self.ci && command != "fmt" {
            cargo.arg("--locked");
        }
        cargo.args(arguments);
        self.run(&mut cargo)
    }

    /// Shows a command, runs it at the root unless it has a folder of its own, and errs unless it succeeds.
    pub fn run(&self, command: &mut Command) -> Result<()> {
        let shown = shown(command);
        println!("$ {shown}");
        if command.get_current_dir().is_none() {
            command.current_dir(&self.root);
        }
        let status = command
            .status()
            .with_context(|| format!("`{shown}` does not start"))?;
        ensure!(status.success(), "`{shown}` ended with {status}");
        Ok(())
    }

    /// What git would commit or has not seen; nothing to say outside a checkout.
    pub fn changed_files(&self) -> Option<String> {
        let output = Command::new("git")
            .args(["status", "--porcelain"])
            .current_dir(&self.root)
            .output()
            .ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// A command as one would type it: variables, program, arguments.
fn shown(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| {
        let (name, value) = (name.to_string_lossy(), value?.to_string_lossy());
        Some(format!("{name}={value}"))
    });
    let program = PathBuf::from(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    let words = [program].into_iter().chain(command.get_args());
    let words = words.map(|word| word.to_string_lossy().into_owned());
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_typed() {
        let mut command = Command::new("/usr/bin/cargo");
        command
            .env("RUSTDOCFLAGS", "-Dwarnings")
            .args(["doc", "--no-deps"]);
        assert_eq!(
            shown(&command),
            "RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps"
        );
    }

    #[test]
    fn every_crate_is_checked() {
        let workspace = Workspace::find().expect("tests run inside the workspace");
        let crates = std::fs::read_dir(workspace.root.join("crates")).expect("there are crates");
        let names: Vec<String> = crates
            .map(|entry| {
                entry
                    .expect("readable")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .filter(|name| name != "egret-testkit")
            .collect();
        let checked = include_str!("../checked.toml");
        for name in names {
            let heading = format!("[profile.release.package.{name}]\n");
            assert!(checked.contains(&heading), "{name}");
        }
    }

    #[test]
    fn a_failing_command_is_an_error_that_names_it() {
        let workspace = Workspace::find().expect("tests run inside the workspace");
        let error = workspace
            .cargo("no-such-command", &[])
            .expect_err("cargo knows no such command")
            .to_string();
        assert!(error.contains("no-such-command"), "{error}");
    }
}
