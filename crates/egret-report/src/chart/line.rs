use crate::chart::{
    Axis, ChartError,
    axis::{Span, Tick},
    error::ordered,
    heading::{Key, MARGIN, NARROW, SMALL, WIDER, WIDTH, heading, label, legend, tick_label},
    label_column::spread_out,
    series::{ink, mark},
};
use crate::drawing::{
    Anchor, At, Colour, Drawing, Ink, Picture, Text,
    font::{self, Weight},
};

/// Lines with their bands. Each has its name beside its right end, so there is no legend to go back to.
///
/// ```
/// use egret_report::{Axis, Colour, Line, LineChart};
///
/// let chart = LineChart {
///     title: "Greedy decisions of SmoothIGW".to_owned(),
///     x: Axis::log("decisions"),
///     y: Axis::linear("share that is greedy").within(0.0, 1.0),
///     lines: vec![Line {
///         name: "house_sales".to_owned(),
///         colour: Colour::Blue,
///         points: vec![(1.0, 0.1), (10.0, 0.4), (100.0, 0.7)],
///         band: vec![(0.0, 0.2), (0.3, 0.5), (0.65, 0.75)],
///     }],
///     reference: Some((0.8, "the paper's 80%".to_owned())),
///     ..LineChart::default()
/// };
/// let picture = chart.draw()?;
/// assert!(picture.svg.contains("the paper&#39;s 80%"));
/// # Ok::<(), egret_report::ChartError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LineChart {
    /// What it shows.
    pub title: String,
    /// How to read it; may be empty.
    pub subtitle: String,
    /// From left to right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// The first is drawn last, above the others.
    pub lines: Vec<Line>,
    /// A level, and what it is.
    pub reference: Option<(f64, String)>,
}

/// A line of a [`LineChart`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Line {
    /// At its right end; a line without one is thin, a background.
    pub name: String,
    /// Of the line and its band.
    pub colour: Colour,
    /// (x, y), x never falling. A few hundred are enough for any picture.
    pub points: Vec<At>,
    /// (low, high) for each point, or nothing at all.
    pub band: Vec<(f64, f64)>,
}

const NAME: f64 = 12.5;
const LEADER: f64 = 22.0;
const SAMPLE: f64 = 20.0;
/// Between the frame and a name at the right.
pub(super) const BESIDE_NAME: f64 = LEADER + SAMPLE + 6.0;
const BETWEEN: f64 = 16.5;
const DASHES: [&[f64]; 4] = [&[], &[9.0, 3.0], &[3.0, 2.5], &[9.0, 3.0, 2.5, 3.0]];
const LEVEL: &[f64] = &[5.0, 4.0];

impl LineChart {
    /// The chart; an error where a number is not finite, x falls, a band is the wrong way round, or nothing is there.
    pub fn draw(&self) -> Result<Picture, ChartError> {
        let (x, y) = self.spans()?;
        let (wide, height) = self.drawn(WIDTH, x, y);
        let (narrow, narrow_height) = self.drawn(NARROW, x, y);
        Ok(wide.picture(height, (&narrow, narrow_height)))
    }

    /// At this width, and how high it is.
    fn drawn(&self, width: f64, x: Span, y: Span) -> (Drawing, f64) {
        let mut drawing = Drawing::new(&self.title, width);
        let mut top = heading(&mut drawing, &self.title, &self.subtitle) + 12.0;
        let mut ends = self.ends();
        if width < WIDTH {
            top = names_above(&mut drawing, top - 12.0, &ends) + 8.0;
            ends.clear();
        }
        let least = if width < WIDTH { 260.0 } else { 380.0 };
        let height = (BETWEEN * ends.len() as f64).max(least);
        let numbers = number_width(y, height);
        let named = name_width(&ends).min(0.3 * width);
        let frame = Frame {
            left: MARGIN + 22.0 + numbers + 10.0,
            right: width
                - MARGIN
                - if named == 0.0 {
                    20.0
                } else {
                    BESIDE_NAME + named
                },
            top,
            bottom: top + height,
            x,
            y,
        };
        frame.grid(&mut drawing);
        frame.labels(&mut drawing, &self.x.label, &self.y.label);
        self.marks(&mut drawing, &frame, &ends, named / WIDER);
        (drawing, frame.bottom + 35.0 + 10.0 + MARGIN)
    }

    /// Bands, reference, lines, and their names at the right, of which each has so much room.
    pub(super) fn marks(&self, drawing: &mut Drawing, frame: &Frame, ends: &[End<'_>], room: f64) {
        for line in self.lines.iter().rev() {
            frame.band(drawing, line);
        }
        if let Some((level, _)) = self.reference {
            let y = frame.y_of(level);
            let across = vec![(frame.left, y), (frame.right, y)];
            drawing.line(across, Ink::AXIS, 1.4, LEVEL);
        }
        for (place, line) in self.lines.iter().enumerate().rev() {
            frame.line(drawing, line, place);
        }
        frame.ends(drawing, ends, room);
    }

    pub(super) fn spans(&self) -> Result<(Span, Span), ChartError> {
        let (mut across, mut up) = (Vec::new(), Vec::new());
        for line in &self.lines {
            let place = || format!("line \"{}\"", line.name);
            if !line.band.is_empty() && line.band.len() != line.points.len() {
                return Err(ChartError::WrongLength {
                    place: format!("the band of {}", place()),
                    found: line.band.len(),
                    expected: line.points.len(),
                });
            }
            let start = across.len();
            for &(x, y) in &line.points {
                self.x.check(place, x)?;
                self.y.check(place, y)?;
                across.push(x);
                up.push(y);
            }
            ordered(place, &across[start..])?;
            for &(low, high) in &line.band {
                self.y.check(place, low)?;
                self.y.check(place, high)?;
                ordered(|| format!("the band of {}", place()), &[low, high])?;
                up.extend([low, high]);
            }
        }
        if across.is_empty() {
            let title = self.title.clone();
            return Err(ChartError::NoData { title });
        }
        if let Some((level, name)) = &self.reference {
            self.y
                .check(|| format!("the reference \"{name}\""), *level)?;
            up.push(*level);
        }
        Ok((self.x.span(across, 0.0)?, self.y.span(up, 0.04)?))
    }

    /// What is named at the right.
    pub(super) fn ends(&self) -> Vec<End<'_>> {
        let lines = self.lines.iter().enumerate().filter_map(|(place, line)| {
            Some(End {
                name: line.name.as_str(),
                at: *line.points.last()?,
                ink: ink(line.colour, 1.0),
                dashes: DASHES[place % DASHES.len()],
            })
        });
        let reference = self.reference.as_ref().map(|(level, name)| End {
            name: name.as_str(),
            at: (f64::MAX, *level),
            ink: Ink::AXIS,
            dashes: LEVEL,
        });
        lines
            .chain(reference)
            .filter(|end| !end.name.is_empty())
            .collect()
    }
}

/// What would be named at the right, as a legend; returns where it ends.
fn names_above(drawing: &mut Drawing, top: f64, ends: &[End<'_>]) -> f64 {
    let samples: Vec<_> = ends
        .iter()
        .map(|end| {
            move |drawing: &mut Drawing, (x, y): At| {
                let half = 0.5 * SAMPLE;
                drawing.line(vec![(x - half, y), (x + half, y)], end.ink, 2.2, end.dashes);
            }
        })
        .collect();
    let keys: Vec<Key<'_>> = ends
        .iter()
        .zip(&samples)
        .map(|(end, sample)| Key {
            name: end.name,
            sample,
        })
        .collect();
    legend(drawing, top, &keys)
}

/// The right end of a line, with its name.
pub(super) struct End<'a> {
    name: &'a str,
    at: At,
    ink: Ink,
    dashes: &'static [f64],
}

/// How wide the numbers of an axis of this height are.
pub(super) fn number_width(y: Span, height: f64) -> f64 {
    let ticks = y.ticks_up(height, SMALL);
    let wide = |tick: &Tick| WIDER * font::width(&tick.label, SMALL, Weight::Regular);
    ticks.iter().map(wide).fold(0.0_f64, f64::max)
}

/// How wide the widest name is.
pub(super) fn name_width(ends: &[End<'_>]) -> f64 {
    let wide = |end: &End<'_>| WIDER * font::width(end.name, NAME, Weight::Regular);
    ends.iter().map(wide).fold(0.0_f64, f64::max)
}

/// Where lines and points go.
pub(super) struct Frame {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    pub x: Span,
    pub y: Span,
}

impl Frame {
    /// The grid with its numbers, and the ground.
    pub fn grid(&self, drawing: &mut Drawing) {
        let (width, height) = (self.right - self.left, self.bottom - self.top);
        for tick in self.y.ticks_up(height, SMALL) {
            let y = self.bottom - tick.at * height;
            let across = vec![(self.left, y), (self.right, y)];
            drawing.line(across, Ink::GRID, 1.0, &[]);
            let number = tick_label(tick.label, Anchor::End);
            drawing.text_beside((self.left - 8.0, y), number);
        }
        for tick in self.x.ticks_across(width, SMALL) {
            let x = self.left + tick.at * width;
            let up = vec![(x, self.bottom), (x, self.top)];
            drawing.line(up, Ink::GRID, 1.0, &[]);
            let mark = vec![(x, self.bottom), (x, self.bottom + 5.0)];
            drawing.line(mark, Ink::AXIS, 1.0, &[]);
            let number = tick_label(tick.label, Anchor::Middle);
            drawing.text_beside((x, self.bottom + 15.0), number);
        }
        let ground = vec![(self.left, self.bottom), (self.right, self.bottom)];
        drawing.line(ground, Ink::AXIS, 1.0, &[]);
    }

    /// What the axes count, below and at the left edge of the drawing.
    pub fn labels(&self, drawing: &mut Drawing, x: &str, y: &str) {
        let middle = 0.5 * (self.left + self.right);
        let below = label(x, Anchor::Middle);
        drawing.text_beside((middle, self.bottom + 35.0), below);
        let beside = Text {
            upwards: true,
            ..label(y, Anchor::Middle)
        };
        drawing.text_beside((MARGIN + 6.0, 0.5 * (self.top + self.bottom)), beside);
    }

    pub fn x_of(&self, value: f64) -> f64 {
        self.left + self.x.share(value).clamp(0.0, 1.0) * (self.right - self.left)
    }

    pub fn y_of(&self, value: f64) -> f64 {
        self.bottom - self.y.share(value).clamp(0.0, 1.0) * (self.bottom - self.top)
    }

    fn band(&self, drawing: &mut Drawing, line: &Line) {
        let ends = line.points.iter().zip(&line.band);
        let low = ends.clone().map(|(point, band)| (point.0, band.0));
        let high = ends.rev().map(|(point, band)| (point.0, band.1));
        let around = low.chain(high).map(|(x, y)| (self.x_of(x), self.y_of(y)));
        drawing.area(around.collect(), ink(line.colour, 0.16));
    }

    fn line(&self, drawing: &mut Drawing, line: &Line, place: usize) {
        // Few enough to be seen one by one.
        const FEW: usize = 16;
        let points: Vec<At> = line
            .points
            .iter()
            .map(|&(x, y)| (self.x_of(x), self.y_of(y)))
            .collect();
        let few = points.len() <= FEW;
        if 1 < points.len() {
            // What has no name is not to be told apart: a background.
            let (width, dashes): (f64, &[f64]) = if line.name.is_empty() {
                (0.8, &[])
            } else {
                (2.2, DASHES[place % DASHES.len()])
            };
            drawing.line(points.clone(), ink(line.colour, 1.0), width, dashes);
        }
        if few {
            for at in points {
                mark(drawing, at, place, line.colour, false);
            }
        }
    }

    fn ends(&self, drawing: &mut Drawing, ends: &[End<'_>], room: f64) {
        let wanted: Vec<f64> = ends.iter().map(|end| self.y_of(end.at.1)).collect();
        let places = spread_out(&wanted, BETWEEN, (self.top, self.bottom));
        for ((end, from), y) in ends.iter().zip(wanted).zip(places) {
            let faint = Ink(end.ink.0, end.ink.1, end.ink.2, 0.5);
            let x = self.right + LEADER;
            let leader = vec![
                (self.x_of(end.at.0) + 2.0, from),
                (self.right + 2.0, from),
                (x - 2.0, y),
            ];
            drawing.line(leader, faint, 1.0, &[]);
            drawing.line(vec![(x, y), (x + SAMPLE, y)], end.ink, 2.2, end.dashes);
            let name = font::fitted(end.name, NAME, Weight::Regular, room);
            let text = Text {
                size: NAME,
                ..label(name, Anchor::Start)
            };
            drawing.text_beside((x + SAMPLE + 6.0, y), text);
        }
    }
}
