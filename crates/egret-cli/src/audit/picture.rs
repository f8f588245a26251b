use anyhow::Result;
use egret_offline::AuditReport;
use egret_report::sheet::{BLUE, GREEN, GREY, VERMILION, drawn, legend_line, thousands};
use plotters::prelude::*;

const COLOURS: [RGBColor; 4] = [BLUE, VERMILION, GREEN, GREY];

/// Less evidence than this is not told apart, nor more than that.
const LEAST: f64 = 1e-4;
const MOST: f64 = 1e12;

/// The evidence of each test over the log, with the line at which it rings.
pub fn evidence(report: &AuditReport) -> Result<String> {
    drawn((900, 480), |area| {
        let points = &report.history.points;
        let events = points.last().map_or(1, |(at, _)| *at).max(1);
        let values = points.iter().flat_map(|(_, values)| values.iter().copied());
        let (least, most) = values
            .fold((0.5, report.together.threshold), |(least, most), value| {
                (f64::min(least, value), f64::max(most, value))
            });
        let (least, most) = (least.max(LEAST), (10.0 * most).min(MOST));
        let mut chart = ChartBuilder::on(area)
            .caption("Evidence that densities are wrong", ("sans-serif", 20))
            .margin(12)
            .margin_right(24)
            .x_label_area_size(44)
            .y_label_area_size(70)
            .build_cartesian_2d(0.0..events as f64, (0.5 * least..most).log_scale())?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .x_desc("events")
            .y_desc("e-value")
            .label_style(("sans-serif", 14))
            .x_label_formatter(&|x| thousands(*x))
            .y_label_formatter(&|y| format!("{y:e}"))
            .draw()?;
        let rows = report.tests.iter().chain([&report.together]);
        for (place, row) in rows.enumerate() {
            let together = place == report.tests.len();
            let colour = if together {
                BLACK
            } else {
                COLOURS[place % COLOURS.len()]
            };
            let line = points.iter().filter_map(|(at, values)| {
                let value = values.get(place)?;
                Some((*at as f64, value.clamp(0.5 * least, most)))
            });
            let width = if together { 3 } else { 1 };
            chart
                .draw_series(LineSeries::new(line, colour.stroke_width(width)))?
                .label(row.test)
                .legend(move |at| legend_line(at, colour, 0));
        }
        let threshold = report.together.threshold;
        let style = BLACK.stroke_width(1);
        chart
            .draw_series(DashedLineSeries::new(
                [(0.0, threshold), (events as f64, threshold)],
                6,
                4,
                style,
            ))?
            .label(format!("rings at 1/α = {threshold}"))
            .legend(|at| legend_line(at, BLACK, 6));
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.9))
            .legend_area_size(36)
            .label_font(("sans-serif", 14))
            .draw()?;
        Ok(())
    })
}
