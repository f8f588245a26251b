use crate::chart::{
    Axis, ChartError,
    heading::{Key, MARGIN, NARROW, WIDTH, heading, legend},
    line::{Frame, number_width},
    series::mark,
};
use crate::drawing::{At, Colour, Drawing, Picture};

/// Points of several series, each with a mark of its own.
///
/// ```
/// use egret_report::{Axis, Colour, ScatterChart, ScatterSeries};
///
/// let chart = ScatterChart {
///     title: "Loss and time".to_owned(),
///     x: Axis::log("microseconds"),
///     y: Axis::linear("mean loss"),
///     series: vec![ScatterSeries {
///         name: "CappedIGW".to_owned(),
///         colour: Colour::Blue,
///         points: vec![(90.0, 0.3), (80.0, 0.2)],
///     }],
///     ..ScatterChart::default()
/// };
/// assert!(chart.draw()?.svg.contains("CappedIGW"));
/// # Ok::<(), egret_report::ChartError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScatterChart {
    /// What it shows.
    pub title: String,
    /// How to read it; may be empty.
    pub subtitle: String,
    /// From left to right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// The first is drawn last, above the others.
    pub series: Vec<ScatterSeries>,
}

/// Points of a [`ScatterChart`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScatterSeries {
    /// In the legend.
    pub name: String,
    /// Of its marks.
    pub colour: Colour,
    /// (x, y), in any order.
    pub points: Vec<At>,
}

impl ScatterChart {
    /// The chart; an error where a number cannot be drawn, or there is none.
    pub fn draw(&self) -> Result<Picture, ChartError> {
        for series in &self.series {
            let place = || format!("series \"{}\"", series.name);
            for &(x, y) in &series.points {
                self.x.check(place, x)?;
                self.y.check(place, y)?;
            }
        }
        if self.series.iter().all(|series| series.points.is_empty()) {
            let title = self.title.clone();
            return Err(ChartError::NoData { title });
        }
        let (wide, height) = self.drawn(WIDTH, 380.0)?;
        let (narrow, narrow_height) = self.drawn(NARROW, 260.0)?;
        Ok(wide.picture(height, (&narrow, narrow_height)))
    }

    /// At this width with a frame of this height, and how high it all is.
    fn drawn(&self, width: f64, height: f64) -> Result<(Drawing, f64), ChartError> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = self.x.span(points().map(|at| at.0), 0.04)?;
        let y = self.y.span(points().map(|at| at.1), 0.04)?;
        let mut drawing = Drawing::new(&self.title, width);
        let top = heading(&mut drawing, &self.title, &self.subtitle);
        let top = self.legend(&mut drawing, top) + 8.0;
        let frame = Frame {
            left: MARGIN + 22.0 + number_width(y, height) + 10.0,
            right: width - MARGIN - 20.0,
            top,
            bottom: top + height,
            x,
            y,
        };
        frame.grid(&mut drawing);
        frame.labels(&mut drawing, &self.x.label, &self.y.label);
        for (place, series) in self.series.iter().enumerate().rev() {
            for &(x, y) in &series.points {
                let at = (frame.x_of(x), frame.y_of(y));
                mark(&mut drawing, at, place, series.colour, false);
            }
        }
        Ok((drawing, frame.bottom + 35.0 + 10.0 + MARGIN))
    }

    /// Returns where it ends.
    fn legend(&self, drawing: &mut Drawing, top: f64) -> f64 {
        let samples: Vec<_> = (self.series.iter().enumerate())
            .map(|(place, series)| {
                move |drawing: &mut Drawing, at: At| mark(drawing, at, place, series.colour, false)
            })
            .collect();
        let keys: Vec<Key<'_>> = (self.series.iter().zip(&samples))
            .map(|(series, sample)| Key {
                name: &series.name,
                sample,
            })
            .collect();
        legend(drawing, top, &keys)
    }
}
