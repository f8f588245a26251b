use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use egret_jobs::audit::{AuditReport, AuditRequest, audit as run};
use egret_offline::TestRow;
use egret_report::numerals::thousands;
use egret_report::{Axis, ChartError, Colour, Line, LineChart, Picture, Section};

use crate::log_args::LogArgs;
use crate::plot::Plot;
use crate::progress::JobBar;
use crate::report_format::FormatArgs;

/// What `egret audit` is told.
#[derive(Debug, Args)]
pub struct AuditArgs {
    #[command(flatten)]
    log: LogArgs,
    /// A saved model; may be given many times
    #[arg(long = "model", value_name = "FILE")]
    models: Vec<PathBuf>,
    /// A folder of saved models (*.egret)
    #[arg(long = "models", value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Learn missing models from the log: the events that one model decided are the batch that makes the next
    #[arg(long)]
    relearn: bool,
    /// Replay only the first of every N decisions
    #[arg(long, value_name = "N", default_value_t = 1)]
    replay_every: u64,
    /// The probability with which a correct log ever raises an alarm
    #[arg(long, default_value_t = 0.01)]
    alpha: f64,
    /// No logged density can be smaller than this, whatever the action: shows densities that are too large
    #[arg(long, value_name = "P")]
    least_density: Option<f64>,
    #[command(flatten)]
    format: FormatArgs,
    /// The evidence over time (.svg, .png), or a page with the table too (.html)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// What `--help` adds.
pub const HELP: &str = "\
Logs are given in the order in which they were written.

Exit code: 0 if no fault is found, 3 if there is one, 1 if the log could not be read.

Examples, after `egret demo`:
  egret audit egret-demo/log.parquet
  egret audit egret-demo/log.parquet --model egret-demo/start.egret --relearn
  egret audit egret-demo/log.parquet --model egret-demo/start.egret \\
        --model egret-demo/halfway.egret --relearn --alpha 0.001 --plot evidence.html";

/// Audits the log: what to print, and whether a fault was found.
pub fn audit(args: &AuditArgs) -> Result<(String, bool)> {
    let plot = Plot::of(args.plot.as_deref())?;
    let outputs = [("--plot", args.plot.as_deref())];
    args.log
        .protect(&outputs, args.models.iter().map(PathBuf::as_path))?;
    ensure!(
        args.replay_every == 1 || !args.models.is_empty() || args.folder.is_some(),
        "--replay-every has no effect where nothing is replayed: give the models with --model FILE or --models FOLDER, or leave it out"
    );
    let request = AuditRequest {
        log: args.log.source(),
        models: args.models.clone(),
        model_folder: args.folder.clone(),
        relearn: args.relearn,
        replay_every: args.replay_every,
        alpha: args.alpha,
        least_density: args.least_density,
    };
    let report = run(
        &request,
        &JobBar::new("auditing", args.format.for_machines()),
    )?;
    if let Some(plot) = plot {
        let pictures = vec![("evidence", evidence(&report)?)];
        plot.write("egret audit", vec![section(&report)], pictures)?;
    }
    let findings = &report.findings;
    let tests: Vec<&TestRow> = findings.tests.iter().chain([&findings.together]).collect();
    let text = args.format.print(&report, &tests, &[section(&report)])?;
    Ok((text, report.findings.alarm))
}

fn section(report: &AuditReport) -> Section {
    let findings = &report.findings;
    let tests = findings.tests.iter().chain([&findings.together]);
    Section {
        title: format!("Verdict: {}", findings.verdict),
        before: format!(
            "E-values: what a gambler who bets against the hypothesis has made of 1. A correct log raises an alarm with\n\
             probability at most {}, however long it grows and however often one looks.",
            findings.alpha
        ),
        header: [
            "test",
            "hypothesis",
            "events",
            "e-value",
            "largest",
            "alarm at",
            "alarm after",
        ]
        .map(String::from)
        .to_vec(),
        words: 2,
        rows: tests.map(cells).collect(),
        after: remarks(report),
    }
}

fn cells(row: &TestRow) -> Vec<String> {
    vec![
        row.test.to_owned(),
        row.hypothesis.to_owned(),
        thousands(row.events as f64),
        e_value(row.e_value),
        e_value(row.largest),
        e_value(row.threshold),
        row.alarm_at
            .map_or("–".to_owned(), |at| thousands(at as f64)),
    ]
}

fn e_value(value: f64) -> String {
    if value < 1e-3 {
        format!("{value:.1e}")
    } else if value < 1_000.0 {
        format!("{value:.3}")
    } else {
        format!("{value:.2e}")
    }
}

fn remarks(report: &AuditReport) -> Vec<String> {
    let findings = &report.findings;
    let count = |n: u64| thousands(n as f64);
    let replay = &findings.replay;
    let mut lines = vec![format!(
        "Replay: {} decisions repeated, {} equal bit for bit, {} differ; {} had no model.",
        count(replay.replayed),
        count(replay.equal),
        count(replay.differing),
        count(replay.not_replayable),
    )];
    for (reason, events) in &replay.reasons {
        lines.push(format!("  {} events: {reason}.", count(*events)));
    }
    if 0 < replay.relearned {
        lines.push(format!(
            "  {} models were learned from the log.",
            count(replay.relearned)
        ));
    }
    let first = replay.first_differences.iter();
    for finding in first.chain(&findings.consistency.first) {
        let event = finding
            .event
            .map_or(String::new(), |event| format!(" (event {event})"));
        let seq = finding
            .seq
            .map_or(String::new(), |seq| format!(", seq {seq}"));
        lines.push(format!(
            "  Record {}{seq}{event}: {}.",
            finding.at, finding.what
        ));
    }
    if let Some(why) = &report.unchecked.why {
        lines.push(format!(
            "Consistency and proposals were not checked in {} events, which lack a number that this needs ({why}).",
            count(report.unchecked.events)
        ));
    }
    let proposals = &findings.proposals;
    if 0 < proposals.events {
        lines.push(format!(
            "Proposals: {:.1} on average, where tau/z makes {:.1}.",
            proposals.mean, proposals.expected
        ));
    }
    let sequence = &findings.sequence;
    lines.push(if sequence.numbered == 0 {
        "Sequence numbers: none, so a gap would not be seen.".to_owned()
    } else {
        format!(
            "Sequence numbers: {} missing, {} repeated or out of order.",
            count(sequence.missing),
            count(sequence.repeated)
        )
    });
    for (before, found) in &sequence.first {
        lines.push(format!("  After {before} comes {found}."));
    }
    let numbers = &findings.random_numbers;
    lines.push(if numbers.compared == 0 {
        "Random numbers: no record has seed and event, so reuse would not be seen.".to_owned()
    } else {
        format!(
            "Random numbers: of {} events compared, {} share those of an earlier one, {} of them in another context.",
            count(numbers.compared),
            count(numbers.reused + numbers.twice),
            count(numbers.reused)
        )
    });
    lines.push(format!(
        "Events: {}, of which {} are point masses and {} have no outcome.",
        count(findings.events),
        count(findings.point_masses),
        count(findings.without_loss)
    ));
    if 0 < report.apprentice {
        lines.push(format!(
            "{} events played the caller's own action and were left out.",
            count(report.apprentice)
        ));
    }
    if !findings.not_checked.is_empty() {
        lines.push("Not checked:".to_owned());
        let unmade = findings.not_checked.iter();
        lines.extend(unmade.map(|words| format!("  {words}.")));
    }
    if 0 < report.skipped {
        lines.push(format!(
            "Rows that are not records: {}.",
            count(report.skipped)
        ));
    }
    lines
}

/// Less evidence than this is not told apart, nor more than that.
const LEAST: f64 = 1e-4;
const MOST: f64 = 1e12;

/// The evidence of each test over the log, with the level of the alarm.
fn evidence(report: &AuditReport) -> Result<Picture, ChartError> {
    let findings = &report.findings;
    let points = &findings.history.points;
    let rows = findings.tests.iter().chain([&findings.together]);
    let lines = rows.enumerate().map(|(place, row)| {
        let together = place == findings.tests.len();
        Line {
            name: row.test.to_owned(),
            colour: if together {
                Colour::Black
            } else {
                Colour::nth(place)
            },
            points: points
                .iter()
                .filter_map(|(at, values)| {
                    Some((*at as f64, values.get(place)?.clamp(LEAST, MOST)))
                })
                .collect(),
            band: Vec::new(),
        }
    });
    let threshold = findings.together.threshold;
    let chart = LineChart {
        title: "Evidence that densities are wrong".to_owned(),
        subtitle: "E-values over the log".to_owned(),
        x: Axis::linear("events"),
        y: Axis::log("e-value"),
        lines: lines.collect(),
        reference: Some((threshold, format!("alarm at 1/α = {threshold}"))),
    };
    chart.draw()
}
