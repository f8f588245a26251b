use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::Args;
use egret::Space;
use egret_jobs::LogSource;
use egret_log::{LogMapping, NO_DENSITY, ValueRange};

use crate::protect_inputs::protect_inputs;

/// Which log is read, what its columns are, and what is done with bad rows: the same for every command that reads one.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// Logs: files of Parquet, Arrow, CSV, JSON lines or dsjson, plain or compressed (.gz, .zst), and folders of them; - is the
    /// standard input
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,
    #[command(flatten)]
    columns: ColumnArgs,
    /// Skip bad rows; write them to this file with place and reason. Without it the first bad row is an error
    #[arg(long, value_name = "FILE")]
    pub skip_bad: Option<PathBuf>,
}

/// Which columns are what.
#[derive(Debug, Args)]
#[command(
    next_help_heading = "Columns, for logs from elsewhere (`egret log init` proposes them, and saves them beside the log)"
)]
struct ColumnArgs {
    /// The action; several columns are the coordinates of a vector, or the knobs of a mixed space
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    action: Vec<String>,
    /// The density of the action, or none where it was not logged
    #[arg(long, value_name = "COLUMN")]
    density: Option<String>,
    /// Densities are per unit of length or volume, or probabilities of steps or items; those of `column:` policies too
    #[arg(long)]
    density_per_unit: bool,
    /// The outcome, if more is better
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["loss", "loss_range"])]
    reward: Option<String>,
    /// The least and the largest reward that can be, as in 0,50; 0,50,clip cuts off what is outside
    #[arg(long, value_name = "LOW,HIGH", allow_hyphen_values = true)]
    reward_range: Option<ValueRange>,
    /// The outcome, if less is better
    #[arg(long, value_name = "COLUMN", conflicts_with = "reward_range")]
    loss: Option<String>,
    /// The least and the largest loss that can be [default: 0,1]
    #[arg(long, value_name = "LOW,HIGH", allow_hyphen_values = true)]
    loss_range: Option<ValueRange>,
    /// The features
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    context: Vec<String>,
    /// The action space, where the log does not say it: interval:0,1 log:1000,1000000000 steps:5,50,0.5
    /// normal:MEAN,SD,LOW,HIGH beta:A,B,LOW,HIGH box:0,1,0,5 sphere:3 simplex:1,1,1 items:100 mixed:colour=red|blue;price=5..50/0.5
    #[arg(long, value_name = "SPACE")]
    space: Option<Space>,
    /// What the request allowed, as JSON, where that was not everything
    #[arg(long, value_name = "COLUMN")]
    limits: Option<String>,
    /// The time of the decision
    #[arg(long, value_name = "COLUMN")]
    time: Option<String>,
    /// The name of the event
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
}

impl LogArgs {
    /// The log that is to be read, with densities that are estimated from it.
    pub fn source_with_estimated_densities(&self) -> Result<LogSource> {
        let columns = &self.columns;
        ensure!(
            columns
                .density
                .as_deref()
                .is_none_or(|column| column == NO_DENSITY),
            "--estimate-density takes the place of --density: leave one of them out"
        );
        ensure!(
            !columns.density_per_unit,
            "--density-per-unit says what logged densities are, and --estimate-density takes their place: leave one of them out"
        );
        Ok(LogSource {
            estimate_density: true,
            ..self.source()
        })
    }

    /// The log that is to be read.
    pub fn source(&self) -> LogSource {
        let columns = &self.columns;
        LogSource {
            skip_bad: self.skip_bad.clone(),
            mapping: LogMapping {
                action: columns.action.clone(),
                density: columns.density.clone(),
                density_per_unit: columns.density_per_unit.then_some(true),
                reward: columns.reward.clone(),
                reward_range: columns.reward_range,
                loss: columns.loss.clone(),
                loss_range: columns.loss_range,
                context: columns.context.clone(),
                space: columns.space.clone(),
                limits: columns.limits.clone(),
                time: columns.time.clone(),
                id: columns.id.clone(),
                ..LogMapping::default()
            },
            ..LogSource::new(&self.logs)
        }
    }

    /// The files and folders that are read.
    pub fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.logs.iter().map(PathBuf::as_path)
    }

    /// Refuses outputs that would overwrite the log or another input.
    pub fn protect<'p>(
        &'p self,
        outputs: &[(&str, Option<&Path>)],
        others: impl IntoIterator<Item = &'p Path>,
    ) -> Result<()> {
        let own = [("--skip-bad", self.skip_bad.as_deref())];
        let inputs: Vec<&Path> = self.inputs().chain(others).collect();
        protect_inputs(&[outputs, &own].concat(), inputs)
    }
}
