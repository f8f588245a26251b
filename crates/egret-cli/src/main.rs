//! The `egret` command: parses what a user asks for, hands it to the jobs, prints and draws what they report.

mod audit;
mod decide;
mod demo;
mod evaluate;
mod interrupt;
mod lab;
mod learn;
mod log;
mod log_args;
mod model;
mod plot;
mod progress;
mod protect_inputs;
mod report_format;
mod select;
mod training_args;
mod verdict_colours;
mod written;

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use egret_jobs::JobError;

use audit::AuditArgs;
use decide::DecideArgs;
use demo::DemoArgs;
use evaluate::OpeArgs;
use lab::LabCommand;
use learn::LearnArgs;
use log::LogCommand;
use model::ModelCommand;
use select::SelectArgs;

/// Decisions in action spaces too large to list, with a log that can be reused.
#[derive(Debug, Parser)]
#[command(name = "egret", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  egret demo                           a pricing problem whose truth is known, within a minute
  egret demo --seed 8 --output my-demo    the same with other customers, pictures in my-demo
  egret ope egret-demo/log.parquet --policy uniform --policy column:q_rule
  egret completions bash > ~/.local/share/bash-completion/completions/egret";

const COMPLETIONS: &str = "\
Examples:
  egret completions bash > ~/.local/share/bash-completion/completions/egret
  egret completions zsh > ~/.zfunc/_egret
  egret completions fish > ~/.config/fish/completions/egret.fish

`egret man` writes the manual.";

const MAN: &str = "\
Examples:
  egret man ~/.local/share/man/man1      then `man egret`, `man egret-ope`";

#[derive(Debug, Subcommand)]
enum Command {
    /// Learn prices online, audit the log, evaluate other policies from it, draw it all
    ///
    /// A shop sets a price for each customer, who buys or does not; what each would pay is known to the demo alone. It
    /// shows what learning earned beside a fixed price, prices at random and the best possible, what four policies that
    /// nobody played would have earned, estimated from the log, and what wrong propensities do to that.
    #[command(after_help = demo::EXAMPLES)]
    Demo(DemoArgs),
    /// Off-policy evaluation: what would other policies have earned, or lost?
    ///
    /// Every event is weighed by q/p: the density that the policy would have given its action, over the one that the
    /// log states. Memory does not grow with the log, and neither threads nor the split into files change a digit.
    #[command(visible_alias = "evaluate", after_help = evaluate::HELP)]
    Ope(OpeArgs),
    /// Find out whether a log is what it says
    ///
    /// Replays every decision bit for bit where its model is known, and tests the logged propensities: a correct log
    /// raises an alarm with probability at most alpha, however long it is and however often one looks.
    #[command(after_help = audit::HELP)]
    Audit(AuditArgs),
    /// Look into logs, check, convert and merge them
    Log {
        #[command(subcommand)]
        command: LogCommand,
    },
    /// Learn a model from a log, to be served or evaluated
    ///
    /// Direct method, clipped inverse propensities or doubly robust pseudo-losses; part of the log says when to stop,
    /// another part what the model is worth.
    #[command(visible_alias = "train", after_help = learn::help())]
    Learn(LearnArgs),
    /// Train many candidates on a log, judge them on held-out events, keep the best
    #[command(after_help = select::help())]
    Select(SelectArgs),
    /// Let a model decide for a table of contexts: actions with densities come out
    #[command(after_help = decide::EXAMPLES)]
    Decide(DecideArgs),
    /// Look into saved models
    Model {
        #[command(subcommand)]
        command: ModelCommand,
    },
    /// Experiments: the paper's, and your own
    Lab {
        #[command(subcommand)]
        command: LabCommand,
    },
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Write man pages, one for each command, into a folder
    #[command(after_help = MAN)]
    Man {
        /// The folder; made if it is not there
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

fn main() -> ExitCode {
    interrupt::watch();
    match run() {
        Ok(code) => code,
        Err(error) if matches!(error.downcast_ref(), Some(JobError::Cancelled)) => {
            eprintln!("{}", interrupt::message());
            ExitCode::from(interrupt::CODE)
        }
        Err(error) => {
            // What went wrong and why, in one line: a backtrace is for those who write the program.
            eprintln!("error: {}{}", explained(&error), advice(&error));
            ExitCode::FAILURE
        }
    }
}

/// The error, with the flag that a field of a request comes from.
fn explained(error: &anyhow::Error) -> String {
    let Some(JobError::Request { field, problem }) = error.downcast_ref() else {
        return format!("{error:#}");
    };
    let flag = match *field {
        "log" => "LOG".to_owned(),
        "model_folder" => "--models".to_owned(),
        "output" => "-o".to_owned(),
        "policies" => "--policy".to_owned(),
        "predictions" => "--model".to_owned(),
        field => format!("--{}", field.replace('_', "-")),
    };
    format!("{flag}: {problem}")
}

/// What to do about a bad row; each command that reads logs has the flag, but for the one that merges them.
fn advice(error: &anyhow::Error) -> &'static str {
    match error.downcast_ref::<JobError>() {
        Some(job) if job.can_skip() => {
            "; mend the row, or skip bad rows with --skip-bad FILE (`egret log check` lists them all)"
        }
        _ => "",
    }
}

/// A fault was found in a log: neither a failure, which is 1, nor a mistake in the command, which is 2.
const FAULT: u8 = 3;

fn run() -> Result<ExitCode> {
    let found_nothing = |text: String| (text, false);
    let (text, fault) = match Cli::parse().command {
        Command::Demo(args) => found_nothing(demo::demo(&args)?),
        Command::Ope(args) => found_nothing(evaluate::ope(&args)?),
        Command::Audit(args) => audit::audit(&args)?,
        Command::Log { command } => log::log(&command)?,
        Command::Learn(args) => found_nothing(learn::learn(&args)?),
        Command::Select(args) => found_nothing(select::select(&args)?),
        Command::Decide(args) => found_nothing(decide::decide(&args)?),
        Command::Model { command } => found_nothing(model::model(&command)?),
        Command::Lab { command } => found_nothing(lab::lab(&command)?),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "egret", &mut script);
            found_nothing(String::from_utf8(script).context("scripts are text")?)
        }
        Command::Man { folder } => found_nothing(man(&folder)?),
    };
    let code = if fault {
        ExitCode::from(FAULT)
    } else {
        ExitCode::SUCCESS
    };
    let text = verdict_colours::for_terminal(text, fault);
    match io::stdout().write_all(text.as_bytes()) {
        // The reader has seen enough, as `head` does.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(code),
        done => {
            done?;
            Ok(code)
        }
    }
}

/// Writes the manual: a page for each command.
fn man(folder: &Path) -> Result<String> {
    let made =
        fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
    made.with_context(|| {
        let folder = folder.display();
        format!("cannot write man pages to {folder}: name a folder that can be written")
    })?;
    let folder = folder.display();
    Ok(format!(
        "The manual is in {folder}: egret.1, and a page for each command, such as egret-ope.1.\n"
    ))
}
