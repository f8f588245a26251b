use anyhow::{Result, ensure};
use clap::Args;
use egret_jobs::check::{BadRow, CheckReport, CheckRequest, check as run};
use egret_report::Section;
use egret_report::numerals::thousands;
use serde::Serialize;

use crate::log_args::LogArgs;
use crate::progress::JobBar;
use crate::report_format::FormatArgs;

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
    #[command(flatten)]
    format: FormatArgs,
}

/// A bad row, as a line of a table.
#[derive(Serialize)]
struct BadLine<'a> {
    kind: &'a str,
    column: Option<&'a str>,
    rows: u64,
    #[serde(flatten)]
    bad: &'a BadRow,
    advice: &'a str,
}

/// What is wrong with logs, and whether anything is.
pub fn check(args: &CheckArgs) -> Result<(String, bool)> {
    let request = CheckRequest {
        log: args.log.source(),
        named: args.named,
    };
    ensure!(
        args.log.skip_bad.is_none(),
        "--skip-bad has no effect here, where every bad row is read past: leave it out"
    );
    let bar = JobBar::new("checking", args.format.for_machines());
    let report = run(&request, &bar)?;
    drop(bar);
    let fault = 0 < report.bad;
    if args.format.for_machines() || args.format.markdown {
        let mut lines = Vec::new();
        for mistake in &report.mistakes {
            lines.extend(mistake.first.iter().map(|bad| BadLine {
                kind: mistake.kind,
                column: mistake.field.as_deref(),
                rows: mistake.rows,
                bad,
                advice: mistake.advice,
            }));
        }
        let text = args
            .format
            .print(&report, &lines, &[section(&report, &lines)])?;
        return Ok((text, fault));
    }
    let count = |n: u64| thousands(n as f64);
    let mut text = counted(&report) + "\n";
    for mistake in &report.mistakes {
        let field = mistake
            .field
            .as_ref()
            .map_or(String::new(), |field| format!(" ({field})"));
        text += &format!(
            "\n{}{field}, in {} {}: {}\n",
            mistake.kind,
            count(mistake.rows),
            if mistake.rows == 1 { "row" } else { "rows" },
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

fn counted(report: &CheckReport) -> String {
    let (rows, bad) = (report.rows as f64, report.bad as f64);
    format!("{} records, {} bad rows", thousands(rows), thousands(bad))
}

/// The bad rows that are named, for Markdown.
fn section(report: &CheckReport, lines: &[BadLine<'_>]) -> Section {
    let header = [
        "kind",
        "column",
        "rows",
        "file",
        "row",
        "reason",
        "what to do",
    ];
    let rows = lines.iter().map(|line| {
        vec![
            line.kind.to_owned(),
            line.column.unwrap_or_default().to_owned(),
            thousands(line.rows as f64),
            line.bad.file.display().to_string(),
            line.bad.row.map_or(String::new(), |row| row.to_string()),
            line.bad.reason.clone(),
            line.advice.to_owned(),
        ]
    });
    Section {
        title: counted(report),
        before: String::new(),
        header: header.map(String::from).to_vec(),
        words: header.len(),
        rows: rows.collect(),
        after: report.remarks.clone(),
    }
}
