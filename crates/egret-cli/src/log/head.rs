use anyhow::Result;
use clap::Args;
use egret::{Density, FeatureValue};
use egret_jobs::Silent;
use egret_jobs::head::{HeadRequest, head as run};
use egret_log::Record;
use egret_report::Section;
use egret_report::numerals::{short, thousands};
use serde_json::json;

use crate::log_args::LogArgs;
use crate::report_format::csv;

pub const EXAMPLES: &str = "\
Examples:
  egret log head egret-demo/log.parquet
  egret log head -n 1 --json egret-demo/log.parquet | python3 -m json.tool";

/// What `egret log head` is told.
#[derive(Debug, Args)]
pub struct HeadArgs {
    #[command(flatten)]
    log: LogArgs,
    /// How many records
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    rows: usize,
    /// Print each record whole, as JSON lines
    #[arg(long)]
    json: bool,
    /// Print each record whole, as CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print the table as Markdown
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    markdown: bool,
}

/// The first records, for people or for machines.
pub fn head(args: &HeadArgs) -> Result<String> {
    let request = HeadRequest {
        log: args.log.source(),
        rows: args.rows,
    };
    let records = run(&request, &Silent)?;
    if args.json {
        let lines = records.iter().map(|record| record.to_json() + "\n");
        return Ok(lines.collect());
    }
    if args.csv {
        let records: Vec<String> = records.iter().map(Record::to_json).collect();
        return csv(&records);
    }
    let rows: Vec<[String; 9]> = records.iter().map(cells).collect();
    // What no record has takes no room.
    let filled: Vec<usize> = (0..HEADER.len())
        .filter(|&column| rows.iter().any(|row| !row[column].is_empty()))
        .collect();
    let chosen = |row: &[String; 9]| filled.iter().map(|&column| row[column].clone()).collect();
    let section = Section {
        title: format!("The first {} records", thousands(records.len() as f64)),
        header: chosen(&HEADER.map(String::from)),
        words: filled.len(),
        rows: rows.iter().map(chosen).collect(),
        ..Section::default()
    };
    Ok(match args.markdown {
        true => section.markdown(),
        false => section.text(),
    })
}

const HEADER: [&str; 9] = [
    "seq", "event", "time", "action", "density", "outcome", "tau", "gamma", "context",
];

fn cells(record: &Record) -> [String; 9] {
    let number = |value: Option<f64>| value.map(short).unwrap_or_default();
    let text = |value: Option<String>| value.unwrap_or_default();
    let event = record.event_id.clone();
    let event = event.or_else(|| record.event.map(|event| event.to_string()));
    let density = record.propensity().density().map(Density::get);
    [
        text(record.seq.map(|seq| seq.to_string())),
        text(event),
        text(record.time.map(|time| time.to_string())),
        match record.number("action") {
            Some(action) if record.action.to_string().contains('.') => short(action),
            _ => clipped(record.action.to_string()),
        },
        density.map_or_else(|| "point mass".to_owned(), short),
        number(record.outcome.or_else(|| {
            let objective = record.objective.unwrap_or_default();
            Some(objective.value(record.loss?.get()))
        })),
        number(record.tau),
        number(record.gamma),
        clipped(context(record)),
    ]
}

fn context(record: &Record) -> String {
    let mut parts = Vec::new();
    if let Some(features) = record.context.as_named() {
        features.for_each_leaf(|name, value| match value {
            FeatureValue::Missing => {}
            FeatureValue::Number(number) => parts.push(format!("{name}: {}", short(*number))),
            FeatureValue::Text(text) => parts.push(format!("{name}: {text}")),
            other => parts.push(format!("{name}: {}", json!(other))),
        });
    }
    record.context.for_each(|feature, value| {
        parts.push(match record.context.as_dense() {
            Some(_) => short(value),
            None => format!("{feature}: {}", short(value)),
        });
    });
    parts.join(", ")
}

fn clipped(text: String) -> String {
    const LONGEST: usize = 40;
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}
