use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Args;
use egret_lab::{
    Journal, NOISY_WORLDS, NoisyWorld, RunRecord, WorldLearner, WorldStudy, write_results,
};
use egret_report::output;
use serde_json::json;

use crate::lab::threads;
use crate::progress::StudyBar;

#[derive(Debug, Args)]
pub struct WorldsArgs {
    /// A first report within three minutes: 3 seeds
    #[arg(long)]
    quick: bool,
    /// Only these worlds, between commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    worlds: Vec<String>,
    /// Only these learners, between commas: default, naive, uniform [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    learners: Vec<String>,
    /// Seeds 1 to N [default: 20, quick: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    seeds: Option<u64>,
    /// Decisions of a run
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(4..=10_000_000))]
    decisions: u64,
    /// The folder for results; the same command resumes from there
    #[arg(long, value_name = "DIR", default_value = "egret-worlds")]
    results: PathBuf,
    /// Threads; neither they nor interruptions change a digit but those of time [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_024))]
    threads: Option<u64>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

pub const EXAMPLES: &str = "\
The share of what is possible is 100 · (uniform − late)/(uniform − best), where late is the mean loss
of the actions played over the last quarter, best that of the best actions, uniform that of actions at
random. All are true means, without noise. default is egret's learner, naive is forty lines: 16 buckets
with ridge regression on (1, x, x²), and 5% of actions at random. A run of 20,000 decisions takes egret
some two seconds.

All worlds:
  egret lab worlds --quick
  egret lab worlds --json

Examples:
  egret lab worlds --seeds 2 --decisions 1000
  egret lab worlds --worlds price,click_rare --learners default,naive --seeds 2 --decisions 2000 --json";

/// Plays, writes, and tells.
pub fn worlds(args: &WorldsArgs) -> Result<String> {
    threads(args.threads)?;
    let study = WorldStudy {
        worlds: chosen(
            "--worlds",
            &args.worlds,
            &NOISY_WORLDS.map(|world| world.name),
            NoisyWorld::named,
        )?,
        learners: chosen(
            "--learners",
            &args.learners,
            &WorldLearner::NAMES,
            WorldLearner::named,
        )?,
        seeds: args.seeds.unwrap_or(if args.quick { 3 } else { 20 }),
        decisions: args.decisions as usize,
    };
    output::make_folder(&args.results)?;
    let journal = Journal::open(&args.results.join("journal.jsonl"))?;
    let records = {
        let bar = StudyBar::new("worlds", args.json);
        study.run(Some(&journal), &bar)?
    };
    let runs: Vec<RunRecord> = records.iter().map(|of| of.record.clone()).collect();
    write_results(&args.results.join("results.parquet"), &runs)?;
    let rows = study.rows(&records);
    study.report(&rows)?.write(&args.results)?;
    if args.json {
        return Ok(serde_json::to_string(&json!({"worlds": rows}))? + "\n");
    }
    Ok(format!(
        "{}\nReport and figures: {}\n",
        study.section(&rows).text(),
        args.results.join("report.html").display()
    ))
}

/// What the names stand for, each once; without a name, all.
fn chosen<T>(
    flag: &str,
    names: &[String],
    all: &[&str],
    named: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>> {
    if let Some(unknown) = names.iter().find(|name| !all.contains(&name.as_str())) {
        return Err(anyhow!(
            "{flag}: {unknown:?} is unknown; there are: {}",
            all.join(", ")
        ));
    }
    let wanted = |name: &&&str| names.is_empty() || names.iter().any(|of| of == **name);
    let found = all.iter().filter(wanted).filter_map(|name| named(name));
    Ok(found.collect())
}
