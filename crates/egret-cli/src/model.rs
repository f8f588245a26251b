//! `egret model`: begins models, changes their catalogues, and looks into saved ones.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use egret::{AnyAction, Context, Objective, Space};
use egret_jobs::create::{CreateRequest, create};
use egret_jobs::decide::ContextSource;
use egret_jobs::describe::{Curve, DescribeRequest, ModelDescription, describe};
use egret_jobs::items::{ChangeItemsRequest, change_items};
use egret_report::numerals::{short, thousands};
use egret_report::{Axis, Colour, Line, LineChart, Picture, Section, output};
use serde::Serialize;

use crate::plot::Plot;
use crate::protect_inputs::protect_inputs;
use crate::report_format::FormatArgs;
use crate::training_args::{OracleText, read_schema};
use crate::written::{output_path, told};

/// What `egret model` is told.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// Begin a model without a log: it decides at random, and `egret learn --continue` teaches it
    #[command(after_help = NEW_EXAMPLES)]
    New(NewArgs),
    /// Add and remove items of a model's catalogue: the others keep their numbers, and what was learned stays
    #[command(after_help = ITEMS_EXAMPLES)]
    Items(ItemsArgs),
    /// Show space, features, objective, settings, what it learned from, and what it predicts
    #[command(after_help = EXAMPLES)]
    Show(ShowArgs),
}

const EXAMPLES: &str = "\
Examples, after `egret demo`:
  egret model show egret-demo/model.egret
  egret model show egret-demo/model.egret --contexts egret-demo/customers.csv --curves 4 --plot curves.svg";

const NEW_EXAMPLES: &str = "\
Give it contexts as they will come (--contexts), and it has their features by name. Say what outcomes are (--objective),
and predictions are in those units.

Examples, after `egret demo`:
  egret model new --space interval:5,50 --objective maximize:0,50 --contexts egret-demo/customers.csv -o new.egret
  egret model new --space box:1,16,1,64 --objective minimize:0,250,clip -o knobs.egret";

const ITEMS_EXAMPLES: &str = "\
The catalogue then has a new version, which decisions are logged with. Logs of earlier versions can still be learned
from (`egret learn --continue`), and removed items are never decided again.

With a model over films:
  egret model items films.egret --add new-films.csv -o films.egret
  egret model items films.egret --remove 7,512 -o films.egret";

/// What `egret model items` is told.
#[derive(Debug, Args)]
pub struct ItemsArgs {
    /// A saved model over items
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The features of new items: a file with one line of comma-separated numbers for each; they are numbered on from the last item
    #[arg(long, value_name = "FILE", required_unless_present = "remove")]
    add: Option<PathBuf>,
    /// The numbers of items that are no longer chosen, between commas
    #[arg(long, value_name = "ITEMS", value_delimiter = ',')]
    remove: Vec<u32>,
    /// Where the model goes
    #[arg(short, long, value_name = "FILE", value_parser = output_path())]
    output: PathBuf,
}

/// What `egret model new` is told.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// Which actions there are: interval:0,1 log:1000,1000000000 steps:5,50,0.5 box:0,1,0,5 sphere:3 simplex:1,1,1
    /// [default: one item for each line of --embeddings]
    #[arg(long, value_name = "SPACE", required_unless_present = "embeddings")]
    space: Option<Space>,
    /// The features of items: a file with one line of comma-separated numbers for each item
    #[arg(long, value_name = "FILE")]
    embeddings: Option<PathBuf>,
    /// Contexts as they will come: a table as `egret decide` takes it, to infer the features from
    #[arg(long, value_name = "TABLE")]
    contexts: Option<PathBuf>,
    /// A column of the table that names the request: it is no feature
    #[arg(long, value_name = "COLUMN", requires = "contexts")]
    id: Option<String>,
    /// How named features become numbers, in place of --contexts: a feature schema as JSON
    #[arg(long, value_name = "FILE", conflicts_with = "contexts")]
    features: Option<PathBuf>,
    /// What outcomes are: maximize:LOW,HIGH for rewards, minimize:LOW,HIGH for costs; ,clip cuts off what is outside
    #[arg(long, default_value = "minimize:0,1")]
    objective: Objective,
    /// What predicts outcomes (see `egret learn --help`)
    #[arg(long, default_value = "default")]
    oracle: OracleText,
    /// The same seed gives the same decisions, on any machine
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Where the model goes
    #[arg(short, long, value_name = "FILE", value_parser = output_path())]
    output: PathBuf,
}

/// What `egret model show` is told.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// A saved model
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Contexts to predict for: a table as `egret decide` takes it [default: one without any feature]
    #[arg(long, value_name = "TABLE")]
    contexts: Option<PathBuf>,
    /// How many of the contexts are shown
    #[arg(long, value_name = "N", default_value_t = 3, requires = "contexts")]
    curves: usize,
    #[command(flatten)]
    format: FormatArgs,
    /// The curves (.svg, .png), or a page with the table too (.html)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Runs a command: what to print.
pub fn model(command: &ModelCommand) -> Result<String> {
    match command {
        ModelCommand::New(args) => new(args),
        ModelCommand::Items(args) => items(args),
        ModelCommand::Show(args) => show(args),
    }
}

fn new(args: &NewArgs) -> Result<String> {
    let inputs = [&args.embeddings, &args.contexts, &args.features];
    let inputs = inputs.into_iter().filter_map(Option::as_deref);
    protect_inputs(&[("-o", Some(&args.output))], inputs)?;
    let model = create(&CreateRequest {
        space: args.space.clone(),
        contexts: args.contexts.clone(),
        id: args.id.clone(),
        features: args.features.as_deref().map(read_schema).transpose()?,
        embeddings: args.embeddings.clone(),
        objective: args.objective,
        oracle: args.oracle.0.clone(),
        seed: args.seed,
    })?;
    output::write(&args.output, &model.save())?;
    let spec = model.spec();
    let schema = spec.features.iter();
    let names: Vec<&str> = schema
        .flat_map(|schema| schema.fields().map(|(name, _)| name))
        .collect();
    let text = format!(
        "A model over {} for {}, which decides at random until it learns.\n{}\nThe model is in {}.\n",
        spec.space,
        spec.objective,
        if names.is_empty() {
            "It has no features, so it decides alike for all: name a table of contexts with --contexts.".to_owned()
        } else {
            format!("Features: {}.", names.join(", "))
        },
        args.output.display()
    );
    Ok(told(&args.output, text))
}

fn items(args: &ItemsArgs) -> Result<String> {
    // The model may be replaced, as by `egret learn --continue`.
    protect_inputs(&[("-o", Some(&args.output))], args.add.as_deref())?;
    let (model, report) = change_items(&ChangeItemsRequest {
        model: args.model.clone(),
        add: args.add.clone(),
        remove: args.remove.clone(),
    })?;
    output::write(&args.output, &model.save())?;
    let mut text = String::new();
    if 0 < report.removed {
        text += &format!("Removed: {}.\n", thousands(report.removed as f64));
    }
    if let Some((first, end)) = report.added {
        text += &format!("Added: the items {first} to {}.\n", end - 1);
    }
    let path = args.output.display();
    text += &format!("The model is over {} now, and in {path}.\n", report.space);
    Ok(told(&args.output, text))
}

fn show(args: &ShowArgs) -> Result<String> {
    let plot = Plot::of(args.plot.as_deref())?;
    let request = DescribeRequest {
        model: args.model.clone(),
        contexts: args.contexts.clone().map(ContextSource::Table),
        curves: args.curves,
    };
    let found = describe(&request)?;
    if let Some(plot) = plot {
        plot.write(
            "egret model",
            vec![with_best_actions(section(args, &found), &found)],
            figures(&found)?,
        )?;
    }
    if args.format.for_machines() {
        return args.format.print(&found, &predictions(&found), &[]);
    }
    if args.format.markdown {
        return Ok(with_best_actions(section(args, &found), &found).markdown());
    }
    let mut text = section(args, &found).text();
    for curve in &found.curves {
        text += &drawn(curve, found.objective);
    }
    Ok(text)
}

/// One predicted outcome, as a line of a table.
#[derive(Serialize)]
struct Prediction {
    /// Which context, from 1.
    context: usize,
    /// Which coordinate of a vector moves, from 1.
    coordinate: Option<usize>,
    action: String,
    predicted: f64,
    best: bool,
}

/// The best action of each context, then its curve.
fn predictions(found: &ModelDescription) -> Vec<Prediction> {
    let mut rows = Vec::new();
    for (place, curve) in found.curves.iter().enumerate() {
        let context = place + 1;
        rows.push(Prediction {
            context,
            coordinate: None,
            action: curve.best.to_string(),
            predicted: curve.best_predicted,
            best: true,
        });
        let own = [(None, &curve.points)].into_iter();
        let along = (1..).map(Some).zip(&curve.along);
        for (coordinate, points) in own.chain(along) {
            rows.extend(points.iter().map(|&(action, predicted)| Prediction {
                context,
                coordinate,
                action: action.to_string(),
                predicted,
                best: false,
            }));
        }
    }
    rows
}

/// With what is best for each context in words, by the number that its line has in a picture.
fn with_best_actions(mut section: Section, found: &ModelDescription) -> Section {
    for (place, curve) in found.curves.iter().enumerate() {
        let line = headline(curve, found.objective);
        section.after.push(format!("{}. {line}", place + 1));
    }
    section
}

fn section(args: &ShowArgs, found: &ModelDescription) -> Section {
    let mut rows = vec![
        ["actions".to_owned(), found.space.clone()],
        ["objective".to_owned(), found.objective.to_string()],
        ["predicts by".to_owned(), found.oracle.clone()],
        [
            "learned".to_owned(),
            format!(
                "{} events in {} batches",
                thousands(found.events_learned as f64),
                thousands(found.batches_learned as f64)
            ),
        ],
    ];
    if let Some(error) = found.error {
        let noun = found.objective.noun();
        rows.push([
            "error".to_owned(),
            format!("{} around the {noun}, noise included", short(error)),
        ]);
    }
    rows.push([
        "explores by".to_owned(),
        found.settings.explorer.to_string(),
    ]);
    rows.push(["next event".to_owned(), found.next_event.to_string()]);
    rows.push(["hash".to_owned(), found.content_hash.clone()]);
    match &found.features {
        None => rows.push([
            "context".to_owned(),
            format!("{} numbers", found.context_dim),
        ]),
        Some(features) => {
            for feature in features {
                rows.push([format!("feature {}", feature.name), feature.kind.clone()]);
            }
        }
    }
    Section {
        title: format!("Model {}", args.model.display()),
        before: String::new(),
        header: ["what", "is"].map(String::from).to_vec(),
        words: 2,
        rows: rows.into_iter().map(Vec::from).collect(),
        after: Vec::new(),
    }
}

/// A curve in letters: the prediction from the least action to the greatest.
fn drawn(curve: &Curve, objective: Objective) -> String {
    let digits = objective.decimals();
    let mut text = format!("\n{}\n", headline(curve, objective));
    text += &bars("", &curve.points, digits);
    for (place, points) in curve.along.iter().enumerate() {
        text += &bars(&format!("coordinate {}: ", place + 1), points, digits);
    }
    text
}

/// A context, and what is best for it.
fn headline(curve: &Curve, objective: Objective) -> String {
    let digits = objective.decimals();
    format!(
        "{}: best {}, predicted {} {:.digits$}",
        named(&curve.context),
        best(curve),
        objective.noun(),
        curve.best_predicted
    )
}

/// Predictions as bars between the first and the last action, with the least and the greatest prediction beside them.
fn bars(name: &str, points: &[(f64, f64)], digits: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return String::new();
    };
    let values = || points.iter().map(|(_, value)| *value);
    let (low, high) = (
        values().fold(f64::INFINITY, f64::min),
        values().fold(f64::NEG_INFINITY, f64::max),
    );
    let bar = |value: f64| {
        let share = if low < high {
            (value - low) / (high - low)
        } else {
            0.5
        };
        BARS[((share * BARS.len() as f64) as usize).min(BARS.len() - 1)]
    };
    let drawn: String = values().map(bar).collect();
    let ends = (short(first.0), short(last.0));
    let between = points.len().saturating_sub(ends.0.len() + ends.1.len());
    format!(
        "{name}{drawn}  {low:.digits$} to {high:.digits$}\n{}{}{}{}\n",
        " ".repeat(name.chars().count()),
        ends.0,
        " ".repeat(between),
        ends.1
    )
}

fn best(curve: &Curve) -> String {
    match &curve.best {
        AnyAction::Number(value) => short(*value),
        AnyAction::Vector(vector) => {
            let coordinates: Vec<String> = vector.iter().map(|value| short(*value)).collect();
            format!("[{}]", coordinates.join(", "))
        }
        other => other.to_string(),
    }
}

fn named(context: &Context) -> String {
    const LONGEST: usize = 60;
    let text = match context.as_named() {
        Some(features) if features.is_empty() => "without any feature".to_owned(),
        Some(features) => serde_json::to_string(features).unwrap_or_default(),
        None => serde_json::to_string(&context.as_dense().unwrap_or_default()).unwrap_or_default(),
    };
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}

/// The curves of all contexts; in a box, a picture for each coordinate.
fn figures(found: &ModelDescription) -> Result<Vec<(&'static str, Picture)>> {
    let noun = found.objective.noun();
    let coordinates = found.curves.first().map_or(0, |curve| curve.along.len());
    let chart = |what: String, points: &dyn Fn(&Curve) -> Vec<(f64, f64)>| {
        let lines = found.curves.iter().enumerate().map(|(place, curve)| Line {
            name: format!("{}", place + 1),
            colour: Colour::nth(place),
            points: points(curve),
            band: Vec::new(),
        });
        let chart = LineChart {
            title: format!("Predicted {noun}, by {what}"),
            subtitle: match coordinates {
                0 => "One line for each context".to_owned(),
                _ => "One line for each context, the other coordinates as in its best action"
                    .to_owned(),
            },
            x: Axis::linear(what),
            y: Axis::linear(format!("predicted {noun}")),
            lines: lines.collect(),
            ..LineChart::default()
        };
        chart.draw()
    };
    if 0 < coordinates {
        let along = |place: usize| {
            let picture = chart(format!("coordinate {}", place + 1), &|curve| {
                curve.along[place].clone()
            })?;
            Ok(("curves", picture))
        };
        return (0..coordinates).map(along).collect();
    }
    let drawn = |curve: &Curve| !curve.points.is_empty();
    ensure!(
        found.curves.iter().any(drawn),
        "--plot: actions over {} are not drawn; leave it out, and the best ones are listed",
        found.space
    );
    Ok(vec![(
        "curves",
        chart("action".to_owned(), &|curve| curve.points.clone())?,
    )])
}
