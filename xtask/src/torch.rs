use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use crate::workspace::Workspace;

/// Where a Python with PyTorch is looked for: that of the PATH, and that of Debian, which `python3-torch` is for.
const PYTHONS: [&str; 2] = ["python3", "/usr/bin/python3"];

const HOW_TO_GET_IT: &str = "on Debian, apt install python3-torch; \
     elsewhere, pip install torch for the python3 of your PATH, outside of a virtual environment";

/// A Python that has PyTorch. Debian's package, 150 MB and without CUDA, is installed where it can be: those of PyPI bring
/// gigabytes of CUDA. In CI it is an error that there is none; elsewhere it is told.
pub fn python(workspace: &Workspace) -> Result<Option<&'static str>> {
    let mut found = importing();
    if found.is_none() && can_install() {
        println!("PyTorch is not installed yet: this takes two minutes, once.");
        match install(workspace) {
            Ok(()) => found = importing(),
            Err(error) if workspace.ci => return Err(error),
            Err(error) => println!("PyTorch cannot be installed: {error:#}"),
        }
    }
    told(found, workspace.ci)
}

/// An error in CI if there is none, and words elsewhere.
fn told(found: Option<&'static str>, ci: bool) -> Result<Option<&'static str>> {
    if found.is_none() {
        ensure!(!ci, "there is no Python with PyTorch: {HOW_TO_GET_IT}");
        println!(
            "\nNOT RUN, for there is no Python with PyTorch: tests/test_torch.py, and with it the notebook own_model.\n\
             To run them: {HOW_TO_GET_IT}.\n"
        );
    }
    Ok(found)
}

/// Not of a virtual environment: one that is made from it would not see its packages.
fn importing() -> Option<&'static str> {
    let script = "import sys, torch; sys.exit(sys.prefix != sys.base_prefix)";
    PYTHONS
        .into_iter()
        .find(|python| succeeds(python, &["-c", script]))
}

/// Whether this is Debian, or like it, and its packages may be installed.
fn can_install() -> bool {
    let id = Command::new("id").arg("-u").output();
    let is_root = id.is_ok_and(|id| id.stdout.trim_ascii() == b"0");
    is_root && succeeds("apt-get", &["--version"])
}

fn install(workspace: &Workspace) -> Result<()> {
    let apt = |arguments: &[&str]| {
        workspace.run(
            Command::new("apt-get")
                .env("DEBIAN_FRONTEND", "noninteractive")
                .args(["--quiet", "--quiet"])
                .args(arguments)
                // A line for each of two hundred packages.
                .stdout(Stdio::null()),
        )
    };
    apt(&["update"])?;
    apt(&[
        "install",
        "--yes",
        "--no-install-recommends",
        "python3-torch",
    ])
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .output()
        .is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_ci_there_is_no_way_around_it() {
        let error = told(None, true).expect_err("nothing was run").to_string();
        assert!(error.contains("apt install python3-torch"), "{error}");
        assert_eq!(told(None, false).expect("only told"), None);
        let python = Some("/usr/bin/python3");
        assert_eq!(told(python, true).expect("there is one"), python);
    }
}
