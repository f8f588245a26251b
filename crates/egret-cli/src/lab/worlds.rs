use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};
use egret_lab::{
    AnyWorld, BOX_WORLDS, BudgetLoss, DataFile, DataFolder, DataOutcome, DataWorld, DirectionLoss,
    Encoding, ExamplesLoss, ItemWorld, Journal, ListWorld, MixedKnobsLoss, NOISY_WORLDS,
    PeerLibrary, PeerPython, RunRecord, SpaceWorld, TenthsWorld, WorldLearner, WorldPeers,
    WorldStudy, write_results,
};
use egret_report::output;
use serde_json::json;

use crate::lab::{runs_are_kept, threads};
use crate::progress::StudyBar;
use crate::report_format::FormatArgs;

/// Whose learners play beside egret's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WorldPeerArg {
    /// Vowpal Wabbit: CATS and --cb_explore on intervals, --cb_explore and --cb_explore_adf on lists, --cb_explore_adf and
    /// --large_action_space among up to 10,000 items with features
    Vw,
    /// Optuna's TPE on boxes without a context
    Optuna,
    /// CMA-ES on boxes without a context
    Cma,
}

impl WorldPeerArg {
    fn library(self) -> PeerLibrary {
        match self {
            Self::Vw => PeerLibrary::Vw,
            Self::Optuna => PeerLibrary::Optuna,
            Self::Cma => PeerLibrary::Cma,
        }
    }
}

#[derive(Debug, Args)]
pub struct WorldsArgs {
    /// A first report within three minutes: 3 seeds, 4,000 decisions on boxes and among items, and none of the slowest worlds
    /// unless they are named
    #[arg(long)]
    quick: bool,
    /// Also worlds from the paper's data sets in this folder: SET/zero_one, SET/sale and SET/tenths
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Only these worlds, between commas; intervals, boxes, items, lists, simplices, spheres, mixed and sets stand for all of a kind, and a part of a name at its slash for
    /// all that have it [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    worlds: Vec<String>,
    /// Only these learners, between commas: default, naive, window, thompson, uniform [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    learners: Vec<String>,
    /// Whose learners play too, between commas: the best setting in each world, chosen on three other seeds
    #[arg(long, value_enum, value_delimiter = ',')]
    peers: Vec<WorldPeerArg>,
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
    /// Decisions of a run [default: 20000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(4..=10_000_000))]
    decisions: Option<u64>,
    /// The folder for results; the same command resumes from there
    #[arg(long, value_name = "DIR", default_value = "egret-worlds")]
    results: PathBuf,
    /// Threads; neither they nor interruptions change a digit but those of time [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_024))]
    threads: Option<u64>,
    #[command(flatten)]
    format: FormatArgs,
}

pub const EXAMPLES: &str = "\
The share of what is possible is 100 · (uniform − late)/(uniform − best), where late is the mean loss
of the actions played over the last quarter, best that of the best actions, uniform that of actions at
random. All are true means, without noise. default is egret's learner, naive is forty lines: on
intervals 16 buckets with ridge regression on (1, x, x²), and 5% of actions at random; on boxes ridge
regression on squares and products with a shrinking box around its minimum, among items ridge regression
on (1, x) ⊗ (1, e) and one of the best 100, of sets some of the best 30, on other spaces the best of 256
drawn actions, all with 2% at random. window is naive on boxes, by the last 2,000 events alone, for
worlds that move. thompson is linear Thompson sampling over drawn actions. A run of 20,000 decisions
takes egret some two seconds on an interval, four with 20 knobs and five among 200,000 items. With
peers, the best setting of each is chosen in each world on three other seeds. They come from PyPI: pip install vowpalwabbit optuna cma

All worlds:
  egret lab worlds --quick
  egret lab worlds --json

With data sets and peers:
  egret lab worlds --worlds tuning_6,lists --peers vw,optuna,cma --python venv/bin/python
  egret lab worlds --data data --peers vw --python venv/bin/python
  egret lab worlds --data data --worlds zero_one,sale --seeds 3

Examples:
  egret lab worlds --seeds 2 --decisions 1000
  egret lab worlds --worlds bowl_6,catalogue_2000 --seeds 2 --decisions 1000
  egret lab worlds --worlds price,click_rare --learners default,naive --seeds 2 --decisions 2000 --json";

/// Plays, writes, and tells.
pub fn worlds(args: &WorldsArgs) -> Result<String> {
    ensure!(
        !(args.quick
            && args.seeds.is_some()
            && args.decisions.is_some()
            && !args.worlds.is_empty()),
        "--quick has no effect where --worlds, --seeds and --decisions are given: leave it out"
    );
    threads(args.threads)?;
    // Before the data are read: what is to be installed is told at once.
    let libraries: Vec<PeerLibrary> = args.peers.iter().map(|of| of.library()).collect();
    let packages: Vec<&str> = (libraries.iter().flat_map(|of| of.packages()))
        .copied()
        .collect();
    let peers = match &libraries[..] {
        [] => None,
        libraries => Some(WorldPeers {
            python: PeerPython::new(&args.python, &packages)?,
            families: libraries.iter().flat_map(|of| of.families()).collect(),
        }),
    };
    let study = WorldStudy {
        worlds: chosen_worlds(&args.worlds, args.data.as_deref(), args.quick)?,
        learners: chosen_learners(&args.learners)?,
        peers,
        seeds: args.seeds.unwrap_or(if args.quick { 3 } else { 20 }),
        decisions: args.decisions.unwrap_or(20_000) as usize,
        decisions_beyond: args
            .decisions
            .unwrap_or(if args.quick { 4_000 } else { 20_000 }) as usize,
    };
    output::make_folder(&args.results)?;
    runs_are_kept(&args.results);
    let journal = Journal::open(&args.results.join("journal.jsonl"))?;
    let chosen = {
        let bar = StudyBar::new(
            "settings",
            args.format.for_machines() || study.peers.is_none(),
        );
        study.choose(Some(&journal), &bar)?
    };
    let records = {
        let bar = StudyBar::new("worlds", args.format.for_machines());
        study.run(&chosen, Some(&journal), &bar)?
    };
    let runs: Vec<RunRecord> = records.iter().map(|of| of.record.clone()).collect();
    write_results(&args.results.join("results.parquet"), &runs)?;
    let rows = study.rows(&chosen, &records);
    study.report(&chosen, &rows)?.write(&args.results)?;
    let mut sections = vec![study.section(&rows)];
    sections.extend(study.standing(&rows));
    let mut text = args
        .format
        .print(&json!({"worlds": rows}), &rows, &sections)?;
    if !args.format.for_machines() {
        let report = args.results.join("report.html");
        text += &format!("\nReport and figures: {}\n", report.display());
    }
    Ok(text)
}

/// Those that a quick run leaves out unless they are named: minutes each.
const SLOWEST: [&str; 3] = ["bowl_100", "catalogue_200000", "sets_3000"];

/// The worlds of these names, each once, in the order of the list; without a name, all.
fn chosen_worlds(names: &[String], data: Option<&Path>, quick: bool) -> Result<Vec<AnyWorld>> {
    let files = match data {
        Some(dir) => data_files(dir)?,
        None => Vec::new(),
    };
    let of_file = |file: &DataFile| {
        let set = file.set;
        DataOutcome::ALL.map(|outcome| (format!("{set}/{}", outcome.word()), outcome))
    };
    let tenths = |file: &DataFile| format!("{}/{}", file.set, TenthsWorld::WORD);
    let mut all: Vec<(&str, String)> = Vec::new();
    all.extend(NOISY_WORLDS.map(|world| ("intervals", world.name.to_owned())));
    all.extend(BOX_WORLDS.map(|world| ("boxes", world.name.to_owned())));
    all.extend(ItemWorld::NAMES.map(|name| ("items", name.to_owned())));
    all.extend(ListWorld::NAMES.map(|name| ("lists", name.to_owned())));
    all.extend(BudgetLoss::NAMES.map(|name| ("simplices", name.to_owned())));
    all.extend(DirectionLoss::NAMES.map(|name| ("spheres", name.to_owned())));
    all.push(("mixed", MixedKnobsLoss::NAME.to_owned()));
    all.extend(ExamplesLoss::NAMES.map(|name| ("sets", name.to_owned())));
    for file in &files {
        all.extend(of_file(file).map(|(name, _)| ("intervals", name)));
        all.push(("lists", tenths(file)));
    }
    let is = |(kind, name): &(&str, String), asked: &str| {
        *kind == asked || name == asked || name.split('/').any(|part| part == asked)
    };
    if let Some(unknown) = (names.iter()).find(|asked| !all.iter().any(|of| is(of, asked))) {
        let all: Vec<String> = all.into_iter().map(|(_, name)| name).collect();
        bail!(
            "--worlds: {unknown:?} is unknown; there are: intervals, boxes, items, lists, simplices, spheres, mixed, sets, {}",
            all.join(", ")
        );
    }
    let wanted = |kind: &'static str, name: &str| {
        let asked = |asked: &String| is(&(kind, name.to_owned()), asked);
        match names {
            [] => !(quick && SLOWEST.contains(&name)),
            names => names.iter().any(asked),
        }
    };
    let mut worlds: Vec<AnyWorld> = Vec::new();
    for world in NOISY_WORLDS {
        if wanted("intervals", world.name) {
            worlds.push(AnyWorld::Interval(Box::new(world)));
        }
    }
    for world in BOX_WORLDS {
        if wanted("boxes", world.name) {
            worlds.push(AnyWorld::Vectors(Box::new(world)));
        }
    }
    let items = ItemWorld::NAMES
        .into_iter()
        .filter(|name| wanted("items", name));
    for world in items.filter_map(ItemWorld::named) {
        worlds.push(AnyWorld::Items(Box::new(world)));
    }
    let lists = (ListWorld::NAMES.into_iter()).filter(|name| wanted("lists", name));
    for world in lists.filter_map(ListWorld::named) {
        worlds.push(AnyWorld::Items(Box::new(world)));
    }
    let named = |kind: &'static str, names: [&'static str; 2]| {
        let names = names.into_iter();
        names.filter(move |name| wanted(kind, name))
    };
    for loss in named("simplices", BudgetLoss::NAMES).filter_map(BudgetLoss::named) {
        worlds.push(AnyWorld::Vectors(Box::new(SpaceWorld(loss))));
    }
    for loss in named("spheres", DirectionLoss::NAMES).filter_map(DirectionLoss::named) {
        worlds.push(AnyWorld::Vectors(Box::new(SpaceWorld(loss))));
    }
    if wanted("mixed", MixedKnobsLoss::NAME) {
        worlds.push(AnyWorld::Mixed(Box::new(SpaceWorld(MixedKnobsLoss))));
    }
    for loss in named("sets", ExamplesLoss::NAMES).filter_map(ExamplesLoss::named) {
        worlds.push(AnyWorld::Sets(Box::new(SpaceWorld(loss))));
    }
    for file in &files {
        let outcomes = of_file(file)
            .into_iter()
            .filter(|(name, _)| wanted("intervals", name));
        let outcomes: Vec<DataOutcome> = outcomes.map(|(_, outcome)| outcome).collect();
        let with_tenths = wanted("lists", &tenths(file));
        if outcomes.is_empty() && !with_tenths {
            continue;
        }
        let data = Arc::new(file.read(&Encoding::default())?);
        for outcome in outcomes {
            let world = DataWorld::new(data.clone(), outcome);
            worlds.push(AnyWorld::Interval(Box::new(world)));
        }
        if with_tenths {
            worlds.push(AnyWorld::Items(Box::new(TenthsWorld::new(data))));
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
