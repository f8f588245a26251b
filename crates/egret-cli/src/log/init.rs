use std::fs;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use egret_jobs::propose::{ProposeRequest, propose};
use egret_log::LogMapping;
use egret_report::numerals::thousands;
use egret_report::output;

use crate::progress::JobBar;

pub const EXAMPLES: &str = "\
The file says in comments why each column was taken for what. Correct it in an editor; every command that reads the log
finds it. Flags such as --action go before it.

Examples, after `egret demo`:
  egret log init egret-demo/prices.csv
  egret log check egret-demo/prices.csv";

/// What `egret log init` is told.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// A table: CSV, JSON lines, Parquet or Arrow; or a folder of tables with the same columns
    #[arg(value_name = "TABLE")]
    table: PathBuf,
    /// Where the guess goes [default: beside the table, under its name with .toml; in a folder, log.toml]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace what was guessed, or written, before
    #[arg(long)]
    force: bool,
}

/// Guesses what columns are, and saves it beside the table.
pub fn init(args: &InitArgs) -> Result<String> {
    let mut places = match args.table.is_dir() {
        true => vec![args.table.join("log.toml")],
        false => LogMapping::places(&args.table),
    }
    .into_iter();
    let place = args.output.clone().or_else(|| places.next());
    ensure!(
        place.is_some(),
        "-o FILE is needed where the table comes from a pipe"
    );
    let place = place.unwrap_or_default();
    let proposal = propose(
        &ProposeRequest::new(&args.table),
        &JobBar::new("looking", false),
    )?;
    let there = fs::read_to_string(&place).ok();
    ensure!(
        args.force || !place.exists() || there.as_ref() == Some(&proposal.toml),
        "{} is there already: correct it in an editor, or replace it with --force",
        place.display()
    );
    output::write(&place, proposal.toml.as_bytes())?;
    let mut text = format!("{}\n", proposal.toml.trim_end());
    text += &format!(
        "\nGuessed from {} rows, and saved in {}.\n",
        thousands(proposal.rows as f64),
        place.display()
    );
    if proposal.open.is_empty() {
        let table = args.table.display();
        text += &format!(
            "Read it, correct it, then: egret log check {table}; egret ope {table} --policy uniform\n"
        );
    } else {
        text += "Some things are to be decided first: look for TO DECIDE in it.\n";
    }
    Ok(text)
}
