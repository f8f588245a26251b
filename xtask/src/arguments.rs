use anyhow::{Context, Result, bail};

use crate::steps::{STEPS, Step};

/// What the command line asks for.
#[derive(Debug)]
pub enum Request {
    Help,
    List,
    Test(Vec<&'static Step>),
}

impl Request {
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let arguments: Vec<String> = arguments.collect();
        if arguments
            .iter()
            .any(|word| word == "--help" || word == "-h")
        {
            return Ok(Self::Help);
        }
        let Some((command, rest)) = arguments.split_first() else {
            return Ok(Self::Help);
        };
        match command.as_str() {
            "help" => Ok(Self::Help),
            "test" if rest == ["--list"] => Ok(Self::List),
            "test" => Ok(Self::Test(chosen(rest)?)),
            _ => bail!("no command `{command}`; there is `test`, and `--help` tells more"),
        }
    }
}

/// The steps of these names in their usual order; all of them for no name.
fn chosen(names: &[String]) -> Result<Vec<&'static Step>> {
    for name in names {
        STEPS
            .iter()
            .find(|step| step.name == name)
            .with_context(|| format!("no step `{name}`; the steps are\n{}", list()))?;
    }
    Ok(STEPS
        .iter()
        .filter(|step| names.is_empty() || names.iter().any(|name| name == step.name))
        .collect())
}

/// The steps, a line each.
pub fn list() -> String {
    let lines: Vec<String> = STEPS
        .iter()
        .map(|step| format!("  {:<9} {}", step.name, step.about))
        .collect();
    lines.join("\n")
}

pub fn help() -> String {
    format!(
        "All checks of egret in one command.

  cargo xtask test                 runs every step below, and stops at the first that fails
  cargo xtask test fmt clippy      runs these alone, in their usual order
  cargo xtask test --list          names the steps

Steps:
{}

With CI=true in the environment Cargo.lock has to be up to date (--locked), and the steps
may leave no changed file behind. CARGO_TARGET_DIR is respected.",
        list()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Request> {
        Request::parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn no_name_means_every_step() {
        let Request::Test(steps) = parse("test").expect("a command") else {
            panic!("`test` runs");
        };
        assert_eq!(steps.len(), STEPS.len());
    }

    #[test]
    fn named_steps_keep_their_order() {
        let Request::Test(steps) = parse("test clippy fmt").expect("two steps") else {
            panic!("`test` runs");
        };
        let names: Vec<&str> = steps.iter().map(|step| step.name).collect();
        assert_eq!(names, ["fmt", "clippy"]);
    }

    #[test]
    fn help_is_never_far() {
        for line in ["", "help", "--help", "test --help", "test fmt -h"] {
            assert!(matches!(parse(line), Ok(Request::Help)), "{line:?}");
        }
        assert!(matches!(parse("test --list"), Ok(Request::List)));
    }

    #[test]
    fn a_wrong_word_is_named() {
        let error = parse("test clipy").expect_err("no such step").to_string();
        assert!(
            error.contains("`clipy`") && error.contains("clippy"),
            "{error}"
        );
        let error = parse("tset").expect_err("no such command").to_string();
        assert!(error.contains("`tset`"), "{error}");
    }
}
