use crate::chart::{
    ChartError, LineChart,
    heading::{MARGIN, NARROW, SIZE, WIDER, WIDTH, heading, label},
    line::{BESIDE_NAME, Frame, name_width, number_width},
};
use crate::drawing::{
    Anchor, Drawing, Picture, Text,
    font::{self, Weight},
};

/// Small multiples: many [`LineChart`]s side by side, each with axes of its own and the names of its lines at their ends.
///
/// The subtitle says what the axes count; a panel shows its title alone above it.
///
/// ```
/// use egret_report::{Axis, Colour, Line, LineChart, LinePanels};
///
/// let panel = |title: &str, last: f64| LineChart {
///     title: title.to_owned(),
///     lines: vec![Line {
///         name: "CappedIGW".to_owned(),
///         colour: Colour::Blue,
///         points: vec![(100.0, 0.5), (200.0, last)],
///         band: Vec::new(),
///     }],
///     ..LineChart::default()
/// };
/// let panels = LinePanels {
///     title: "Loss over time".to_owned(),
///     subtitle: "mean loss after so many events".to_owned(),
///     panels: vec![panel("houses", 0.3), panel("bikes", 0.2)],
/// };
/// assert!(panels.draw()?.svg.contains("bikes"));
/// # Ok::<(), egret_report::ChartError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LinePanels {
    /// What they show.
    pub title: String,
    /// How to read them, and what their axes count.
    pub subtitle: String,
    /// In the order of reading.
    pub panels: Vec<LineChart>,
}

const COLUMNS: usize = 3;
/// Of a frame.
const HEIGHT: f64 = 118.0;
/// Above a frame for its title, and below it for the numbers.
const ABOVE: f64 = 30.0;
const BELOW: f64 = 26.0;

impl LinePanels {
    /// All panels; an error where a panel cannot be drawn, or there is none.
    pub fn draw(&self) -> Result<Picture, ChartError> {
        if self.panels.is_empty() {
            let title = self.title.clone();
            return Err(ChartError::NoData { title });
        }
        let (wide, height) = self.drawn(WIDTH, COLUMNS)?;
        let (narrow, narrow_height) = self.drawn(NARROW, 1)?;
        Ok(wide.picture(height, (&narrow, narrow_height)))
    }

    /// At this width, and how high it is.
    fn drawn(&self, width: f64, columns: usize) -> Result<(Drawing, f64), ChartError> {
        let mut drawing = Drawing::new(&self.title, width);
        let first = heading(&mut drawing, &self.title, &self.subtitle) + 4.0;
        let room = (width - 2.0 * MARGIN) / columns as f64;
        let step = ABOVE + HEIGHT + BELOW;
        for (place, panel) in self.panels.iter().enumerate() {
            let (x, y) = panel.spans()?;
            let ends = panel.ends();
            let named = name_width(&ends).min(0.3 * room);
            let left = MARGIN + room * (place % columns) as f64;
            let top = first + step * (place / columns) as f64 + ABOVE;
            let frame = Frame {
                left: left + number_width(y, HEIGHT) + 10.0,
                right: left + room - BESIDE_NAME - named - 6.0,
                top,
                bottom: top + HEIGHT,
                x,
                y,
            };
            let words = font::fitted(&panel.title, SIZE, Weight::Bold, room / WIDER);
            let title = Text {
                weight: Weight::Bold,
                ..label(words, Anchor::Start)
            };
            drawing.text_beside((left, top - 14.0), title);
            frame.grid(&mut drawing);
            panel.marks(&mut drawing, &frame, &ends, named / WIDER);
        }
        let rows = self.panels.len().div_ceil(columns);
        Ok((drawing, first + step * rows as f64 + MARGIN))
    }
}
