use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use egret_log::Format;

/// Refuses to overwrite an input: a file that is named as one, or a log in a folder that is. Each output comes with its
/// flag.
pub fn protect_inputs<'p>(
    outputs: &[(&str, Option<&Path>)],
    inputs: impl IntoIterator<Item = &'p Path>,
) -> Result<()> {
    let inputs: Vec<PathBuf> = inputs
        .into_iter()
        .filter_map(|input| input.canonicalize().ok())
        .collect();
    for (flag, output) in outputs {
        // What is not there yet is no input.
        let Some(place) = output.and_then(|output| output.canonicalize().ok()) else {
            continue;
        };
        let is_log = Format::of_name(&place).is_some();
        let is_input = |input: &PathBuf| *input == place || is_log && place.starts_with(input);
        ensure!(
            !inputs.iter().any(is_input),
            "{flag} {} would overwrite an input file: name another",
            place.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("logs")).expect("a folder");
        for name in ["logs/a.jsonl", "logs/a.egret"] {
            std::fs::write(at(name), "").expect("written");
        }
        let protect = |output: &str, input: &str| {
            protect_inputs(&[("-o", Some(&at(output)))], [at(input).as_path()])
        };
        assert!(protect("logs/../logs/a.jsonl", "logs/a.jsonl").is_err());
        assert!(protect("logs/a.jsonl", "logs").is_err());
        assert!(protect("logs/a.egret", "logs").is_ok());
        assert!(protect("logs/new.jsonl", "logs").is_ok());
        assert!(protect("logs/a.egret", "logs/a.jsonl").is_ok());
        let error = protect("logs/a.egret", "logs/a.egret").expect_err("an input");
        assert!(error.to_string().starts_with("-o "), "{error}");
    }
}
