use egret_report::{
    Axis, ChartError, ConfidenceInterval, IntervalChart, LineChart, LinePanels, Quantiles,
    ScatterChart, SpreadChart,
};

use crate::charts::{intervals, lines, spread};

fn plain(count: usize) -> LineChart {
    lines(count, Axis::linear("x"), Axis::linear("y"))
}

#[test]
fn a_chart_without_values_is_refused_by_its_title() {
    let errors = [
        IntervalChart::default().draw(),
        SpreadChart::default().draw(),
        LineChart::default().draw(),
        LinePanels::default().draw(),
        ScatterChart::default().draw(),
    ];
    for error in errors {
        assert!(matches!(error, Err(ChartError::NoData { .. })));
    }
    let mut chart = intervals(2, 1);
    chart.title = "Losses".to_owned();
    for row in &mut chart.rows {
        row.values = vec![None];
    }
    let error = chart.draw().expect_err("nothing to show").to_string();
    assert_eq!(error, "the chart \"Losses\" has no values to show");
}

#[test]
fn what_is_not_finite_is_refused_with_its_place() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for end in 0..3 {
            let mut values = [-0.1, 0.0, 0.1];
            values[end] = bad;
            let [low, point, high] = values;
            let mut chart = intervals(3, 2);
            chart.rows[1].values[1] = Some(ConfidenceInterval { low, point, high });
            let error = chart.draw().expect_err("refused").to_string();
            let expected = format!(
                "row \"{}\", series \"κ∞ = 1\": {bad} is not a finite number",
                chart.rows[1].label
            );
            assert_eq!(error, expected);
        }
        for quantile in 0..5 {
            let mut chart = spread(2, 1);
            let mut values = [1.0; 5];
            values[quantile] = bad;
            chart.rows[0].values[0] = Some(Quantiles(values));
            assert!(matches!(chart.draw(), Err(ChartError::NotFinite { .. })));
        }
        let mut chart = plain(2);
        chart.lines[0].points[3].1 = bad;
        assert!(matches!(chart.draw(), Err(ChartError::NotFinite { .. })));
        let mut chart = plain(2);
        chart.lines[1].points[3].0 = bad;
        assert!(matches!(chart.draw(), Err(ChartError::NotFinite { .. })));
        let mut chart = plain(2);
        chart.lines[1].band[7].1 = bad;
        assert!(matches!(chart.draw(), Err(ChartError::NotFinite { .. })));
        let mut chart = plain(2);
        chart.reference = Some((bad, "a level".to_owned()));
        assert!(matches!(chart.draw(), Err(ChartError::NotFinite { .. })));
        let mut chart = intervals(2, 1);
        chart.reference = Some(bad);
        assert!(matches!(chart.draw(), Err(ChartError::NotFinite { .. })));
    }
}

#[test]
fn what_is_the_wrong_way_round_is_refused() {
    let mut chart = intervals(2, 1);
    chart.rows[0].values[0] = Some(ConfidenceInterval {
        low: 0.2,
        point: 0.1,
        high: 0.1,
    });
    let error = chart.draw().expect_err("refused").to_string();
    assert!(error.ends_with("0.2 has to be below 0.1"), "{error}");
    let mut chart = spread(2, 1);
    chart.rows[0].values[0] = Some(Quantiles([1.0, 2.0, 1.5, 3.0, 4.0]));
    assert!(matches!(chart.draw(), Err(ChartError::OutOfOrder { .. })));
    let mut chart = plain(1);
    chart.lines[0].points.swap(3, 4);
    assert!(matches!(chart.draw(), Err(ChartError::OutOfOrder { .. })));
    let mut chart = plain(1);
    chart.lines[0].band[2] = (1.0, 0.5);
    assert!(matches!(chart.draw(), Err(ChartError::OutOfOrder { .. })));
}

#[test]
fn a_logarithmic_axis_takes_nothing_but_what_is_above_zero() {
    for bad in [0.0, -1.0] {
        let mut chart = spread(2, 1);
        chart.rows[1].values[0] = Some(Quantiles([bad, 1.0, 2.0, 3.0, 4.0]));
        assert!(matches!(chart.draw(), Err(ChartError::NotPositive { .. })));
        let mut chart = spread(2, 1);
        chart.reference = Some(bad);
        assert!(matches!(chart.draw(), Err(ChartError::NotPositive { .. })));
    }
}

#[test]
fn rows_and_bands_of_another_length_are_refused() {
    let mut chart = intervals(2, 3);
    chart.rows[1].values.pop();
    let error = chart.draw().expect_err("refused").to_string();
    assert!(error.ends_with("2 values, and 3 are expected"), "{error}");
    let mut chart = spread(2, 1);
    chart.rows[1].values.push(None);
    assert!(matches!(chart.draw(), Err(ChartError::WrongLength { .. })));
    let mut chart = plain(1);
    chart.lines[0].band.pop();
    assert!(matches!(chart.draw(), Err(ChartError::WrongLength { .. })));
}

#[test]
fn one_value_is_enough() {
    let mut chart = plain(1);
    chart.lines[0].points.truncate(1);
    chart.lines[0].band.clear();
    chart.reference = None;
    assert!(chart.draw().is_ok());
    let mut chart = intervals(1, 1);
    chart.reference = None;
    chart.rows[0].values[0] = Some(ConfidenceInterval {
        low: 0.0,
        point: 0.0,
        high: 0.0,
    });
    assert!(chart.draw().is_ok());
}
