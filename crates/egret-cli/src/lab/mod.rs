mod compare;
mod paper;
mod peers;
mod run;
mod worlds;

use std::path::Path;

use anyhow::{Context as _, Result};
use clap::Subcommand;
use egret_lab::{LearnerComparison, LearnerResult};
use serde::Serialize;

use crate::interrupt;

/// Experiments: the paper's, and your own.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Run the paper's experiments again: tables, figures, one report with verdicts
    ///
    /// SmoothIGW and CappedIGW on the paper's data sets, paired by seed; learning from their logs; the normalizers. Each
    /// figure comes with the paper's claim, what was measured, and whether they agree.
    #[command(after_help = paper::EXAMPLES)]
    Paper(paper::PaperArgs),
    /// Run your own experiment: data, learners, seeds
    ///
    /// A TOML file describes it; errors name the line and the valid values.
    #[command(after_help = run::EXAMPLES)]
    Run(run::RunArgs),
    /// Compare saved results: tables and pictures, paired by seed
    #[command(after_help = compare::EXAMPLES)]
    Compare(compare::CompareArgs),
    /// Play beside learners of other libraries, on the same rounds: loss and time per decision
    #[command(after_help = peers::EXAMPLES)]
    Peers(peers::PeersArgs),
    /// Play in noisy worlds whose truth is known: sales, rare clicks, late outcomes, a world that moves
    ///
    /// Of each learner the share of what is possible, loss over time, effective events for the uniform policy, and time.
    #[command(after_help = worlds::EXAMPLES)]
    Worlds(worlds::WorldsArgs),
}

/// Runs one of them and gives what is to be printed.
pub fn lab(command: &LabCommand) -> Result<String> {
    match command {
        LabCommand::Paper(args) => paper::paper(args),
        LabCommand::Run(args) => run::run(args),
        LabCommand::Compare(args) => compare::compare(args),
        LabCommand::Peers(args) => peers::peers(args),
        LabCommand::Worlds(args) => worlds::worlds(args),
    }
}

/// What a learner came to on a problem, as a line of a table.
#[derive(Serialize)]
struct ResultRow<'a> {
    problem: &'a str,
    decisions: u64,
    #[serde(flatten)]
    result: &'a LearnerResult,
}

fn result_rows(comparison: &LearnerComparison) -> Vec<ResultRow<'_>> {
    let mut rows = Vec::new();
    for problem in &comparison.problems {
        rows.extend(problem.results.iter().map(|result| ResultRow {
            problem: &problem.name,
            decisions: problem.decisions,
            result,
        }));
    }
    rows
}

/// What an interruption leaves of a study that keeps a journal of its runs.
fn runs_are_kept(results: &Path) {
    let results = results.display().to_string();
    interrupt::keeps(move || {
        format!("every run that was done is kept in {results}: the same command goes on from there")
    });
}

/// Work is done on so many threads, or on as many as there are cores.
fn threads(count: Option<u64>) -> Result<()> {
    let Some(count) = count else { return Ok(()) };
    rayon::ThreadPoolBuilder::new()
        .num_threads(count as usize)
        .build_global()
        .context("threads could not be started")
}
