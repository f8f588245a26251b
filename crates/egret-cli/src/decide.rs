use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use egret_jobs::decide::{ContextSource, DecideReport, DecideRequest, LimitsSource, decide as run};
use egret_report::output;

use crate::progress::JobBar;
use crate::protect_inputs::protect_inputs;
use crate::training_args::differing;

/// What `egret decide` is told.
#[derive(Debug, Args)]
pub struct DecideArgs {
    /// Contexts: a .csv with a line of names, or JSON lines. Cells and objects go by name where the model has named
    /// features; otherwise each row is a list of numbers
    #[arg(value_name = "TABLE")]
    contexts: PathBuf,
    /// A saved model
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// The number of the first event; the others follow. By default the first that the model has not used. Give it where
    /// this model has decided before: a number that is used twice has the same random numbers
    #[arg(long, value_name = "N")]
    first_event: Option<u64>,
    /// The column or JSON field that says what each request allows, in the form of the log: {"interval":{"low":9,"high":11}},
    /// {"box":{"sides":[[0,1],[2,2]]}}, {"items":{"allowed":[3,7]}} or {"items":{"excluded":[5]}}. Empty or null allows all
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "limits")]
    limits: Option<String>,
    /// Write the decisions to this file, not to the terminal
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// JSON lines, in place of CSV
    #[arg(long)]
    json: bool,
}

/// What `--help` adds.
pub const EXAMPLES: &str = "\
Each line has the number of the event, the action, and its density against the reference measure: log them with the
outcome, and the log can be evaluated. The model does not learn here.

With --limits an action is one that its request allows, and the density is against the reference measure restricted to
that: log the limits too.

Examples, after `egret demo`:
  egret decide egret-demo/customers.csv --model egret-demo/model.egret
  egret decide egret-demo/customers.csv --model egret-demo/model.egret --first-event 20000 -o prices.csv";

/// Decides for each context and returns what to print.
pub fn decide(args: &DecideArgs) -> Result<String> {
    let inputs = [args.contexts.as_path(), args.model.as_path()];
    protect_inputs(&[("-o", args.output.as_deref())], inputs)?;
    let request = DecideRequest {
        model: args.model.clone(),
        contexts: ContextSource::Table(args.contexts.clone()),
        first_event: args.first_event,
        limits: args.limits.clone().map(LimitsSource::Column),
    };
    let report = run(&request, &JobBar::new("deciding", args.json))?;
    if let Some(remark) = differing(report.features.as_ref()) {
        eprintln!("{remark}");
    }
    let text = if args.json {
        let lines = report.decisions.iter().map(|decided| {
            let line = serde_json::to_string(decided).expect("numbers are written to memory");
            line + "\n"
        });
        lines.collect()
    } else {
        csv(&report)
    };
    match &args.output {
        None => Ok(text),
        Some(file) => {
            output::write(file, text.as_bytes())?;
            Ok(format!(
                "{} decisions in {}; go on with --first-event {}\n",
                report.decisions.len(),
                file.display(),
                report.next_event
            ))
        }
    }
}

/// A header, then a line for each decision.
fn csv(report: &DecideReport) -> String {
    let limited = report.decisions.iter().any(|one| one.limits.is_some());
    let mut text = String::from("event,action,density");
    text += if limited { ",limits\n" } else { "\n" };
    for decided in &report.decisions {
        let density = decided.density.map_or(String::new(), |p| p.to_string());
        let action = cell(decided.action.to_string());
        text += &format!("{},{action},{density}", decided.event);
        if limited {
            let limits = decided.limits.as_ref().map_or(String::new(), |limits| {
                serde_json::to_string(limits).expect("numbers are written to memory")
            });
            text += &format!(",{}", cell(limits));
        }
        text.push('\n');
    }
    text
}

/// Vectors and limits have commas of their own, and so are in quotes, with theirs doubled.
fn cell(text: String) -> String {
    if text.contains(',') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}
