//! `egret ope`, also called `egret evaluate`: from flags to a request, from the report to a table and pictures.
//!
//! [`OpeArgs`] are the flags and [`ope`] runs them. `further` has the tables of parts, other outcomes and quantiles, `figures`
//! draws; the job itself is `egret_jobs::evaluate`.

mod figures;
mod further;

pub use figures::{ForestRow, forest};

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use egret::{Direction, Objective};
use egret_jobs::evaluate::{
    DistributionRow, EvaluateReport, EvaluateRequest, EvaluationRow, FurtherOutcome, PartsBy,
    Predictions, evaluate, rows_to_go_by,
};
use egret_jobs::{NamedPolicy, PointSource, PolicySpec};
use egret_offline::{Estimator, IntervalKind, VerdictKind, about};
use egret_report::Section;
use egret_report::numerals::{percent, thousands};
use serde::Serialize;

use crate::log_args::LogArgs;
use crate::plot::Plot;
use crate::progress::JobBar;
use crate::report_format::FormatArgs;

/// What `egret ope` is told.
#[derive(Debug, Args)]
pub struct OpeArgs {
    #[command(flatten)]
    log: LogArgs,
    /// Estimate how likely the log's actions were, where that was not logged: an assumption, never called reliable
    #[arg(long)]
    estimate_density: bool,
    /// A policy to evaluate; may be given many times (see below)
    #[arg(long = "policy", short, value_name = "POLICY", required = true)]
    policies: Vec<NamedPolicy>,
    /// ips, snips, clipped-ips, switch, dm, dr, sndr, drs; clipped-ips:5 sets a number that is tuned otherwise
    /// [default: snips,ips, and dr,sndr before them where predictions are known]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    estimators: Vec<Estimator>,
    /// normal, asymptotic, bootstrap, empirical-bernstein, betting (see below)
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAMES",
        default_value = "normal,betting"
    )]
    intervals: Vec<IntervalKind>,
    /// The probability with which an interval holds the value
    #[arg(long, default_value_t = 0.95)]
    level: f64,
    /// Intervals hold for all policies at once: use it to choose among them
    #[arg(long)]
    simultaneous: bool,
    /// Also report the difference of each policy to the one of this name; logged is the policy that made the log
    #[arg(long, value_name = "NAME")]
    against: Option<String>,
    /// Only events from this sequence number on: evaluate a model on events it has not learned from
    #[arg(long, value_name = "SEQ")]
    from_seq: Option<u64>,
    /// Only events before this sequence number
    #[arg(long, value_name = "SEQ")]
    to_seq: Option<u64>,
    /// Also evaluate each value of this field by itself: a field of contexts, or a column, such as a segment of customers
    #[arg(long, value_name = "FIELD")]
    by: Option<String>,
    /// Also evaluate each N events by themselves: how values move with time
    #[arg(long, value_name = "N", conflicts_with = "by")]
    window: Option<u64>,
    /// Also value another outcome of the same events, in its own units, as in returns=minimize:0,50; may be given many times
    #[arg(long = "outcome", value_name = "COLUMN=OBJECTIVE")]
    outcomes: Vec<FurtherOutcome>,
    /// Also report quantiles of the outcome under each policy: 0.5 is the median
    #[arg(long, value_delimiter = ',', value_name = "SHARES")]
    quantiles: Vec<f64>,
    /// Also report the mean of the worst share of outcomes, as in 0.1 (conditional value at risk)
    #[arg(long, value_delimiter = ',', value_name = "SHARES")]
    worst: Vec<f64>,
    /// Predictions of outcomes from a saved model, for dm, dr and their kin; it must not have learned from this log
    #[arg(long, value_name = "FILE", conflicts_with_all = ["predicted", "fit"])]
    model: Option<PathBuf>,
    /// Predictions of outcomes from a column, in the units of the log's outcomes
    #[arg(long, value_name = "COLUMN", conflicts_with = "fit")]
    predicted: Option<String>,
    /// Predictions of outcomes without a model at hand: each event is predicted by one that learns from the events before it
    #[arg(long)]
    fit: bool,
    /// The model that made the log, from before its first event: decisions are made again with it, which narrows betting
    /// intervals of dr; may be given many times
    #[arg(long, value_name = "FILE")]
    logged_by: Vec<PathBuf>,
    /// Weigh each event by tau/(tau + gamma), known before its action is drawn: less variance where gamma grows
    #[arg(long)]
    stabilize: bool,
    /// A known upper bound on importance weights; empirical-bernstein and betting on dr need it
    #[arg(long, value_name = "B")]
    weight_bound: Option<f64>,
    /// Resampled logs of the bootstrap [default: 200]
    #[arg(long, value_name = "N")]
    replicates: Option<usize>,
    /// How many draws of a policy its mean prediction is taken over [default: 16]
    #[arg(long, value_name = "N")]
    draws: Option<usize>,
    /// The seed of what is drawn for policies and of the bootstrap [default: 0]
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    format: FormatArgs,
    /// Show all columns: effective sample size, weights, how many more events would halve the interval
    #[arg(long)]
    wide: bool,
    /// A forest of the policies, or of the parts of --by and --window (.svg, .png); or a page with all of them, weights and
    /// confidence sequences (.html)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// What `--help` adds.
pub const HELP: &str = "\
Policies, each optionally as NAME=POLICY:
  uniform                            any action, by the reference measure
  logged                             the policy that made the log: every weight is 1
  best-of:m=16,model=FILE            the best of 16 draws by a saved model: as simple to serve as to evaluate
  smooth:tau=32,model=FILE           uniform over the best 1/32 of all actions by a saved model
  capped-igw:model=FILE[,tau=T][,gamma=G]
                                     CappedIGW with a saved model, at other settings
  column:NAME[,predicted=NAME]       densities dQ/dmu from a column of the log, and E_q f-hat from another
  kernel:action=NAME[,bandwidth=H|slope][,kernel=epanechnikov|gaussian]
  kernel:model=FILE[,...]            a deterministic policy (a column of actions, or a model's best action), smoothed
                                     with a kernel that is renormalized at the ends: the value is that of the smoothed
                                     policy. slope, the default, is the rule of Su, Srinath and Krishnamurthy (2020)

Intervals:
  normal               for large numbers of events, if weights have a variance
  asymptotic           likewise, and at all numbers at once: look and stop when you like
  bootstrap            likewise, at one number
  empirical-bernstein  at any one number, with a known bound on weights
  betting              at all numbers at once, for any weights

Each interval comes with a verdict: what it says, whether to rely on it, and what would help. Point masses have no density and count with weight 0.
A model must not have learned from the events that judge it: give the first that it has not seen with --from-seq.

Examples, after `egret demo`:
  egret ope egret-demo/log.parquet --policy uniform
  egret ope egret-demo/log.parquet -p blind=uniform -p best-of:m=16,model=egret-demo/halfway.egret \\
        --model egret-demo/halfway.egret --from-seq 10000 --stabilize --against blind --plot policies.html
  egret ope egret-demo/log.parquet -p uniform --model egret-demo/halfway.egret --from-seq 10000 \\
        --logged-by egret-demo/start.egret
  egret ope egret-demo/log.parquet -p uniform --against logged --by segment --quantiles 0.5,0.9
  egret ope egret-demo/log.parquet -p column:q_rule --estimators ips,snips --intervals betting --json";

/// Evaluates the policies and returns what to print.
pub fn ope(args: &OpeArgs) -> Result<String> {
    let plot = Plot::of(args.plot.as_deref())?;
    args.log.protect(&[("--plot", args.plot.as_deref())], [])?;
    let bar = JobBar::new("weighing events", args.format.for_machines());
    let report = evaluate(&request(args)?, &bar)?;
    drop(bar);
    if let Some(plot) = plot {
        let mut sections = vec![section(&report, true)];
        sections.extend(further::sections(&report, true));
        plot.write("egret ope", sections, figures::all(&report)?)?;
    }
    let mut sections = vec![section(&report, args.wide)];
    sections.extend(further::sections(&report, args.wide));
    let rows: Vec<&EvaluationRow> = [&report.rows, &report.parts, &report.outcomes]
        .into_iter()
        .flatten()
        .collect();
    let values = rows.into_iter().map(ReportRow::Value);
    let rows: Vec<ReportRow<'_>> = values
        .chain(report.distribution.iter().map(ReportRow::Distribution))
        .collect();
    args.format.print(&rows, &rows, &sections)
}

/// A row of the report for machines.
#[derive(Serialize)]
#[serde(untagged)]
enum ReportRow<'a> {
    Value(&'a EvaluationRow),
    Distribution(&'a DistributionRow),
}

fn request(args: &OpeArgs) -> Result<EvaluateRequest> {
    let model = match args.fit {
        true => Some(Predictions::Fit),
        false => args.model.clone().map(Predictions::Model),
    };
    let defaults = EvaluateRequest::default();
    ensure!(
        args.replicates.is_none() || args.intervals.contains(&IntervalKind::Bootstrap),
        "--replicates has no effect without the bootstrap: add --intervals bootstrap, or leave it out"
    );
    ensure!(
        args.draws.is_none() || model.is_some(),
        "--draws has no effect without predictions of a model: add --fit or --model FILE, or leave it out"
    );
    let predicted = model.is_some() || args.predicted.is_some();
    ensure!(
        !predicted
            || args.estimators.is_empty()
            || args
                .estimators
                .iter()
                .any(|estimator| estimator.needs_model()),
        "--fit, --model and --predicted have no effect on these --estimators: add dr or dm, or leave them out"
    );
    ensure!(
        args.logged_by.is_empty() || model.is_some(),
        "--logged-by narrows the betting intervals of dr, which needs predictions of a model: add --fit or --model FILE, or leave \
         it out"
    );
    ensure!(
        args.logged_by.is_empty()
            || (args.intervals.contains(&IntervalKind::Betting)
                && (args.estimators.is_empty() || args.estimators.contains(&Estimator::Dr))),
        "--logged-by has no effect without betting intervals of dr: add betting to --intervals and dr to --estimators, or leave it out"
    );
    ensure!(
        1 < args.policies.len()
            || args.against.as_ref() != args.policies.first().map(|policy| &policy.name),
        "--against compares policies, and there is one: add another with --policy"
    );
    ensure!(
        !args.simultaneous || 1 < args.policies.len(),
        "--simultaneous has no effect on one policy: add another with --policy, or leave it out"
    );
    let draws = |policy: &NamedPolicy| {
        !matches!(
            policy.policy,
            PolicySpec::Uniform
                | PolicySpec::Logged
                | PolicySpec::Column { .. }
                | PolicySpec::Kernel {
                    from: PointSource::Action(_),
                    ..
                }
        )
    };
    ensure!(
        args.seed.is_none()
            || model.is_some()
            || args.intervals.contains(&IntervalKind::Bootstrap)
            || args.policies.iter().any(draws),
        "--seed has no effect where nothing is drawn: these policies have known densities, and there is neither a bootstrap nor a \
         model; leave it out"
    );
    ensure!(
        !args.wide || !args.format.for_machines(),
        "--wide has no effect on --json and --csv, which have all columns"
    );
    Ok(EvaluateRequest {
        log: match args.estimate_density {
            true => args.log.source_with_estimated_densities()?,
            false => args.log.source(),
        },
        policies: args.policies.clone(),
        estimators: args.estimators.clone(),
        intervals: args.intervals.clone(),
        level: args.level,
        simultaneous: args.simultaneous,
        against: args.against.clone(),
        from_seq: args.from_seq,
        to_seq: args.to_seq,
        parts: match (&args.by, args.window) {
            (Some(field), _) => Some(PartsBy::Field(field.clone())),
            (None, window) => window.map(PartsBy::Window),
        },
        outcomes: args.outcomes.clone(),
        quantiles: args.quantiles.clone(),
        worst: args.worst.clone(),
        predictions: model.or_else(|| args.predicted.clone().map(Predictions::Column)),
        logged_by: args.logged_by.clone(),
        stabilize: args.stabilize,
        weight_bound: args.weight_bound,
        replicates: args.replicates.unwrap_or(defaults.replicates),
        draws: args.draws.unwrap_or(defaults.draws),
        seed: args.seed.unwrap_or(0),
        histograms: args.plot.is_some(),
    })
}

const HEADER: [&str; 5] = ["policy", "verdict", "by", "estimate", "low, high"];

/// What `--wide` adds.
const WIDE: [&str; 6] = [
    "events",
    "effective",
    "mean weight",
    "largest",
    "zero",
    "more events",
];

fn section(report: &EvaluateReport, wide: bool) -> Section {
    let simultaneous = report.rows.first().map_or(1, |row| row.simultaneous);
    let at_once = match simultaneous {
        1 => String::new(),
        values => format!(", for {values} values at once"),
    };
    let objective = report.objective;
    let noun = objective.noun();
    let (verb, better) = match objective.direction() {
        Direction::Maximize => ("earned", "more"),
        Direction::Minimize => ("lost", "less"),
    };
    let range = match objective {
        Objective::LOSS => String::new(),
        _ => format!(
            " (from {} to {}, {better} is better)",
            objective.low(),
            objective.high()
        ),
    };
    Section {
        title: format!("What other policies would have {verb}"),
        before: {
            let mut before = format!(
                "Mean {noun}{range}, with {} intervals{at_once}.",
                percent(report.level)
            );
            if wide {
                before += "\nEffective: the effective sample size. The mean weight should be 1. More events: until the interval is half as wide.";
            }
            before
        },
        header: HEADER
            .into_iter()
            .chain(WIDE.into_iter().filter(|_| wide))
            .map(String::from)
            .collect(),
        words: 3,
        rows: report
            .rows
            .iter()
            .map(|row| cells(row, objective.decimals(), wide))
            .collect(),
        after: remarks(report),
    }
}

fn cells(row: &EvaluationRow, digits: usize, wide: bool) -> Vec<String> {
    let mut cells = vec![
        row.policy.clone(),
        if row.verdict_kind == VerdictKind::Reliable {
            "reliable".to_owned()
        } else {
            "see below".to_owned()
        },
        format!("{}, {}", row.estimator, row.interval),
        point(row.estimate, digits),
        ends(row.low, row.high, digits),
    ];
    if wide {
        cells.extend([
            thousands(row.n as f64),
            thousands(row.ess),
            format!("{:.4}", row.mean_weight),
            format!("{:.1}", row.max_weight),
            percent(row.zero_share),
            row.more_events
                .map_or("–".to_owned(), |more| thousands(more as f64)),
        ]);
    }
    cells
}

/// An estimate, where there is one.
fn point(estimate: f64, digits: usize) -> String {
    match estimate.is_nan() {
        true => "–".to_owned(),
        false => format!("{estimate:.digits$}"),
    }
}

/// An interval, where there is one.
fn ends(low: f64, high: f64, digits: usize) -> String {
    match low.is_nan() {
        true => "none".to_owned(),
        false => format!("[{low:.digits$}, {high:.digits$}]"),
    }
}

/// The verdict on the row of each policy to go by and on all that are not reliable, notes on policies, then what the job has
/// to say.
fn remarks(report: &EvaluateReport) -> Vec<String> {
    let to_go_by = rows_to_go_by(&report.rows);
    let mut remarks = Vec::new();
    let mut reasons: Vec<(&str, &str)> = Vec::new();
    for row in &report.rows {
        let told = to_go_by.iter().any(|one| std::ptr::eq(*one, row));
        // One reason is said once of a policy.
        let mut openings = ["do not rely on it: ", "no interval: "].into_iter();
        let reason = openings.find_map(|opening| row.verdict.split_once(opening));
        let reason = reason.map(|(_, reason)| (row.policy.as_str(), reason));
        let known = reason.is_some_and(|reason| reasons.contains(&reason));
        reasons.extend(reason);
        if told || (row.verdict_kind != VerdictKind::Reliable && !known) {
            remarks.push(format!(
                "{} by {}, {}: {}.",
                row.policy, row.estimator, row.interval, row.verdict
            ));
        }
    }
    for row in &report.rows {
        let Some(note) = &row.note else { continue };
        let note = format!("{}: {note}.", row.policy);
        if !remarks.contains(&note) {
            remarks.push(note);
        }
    }
    // If it is what the first row estimates, by the interval of the row to go by: one number is enough.
    let of_policies = report.rows.chunk_by(|one, next| one.policy == next.policy);
    for (rows, row) in of_policies.zip(&to_go_by) {
        if let Some(events) = row.settles_after {
            remarks.push(format!(
                "{}: if the difference is what {} estimates, {} more events would settle it.",
                row.policy,
                rows[0].estimator,
                about(events)
            ));
        }
    }
    remarks.extend(report.remarks.iter().cloned());
    remarks
}
