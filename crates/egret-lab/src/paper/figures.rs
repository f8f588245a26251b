use egret_report::{
    Axis, ChartError, Colour, Figure, Interval, IntervalChart, IntervalRow, Line, LineChart,
    Quantiles, Series, SpreadChart, SpreadRow,
};

use super::contenders::Explored;
use super::findings::{COLUMNS, Findings, OfflineRow};
use super::online_study::OnlineRow;
use crate::{ExhaustSummary, PairedDifference, RunRecord, Spread};

/// Loss of SmoothIGW less that of others, data set by data set.
pub(crate) fn online(
    findings: &Findings,
    name: &str,
    explored: &[Explored],
) -> Result<Figure, ChartError> {
    let find = |dataset: &str, explored: &Explored| {
        let ours = |row: &&OnlineRow| {
            row.dataset == dataset
                && row.kappa_inf == explored.kappa_inf()
                && row.normalizer == explored.normalizer()
        };
        findings.online.rows.iter().find(ours)?.difference
    };
    let names = explored.iter().map(|explored| explored.name()).collect();
    let chart = differences(findings, names, |dataset, place| {
        find(dataset, &explored[place])
    });
    let chart = IntervalChart {
        title: "Online: loss of SmoothIGW less that of CappedIGW".to_owned(),
        subtitle: subtitle(findings),
        axis: Axis::linear("difference of mean loss"),
        sides: Some((
            "SmoothIGW is better".to_owned(),
            "CappedIGW is better".to_owned(),
        )),
        ..chart
    };
    Ok(figure(
        name,
        "Paired differences of progressive loss with 90% bootstrap intervals; a hollow mark is a tie. At the right how the first series stands.",
        chart.draw()?,
    ))
}

/// What SmoothIGW's exhaust gives less what CappedIGW's gives.
pub(crate) fn offline(
    findings: &Findings,
    name: &str,
    columns: &[usize],
) -> Result<Figure, ChartError> {
    let find = |dataset: &str, column: &str| {
        let ours = |row: &&OfflineRow| row.dataset == dataset && row.column == column;
        findings.offline.iter().find(ours)?.difference
    };
    let exhausts = findings.offline.iter().map(|row| row.seeds).max();
    let exhausts = exhausts.unwrap_or(0);
    let names = columns
        .iter()
        .map(|&place| COLUMNS[place].name.to_owned())
        .collect();
    let chart = differences(findings, names, |dataset, place| {
        find(dataset, COLUMNS[columns[place]].name)
    });
    let chart = IntervalChart {
        title: "Offline: a network taught from the exhaust".to_owned(),
        subtitle: subtitle_of(findings, exhausts as u64),
        axis: Axis::linear("test loss from SmoothIGW's exhaust less that from CappedIGW's"),
        sides: Some((
            "SmoothIGW's is better".to_owned(),
            "CappedIGW's is better".to_owned(),
        )),
        ..chart
    };
    Ok(figure(
        name,
        "Paired differences of the greedy policy's test loss with 90% bootstrap intervals; a hollow mark is a tie. At the right how the first series stands.",
        chart.draw()?,
    ))
}

fn differences(
    findings: &Findings,
    names: Vec<String>,
    find: impl Fn(&str, usize) -> Option<PairedDifference>,
) -> IntervalChart {
    let count = names.len();
    let row = |dataset: &String| {
        let values = (0..count).map(|place| {
            let found = find(dataset, place)?;
            Some(Interval {
                low: found.low,
                point: found.mean,
                high: found.high,
            })
        });
        let first = find(dataset, 0).map(|found| found.standing().word());
        IntervalRow {
            label: dataset.clone(),
            values: values.collect(),
            note: first.unwrap_or_default().to_owned(),
        }
    };
    IntervalChart {
        reference: Some(0.0),
        series: Series::in_order(names),
        rows: findings.datasets.iter().map(row).collect(),
        ..IntervalChart::default()
    }
}

/// How often SmoothIGW plays its greedy action, over time.
pub(crate) fn greedy(findings: &Findings) -> Result<Figure, ChartError> {
    let learner = Explored::SmoothIgw.name();
    let of = |dataset: &str| -> Vec<(f64, f64)> {
        let runs: Vec<&RunRecord> = findings
            .online
            .records
            .iter()
            .filter(|record| record.environment == dataset && record.learner == learner)
            .collect();
        let Some(first) = runs.first() else {
            return Vec::new();
        };
        let share = |place: usize| {
            let shares = runs.iter().map(|run| run.curve[place].atoms);
            shares.sum::<f64>() / runs.len() as f64
        };
        let points = first.curve.iter().enumerate();
        points
            .map(|(place, stretch)| (stretch.until as f64 / 8.0, share(place)))
            .collect()
    };
    let curves: Vec<Vec<(f64, f64)>> = findings.datasets.iter().map(|name| of(name)).collect();
    // The mean as far as all of them go.
    let shortest = curves
        .iter()
        .map(Vec::len)
        .min()
        .unwrap_or(0)
        .saturating_sub(1);
    let mean = (0..shortest).map(|place| {
        let sum: f64 = curves.iter().map(|curve| curve[place].1).sum();
        (curves[0][place].0, sum / curves.len() as f64)
    });
    let mut lines = vec![Line {
        name: "mean".to_owned(),
        colour: Colour::Blue,
        points: mean.collect(),
        band: Vec::new(),
    }];
    lines.extend(curves.iter().map(|points| Line {
        name: String::new(),
        colour: Colour::Grey,
        points: points.clone(),
        band: Vec::new(),
    }));
    let chart = LineChart {
        title: "SmoothIGW plays its greedy action ever more often".to_owned(),
        subtitle: format!(
            "each grey line a data set, blue their mean; {}",
            subtitle(findings)
        ),
        x: Axis::log("iteration (8 decisions each)"),
        y: Axis::linear("share of actions without a density").within(0.0, 1.0),
        lines,
        reference: Some((0.8, "80%".to_owned())),
    };
    Ok(figure(
        "greedy",
        "The share of greedy actions, which are point masses. CappedIGW's actions all have a density.",
        chart.draw()?,
    ))
}

/// A number of each decision, for [`kappa`].
pub(crate) struct Shown {
    /// Of its files.
    pub name: &'static str,
    pub title: &'static str,
    /// Of its axis.
    pub unit: &'static str,
    pub caption: &'static str,
    pub number: fn(&ExhaustSummary) -> Option<Spread>,
}

/// A number of the exhaust for each κ∞, data set by data set.
pub(crate) fn kappa(findings: &Findings, shown: &Shown) -> Result<Figure, ChartError> {
    let explored = [
        Explored::mixture(2.0),
        Explored::mixture(4.0),
        Explored::mixture(24.0),
        Explored::EXACT,
    ];
    let spread = |dataset: &str, explored: &Explored| {
        let learner = explored.name();
        let ours = findings
            .online
            .records
            .iter()
            .filter(|record| record.environment == dataset && record.learner == learner);
        let spreads: Vec<Spread> = ours
            .filter_map(|record| (shown.number)(record.exhaust.as_ref()?))
            .collect();
        let mean = |place: usize| {
            let quantiles = spreads.iter().map(|spread| spread.quantiles[place]);
            quantiles.sum::<f64>() / spreads.len() as f64
        };
        let quantiles = Quantiles([0, 1, 2, 3, 4].map(mean));
        // Nothing drawn has no place on an axis of powers.
        (!spreads.is_empty() && 0.0 < quantiles.0[0]).then_some(quantiles)
    };
    let drawn: Vec<&Explored> = explored
        .iter()
        .filter(|explored| {
            let mut sets = findings.datasets.iter();
            sets.any(|dataset| spread(dataset, explored).is_some())
        })
        .collect();
    let row = |dataset: &String| SpreadRow {
        label: dataset.clone(),
        values: drawn
            .iter()
            .map(|explored| spread(dataset, explored))
            .collect(),
    };
    let chart = SpreadChart {
        title: shown.title.to_owned(),
        subtitle: format!("5, 25, 50, 75, 95% of decisions; {}", subtitle(findings)),
        axis: Axis::log(shown.unit),
        reference: None,
        series: Series::in_order(drawn.iter().map(|explored| explored.name())),
        rows: findings.datasets.iter().map(row).collect(),
    };
    Ok(figure(shown.name, shown.caption, chart.draw()?))
}

fn subtitle(findings: &Findings) -> String {
    subtitle_of(findings, findings.size.0)
}

/// The same for results of so many seeds.
fn subtitle_of(findings: &Findings, seeds: u64) -> String {
    let (_, decisions) = findings.size;
    let decisions = egret_report::sheet::thousands(decisions as f64);
    let seeds = if seeds == 1 {
        "1 seed".to_owned()
    } else {
        format!("{seeds} seeds")
    };
    let simulated = if findings.simulated {
        ", simulated data"
    } else {
        ""
    };
    format!("{seeds}, at most {decisions} decisions each{simulated}")
}

fn figure(name: &str, caption: &str, picture: egret_report::Picture) -> Figure {
    Figure {
        name: name.to_owned(),
        caption: caption.to_owned(),
        alt: caption.to_owned(),
        picture,
    }
}
