use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::{Builder, NamedTempFile};

/// Writes a file whole or not at all: beside its place first, then renamed.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_all(&[(path, bytes)])
}

/// Writes files that belong together: none is in its place before all are written beside it.
pub fn write_all(files: &[(&Path, &[u8])]) -> Result<()> {
    let cannot = |path: &Path| {
        let path = path.display();
        format!("cannot write {path}: name a place in a folder that is there and can be written")
    };
    let mut written = Vec::new();
    for &(path, bytes) in files {
        let beside = beside(path, bytes).with_context(|| cannot(path))?;
        ensure!(!path.is_dir(), "{}: it is a folder", cannot(path));
        written.push((path, beside));
    }
    for (path, file) in written {
        file.persist(path).with_context(|| cannot(path))?;
    }
    Ok(())
}

fn beside(path: &Path, bytes: &[u8]) -> std::io::Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut file = readable(&mut Builder::new()).tempfile_in(folder)?;
    file.write_all(bytes)?;
    Ok(file)
}

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

/// As any new file, where temporary ones would be for one's own eyes.
#[cfg(unix)]
fn readable<'a, 'b>(builder: &'a mut Builder<'b, 'b>) -> &'a mut Builder<'b, 'b> {
    use std::os::unix::fs::PermissionsExt as _;
    builder.permissions(std::fs::Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn readable<'a, 'b>(builder: &'a mut Builder<'b, 'b>) -> &'a mut Builder<'b, 'b> {
    builder
}

/// What a picture is asked for as, told by the name of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlotKind {
    /// A picture.
    Svg,
    /// A page with the picture and the table.
    Html,
}

impl PlotKind {
    /// Before the work: a name that no picture can have is no surprise at the end.
    pub fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => Ok(Self::Svg),
            Some("html") => Ok(Self::Html),
            _ => bail!(
                "--plot {}: the name has to end in .svg or .html",
                path.display()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_absent() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.txt");
        write(&path, b"whole").expect("written");
        assert_eq!(std::fs::read(&path).expect("there"), b"whole");
        assert!(write(&folder.path().join("no/such/a.txt"), b"x").is_err());
        let names = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(names, 1);
    }

    #[test]
    fn files_that_belong_together_are_all_there_or_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, other) = (folder.path().join("a"), folder.path().join("no/such/b"));
        assert!(write_all(&[(&one, b"1"), (&other, b"2")]).is_err());
        assert!(write_all(&[(&one, b"1"), (folder.path(), b"2")]).is_err());
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("a folder").count(),
            0
        );
    }

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

    #[test]
    fn a_plot_is_told_by_its_name() {
        assert_eq!(PlotKind::of(Path::new("a.svg")).ok(), Some(PlotKind::Svg));
        assert_eq!(PlotKind::of(Path::new("a.html")).ok(), Some(PlotKind::Html));
        assert!(PlotKind::of(Path::new("a.pdf")).is_err());
    }
}
