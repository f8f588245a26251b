use egret_report::{
    Axis, ChartError, Colour, ConfidenceInterval, Figure, IntervalChart, IntervalRow, Line,
    LineChart, Quantiles, Series, SpreadChart, SpreadRow,
};

use crate::comparison::{PairedDifference, counted};
use crate::learner::PaperLearner;
use crate::paper::{COLUMNS, Findings, OfflineRow, OnlineRow};
use crate::run::{LogSummary, RunRecord, Spread};

/// The loss of SmoothIGW minus that of other learners, for each data set.
pub(crate) fn online(
    findings: &Findings,
    name: &str,
    learners: &[PaperLearner],
) -> Result<Figure, ChartError> {
    let find = |dataset: &str, learner: &PaperLearner| {
        let ours = |row: &&OnlineRow| {
            row.dataset == dataset
                && row.kappa_inf == learner.kappa_inf()
                && row.normalizer == learner.normalizer()
        };
        findings.online.rows.iter().find(ours)?.difference
    };
    let names = learners.iter().map(|learner| learner.name()).collect();
    let chart = differences(findings, names, |dataset, place| {
        find(dataset, &learners[place])
    });
    let chart = IntervalChart {
        title: "Online: loss of SmoothIGW minus that of CappedIGW".to_owned(),
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
        "Paired differences of progressive loss with 90% bootstrap intervals. A hollow mark is a tie. The word on the right is the result of the first series.",
        chart.draw()?,
    ))
}

/// The test loss after training on SmoothIGW's log minus that on CappedIGW's log.
pub(crate) fn offline(
    findings: &Findings,
    name: &str,
    columns: &[usize],
) -> Result<Figure, ChartError> {
    let find = |dataset: &str, column: &str| {
        let ours = |row: &&OfflineRow| row.dataset == dataset && row.column == column;
        findings.offline.iter().find(ours)?.difference
    };
    let logs = findings.offline.iter().map(|row| row.seeds).max();
    let logs = logs.unwrap_or(0);
    let names = columns
        .iter()
        .map(|&place| COLUMNS[place].name.to_owned())
        .collect();
    let chart = differences(findings, names, |dataset, place| {
        find(dataset, COLUMNS[columns[place]].name)
    });
    let chart = IntervalChart {
        title: "Offline: a network trained on the log".to_owned(),
        subtitle: subtitle_of(findings, logs as u64),
        axis: Axis::linear("test loss with SmoothIGW's log minus that with CappedIGW's"),
        sides: Some((
            "SmoothIGW's log is better".to_owned(),
            "CappedIGW's log is better".to_owned(),
        )),
        ..chart
    };
    Ok(figure(
        name,
        "Paired differences of the greedy policy's test loss with 90% bootstrap intervals. A hollow mark is a tie. The word on the right is the result of the first series.",
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
            Some(ConfidenceInterval {
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
    let learner = PaperLearner::SmoothIgw.name();
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
            let shares = runs.iter().map(|run| run.curve[place].point_masses);
            shares.sum::<f64>() / runs.len() as f64
        };
        let points = first.curve.iter().enumerate();
        points
            .map(|(place, stretch)| (stretch.until as f64 / 8.0, share(place)))
            .collect()
    };
    let curves: Vec<Vec<(f64, f64)>> = findings.datasets.iter().map(|name| of(name)).collect();
    // The mean goes as far as the shortest curve.
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
        title: "SmoothIGW plays its greedy action more and more often".to_owned(),
        subtitle: format!(
            "each grey line is a data set, the blue line their mean; {}",
            subtitle(findings)
        ),
        x: Axis::log("iteration (8 decisions each)"),
        y: Axis::linear("share of actions without a density").within(0.0, 1.0),
        lines,
        reference: Some((0.8, "80%".to_owned())),
    };
    Ok(figure(
        "greedy",
        "The share of greedy actions, which are point masses. All actions of CappedIGW have a density.",
        chart.draw()?,
    ))
}

/// A quantity of each decision that [`kappa`] draws.
pub(crate) struct Quantity {
    /// The name of the files.
    pub name: &'static str,
    pub title: &'static str,
    /// The label of the axis.
    pub unit: &'static str,
    pub caption: &'static str,
    pub number: fn(&LogSummary) -> Option<Spread>,
}

/// A quantity of the log for each κ∞ and each data set.
pub(crate) fn kappa(findings: &Findings, quantity: &Quantity) -> Result<Figure, ChartError> {
    let learners = [
        PaperLearner::mixture(2.0),
        PaperLearner::mixture(4.0),
        PaperLearner::mixture(24.0),
        PaperLearner::EXACT,
    ];
    let spread = |dataset: &str, learner: &PaperLearner| {
        let learner = learner.name();
        let ours = findings
            .online
            .records
            .iter()
            .filter(|record| record.environment == dataset && record.learner == learner);
        let spreads: Vec<Spread> = ours
            .filter_map(|record| (quantity.number)(record.log.as_ref()?))
            .collect();
        let mean = |place: usize| {
            let quantiles = spreads.iter().map(|spread| spread.quantiles[place]);
            quantiles.sum::<f64>() / spreads.len() as f64
        };
        let quantiles = Quantiles([0, 1, 2, 3, 4].map(mean));
        // A logarithmic axis has no 0.
        (!spreads.is_empty() && 0.0 < quantiles.0[0]).then_some(quantiles)
    };
    let drawn: Vec<&PaperLearner> = learners
        .iter()
        .filter(|learner| {
            let mut sets = findings.datasets.iter();
            sets.any(|dataset| spread(dataset, learner).is_some())
        })
        .collect();
    let row = |dataset: &String| SpreadRow {
        label: dataset.clone(),
        values: drawn
            .iter()
            .map(|learner| spread(dataset, learner))
            .collect(),
    };
    let chart = SpreadChart {
        title: quantity.title.to_owned(),
        subtitle: format!(
            "5, 25, 50, 75 and 95% quantiles over decisions; {}",
            subtitle(findings)
        ),
        axis: Axis::log(quantity.unit),
        reference: None,
        series: Series::in_order(drawn.iter().map(|learner| learner.name())),
        rows: findings.datasets.iter().map(row).collect(),
    };
    Ok(figure(quantity.name, quantity.caption, chart.draw()?))
}

fn subtitle(findings: &Findings) -> String {
    subtitle_of(findings, findings.size.0)
}

/// The subtitle for results over this many seeds.
fn subtitle_of(findings: &Findings, seeds: u64) -> String {
    let (_, decisions) = findings.size;
    let decisions = egret_report::numerals::thousands(decisions as f64);
    let seeds = counted(seeds, "seed");
    let simulated = if findings.simulated {
        ", simulated data"
    } else {
        ""
    };
    format!("{seeds}, up to {decisions} decisions each{simulated}")
}

fn figure(name: &str, caption: &str, picture: egret_report::Picture) -> Figure {
    Figure {
        name: name.to_owned(),
        caption: caption.to_owned(),
        alt: caption.to_owned(),
        picture,
    }
}
