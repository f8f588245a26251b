mod paper;

use anyhow::Result;
use clap::Subcommand;

/// Experiments: the paper's, and one's own.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Run the paper's experiments again: tables, figures, one report with verdicts
    ///
    /// SmoothIGW and CappedIGW on the paper's data sets, paired by seed; what is learned from their exhaust; how the normalisers
    /// do. Beside each figure stands what the paper claims, what was measured, and whether they agree.
    #[command(after_help = paper::EXAMPLES)]
    Paper(paper::PaperArgs),
}

/// Runs one of them and gives what is to be printed.
pub fn lab(command: &LabCommand) -> Result<String> {
    match command {
        LabCommand::Paper(args) => paper::paper(args),
    }
}
