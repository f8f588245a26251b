use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace::Workspace;

/// The one command that cannot run here: it is the one that is running.
const ITSELF: &str = "cargo xtask test";

/// Runs each command of the README, then each example in the help of the commands and in docs.
pub fn check(workspace: &Workspace) -> Result<()> {
    let path = workspace.root.join("README.md");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let commands = commands(&text);
    ensure!(!commands.is_empty(), "README.md has no ```sh block");
    for command in commands {
        if command == ITSELF {
            println!("`{ITSELF}` is left out: it is what runs now.");
            continue;
        }
        let mut words = command.split_whitespace();
        let program = words.next().context("a command has a first word")?;
        workspace.run(Command::new(program).args(words))?;
    }
    check_help(workspace)
}

/// Commands whose help has examples that work after `egret demo`, in the order in which they leave files for each other.
const WITH_EXAMPLES: [&str; 18] = [
    "ope",
    "audit",
    "learn",
    "select",
    "decide",
    "model show",
    "model new",
    "log convert",
    "log check",
    "log head",
    "log stats",
    "log merge",
    "log init",
    "lab paper",
    "lab run",
    "lab compare",
    "lab peers",
    "lab worlds",
];

/// Runs each example that the help of a command shows, and each indented `egret` of docs, in a folder where the demo ran.
fn check_help(workspace: &Workspace) -> Result<()> {
    let egret = workspace.target.join("release").join("egret");
    let egret = egret.with_extension(std::env::consts::EXE_EXTENSION);
    let folder = workspace.target.join("help-examples");
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let run = |command: &str| {
        let (command, sink) = redirected(command, " > ");
        let (command, source) = redirected(command, " < ");
        let mut program = Command::new(&egret);
        program
            .args(command.split_whitespace().skip(1))
            .current_dir(&folder);
        if let Some(source) = source {
            let file = fs::File::open(folder.join(source))
                .with_context(|| format!("cannot read {source} for `{command}`"))?;
            program.stdin(file);
        }
        if let Some(sink) = sink {
            let file = fs::File::create(folder.join(sink))
                .with_context(|| format!("cannot write {sink} for `{command}`"))?;
            program.stdout(file);
        }
        workspace.run(&mut program)
    };
    run("egret demo")?;
    for command in WITH_EXAMPLES {
        let help = Command::new(&egret)
            .args(command.split(' '))
            .arg("--help")
            .output()
            .with_context(|| format!("cannot run egret {command} --help"))?;
        let help = String::from_utf8(help.stdout)?;
        let examples = examples(&help);
        ensure!(
            !examples.is_empty(),
            "egret {command} --help has no example"
        );
        for example in &examples {
            run(example)?;
        }
    }
    for path in pages(&workspace.root.join("docs"))? {
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for line in text.lines().filter(|line| line.starts_with("    egret ")) {
            let command = line.split('#').next().unwrap_or_default();
            run(command).with_context(|| format!("in {}", path.display()))?;
        }
    }
    Ok(())
}

/// The pages of a folder and of the folders in it, in order of name.
fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(pages(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A command and the file that its output goes to, where it says `> FILE`, or its input comes from, where `< FILE`.
fn redirected<'a>(command: &'a str, arrow: &str) -> (&'a str, Option<&'a str>) {
    match command.split_once(arrow) {
        Some((command, file)) => (command, Some(file.trim())),
        None => (command, None),
    }
}

/// The lines that start with `egret` below `Examples`, each with those that go on with it; without what a pipe does.
fn examples(help: &str) -> Vec<String> {
    let lines = help
        .lines()
        .skip_while(|line| !line.starts_with("Examples"))
        .skip(1);
    let mut examples: Vec<String> = Vec::new();
    for line in lines {
        let line = line.trim().trim_end_matches('\\').trim_end();
        match examples.last_mut() {
            _ if line.starts_with("egret ") => examples.push(line.to_owned()),
            Some(last) => {
                last.push(' ');
                last.push_str(line);
            }
            None => {}
        }
    }
    for example in &mut examples {
        if let Some(pipe) = example.find(" | ") {
            example.truncate(pipe);
        }
    }
    examples
}

/// The lines of the `sh` blocks, without comments and empty lines. Each is a program and its arguments between spaces:
/// no shell takes part.
fn commands(text: &str) -> Vec<&str> {
    let mut in_block = false;
    let mut commands = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            in_block = !in_block && line.trim_end() == "```sh";
        } else if in_block {
            let command = line.split('#').next().unwrap_or_default().trim();
            if !command.is_empty() {
                commands.push(command);
            }
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_shell_blocks_count() {
        let text = "\
# egret

not this

Text.

```sh
first --flag   # why
# only a comment

second
```

```rust
fn not_this() {}
```

```sh
third
```

```
nor this
```
";
        assert_eq!(commands(text), ["first --flag", "second", "third"]);
    }

    #[test]
    fn examples_go_on_over_lines() {
        let help = "\
Text.

Examples, after it all:
  egret a b
  egret c --d \\
        e
  f | less
";
        assert_eq!(examples(help), ["egret a b", "egret c --d e f"]);
    }

    #[test]
    fn output_goes_where_it_is_sent() {
        assert_eq!(
            redirected("egret a > b.toml", " > "),
            ("egret a", Some("b.toml"))
        );
        assert_eq!(
            redirected("egret - < b.csv", " < "),
            ("egret -", Some("b.csv"))
        );
        assert_eq!(redirected("egret a --b", " > "), ("egret a --b", None));
    }

    #[test]
    fn the_readme_names_both_commands() {
        let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
        let text = fs::read_to_string(readme).expect("there is a README");
        let commands = commands(&text);
        assert!(commands.contains(&ITSELF), "{commands:?}");
        assert!(
            commands.contains(&"cargo run --release -- demo"),
            "{commands:?}"
        );
    }
}
