use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;

use crate::Colour;

/// The first line to look at.
pub const BLUE: RGBColor = of(Colour::Blue);
/// What it is compared with.
pub const VERMILION: RGBColor = of(Colour::Vermilion);
/// A third.
pub const GREEN: RGBColor = of(Colour::Green);
/// What stands in the background.
pub const GREY: RGBColor = of(Colour::Grey);

const fn of(colour: Colour) -> RGBColor {
    let (red, green, blue) = colour.rgb();
    RGBColor(red, green, blue)
}

/// A part of a picture.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// What `draw` leaves on a white sheet, as SVG.
///
/// `draw` may fail with any error that a [`DrawError`] turns into.
pub fn drawn<E: From<DrawError>>(
    size: (u32, u32),
    draw: impl FnOnce(&Area<'_>) -> Result<(), E>,
) -> Result<String, E> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE).map_err(DrawError::of)?;
        draw(&area)?;
        area.present().map_err(DrawError::of)?;
    }
    Ok(svg)
}

/// A picture that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("the picture could not be drawn: {0}")]
pub struct DrawError(String);

impl DrawError {
    fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// A short line, whole or dashed, for a legend.
pub fn legend_line(
    (x, y): (i32, i32),
    colour: RGBColor,
    dash: i32,
) -> DashedPathElement<std::array::IntoIter<(i32, i32), 2>, i32> {
    const LENGTH: i32 = 30;
    let dash = if dash == 0 { LENGTH } else { dash };
    let ends = [(x, y), (x + LENGTH, y)];
    DashedPathElement::new(ends, dash, dash, colour.stroke_width(2))
}

/// A whole number with commas.
pub fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place != 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
