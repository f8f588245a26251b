use crate::chart::{
    Axis, ChartError, Series,
    error::{finite, ordered},
    heading::Key,
    row_frame::RowFrame,
    series::{ink, mark},
};
use crate::drawing::{At, Colour, Drawing, Picture};

/// Estimates with their intervals, row by row: a forest.
///
/// Each series has its colour and its mark, and the marks of a row lie one below the other. Where the reference lies
/// in an interval, its mark is hollow.
///
/// ```
/// use egret_report::{Axis, ConfidenceInterval, IntervalChart, IntervalRow, Series};
///
/// let chart = IntervalChart {
///     title: "CappedIGW less SmoothIGW".to_owned(),
///     subtitle: "90% intervals of the paired difference over 30 seeds".to_owned(),
///     axis: Axis::linear("difference of mean loss"),
///     reference: Some(0.0),
///     sides: Some(("CappedIGW is better".to_owned(), "SmoothIGW is better".to_owned())),
///     series: Series::in_order(["κ∞ = 2", "κ∞ = 4"]),
///     rows: vec![IntervalRow {
///         label: "house_sales".to_owned(),
///         values: vec![
///             Some(ConfidenceInterval { low: -0.03, point: -0.02, high: -0.01 }),
///             None,
///         ],
///         note: "win".to_owned(),
///     }],
/// };
/// let picture = chart.draw()?;
/// assert!(picture.svg.contains("house_sales"));
/// # Ok::<(), egret_report::ChartError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IntervalChart {
    /// What it shows.
    pub title: String,
    /// How to read it; may be empty.
    pub subtitle: String,
    /// From left to right.
    pub axis: Axis,
    /// Where a line stands across all rows.
    pub reference: Option<f64>,
    /// What it means to lie to the left, and to the right.
    pub sides: Option<(String, String)>,
    /// What each row has, from above; with only one, there is no legend.
    pub series: Vec<Series>,
    /// From above.
    pub rows: Vec<IntervalRow>,
}

/// A row of an [`IntervalChart`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IntervalRow {
    /// At the left; what is too long is cut.
    pub label: String,
    /// One for each series; `None` where nothing was measured.
    pub values: Vec<Option<ConfidenceInterval>>,
    /// At the right; may be empty.
    pub note: String,
}

/// An estimate with its interval, in which it usually lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConfidenceInterval {
    /// The low end.
    pub low: f64,
    /// The estimate.
    pub point: f64,
    /// The high end.
    pub high: f64,
}

impl IntervalChart {
    /// The chart; an error where a number is not finite, an interval is the wrong way round, or nothing is there.
    pub fn draw(&self) -> Result<Picture, ChartError> {
        let mut values = Vec::new();
        for row in &self.rows {
            self.check(row, &mut values)?;
        }
        if values.is_empty() {
            let title = self.title.clone();
            return Err(ChartError::NoData { title });
        }
        if let Some(reference) = self.reference {
            self.axis.check(|| "the reference".to_owned(), reference)?;
            values.push(reference);
        }
        let samples: Vec<_> = (0..self.series.len())
            .map(|place| move |drawing: &mut Drawing, at: At| self.sample(drawing, at, place))
            .collect();
        let hollow = self
            .reference
            .filter(|_| self.intervals().any(|interval| self.is_hollow(interval)))
            .map(|reference| format!("hollow: the interval holds {reference}"));
        let hollow_sample = |drawing: &mut Drawing, at: At| {
            mark(drawing, at, 0, Colour::Grey, true);
        };
        let mut legend = Vec::new();
        if 1 < self.series.len() {
            for (series, sample) in self.series.iter().zip(&samples) {
                legend.push(Key {
                    name: &series.name,
                    sample,
                });
            }
        }
        if let Some(hollow) = &hollow {
            legend.push(Key {
                name: hollow,
                sample: &hollow_sample,
            });
        }
        let frame = RowFrame {
            title: &self.title,
            subtitle: &self.subtitle,
            axis: &self.axis,
            span: self.axis.span(values, 0.04)?,
            reference: self.reference,
            sides: self
                .sides
                .as_ref()
                .map(|(less, more)| (less.as_str(), more.as_str())),
            rows: self
                .rows
                .iter()
                .map(|row| (row.label.as_str(), row.note.as_str()))
                .collect(),
            lanes: self.series.len(),
            legend,
        };
        Ok(frame.picture(|rows| {
            for (row, values) in self.rows.iter().enumerate() {
                let shown = values.values.iter().enumerate();
                let shown = shown.filter_map(|(place, interval)| Some((place, interval.as_ref()?)));
                let lanes = shown.clone().count();
                for (lane, (place, interval)) in shown.enumerate() {
                    let colour = self.series[place].colour;
                    let y = rows.y(row, lane, lanes);
                    let ((low, before), (high, after)) =
                        (rows.x(interval.low), rows.x(interval.high));
                    let ends = vec![(low, y), (high, y)];
                    rows.drawing.line(ends, ink(colour, 1.0), 2.2, &[]);
                    for (x, beyond) in [(low, before), (high, after)] {
                        if beyond != 0.0 {
                            rows.arrow((x, y), beyond, ink(colour, 1.0));
                        }
                    }
                    if let (x, 0.0) = rows.x(interval.point) {
                        let hollow = self.is_hollow(interval);
                        mark(&mut rows.drawing, (x, y), place, colour, hollow);
                    }
                }
            }
        }))
    }

    fn intervals(&self) -> impl Iterator<Item = &ConfidenceInterval> {
        self.rows.iter().flat_map(|row| row.values.iter().flatten())
    }

    fn is_hollow(&self, interval: &ConfidenceInterval) -> bool {
        self.reference
            .is_some_and(|reference| interval.low <= reference && reference <= interval.high)
    }

    fn sample(&self, drawing: &mut Drawing, (x, y): At, place: usize) {
        let colour = self.series[place].colour;
        let ends = vec![(x - 13.0, y), (x + 13.0, y)];
        drawing.line(ends, ink(colour, 1.0), 2.2, &[]);
        mark(drawing, (x, y), place, colour, false);
    }

    fn check(&self, row: &IntervalRow, values: &mut Vec<f64>) -> Result<(), ChartError> {
        if row.values.len() != self.series.len() {
            return Err(ChartError::WrongLength {
                place: format!("row \"{}\"", row.label),
                found: row.values.len(),
                expected: self.series.len(),
            });
        }
        for (series, interval) in self.series.iter().zip(&row.values) {
            let Some(interval) = interval else { continue };
            let place = || format!("row \"{}\", series \"{}\"", row.label, series.name);
            finite(place, interval.point)?;
            ordered(place, &[interval.low, interval.high])?;
            for value in [interval.low, interval.point, interval.high] {
                self.axis.check(place, value)?;
                values.push(value);
            }
        }
        Ok(())
    }
}
