use egret::{Direction, Objective};
use egret_jobs::evaluate::{EvaluateReport, EvaluationRow, WeightHistogram, rows_to_go_by};
use egret_report::numerals::percent;
use egret_report::{
    Axis, ChartError, Colour, ConfidenceInterval, IntervalChart, IntervalRow, Line, LineChart,
    Picture, Quantiles, Series, SpreadChart, SpreadRow,
};

/// Forests of parts, of values and of differences, how weights are spread, and confidence sequences as they narrow. What was asked for
/// beyond the values comes first, for a file of one picture has the first.
pub fn all(report: &EvaluateReport) -> Result<Vec<(&'static str, Picture)>, ChartError> {
    // The mean of the log goes with values alone.
    let (differences, values): (Vec<&EvaluationRow>, Vec<&EvaluationRow>) =
        report.rows.iter().partition(|row| row.logged.is_none());
    let named = |row: &EvaluationRow| format!("{}, {}", row.policy, row.estimator);
    let of_part = |row: &EvaluationRow| {
        let part = row.part.as_deref().unwrap_or_default();
        format!("{part}: {}, {}", row.policy, row.estimator)
    };
    let mut pictures = Vec::new();
    let parts = rows_to_go_by(&report.parts).into_iter();
    let parts = parts.filter(|row| row.logged.is_some());
    let mut draw =
        |name, title, rows: Vec<&EvaluationRow>, label: &dyn Fn(&EvaluationRow) -> String| {
            if rows.is_empty() {
                return Ok(());
            }
            let are_differences = rows[0].logged.is_none();
            let rows = rows.into_iter().map(|row| ForestRow {
                label: label(row),
                series: &row.interval,
                values: (row.low, row.estimate, row.high),
                note: match row.part.is_none() || row.can_be_relied_on() {
                    true => "",
                    false => "do not rely on it",
                },
            });
            let rows: Vec<ForestRow<'_>> = rows.collect();
            let mut chart = forest(title, report.objective, &rows, report.level);
            if are_differences {
                chart.axis = Axis::linear(format!("difference of {}", mean_of(report.objective)));
                chart.reference = Some(0.0);
                chart.sides = Some(match report.objective.direction() {
                    Direction::Maximize => ("worse".to_owned(), "better".to_owned()),
                    Direction::Minimize => ("better".to_owned(), "worse".to_owned()),
                });
            }
            pictures.push((name, chart.draw()?));
            Ok(())
        };
    draw("parts", "Part by part", parts.collect(), &of_part)?;
    draw("policies", "Value of each policy", values, &named)?;
    draw("differences", "Differences", differences, &named)?;
    if let Some(weights) = weights(report)? {
        pictures.push(("weights", weights));
    }
    for policy in report
        .policies
        .iter()
        .filter(|policy| !policy.path.is_empty())
    {
        let points = policy.path.iter();
        let middle = |low: f64, high: f64| 0.5 * (low + high);
        let chart = LineChart {
            title: format!("{}: its confidence sequence", policy.name),
            subtitle: format!(
                "The value lies in the band at all times with probability {}",
                percent(report.level)
            ),
            x: Axis::log("events"),
            y: Axis::linear(mean_of(report.objective)),
            lines: vec![Line {
                name: String::new(),
                colour: Colour::Blue,
                points: points
                    .clone()
                    .map(|point| (point.n as f64, middle(point.low, point.high)))
                    .collect(),
                band: points.map(|point| (point.low, point.high)).collect(),
            }],
            reference: None,
        };
        pictures.push(("sequence", chart.draw()?));
    }
    Ok(pictures)
}

/// One interval of a forest.
pub struct ForestRow<'a> {
    pub label: String,
    pub series: &'a str,
    /// (low, estimate, high).
    pub values: (f64, f64, f64),
    pub note: &'a str,
}

/// Intervals one below the other; those of one label share a row, each series in its colour.
pub fn forest(
    title: &str,
    objective: Objective,
    rows: &[ForestRow<'_>],
    level: f64,
) -> IntervalChart {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !names.contains(&row.series) {
            names.push(row.series);
        }
    }
    let mut chart = IntervalChart {
        title: title.to_owned(),
        subtitle: format!("{} intervals", percent(level)),
        axis: Axis::linear(mean_of(objective)),
        series: Series::in_order(names.iter().copied()),
        ..IntervalChart::default()
    };
    for row in rows {
        let place = chart.rows.iter().position(|known| known.label == row.label);
        let place = place.unwrap_or_else(|| {
            chart.rows.push(IntervalRow {
                label: row.label.clone(),
                values: vec![None; names.len()],
                note: row.note.to_owned(),
            });
            chart.rows.len() - 1
        });
        let (low, point, high) = row.values;
        let series = names.iter().position(|name| *name == row.series);
        if low.is_finite() && point.is_finite() && high.is_finite() && low <= high {
            let series = series.expect("every series was collected");
            chart.rows[place].values[series] = Some(ConfidenceInterval { low, point, high });
        }
    }
    chart
}

/// The name of an axis of values.
fn mean_of(objective: Objective) -> String {
    format!("mean {}", objective.noun())
}

/// How the weights that are not 0 are spread, policy by policy; none where all are 0.
fn weights(report: &EvaluateReport) -> Result<Option<Picture>, ChartError> {
    let rows: Vec<SpreadRow> = report
        .policies
        .iter()
        .filter_map(|policy| {
            Some(SpreadRow {
                label: format!(
                    "{} ({} zero)",
                    policy.name,
                    percent(policy.weights.share_of_zeros())
                ),
                values: vec![Some(quantiles(&policy.weights)?)],
            })
        })
        .collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let chart = SpreadChart {
        title: "Importance weights that are not 0".to_owned(),
        subtitle: "From 5% to 95%, a box from 25% to 75%, a stroke at the median".to_owned(),
        axis: Axis::log("weight q/p"),
        series: Series::in_order(["weights"]),
        rows,
        ..SpreadChart::default()
    };
    chart.draw().map(Some)
}

fn quantiles(weights: &WeightHistogram) -> Option<Quantiles> {
    let [low, quarter, middle, three_quarters, high] =
        [0.05, 0.25, 0.5, 0.75, 0.95].map(|share| weights.quantile(share));
    Some(Quantiles([low?, quarter?, middle?, three_quarters?, high?]))
}
