use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use egret_lab::demo::demo as run;
use indicatif::ProgressBar;

use crate::progress::style;

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
    /// Print one JSON object with the same figures, and nothing else
    #[arg(long)]
    json: bool,
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
    let bar = if args.json {
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
    if args.json {
        return Ok(serde_json::to_string(&demo.findings)? + "\n");
    }
    Ok(demo.page.text()
        + &format!(
            "\nPictures: open {folder}/index.html in a browser; it needs no network.\n\n\
             The log and the models are in {folder}. Try next:\n  \
             cargo run --release -- ope {folder}/log.parquet --policy uniform --policy column:q_rule --stabilize\n  \
             cargo run --release -- decide --model {folder}/model.egret {folder}/customers.csv\n  \
             cargo run --release -- audit {folder}/log.parquet --model {folder}/start.egret --relearn\n  \
             cargo run --release -- log head {folder}/log.parquet\n  \
             cargo run --release -- demo --seed 8 --output my-demo\n"
        ))
}
