use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use egret_jobs::convert::{ConvertRequest, convert as run};
use egret_report::numerals::thousands;

use super::FormatName;
use crate::interrupt;
use crate::log_args::LogArgs;
use crate::progress::JobBar;
use crate::written::{output_path, told};

pub const EXAMPLES: &str = "\
Examples:
  egret log convert egret-demo/log.parquet -o log.jsonl
  egret log convert egret-demo/log.parquet -o log.dsjson
  egret log convert log.dsjson -o back.parquet --space interval:5,50 --skip-bad bad.jsonl";

/// What `egret log convert` is told.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    #[command(flatten)]
    log: LogArgs,
    /// The file to write; it appears when it is complete
    #[arg(long, short, value_name = "FILE", value_parser = output_path())]
    output: PathBuf,
    /// The format of the file, if its name does not tell it
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatName>,
    /// Names for the numbers of contexts without names: in Parquet each becomes a column
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    features: Vec<String>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
}

/// Copies records from logs to a file.
pub fn convert(args: &ConvertArgs) -> Result<String> {
    let request = ConvertRequest {
        log: args.log.source(),
        output: args.output.clone(),
        format: args.format.map(Into::into),
        features: args.features.clone(),
    };
    let output = args.output.display().to_string();
    interrupt::keeps(move || format!("{output} was not written: run the same command again"));
    let report = run(&request, &JobBar::new("converting", args.json))?;
    if args.json {
        let text = serde_json::to_string(&report)? + "\n";
        return Ok(told(&args.output, text));
    }
    let count = |n: u64| thousands(n as f64);
    let mut text = format!(
        "{} records in {}\n",
        count(report.rows),
        report.output.display()
    );
    if let Some(file) = report.skipped_file {
        text += &format!("{} bad rows in {}\n", count(report.skipped), file.display());
    }
    Ok(told(&args.output, text))
}
