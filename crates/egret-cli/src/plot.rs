use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use egret_report::{Figure, Page, Part, Picture, Section, output};

/// Where a picture goes, and as what: told by the ending of the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plot {
    path: PathBuf,
    kind: PlotKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlotKind {
    /// The first picture.
    Svg,
    /// The same, in pixels.
    Png,
    /// A page with the table and all pictures.
    Html,
}

impl Plot {
    /// Before the work: a name that no picture can have is no surprise at the end.
    pub fn of(path: Option<&Path>) -> Result<Option<Self>> {
        let Some(path) = path else { return Ok(None) };
        let kind = match path.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => PlotKind::Svg,
            Some("png") => PlotKind::Png,
            Some("html") => PlotKind::Html,
            _ => bail!(
                "--plot {}: the name has to end in .svg, .png or .html",
                path.display()
            ),
        };
        let path = path.to_owned();
        Ok(Some(Self { path, kind }))
    }

    /// Writes the first of the pictures, or a page with the sections and all of them. Each has a name.
    pub fn write(
        &self,
        title: &str,
        sections: Vec<Section>,
        pictures: Vec<(&str, Picture)>,
    ) -> Result<()> {
        let bytes = match self.kind {
            PlotKind::Svg => pictures[0].1.svg.clone().into_bytes(),
            PlotKind::Png => pictures[0].1.png.clone(),
            PlotKind::Html => page(title, sections, pictures).into_bytes(),
        };
        Ok(output::write(&self.path, &bytes)?)
    }
}

/// The title of the first section is that of the page's only part.
fn page(title: &str, mut sections: Vec<Section>, pictures: Vec<(&str, Picture)>) -> String {
    let heading = sections
        .first_mut()
        .map(|first| std::mem::take(&mut first.title));
    let figures = pictures.into_iter().map(|(name, picture)| Figure {
        name: name.to_owned(),
        caption: String::new(),
        alt: name.to_owned(),
        picture,
    });
    let page = Page {
        title: title.to_owned(),
        lead: Vec::new(),
        parts: vec![Part {
            heading: heading.unwrap_or_default(),
            figures: figures.collect(),
            tables: sections,
            ..Part::default()
        }],
    };
    page.html()
}
