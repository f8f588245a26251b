//! Shapes and text, and the two files that are made of them.
//!
//! A chart adds shapes to a [`Drawing`], from back to front. The drawing then becomes a [`Picture`]: an SVG and a PNG of
//! the same shapes. `font` has the outlines and widths of letters, so that text takes the same room on every machine.
//! [`Colour`] lists the colours of data.

pub(crate) mod colour;
pub(crate) mod font;
pub(crate) mod picture;

pub use colour::Colour;
pub use picture::Picture;

use std::fmt::Write as _;

use png::{BitDepth, ColorType, Encoder, Filter, PixelDimensions, Unit};
use tiny_skia::{
    FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};

use self::font::Weight;
use crate::escape::escape;

/// A list of shapes, the first at the back, from which SVG and PNG are made alike.
pub(crate) struct Drawing {
    title: String,
    pub width: f64,
    shapes: Vec<Shape>,
}

/// Red, green, blue, and opacity from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ink(pub u8, pub u8, pub u8, pub f64);

/// Where a text has its x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A text and how it looks.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    pub words: String,
    pub size: f64,
    pub weight: Weight,
    pub ink: Ink,
    pub anchor: Anchor,
    /// Read from below.
    pub upwards: bool,
}

/// A point, rightwards and downwards from the upper left corner.
pub(crate) type At = (f64, f64);

enum Shape {
    Line {
        points: Vec<At>,
        ink: Ink,
        width: f64,
        dashes: &'static [f64],
    },
    Area {
        points: Vec<At>,
        ink: Ink,
    },
    Circle {
        centre: At,
        radius: f64,
        ink: Ink,
    },
    /// Its baseline is at `at`.
    Text {
        at: At,
        text: Text,
    },
}

impl Drawing {
    /// The title is for those who do not see the picture.
    pub(crate) fn new(title: &str, width: f64) -> Self {
        Self {
            title: title.to_owned(),
            width,
            shapes: Vec::new(),
        }
    }

    pub(crate) fn line(&mut self, points: Vec<At>, ink: Ink, width: f64, dashes: &'static [f64]) {
        self.shapes.push(Shape::Line {
            points,
            ink,
            width,
            dashes,
        });
    }

    pub(crate) fn area(&mut self, points: Vec<At>, ink: Ink) {
        self.shapes.push(Shape::Area { points, ink });
    }

    pub(crate) fn rectangle(&mut self, (left, top): At, (right, bottom): At, ink: Ink) {
        self.area(
            vec![(left, top), (right, top), (right, bottom), (left, bottom)],
            ink,
        );
    }

    pub(crate) fn circle(&mut self, centre: At, radius: f64, ink: Ink) {
        self.shapes.push(Shape::Circle {
            centre,
            radius,
            ink,
        });
    }

    /// The baseline is at `at`.
    pub(crate) fn text(&mut self, at: At, text: Text) {
        self.shapes.push(Shape::Text { at, text });
    }

    /// As [`text`](Self::text), with the middle of its capitals at `at`.
    pub(crate) fn text_beside(&mut self, (x, y): At, text: Text) {
        let down = 0.36 * text.size;
        let at = if text.upwards {
            (x + down, y)
        } else {
            (x, y + down)
        };
        self.text(at, text);
    }

    /// What lies within this height, with the same for narrow screens.
    pub(crate) fn picture(&self, height: f64, (narrow, narrow_height): (&Self, f64)) -> Picture {
        let size = |width: f64, height: f64| (width.ceil() as u32, height.ceil() as u32);
        let own = size(self.width, height);
        Picture {
            svg: self.svg(own),
            narrow: narrow.svg(size(narrow.width, narrow_height)),
            png: self.png(own),
            size: own,
        }
    }

    fn svg(&self, (width, height): (u32, u32)) -> String {
        let title = escape(&self.title);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\" \
             font-family=\"{FAMILY}\">\n<title>{title}</title>\n<style>{DARK}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
        );
        for shape in &self.shapes {
            svg += &shape.svg();
        }
        svg + "</svg>\n"
    }

    fn png(&self, (width, height): (u32, u32)) -> Vec<u8> {
        let mut pixels = Pixmap::new(Picture::SCALE * width, Picture::SCALE * height)
            .expect("a picture has a size");
        pixels.fill(tiny_skia::Color::WHITE);
        for shape in &self.shapes {
            shape.onto(&mut pixels);
        }
        encoded(&pixels).expect("memory takes every byte")
    }
}

/// Where a viewer prefers dark pages: paper and ink change places, colours of data stay.
const DARK: &str = "@media (prefers-color-scheme: dark) { \
svg [fill='#ffffff'] { fill: #16181b } svg [stroke='#ffffff'] { stroke: #16181b } \
svg [fill='#222222'] { fill: #e4e4e4 } svg [fill='#555555'] { fill: #b4b4b4 } \
svg [fill='#444444'] { fill: #b4b4b4 } svg [stroke='#444444'] { stroke: #b4b4b4 } \
svg [fill='#dedede'] { fill: #34383d } svg [stroke='#dedede'] { stroke: #34383d } \
svg [fill='#f6f6f6'] { fill: #1d2024 } \
svg [fill='#000000'] { fill: #f2f2f2 } svg [stroke='#000000'] { stroke: #f2f2f2 } \
svg [fill='#6e6e6e'] { fill: #a0a0a0 } svg [stroke='#6e6e6e'] { stroke: #a0a0a0 } \
svg [fill='#0072b2'] { fill: #3d9bd6 } svg [stroke='#0072b2'] { stroke: #3d9bd6 } }";

/// Faces about as wide as the one that is measured, the widest last.
const FAMILY: &str =
    "'Noto Sans', 'Open Sans', 'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif";

impl Ink {
    pub(crate) const TEXT: Self = Self(34, 34, 34, 1.0);
    pub(crate) const FAINT_TEXT: Self = Self(85, 85, 85, 1.0);
    pub(crate) const AXIS: Self = Self(68, 68, 68, 1.0);
    pub(crate) const GRID: Self = Self(222, 222, 222, 1.0);
    pub(crate) const STRIPE: Self = Self(246, 246, 246, 1.0);
    pub(crate) const WHITE: Self = Self(255, 255, 255, 1.0);

    fn svg(self, of: &str) -> String {
        let Self(red, green, blue, opacity) = self;
        let mut svg = format!(" {of}=\"#{red:02x}{green:02x}{blue:02x}\"");
        if opacity < 1.0 {
            svg += &format!(" {of}-opacity=\"{}\"", number(opacity));
        }
        svg
    }

    fn paint(self) -> Paint<'static> {
        let Self(red, green, blue, opacity) = self;
        let mut paint = Paint::default();
        paint.set_color_rgba8(red, green, blue, (255.0 * opacity).round() as u8);
        paint
    }
}

impl Shape {
    fn svg(&self) -> String {
        match self {
            Self::Line {
                points,
                ink,
                width,
                dashes,
            } => {
                let mut line = format!(
                    "<polyline points=\"{}\" fill=\"none\"{} stroke-width=\"{}\" \
                     stroke-linejoin=\"round\"",
                    listed(points),
                    ink.svg("stroke"),
                    number(*width),
                );
                if !dashes.is_empty() {
                    let dashes: Vec<String> = dashes.iter().copied().map(number).collect();
                    line += &format!(" stroke-dasharray=\"{}\"", dashes.join(" "));
                }
                line + "/>\n"
            }
            Self::Area { points, ink } => {
                let points = listed(points);
                format!("<polygon points=\"{points}\"{}/>\n", ink.svg("fill"))
            }
            Self::Circle {
                centre: (x, y),
                radius,
                ink,
            } => format!(
                "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{}/>\n",
                number(*x),
                number(*y),
                number(*radius),
                ink.svg("fill")
            ),
            Self::Text { at: (x, y), text } => {
                let (x, y) = (number(*x), number(*y));
                let mut svg = format!("<text x=\"{x}\" y=\"{y}\" font-size=\"{}\"", text.size);
                if text.weight == Weight::Bold {
                    svg += " font-weight=\"bold\"";
                }
                match text.anchor {
                    Anchor::Start => {}
                    Anchor::Middle => svg += " text-anchor=\"middle\"",
                    Anchor::End => svg += " text-anchor=\"end\"",
                }
                if text.upwards {
                    let _ = write!(svg, " transform=\"rotate(-90 {x} {y})\"");
                }
                svg += &text.ink.svg("fill");
                format!("{svg}>{}</text>\n", escape(&text.words))
            }
        }
    }

    fn onto(&self, pixels: &mut Pixmap) {
        let scale = Picture::SCALE as f32;
        let scaled = Transform::from_scale(scale, scale);
        let mut fill = |path: Option<Path>, ink: &Ink, transform: Transform| {
            if let Some(path) = path {
                pixels.fill_path(&path, &ink.paint(), FillRule::Winding, transform, None);
            }
        };
        match self {
            Self::Line {
                points,
                ink,
                width,
                dashes,
            } => {
                let stroke = Stroke {
                    width: *width as f32,
                    line_cap: LineCap::Butt,
                    line_join: LineJoin::Round,
                    dash: StrokeDash::new(dashes.iter().map(|dash| *dash as f32).collect(), 0.0),
                    ..Stroke::default()
                };
                if let Some(path) = joined(points, false) {
                    pixels.stroke_path(&path, &ink.paint(), &stroke, scaled, None);
                }
            }
            Self::Area { points, ink } => fill(joined(points, true), ink, scaled),
            Self::Circle {
                centre: (x, y),
                radius,
                ink,
            } => {
                let circle = PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32);
                fill(circle, ink, scaled);
            }
            Self::Text { at, text } => {
                let wide = font::width(&text.words, text.size, text.weight);
                let back = match text.anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => 0.5 * wide,
                    Anchor::End => wide,
                };
                let start = (at.0 - back, at.1);
                let letters = font::outline(&text.words, text.size, text.weight, start);
                let turned = if text.upwards {
                    scaled.pre_rotate_at(-90.0, at.0 as f32, at.1 as f32)
                } else {
                    scaled
                };
                fill(letters, &text.ink, turned);
            }
        }
    }
}

/// A PNG without transparency, with its size on paper.
fn encoded(pixels: &Pixmap) -> Result<Vec<u8>, png::EncodingError> {
    // 96 units to the inch, as browsers have it.
    let per_metre = f64::from(Picture::SCALE) * 96.0 / 0.0254;
    let per_metre = per_metre.round() as u32;
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, pixels.width(), pixels.height());
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_pixel_dims(Some(PixelDimensions {
        xppu: per_metre,
        yppu: per_metre,
        unit: Unit::Meter,
    }));
    // Lines of a chart are much alike: this is as small as with all filters tried, in two thirds of the time.
    encoder.set_filter(Filter::Up);
    let mut writer = encoder.write_header()?;
    let colours: Vec<u8> = pixels
        .pixels()
        .iter()
        .flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()])
        .collect();
    writer.write_image_data(&colours)?;
    writer.finish()?;
    Ok(bytes)
}

fn joined(points: &[At], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (place, &(x, y)) in points.iter().enumerate() {
        if place == 0 {
            path.move_to(x as f32, y as f32);
        } else {
            path.line_to(x as f32, y as f32);
        }
    }
    if closed {
        path.close();
    }
    path.finish()
}

fn listed(points: &[At]) -> String {
    let points: Vec<String> = points
        .iter()
        .map(|&(x, y)| format!("{},{}", number(x), number(y)))
        .collect();
    points.join(" ")
}

/// To a hundredth, without needless zeros.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0" } else { text }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (1.0, "1"),
            (0.125, "0.12"),
            (-0.001, "0"),
            (20.5, "20.5"),
            (100.0, "100"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn both_pictures_show_the_same_ink_at_the_same_place() {
        let mut drawing = Drawing::new("a < b", 40.0);
        drawing.rectangle((10.0, 5.0), (20.0, 15.0), Ink(255, 0, 0, 1.0));
        let picture = drawing.picture(20.0, (&drawing, 20.0));
        assert!(
            picture
                .svg
                .contains("points=\"10,5 20,5 20,15 10,15\" fill=\"#ff0000\"")
        );
        assert!(picture.svg.contains("<title>a &lt; b</title>"));
        let pixels = Pixmap::decode_png(&picture.png).expect("a picture");
        assert_eq!((pixels.width(), pixels.height()), (80, 40));
        let red = |x, y| pixels.pixel(x, y).expect("inside").green() == 0;
        assert!(red(21, 11) && red(39, 29) && !red(18, 20) && !red(41, 20));
    }

    #[test]
    fn text_is_drawn_upwards_too() {
        let text = Text {
            words: "κ∞ and τ".to_owned(),
            size: 12.0,
            weight: Weight::Regular,
            ink: Ink::TEXT,
            anchor: Anchor::Middle,
            upwards: true,
        };
        let mut drawing = Drawing::new("", 20.0);
        drawing.text_beside((10.0, 50.0), text);
        let pixels = Pixmap::decode_png(&drawing.picture(100.0, (&drawing, 100.0)).png);
        let pixels = pixels.expect("a picture");
        let dark = pixels
            .pixels()
            .iter()
            .filter(|pixel| pixel.red() < 128)
            .count();
        assert!(100 < dark, "{dark} dark pixels");
    }
}
