use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};
use egret_lab::{
    DataFile, DataFolder, DataOutcome, DataWorld, Encoding, Journal, KnownWorld, NOISY_WORLDS,
    PeerFamily, PeerPython, RunRecord, WorldLearner, WorldPeers, WorldStudy, write_results,
};
use egret_report::output;
use serde_json::json;

use crate::lab::{runs_are_kept, threads};
use crate::progress::StudyBar;

/// Whose learners play beside egret's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WorldPeerArg {
    /// Vowpal Wabbit's CATS at sixteen settings and --cb_explore over buckets at eight
    Vw,
}

#[derive(Debug, Args)]
pub struct WorldsArgs {
    /// A first report within three minutes: 3 seeds
    #[arg(long)]
    quick: bool,
    /// Also worlds from the paper's data sets in this folder: SET/zero_one and SET/sale
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Only these worlds, between commas; a part of a name at its slash stands for all that have it [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    worlds: Vec<String>,
    /// Only these learners, between commas: default, naive, uniform [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    learners: Vec<String>,
    /// Whose learners play too: the best setting in each world, chosen on three other seeds
    #[arg(long, value_enum)]
    peers: Option<WorldPeerArg>,
    /// A Python 3 in which they are installed
    #[arg(
        long,
        value_name = "PATH",
        default_value = "python3",
        requires = "peers"
    )]
    python: PathBuf,
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
some two seconds. With peers, the best setting of each is chosen in each world on three other seeds, and
plays as cats and cb_explore. They come from PyPI: pip install vowpalwabbit

All worlds:
  egret lab worlds --quick
  egret lab worlds --json

With data sets and peers:
  egret lab worlds --data data --peers vw --python venv/bin/python
  egret lab worlds --data data --worlds zero_one,sale --seeds 3

Examples:
  egret lab worlds --seeds 2 --decisions 1000
  egret lab worlds --worlds price,click_rare --learners default,naive --seeds 2 --decisions 2000 --json";

/// Plays, writes, and tells.
pub fn worlds(args: &WorldsArgs) -> Result<String> {
    threads(args.threads)?;
    // Before the data are read: what is to be installed is told at once.
    let peers = match args.peers {
        Some(WorldPeerArg::Vw) => {
            let python = PeerPython::new(&args.python, PeerFamily::Vw.packages())?;
            Some(WorldPeers::vw(python))
        }
        None => None,
    };
    let study = WorldStudy {
        worlds: chosen_worlds(&args.worlds, args.data.as_deref())?,
        learners: chosen_learners(&args.learners)?,
        peers,
        seeds: args.seeds.unwrap_or(if args.quick { 3 } else { 20 }),
        decisions: args.decisions as usize,
    };
    output::make_folder(&args.results)?;
    runs_are_kept(&args.results);
    let journal = Journal::open(&args.results.join("journal.jsonl"))?;
    let chosen = {
        let bar = StudyBar::new("settings", args.json || study.peers.is_none());
        study.choose(Some(&journal), &bar)?
    };
    let records = {
        let bar = StudyBar::new("worlds", args.json);
        study.run(&chosen, Some(&journal), &bar)?
    };
    let runs: Vec<RunRecord> = records.iter().map(|of| of.record.clone()).collect();
    write_results(&args.results.join("results.parquet"), &runs)?;
    let rows = study.rows(&chosen, &records);
    study.report(&chosen, &rows)?.write(&args.results)?;
    if args.json {
        return Ok(serde_json::to_string(&json!({"worlds": rows}))? + "\n");
    }
    let standing = study.standing(&rows);
    Ok(format!(
        "{}{}\nReport and figures: {}\n",
        study.section(&rows).text(),
        standing.map_or(String::new(), |section| section.text()),
        args.results.join("report.html").display()
    ))
}

/// The worlds of these names, each once, in the order of the list; without a name, all.
fn chosen_worlds(names: &[String], data: Option<&Path>) -> Result<Vec<Box<dyn KnownWorld>>> {
    let files = match data {
        Some(dir) => data_files(dir)?,
        None => Vec::new(),
    };
    let of_file = |file: &DataFile| {
        let set = file.set;
        DataOutcome::ALL.map(|outcome| (format!("{set}/{}", outcome.word()), outcome))
    };
    let mut all: Vec<String> = NOISY_WORLDS.map(|world| world.name.to_owned()).to_vec();
    all.extend(files.iter().flat_map(of_file).map(|(name, _)| name));
    let is = |name: &str, asked: &str| name == asked || name.split('/').any(|part| part == asked);
    if let Some(unknown) = (names.iter()).find(|asked| !all.iter().any(|name| is(name, asked))) {
        bail!(
            "--worlds: {unknown:?} is unknown; there are: {}",
            all.join(", ")
        );
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|asked| is(name, asked));
    let mut worlds: Vec<Box<dyn KnownWorld>> = Vec::new();
    for world in NOISY_WORLDS {
        if wanted(world.name) {
            worlds.push(Box::new(world));
        }
    }
    for file in &files {
        let outcomes = of_file(file).into_iter().filter(|(name, _)| wanted(name));
        let outcomes: Vec<DataOutcome> = outcomes.map(|(_, outcome)| outcome).collect();
        if !outcomes.is_empty() {
            let data = Arc::new(file.read(&Encoding::default())?);
            for outcome in outcomes {
                worlds.push(Box::new(DataWorld::new(data.clone(), outcome)));
            }
        }
    }
    Ok(worlds)
}

fn data_files(dir: &Path) -> Result<Vec<DataFile>> {
    let files = DataFolder::open(dir)?.found().to_vec();
    ensure!(
        !files.is_empty(),
        "{} has no data set to play on: files are named by OpenML id, as 150_covertype.parquet",
        dir.display()
    );
    Ok(files)
}

/// The learners of these names, each once, in the order of the list; without a name, all.
fn chosen_learners(names: &[String]) -> Result<Vec<WorldLearner>> {
    let all = WorldLearner::NAMES;
    if let Some(unknown) = names.iter().find(|name| !all.contains(&name.as_str())) {
        bail!(
            "--learners: {unknown:?} is unknown; there are: {}",
            all.join(", ")
        );
    }
    let wanted = |name: &&str| names.is_empty() || names.iter().any(|of| of == name);
    let found = all.into_iter().filter(wanted);
    Ok(found.filter_map(WorldLearner::named).collect())
}
