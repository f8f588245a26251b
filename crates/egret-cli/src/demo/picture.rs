use anyhow::Result;
use egret_report::sheet::{Area, BLUE, GREEN, GREY, VERMILION, drawn, legend_line, thousands};
use plotters::prelude::*;

use super::Curves;
use super::off_policy::{OffPolicy, Weights};
use super::one_decision::OneDecision;

/// Mean loss after each decision, for the four learners and the best smooth policy.
pub fn learning(curves: &Curves, best_smooth_tau: f64) -> Result<String> {
    drawn((900, 480), |area| {
        let decisions = curves.capped_igw.len();
        // The first few decisions alone say little: each point is a mean over at least a step.
        let step = (decisions / 400).max(1);
        let points = |curve: &[f64]| -> Vec<(f64, f64)> {
            (1..=decisions / step)
                .map(|k| ((k * step) as f64, curve[k * step - 1]))
                .collect()
        };
        let shown = [&curves.capped_igw, &curves.smooth_igw, &curves.uniform];
        let most = shown
            .iter()
            .flat_map(|curve| points(curve))
            .fold(0.0_f64, |most, (_, loss)| most.max(loss));
        let mut chart = ChartBuilder::on(area)
            .caption("What each learner paid", ("sans-serif", 20))
            .margin(12)
            .margin_right(24)
            .x_label_area_size(44)
            .y_label_area_size(60)
            .build_cartesian_2d(0.0..decisions as f64, 0.0..1.35 * most)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .x_desc("decisions")
            .y_desc("mean true loss so far")
            .label_style(("sans-serif", 14))
            .x_label_formatter(&|x| thousands(*x))
            .y_label_formatter(&|y| format!("{y:.2}"))
            .draw()?;
        let best = format!("best {best_smooth_tau}-smooth policy, which knows the truth");
        let lines = [
            ("uniform prices".to_owned(), &curves.uniform, GREY, 0),
            ("SmoothIGW".to_owned(), &curves.smooth_igw, VERMILION, 9),
            (
                "CappedIGW, β by draws".to_owned(),
                &curves.capped_igw,
                BLUE,
                0,
            ),
            (
                "CappedIGW, β computed".to_owned(),
                &curves.capped_igw_exact,
                BLUE,
                6,
            ),
            (best, &curves.best_smooth, GREEN, 3),
        ];
        for (name, curve, colour, dash) in lines {
            let style = colour.stroke_width(2);
            let legend = move |(x, y): (i32, i32)| legend_line((x, y), colour, dash);
            if dash == 0 {
                chart.draw_series(LineSeries::new(points(curve), style))?
            } else {
                chart.draw_series(DashedLineSeries::new(points(curve), dash, dash, style))?
            }
            .label(name)
            .legend(legend);
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.9))
            .legend_area_size(36)
            .label_font(("sans-serif", 14))
            .draw()?;
        Ok(())
    })
}

/// Each policy's true value beside its intervals with either kind of weights.
pub fn policies(ope: &[OffPolicy]) -> Result<String> {
    drawn((900, 420), |area| {
        let rows = ope.len() as f64 / 2.0;
        let most = ope
            .iter()
            .fold(0.0_f64, |most, row| most.max(row.high).max(row.truth));
        let least = ope.iter().fold(0.0_f64, |least, row| least.min(row.low));
        let mut chart = ChartBuilder::on(area)
            .caption(
                "Policies never played, valued from CappedIGW's log",
                ("sans-serif", 20),
            )
            .margin(12)
            .margin_right(24)
            .x_label_area_size(44)
            .y_label_area_size(8)
            .build_cartesian_2d(1.05 * least..1.05 * most, 0.0..rows + 0.55)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .light_line_style(WHITE)
            .y_labels(0)
            .x_desc("mean loss, with 95% intervals")
            .label_style(("sans-serif", 14))
            .x_label_formatter(&|x| format!("{x:.2}"))
            .draw()?;
        for (k, pair) in ope.chunks(2).enumerate() {
            let top = rows - k as f64;
            let truth = pair[0].truth;
            chart.draw_series([Text::new(
                pair[0].policy,
                (1.05 * least + 0.012 * most, top),
                ("sans-serif", 15),
            )])?;
            chart.draw_series([PathElement::new(
                [(truth, top - 0.22), (truth, top - 0.78)],
                BLACK.stroke_width(2),
            )])?;
            for row in pair {
                let (y, colour) = match row.weights {
                    Weights::Correct => (top - 0.38, BLUE),
                    Weights::KappaHat1 => (top - 0.62, VERMILION),
                };
                let style = colour.stroke_width(2);
                chart.draw_series([
                    PathElement::new([(row.low, y), (row.high, y)], style),
                    PathElement::new([(row.low, y - 0.06), (row.low, y + 0.06)], style),
                    PathElement::new([(row.high, y - 0.06), (row.high, y + 0.06)], style),
                ])?;
                let at = (row.estimate, y);
                match row.weights {
                    Weights::Correct => {
                        chart.draw_series([Circle::new(at, 5, colour.filled())])?;
                    }
                    Weights::KappaHat1 => {
                        chart.draw_series([TriangleMarker::new(at, 6, colour.filled())])?;
                    }
                }
            }
        }
        key(area)
    })
}

/// The key of the forest plot, in one row above it.
fn key(area: &Area<'_>) -> Result<()> {
    let font = ("sans-serif", 14).into_font();
    let y = 52;
    area.draw(&PathElement::new(
        [(60, y - 7), (60, y + 7)],
        BLACK.stroke_width(2),
    ))?;
    area.draw(&Text::new("truth", (70, y - 8), font.clone()))?;
    area.draw(&Circle::new((150, y), 5, BLUE.filled()))?;
    area.draw(&Text::new(
        "density p, as egret logs it",
        (162, y - 8),
        font.clone(),
    ))?;
    area.draw(&TriangleMarker::new((390, y), 6, VERMILION.filled()))?;
    area.draw(&Text::new("g, as if κ were 1", (402, y - 8), font))?;
    Ok(())
}

/// One decision from inside: losses above, densities below.
pub fn decision(one: &OneDecision) -> Result<String> {
    drawn((900, 620), |area| {
        let (above, below) = area.split_vertically(300);
        let curve = |values: &[f64]| -> Vec<(f64, f64)> {
            one.prices
                .iter()
                .copied()
                .zip(values.iter().copied())
                .collect()
        };
        let (price, density) = one.played;

        let mut chart = ChartBuilder::on(&above)
            .caption(
                format!(
                    "Customer {}: what is believed, and how the price is drawn (τ = {:.0}, γ = {:.0})",
                    one.event, one.tau, one.gamma
                ),
                ("sans-serif", 18),
            )
            .margin(12)
            .margin_right(24)
            .x_label_area_size(26)
            .y_label_area_size(70)
            .build_cartesian_2d(0.0..1.0, 0.0..1.0)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .y_desc("loss")
            .label_style(("sans-serif", 14))
            .x_label_formatter(&|x| format!("{x:.1}"))
            .y_label_formatter(&|y| format!("{y:.1}"))
            .draw()?;
        chart
            .draw_series(LineSeries::new(curve(&one.truth), BLACK.stroke_width(2)))?
            .label("f*, the truth")
            .legend(|at| legend_line(at, BLACK, 0));
        chart
            .draw_series(DashedLineSeries::new(
                curve(&one.fhat),
                9,
                6,
                BLUE.stroke_width(2),
            ))?
            .label("f̂, learned so far")
            .legend(|at| legend_line(at, BLUE, 9));
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.9))
            .legend_area_size(36)
            .label_font(("sans-serif", 14))
            .draw()?;

        let all = one.density.iter().chain(&one.g);
        let (least, most) = all.fold((f64::MAX, 0.0_f64), |(least, most), &value| {
            (least.min(value), most.max(value))
        });
        let mut chart = ChartBuilder::on(&below)
            .margin(12)
            .margin_right(24)
            .x_label_area_size(44)
            .y_label_area_size(70)
            .build_cartesian_2d(0.0..1.0, (0.7 * least..1.6 * most).log_scale())?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .x_desc("price")
            .y_desc("density against uniform")
            .label_style(("sans-serif", 14))
            .x_label_formatter(&|x| format!("{x:.1}"))
            .y_label_formatter(&|y| format!("{y}"))
            .draw()?;
        chart
            .draw_series(LineSeries::new(curve(&one.density), BLUE.stroke_width(2)))?
            .label("p, logged by egret")
            .legend(|at| legend_line(at, BLUE, 0));
        chart
            .draw_series(DashedLineSeries::new(
                curve(&one.g),
                9,
                6,
                VERMILION.stroke_width(2),
            ))?
            .label("g, as if κ were 1")
            .legend(|at| legend_line(at, VERMILION, 9));
        chart
            .draw_series([Circle::new((price, density), 5, BLACK.filled())])?
            .label("the price played")
            .legend(|(x, y)| {
                EmptyElement::at((x + 15, y)) + Circle::new((0, 0), 5, BLACK.filled())
            });
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.9))
            .legend_area_size(36)
            .label_font(("sans-serif", 14))
            .draw()?;
        Ok(())
    })
}
