use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use egret_log::{Merge, Writer};
use serde::Serialize;

use super::{FormatName, format_of};
use crate::progress::reading;

pub const EXAMPLES: &str = "\
Examples:
  egret exhaust merge egret-demo/exhaust.parquet -o all.parquet
  egret exhaust merge egret-demo/ exhaust.jsonl -o all.jsonl";

/// What `egret exhaust merge` is told.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Logs: files of Parquet, JSON lines or dsjson, and folders of them
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// The file to write; it appears when it is whole
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// The format of the file, where its name does not say it
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatName>,
    /// Print one JSON object, and nothing else
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Findings<'a> {
    rows: u64,
    out: &'a PathBuf,
    duplicates: u64,
}

/// One log of many.
pub fn merge(args: &MergeArgs) -> Result<String> {
    let format = format_of(args.format, &args.out)?;
    let mut records = Merge::open(&args.logs)?;
    let mut writer = Writer::create(&args.out, format)?;
    let bar = reading("merging", args.json);
    let mut rows = 0_u64;
    while let Some(record) = records.next() {
        writer.write(&record?)?;
        rows += 1;
        if rows.is_multiple_of(4096) {
            bar.set_position((1_000.0 * records.progress()) as u64);
        }
    }
    ensure!(
        0 < rows,
        "there is no record in what was given: nothing was written"
    );
    let rows = writer.finish()?;
    bar.finish_and_clear();
    let findings = Findings {
        rows,
        out: &args.out,
        duplicates: records.duplicates(),
    };
    if args.json {
        return Ok(serde_json::to_string(&findings)? + "\n");
    }
    let duplicates = findings.duplicates;
    let mut text = format!("{rows} records in {}\n", args.out.display());
    if 0 < duplicates {
        text += &format!("{duplicates} more came twice and are in it once\n");
    }
    Ok(text)
}
