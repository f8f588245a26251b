use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use egret_lab::demo::demo as run;
use indicatif::ProgressBar;

use crate::progress::style;
use crate::report_format::FormatArgs;

/// What `egret demo` is told.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// The same seed gives the same figures, on any machine and any number of cores
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// How many customers are priced
    #[arg(long, value_name = "N", default_value_t = 20_000,
          value_parser = clap::value_parser!(u64).range(400..=1_000_000))]
    decisions: u64,
    /// Where log, models, pictures and the page go; made if it is not there
    #[arg(short, long, value_name = "DIR", default_value = "egret-demo")]
    output: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
}

/// What `--help` adds.
pub const EXAMPLES: &str = "\
Examples:
  egret demo
  egret demo --seed 8 --output my-demo
  egret demo --decisions 2000 --json";

/// Runs the demo and returns what to print.
pub fn demo(args: &DemoArgs) -> Result<String> {
    // Before the work: a folder that cannot be written is no surprise at the end.
    let folder = args.output.display();
    fs::create_dir_all(&args.output).with_context(|| {
        format!("cannot make the folder {folder}: name one that can be written with --output DIR")
    })?;
    let bar = if args.format.for_machines() {
        ProgressBar::hidden()
    } else {
        ProgressBar::new(2 * args.decisions)
            .with_style(style("{msg} {wide_bar} {human_pos}/{human_len} {eta}"))
            .with_message("two learners set prices")
    };
    let demo = run(args.seed, args.decisions, &args.output, |prices| {
        bar.inc(prices as u64);
    })?;
    bar.finish_and_clear();
    let egret = env::args().next().unwrap_or_else(|| "egret".to_owned());
    let last = format!(
        "\nPictures: open {folder}/index.html in a browser; it needs no network.\n\n\
         The log and the models are in {folder}. Try next:\n  \
         {egret} ope {folder}/log.parquet --policy uniform --policy column:q_rule --stabilize\n  \
         {egret} decide --model {folder}/model.egret {folder}/customers.csv\n  \
         {egret} audit {folder}/log.parquet --model {folder}/start.egret --relearn\n  \
         {egret} log head {folder}/log.parquet\n  \
         {egret} demo --seed 8 --output my-demo\n"
    );
    let findings = &demo.findings;
    args.format
        .print_page(findings, &findings.ope, &demo.page, &args.output, &last)
}
