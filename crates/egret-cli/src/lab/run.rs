use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use egret_lab::{EXAMPLE_EXPERIMENT, Experiment, Journal, LearnerComparison, write_results};
use egret_report::output;
use serde_json::json;

use crate::lab::{result_rows, runs_are_kept, threads};
use crate::progress::StudyBar;
use crate::report_format::FormatArgs;

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The experiment, as TOML
    #[arg(value_name = "FILE", required_unless_present = "example")]
    file: Option<PathBuf>,
    /// Print a file to begin with, which needs no data
    #[arg(long, conflicts_with_all = ["file", "results", "threads", "json", "csv", "markdown"])]
    example: bool,
    /// The folder for results; the same command resumes from there [default: results/NAME]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Threads; neither they nor interruptions change a digit [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_024))]
    threads: Option<u64>,
    #[command(flatten)]
    format: FormatArgs,
}

pub const EXAMPLES: &str = "\
Every learner plays every data set under every seed, on the same rounds. The folder of results
gets report.html, report.md, figures (SVG and PNG), results.parquet and journal.jsonl: what is in
the journal is not run again, unless its data or settings changed.

Examples:
  egret lab run --example > experiment.toml
  egret lab run experiment.toml
  egret lab run experiment.toml --results again --threads 1 --json";

/// Runs, writes, and tells.
pub fn run(args: &RunArgs) -> Result<String> {
    let Some(file) = &args.file else {
        return Ok(EXAMPLE_EXPERIMENT.to_owned());
    };
    threads(args.threads)?;
    let experiment = Experiment::read(file)?;
    let results = match &args.results {
        Some(results) => results.clone(),
        None => PathBuf::from("results").join(&experiment.name),
    };
    let data = experiment.load()?;
    if !args.format.for_machines() {
        for note in &data.notes {
            eprintln!("{note}");
        }
    }
    output::make_folder(&results)?;
    runs_are_kept(&results);
    let journal = Journal::open(&results.join("journal.jsonl"))?;
    let records = {
        let bar = StudyBar::new("runs", args.format.for_machines());
        experiment.run(&data.environments, Some(&journal), &bar)?
    };
    if records.is_empty() {
        bail!("no runs: the experiment has no data, learner or seed");
    }
    write_results(&results.join("results.parquet"), &records)?;
    let comparison = LearnerComparison::new(
        &records,
        experiment.baseline.as_deref(),
        experiment.confidence,
    )?;
    let page = comparison.report(&experiment.name)?;
    page.write(&results)?;
    let whole = json!({
        "experiment": experiment.name,
        "results": results,
        "notes": data.notes,
        "comparison": comparison,
    });
    let last = format!(
        "\nReport, figures and raw results: {}\n",
        results.join("report.html").display()
    );
    let (rows, figures) = (result_rows(&comparison), results.join("figures"));
    args.format
        .print_page(&whole, &rows, &page, &figures, &last)
}
