use crate::chart::{
    Axis, ChartError, Series,
    error::ordered,
    heading::Key,
    row_frame::{RowFrame, Rows},
    series::ink,
};
use crate::drawing::{At, Colour, Drawing, Ink, Picture};

/// How numbers are spread, row by row: a line from the 5% to the 95% quantile, a box from 25% to 75%, a stroke at the median.
///
/// ```
/// use egret_report::{Axis, Quantiles, Series, SpreadChart, SpreadRow};
///
/// let chart = SpreadChart {
///     title: "Draws to find β".to_owned(),
///     axis: Axis::log("draws for one decision"),
///     series: Series::in_order(["betting", "mixture"]),
///     rows: vec![SpreadRow {
///         label: "τ = 10, γ = 1,000".to_owned(),
///         values: vec![Some(Quantiles([50.0, 80.0, 100.0, 130.0, 200.0])), None],
///     }],
///     ..SpreadChart::default()
/// };
/// assert!(chart.draw()?.svg.contains("mixture"));
/// # Ok::<(), egret_report::ChartError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SpreadChart {
    /// What it shows.
    pub title: String,
    /// How to read it; may be empty.
    pub subtitle: String,
    /// From left to right.
    pub axis: Axis,
    /// Where a line stands across all rows.
    pub reference: Option<f64>,
    /// What each row has, from above; with only one, there is no legend.
    pub series: Vec<Series>,
    /// From above.
    pub rows: Vec<SpreadRow>,
}

/// A row of a [`SpreadChart`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SpreadRow {
    /// At the left; what is too long is cut.
    pub label: String,
    /// One for each series; `None` where nothing was measured.
    pub values: Vec<Option<Quantiles>>,
}

/// The quantiles at 5%, 25%, 50%, 75% and 95%.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantiles(pub [f64; 5]);

impl SpreadChart {
    /// The chart; an error where a number is not finite, quantiles fall, or nothing is there.
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
        let samples: Vec<_> = self
            .series
            .iter()
            .map(|series| |drawing: &mut Drawing, at: At| sample(drawing, at, series.colour))
            .collect();
        let mut legend = Vec::new();
        if 1 < self.series.len() {
            for (series, sample) in self.series.iter().zip(&samples) {
                legend.push(Key {
                    name: &series.name,
                    sample,
                });
            }
        }
        let frame = RowFrame {
            title: &self.title,
            subtitle: &self.subtitle,
            axis: &self.axis,
            span: self.axis.span(values, 0.04)?,
            reference: self.reference,
            sides: None,
            rows: self
                .rows
                .iter()
                .map(|row| (row.label.as_str(), ""))
                .collect(),
            lanes: self.series.len(),
            legend,
        };
        Ok(frame.picture(|rows| {
            for (row, values) in self.rows.iter().enumerate() {
                let shown = values.values.iter().zip(&self.series);
                let shown =
                    shown.filter_map(|(quantiles, series)| Some((quantiles.as_ref()?, series)));
                let lanes = shown.clone().count();
                for (lane, (quantiles, series)) in shown.enumerate() {
                    let y = rows.y(row, lane, lanes);
                    spread(rows, y, quantiles, series.colour);
                }
            }
        }))
    }

    fn check(&self, row: &SpreadRow, values: &mut Vec<f64>) -> Result<(), ChartError> {
        if row.values.len() != self.series.len() {
            return Err(ChartError::WrongLength {
                place: format!("row \"{}\"", row.label),
                found: row.values.len(),
                expected: self.series.len(),
            });
        }
        for (series, quantiles) in self.series.iter().zip(&row.values) {
            let Some(Quantiles(quantiles)) = quantiles else {
                continue;
            };
            let place = || format!("row \"{}\", series \"{}\"", row.label, series.name);
            ordered(place, quantiles)?;
            for &value in quantiles {
                self.axis.check(place, value)?;
            }
            values.extend(quantiles);
        }
        Ok(())
    }
}

fn spread(rows: &mut Rows, y: f64, quantiles: &Quantiles, colour: Colour) {
    let places = quantiles.0.map(|value| rows.x(value));
    let [p5, p25, p50, p75, p95] = places.map(|(x, _)| x);
    whiskers(&mut rows.drawing, y, (p5, p95), colour);
    let middle = (places[2].1 == 0.0).then_some(p50);
    boxed(&mut rows.drawing, y, (p25, p75), middle, colour);
    for (x, beyond) in [places[0], places[4]] {
        if beyond != 0.0 {
            rows.arrow((x, y), beyond, ink(colour, 1.0));
        }
    }
}

fn sample(drawing: &mut Drawing, (x, y): At, colour: Colour) {
    whiskers(drawing, y, (x - 13.0, x + 13.0), colour);
    boxed(drawing, y, (x - 8.0, x + 8.0), Some(x), colour);
}

fn whiskers(drawing: &mut Drawing, y: f64, (from, to): (f64, f64), colour: Colour) {
    drawing.line(vec![(from, y), (to, y)], ink(colour, 1.0), 1.6, &[]);
}

fn boxed(
    drawing: &mut Drawing,
    y: f64,
    (from, to): (f64, f64),
    middle: Option<f64>,
    colour: Colour,
) {
    const HALF: f64 = 4.0;
    // However narrow, it is seen.
    let (from, to) = (from.min(to - 1.0), to.max(from + 1.0));
    drawing.rectangle((from, y - HALF), (to, y + HALF), ink(colour, 1.0));
    if let Some(x) = middle {
        drawing.rectangle(
            (x - 2.2, y - HALF - 1.5),
            (x + 2.2, y + HALF + 1.5),
            Ink::WHITE,
        );
        drawing.rectangle(
            (x - 1.2, y - HALF - 1.5),
            (x + 1.2, y + HALF + 1.5),
            Ink::TEXT,
        );
    }
}
