mod curve;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use egret::{Blueprint, Context, Settings};
use egret_offline::{
    Checkpoint, Epoch, Judged, Judging, KnownAction, LearningError, Lesson, LoggedExample,
    OfflineProtocol, Order, Parts, Recipe, Selection, SelectionError, Trained, Training,
    TrainingSettings, Validation,
};
use egret_report::{Section, output};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::lesson_log::{self, Counts, LogArgs, Rows};
use crate::oracle_args::{self, MethodKind, OracleArgs, OracleKind, TrainingArgs};
use crate::plot_kind::PlotKind;
use crate::spare_inputs::spare_inputs;

/// What `egret learn` is told.
#[derive(Debug, Args)]
pub struct LearnArgs {
    #[command(flatten)]
    pub log: LogArgs,
    /// Where the model goes
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// What predicts losses
    #[arg(long, value_enum, default_value = "linear", conflicts_with = "paper")]
    pub oracle: OracleKind,
    /// What it is fitted to
    #[arg(long, value_enum, default_value = "ips", conflicts_with = "paper")]
    pub method: MethodKind,
    /// The paper's offline protocol: a network by dm and by ips, events dealt out at random, the better one counts
    #[arg(long)]
    pub paper: bool,
    #[command(flatten)]
    pub oracles: OracleArgs,
    #[command(flatten)]
    pub training: TrainingArgs,
    /// Keep the state of training in this folder after each epoch
    #[arg(long, value_name = "DIR", conflicts_with = "paper")]
    pub checkpoint: Option<PathBuf>,
    /// Go on from the state in the folder of --checkpoint, to the same model as without a break
    #[arg(long, requires = "checkpoint")]
    pub resume: bool,
    /// The probability with which the interval on test rows holds
    #[arg(long, default_value_t = 0.95)]
    pub level: f64,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub json: bool,
    /// The validation of each epoch (.svg), or a page with the figures too (.html)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

/// What `--help` adds.
pub const EXAMPLES: &str = "\
The log is read into memory. Early stopping watches the method's squared error on validation rows (--criterion error).
The value is of the model as it would be served (--policy), estimated from densities.

Examples, after `egret demo`:
  egret learn egret-demo/exhaust.parquet -o model.egret
  egret learn egret-demo/exhaust.parquet --oracle network --hidden 16,16 --method dr --patience 3 \\
        --checkpoint training -o model.egret --plot training.svg
  egret learn egret-demo/exhaust.parquet --paper -o paper.egret --json";

/// Learns, writes the model, and returns what to print.
pub fn learn(args: &LearnArgs) -> Result<String> {
    let plot = args.plot.as_deref().map(PlotKind::of).transpose()?;
    args.training.split()?;
    let outputs = [
        ("-o", Some(args.output.as_path())),
        ("--plot", args.plot.as_deref()),
        ("--skip-bad", args.log.skip_bad.as_deref()),
    ];
    spare_inputs(&outputs, args.log.inputs())?;
    let log = lesson_log::read(&args.log, args.json)?;
    let work = Work {
        args,
        blueprint: &log.blueprint,
        counts: log.counts,
    };
    let (findings, model) = match &log.rows {
        Rows::Number(examples) => work.learn(examples)?,
        Rows::Vector(examples) => work.learn(examples)?,
        Rows::Item(examples) => work.learn(examples)?,
    };
    let mut picture = None;
    if let Some(kind) = plot {
        let curve = curve::draw(&findings.epochs)?;
        picture = Some(match kind {
            PlotKind::Svg => curve,
            PlotKind::Html => {
                let section = findings.section().html(&curve);
                egret_report::page("egret learn", "Learning from a log", &section)
            }
        });
    }
    let mut files = vec![(args.output.as_path(), &model[..])];
    if let (Some(path), Some(picture)) = (&args.plot, &picture) {
        files.push((path, picture.as_bytes()));
    }
    output::write_all(&files)?;
    Ok(if args.json {
        serde_json::to_string(&findings)? + "\n"
    } else {
        findings.section().text()
    })
}

struct Work<'a> {
    args: &'a LearnArgs,
    blueprint: &'a Blueprint,
    counts: Counts,
}

/// A recipe, what it came to, and the split it was trained on.
struct Done<A: KnownAction> {
    recipe: Recipe,
    trained: Trained<Context, A>,
    parts: Parts,
}

impl Work<'_> {
    fn learn<A: KnownAction>(
        &self,
        examples: &[LoggedExample<Context, A>],
    ) -> Result<(Findings, Vec<u8>)> {
        let done = if self.args.paper {
            self.paper(examples)?
        } else {
            self.train(examples)?
        };
        let Done {
            recipe,
            trained,
            parts,
        } = done;
        let state = trained.oracle.save();
        let settings = Settings {
            seed: self.args.training.seed,
            ..Settings::paper()
        };
        let blueprint = recipe.blueprint(self.blueprint);
        let model = egret::Model::trained(blueprint, settings, &state, trained.batches)?.save();
        let findings = Findings {
            name: recipe.name(),
            policy: recipe.training.policy.to_string(),
            counts: self.counts,
            train: parts.train.len(),
            validation: parts.validation.len(),
            test: parts.test.len(),
            best_epoch: trained.best_epoch,
            validated: trained.validation,
            epochs: trained.history.clone(),
            model: self.args.output.clone(),
            tested: self.test(examples, &parts, recipe, trained)?,
        };
        Ok((findings, model))
    }

    fn paper<A: KnownAction>(&self, examples: &[LoggedExample<Context, A>]) -> Result<Done<A>> {
        let seed = self.args.training.seed;
        let mut protocol = OfflineProtocol::paper(self.blueprint.context_dim.max(1), seed)?;
        protocol.order = Order::Shuffled(seed);
        let mut outcome = protocol.learn(self.blueprint, examples)?;
        Ok(Done {
            recipe: protocol.recipes.swap_remove(outcome.best),
            trained: outcome.trained.swap_remove(outcome.best),
            parts: outcome.parts,
        })
    }

    fn train<A: KnownAction>(&self, examples: &[LoggedExample<Context, A>]) -> Result<Done<A>> {
        let args = self.args;
        let recipe = oracle_args::recipe(
            args.oracle,
            args.method,
            &args.oracles,
            &args.training,
            self.blueprint.context_dim,
        )?;
        let (split, order) = args.training.split()?;
        let parts = split.parts(examples.len(), order);
        let file = args
            .checkpoint
            .as_deref()
            .map(checkpoint_file)
            .transpose()?;
        let before = match &file {
            Some(file) => self.checkpoint(file)?,
            None => None,
        };
        let bar = self.bar();
        // What goes wrong with a file is no error of training: it is kept for after.
        let mut failed = None;
        let trained = recipe.train_with(
            self.blueprint,
            examples,
            &parts,
            |lesson: Lesson<'_, Context, A>, settings: TrainingSettings| {
                let mut training = match &before {
                    Some(checkpoint) => Training::resume(lesson, settings, checkpoint)?,
                    None => Training::new(lesson, settings)?,
                };
                while let Some(epoch) = training.epoch()? {
                    bar.set_message(words(&epoch));
                    bar.inc(1);
                    if let Some(file) = &file
                        && let Err(error) = output::write(file, &training.checkpoint().save())
                    {
                        failed = Some(error);
                        return Err(LearningError::NotTrained);
                    }
                }
                training.finish()
            },
        );
        bar.finish_and_clear();
        if let Some(error) = failed {
            return Err(error.into());
        }
        Ok(Done {
            recipe,
            trained: trained?,
            parts,
        })
    }

    fn checkpoint(&self, file: &Path) -> Result<Option<Checkpoint>> {
        let name = file.display();
        match (self.args.resume, file.exists()) {
            (_, false) => Ok(None),
            (true, true) => {
                let bytes = fs::read(file).with_context(|| format!("cannot read {name}"))?;
                let checkpoint = Checkpoint::load(&bytes).with_context(|| name.to_string())?;
                Ok(Some(checkpoint))
            }
            (false, true) => bail!(
                "{name} is from an earlier training: go on from it with --resume, or name another folder"
            ),
        }
    }

    fn bar(&self) -> ProgressBar {
        if self.args.json {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("epoch {pos} {spinner} {msg} {elapsed}")
            .expect("the template is well formed");
        ProgressBar::new_spinner().with_style(style)
    }

    /// The model's value on test rows, if there are any to weigh.
    fn test<A: KnownAction>(
        &self,
        examples: &[LoggedExample<Context, A>],
        parts: &Parts,
        recipe: Recipe,
        trained: Trained<Context, A>,
    ) -> Result<Option<Judged>> {
        let judging = Judging {
            level: self.args.level,
            seed: self.args.training.seed,
        };
        let recipes = [recipe];
        let selection = Selection::judge(
            self.blueprint,
            examples,
            parts,
            &recipes,
            vec![trained],
            judging,
        );
        match selection {
            Ok(selection) => Ok(Some(selection.best().judged.clone())),
            Err(SelectionError::NothingToJudgeBy { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn checkpoint_file(folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| {
        let folder = folder.display();
        format!("cannot make the folder {folder}: name one that can be written with --checkpoint")
    })?;
    Ok(folder.join("training.checkpoint"))
}

fn words(epoch: &Epoch) -> String {
    let fold = epoch.fold.map_or(String::new(), |(fold, folds)| {
        format!("first fit {} of {folds}, ", fold + 1)
    });
    let error = number(epoch.validation.squared_error, 5);
    format!("{fold}validation error {error}")
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Findings {
    name: String,
    policy: String,
    #[serde(rename = "log")]
    counts: Counts,
    train: usize,
    validation: usize,
    test: usize,
    best_epoch: u32,
    validated: Validation,
    tested: Option<Judged>,
    epochs: Vec<Epoch>,
    model: PathBuf,
}

impl Findings {
    fn section(&self) -> Section {
        let mut after = vec![match &self.tested {
            Some(judged) => {
                let interval = &judged.interval;
                format!(
                    "Served as {}, its loss on {} test events is {:.4}, in [{:.4}, {:.4}] with confidence {}%: {}.",
                    self.policy,
                    interval.n,
                    judged.estimate,
                    interval.low,
                    interval.high,
                    100.0 * interval.level,
                    interval.verdict.words,
                )
            }
            None => {
                "No test event has weight under its policy: its loss was not estimated.".to_owned()
            }
        }];
        after.push(format!("The model is in {}.", self.model.display()));
        // Those around the best tell the story.
        let own: Vec<&Epoch> = self
            .epochs
            .iter()
            .filter(|epoch| epoch.fold.is_none())
            .collect();
        let shown = own.iter().filter(|epoch| {
            epoch.epoch <= 3
                || self.best_epoch.abs_diff(epoch.epoch) <= 3
                || epoch.epoch == own.len() as u32
        });
        Section {
            title: format!("{}: best after epoch {}", self.name, self.best_epoch),
            before: format!(
                "{}; {} to train on, {} to stop by, {} to judge by",
                self.counts.words(),
                self.train,
                self.validation,
                self.test
            ),
            header: ["epoch", "validation error", "estimated loss when served"]
                .map(String::from)
                .to_vec(),
            words: 0,
            rows: shown
                .map(|epoch| {
                    vec![
                        epoch.epoch.to_string(),
                        number(epoch.validation.squared_error, 6),
                        number(epoch.validation.value, 4),
                    ]
                })
                .collect(),
            after,
        }
    }
}
