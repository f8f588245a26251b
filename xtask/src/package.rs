use std::process::Command;

use anyhow::Result;

use crate::virtual_env::VirtualEnv;
use crate::workspace::Workspace;

/// Installs the Python package as a user does, with `pip install .`, in a fresh environment, and tests it there: pytest, with
/// the command beside it in EGRET, pyright and mypy, also that the stubs are as the module is. Then the pages of the reference build.
pub fn check(workspace: &Workspace) -> Result<()> {
    let home = workspace.target.join("package");
    let environment = VirtualEnv::at(home.join("venv"));
    let source = workspace.root.join("crates").join("egret-python");
    let tests = source.join("tests");
    environment.create(workspace)?;
    environment.install_list(workspace, &tests.join("requirements.txt"), &[])?;
    environment.install(workspace, &[&workspace.root])?;
    let egret = workspace.built_command()?;
    // Compiled files and caches stay out of the source.
    let run = |arguments: &[&str]| {
        workspace.run(
            Command::new(&environment.python)
                .env("PYTHONDONTWRITEBYTECODE", "1")
                .env("EGRET", &egret)
                .arg("-m")
                .args(arguments)
                .current_dir(&source),
        )
    };
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
    run(&["pytest", "-q", "-p", "no:cacheprovider", "tests"])?;
    let (trees, pages) = (home.join("doctrees"), home.join("reference"));
    let trees = format!("-d{}", trees.display());
    let pages = pages.display().to_string();
    run(&["sphinx", "-W", "-q", "-E", &trees, "reference", &pages])
}
