//! Just enough of a reader of SVG to say where its texts are.

use ttf_parser::Face;

/// A text and the box around it: left, top, right, bottom.
#[derive(Debug)]
pub struct Text {
    pub words: String,
    pub around: [f64; 4],
}

impl Text {
    pub fn overlaps(&self, other: &Self) -> bool {
        let ([left, top, right, bottom], other) = (self.around, other.around);
        left < other[2] && other[0] < right && top < other[3] && other[1] < bottom
    }
}

/// Each text, with its width in the face that charts are measured by.
pub fn texts(svg: &str) -> Vec<Text> {
    svg.lines()
        .filter_map(|line| line.strip_prefix("<text "))
        .map(|element| {
            let (attributes, rest) = element.split_once('>').expect("a tag ends");
            let words = rest.strip_suffix("</text>").expect("a text ends");
            let words = words
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&quot;", "\"")
                .replace("&#39;", "'")
                .replace("&amp;", "&");
            let number = |name: &str| -> f64 {
                let text = attribute(attributes, name).expect("texts have a place and a size");
                text.parse().expect("a number")
            };
            let (x, y, size) = (number("x"), number("y"), number("font-size"));
            let bold = attribute(attributes, "font-weight").is_some();
            let width = width(&words, size, bold);
            let before = match attribute(attributes, "text-anchor") {
                Some("end") => width,
                Some("middle") => 0.5 * width,
                _ => 0.0,
            };
            let (above, below) = (0.75 * size, 0.22 * size);
            let around = if attribute(attributes, "transform").is_some() {
                [x - above, y - before, x + below, y - before + width]
            } else {
                [x - before, y - above, x - before + width, y + below]
            };
            Text { words, around }
        })
        .collect()
}

fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let attributes = attributes.split_once(&format!("{name}=\""))?.1;
    attributes.split('"').next()
}

fn width(words: &str, size: f64, bold: bool) -> f64 {
    let bytes = if bold {
        notosans::BOLD_TTF
    } else {
        notosans::REGULAR_TTF
    };
    let face = Face::parse(bytes, 0).expect("a font");
    let units: f64 = words
        .chars()
        .map(|letter| face.glyph_index(letter).expect("the font has the letter"))
        .map(|glyph| f64::from(face.glyph_hor_advance(glyph).expect("a width")))
        .sum();
    units * size / f64::from(face.units_per_em())
}
