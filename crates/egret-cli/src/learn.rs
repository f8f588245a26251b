use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use egret_jobs::train::{TrainReport, TrainRequest, train};
use egret_offline::Epoch;
use egret_report::numerals::percent;
use egret_report::{Axis, ChartError, Colour, Line, LineChart, Picture, Section, output};
use serde::Serialize;

use crate::plot::Plot;
use crate::progress::JobBar;
use crate::training_args::{
    MethodName, ORACLES, OracleText, TrainingArgs, TrainingLogArgs, counted, differing,
};

/// What `egret learn` is told.
#[derive(Debug, Args)]
pub struct LearnArgs {
    #[command(flatten)]
    log: TrainingLogArgs,
    /// Where the model goes
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// What predicts losses (see below)
    #[arg(long, default_value = "default", conflicts_with = "paper")]
    oracle: OracleText,
    /// What it is fitted to
    #[arg(long, value_enum, default_value = "ips", conflicts_with = "paper")]
    method: MethodName,
    /// The paper's offline protocol: a network by dm and by ips, events assigned at random, the better one kept
    #[arg(long)]
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
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// The validation of each epoch (.svg, .png), or a page with the figures too (.html)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

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
  egret learn egret-demo/log.parquet --paper -o paper.egret --json";

/// Learns, writes the model, and returns what to print.
pub fn learn(args: &LearnArgs) -> Result<String> {
    let plot = Plot::of(args.plot.as_deref())?;
    let outputs = [
        ("-o", Some(args.output.as_path())),
        ("--plot", args.plot.as_deref()),
    ];
    args.log.log.protect(&outputs, args.log.others())?;
    let request = request(args)?;
    let bar = JobBar::new("reading the log", args.json);
    let (model, report) = train(&request, &bar)?;
    drop(bar);
    output::write(&args.output, &model.save())?;
    if let Some(plot) = plot {
        plot.write("egret learn", section(args, &report), figures(&report)?)?;
    }
    Ok(if args.json {
        let report = WithModel {
            report: &report,
            model: &args.output,
        };
        serde_json::to_string(&report)? + "\n"
    } else {
        section(args, &report).text()
    })
}

/// What `--json` prints.
#[derive(Serialize)]
struct WithModel<'a> {
    #[serde(flatten)]
    report: &'a TrainReport,
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
    Section {
        title: format!("{}: best after epoch {}", report.name, report.best_epoch),
        before: format!(
            "{}; {} to train on, {} to stop by, {} to judge by",
            counted(&report.counts),
            report.train,
            report.validation,
            report.test
        ),
        header: ["epoch", "validation error", &when_served(report)]
            .map(String::from)
            .to_vec(),
        words: 0,
        rows: shown
            .map(|epoch| {
                vec![
                    epoch.epoch.to_string(),
                    number(epoch.validation.squared_error, 6),
                    number(epoch.validation.value, report.objective.decimals()),
                ]
            })
            .collect(),
        after: [
            Some(tested(report)),
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
        interval.n,
        tested.estimate,
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
            x: Axis::linear("epoch"),
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
