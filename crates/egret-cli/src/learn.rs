use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use egret::Objective;
use egret_jobs::go_on::{self as online, GoOnRequest};
use egret_jobs::train::{TrainReport, TrainRequest, train};
use egret_offline::Epoch;
use egret_report::numerals::{percent, short, thousands};
use egret_report::{Axis, ChartError, Colour, Line, LineChart, Picture, Section, output};
use serde::Serialize;

use crate::interrupt;
use crate::plot::Plot;
use crate::progress::JobBar;
use crate::report_format::FormatArgs;
use crate::training_args::{
    ESTIMATED, MethodName, ORACLES, OracleText, TrainingArgs, TrainingLogArgs, WARM_START, counted,
    differing,
};
use crate::written::{output_path, told};

/// What `egret learn` is told.
#[derive(Debug, Args)]
pub struct LearnArgs {
    #[command(flatten)]
    log: TrainingLogArgs,
    /// Where the model goes
    #[arg(short, long, value_name = "FILE", value_parser = output_path())]
    output: PathBuf,
    /// What predicts losses (see below)
    #[arg(long, default_value = "default", conflicts_with = "paper")]
    oracle: OracleText,
    /// What it is fitted to
    #[arg(long, value_enum, default_value = "ips", conflicts_with = "paper")]
    method: MethodName,
    /// Go on from this model: it learns the events once, in their order, as it would have online
    #[arg(long = "continue", value_name = "MODEL", conflicts_with_all = NOT_ONLINE)]
    start: Option<PathBuf>,
    /// The paper's offline protocol: a network by dm and by ips, events assigned at random, the better one kept
    #[arg(long, conflicts_with_all = NOT_OF_THE_PAPER)]
    paper: bool,
    #[command(flatten)]
    training: TrainingArgs,
    /// Keep the state of training in this folder after each epoch
    #[arg(long, value_name = "DIR", conflicts_with = "paper")]
    checkpoint: Option<PathBuf>,
    /// Go on from the state in the folder of --checkpoint, to the same model as without a break
    #[arg(long, requires = "checkpoint")]
    resume: bool,
    /// The probability with which the interval on test rows holds the value
    #[arg(long, default_value_t = 0.95)]
    level: f64,
    #[command(flatten)]
    format: FormatArgs,
    /// The validation of each epoch (.svg, .png), or a page with the figures too (.html)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Flags that say nothing of the paper's protocol, which settles them.
const NOT_OF_THE_PAPER: [&str; 11] = [
    "clip",
    "count_point_masses",
    "folds",
    "batch",
    "steps",
    "epochs",
    "patience",
    "criterion",
    "policy",
    "split",
    "shuffle",
];

/// Flags that say nothing of a model that goes on learning.
const NOT_ONLINE: [&str; 21] = [
    "estimate_density",
    "oracle",
    "method",
    "paper",
    "checkpoint",
    "resume",
    "level",
    "plot",
    "features",
    "embeddings",
    "clip",
    "count_point_masses",
    "folds",
    "steps",
    "epochs",
    "patience",
    "criterion",
    "policy",
    "split",
    "shuffle",
    "seed",
];

/// What `--help` adds.
pub fn help() -> String {
    format!("{ORACLES}\n\n{EXAMPLES}")
}

const EXAMPLES: &str = "\
The log is read into memory. Early stopping watches the method's squared error on validation rows (--criterion error).
The value is of the model as it would be served (--serve), estimated from densities.

Examples, after `egret demo`:
  egret learn egret-demo/log.parquet -o model.egret
  egret learn egret-demo/log.parquet --oracle argmin:hidden=16x16 --method dr --patience 3 \\
        --checkpoint training -o model.egret --plot training.svg
  egret learn egret-demo/log.parquet --paper -o paper.egret --json
  egret learn egret-demo/log.parquet --continue egret-demo/start.egret -o later.egret";

/// Learns, writes the model, and returns what to print.
pub fn learn(args: &LearnArgs) -> Result<String> {
    let plot = Plot::of(args.plot.as_deref())?;
    let outputs = [
        ("-o", Some(args.output.as_path())),
        ("--plot", args.plot.as_deref()),
    ];
    args.log.log.protect(&outputs, args.log.others())?;
    if let Some(start) = &args.start {
        return go_on(args, start);
    }
    args.training
        .check(&[args.method], std::slice::from_ref(&args.oracle))?;
    let request = request(args)?;
    let (checkpoint, paper) = (request.checkpoint.clone(), args.paper);
    interrupt::keeps(move || left_behind(checkpoint.as_deref(), paper));
    let bar = JobBar::new("reading the log", args.format.for_machines());
    let (model, report) = train(&request, &bar)?;
    drop(bar);
    output::write(&args.output, &model.save())?;
    let mut section = section(args, &report);
    let spec = model.spec();
    let featureless = match &spec.features {
        Some(schema) => schema.fields().next().is_none(),
        None => spec.context_dim == 0,
    };
    if featureless {
        let why = "The log has no features, so the model decides alike for all: name their columns with --context.";
        section.after.insert(0, why.to_owned());
    }
    if let Some(plot) = plot {
        plot.write("egret learn", vec![section.clone()], figures(&report)?)?;
    }
    let whole = WithModel {
        report: &report,
        model: &args.output,
    };
    let text = args.format.print(&whole, &report.epochs, &[section])?;
    Ok(told(&args.output, text))
}

/// What an interrupted training leaves.
fn left_behind(checkpoint: Option<&Path>, paper: bool) -> String {
    let words = match checkpoint {
        Some(file) if file.exists() => {
            let file = file.display();
            return format!(
                "no model was written, but the state after the last whole epoch is in {file}: the same command with --resume \
                 goes on from there"
            );
        }
        Some(_) => "no epoch was whole yet, so nothing was kept: run the same command again",
        None if paper => "no model was written: run the same command again",
        None => {
            "no model was written; with --checkpoint DIR the state is kept after each epoch, and --resume goes on from it"
        }
    };
    words.to_owned()
}

/// Learns from a model on, writes what it became, and returns what to print.
fn go_on(args: &LearnArgs, start: &Path) -> Result<String> {
    let request = GoOnRequest {
        model: start.to_owned(),
        log: args.log.log.source(),
        batch: args.training.batch,
    };
    let before = start.display().to_string();
    interrupt::keeps(move || {
        format!("no model was written, and {before} is as it was: run the same command again")
    });
    let bar = JobBar::new("learning", args.format.for_machines());
    let (model, report) = online::go_on(&request, &bar)?;
    drop(bar);
    output::write(&args.output, &model.save())?;
    let told_of = |text: String| Ok(told(&args.output, text));
    if args.format.for_machines() {
        let model = &args.output;
        let whole = WithModel {
            report: &report,
            model,
        };
        return told_of(args.format.print(&whole, &[&whole], &[])?);
    }
    let mut text = format!(
        "{}, learned once in {} batches, after {} batches before.\nIts predictions, each before its event was learned, were off by \
         {} {} (root mean square).\n",
        counted(&report.counts),
        thousands(report.batches_learned as f64),
        thousands(report.batches_before as f64),
        short(report.error),
        if report.objective == Objective::LOSS {
            "of loss"
        } else {
            "in the units of the outcome"
        },
    );
    if report.counts.point_masses == report.counts.used {
        text += &format!("{WARM_START}\n");
    }
    text.extend(differing(report.features.as_ref()).map(|remark| remark + "\n"));
    text += &format!("The model is in {}.\n", args.output.display());
    told_of(text)
}

/// What `--json` prints.
#[derive(Serialize)]
struct WithModel<'a, R> {
    #[serde(flatten)]
    report: R,
    model: &'a PathBuf,
}

fn request(args: &LearnArgs) -> Result<TrainRequest> {
    let checkpoint = match &args.checkpoint {
        None => None,
        Some(folder) => {
            fs::create_dir_all(folder).with_context(|| {
                let folder = folder.display();
                format!("cannot make the folder {folder}: name one that can be written")
            })?;
            Some(folder.join("training.checkpoint"))
        }
    };
    Ok(TrainRequest {
        from: args.log.source()?,
        candidate: args.training.candidate(&args.oracle, args.method),
        paper: args.paper,
        split: args.training.split()?,
        seed: args.training.seed,
        level: args.level,
        checkpoint,
        resume: args.resume,
    })
}

/// Epochs of the model itself, without those of first fits.
fn own_epochs(report: &TrainReport) -> Vec<&Epoch> {
    let epochs = report.epochs.iter();
    epochs.filter(|epoch| epoch.fold.is_none()).collect()
}

fn section(args: &LearnArgs, report: &TrainReport) -> Section {
    let number = |value: Option<f64>, digits: usize| {
        value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let own = own_epochs(report);
    // Those around the best tell the story.
    let shown = own.iter().filter(|epoch| {
        epoch.epoch <= 3
            || report.best_epoch.abs_diff(epoch.epoch) <= 3
            || epoch.epoch == own.len() as u32
    });
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut before = 0;
    for epoch in shown {
        if before + 1 < epoch.epoch {
            rows.push(vec!["…".to_owned(); 3]);
        }
        before = epoch.epoch;
        rows.push(vec![
            epoch.epoch.to_string(),
            number(epoch.validation.squared_error, 6),
            number(epoch.validation.value, report.objective.decimals()),
        ]);
    }
    Section {
        title: format!("{}: best after epoch {}", report.name, report.best_epoch),
        before: format!(
            "{}; {} to train on, {} to stop by, {} to judge by",
            counted(&report.counts),
            thousands(report.train as f64),
            thousands(report.validation as f64),
            thousands(report.test as f64)
        ),
        header: ["epoch", "validation error", &when_served(report)]
            .map(String::from)
            .to_vec(),
        words: 0,
        rows,
        after: [
            Some(tested(report)),
            args.log.estimate_density.then(|| ESTIMATED.to_owned()),
            (report.counts.point_masses == report.counts.used).then(|| WARM_START.to_owned()),
            differing(report.features.as_ref()),
            Some(format!("The model is in {}.", args.output.display())),
        ]
        .into_iter()
        .flatten()
        .collect(),
    }
}

fn when_served(report: &TrainReport) -> String {
    format!("estimated {} when served", report.objective.noun())
}

fn tested(report: &TrainReport) -> String {
    let (noun, digits) = (report.objective.noun(), report.objective.decimals());
    let Some(tested) = &report.tested else {
        return format!(
            "No test event has weight under its policy, so its mean {noun} was not estimated."
        );
    };
    let interval = &tested.interval;
    format!(
        "Served as {}, its mean {noun} on {} test events is {:.digits$}, in {} with confidence {}: {}. The effective sample size is {:.0}.",
        report.policy,
        thousands(interval.n as f64),
        // Where bets made the interval, the value that they speak least against: the other may lie outside it.
        interval.estimate,
        interval.ends(digits),
        percent(interval.level),
        interval.verdict.words,
        interval.ess,
    )
}

/// The squared error and the value on validation rows, epoch by epoch.
fn figures(report: &TrainReport) -> Result<Vec<(&'static str, Picture)>, ChartError> {
    let own = own_epochs(report);
    let served = format!("Estimated {} when served", report.objective.noun());
    let mut pictures = Vec::new();
    for (name, title, of, colour) in [
        (
            "error",
            "Squared error on validation events",
            (|epoch| epoch.validation.squared_error) as fn(&Epoch) -> Option<f64>,
            Colour::Blue,
        ),
        (
            "value",
            &*served,
            |epoch| epoch.validation.value,
            Colour::Vermilion,
        ),
    ] {
        let points: Vec<(f64, f64)> = own
            .iter()
            .filter_map(|epoch| Some((f64::from(epoch.epoch), of(epoch)?)))
            .collect();
        if points.is_empty() {
            continue;
        }
        let chart = LineChart {
            title: title.to_owned(),
            x: Axis::whole("epoch"),
            y: Axis::linear(title.to_lowercase()),
            lines: vec![Line {
                name: report.name.clone(),
                colour,
                points,
                band: Vec::new(),
            }],
            ..LineChart::default()
        };
        pictures.push((name, chart.draw()?));
    }
    Ok(pictures)
}
