use std::path::Path;

use crate::output::{self, WriteError};

/// One drawing, as SVG and as PNG.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// One element, for a file of its own or inside a page.
    pub svg: String,
    /// The same for narrow screens, where a page shows it in place of the other.
    pub narrow: String,
    /// The bytes of a file with [`SCALE`](Self::SCALE) pixels to the unit.
    pub png: Vec<u8>,
    /// Width and height of the SVG.
    pub size: (u32, u32),
}

impl Picture {
    /// How many pixels of the PNG are one unit of the SVG, each way.
    pub const SCALE: u32 = 2;

    /// Writes `folder/name.svg` and `folder/name.png`, both or neither.
    pub fn write(&self, folder: &Path, name: &str) -> Result<(), WriteError> {
        let (svg, png) = (format!("{name}.svg"), format!("{name}.png"));
        output::write_all(&[
            (&folder.join(svg), self.svg.as_bytes()),
            (&folder.join(png), &self.png),
        ])
    }
}
