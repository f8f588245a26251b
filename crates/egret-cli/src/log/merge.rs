use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Args;
use egret_jobs::merge::{MergeRequest, merge as run};
use egret_report::numerals::thousands;

use super::FormatName;
use crate::progress::JobBar;
use crate::written::{output_path, told};

pub const EXAMPLES: &str = "\
Examples:
  egret log merge egret-demo/log.parquet -o all.parquet
  egret log merge egret-demo/log.parquet log.jsonl -o all.jsonl";

/// What `egret log merge` is told.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Logs: files of Parquet, JSON lines or dsjson, and folders of them
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// The file to write; it appears when it is complete
    #[arg(long, short, value_name = "FILE", value_parser = output_path())]
    output: PathBuf,
    /// The format of the file, if its name does not tell it
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatName>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
}

/// One log of many.
pub fn merge(args: &MergeArgs) -> Result<String> {
    let request = MergeRequest {
        paths: args.logs.clone(),
        output: args.output.clone(),
        format: args.format.map(Into::into),
    };
    let merged = run(&request, &JobBar::new("merging", args.json));
    // Here no row can be skipped, and none is advised to be.
    let report = merged.map_err(|error| match error.can_skip() {
        true => anyhow!("{error}"),
        false => error.into(),
    })?;
    if args.json {
        let text = serde_json::to_string(&report)? + "\n";
        return Ok(told(&args.output, text));
    }
    let mut text = format!(
        "{} records in {}\n",
        thousands(report.rows as f64),
        report.output.display()
    );
    if 0 < report.duplicates {
        let duplicates = thousands(report.duplicates as f64);
        text += &format!("{duplicates} more came twice and are in it once\n");
    }
    Ok(told(&args.output, text))
}
