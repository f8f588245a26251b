use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::torch;
use crate::virtual_env::{self, VirtualEnv};
use crate::workspace::Workspace;

/// Builds the Python package and installs it in a fresh environment, as `pip install .` does, and tests it there: pytest, with
/// the command beside it in EGRET, pyright and mypy, also that the stubs are as the module is. Then the pages of the reference build.
///
/// The same wheel is tested in a second environment, of a Python that has PyTorch: that of Debian, whose numpy is 1.24.
pub fn check(workspace: &Workspace) -> Result<()> {
    let home = workspace.target.join("package");
    let source = workspace.root.join("crates").join("egret-python");
    let requirements = source.join("tests").join("requirements.txt");
    let environment = VirtualEnv::at(home.join("venv"));
    environment.create(workspace)?;
    environment.install_list(workspace, &requirements, &[])?;
    let wheel = wheel(workspace, &home.join("wheels"))?;
    environment.install(workspace, &[&wheel])?;
    let egret = workspace.built_command()?;
    // Compiled files and caches stay out of the source.
    let run_in = |environment: &VirtualEnv, arguments: &[&str]| {
        workspace.run(
            Command::new(&environment.python)
                .env("PYTHONDONTWRITEBYTECODE", "1")
                .env("EGRET", &egret)
                .arg("-m")
                .args(arguments)
                .current_dir(&source),
        )
    };
    let run = |arguments: &[&str]| run_in(&environment, arguments);
    let cache = format!("--cache-dir={}", home.join("mypy").display());
    run(&["mypy", "--strict", &cache, "python/egret", "examples"])?;
    // It would look for packages with the `python` of the PATH.
    let python = environment.python.display().to_string();
    run(&[
        "basedpyright",
        "--pythonpath",
        &python,
        "python/egret",
        "examples",
    ])?;
    run(&["mypy.stubtest", "egret._egret"])?;
    let pytest = ["pytest", "-q", "-p", "no:cacheprovider"];
    let but_torch = ["tests", "--ignore=tests/test_torch.py"];
    run(&[&pytest[..], &but_torch].concat())?;
    let (trees, pages) = (home.join("doctrees"), home.join("reference"));
    let trees = format!("-d{}", trees.display());
    let pages = pages.display().to_string();
    run(&["sphinx", "-W", "-q", "-E", &trees, "reference", &pages])?;

    if let Some(python) = torch::python(workspace)? {
        let environment = VirtualEnv::at(home.join("torch-venv"));
        environment.create_beside(workspace, python)?;
        let requirements = requirements.with_file_name("requirements-torch.txt");
        environment.install_list(workspace, &requirements, &[])?;
        environment.install(workspace, &[&wheel])?;
        let with_torch = ["tests/test_torch.py"];
        run_in(&environment, &[&pytest[..], &with_torch].concat())?;
    }
    Ok(())
}

/// The package, built anew: one wheel for Python 3.10 and all that follow.
fn wheel(workspace: &Workspace, folder: &Path) -> Result<PathBuf> {
    const LARGEST: u64 = 30_000_000;
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    workspace.run(
        Command::new(virtual_env::system_python()?)
            .args(["-m", "pip", "wheel", "--quiet"])
            .args(["--disable-pip-version-check", "--no-deps", "--wheel-dir"])
            .args([folder, &workspace.root]),
    )?;
    let made = fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    let [wheel] = &made[..] else {
        anyhow::bail!("expected one wheel, found {made:?}");
    };
    let name = wheel.display().to_string();
    ensure!(
        name.contains("-cp310-abi3-"),
        "{name} is not of the stable ABI"
    );
    let bytes = fs::metadata(wheel)?.len();
    ensure!(bytes < LARGEST, "{name} has {bytes} bytes");
    println!("{name}: {:.1} MB", bytes as f64 / 1e6);
    Ok(wheel.clone())
}
