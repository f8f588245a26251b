use anyhow::Result;
use egret_offline::Epoch;
use egret_report::sheet::{Area, BLUE, VERMILION, drawn};
use plotters::prelude::*;

/// The squared error and the value on validation rows, epoch by epoch, one below the other.
pub fn draw(epochs: &[Epoch]) -> Result<String> {
    let own: Vec<&Epoch> = epochs.iter().filter(|epoch| epoch.fold.is_none()).collect();
    let points = |of: &dyn Fn(&Epoch) -> Option<f64>| -> Vec<(f64, f64)> {
        own.iter()
            .filter_map(|epoch| Some((f64::from(epoch.epoch), of(epoch)?)))
            .collect()
    };
    let error = points(&|epoch| epoch.validation.squared_error);
    let value = points(&|epoch| epoch.validation.value);
    drawn((900, 620), |area| {
        let (above, below) = area.split_vertically(310);
        panel(&above, "Squared error on validation events", &error, BLUE)?;
        panel(&below, "Estimated loss when served", &value, VERMILION)
    })
}

fn panel(area: &Area<'_>, title: &str, points: &[(f64, f64)], colour: RGBColor) -> Result<()> {
    let last = points.last().map_or(1.0, |point| point.0).max(2.0);
    let values = points.iter().map(|point| point.1);
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let most = values.fold(f64::NEG_INFINITY, f64::max);
    let (least, most) = if least <= most {
        let margin = (0.1 * (most - least)).max(1e-4);
        (least - margin, most + margin)
    } else {
        (0.0, 1.0)
    };
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 18))
        .margin(12)
        .margin_right(24)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d(1.0..last, least..most)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc("epoch")
        .x_labels(points.len().clamp(2, 12))
        .y_labels(6)
        // Between whole epochs there is nothing to name.
        .x_label_formatter(&|epoch| {
            if epoch.fract() == 0.0 {
                format!("{epoch:.0}")
            } else {
                String::new()
            }
        })
        .y_label_formatter(&|value| format!("{value:.5}"))
        .label_style(("sans-serif", 14))
        .draw()?;
    chart.draw_series(LineSeries::new(
        points.iter().copied(),
        colour.stroke_width(2),
    ))?;
    chart.draw_series(
        points
            .iter()
            .map(|&point| Circle::new(point, 3, colour.filled())),
    )?;
    Ok(())
}
