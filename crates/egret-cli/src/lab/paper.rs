use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};
use egret_lab::paper::{
    COLUMNS, Findings, ITERATIONS, OfflineMethod, OfflineStudy, OnlineStudy, Subject, greedy_share,
    offline_rows, offline_tally, online_findings, report, simulated_sets, table_one, write_offline,
};
use egret_lab::{
    DataFolder, Encoding, Journal, LossFunction, OpenMl, OpenMlSettings, PAPER_SETS, PaperLearner,
    RunRecord, Supervised, SupervisedToBandit, write_results,
};
use egret_report::{Page, output};
use serde::Serialize;
use serde_json::{Value, json};

use crate::lab::{runs_are_kept, threads};
use crate::progress::StudyBar;
use crate::report_format::FormatArgs;

/// What of the paper is run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum What {
    /// Draws that beta takes, for every normalizer
    Table1,
    /// SmoothIGW and CappedIGW on every data set, paired by seed
    Online,
    /// What a network learns from the log of each
    Offline,
    /// How often SmoothIGW plays its greedy action
    Greedy,
    /// kappa_inf of 2, 4 and 24
    Kappa,
    /// Everything, in one report
    #[default]
    All,
}

impl What {
    fn name(self) -> &'static str {
        match self {
            Self::Table1 => "table1",
            Self::Online => "online",
            Self::Offline => "offline",
            Self::Greedy => "greedy",
            Self::Kappa => "kappa",
            Self::All => "all",
        }
    }
}

#[derive(Debug, Args)]
pub struct PaperArgs {
    /// Which part of the paper
    #[arg(value_enum, default_value_t)]
    what: What,
    /// Folder with the paper's data sets (Parquet, CSV or ARFF, named by OpenML id: 150_covertype.parquet)
    #[arg(long, value_name = "DIR", conflicts_with = "simulated")]
    data: Option<PathBuf>,
    /// Download from OpenML what is not in --data, into a cache
    #[arg(long, conflicts_with = "simulated")]
    openml: bool,
    /// Use only the cache of OpenML, no network
    #[arg(long, requires = "openml")]
    offline: bool,
    /// Three simulated problems in place of the paper's data, to see how it works
    #[arg(long)]
    simulated: bool,
    /// The folder for results; the same command resumes from there
    #[arg(long, value_name = "DIR", default_value = "egret-paper")]
    results: PathBuf,
    /// Seeds 1 to N [default: 30, quick: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    seeds: Option<u64>,
    /// Learn offline from the logs of seeds 1 to N only [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    offline_seeds: Option<u64>,
    /// The most decisions of a run [default: 80000, quick: 8000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(80..=10_000_000))]
    decisions: Option<u64>,
    /// A first report in two minutes: 3 seeds, 8,000 decisions
    #[arg(long)]
    quick: bool,
    /// Also CappedIGW with beta by the paper's own Algorithm 3, at kappa_inf = 4: some 60 times slower
    #[arg(long)]
    betting: bool,
    /// Threads; neither they nor interruptions change a digit [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_024))]
    threads: Option<u64>,
    #[command(flatten)]
    format: FormatArgs,
}

pub const EXAMPLES: &str = "\
With the paper's data sets in a folder, --data DIR --quick has a first report in two minutes, and --data DIR alone runs the whole
paper: 30 seeds, up to 80,000 decisions. Report (report.html), figures (SVG and PNG) and raw results (Parquet) are written to
--results; what is there already is not run again, so an interrupted command goes on where it was.

Examples:
  egret lab paper table1
  egret lab paper --quick --simulated
  egret lab paper online --quick --simulated --json";

impl PaperArgs {
    /// Refuses flags that say nothing of the part that is run.
    fn check(&self) -> Result<()> {
        let plays = self.what != What::Table1;
        let trains = matches!(self.what, What::Offline | What::Kappa | What::All);
        let normalizes = matches!(self.what, What::Online | What::Kappa | What::All);
        for (given, flag, heeded) in [
            (self.data.is_some(), "--data", plays),
            (self.openml, "--openml", plays),
            (self.simulated, "--simulated", plays),
            (self.seeds.is_some(), "--seeds", plays),
            (self.decisions.is_some(), "--decisions", plays),
            (self.offline_seeds.is_some(), "--offline-seeds", trains),
            (self.betting, "--betting", normalizes),
        ] {
            ensure!(
                !given || heeded,
                "{flag} has no effect on {}: leave it out",
                self.what.name()
            );
        }
        ensure!(
            !self.format.csv || self.what != What::All,
            "--csv prints one table, and there are several: name a part, as in `egret lab paper online --csv`"
        );
        Ok(())
    }

    fn subjects(&self) -> Vec<Subject> {
        match self.what {
            What::Table1 => vec![Subject::Table1],
            What::Online => vec![Subject::Online],
            What::Offline => vec![Subject::Offline],
            What::Greedy => vec![Subject::Greedy],
            What::Kappa => vec![Subject::Kappa],
            What::All => Subject::ALL.to_vec(),
        }
    }

    fn learners(&self) -> Vec<PaperLearner> {
        let mut learners = vec![PaperLearner::SmoothIgw];
        if self.what != What::Greedy {
            learners.extend([2.0, 4.0, 24.0].map(PaperLearner::mixture));
            learners.push(PaperLearner::EXACT);
            if self.betting {
                learners.push(PaperLearner::betting(4.0));
            }
        }
        learners
    }

    fn logs(&self) -> Vec<(PaperLearner, Vec<OfflineMethod>)> {
        use OfflineMethod::{CorrectIps, Direct, DoublyRobust, Ips};
        let mut logs = vec![
            (PaperLearner::SmoothIgw, vec![Direct, Ips]),
            (
                PaperLearner::mixture(4.0),
                vec![Direct, Ips, CorrectIps, DoublyRobust],
            ),
        ];
        if self.what != What::Kappa {
            logs.push((PaperLearner::EXACT, vec![Direct, Ips]));
        }
        if self.what != What::Offline {
            logs.extend([2.0, 24.0].map(|kappa| (PaperLearner::mixture(kappa), vec![Direct, Ips])));
        }
        logs
    }
}

/// Runs, writes, and tells.
pub fn paper(args: &PaperArgs) -> Result<String> {
    args.check()?;
    threads(args.threads)?;
    let subjects = args.subjects();
    let (seeds, decisions, trials) = if args.quick {
        (3, 8_000, 200)
    } else {
        (30, 80_000, 1_000)
    };
    let seeds = args.seeds.unwrap_or(seeds);
    let decisions = args.decisions.unwrap_or(decisions) as usize;
    let mut findings = Findings {
        size: (seeds, decisions),
        simulated: args.simulated,
        ..Findings::default()
    };
    // A part has a folder of its own, so that none writes over another's; what was run is kept for all.
    let folder = match args.what {
        What::All => args.results.clone(),
        what => args.results.join(what.name()),
    };
    output::make_folder(&folder)?;
    runs_are_kept(&args.results);
    let at = |name: &str| folder.join(name);
    let kept = |name: &str| args.results.join(name);
    if subjects.contains(&Subject::Table1) {
        findings.table = table_one(trials)?;
    }
    let has = |wanted: &[Subject]| subjects.iter().any(|subject| wanted.contains(subject));
    let sets = if has(&[
        Subject::Online,
        Subject::Offline,
        Subject::Greedy,
        Subject::Kappa,
    ]) {
        data_sets(args, &mut findings)?
    } else {
        Vec::new()
    };
    if has(&[Subject::Online, Subject::Greedy, Subject::Kappa]) {
        let study = OnlineStudy {
            sets: &sets,
            learners: args.learners(),
            seeds,
            decisions,
        };
        let journal = Journal::open(&kept("online.jsonl"))?;
        let bar = StudyBar::new("online", args.format.for_machines());
        let records = study.run(Some(&journal), &bar)?;
        write_results(&at("online.parquet"), &records)?;
        findings.online = online_findings(&study, records);
    }
    if has(&[Subject::Offline, Subject::Kappa]) {
        let study = OfflineStudy {
            sets: &sets,
            logs: args.logs(),
            seeds: args.offline_seeds.map_or(seeds, |most| most.min(seeds)),
            decisions,
        };
        let journal = Journal::open(&kept("offline.jsonl"))?;
        let bar = StudyBar::new("offline", args.format.for_machines());
        let records = study.run(Some(&journal), &bar)?;
        write_offline(&at("offline.parquet"), &records)?;
        findings.offline = offline_rows(&sets, &records);
    }
    let page = report(&findings, &subjects)?;
    page.write(&folder)?;
    let last = format!(
        "\nReport, figures and raw results: {}\n",
        at("report.html").display()
    );
    let whole = as_json(args.what, &findings);
    let figures = at("figures");
    let print = Printed {
        args,
        whole: &whole,
        page: &page,
        figures: &figures,
        last: &last,
    };
    match args.what {
        What::Table1 => print.with_rows(&findings.table),
        What::Online => print.with_rows(&findings.online.rows),
        What::Offline => print.with_rows(&findings.offline),
        What::Greedy => print.with_rows(&greedy_rows(&findings)),
        What::Kappa => print.with_rows(&kappa_rows(&findings)),
        What::All => print.with_rows::<Value>(&[]),
    }
}

/// What is printed of a part, but for the rows of its table.
struct Printed<'a> {
    args: &'a PaperArgs,
    whole: &'a Value,
    page: &'a Page,
    figures: &'a Path,
    last: &'a str,
}

impl Printed<'_> {
    fn with_rows<R: Serialize>(&self, rows: &[R]) -> Result<String> {
        let format = &self.args.format;
        if format.json {
            return Ok(format!("{:#}\n", self.whole));
        }
        format.print_page(self.whole, rows, self.page, self.figures, self.last)
    }
}

fn data_sets(args: &PaperArgs, findings: &mut Findings) -> Result<Vec<SupervisedToBandit>> {
    let data = if args.simulated {
        simulated_sets(args.decisions.unwrap_or(20_000) as usize)
    } else {
        ensure!(
            args.data.is_some() || args.openml,
            "the paper's data sets are needed: --data DIR names a folder with them (150_covertype.parquet, …), --openml fetches \
             them, and --simulated takes three simulated problems in their place"
        );
        papers_sets(args, findings)?
    };
    findings.datasets = data.iter().map(|set| set.name().to_owned()).collect();
    let bandit = |set| SupervisedToBandit::new(Arc::new(set), LossFunction::Absolute);
    Ok(data.into_iter().map(bandit).collect())
}

/// Those of the folder, those of OpenML, and the names of those that neither has.
fn papers_sets(args: &PaperArgs, findings: &mut Findings) -> Result<Vec<Supervised>> {
    let folder = args.data.as_deref().map(DataFolder::open).transpose()?;
    let client = || {
        let settings = OpenMlSettings::from_env()?;
        OpenMl::new(OpenMlSettings {
            offline: args.offline,
            ..settings
        })
    };
    let client = args.openml.then(client).transpose()?;
    let mut data = Vec::new();
    for set in PAPER_SETS {
        let mut files = folder.iter().flat_map(DataFolder::found);
        if let Some(file) = files.find(|file| file.set.id == set.id) {
            data.push(file.read(&Encoding::default())?);
        } else if let Some(client) = &client {
            let found = match set.task {
                Some(task) => client.task(task),
                None => client.data(set.id),
            };
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    findings.missing.push(format!("{set} ({error})"));
                    continue;
                }
            };
            // A task says what its label is.
            let target = set.target.filter(|_| set.task.is_none());
            let encoding = Encoding {
                target: target.map(str::to_owned),
                ..Encoding::default()
            };
            data.push(encoding.encode(&set.to_string(), &found.table)?);
        } else {
            findings.missing.push(set.to_string());
        }
    }
    let missing = findings.missing.join(", ");
    if data.is_empty() && args.openml {
        bail!(
            "none of the paper's data sets could be had: {}",
            findings.missing[0]
        );
    }
    ensure!(
        !data.is_empty(),
        "the folder has none of the paper's data sets: files are named by OpenML id, as 150_covertype.parquet"
    );
    if !args.format.for_machines() && !missing.is_empty() {
        eprintln!("not there, and so not run: {missing}; --openml fetches them");
    }
    Ok(data)
}

fn as_json(what: What, findings: &Findings) -> Value {
    match what {
        What::Table1 => json!(findings.table),
        What::Online => online_json(findings),
        What::Offline => offline_json(findings),
        What::Greedy => greedy_json(findings),
        What::Kappa => kappa_json(findings),
        What::All => json!({
            "table1": findings.table,
            "online": online_json(findings),
            "offline": offline_json(findings),
            "greedy": greedy_json(findings),
            "kappa": kappa_json(findings),
        }),
    }
}

fn online_json(findings: &Findings) -> Value {
    // The paper's own comparison is on top; the others are beneath.
    let mut tallies = findings.online.tallies.iter();
    let paper =
        tallies.find(|tally| tally.kappa_inf == Some(4.0) && tally.normalizer == Some("mixture"));
    let mut summary = json!(paper);
    if summary.is_null() {
        summary = json!({});
    }
    summary["all"] = json!(findings.online.tallies);
    json!({
        "results": findings.online.rows,
        "summary": summary,
        "missing": findings.missing,
        "simulated": findings.simulated,
    })
}

fn offline_json(findings: &Findings) -> Value {
    let tally = |column: &str| {
        let [wins, ties, losses] = offline_tally(&findings.offline, column);
        json!({"column": column, "wins": wins, "ties": ties, "losses": losses})
    };
    let columns: Vec<Value> = COLUMNS.iter().map(|column| tally(column.name)).collect();
    json!({
        "results": findings.offline,
        "summary": columns,
        "missing": findings.missing,
        "simulated": findings.simulated,
    })
}

/// The share of greedy actions at the iterations of the table; null where no run is so long.
fn greedy_rows(findings: &Findings) -> Vec<Value> {
    let share = |dataset: &String| {
        let at = |iteration: &u64| {
            let share = greedy_share(&findings.online.records, dataset, *iteration);
            json!({"iteration": iteration, "greedy": share})
        };
        let shares: Vec<Value> = ITERATIONS.iter().map(at).collect();
        json!({"dataset": dataset, "shares": shares})
    };
    findings.datasets.iter().map(share).collect()
}

fn greedy_json(findings: &Findings) -> Value {
    let rows = greedy_rows(findings);
    json!({"results": rows, "missing": findings.missing, "simulated": findings.simulated})
}

/// What the log of each run holds, and the losses.
fn kappa_rows(findings: &Findings) -> Vec<Value> {
    let logged = |record: &RunRecord| {
        json!({
            "dataset": record.environment,
            "learner": record.learner,
            "seed": record.seed,
            "loss": record.loss,
            "log": record.log,
        })
    };
    findings.online.records.iter().map(logged).collect()
}

fn kappa_json(findings: &Findings) -> Value {
    let runs = kappa_rows(findings);
    json!({"runs": runs, "offline": findings.offline, "missing": findings.missing, "simulated": findings.simulated})
}
