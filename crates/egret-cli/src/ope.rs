mod by_columns;
mod by_records;
mod findings;
pub mod picture;
mod target_spec;
mod valuation;
mod weigher;
mod weights;

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use egret_offline::{Confidence, Estimator, IntervalKind, Plan};
use egret_report::output;

use self::target_spec::{NamedTarget, TARGETS, TargetSpec};
use crate::plot_kind::PlotKind;
use crate::spare_inputs::spare_inputs;

/// What `egret ope` is told.
#[derive(Debug, Args)]
pub struct OpeArgs {
    /// Logs: files of Parquet, JSON lines or dsjson, and folders of them
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,
    /// A policy to be valued; may be given many times (see below)
    #[arg(long = "target", short, value_name = "TARGET", required = true)]
    pub targets: Vec<NamedTarget>,
    /// ips, snips, clipped-ips, switch, dm, dr, sndr, drs; clipped-ips:5 sets a number that is tuned otherwise
    /// [default: ips,snips, and dr,sndr where predictions are known]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub estimators: Vec<Estimator>,
    /// normal, bootstrap, empirical-bernstein, betting
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAMES",
        default_value = "normal,betting"
    )]
    pub intervals: Vec<IntervalKind>,
    /// The probability with which an interval is to hold the value
    #[arg(long, default_value_t = 0.95)]
    pub level: f64,
    /// Intervals hold for all policies at once: to choose among them
    #[arg(long)]
    pub simultaneous: bool,
    /// Also the difference of each policy to the one of this name
    #[arg(long, value_name = "NAME")]
    pub against: Option<String>,
    /// Only events from this sequence number on: a model is to be valued on events it has not learned from
    #[arg(long, value_name = "SEQ")]
    pub from_seq: Option<u64>,
    /// Predictions of the loss from a saved model, for dm, dr and their kin; it must not have learned from this log
    #[arg(long, value_name = "FILE", conflicts_with = "fhat")]
    pub model: Option<PathBuf>,
    /// Predictions of the loss from a column
    #[arg(long, value_name = "COLUMN")]
    pub fhat: Option<String>,
    /// Count each event by tau/(tau + gamma), known before its action is drawn: steadier where gamma grows
    #[arg(long)]
    pub steady: bool,
    /// No weight is above this, you promise; empirical-bernstein and betting on dr need it
    #[arg(long, value_name = "B")]
    pub weight_bound: Option<f64>,
    /// Logs that the bootstrap draws
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub replicates: usize,
    /// Draws of a policy that its mean prediction is taken over
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub draws: usize,
    /// The seed of what is drawn for targets and of the bootstrap
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Go on past rows that are no records; keep them in this file
    #[arg(long, value_name = "FILE")]
    pub skip_bad: Option<PathBuf>,
    /// Print a JSON list and nothing else
    #[arg(long)]
    pub json: bool,
    /// A forest of the policies (.svg), or a page with the weights and the sequences too (.html)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

/// What `--help` adds.
pub fn help() -> String {
    format!("{TARGETS}\n\n{EXAMPLES}")
}

const EXAMPLES: &str = "\
Each number comes with a verdict: trust it, or why not. Point masses (atoms) have no density and count with weight 0.
A model must not have learned from the events that judge it: give the first that it has not seen with --from-seq.

Examples, after `egret demo`:
  egret ope egret-demo/exhaust.parquet --target uniform
  egret ope egret-demo/exhaust.parquet -t blind=uniform -t best-of:m=16,model=egret-demo/halfway.egret \\
        --model egret-demo/halfway.egret --from-seq 10000 --steady --against blind --plot policies.html
  egret ope egret-demo/exhaust.parquet -t column:q_rule --estimators ips,snips --intervals betting --json";

/// Values the policies and returns what to print.
pub fn ope(args: &OpeArgs) -> Result<String> {
    let plot = args.plot.as_deref().map(PlotKind::of).transpose()?;
    let request = Request::new(args)?;
    let quick = match request.columns_suffice() {
        true => by_columns::evaluate(&request)?,
        false => None,
    };
    let findings = match quick {
        Some(findings) => findings,
        None => by_records::evaluate(&request)?,
    };
    if let (Some(kind), Some(path)) = (plot, &args.plot) {
        let picture = match kind {
            PlotKind::Svg => findings.svg()?,
            PlotKind::Html => findings.html()?,
        };
        output::write(path, picture.as_bytes())?;
    }
    if args.json {
        Ok(findings.json()? + "\n")
    } else {
        Ok(findings.text())
    }
}

/// Events that were kept for the log with unequal probabilities would have to be weighed by them too.
fn same_pass_prob(before: &mut Option<f64>, found: f64) -> Result<()> {
    let first = *before.get_or_insert(found);
    ensure!(
        first == found,
        "events were kept for the log with unequal probabilities (passProb is {first} and {found}): value each part by itself"
    );
    Ok(())
}

/// The arguments, checked.
pub struct Request<'a> {
    args: &'a OpeArgs,
    plan: Plan,
    confidence: Confidence,
    /// The place of the target that others are compared with.
    against: Option<usize>,
}

impl<'a> Request<'a> {
    fn new(args: &'a OpeArgs) -> Result<Self> {
        let names: Vec<&str> = args.targets.iter().map(|target| &*target.name).collect();
        for (place, name) in names.iter().enumerate() {
            ensure!(
                !names[..place].contains(name),
                "two targets are called {name:?}: name them, as in one={name} and two={name}"
            );
        }
        let against = args
            .against
            .as_deref()
            .map(|wanted| {
                names
                    .iter()
                    .position(|name| *name == wanted)
                    .with_context(|| {
                        format!(
                            "--against {wanted}: no target has this name; there are {}",
                            names.join(", ")
                        )
                    })
            })
            .transpose()?;
        let predicted = args.model.is_some() || args.fhat.is_some();
        let mut estimators = args.estimators.clone();
        if estimators.is_empty() {
            estimators = vec![Estimator::Ips, Estimator::Snips];
            if predicted {
                estimators.extend([Estimator::Dr, Estimator::Sndr]);
            }
        }
        for estimator in &estimators {
            ensure!(
                predicted || !estimator.needs_model(),
                "{estimator} needs predictions of the loss: give a saved model with --model FILE, or a column with --fhat NAME"
            );
        }
        let simultaneous = if args.simultaneous {
            args.targets.len() as u64
        } else {
            1
        };
        let mut intervals = args.intervals.clone();
        let choosing = |target: &NamedTarget| target.spec.chooses_bandwidth();
        if args.targets.iter().any(choosing) && !intervals.contains(&IntervalKind::Normal) {
            // SLOPE goes by it; it is not reported.
            intervals.push(IntervalKind::Normal);
        }
        spare_inputs(
            &[
                ("--skip-bad", args.skip_bad.as_deref()),
                ("--plot", args.plot.as_deref()),
            ],
            args.logs.iter().map(PathBuf::as_path),
        )?;
        Ok(Self {
            args,
            plan: Plan {
                estimators,
                intervals,
                weight_bound: args.weight_bound,
                replicates: args.replicates,
                seed: args.seed,
            },
            confidence: Confidence::new(args.level)?.simultaneous(simultaneous),
            against,
        })
    }

    /// Whether all that is asked for is in columns of numbers: then no record has to be made.
    fn columns_suffice(&self) -> bool {
        let in_columns = |target: &NamedTarget| {
            matches!(target.spec, TargetSpec::Uniform | TargetSpec::Column { .. })
        };
        self.args.model.is_none()
            && self.args.from_seq.is_none()
            && self.args.skip_bad.is_none()
            && self.args.targets.iter().all(in_columns)
            && !(self.args.fhat.is_some()
                && self
                    .args
                    .targets
                    .iter()
                    .any(|target| target.spec == TargetSpec::Uniform))
    }

    /// Whether estimators use f̂.
    fn needs_predictions(&self) -> bool {
        self.plan
            .estimators
            .iter()
            .any(|estimator| estimator.needs_model())
    }
}
