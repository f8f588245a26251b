//! Pictures of reports, as SVG.

use egret_report::{
    Axis, Colour, ConfidenceInterval, IntervalChart, IntervalRow, Line, LineChart, Series,
};
use pyo3::prelude::*;

use crate::error::raised;

/// Intervals one below the other, as SVG: rows are (label, series, low, point, high).
#[pyfunction]
pub fn interval_chart(
    title: String,
    subtitle: String,
    axis: String,
    rows: Vec<(String, String, f64, f64, f64)>,
) -> PyResult<String> {
    let (mut labels, mut names) = (Vec::new(), Vec::new());
    for (label, series, ..) in &rows {
        if !labels.contains(label) {
            labels.push(label.clone());
        }
        if !names.contains(series) {
            names.push(series.clone());
        }
    }
    let value = |label: &String, name: &String| {
        let mut rows = rows.iter();
        let (_, _, low, point, high) = rows.find(|row| row.0 == *label && row.1 == *name)?;
        let (low, point, high) = (*low, *point, *high);
        Some(ConfidenceInterval { low, point, high })
    };
    let chart = IntervalChart {
        title,
        subtitle,
        axis: Axis::linear(axis),
        rows: labels
            .into_iter()
            .map(|label| IntervalRow {
                values: names.iter().map(|name| value(&label, name)).collect(),
                label,
                note: String::new(),
            })
            .collect(),
        series: Series::in_order(names.iter().cloned()),
        ..IntervalChart::default()
    };
    Ok(chart.draw().map_err(raised)?.svg)
}

/// Lines on a logarithmic scale and a level, as SVG: lines are (name, [(x, y)]).
#[pyfunction]
pub fn line_chart(
    title: String,
    subtitle: String,
    axes: (String, String),
    lines: Vec<(String, Vec<(f64, f64)>)>,
    level: (f64, String),
) -> PyResult<String> {
    let lines = lines.into_iter().enumerate();
    let chart = LineChart {
        title,
        subtitle,
        x: Axis::linear(axes.0),
        y: Axis::log(axes.1),
        lines: lines
            .map(|(place, (name, points))| Line {
                name,
                points,
                colour: Colour::nth(place),
                band: Vec::new(),
            })
            .collect(),
        reference: Some(level),
    };
    Ok(chart.draw().map_err(raised)?.svg)
}
