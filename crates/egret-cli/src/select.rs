use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use egret_jobs::select::{SelectReport, SelectRequest, select as run};
use egret_jobs::train::CandidateRequest;
use egret_report::numerals::thousands;
use egret_report::{Section, output};

use crate::evaluate::{ForestRow, forest};
use crate::interrupt;
use crate::plot::Plot;
use crate::progress::JobBar;
use crate::report_format::FormatArgs;
use crate::training_args::{
    ESTIMATED, MethodName, OF_A_CANDIDATE, ORACLES, OracleText, TrainingArgs, TrainingLogArgs,
    counted, differing,
};
use crate::written::{output_path, told};

/// What `egret select` is told.
#[derive(Debug, Args)]
pub struct SelectArgs {
    #[command(flatten)]
    log: TrainingLogArgs,
    /// Where the winner goes
    #[arg(short, long, value_name = "FILE", value_parser = output_path())]
    output: PathBuf,
    /// An oracle to try, each with each method; may be given many times (see below) [default: default, ridge, fourier]
    #[arg(long, value_name = "ORACLE")]
    oracle: Vec<OracleText>,
    /// Methods to try
    #[arg(long, value_enum, value_delimiter = ',', default_value = "dm,ips,dr")]
    method: Vec<MethodName>,
    /// Candidates in a file in place of flags: a JSON list (see below)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["oracle", "method"], conflicts_with_all = OF_A_CANDIDATE)]
    candidates: Option<PathBuf>,
    #[command(flatten)]
    training: TrainingArgs,
    /// The probability with which all intervals hold at once
    #[arg(long, default_value_t = 0.95)]
    level: f64,
    /// The model that made the log, from before its first event: decisions of held-out events are made again with it, which narrows
    /// betting intervals; may be given many times
    #[arg(long, value_name = "FILE")]
    logged_by: Vec<PathBuf>,
    #[command(flatten)]
    format: FormatArgs,
    /// A forest of the candidates (.svg, .png), or a page with the table too (.html)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// What `--help` adds.
pub fn help() -> String {
    format!("{ORACLES}\n\n{EXAMPLES}")
}

const EXAMPLES: &str = "\
Candidates are trained on the first part of the log and judged on the last, so that each is fixed before the events
that judge it. Intervals hold for all candidates at once: normal ones where they can be relied on, and else by betting,
which holds for all weights and is wider. A candidate is called worse than the winner only where the interval of their
difference shows it at the same level; else it looks worse, or is a tie.

A file of candidates is a list such as
  [{\"oracle\": {\"least_squares\": {\"forecaster\": \"ridge\", \"lambda\": 1.0, \"squares\": true}},
    \"method\": {\"clipped_ips\": {\"cap\": 5.0, \"point_masses\": \"leave_out\"}}},
   {\"oracle\": null, \"method\": \"direct_method\", \"epochs\": 10}]

Examples, after `egret demo`:
  egret select egret-demo/log.parquet -o best.egret
  egret select egret-demo/log.parquet --oracle argmin --oracle ridge --method dm,dr --split 0.5,0.1,0.4 \\
        -o best.egret --plot candidates.html";

/// Selects, writes the winner, and returns what to print.
pub fn select(args: &SelectArgs) -> Result<String> {
    let plot = Plot::of(args.plot.as_deref())?;
    let outputs = [
        ("-o", Some(args.output.as_path())),
        ("--plot", args.plot.as_deref()),
    ];
    let others = args.log.others().chain(args.candidates.as_deref());
    let others = others.chain(args.logged_by.iter().map(PathBuf::as_path));
    args.log.log.protect(&outputs, others)?;
    if args.candidates.is_none() {
        args.training.check(&args.method, &oracles(args))?;
    }
    let request = SelectRequest {
        from: args.log.source()?,
        candidates: candidates(args)?,
        split: args.training.split()?,
        logged_by: args.logged_by.clone(),
        seed: args.training.seed,
        level: args.level,
    };
    interrupt::keeps(|| {
        "no model was written, and candidates begin anew: run the same command again, or with fewer of them".to_owned()
    });
    let bar = JobBar::new("reading the log", args.format.for_machines());
    let (model, report) = run(&request, &bar)?;
    drop(bar);
    output::write(&args.output, &model.save())?;
    if let Some(plot) = plot {
        let rows: Vec<ForestRow<'_>> = report
            .candidates
            .iter()
            .map(|row| ForestRow {
                label: row.candidate.clone(),
                series: if row.winner { "kept" } else { "others" },
                values: (row.low, row.estimate, row.high),
                note: row.standing.words(),
            })
            .collect();
        let chart = forest(
            "Candidates on held-out events",
            report.objective,
            &rows,
            args.level,
        );
        let pictures = vec![("candidates", chart.draw()?)];
        plot.write("egret select", vec![section(args, &report)], pictures)?;
    }
    let candidates = &report.candidates;
    let text = args
        .format
        .print(candidates, candidates, &[section(args, &report)])?;
    Ok(told(&args.output, text))
}

fn candidates(args: &SelectArgs) -> Result<Vec<CandidateRequest>> {
    if let Some(file) = &args.candidates {
        return read_candidates(file);
    }
    let mut candidates = Vec::new();
    for oracle in &oracles(args) {
        for &method in &args.method {
            candidates.push(args.training.candidate(oracle, method));
        }
    }
    Ok(candidates)
}

/// The oracles to try.
fn oracles(args: &SelectArgs) -> Vec<OracleText> {
    if !args.oracle.is_empty() {
        return args.oracle.clone();
    }
    let texts = ["default", "ridge", "fourier"].into_iter();
    let oracle = |text: &str| text.parse().expect("the text of an oracle");
    texts.map(oracle).collect()
}

fn read_candidates(file: &Path) -> Result<Vec<CandidateRequest>> {
    let name = file.display();
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
    let candidates: Vec<CandidateRequest> = serde_json::from_str(&text).with_context(|| {
        format!("{name} is no list of candidates: `egret select --help` shows one")
    })?;
    ensure!(!candidates.is_empty(), "{name} has no candidate");
    Ok(candidates)
}

fn section(args: &SelectArgs, report: &SelectReport) -> Section {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.5}"));
    let [train, validation, test] = report.parts.map(|events| thousands(events as f64));
    let digits = report.objective.decimals();
    let rows = report.candidates.iter().map(|row| {
        vec![
            row.candidate.clone(),
            row.standing.words().to_owned(),
            row.verdict.clone(),
            number(row.validation.squared_error),
            format!("{:.digits$}", row.estimate),
            format!("{:.digits$}", row.low),
            format!("{:.digits$}", row.high),
        ]
    });
    Section {
        title: format!("{} candidates", report.candidates.len()),
        before: format!(
            "{}; {train} to train on, {validation} to stop by, {test} to judge by",
            counted(&report.counts)
        ),
        header: [
            "candidate",
            "standing",
            "verdict on the interval",
            "validation error",
            &format!("mean {}", report.objective.noun()),
            "low",
            "high",
        ]
        .map(String::from)
        .to_vec(),
        words: 3,
        rows: rows.collect(),
        after: [
            Some(format!("{}.", report.sentence)),
            args.log.estimate_density.then(|| ESTIMATED.to_owned()),
            differing(report.features.as_ref()),
            Some(
                "A validation error is squared and of the method's own making: compare it within a method only."
                    .to_owned(),
            ),
            Some(format!("The winner is in {}.", args.output.display())),
        ]
        .into_iter()
        .flatten()
        .collect(),
    }
}
