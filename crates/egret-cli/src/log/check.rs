use anyhow::Result;
use clap::Args;
use egret_jobs::check::{CheckRequest, check as run};
use egret_report::numerals::thousands;

use crate::log_args::LogArgs;
use crate::progress::JobBar;

pub const EXAMPLES: &str = "\
Exit code: 0 if every row is a record, 3 if not.

Examples:
  egret log check egret-demo/log.parquet
  egret log check --json egret-demo/";

/// What `egret log check` is told.
#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    log: LogArgs,
    /// How many bad rows of each kind are named
    #[arg(long, value_name = "N", default_value_t = 3)]
    named: usize,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
}

/// What is wrong with logs, and whether anything is.
pub fn check(args: &CheckArgs) -> Result<(String, bool)> {
    let request = CheckRequest {
        log: args.log.source(),
        named: args.named,
    };
    let report = run(&request, &JobBar::new("checking", args.json))?;
    let fault = 0 < report.bad;
    if args.json {
        return Ok((serde_json::to_string(&report)? + "\n", fault));
    }
    let count = |n: u64| thousands(n as f64);
    let mut text = format!(
        "{} records, {} bad rows\n",
        count(report.rows),
        count(report.bad)
    );
    for mistake in &report.mistakes {
        let field = mistake
            .field
            .as_ref()
            .map_or(String::new(), |field| format!(" ({field})"));
        text += &format!(
            "\n{}{field}, in {} rows: {}\n",
            mistake.kind,
            count(mistake.rows),
            mistake.advice
        );
        for bad in &mistake.first {
            let row = bad.row.map_or(String::new(), |row| format!(", row {row}"));
            text += &format!("  {}{row}: {}\n", bad.file.display(), bad.reason);
        }
        if (mistake.first.len() as u64) < mistake.rows {
            text += "  …\n";
        }
    }
    for remark in &report.remarks {
        text += &format!("\n{remark}\n");
    }
    if fault {
        text += "\nMend these rows, or let other commands skip them with --skip-bad FILE.\n";
    }
    Ok((text, fault))
}
