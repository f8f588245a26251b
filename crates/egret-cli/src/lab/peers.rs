use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};
use egret_lab::{
    DataFolder, Encoding, Environment, IntervalLossModel, Journal, LearnerComparison, LossFunction,
    PeerFamily, PeerPython, PeerStudy, RunRecord, Simulator, SupervisedToBandit, write_results,
};
use egret_report::output;
use serde_json::json;

use crate::lab::{runs_are_kept, threads};
use crate::progress::StudyBar;
use crate::report_format::FormatArgs;

/// Whose learners play.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PeerArg {
    /// Vowpal Wabbit's CATS at sixteen settings
    Vw,
    /// coba's learners over sixteen buckets
    Coba,
    /// Nobody: egret's own learners alone, without Python
    None,
}

#[derive(Debug, Args)]
pub struct PeersArgs {
    /// Folder with the paper's data sets [default: a simulated one]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Only data sets whose name holds this word, once for each
    #[arg(long = "only", value_name = "WORD", requires = "data")]
    only: Vec<String>,
    /// The most decisions of a run
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    decisions: u64,
    /// Seeds 1 to N
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    seeds: u64,
    /// Whose learners play beside egret's
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["vw", "coba"])]
    peers: Vec<PeerArg>,
    /// Also the default learner on the dense contexts of the other learners, in place of features by name
    #[arg(long)]
    dense: bool,
    /// Also CappedIGW with beta by the paper's own Algorithm 3: some 60 times slower
    #[arg(long)]
    betting: bool,
    /// A Python 3 in which they are installed [default: python3]
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// The folder for results; the same command resumes from there
    #[arg(long, value_name = "DIR", default_value = "egret-peers")]
    results: PathBuf,
    /// How many processes at a time [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_024))]
    threads: Option<u64>,
    #[command(flatten)]
    format: FormatArgs,
}

pub const EXAMPLES: &str = "\
Every learner meets the same rounds: one shuffle of the data for each seed. A peer is told contexts
and losses by an adapter process, which takes the time around the library's own calls. The best
setting of each library in hindsight is marked. Peers come from PyPI: pip install vowpalwabbit coba

With data and peers:
  egret lab peers --data data --python venv/bin/python
  egret lab peers --data data --peers vw --decisions 2000 --seeds 2 --json

Examples:
  egret lab peers --peers none --decisions 500 --seeds 2";

const CONFIDENCE: f64 = 0.9;

/// Plays, writes, and tells.
pub fn peers(args: &PeersArgs) -> Result<String> {
    threads(args.threads)?;
    let mut families = Vec::new();
    for peer in &args.peers {
        match peer {
            PeerArg::Vw => families.push(PeerFamily::Vw),
            PeerArg::Coba => families.push(PeerFamily::Coba),
            PeerArg::None => ensure!(
                args.peers.len() == 1,
                "--peers none stands alone: leave it out, or the others"
            ),
        }
    }
    families.sort_unstable();
    families.dedup();
    let mut packages: Vec<&str> = families
        .iter()
        .flat_map(|family| family.packages())
        .copied()
        .collect();
    packages.sort_unstable();
    packages.dedup();
    // Before the data are read: what is to be installed is told at once.
    let python = match families.is_empty() {
        true => {
            ensure!(
                args.python.is_none(),
                "--python has no effect with --peers none: leave it out"
            );
            None
        }
        false => {
            let python = args.python.as_deref().unwrap_or(Path::new("python3"));
            Some(PeerPython::new(python, &packages)?)
        }
    };
    let environments = environments(args)?;
    output::make_folder(&args.results)?;
    runs_are_kept(&args.results);
    let journal = Journal::open(&args.results.join("journal.jsonl"))?;
    let study = PeerStudy {
        environments: &environments,
        learners: &PeerStudy::learners(args.dense, args.betting),
        python: python.as_ref(),
        families: &families,
        decisions: args.decisions as usize,
        seeds: args.seeds,
    };
    let records = {
        let bar = StudyBar::new("runs", args.format.for_machines());
        study.run(Some(&journal), &bar)?
    };
    let runs: Vec<RunRecord> = records.iter().map(|of| of.record.clone()).collect();
    write_results(&args.results.join("results.parquet"), &runs)?;
    let comparison = LearnerComparison::new(&runs, None, CONFIDENCE)?;
    let rows = study.rows(&records, &comparison);
    let best = study.section(&rows, &records, CONFIDENCE);
    let mut page = comparison.report("egret and its peers")?;
    page.parts[0].tables.insert(0, best.clone());
    page.write(&args.results)?;
    let whole = json!({
        "results": rows,
        "comparison": comparison,
    });
    let mut text = args.format.print(&whole, &rows, &[best])?;
    if !args.format.for_machines() {
        let report = args.results.join("report.html");
        text += &format!(
            "\nEvery setting, report and figures: {}\n",
            report.display()
        );
    }
    Ok(text)
}

fn environments(args: &PeersArgs) -> Result<Vec<Box<dyn Environment<f64>>>> {
    let Some(dir) = &args.data else {
        return Ok(vec![Box::new(Simulator::new(IntervalLossModel))]);
    };
    let folder = DataFolder::open(dir)?;
    let names: Vec<String> = (folder.found().iter())
        .map(|file| file.set.to_string())
        .collect();
    ensure!(
        !names.is_empty(),
        "{} has no data set to play on: files are named by OpenML id, as 150_covertype.parquet",
        dir.display()
    );
    let holds = |word: &String| names.iter().any(|name| name.contains(word.as_str()));
    if let Some(word) = args.only.iter().find(|word| !holds(word)) {
        bail!(
            "no data set's name holds {word:?}; {} has: {}",
            dir.display(),
            names.join(", ")
        );
    }
    let wanted = |name: &str| {
        let mut words = args.only.iter();
        args.only.is_empty() || words.any(|word| name.contains(word.as_str()))
    };
    let mut environments: Vec<Box<dyn Environment<f64>>> = Vec::new();
    for file in folder.found() {
        if wanted(&file.set.to_string()) {
            let data = file.read(&Encoding::default())?;
            environments.push(Box::new(SupervisedToBandit::new(
                Arc::new(data),
                LossFunction::Absolute,
            )));
        }
    }
    Ok(environments)
}
