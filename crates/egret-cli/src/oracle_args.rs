use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use egret::{Forecaster, LearningRate, OracleSpec};
use egret_offline::{Atoms, Criterion, Method, Recipe, ServedPolicy, TrainingSettings};

/// Which oracles there are on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OracleKind {
    /// The paper's offline oracle: a network gives the best action, a curve the loss around it; intervals only
    Network,
    /// The same with a linear best action, the paper's online oracle; intervals only
    Linear,
    /// Least squares on context, action and their products
    Ridge,
    /// Vovk-Azoury-Warmuth on the same
    Vaw,
    /// Random Fourier features of context and action
    Fourier,
    /// Vovk's mixture of ridge and fourier
    Mixture,
}

/// What is learned by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MethodKind {
    /// Direct method: every event counts alike
    Dm,
    /// Clipped inverse propensities: an event counts min(1/p, clip)
    Ips,
    /// Doubly robust pseudo-losses, from first fits on other folds
    Dr,
}

/// What a validation is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CriterionKind {
    /// The method's own squared error: steady
    Error,
    /// The estimated loss of the served policy: what one is after, and noisy
    Value,
}

/// Settings of oracles.
#[derive(Debug, Args)]
#[command(next_help_heading = "Oracles")]
pub struct OracleArgs {
    /// Widths of a network's two hidden layers [default: as wide as the context]
    #[arg(long, value_name = "N,N", value_delimiter = ',', num_args = 1)]
    pub hidden: Vec<usize>,
    /// Adam's first learning rate [default: 0.004 for a network by dm and dr, 0.0075 by ips, 0.02 for linear: the paper's]
    #[arg(long)]
    pub rate: Option<f64>,
    /// The rate falls as sqrt(t0/(t0 + steps)) [default: 500, 750, 100]
    #[arg(long)]
    pub t0: Option<f64>,
    /// How much ridge and vaw hold their weights back
    #[arg(long, default_value_t = 1.0)]
    pub lambda: f64,
    /// Leave squares of the action out of ridge and vaw; the best action is then always at an end
    #[arg(long)]
    pub no_squares: bool,
    /// How many Fourier features
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub features: usize,
    /// Inputs 1/SCALE apart are related by 1/e, for Fourier features
    #[arg(long, default_value_t = 1.0)]
    pub scale: f64,
}

/// Settings of training.
#[derive(Debug, Args)]
#[command(next_help_heading = "Training")]
pub struct TrainingArgs {
    /// The largest weight, for ips and dr
    #[arg(long, value_name = "CAP", default_value_t = 5.0)]
    pub clip: f64,
    /// Point masses count as much as the cap, for ips; left out otherwise, as 1/p is 0 there
    #[arg(long)]
    pub count_atoms: bool,
    /// Folds of first fits, for dr
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub folds: usize,
    /// Events in one step
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub batch: usize,
    /// Gradient steps for each batch [default: 2; 1 for ridge and vaw]
    #[arg(long, value_name = "N")]
    pub steps: Option<usize>,
    /// The most passes over the log [default: 100; 1 for ridge and vaw]
    #[arg(long, value_name = "N")]
    pub epochs: Option<u32>,
    /// Epochs without a better validation that end training
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub patience: u32,
    /// What has to get better on validation rows
    #[arg(long, value_enum, default_value = "error")]
    pub criterion: CriterionKind,
    /// How the model is to be served, for its value: best-of:M or smooth:TAU
    #[arg(long, default_value = "best-of:8")]
    pub policy: ServedPolicy,
    /// Shares of the log to train on, to stop by, and to judge by, in its order
    #[arg(
        long,
        value_name = "A,B,C",
        value_delimiter = ',',
        num_args = 1,
        default_value = "0.8,0.1,0.1"
    )]
    pub split: Vec<f64>,
    /// Deal events out to the three parts at random, as the paper does
    #[arg(long)]
    pub shuffle: bool,
    /// The same seed gives the same model, on any machine and any number of cores
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

impl TrainingArgs {
    /// The split, checked.
    pub fn split(&self) -> Result<(egret_offline::Split, egret_offline::Order)> {
        let &[train, validation, test] = &self.split[..] else {
            anyhow::bail!(
                "--split has {} shares, expected three as in 0.8,0.1,0.1",
                self.split.len()
            );
        };
        let split = egret_offline::Split::new(train, validation, test)?;
        let order = if self.shuffle {
            egret_offline::Order::Shuffled(self.seed)
        } else {
            egret_offline::Order::Log
        };
        Ok((split, order))
    }

    fn method(&self, kind: MethodKind) -> Method {
        match kind {
            MethodKind::Dm => Method::DirectMethod,
            MethodKind::Ips => Method::ClippedIps {
                cap: self.clip,
                atoms: if self.count_atoms {
                    Atoms::Cap
                } else {
                    Atoms::LeaveOut
                },
            },
            MethodKind::Dr => Method::DoublyRobust {
                cap: self.clip,
                folds: self.folds,
                draws: 1,
            },
        }
    }
}

/// One candidate from flags.
pub fn recipe(
    oracle: OracleKind,
    method: MethodKind,
    oracles: &OracleArgs,
    training: &TrainingArgs,
    context_dim: usize,
) -> Result<Recipe> {
    let oracle = oracle_spec(oracle, method, oracles, training.seed, context_dim)?;
    let settings = TrainingSettings {
        method: training.method(method),
        batch: training.batch,
        patience: training.patience,
        criterion: match training.criterion {
            CriterionKind::Error => Criterion::SquaredError,
            CriterionKind::Value => Criterion::Value,
        },
        policy: training.policy,
        seed: training.seed,
        ..TrainingSettings::default()
    }
    .suited_to(&oracle);
    Ok(Recipe {
        oracle,
        training: TrainingSettings {
            steps: training.steps.unwrap_or(settings.steps),
            epochs: training.epochs.unwrap_or(settings.epochs),
            ..settings
        },
    })
}

fn oracle_spec(
    kind: OracleKind,
    method: MethodKind,
    args: &OracleArgs,
    seed: u64,
    context_dim: usize,
) -> Result<OracleSpec> {
    let rate =
        |rate: f64, t0: f64| LearningRate::new(args.rate.unwrap_or(rate), args.t0.unwrap_or(t0));
    let least_squares = |forecaster| OracleSpec::LeastSquares {
        forecaster,
        lambda: args.lambda,
        squares: !args.no_squares,
    };
    let fourier = OracleSpec::Fourier {
        features: args.features,
        scale: args.scale,
        seed,
    };
    Ok(match kind {
        OracleKind::Network => {
            ensure!(
                matches!(args.hidden.len(), 0 | 2),
                "--hidden has {} widths, expected two as in 32,32",
                args.hidden.len()
            );
            let hidden = match args.hidden[..] {
                [first, second] => [first, second],
                _ => [context_dim.max(1); 2],
            };
            OracleSpec::Argmin {
                hidden: Some(hidden),
                learning_rate: match method {
                    MethodKind::Ips => rate(0.0075, 750.0)?,
                    MethodKind::Dm | MethodKind::Dr => rate(0.004, 500.0)?,
                },
                seed,
            }
        }
        OracleKind::Linear => OracleSpec::Argmin {
            hidden: None,
            learning_rate: rate(0.02, 100.0)?,
            seed,
        },
        OracleKind::Ridge => least_squares(Forecaster::Ridge),
        OracleKind::Vaw => least_squares(Forecaster::VovkAzouryWarmuth),
        OracleKind::Fourier => fourier,
        OracleKind::Mixture => {
            OracleSpec::Aggregation(vec![least_squares(Forecaster::Ridge), fourier])
        }
    })
}
