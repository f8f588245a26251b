use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use egret::{Blueprint, Context, Settings};
use egret_offline::{
    Judging, KnownAction, LoggedExample, Recipe, Selection, Standing, TrainingSettings, Validation,
};
use egret_report::{Section, output};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::Value;

use crate::lesson_log::{self, Counts, LogArgs, Rows};
use crate::ope::picture::{self, Line};
use crate::oracle_args::{self, MethodKind, OracleArgs, OracleKind, TrainingArgs};
use crate::plot_kind::PlotKind;
use crate::spare_inputs::spare_inputs;

/// What `egret select` is told.
#[derive(Debug, Args)]
pub struct SelectArgs {
    #[command(flatten)]
    pub log: LogArgs,
    /// Where the winner goes
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Oracles to try, each with each method
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "linear,ridge,fourier"
    )]
    pub oracle: Vec<OracleKind>,
    /// Methods to try
    #[arg(long, value_enum, value_delimiter = ',', default_value = "dm,ips,dr")]
    pub method: Vec<MethodKind>,
    /// Candidates in a file in place of flags: a JSON list of {"oracle": ..., "training": {...}}
    #[arg(long, value_name = "FILE", conflicts_with_all = ["oracle", "method"])]
    pub grid: Option<PathBuf>,
    #[command(flatten)]
    pub oracles: OracleArgs,
    #[command(flatten)]
    pub training: TrainingArgs,
    /// The probability with which all intervals hold at once
    #[arg(long, default_value_t = 0.95)]
    pub level: f64,
    /// Print a JSON list and nothing else
    #[arg(long)]
    pub json: bool,
    /// A forest of the candidates (.svg), or a page with the table too (.html)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

/// What `--help` adds.
pub const EXAMPLES: &str = "\
Candidates are trained on the first part of the log and judged on the last, so that each was fixed before the events
that judge it. Intervals are confidence sequences that hold for all candidates at once. A candidate is called worse
than the winner only where that is proved at the same level; all else is a tie.

A grid is a list such as
  [{\"oracle\": {\"linear\": {\"forecaster\": \"Ridge\", \"lambda\": 1.0, \"squares\": true}},
    \"training\": {\"method\": {\"clipped_ips\": {\"cap\": 5.0, \"atoms\": \"leave_out\"}}, \"epochs\": 1, \"steps\": 1}}]

Examples, after `egret demo`:
  egret select egret-demo/exhaust.parquet -o best.egret
  egret select egret-demo/exhaust.parquet --oracle linear,network,ridge --method dm,dr --split 0.5,0.1,0.4 \\
        -o best.egret --plot candidates.html";

/// Selects, writes the winner, and returns what to print.
pub fn select(args: &SelectArgs) -> Result<String> {
    let plot = args.plot.as_deref().map(PlotKind::of).transpose()?;
    args.training.split()?;
    let outputs = [
        ("-o", Some(args.output.as_path())),
        ("--plot", args.plot.as_deref()),
        ("--skip-bad", args.log.skip_bad.as_deref()),
    ];
    spare_inputs(&outputs, args.log.inputs().chain(args.grid.as_deref()))?;
    let grid = args.grid.as_deref().map(read_grid).transpose()?;
    let log = lesson_log::read(&args.log, args.json)?;
    let recipes = match grid {
        Some(recipes) => recipes,
        None => from_flags(args, log.blueprint.context_dim)?,
    };
    let (findings, model) = match &log.rows {
        Rows::Number(examples) => run(args, &log.blueprint, log.counts, examples, &recipes)?,
        Rows::Vector(examples) => run(args, &log.blueprint, log.counts, examples, &recipes)?,
        Rows::Item(examples) => run(args, &log.blueprint, log.counts, examples, &recipes)?,
    };
    let mut picture = None;
    if let Some(kind) = plot {
        let forest = picture::forest(&findings.lines(), args.level)?;
        picture = Some(match kind {
            PlotKind::Svg => forest,
            PlotKind::Html => {
                let section = findings.section().html(&forest);
                egret_report::page("egret select", "Candidates on held-out events", &section)
            }
        });
    }
    let mut files = vec![(args.output.as_path(), &model[..])];
    if let (Some(path), Some(picture)) = (&args.plot, &picture) {
        files.push((path, picture.as_bytes()));
    }
    output::write_all(&files)?;
    Ok(if args.json {
        serde_json::to_string(&findings.candidates)? + "\n"
    } else {
        findings.section().text()
    })
}

fn read_grid(path: &std::path::Path) -> Result<Vec<Recipe>> {
    let name = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read the grid {name}"))?;
    let no_list = || format!("{name} is no list of candidates: `egret select --help` shows one");
    let recipes: Vec<Recipe> = serde_json::from_str(&text).with_context(no_list)?;
    let written: Vec<Value> = serde_json::from_str(&text).with_context(no_list)?;
    ensure!(!recipes.is_empty(), "{name} has no candidate");
    // What a candidate does not say is what suits its oracle, as with flags.
    let suited = recipes.into_iter().zip(&written).map(|(recipe, written)| {
        let says = |what: &str| written["training"].get(what).is_some();
        let Recipe { oracle, training } = recipe;
        let suited = training.clone().suited_to(&oracle);
        let training = TrainingSettings {
            steps: if says("steps") {
                training.steps
            } else {
                suited.steps
            },
            epochs: if says("epochs") {
                training.epochs
            } else {
                suited.epochs
            },
            ..training
        };
        Recipe { oracle, training }
    });
    Ok(suited.collect())
}

fn from_flags(args: &SelectArgs, context_dim: usize) -> Result<Vec<Recipe>> {
    let mut recipes = Vec::new();
    for &oracle in &args.oracle {
        for &method in &args.method {
            let (oracles, training) = (&args.oracles, &args.training);
            recipes.push(oracle_args::recipe(
                oracle,
                method,
                oracles,
                training,
                context_dim,
            )?);
        }
    }
    Ok(recipes)
}

fn run<A: KnownAction>(
    args: &SelectArgs,
    blueprint: &Blueprint,
    counts: Counts,
    examples: &[LoggedExample<Context, A>],
    recipes: &[Recipe],
) -> Result<(Findings, Vec<u8>)> {
    let (split, order) = args.training.split()?;
    let parts = split.parts(examples.len(), order);
    let judging = Judging {
        level: args.level,
        seed: args.training.seed,
    };
    let bar = bar(recipes.len(), args.json);
    let selection = Selection::new(blueprint, examples, &parts, recipes, judging, |_| {
        bar.inc(1)
    });
    bar.finish_and_clear();
    let selection = selection?;
    let settings = Settings {
        seed: args.training.seed,
        ..Settings::paper()
    };
    let model = selection.model(settings)?.save();
    let candidates = selection.entries.iter().enumerate().map(|(place, entry)| {
        let interval = &entry.judged.interval;
        Row {
            candidate: entry.recipe.name(),
            policy: entry.recipe.training.policy.to_string(),
            validation: entry.trained.validation,
            best_epoch: entry.trained.best_epoch,
            estimate: entry.judged.estimate,
            low: interval.low,
            high: interval.high,
            level: interval.level,
            n: interval.n,
            ess: interval.ess,
            max_weight: interval.max_weight,
            mean_weight: interval.mean_weight,
            standing: entry.judged.standing,
            verdict: interval.verdict.words.clone(),
            winner: place == selection.winner,
        }
    });
    let findings = Findings {
        candidates: candidates.collect(),
        counts,
        parts: [parts.train.len(), parts.validation.len(), parts.test.len()],
        sentence: selection.sentence(),
        model: args.output.clone(),
    };
    Ok((findings, model))
}

fn bar(candidates: usize, hidden: bool) -> ProgressBar {
    if hidden {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("candidates {wide_bar} {pos}/{len} {elapsed}")
        .expect("the template is well formed");
    ProgressBar::new(candidates as u64).with_style(style)
}

/// One candidate, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Row {
    candidate: String,
    policy: String,
    validation: Validation,
    best_epoch: u32,
    estimate: f64,
    low: f64,
    high: f64,
    level: f64,
    n: u64,
    ess: f64,
    max_weight: f64,
    mean_weight: f64,
    standing: Standing,
    verdict: String,
    winner: bool,
}

struct Findings {
    candidates: Vec<Row>,
    counts: Counts,
    parts: [usize; 3],
    sentence: String,
    model: PathBuf,
}

impl Findings {
    fn lines(&self) -> Vec<Line> {
        self.candidates
            .iter()
            .map(|row| Line {
                policy: row.candidate.clone(),
                by: row.standing.words().to_owned(),
                colour: usize::from(!row.winner),
                values: (row.low, row.estimate, row.high),
            })
            .collect()
    }

    fn section(&self) -> Section {
        let number =
            |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.5}"));
        let [train, validation, test] = self.parts;
        let rows = self.candidates.iter().map(|row| {
            vec![
                row.candidate.clone(),
                row.standing.words().to_owned(),
                row.verdict.clone(),
                number(row.validation.squared_error),
                format!("{:.4}", row.estimate),
                format!("{:.4}", row.low),
                format!("{:.4}", row.high),
            ]
        });
        Section {
            title: format!("{} candidates", self.candidates.len()),
            before: format!(
                "{}; {train} to train on, {validation} to stop by, {test} to judge by",
                self.counts.words()
            ),
            header: [
                "candidate",
                "standing",
                "verdict on the interval",
                "validation loss",
                "estimate",
                "low",
                "high",
            ].map(String::from).to_vec(),
            words: 3,
            rows: rows.collect(),
            after: vec![
                format!("{}.", self.sentence),
                "A validation loss is of the method's own objective: compare it within a method only.".to_owned(),
                format!("The winner is in {}.", self.model.display()),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_grid_does_not_say_suits_the_oracle() {
        let ridge = r#"{"linear": {"forecaster": "Ridge", "lambda": 1.0, "squares": true}}"#;
        let fourier = r#"{"fourier": {"features": 8, "scale": 1.0, "seed": 0}}"#;
        let grid = format!(
            r#"[{{"oracle": {ridge}}},
                {{"oracle": {ridge}, "training": {{"epochs": 3}}}},
                {{"oracle": {{"aggregation": [{ridge}, {fourier}]}}, "training": {{"batch": 4}}}},
                {{"oracle": {fourier}}}]"#
        );
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("grid.json");
        fs::write(&file, grid).expect("written");
        let passes: Vec<(usize, u32)> = read_grid(&file)
            .expect("a grid")
            .iter()
            .map(|recipe| (recipe.training.steps, recipe.training.epochs))
            .collect();
        assert_eq!(passes, [(1, 1), (1, 3), (1, 1), (2, 100)]);
    }
}
