use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use egret_jobs::summarize::{EffectiveBlock, Spread, SummarizeRequest, Summary, summarize};
use egret_offline::RandomNumbers;
use egret_report::numerals::{short, thousands};
use egret_report::{
    Axis, Colour, Line, LineChart, Picture, Quantiles, Section, Series, SpreadChart, SpreadRow,
};

use crate::log_args::LogArgs;
use crate::plot::Plot;
use crate::progress::JobBar;
use crate::report_format::FormatArgs;

pub const EXAMPLES: &str = "\
Examples:
  egret log stats egret-demo/log.parquet
  egret log stats egret-demo/log.parquet --plot densities.html
  egret log stats --json egret-demo/ log.jsonl --skip-bad bad.jsonl";

/// What `egret log stats` is told.
#[derive(Debug, Args)]
pub struct StatsArgs {
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    format: FormatArgs,
    /// How densities are spread (.svg, .png), or a page with effective events over time and the table too (.html)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Counts what is in logs.
pub fn stats(args: &StatsArgs) -> Result<String> {
    let request = SummarizeRequest {
        log: args.log.source(),
    };
    let plot = Plot::of(args.plot.as_deref())?;
    args.log.protect(&[("--plot", args.plot.as_deref())], [])?;
    let bar = JobBar::new("counting", args.format.for_machines());
    let summary = summarize(&request, &bar)?;
    drop(bar);
    let section = section(&summary);
    if let Some(plot) = plot {
        plot.write("egret log stats", vec![section.clone()], figures(&summary)?)?;
    }
    args.format.print(&summary, &[&summary], &[section])
}

/// How densities are spread, and effective events over time.
fn figures(summary: &Summary) -> Result<Vec<(&'static str, Picture)>> {
    let Some(density) = &summary.density else {
        bail!("--plot: no record has a density, so there is nothing to draw");
    };
    let spread = SpreadChart {
        title: "Densities of the actions that were played".to_owned(),
        subtitle: "From 1% to 99%, a box from 25% to 75%, a stroke at the median; 1 is an action at random"
            .to_owned(),
        axis: Axis::log("density"),
        reference: Some(1.0),
        series: Series::in_order(["densities"]),
        rows: vec![SpreadRow {
            label: "log".to_owned(),
            values: vec![Some(Quantiles([
                density.p01,
                density.p25,
                density.median,
                density.p75,
                density.p99,
            ]))],
        }],
    };
    let mut pictures = vec![("densities", spread.draw()?)];
    let blocks = &summary.effective_events.blocks;
    let points = blocks
        .iter()
        .filter_map(|block| Some((block.until as f64, block.effective_per_1000?)));
    let points: Vec<(f64, f64)> = points.collect();
    if 1 < points.len() {
        let chart = LineChart {
            title: "Effective events in 1,000".to_owned(),
            subtitle: "1,000 records say as much about uniform play as so many decisions at random"
                .to_owned(),
            x: Axis::linear("records"),
            y: Axis::linear("effective in 1,000"),
            lines: vec![Line {
                name: String::new(),
                colour: Colour::Blue,
                points,
                band: Vec::new(),
            }],
            reference: None,
        };
        pictures.push(("effective", chart.draw()?));
    }
    Ok(pictures)
}

fn section(summary: &Summary) -> Section {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    row("records", thousands(summary.rows as f64));
    if let Some(file) = &summary.skipped_file {
        let skipped = thousands(summary.skipped as f64);
        row("bad rows", format!("{skipped}, kept in {}", file.display()));
    }
    if let (Some(first), Some(last)) = (&summary.first_time, &summary.last_time) {
        row("time", format!("{first} to {last}"));
    }
    row("actions", counts(&summary.actions));
    if !summary.context_dims.is_empty() {
        row("features", counts(&summary.context_dims));
    }
    row("point masses", thousands(summary.point_masses as f64));
    if let Some(density) = &summary.density {
        row("density", spread(density));
    }
    let effective = &summary.effective_events;
    row("effective in 1,000", effective_in_1000(&effective.overall));
    if 1 < effective.blocks.len() {
        for block in &effective.blocks {
            let until = thousands(block.until as f64);
            let about = block.effective_per_1000.map(short);
            let least = block.at_least_per_1000.map(short);
            let about =
                about.map_or_else(|| "unknown".to_owned(), |about| format!("about {about}"));
            let least = least.map_or_else(String::new, |least| format!(", at least {least}"));
            row(&format!("  until {until}"), about + &least);
        }
    }
    if let Some(kappa) = summary.kappa_mean {
        row("mean kappa = 1/z", format!("{kappa:.4}"));
    }
    row("objective", counts(&summary.objectives));
    if let Some(mean) = summary.outcome_mean {
        row("mean outcome", short(mean));
    }
    row(
        "outcomes",
        format!(
            "{} not known yet, {} clipped, {} by default, {} late",
            thousands(summary.outcomes_missing as f64),
            thousands(summary.outcomes_clipped as f64),
            thousands(summary.outcomes_default as f64),
            thousands(summary.outcomes_late as f64)
        ),
    );
    row(
        "seq",
        match &summary.seq {
            None => "none has one: gaps cannot be seen".to_owned(),
            Some(seq) => format!(
                "{} to {}, {} missing, {} out of order or twice, {} records without",
                seq.first,
                seq.last,
                thousands(seq.missing as f64),
                thousands(seq.out_of_order as f64),
                thousands(seq.without as f64)
            ),
        },
    );
    if let Some(next) = summary.next_event {
        row("next event", next.to_string());
    }
    row("random numbers", random_numbers(summary.random_numbers));
    for (name, counted) in [
        ("loops", &summary.loops),
        ("modes", &summary.modes),
        ("settings versions", &summary.settings_versions),
        ("named features", &summary.features),
        ("other columns", &summary.extras),
    ] {
        if !counted.is_empty() {
            row(name, counts(counted));
        }
    }
    let meaning = "1,000 records say as much about uniform play as so many decisions at random would; exploring more raises it \
                   (Settings::with_effective_events).";
    Section {
        title: "What is in the log".to_owned(),
        before: String::new(),
        header: ["what", "is"].map(String::from).to_vec(),
        words: 2,
        rows,
        after: vec![format!("Effective in 1,000: {meaning}")],
    }
}

fn random_numbers(found: RandomNumbers) -> String {
    let RandomNumbers {
        compared,
        reused,
        twice,
    } = found;
    if compared == 0 {
        return "no record has seed and event: reuse cannot be seen".to_owned();
    }
    let mut text = format!(
        "{} of {} events share those of an earlier one",
        thousands((reused + twice) as f64),
        thousands(compared as f64)
    );
    if 0 < reused {
        text += &format!(
            ", {} in another context: a restart used event numbers again, which makes estimates untrustworthy",
            thousands(reused as f64)
        );
    }
    text
}

fn effective_in_1000(block: &EffectiveBlock) -> String {
    match (block.effective_per_1000, block.at_least_per_1000) {
        (None, _) => "unknown: no record has a density".to_owned(),
        (Some(about), Some(least)) => format!("about {}, at least {}", short(about), short(least)),
        (Some(about), None) => {
            format!(
                "about {}; no bound, for lack of largestInverseDensity",
                short(about)
            )
        }
    }
}

fn spread(density: &Spread) -> String {
    format!(
        "least {}, 1% {}, 25% {}, median {}, 75% {}, 99% {}, greatest {}",
        short(density.min),
        short(density.p01),
        short(density.p25),
        short(density.median),
        short(density.p75),
        short(density.p99),
        short(density.max)
    )
}

/// Names with how many records have them, the first few.
fn counts<K: Display>(counted: &BTreeMap<K, u64>) -> String {
    const SHOWN: usize = 8;
    let mut parts: Vec<String> = counted
        .iter()
        .take(SHOWN)
        .map(|(name, count)| format!("{name} ({})", thousands(*count as f64)))
        .collect();
    if SHOWN < counted.len() {
        parts.push(format!("and {} more", counted.len() - SHOWN));
    }
    parts.join(", ")
}
