use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace::Workspace;

/// A virtual environment of Python.
pub struct VirtualEnv {
    folder: PathBuf,
    /// Its Python.
    pub python: PathBuf,
}

impl VirtualEnv {
    /// The one in this folder, which may not be there yet.
    pub fn at(folder: PathBuf) -> Self {
        let python = match cfg!(windows) {
            true => folder.join("Scripts").join("python.exe"),
            false => folder.join("bin").join("python"),
        };
        Self { folder, python }
    }

    /// Makes it anew, without a pip of its own, which Debian packs apart: the system's installs into it.
    pub fn create(&self, workspace: &Workspace) -> Result<()> {
        self.make(workspace, system_python()?, &[])
    }

    /// As [`create`](Self::create), for another Python, whose packages it sees.
    pub fn create_beside(&self, workspace: &Workspace, python: &str) -> Result<()> {
        self.make(workspace, python, &["--system-site-packages"])
    }

    fn make(&self, workspace: &Workspace, python: &str, options: &[&str]) -> Result<()> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)
                .with_context(|| format!("cannot empty {}", self.folder.display()))?;
        }
        workspace.run(
            Command::new(python)
                .args(["-m", "venv", "--without-pip"])
                .args(options)
                .arg(&self.folder),
        )
    }

    /// Runs `pip install` for it.
    pub fn install<S: AsRef<OsStr>>(&self, workspace: &Workspace, what: &[S]) -> Result<()> {
        workspace.run(
            Command::new(system_python()?)
                .args(["-m", "pip", "--python"])
                .arg(&self.python)
                .args(["install", "--quiet", "--disable-pip-version-check"])
                .args(what),
        )
    }

    /// Installs what a file lists.
    pub fn install_list(&self, workspace: &Workspace, file: &Path, options: &[&str]) -> Result<()> {
        let mut what: Vec<&OsStr> = options.iter().map(OsStr::new).collect();
        what.extend([OsStr::new("-r"), file.as_os_str()]);
        self.install(workspace, &what)
            .with_context(|| format!("the packages of {} cannot be installed", file.display()))
    }
}

/// A Python with pip 22.3 or newer, which can install for another.
pub fn system_python() -> Result<&'static str> {
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
