use crate::drawing::{
    Anchor, At, Drawing, Ink, Text,
    font::{self, Weight},
};

/// How wide every chart is.
pub(crate) const WIDTH: f64 = 960.0;
/// How wide it is on a narrow screen. There names stand above lines and rows, not beside them.
pub(crate) const NARROW: f64 = 400.0;
/// What stays white around it.
pub(crate) const MARGIN: f64 = 18.0;
/// Of labels.
pub(crate) const SIZE: f64 = 13.0;
/// Of numbers on an axis.
pub(crate) const SMALL: f64 = 12.0;
/// A viewer may lack the face that is measured here and take one that is wider.
pub(crate) const WIDER: f64 = 1.1;

const TITLE: f64 = 17.0;

/// Title and subtitle, left, above the chart; returns where they end.
pub(crate) fn heading(drawing: &mut Drawing, title: &str, subtitle: &str) -> f64 {
    let mut y = MARGIN;
    let parts = [
        (title, TITLE, Weight::Bold, Ink::TEXT),
        (subtitle, SIZE, Weight::Regular, Ink::FAINT_TEXT),
    ];
    for (words, size, weight, ink) in parts {
        let room = (drawing.width - 2.0 * MARGIN) / WIDER;
        for line in font::wrapped(words, size, weight, room) {
            y += 1.35 * size;
            let text = Text {
                words: line,
                size,
                weight,
                ink,
                anchor: Anchor::Start,
                upwards: false,
            };
            drawing.text((MARGIN, y - 0.35 * size), text);
        }
    }
    y + 4.0
}

/// An entry of a legend.
pub(crate) struct Key<'a> {
    pub name: &'a str,
    /// Draws around a point.
    pub sample: &'a dyn Fn(&mut Drawing, At),
}

/// A line of samples with their names, as many lines as it takes; returns where it ends.
pub(crate) fn legend(drawing: &mut Drawing, top: f64, keys: &[Key<'_>]) -> f64 {
    const SAMPLE: f64 = 26.0;
    const BETWEEN: f64 = 24.0;
    const LINE: f64 = 20.0;
    if keys.is_empty() {
        return top;
    }
    let (mut x, mut y) = (MARGIN, top + 0.5 * LINE + 2.0);
    for Key { name, sample } in keys {
        let room = drawing.width - 2.0 * MARGIN - SAMPLE - 6.0;
        let name = font::fitted(name, SIZE, Weight::Regular, room / WIDER);
        let wide = SAMPLE + 6.0 + WIDER * font::width(&name, SIZE, Weight::Regular);
        if MARGIN < x && drawing.width - MARGIN < x + wide {
            (x, y) = (MARGIN, y + LINE);
        }
        sample(drawing, (x + 0.5 * SAMPLE, y));
        drawing.text_beside((x + SAMPLE + 6.0, y), label(name, Anchor::Start));
        x += wide + BETWEEN;
    }
    y + 0.5 * LINE + 4.0
}

/// Text of the usual size.
pub(crate) fn label(words: impl Into<String>, anchor: Anchor) -> Text {
    Text {
        words: words.into(),
        size: SIZE,
        weight: Weight::Regular,
        ink: Ink::TEXT,
        anchor,
        upwards: false,
    }
}

/// A number on an axis.
pub(crate) fn tick_label(words: impl Into<String>, anchor: Anchor) -> Text {
    Text {
        size: SMALL,
        ink: Ink::FAINT_TEXT,
        ..label(words, anchor)
    }
}
