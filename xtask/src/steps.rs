use anyhow::Result;

use crate::workspace::Workspace;
use crate::{deny, folders, package, portable, python, readme};

/// One thing that is checked.
#[derive(Debug)]
pub struct Step {
    pub name: &'static str,
    pub about: &'static str,
    pub run: fn(&Workspace) -> Result<()>,
}

/// Everything that is checked, the quickest to fail first.
pub const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        about: "the code is formatted",
        run: |workspace| workspace.cargo("fmt", &["--all", "--check"]),
    },
    Step {
        name: "portable",
        about: "nothing asks for more than the minimum CPU",
        run: portable::check,
    },
    Step {
        name: "folders",
        about: "folders depend one way",
        run: folders::check,
    },
    Step {
        name: "clippy",
        about: "no warnings from the compiler or clippy, with every feature and with none",
        run: |workspace| {
            let every = ["--workspace", "--all-targets", "--all-features"];
            let denied = ["--", "-D", "warnings"];
            workspace.cargo("clippy", &[&every[..], &denied].concat())?;
            workspace.cargo("clippy", &[&["-p", "egret-cli"], &denied[..]].concat())
        },
    },
    Step {
        name: "doc",
        about: "the documentation builds without warnings",
        run: |workspace| {
            workspace.cargo_with(
                &[("RUSTDOCFLAGS", "-Dwarnings")],
                "doc",
                &["--workspace", "--no-deps", "--all-features"],
            )
        },
    },
    Step {
        name: "test",
        about: "unit and integration tests; each benchmark runs once, untimed",
        run: |workspace| workspace.cargo_test(&["--tests", "--benches"]),
    },
    Step {
        name: "doctest",
        about: "examples in the documentation and the program in the README",
        run: |workspace| workspace.cargo_test(&["--doc"]),
    },
    Step {
        name: "readme",
        about: "the commands in the README, in docs and in --help run",
        run: readme::check,
    },
    Step {
        name: "python",
        about: "logs and figures beside the packages of Python",
        run: python::check,
    },
    Step {
        name: "package",
        about: "the Python package installs as with `pip install .`, and its tests and types hold, with PyTorch too",
        run: package::check,
    },
    Step {
        name: "deny",
        about: "licences and sources of all dependencies",
        run: deny::check,
    },
];
