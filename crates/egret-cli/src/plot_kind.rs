use std::path::Path;

use anyhow::{Result, bail};

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
    fn a_plot_is_told_by_its_name() {
        assert_eq!(PlotKind::of(Path::new("a.svg")).ok(), Some(PlotKind::Svg));
        assert_eq!(PlotKind::of(Path::new("a.html")).ok(), Some(PlotKind::Html));
        assert!(PlotKind::of(Path::new("a.pdf")).is_err());
    }
}
