use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use egret_lab::{LearnerComparison, RunRecord, read_results};
use egret_report::output;

use crate::lab::result_rows;
use crate::report_format::FormatArgs;

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Folders of `egret lab run`, `peers` or `paper`, or their Parquet files of results
    #[arg(required = true, value_name = "RESULTS")]
    inputs: Vec<PathBuf>,
    /// The learner that others are compared with [default: the first]
    #[arg(long, value_name = "LEARNER")]
    baseline: Option<String>,
    /// The probability with which an interval holds its value
    #[arg(long, value_name = "P", default_value_t = 0.9)]
    confidence: f64,
    /// Only these learners, once for each
    #[arg(long = "learner", value_name = "LEARNER")]
    learners: Vec<String>,
    /// Write report.html, report.md and figures (SVG and PNG) to this folder
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArgs,
}

pub const EXAMPLES: &str = "\
Runs are paired where they met the same rounds: same data by content, same number of decisions,
same seed. What could not be paired is said. Where two folders have learners of one name with other
settings or other losses, the folder becomes part of the name.

Examples, after `egret lab run experiment.toml`:
  egret lab compare results/first
  egret lab compare results/first again/results.parquet --baseline uniform --output compared
  egret lab compare results/first --learner smooth_igw --learner uniform --json";

/// Reads, compares, and tells.
pub fn compare(args: &CompareArgs) -> Result<String> {
    let mut sources: Vec<(String, Vec<RunRecord>)> = Vec::new();
    for input in &args.inputs {
        sources.push((input.display().to_string(), records(input)?));
    }
    if !args.learners.is_empty() {
        let known = |name: &String| {
            let mut all = sources.iter().flat_map(|(_, records)| records);
            all.any(|record| record.learner == *name)
        };
        if let Some(unknown) = args.learners.iter().find(|name| !known(name)) {
            let mut names: Vec<&str> = sources
                .iter()
                .flat_map(|(_, records)| records)
                .map(|record| record.learner.as_str())
                .collect();
            names.sort_unstable();
            names.dedup();
            bail!(
                "no learner is called {unknown:?}; there are: {}",
                names.join(", ")
            );
        }
        for (_, records) in &mut sources {
            records.retain(|record| args.learners.contains(&record.learner));
        }
    }
    let sources: Vec<(String, &[RunRecord])> = sources
        .iter()
        .map(|(name, records)| (name.clone(), &records[..]))
        .collect();
    let comparison =
        LearnerComparison::of_sources(&sources, args.baseline.as_deref(), args.confidence)?;
    let mut page = comparison.report("Saved results")?;
    if let Some(out) = &args.output {
        output::make_folder(out)?;
        page.write(out)?;
    }
    let rows = result_rows(&comparison);
    let last = args.output.as_ref().map_or(String::new(), |out| {
        let report = out.join("report.html");
        format!("\nReport and figures: {}\n", report.display())
    });
    if args.output.is_none() {
        // There are no files that the page could show.
        for part in &mut page.parts {
            part.figures.clear();
        }
    }
    let figures = args.output.clone().unwrap_or_default().join("figures");
    args.format
        .print_page(&comparison, &rows, &page, &figures, &last)
}

/// What holds runs in a folder of results: of `egret lab run` and `peers`, of `egret lab paper`, or of the folder above it.
const FILES: [&str; 3] = ["results.parquet", "online.parquet", "online/online.parquet"];

fn records(input: &Path) -> Result<Vec<RunRecord>> {
    if !input.is_dir() {
        return Ok(read_results(input)?);
    }
    let files: Vec<PathBuf> = FILES
        .iter()
        .map(|file| input.join(file))
        .filter(|file| file.is_file())
        .collect();
    if files.is_empty() {
        bail!(
            "{} has no results.parquet or online.parquet: `egret lab run`, `peers` and `paper` write them when all runs are done",
            input.display()
        );
    }
    let mut records = Vec::new();
    for file in files {
        records.extend(read_results(&file)?);
    }
    Ok(records)
}
