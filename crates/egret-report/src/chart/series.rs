use crate::drawing::{At, Colour, Drawing, Ink};

/// What is shown in every row of a chart, in its colour and with its mark.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Series {
    /// For the legend.
    pub name: String,
    /// Of its marks.
    pub colour: Colour,
}

impl Series {
    /// A name and a colour.
    pub fn new(name: impl Into<String>, colour: Colour) -> Self {
        let name = name.into();
        Self { name, colour }
    }

    /// One for each name, in the order of [`Colour::nth`].
    pub fn in_order<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Vec<Self> {
        names
            .into_iter()
            .enumerate()
            .map(|(place, name)| Self::new(name, Colour::nth(place)))
            .collect()
    }
}

/// The mark of the series at this place: its shape tells it without its colour. A hollow one is white inside.
pub(crate) fn mark(drawing: &mut Drawing, at: At, place: usize, colour: Colour, hollow: bool) {
    shape(drawing, at, place, 4.5, ink(colour, 1.0));
    if hollow {
        shape(drawing, at, place, 2.7, Ink::WHITE);
    }
}

fn shape(drawing: &mut Drawing, (x, y): At, place: usize, radius: f64, ink: Ink) {
    // About as much ink for each.
    match place % 4 {
        0 => drawing.circle((x, y), radius, ink),
        1 => {
            let half = 0.9 * radius;
            drawing.rectangle((x - half, y - half), (x + half, y + half), ink);
        }
        2 => {
            let half = 1.25 * radius;
            let corners = vec![(x, y - half), (x + half, y), (x, y + half), (x - half, y)];
            drawing.area(corners, ink);
        }
        _ => {
            let half = 1.15 * radius;
            let corners = vec![
                (x - half, y + 0.85 * half),
                (x + half, y + 0.85 * half),
                (x, y - 1.05 * half),
            ];
            drawing.area(corners, ink);
        }
    }
}

/// A colour that hides this share of what is behind.
pub(crate) fn ink(colour: Colour, opacity: f64) -> Ink {
    let (red, green, blue) = colour.rgb();
    Ink(red, green, blue, opacity)
}
