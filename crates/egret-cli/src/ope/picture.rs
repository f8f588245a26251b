use anyhow::Result;
use egret_report::sheet::{BLUE, GREEN, GREY, VERMILION, drawn, thousands};
use plotters::prelude::*;

use super::weights::Weights;

/// One line of the forest: an estimate with its interval.
pub struct Line {
    /// Whose value.
    pub policy: String,
    /// Estimator and interval.
    pub by: String,
    /// Which interval, as a number that gives it a colour.
    pub colour: usize,
    /// (low, estimate, high).
    pub values: (f64, f64, f64),
}

const COLOURS: [RGBColor; 4] = [BLUE, VERMILION, GREEN, GREY];

/// Policies with their intervals, one below the other.
pub fn forest(lines: &[Line], level: f64) -> Result<String> {
    let policies = 1 + lines
        .windows(2)
        .filter(|pair| pair[0].policy != pair[1].policy)
        .count();
    let rows = lines.len() + policies;
    let height = 110 + 22 * rows as u32;
    drawn((900, height), |area| {
        let finite = |value: &f64| value.is_finite();
        let ends = lines
            .iter()
            .flat_map(|line| [line.values.0, line.values.1, line.values.2])
            .filter(finite);
        let (least, most) = ends.fold((0.0_f64, 0.1_f64), |(least, most), value| {
            (least.min(value.max(-1.0)), most.max(value.min(2.0)))
        });
        let margin = 0.04 * (most - least);
        let (least, most) = (least - margin, most + margin);
        // Words stand to the left of the chart.
        let words = 0.42 * (most - least);
        let mut chart = ChartBuilder::on(area)
            .caption("Value of each policy", ("sans-serif", 20))
            .margin(12)
            .margin_right(24)
            .x_label_area_size(44)
            .build_cartesian_2d(least - words..most, 0.0..rows as f64)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .light_line_style(WHITE)
            .y_labels(0)
            .x_desc(format!(
                "mean loss, with intervals at level {}",
                percent(level)
            ))
            .label_style(("sans-serif", 14))
            .x_label_formatter(&|x| {
                if *x < least {
                    String::new()
                } else if x.abs() < 0.005 {
                    "0.00".to_owned()
                } else {
                    format!("{x:.2}")
                }
            })
            .draw()?;
        // No grid behind the words.
        let behind = [(least - words, 0.0), (least - 0.01 * words, rows as f64)];
        chart.draw_series([Rectangle::new(behind, WHITE.filled())])?;
        let mut row = rows as f64;
        let mut policy = None;
        for line in lines {
            if policy != Some(&line.policy) {
                policy = Some(&line.policy);
                row -= 1.0;
                let at = (least - 0.99 * words, row + 0.75);
                chart.draw_series([Text::new(
                    shortened(&line.policy, 60),
                    at,
                    ("sans-serif", 15).into_font().style(FontStyle::Bold),
                )])?;
            }
            row -= 1.0;
            let y = row + 0.5;
            let (low, estimate, high) = line.values;
            let (low, high) = (low.clamp(least, most), high.clamp(least, most));
            let colour = COLOURS[line.colour % COLOURS.len()];
            let style = colour.stroke_width(2);
            chart.draw_series([Text::new(
                line.by.clone(),
                (least - 0.94 * words, y + 0.3),
                ("sans-serif", 14),
            )])?;
            chart.draw_series([
                PathElement::new([(low, y), (high, y)], style),
                PathElement::new([(low, y - 0.2), (low, y + 0.2)], style),
                PathElement::new([(high, y - 0.2), (high, y + 0.2)], style),
            ])?;
            if estimate.is_finite() {
                let at = (estimate.clamp(least, most), y);
                chart.draw_series([Circle::new(at, 4, colour.filled())])?;
            }
        }
        Ok(())
    })
}

/// How the weights are spread: the share of events in each bin of a logarithmic axis.
pub fn weights(policies: &[(String, &Weights)]) -> Result<String> {
    let height = 180 * policies.len() as u32 + 20;
    drawn((900, height), |area| {
        let (first, last) = policies
            .iter()
            .flat_map(|(_, weights)| weights.bins().map(|(low, high, _)| (low, high)))
            .fold((1.0_f64, 10.0_f64), |(first, last), (low, high)| {
                (first.min(low), last.max(high))
            });
        for ((name, weights), area) in policies.iter().zip(area.split_evenly((policies.len(), 1))) {
            let bins: Vec<(f64, f64, f64)> = weights.bins().collect();
            let most = bins
                .iter()
                .fold(1e-9_f64, |most, &(_, _, share)| most.max(share));
            let mut chart = ChartBuilder::on(&area)
                .caption(
                    format!(
                        "Weights of {}: {} of the events have none",
                        shortened(name, 48),
                        percent(weights.share_of_zeros())
                    ),
                    ("sans-serif", 16),
                )
                .margin(8)
                .margin_right(24)
                .x_label_area_size(36)
                .y_label_area_size(60)
                .build_cartesian_2d((first..last).log_scale(), 0.0..1.1 * most)?;
            chart
                .configure_mesh()
                .light_line_style(WHITE)
                .x_desc("weight q/p")
                .y_desc("share of events")
                .y_labels(4)
                .label_style(("sans-serif", 13))
                .x_label_formatter(&|x| format!("{x}"))
                .y_label_formatter(&|y| percent(*y))
                .draw()?;
            chart.draw_series(bins.iter().map(|&(low, high, share)| {
                Rectangle::new([(low, 0.0), (high, share)], BLUE.mix(0.7).filled())
            }))?;
        }
        Ok(())
    })
}

/// A confidence sequence as it narrows: (events, low, high).
pub struct Sequence {
    /// Whose value.
    pub policy: String,
    /// In order of events.
    pub points: Vec<(f64, f64, f64)>,
}

/// The intervals over time, each valid at every moment.
pub fn sequences(sequences: &[Sequence], level: f64) -> Result<String> {
    let height = 220 * sequences.len() as u32 + 20;
    drawn((900, height), |area| {
        for (sequence, area) in sequences
            .iter()
            .zip(area.split_evenly((sequences.len(), 1)))
        {
            let points = &sequence.points;
            let first = points.first().map_or(1.0, |point| point.0);
            let last = points.last().map_or(10.0, |point| point.0);
            let most = points.iter().fold(0.1_f64, |most, point| most.max(point.2));
            let least = points
                .iter()
                .fold(0.0_f64, |least, point| least.min(point.1));
            let mut chart = ChartBuilder::on(&area)
                .caption(
                    format!(
                        "{}: where its value lies, at all times with probability {}",
                        shortened(&sequence.policy, 48),
                        percent(level)
                    ),
                    ("sans-serif", 16),
                )
                .margin(8)
                .margin_right(24)
                .x_label_area_size(36)
                .y_label_area_size(60)
                .build_cartesian_2d(
                    (first..last.max(first + 1.0)).log_scale(),
                    least..1.05 * most,
                )?;
            chart
                .configure_mesh()
                .light_line_style(WHITE)
                .x_desc("events")
                .y_desc("mean loss")
                .y_labels(5)
                .label_style(("sans-serif", 13))
                .x_label_formatter(&|x| thousands(*x))
                .y_label_formatter(&|y| format!("{y:.2}"))
                .draw()?;
            let low = points.iter().map(|&(n, low, _)| (n, low));
            let high = points.iter().map(|&(n, _, high)| (n, high));
            let band: Vec<(f64, f64)> = low.clone().chain(high.clone().rev()).collect();
            chart.draw_series([Polygon::new(band, BLUE.mix(0.2))])?;
            chart.draw_series(LineSeries::new(low, BLUE.stroke_width(2)))?;
            chart.draw_series(LineSeries::new(high, BLUE.stroke_width(2)))?;
        }
        Ok(())
    })
}

/// A share as people read it.
pub fn percent(share: f64) -> String {
    let text = format!("{:.1}", 100.0 * share);
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        text.to_owned()
    } else {
        let start: String = text.chars().take(most - 1).collect();
        start + "…"
    }
}
