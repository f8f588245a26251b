use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use egret::{FeatureCounts, FeatureSchema, OracleSpec};
use egret_jobs::train::{CandidateRequest, Counts, SplitRequest, TrainingLog};
use egret_offline::{Criterion, PointMasses, ServedPolicy, TrainingMethod, TrainingSettings};

use egret_report::numerals::thousands;

use crate::log_args::LogArgs;

/// The log that is learned from.
#[derive(Debug, Args)]
pub struct TrainingLogArgs {
    #[command(flatten)]
    pub log: LogArgs,
    /// Estimate how likely the log's actions were, where that was not logged: an assumption, never called reliable
    #[arg(long)]
    pub estimate_density: bool,
    /// How named features become numbers: a feature schema as JSON [default: inferred from the log]
    #[arg(long, value_name = "FILE")]
    pub features: Option<PathBuf>,
    /// The features of items: a file with one line of comma-separated numbers for each item
    #[arg(long, value_name = "FILE")]
    pub embeddings: Option<PathBuf>,
}

impl TrainingLogArgs {
    /// The files that are read beside the log.
    pub fn others(&self) -> impl Iterator<Item = &Path> {
        let others = [&self.features, &self.embeddings];
        others.into_iter().filter_map(Option::as_deref)
    }

    pub fn source(&self) -> Result<TrainingLog> {
        Ok(TrainingLog {
            log: match self.estimate_density {
                true => self.log.source_with_estimated_densities()?,
                false => self.log.source(),
            },
            space: None,
            features: self.features.as_deref().map(read_schema).transpose()?,
            embeddings: self.embeddings.clone(),
        })
    }
}

/// The feature schema in a file.
pub fn read_schema(file: &Path) -> Result<FeatureSchema> {
    let text = fs::read_to_string(file)
        .with_context(|| format!("--features: cannot read {}", file.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("--features: {} is not a feature schema", file.display()))
}

/// What `--help` says of oracles.
pub const ORACLES: &str = "\
Oracles, which predict losses; what is left out has its default:
  default                            egret's own, for the action space at hand
  argmin[:hidden=16x16][,rate=R][,t0=T]
                                     the paper's: a best action, linear or by a network, and a curve around it; intervals only
  ridge[:lambda=1][,squares=true]    least squares on context, action, squares and products; vaw is Vovk-Azoury-Warmuth's
  fourier[:features=256][,scale=1]   random Fourier features
  curves, latent-outcome             the networks that the default is made of
  ridge+fourier                      Vovk's aggregation of several; (ridge+fourier)@128 is piecewise constant";

/// An oracle by its short text; `default` is the default of the action space.
#[derive(Debug, Clone, PartialEq)]
pub struct OracleText(pub Option<OracleSpec>);

impl std::str::FromStr for OracleText {
    type Err = egret::OracleTextError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(match text {
            "default" => None,
            text => Some(text.parse()?),
        }))
    }
}

/// What an oracle is fitted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MethodName {
    /// Direct method: every event counts alike
    Dm,
    /// Clipped inverse propensities: an event counts min(1/p, clip)
    Ips,
    /// Doubly robust pseudo-losses, from first fits on other folds
    Dr,
}

/// What a validation is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CriterionName {
    /// The method's own squared error: steady
    Error,
    /// The estimated value of the served policy: the goal itself, but noisy
    Value,
}

/// What is said where no event of the log has a density.
pub const WARM_START: &str = "No event says how likely its action was, so this is a warm start: what came of the actions that were taken, as if they had been \
     taken for no reason. Whatever else they went by is not corrected for, and what the model is worth is not known until its own decisions are logged.";

/// Flags that say how a candidate is trained, by the names of their fields.
pub const OF_A_CANDIDATE: [&str; 9] = [
    "clip",
    "count_point_masses",
    "folds",
    "batch",
    "steps",
    "epochs",
    "patience",
    "criterion",
    "policy",
];

/// Settings of training.
#[derive(Debug, Args)]
#[command(next_help_heading = "Training")]
pub struct TrainingArgs {
    /// The largest weight, for ips and dr [default: 5]
    #[arg(long, value_name = "CAP")]
    pub clip: Option<f64>,
    /// Give point masses the weight --clip, for ips; without it they are left out
    #[arg(long)]
    pub count_point_masses: bool,
    /// Folds of first fits, for dr [default: 4]
    #[arg(long, value_name = "N")]
    pub folds: Option<usize>,
    /// Events in one step
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub batch: usize,
    /// Gradient steps for each batch [default: 2; 1 for ridge and vaw]
    #[arg(long, value_name = "N")]
    pub steps: Option<usize>,
    /// The largest number of passes over the log [default: 100; 1 for ridge and vaw]
    #[arg(long, value_name = "N")]
    pub epochs: Option<u32>,
    /// Training ends after so many epochs without a better validation [default: 1]
    #[arg(long, value_name = "N")]
    pub patience: Option<u32>,
    /// What has to get better on validation rows [default: error]
    #[arg(long, value_enum)]
    pub criterion: Option<CriterionName>,
    /// How the model is to be served, for its value: best-of:m=M or smooth:tau=TAU
    #[arg(long = "serve", value_name = "POLICY", default_value = "best-of:m=8")]
    pub policy: ServedPolicy,
    /// The shares of the log for training, for stopping and for judging, in the order of the log
    #[arg(
        long,
        value_name = "A,B,C",
        value_delimiter = ',',
        num_args = 1,
        default_value = "0.8,0.1,0.1"
    )]
    pub split: Vec<f64>,
    /// Assign events to the three parts at random, as the paper does
    #[arg(long)]
    pub shuffle: bool,
    /// The same seed gives the same model, on any machine and any number of cores
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

impl TrainingArgs {
    /// Refuses flags that none of the methods and oracles heeds.
    pub fn check(&self, methods: &[MethodName], oracles: &[OracleText]) -> Result<()> {
        let once = |oracle: &OracleText| match (self.epochs, &oracle.0) {
            (Some(epochs), _) => epochs == 1,
            (None, Some(oracle)) => TrainingSettings::default().suited_to(oracle).epochs == 1,
            (None, None) => false,
        };
        for (given, flag) in [
            (self.patience.is_some(), "--patience"),
            (self.criterion.is_some(), "--criterion"),
        ] {
            ensure!(
                !given || oracles.is_empty() || !oracles.iter().all(once),
                "{flag} has no effect where there is one epoch: leave it out, or give more --epochs"
            );
        }
        for (given, flag, heeded) in [
            (
                self.clip.is_some(),
                "--clip",
                &[MethodName::Ips, MethodName::Dr][..],
            ),
            (self.folds.is_some(), "--folds", &[MethodName::Dr]),
            (
                self.count_point_masses,
                "--count-point-masses",
                &[MethodName::Ips],
            ),
        ] {
            let effect = methods.iter().any(|method| heeded.contains(method));
            let names: Vec<String> = heeded
                .iter()
                .map(|name| format!("{name:?}").to_lowercase())
                .collect();
            ensure!(
                !given || effect,
                "{flag} has no effect without --method {}: leave it out",
                names.join(" or ")
            );
        }
        Ok(())
    }

    pub fn split(&self) -> Result<SplitRequest> {
        let &[train, validation, test] = &self.split[..] else {
            bail!(
                "--split has {} shares, expected three as in 0.8,0.1,0.1",
                self.split.len()
            );
        };
        Ok(SplitRequest {
            shares: [train, validation, test],
            shuffle: self.shuffle,
        })
    }

    /// One candidate.
    pub fn candidate(&self, oracle: &OracleText, method: MethodName) -> CandidateRequest {
        CandidateRequest {
            oracle: oracle.0.clone(),
            method: match method {
                MethodName::Dm => TrainingMethod::DirectMethod,
                MethodName::Ips => TrainingMethod::ClippedIps {
                    cap: self.clip.unwrap_or(5.0),
                    point_masses: if self.count_point_masses {
                        PointMasses::Cap
                    } else {
                        PointMasses::LeaveOut
                    },
                },
                MethodName::Dr => TrainingMethod::DoublyRobust {
                    cap: self.clip.unwrap_or(5.0),
                    folds: self.folds.unwrap_or(4),
                    draws: 1,
                },
            },
            batch: self.batch,
            steps: self.steps,
            epochs: self.epochs,
            patience: self.patience.unwrap_or(1),
            criterion: match self.criterion {
                None | Some(CriterionName::Error) => Criterion::SquaredError,
                Some(CriterionName::Value) => Criterion::Value,
            },
            policy: self.policy,
        }
    }
}

/// What is said where densities were estimated.
pub const ESTIMATED: &str = "The densities of the log were estimated from it (--estimate-density): what rests on them is an assumption.";

/// What a log holds, in words.
pub fn counted(counts: &Counts) -> String {
    let mut words = format!("{} events with an outcome", thousands(counts.used as f64));
    for (count, what) in [
        (counts.point_masses, "of them without a density"),
        (counts.without_loss, "more without an outcome, left out"),
        (counts.skipped, "rows skipped as bad"),
    ] {
        if 0 < count {
            words += &format!(", {} {what}", thousands(count as f64));
        }
    }
    words
}

/// How contexts differ from the schema, if they do.
pub fn differing(features: Option<&FeatureCounts>) -> Option<String> {
    let features = features.filter(|features| !features.is_clean())?;
    let contexts = thousands(features.events as f64);
    Some(format!(
        "Of {contexts} contexts, some are not as the schema says: {features}."
    ))
}
