//! `cargo xtask test`: all that CI checks, in one command.

mod arguments;
mod deny;
mod folders;
mod package;
mod portable;
mod python;
mod readme;
mod steps;
mod torch;
mod virtual_env;
mod workspace;

use std::env;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};

use arguments::Request;
use steps::{STEPS, Step};
use workspace::Workspace;

fn main() -> ExitCode {
    match answer(env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nxtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn answer(arguments: impl Iterator<Item = String>) -> Result<()> {
    match Request::parse(arguments)? {
        Request::Help => println!("{}", arguments::help()),
        Request::List => println!("{}", arguments::list()),
        Request::Test(steps) => test(&steps)?,
    }
    Ok(())
}

/// Runs the steps in order and stops at the first that fails.
fn test(steps: &[&Step]) -> Result<()> {
    let workspace = Workspace::find()?;
    let before = workspace.changed_files();
    let mut times = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!(
            "\n== {} ({} of {}): {}",
            step.name,
            index + 1,
            steps.len(),
            step.about
        );
        let start = Instant::now();
        (step.run)(&workspace).map_err(|error| {
            anyhow!(
                "step `{0}` failed after {1}: {error:#}\nrun it alone with: cargo xtask test {0}",
                step.name,
                seconds(start.elapsed())
            )
        })?;
        println!("== {} passed in {}", step.name, seconds(start.elapsed()));
        times.push(start.elapsed());
    }
    if workspace.ci {
        let after = workspace.changed_files();
        ensure!(
            before == after,
            "the steps changed files that git tracks or does not ignore:\n{}",
            after.as_deref().unwrap_or("git status failed")
        );
    }

    println!("\nAll passed:");
    for (step, time) in steps.iter().zip(&times) {
        println!("  {:<9} {:>9}", step.name, seconds(*time));
    }
    println!("  {:<9} {:>9}", "total", seconds(times.iter().sum()));
    if steps.len() < STEPS.len() {
        println!("Only these were asked for; `cargo xtask test` runs all.");
    }
    Ok(())
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
