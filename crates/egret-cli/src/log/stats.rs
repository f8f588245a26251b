use std::collections::BTreeMap;
use std::fmt::Display;

use anyhow::Result;
use clap::Args;
use comfy_table::{Table, presets};
use egret_jobs::summarize::{EffectiveBlock, Spread, SummarizeRequest, Summary, summarize};
use egret_offline::RandomNumbers;
use egret_report::numerals::{short, thousands};

use crate::log_args::LogArgs;
use crate::progress::JobBar;

pub const EXAMPLES: &str = "\
Examples:
  egret log stats egret-demo/log.parquet
  egret log stats --json egret-demo/ log.jsonl --skip-bad bad.jsonl";

/// What `egret log stats` is told.
#[derive(Debug, Args)]
pub struct StatsArgs {
    #[command(flatten)]
    log: LogArgs,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
}

/// Counts what is in logs.
pub fn stats(args: &StatsArgs) -> Result<String> {
    let request = SummarizeRequest {
        log: args.log.source(),
    };
    let summary = summarize(&request, &JobBar::new("counting", args.json))?;
    if args.json {
        return Ok(serde_json::to_string(&summary)? + "\n");
    }
    Ok(text(&summary))
}

fn text(summary: &Summary) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let mut row = |name: &str, value: String| {
        table.add_row([name.to_owned(), value]);
    };
    row("records", thousands(summary.rows as f64));
    if let Some(file) = &summary.skipped_file {
        let skipped = summary.skipped;
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
            row(&format!("  until {until}"), effective_in_1000(block));
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
            summary.outcomes_missing,
            summary.outcomes_clipped,
            summary.outcomes_default,
            summary.outcomes_late
        ),
    );
    row(
        "seq",
        match &summary.seq {
            None => "none has one: gaps cannot be seen".to_owned(),
            Some(seq) => format!(
                "{} to {}, {} missing, {} out of order or twice, {} records without",
                seq.first, seq.last, seq.missing, seq.out_of_order, seq.without
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
    format!("{table}\nEffective in 1,000: {meaning}\n")
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
