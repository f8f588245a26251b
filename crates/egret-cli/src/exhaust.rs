mod convert;
mod head;
mod merge;
mod quantile_sketch;
mod stats;

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::{Subcommand, ValueEnum};
use egret_log::{Format, OnBad, Reader};

use self::convert::ConvertArgs;
use self::head::HeadArgs;
use self::merge::MergeArgs;
use self::stats::StatsArgs;

/// What `egret exhaust` can do.
#[derive(Debug, Subcommand)]
pub enum ExhaustCommand {
    /// Write logs as one file of Parquet, JSON lines or dsjson
    #[command(after_help = convert::EXAMPLES)]
    Convert(ConvertArgs),
    /// Show the first records
    #[command(after_help = head::EXAMPLES)]
    Head(HeadArgs),
    /// Count records, atoms, gaps and losses, and show how densities are spread
    #[command(after_help = stats::EXAMPLES)]
    Stats(StatsArgs),
    /// Make one log of many, in order of seq
    ///
    /// Each file has to be in order of seq. A record that comes twice, in parts that overlap, is written once; two
    /// different records with one seq are an error.
    #[command(after_help = merge::EXAMPLES)]
    Merge(MergeArgs),
}

/// Runs a command and returns what to print.
pub fn exhaust(command: &ExhaustCommand) -> Result<String> {
    match command {
        ExhaustCommand::Convert(args) => convert::convert(args),
        ExhaustCommand::Head(args) => head::head(args),
        ExhaustCommand::Stats(args) => stats::stats(args),
        ExhaustCommand::Merge(args) => merge::merge(args),
    }
}

/// Which logs are read, and what is done with bad rows.
#[derive(Debug, clap::Args)]
pub struct InputArgs {
    /// Logs: files of Parquet, JSON lines or dsjson, and folders of them
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,
    /// The least action, which dsjson does not say
    #[arg(long, requires = "high", allow_negative_numbers = true)]
    pub low: Option<f64>,
    /// The greatest action, which dsjson does not say
    #[arg(long, requires = "low", allow_negative_numbers = true)]
    pub high: Option<f64>,
    /// Hash the features of dsjson to 2^BITS places, so that text can be among them
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(1..=30))]
    pub hash_bits: Option<u32>,
    /// Keep bad rows in this file, with place and reason, and go on; without it the first one is an error
    #[arg(long, value_name = "FILE")]
    pub skip_bad: Option<PathBuf>,
}

impl InputArgs {
    fn reader(&self) -> Result<Reader> {
        let on_bad = match &self.skip_bad {
            None => OnBad::Stop,
            Some(file) => OnBad::Skip(file.clone()),
        };
        let mut reader = Reader::open(&self.logs, on_bad)?;
        if let (Some(low), Some(high)) = (self.low, self.high) {
            anyhow::ensure!(
                low < high && (high - low).is_finite(),
                "--low {low} --high {high}: the least action has to be below the greatest"
            );
            reader = reader.with_interval(low, high);
        }
        if let Some(bits) = self.hash_bits {
            reader = reader.with_hashed_features(bits);
        }
        Ok(reader)
    }
}

/// What the user can ask a log to be.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum FormatName {
    /// Typed columns
    Parquet,
    /// JSON lines
    Jsonl,
    /// Vowpal Wabbit's, for numbers on an interval
    Dsjson,
}

/// As asked for, or by the name of the file.
fn format_of(name: Option<FormatName>, out: &Path) -> Result<Format> {
    let asked = name.map(|name| match name {
        FormatName::Parquet => Format::Parquet,
        FormatName::Jsonl => Format::JsonLines,
        FormatName::Dsjson => Format::DsJson,
    });
    asked.or_else(|| Format::of_name(out)).ok_or_else(|| {
        let out = out.display();
        anyhow!("{out}: end the name in .parquet, .jsonl or .dsjson, or give --format")
    })
}
