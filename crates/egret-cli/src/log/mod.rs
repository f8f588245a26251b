//! `egret log`: one file for each of its commands.
//!
//! Each turns its flags into a request, runs the job of that name and prints the report. Start from [`LogCommand`].

mod check;
mod convert;
mod head;
mod init;
mod merge;
mod stats;

use anyhow::Result;
use clap::{Subcommand, ValueEnum};
use egret_log::Format;

use self::check::CheckArgs;
use self::convert::ConvertArgs;
use self::head::HeadArgs;
use self::init::InitArgs;
use self::merge::MergeArgs;
use self::stats::StatsArgs;

/// What `egret log` can do.
#[derive(Debug, Subcommand)]
pub enum LogCommand {
    /// List everything that is wrong with a log, by kind of mistake
    #[command(after_help = check::EXAMPLES)]
    Check(CheckArgs),
    /// Write logs as one file of Parquet, JSON lines or dsjson
    #[command(after_help = convert::EXAMPLES)]
    Convert(ConvertArgs),
    /// Guess which column of a table is what, and save the guess beside it
    #[command(after_help = init::EXAMPLES)]
    Init(InitArgs),
    /// Show the first records
    #[command(after_help = head::EXAMPLES)]
    Head(HeadArgs),
    /// Count records, point masses, gaps and outcomes, and show how densities are spread
    #[command(after_help = stats::EXAMPLES)]
    Stats(StatsArgs),
    /// Make one log of many, in order of seq
    ///
    /// Each file must be in order of seq. Where files overlap, a record that is in both is written once. Two different
    /// records with one seq are an error.
    #[command(after_help = merge::EXAMPLES)]
    Merge(MergeArgs),
}

/// Runs a command: what to print, and whether a fault was found.
pub fn log(command: &LogCommand) -> Result<(String, bool)> {
    Ok(match command {
        LogCommand::Check(args) => check::check(args)?,
        LogCommand::Convert(args) => (convert::convert(args)?, false),
        LogCommand::Head(args) => (head::head(args)?, false),
        LogCommand::Init(args) => (init::init(args)?, false),
        LogCommand::Stats(args) => (stats::stats(args)?, false),
        LogCommand::Merge(args) => (merge::merge(args)?, false),
    })
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

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Parquet => Self::Parquet,
            FormatName::Jsonl => Self::JsonLines,
            FormatName::Dsjson => Self::DsJson,
        }
    }
}
