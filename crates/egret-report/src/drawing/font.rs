use std::sync::OnceLock;

use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, OutlineBuilder};

/// How heavy letters are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Regular,
    Bold,
}

/// How wide a line of text is, in the unit of `size`.
pub(crate) fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let face = face(weight);
    let units: u64 = text.chars().map(|letter| advance(face, letter)).sum();
    units as f64 * size / f64::from(face.units_per_em())
}

/// The letters as curves, their baseline beginning at `start`; `None` where there is nothing to see.
pub(crate) fn outline(text: &str, size: f64, weight: Weight, start: (f64, f64)) -> Option<Path> {
    let face = face(weight);
    let scale = size / f64::from(face.units_per_em());
    let mut pen = Pen {
        path: PathBuilder::new(),
        scale,
        origin: start,
    };
    for letter in text.chars() {
        // Glyph 0 is the box that stands for what a font lacks.
        face.outline_glyph(face.glyph_index(letter).unwrap_or_default(), &mut pen);
        pen.origin.0 += scale * advance(face, letter) as f64;
    }
    pen.path.finish()
}

/// The text in lines no wider than `room`, broken between words.
pub(crate) fn wrapped(text: &str, size: f64, weight: Weight, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size, weight) <= room => {
                *line = format!("{line} {word}");
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The text, shortened to `room` where it is wider.
pub(crate) fn fitted(text: &str, size: f64, weight: Weight, room: f64) -> String {
    // Room that was made for this very text holds it, whatever was rounded on the way.
    let room = room + 1e-6;
    if width(text, size, weight) <= room {
        return text.to_owned();
    }
    let mut start: Vec<char> = text.chars().collect();
    loop {
        let shortened: String = start.iter().chain(&['…']).collect();
        if start.pop().is_none() || width(&shortened, size, weight) <= room {
            return shortened;
        }
    }
}

fn advance(face: &Face<'_>, letter: char) -> u64 {
    let glyph = face.glyph_index(letter).unwrap_or_default();
    u64::from(face.glyph_hor_advance(glyph).unwrap_or_default())
}

fn face(weight: Weight) -> &'static Face<'static> {
    static REGULAR: OnceLock<Face<'static>> = OnceLock::new();
    static BOLD: OnceLock<Face<'static>> = OnceLock::new();
    let (cell, bytes) = match weight {
        Weight::Regular => (&REGULAR, notosans::REGULAR_TTF),
        Weight::Bold => (&BOLD, notosans::BOLD_TTF),
    };
    cell.get_or_init(|| Face::parse(bytes, 0).expect("the font that is compiled in is whole"))
}

struct Pen {
    path: PathBuilder,
    scale: f64,
    origin: (f64, f64),
}

impl Pen {
    /// Fonts count upwards, pictures downwards.
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        let x = self.origin.0 + self.scale * f64::from(x);
        let y = self.origin.1 - self.scale * f64::from(y);
        (x as f32, y as f32)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2)) = (self.at(x1, y1), self.at(x2, y2));
        let (x, y) = self.at(x, y);
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_letters_of_the_paper_are_there() {
        for weight in [Weight::Regular, Weight::Bold] {
            for letter in "κτγβμδαπ∞≤≥≈−–×·±→←…ẑ%".chars() {
                let glyph = face(weight).glyph_index(letter);
                assert!(glyph.is_some(), "{letter} is missing");
                assert!(outline(&letter.to_string(), 12.0, weight, (0.0, 0.0)).is_some());
            }
        }
    }

    #[test]
    fn widths_add_up_and_scale() {
        let of = |text: &str, size: f64| width(text, size, Weight::Regular);
        assert!((of("ab", 12.0) - of("a", 12.0) - of("b", 12.0)).abs() < 1e-9);
        assert!((of("κ∞", 24.0) - 2.0 * of("κ∞", 12.0)).abs() < 1e-9);
        assert!(of("m", 12.0) < width("m", 12.0, Weight::Bold));
    }

    #[test]
    fn text_is_broken_or_shortened_to_its_room() {
        let text = "one two three four five six seven";
        let lines = wrapped(text, 12.0, Weight::Regular, 80.0);
        assert!(2 < lines.len());
        assert_eq!(lines.join(" "), text);
        let short = fitted(text, 12.0, Weight::Regular, 80.0);
        assert!(short.ends_with('…') && width(&short, 12.0, Weight::Regular) <= 80.0);
        assert_eq!(fitted("one", 12.0, Weight::Regular, 80.0), "one");
        assert_eq!(fitted("one", 12.0, Weight::Regular, 0.0), "…");
    }
}
