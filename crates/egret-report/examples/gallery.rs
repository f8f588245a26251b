//! Every chart with made-up numbers, for looking at:
//!
//!     cargo run -p egret-report --example gallery -- FOLDER

use std::error::Error;
use std::path::Path;

use egret_report::{
    Axis, Claim, ClaimVerdict, Colour, ConfidenceInterval, Figure, IntervalChart, IntervalRow,
    Line, LineChart, Page, Part, Picture, Quantiles, Section, Series, SpreadChart, SpreadRow,
    output,
};

const SETS: [&str; 18] = [
    "abalone",
    "black_friday",
    "Brazilian_houses",
    "diamonds",
    "electricity_consumption_of_a_region",
    "elevators",
    "fifa",
    "house_16H",
    "house_sales",
    "Mercedes_Benz_Greener_Manufacturing",
    "MiamiHousing2016",
    "nyc-taxi-green-dec-2016",
    "<script>alert(\"pol\")</script>",
    "sulfur",
    "superconduct",
    "visualizing_soil",
    "wine_quality",
    "yprop_4_1",
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("name a folder")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let pictures: [(&str, Picture); 8] = [
        ("intervals-one", intervals(18, 1).draw()?),
        ("intervals-four", intervals(15, 4).draw()?),
        ("intervals-cut", cut().draw()?),
        ("lines-few", few_lines().draw()?),
        ("lines-many", many_lines().draw()?),
        ("lines-log", points().draw()?),
        ("spread-one", spread(6, 1).draw()?),
        ("spread-four", spread(15, 4).draw()?),
    ];
    for (name, picture) in &pictures {
        picture.write(folder, name)?;
    }
    let page = page(&pictures).html();
    output::write(&folder.join("index.html"), page.as_bytes())?;
    Ok(())
}

fn page(pictures: &[(&str, Picture)]) -> Page {
    let verdicts = [
        ClaimVerdict::Agrees,
        ClaimVerdict::Partly,
        ClaimVerdict::Differs,
        ClaimVerdict::NotTested,
    ];
    let parts = pictures.iter().zip(verdicts.into_iter().cycle());
    Page {
        title: "A gallery of charts".to_owned(),
        lead: vec!["All numbers are made up.".to_owned()],
        parts: parts
            .map(|((name, picture), verdict)| Part {
                heading: format!("The chart {name}"),
                folded: false,
                paragraphs: vec!["What it is about, and how it was measured.".to_owned()],
                claims: vec![Claim {
                    claimed: "At least 14 wins and at most 1 loss of 20 sets.".to_owned(),
                    measured: "12 wins, 3 ties and no loss of the 15 sets at hand.".to_owned(),
                    verdict,
                    why: "Five sets are not at hand, and none of them is counted.".to_owned(),
                }],
                figures: vec![Figure {
                    name: "intervals".to_owned(),
                    caption: "Marks left of the line are in favour of CappedIGW.".to_owned(),
                    alt: "Differences of loss on each data set; most are below 0.".to_owned(),
                    picture: picture.clone(),
                }],
                tables: vec![Section {
                    title: String::new(),
                    before: "Mean loss over 30 seeds.".to_owned(),
                    header: ["data set", "SmoothIGW", "CappedIGW"]
                        .map(String::from)
                        .to_vec(),
                    words: 1,
                    rows: SETS[..4]
                        .iter()
                        .map(|name| {
                            vec![(*name).to_owned(), "0.142".to_owned(), "0.131".to_owned()]
                        })
                        .collect(),
                    after: Vec::new(),
                }],
            })
            .collect(),
    }
}

/// Numbers that look drawn, in [0, 1).
fn noise(place: usize) -> f64 {
    (place as f64 * 0.618_033_988_75 + 0.37 * (place as f64 * place as f64 * 0.137)).fract()
}

fn intervals(rows: usize, series: usize) -> IntervalChart {
    let names = ["κ∞ = 2", "κ∞ = 4", "κ∞ = 24", "exact"];
    IntervalChart {
        title: "Online loss of CappedIGW less that of SmoothIGW".to_owned(),
        subtitle: "Paired differences over 30 seeds, with 90% bootstrap intervals".to_owned(),
        axis: Axis::linear("difference of mean loss"),
        sides: Some((
            "CappedIGW is better".to_owned(),
            "SmoothIGW is better".to_owned(),
        )),
        reference: Some(0.0),
        series: Series::in_order(names.into_iter().take(series)),
        rows: SETS[..rows]
            .iter()
            .enumerate()
            .map(|(row, name)| {
                let values: Vec<Option<ConfidenceInterval>> = (0..series)
                    .map(|place| {
                        let point = 0.03 * (noise(4 * row + place) - 0.75);
                        let half = 0.001 + 0.008 * noise(7 * row + place + 3);
                        (row != 6 || place != 1).then_some(ConfidenceInterval {
                            low: point - half,
                            point,
                            high: point + 1.1 * half,
                        })
                    })
                    .collect();
                let note = match values[0] {
                    Some(interval) if interval.high < 0.0 => "win",
                    Some(interval) if 0.0 < interval.low => "loss",
                    _ => "tie",
                };
                IntervalRow {
                    label: (*name).to_owned(),
                    values,
                    note: note.to_owned(),
                }
            })
            .collect(),
    }
}

fn cut() -> IntervalChart {
    let mut chart = intervals(5, 2);
    chart.title = "What lies beyond the axis is cut, and a longer title than one line has room for goes on in a second line, as far as it must".to_owned();
    chart.axis = chart.axis.within(-0.012, 0.006);
    chart
}

fn curve(start: f64, end: f64, wobble: usize, points: usize) -> Vec<(f64, f64)> {
    (0..points)
        .map(|place| {
            let share = place as f64 / (points - 1) as f64;
            let x = 80_000_f64.powf(share);
            let y = end + (start - end) * (-5.0 * share).exp();
            (x, y + 0.02 * (noise(place + wobble) - 0.5) * (1.0 - share))
        })
        .collect()
}

fn few_lines() -> LineChart {
    let ends = [0.13, 0.16, 0.165, 0.21];
    let names = [
        "CappedIGW, κ∞ = 4",
        "CappedIGW, κ∞ = 24",
        "SmoothIGW",
        "uniform",
    ];
    LineChart {
        title: "Mean loss so far on house_sales".to_owned(),
        subtitle: "Mean and 90% interval over 30 seeds".to_owned(),
        x: Axis::log("decisions"),
        y: Axis::linear("mean loss |y − a|"),
        lines: names
            .into_iter()
            .zip(ends)
            .enumerate()
            .map(|(place, (name, end))| {
                let points = curve(0.33, end, 100 * place, 120);
                let band = points.iter().map(|&(x, y)| {
                    let half = 0.05 / (1.0 + x.ln());
                    (y - half, y + half)
                });
                Line {
                    name: name.to_owned(),
                    colour: Colour::nth(place),
                    band: band.collect(),
                    points,
                }
            })
            .collect(),
        reference: Some((0.12, "best constant in hindsight".to_owned())),
    }
}

fn many_lines() -> LineChart {
    LineChart {
        title: "Share of greedy decisions of SmoothIGW".to_owned(),
        subtitle: "Mean over 30 seeds, in windows of 100 decisions".to_owned(),
        x: Axis::linear("decisions"),
        y: Axis::linear("greedy share").within(0.0, 1.0),
        lines: SETS[..15]
            .iter()
            .enumerate()
            .map(|(place, name)| Line {
                name: (*name).to_owned(),
                colour: Colour::nth(place),
                points: (0..=60)
                    .map(|window| f64::from(window) * 2_000.0 / 60.0)
                    .map(|x| {
                        let end = 0.78 + 0.2 * noise(place);
                        (
                            x,
                            end * (1.0 - (-x / (150.0 + 400.0 * noise(place + 9))).exp()),
                        )
                    })
                    .collect(),
                band: Vec::new(),
            })
            .collect(),
        reference: Some((0.8, "80%".to_owned())),
    }
}

fn points() -> LineChart {
    let line = |name: &str, place: usize, power: f64| Line {
        name: name.to_owned(),
        colour: Colour::nth(place),
        points: [1.0_f64, 4.0, 16.0, 64.0, 256.0, 1024.0]
            .map(|tau| (tau, (20.0 + place as f64) * tau.powf(power)))
            .to_vec(),
        band: Vec::new(),
    };
    LineChart {
        title: "Draws to find β".to_owned(),
        x: Axis::log("smoothness τ"),
        y: Axis::log("draws for one decision, median"),
        lines: vec![
            line("betting", 0, 1.0),
            line("mixture", 1, 0.8),
            line("fixed sample", 2, 1.4),
            line("exact", 3, 0.0),
        ],
        ..LineChart::default()
    }
}

fn spread(rows: usize, series: usize) -> SpreadChart {
    let names = [
        "betting, κ∞ = 2",
        "betting, κ∞ = 4",
        "mixture",
        "fixed sample",
    ];
    SpreadChart {
        title: "Draws for one decision".to_owned(),
        subtitle: "Line: 5% to 95%; box: 25% to 75%; stroke: the median".to_owned(),
        axis: Axis::log("draws"),
        reference: None,
        series: Series::in_order(names.into_iter().take(series)),
        rows: SETS[..rows]
            .iter()
            .enumerate()
            .map(|(row, name)| SpreadRow {
                label: (*name).to_owned(),
                values: (0..series)
                    .map(|place| {
                        let middle = 30.0 * 10_f64.powf(2.0 * noise(5 * row + place));
                        let wide = 1.1 + noise(3 * row + place);
                        Some(Quantiles([
                            middle / (wide * wide),
                            middle / wide,
                            middle,
                            middle * wide.sqrt(),
                            middle * wide * wide,
                        ]))
                    })
                    .collect(),
            })
            .collect(),
    }
}
