use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use tempfile::Builder;

/// Writes a file whole or not at all: beside its place first, then renamed.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let written = || -> Result<()> {
        let mut file = readable(&mut Builder::new()).tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    };
    written().with_context(|| {
        let path = path.display();
        format!("cannot write {path}: name a place in a folder that is there and can be written")
    })
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
    fn a_plot_is_told_by_its_name() {
        assert_eq!(PlotKind::of(Path::new("a.svg")).ok(), Some(PlotKind::Svg));
        assert_eq!(PlotKind::of(Path::new("a.html")).ok(), Some(PlotKind::Html));
        assert!(PlotKind::of(Path::new("a.pdf")).is_err());
    }
}
