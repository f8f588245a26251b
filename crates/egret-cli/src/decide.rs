use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use egret::{Objective, Settings, Space};
use egret_jobs::decide::{
    ContextSource, DecideRequest, Decided, LimitsSource, OnnxFrame, decide_each,
};
use egret_jobs::{JobError, Silent};
use egret_log::{OutputFile, WriteError};
use egret_report::numerals::thousands;

use crate::interrupt;
use crate::progress::JobBar;
use crate::protect_inputs::protect_inputs;
use crate::report_format::cell;
use crate::training_args::differing;
use crate::written::{output_path, told};

/// What `egret decide` is told.
#[derive(Debug, Args)]
pub struct DecideArgs {
    /// Contexts: CSV with a line of names, JSON lines, Parquet or Arrow; - is the standard input, where each row is decided and
    /// printed as it comes. Cells and objects go by name where the model has named features; otherwise each row is a list
    /// of numbers
    #[arg(value_name = "TABLE")]
    contexts: PathBuf,
    /// A saved model, or with --space and --objective an ONNX file: rows of the numbers of a context and of an action in, one
    /// predicted outcome each out
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// The action space of an ONNX file, as in interval:5,50
    #[arg(long, value_name = "SPACE", requires = "objective")]
    space: Option<Space>,
    /// What an ONNX file predicts, as in maximize:0,50
    #[arg(long, value_name = "OBJECTIVE", requires = "space")]
    objective: Option<Objective>,
    /// The seed of decisions by an ONNX file
    #[arg(long, value_name = "N", requires = "space", default_value_t = 0)]
    seed: u64,
    /// The column that names the request: it is printed with the decision, and is no feature
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// The number of the first event; the others follow. By default the first that was not used, which is kept beside the
    /// model in a file that ends in .next-event: a number that is used twice has the same random numbers
    #[arg(long, value_name = "N")]
    first_event: Option<u64>,
    /// The column or JSON field that says what each request allows, in the form of the log: {"interval":{"low":9,"high":11}},
    /// {"box":{"sides":[[0,1],[2,2]]}}, {"items":{"allowed":[3,7]}} or {"items":{"excluded":[5]}}. Empty or null allows all
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "limits")]
    limits: Option<String>,
    /// Write the decisions to this file, not to the terminal
    #[arg(short, long, value_name = "FILE", value_parser = output_path())]
    output: Option<PathBuf>,
    /// JSON lines, in place of CSV
    #[arg(long)]
    json: bool,
}

/// What `--help` adds.
pub const EXAMPLES: &str = "\
Each line has the number of the event, the action, and its density against the reference measure: log them with the
outcome, and the log can be evaluated. The model does not learn here: `egret learn --continue` does.

A model of scikit-learn or PyTorch decides as an ONNX file, without Python: --model revenue.onnx --space interval:5,50
--objective maximize:0,50.

With --limits an action is one that its request allows, and the density is against the reference measure restricted to
that: log the limits too.

Examples, after `egret demo`:
  egret decide egret-demo/customers.csv --model egret-demo/model.egret
  egret decide egret-demo/customers.csv --model egret-demo/model.egret --first-event 90000 -o prices.csv
  egret decide - --model egret-demo/model.egret --json < egret-demo/customers.csv";

/// Decides for each context and returns what to print.
pub fn decide(args: &DecideArgs) -> Result<String> {
    let inputs = [args.contexts.as_path(), args.model.as_path()];
    protect_inputs(&[("-o", args.output.as_deref())], inputs)?;
    let mut numbers = args.model.clone().into_os_string();
    numbers.push(".next-event");
    let onnx = args.space.clone().zip(args.objective);
    let request = DecideRequest {
        model: args.model.clone(),
        onnx: onnx.map(|(space, objective)| OnnxFrame {
            space,
            objective,
            settings: Settings::default().with_seed(args.seed),
        }),
        contexts: ContextSource::Table(args.contexts.clone()),
        first_event: args.first_event,
        event_numbers: Some(numbers.into()),
        id: args.id.clone(),
        limits: args.limits.clone().map(LimitsSource::Column),
    };
    match &args.output {
        None => {
            let out = io::stdout().lock();
            // A pipe is decided as it comes, and whoever waits for an answer gets it.
            let at_once = args.contexts.as_os_str() == "-";
            let mut lines = Lines::new(args, BufWriter::new(out), at_once);
            let done = run(&request, &mut lines, args);
            match done {
                // The reader has seen enough, as `head` does.
                Err(JobError::Write(WriteError::Io { source, .. }))
                    if source.kind() == io::ErrorKind::BrokenPipe => {}
                done => {
                    done?;
                    lines.out.flush()?;
                }
            }
            Ok(String::new())
        }
        Some(file) => {
            let failed = |source| WriteError::Io {
                file: file.clone(),
                source,
            };
            let out = BufWriter::new(OutputFile::create(file).map_err(failed)?);
            let mut lines = Lines::new(args, out, false);
            let (decisions, next) = run(&request, &mut lines, args)?;
            let out = lines.out.into_inner().map_err(|failed| failed.into_error());
            out.and_then(OutputFile::finish).map_err(failed)?;
            let last = next.saturating_sub(1);
            let first = next - decisions;
            let text = format!(
                "{} decisions in {}, events {first} to {last}\n",
                thousands(decisions as f64),
                file.display()
            );
            Ok(told(file, text))
        }
    }
}

/// How many were decided, and the number after the last.
fn run<W: Write>(
    request: &DecideRequest,
    lines: &mut Lines<'_, W>,
    args: &DecideArgs,
) -> Result<(u64, u64), JobError> {
    let written = match &args.output {
        Some(file) => format!("{} was not written", file.display()),
        None => "what was printed stands".to_owned(),
    };
    interrupt::keeps(move || {
        format!(
            "{written}; event numbers that were taken do not come again: run the same command for new ones"
        )
    });
    let mut each = |decided: Decided| lines.write(&decided);
    // Whoever waits for a line that does not come cannot ask whether to stop: Ctrl-C ends it at once.
    let summary = match args.contexts.as_os_str() == "-" {
        true => decide_each(request, &mut each, &Silent)?,
        false => {
            let bar = JobBar::new("deciding", args.json || args.output.is_none());
            decide_each(request, &mut each, &bar)?
        }
    };
    lines.header()?;
    if let Some(remark) = differing(summary.features.as_ref()) {
        eprintln!("{remark}");
    }
    Ok((summary.decisions, summary.next_event))
}

/// Decisions as lines of text.
struct Lines<'a, W> {
    args: &'a DecideArgs,
    out: W,
    at_once: bool,
    begun: bool,
}

impl<'a, W: Write> Lines<'a, W> {
    fn new(args: &'a DecideArgs, out: W, at_once: bool) -> Self {
        Self {
            args,
            out,
            at_once,
            begun: false,
        }
    }

    fn write(&mut self, decided: &Decided) -> Result<(), JobError> {
        self.header()?;
        let line = if self.args.json {
            serde_json::to_string(decided).expect("numbers are written to memory")
        } else {
            self.csv(decided)
        };
        self.line(&line)
    }

    /// The names of the columns, once.
    fn header(&mut self) -> Result<(), JobError> {
        if self.begun || self.args.json {
            return Ok(());
        }
        self.begun = true;
        let id = self.args.id.as_ref().map(|id| cell(id.clone()) + ",");
        let limits = if self.args.limits.is_some() {
            ",limits"
        } else {
            ""
        };
        self.line(&format!(
            "{}event,action,density{limits}",
            id.unwrap_or_default()
        ))
    }

    fn csv(&self, decided: &Decided) -> String {
        let mut text = String::new();
        if self.args.id.is_some() {
            text += &cell(decided.id.clone().unwrap_or_default());
            text.push(',');
        }
        let density = decided.density.map_or(String::new(), |p| p.to_string());
        let action = cell(decided.action.to_string());
        text += &format!("{},{action},{density}", decided.event);
        if self.args.limits.is_some() {
            let limits = decided.limits.as_ref().map_or(String::new(), |limits| {
                serde_json::to_string(limits).expect("numbers are written to memory")
            });
            text += &format!(",{}", cell(limits));
        }
        text
    }

    fn line(&mut self, line: &str) -> Result<(), JobError> {
        let written = writeln!(self.out, "{line}").and_then(|()| match self.at_once {
            true => self.out.flush(),
            false => Ok(()),
        });
        written.map_err(|source| {
            let output = self.args.output.as_deref();
            JobError::Write(WriteError::Io {
                file: output
                    .unwrap_or(Path::new("the standard output"))
                    .to_owned(),
                source,
            })
        })
    }
}
