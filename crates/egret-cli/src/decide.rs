use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use egret_jobs::decide::{ContextSource, DecideReport, DecideRequest, decide as run};
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
    let mut text = String::from("event,action,density\n");
    for decided in &report.decisions {
        let density = decided.density.map_or(String::new(), |p| p.to_string());
        let action = decided.action.to_string();
        // A vector has commas of its own.
        let action = if action.contains(',') {
            format!("\"{action}\"")
        } else {
            action
        };
        text += &format!("{},{action},{density}\n", decided.event);
    }
    text
}
