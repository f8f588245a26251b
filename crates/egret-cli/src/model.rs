//! `egret model`: looks into saved models.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use egret::{Context, Objective};
use egret_jobs::decide::ContextSource;
use egret_jobs::describe::{Curve, DescribeRequest, ModelDescription, describe};
use egret_report::numerals::{short, thousands};
use egret_report::{Axis, ChartError, Colour, Line, LineChart, Picture, Section};

use crate::plot::Plot;

/// What `egret model` is told.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// Show space, features, objective, settings, what it learned from, and what it predicts
    #[command(after_help = EXAMPLES)]
    Show(ShowArgs),
}

const EXAMPLES: &str = "\
Examples, after `egret demo`:
  egret model show egret-demo/model.egret
  egret model show egret-demo/model.egret --contexts egret-demo/customers.csv --curves 4 --plot curves.svg";

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
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// The curves (.svg, .png), or a page with the table too (.html)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Runs a command: what to print.
pub fn model(command: &ModelCommand) -> Result<String> {
    let ModelCommand::Show(args) = command;
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
            vec![section(args, &found)],
            vec![("curves", figure(&found)?)],
        )?;
    }
    Ok(if args.json {
        serde_json::to_string(&found)? + "\n"
    } else {
        let mut text = section(args, &found).text();
        for curve in &found.curves {
            text += &drawn(curve, found.objective);
        }
        text
    })
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
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let digits = objective.decimals();
    let mut text = format!(
        "\n{}: best {}, predicted {} {:.digits$}\n",
        named(&curve.context),
        best(curve),
        objective.noun(),
        curve.best_predicted
    );
    let (Some(first), Some(last)) = (curve.points.first(), curve.points.last()) else {
        return text;
    };
    let values = || curve.points.iter().map(|(_, value)| *value);
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
    text.extend(values().map(bar));
    let ends = (short(first.0), short(last.0));
    let between = curve
        .points
        .len()
        .saturating_sub(ends.0.len() + ends.1.len());
    text += &format!(
        "  {low:.digits$} to {high:.digits$}\n{}{}{}\n",
        ends.0,
        " ".repeat(between),
        ends.1
    );
    text
}

fn best(curve: &Curve) -> String {
    match &curve.best {
        egret::AnyAction::Number(value) => short(*value),
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

fn figure(found: &ModelDescription) -> Result<Picture, ChartError> {
    let colours = [Colour::Blue, Colour::Vermilion];
    let noun = found.objective.noun();
    let lines = found.curves.iter().enumerate().map(|(place, curve)| Line {
        name: format!("{}", place + 1),
        colour: colours[place % colours.len()],
        points: curve.points.clone(),
        band: Vec::new(),
    });
    let chart = LineChart {
        title: format!("Predicted {noun}, by action"),
        subtitle: "One line for each context".to_owned(),
        x: Axis::linear("action"),
        y: Axis::linear(format!("predicted {noun}")),
        lines: lines.collect(),
        ..LineChart::default()
    };
    chart.draw()
}
