use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

/// Refuses to write over what is read: a file that is named as an input, or a log in a folder that is. Each output comes
/// with its flag.
pub fn spare_inputs<'p>(
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
        let ending = place.extension().and_then(|ending| ending.to_str());
        let is_log = matches!(ending, Some("parquet" | "jsonl" | "dsjson"));
        let read = |input: &PathBuf| *input == place || is_log && place.starts_with(input);
        ensure!(
            !inputs.iter().any(read),
            "{flag} {} is read too: name another file",
            place.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_not_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("logs")).expect("a folder");
        for name in ["logs/a.jsonl", "logs/a.egret"] {
            std::fs::write(at(name), "").expect("written");
        }
        let spare = |output: &str, input: &str| {
            spare_inputs(&[("-o", Some(&at(output)))], [at(input).as_path()])
        };
        assert!(spare("logs/../logs/a.jsonl", "logs/a.jsonl").is_err());
        assert!(spare("logs/a.jsonl", "logs").is_err());
        assert!(spare("logs/a.egret", "logs").is_ok());
        assert!(spare("logs/new.jsonl", "logs").is_ok());
        assert!(spare("logs/a.egret", "logs/a.jsonl").is_ok());
        let error = spare("logs/a.egret", "logs/a.egret").expect_err("it is read");
        assert!(error.to_string().starts_with("-o "), "{error}");
    }
}
