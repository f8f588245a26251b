use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace::Workspace;

/// The one command that cannot run here: it is the one that is running.
const ITSELF: &str = "cargo xtask test";
const SECTION: &str = "## Try it";

/// Runs each command of the README's section "Try it".
pub fn check(workspace: &Workspace) -> Result<()> {
    let path = workspace.root.join("README.md");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let commands = commands(&text);
    ensure!(
        !commands.is_empty(),
        "README.md has no ```sh block below `{SECTION}`"
    );
    for command in commands {
        if command == ITSELF {
            println!("`{ITSELF}` is left out: it is what runs now.");
            continue;
        }
        let mut words = command.split_whitespace();
        let program = words.next().context("a command has a first word")?;
        workspace.run(Command::new(program).args(words))?;
    }
    Ok(())
}

/// The lines of the section's `sh` blocks, without comments and empty lines. Each is a program
/// and its arguments between spaces: no shell takes part.
fn commands(text: &str) -> Vec<&str> {
    let section = text
        .lines()
        .skip_while(|line| line.trim_end() != SECTION)
        .skip(1)
        .take_while(|line| !line.starts_with("## "));
    let mut in_block = false;
    let mut commands = Vec::new();
    for line in section {
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
    fn only_the_shell_blocks_of_the_section_count() {
        let text = "\
# egret

```sh
not here
```

## Try it

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

## Speed

```sh
nor here
```
";
        assert_eq!(commands(text), ["first --flag", "second", "third"]);
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
