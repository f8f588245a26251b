//! The `egret` command.

mod audit;
mod demo;
mod exhaust;
mod kind;
mod lab;
mod learn;
mod lesson_log;
mod model_file;
mod ope;
mod oracle_args;
mod plot_kind;
mod progress;
mod select;
mod spare_inputs;

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use egret_log::ReadError;

use audit::AuditArgs;
use demo::DemoArgs;
use exhaust::ExhaustCommand;
use lab::LabCommand;
use learn::LearnArgs;
use ope::OpeArgs;
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
  egret demo --seed 8 --out my-demo    the same with other customers, pictures in my-demo
  egret ope egret-demo/exhaust.parquet --target uniform --target column:q_rule
  egret completions bash > ~/.local/share/bash-completion/completions/egret";

#[derive(Debug, Subcommand)]
enum Command {
    /// Learn prices online, audit the log, value other policies from it, draw it all
    ///
    /// CappedIGW, SmoothIGW and blind prices serve the same customers, whose willingness to pay is known to
    /// the demo alone. From CappedIGW's log, the exhaust, three policies that were never played are then
    /// valued, with the densities egret logs and with what the paper logs (kappa-hat = 1), beside the truth.
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(DemoArgs),
    /// Value policies that were never played, from a log
    ///
    /// Every event is weighed by q/p: the density that the policy would have given its action, over the one that the
    /// log states. Memory does not grow with the log, and neither threads nor the split into files change a digit.
    #[command(after_help = ope::help())]
    Ope(OpeArgs),
    /// Find out whether a log is what it says
    ///
    /// Every decision is made again to the bit where its model is known, and bets are placed against the densities: right
    /// ones are accused with probability alpha at most, however long the log and however often one looks.
    #[command(after_help = audit::HELP)]
    Audit(AuditArgs),
    /// Look into logs, convert and merge them
    Exhaust {
        #[command(subcommand)]
        command: ExhaustCommand,
    },
    /// Learn a model from a log, to be served or valued
    ///
    /// Direct method, clipped inverse propensities or doubly robust pseudo-losses; part of the log says when to stop, another
    /// part what the model is worth.
    #[command(after_help = learn::EXAMPLES)]
    Learn(LearnArgs),
    /// Train many candidates on a log, judge them on held-out events, keep the best
    #[command(after_help = select::EXAMPLES)]
    Select(SelectArgs),
    /// Experiments: the paper's, and your own
    Lab {
        #[command(subcommand)]
        command: LabCommand,
    },
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: Shell,
    },
}

const DEMO_EXAMPLES: &str = "\
Examples:
  egret demo
  egret demo --seed 8 --out my-demo
  egret demo --decisions 2000 --json";

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            // What went wrong and why, in one line: a backtrace is for those who write the program.
            eprintln!("error: {error:#}{}", advice(&error));
            ExitCode::FAILURE
        }
    }
}

/// What to do about a bad row; each command that reads logs has the flag, but for the one that merges them.
fn advice(error: &anyhow::Error) -> &'static str {
    let bad_row = |cause: &(dyn std::error::Error + 'static)| {
        matches!(cause.downcast_ref(), Some(ReadError::Row { .. }))
    };
    if error.chain().any(bad_row) {
        "; mend the row, or keep such rows aside with --skip-bad FILE (`egret exhaust convert` has it too)"
    } else {
        ""
    }
}

/// An audit found a fault: neither a failure, which is 1, nor a mistake in the command, which is 2.
const FAULT: u8 = 3;

fn run() -> Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    let text = match Cli::parse().command {
        Command::Demo(args) => demo::demo(&args)?.into_bytes(),
        Command::Ope(args) => ope::ope(&args)?.into_bytes(),
        Command::Audit(args) => {
            let (text, fault) = audit::audit(&args)?;
            if fault {
                code = ExitCode::from(FAULT);
            }
            text.into_bytes()
        }
        Command::Exhaust { command } => exhaust::exhaust(&command)?.into_bytes(),
        Command::Learn(args) => learn::learn(&args)?.into_bytes(),
        Command::Select(args) => select::select(&args)?.into_bytes(),
        Command::Lab { command } => lab::lab(&command)?.into_bytes(),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "egret", &mut script);
            script
        }
    };
    match io::stdout().write_all(&text) {
        // The reader has seen enough, as `head` does.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(code),
        done => {
            done?;
            Ok(code)
        }
    }
}
