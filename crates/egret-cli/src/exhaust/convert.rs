use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use egret_log::{WriteError, Writer};
use serde::Serialize;

use super::{FormatName, InputArgs, format_of};
use crate::progress::reading;

pub const EXAMPLES: &str = "\
Examples:
  egret exhaust convert egret-demo/exhaust.parquet -o exhaust.jsonl
  egret exhaust convert egret-demo/exhaust.parquet -o exhaust.dsjson
  egret exhaust convert exhaust.dsjson -o back.parquet --low 0 --high 1 --skip-bad bad.jsonl";

/// What `egret exhaust convert` is told.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    #[command(flatten)]
    input: InputArgs,
    /// The file to write; it appears when it is whole
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// The format of the file, where its name does not say it
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatName>,
    /// Names for the features, where they have none: each becomes a column
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    features: Vec<String>,
    /// Print one JSON object, and nothing else
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Findings<'a> {
    rows: u64,
    out: &'a PathBuf,
    skipped: u64,
    skipped_file: Option<PathBuf>,
}

/// Copies records from logs to a file.
pub fn convert(args: &ConvertArgs) -> Result<String> {
    let format = format_of(args.format, &args.out)?;
    let mut reader = args.input.reader()?;
    let mut writer = Writer::create(&args.out, format)?;
    if let (Some(low), Some(high)) = (args.input.low, args.input.high) {
        writer = writer.with_interval(low, high);
    }
    if !args.features.is_empty() {
        writer = writer.with_features(args.features.clone());
    }
    let bar = reading("converting", args.json);
    let mut rows = 0_u64;
    while let Some(record) = reader.next() {
        let record = record?;
        match writer.write(&record) {
            Ok(()) => {}
            Err(WriteError::Row(error)) => reader.put_aside(&record, error)?,
            Err(error) => return Err(error.into()),
        }
        rows += 1;
        if rows.is_multiple_of(4096) {
            bar.set_position((1_000.0 * reader.progress()) as u64);
        }
    }
    ensure!(
        0 < rows || 0 < reader.skipped(),
        "there is no record in what was given: nothing was written"
    );
    let rows = writer.finish()?;
    let skipped = reader.finish()?;
    bar.finish_and_clear();
    let findings = Findings {
        rows,
        out: &args.out,
        skipped: skipped.rows,
        skipped_file: skipped.file,
    };
    if args.json {
        return Ok(serde_json::to_string(&findings)? + "\n");
    }
    let mut text = format!("{rows} records in {}\n", args.out.display());
    if let Some(file) = findings.skipped_file {
        let skipped = findings.skipped;
        text += &format!("{skipped} bad rows in {}\n", file.display());
    }
    Ok(text)
}
