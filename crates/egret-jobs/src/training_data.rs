use std::path::{Path, PathBuf};
use std::sync::Arc;

use egret::{
    ActionKind, Context, EmbeddingRows, Kind, ModelSpec, Observed, OracleSpec, Propensity, Space,
};
use egret_log::Record;
use egret_offline::{
    Confidence, Criterion, Order, ServedPolicy, Split, TrainingCandidate, TrainingMethod,
    TrainingSettings,
};
use serde::{Deserialize, Serialize};

use crate::error::{JobError, Place};
use crate::log_source::LogReader;
use crate::log_source::LogSource;
use crate::progress::Progress;

/// The log that is learned from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingLog {
    /// The log.
    pub log: LogSource,
    /// The action space, where the log does not say it.
    pub space: Option<Space>,
    /// What an oracle sees of each item: a file with one line of numbers, commas between them, for each.
    pub embeddings: Option<PathBuf>,
}

/// An oracle and how it is trained. What is absent suits the oracle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CandidateRequest {
    /// None: the default of the space.
    pub oracle: Option<OracleSpec>,
    /// What it is fitted to.
    pub method: TrainingMethod,
    /// Events in one step.
    pub batch: usize,
    /// Gradient steps for each batch.
    pub steps: Option<usize>,
    /// The most passes over the training rows.
    pub epochs: Option<u32>,
    /// Epochs in a row without a better validation that end training.
    pub patience: u32,
    /// Which validation number decides.
    pub criterion: Criterion,
    /// How the oracle is to be served.
    pub policy: ServedPolicy,
}

impl Default for CandidateRequest {
    fn default() -> Self {
        let settings = TrainingSettings::default();
        Self {
            oracle: None,
            method: settings.method,
            batch: settings.batch,
            steps: None,
            epochs: None,
            patience: settings.patience,
            criterion: settings.criterion,
            policy: settings.policy,
        }
    }
}

impl CandidateRequest {
    pub(crate) fn candidate(&self, spec: &ModelSpec, seed: u64) -> TrainingCandidate {
        let oracle = match &self.oracle {
            Some(oracle) => oracle.clone(),
            None => spec.oracle.with_seed(seed),
        };
        let settings = TrainingSettings {
            method: self.method,
            batch: self.batch,
            patience: self.patience,
            criterion: self.criterion,
            policy: self.policy,
            seed,
            ..TrainingSettings::default()
        }
        .suited_to(&oracle);
        TrainingCandidate {
            training: TrainingSettings {
                steps: self.steps.unwrap_or(settings.steps),
                epochs: self.epochs.unwrap_or(settings.epochs),
                ..settings
            },
            oracle,
        }
    }
}

/// Which rows are trained on, which stop the training, which judge it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SplitRequest {
    /// Shares of the log to train on, to stop by and to judge by, in its order.
    pub shares: [f64; 3],
    /// Deal events out to the three parts at random, as the paper does.
    pub shuffle: bool,
}

impl Default for SplitRequest {
    fn default() -> Self {
        Self {
            shares: [0.8, 0.1, 0.1],
            shuffle: false,
        }
    }
}

impl SplitRequest {
    pub(crate) fn checked(&self, seed: u64) -> Result<(Split, Order), JobError> {
        let [train, validation, test] = self.shares;
        let split = Split::new(train, validation, test);
        let split = split.map_err(|error| JobError::request("split", error))?;
        let order = if self.shuffle {
            Order::Shuffled(seed)
        } else {
            Order::Log
        };
        Ok((split, order))
    }
}

/// An error unless intervals can have this level: before the training, not after it.
pub(crate) fn check_level(level: f64) -> Result<(), JobError> {
    Confidence::new(level).map_err(|error| JobError::request("level", error))?;
    Ok(())
}

/// How many events of each sort a log has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// With a loss: those that are used.
    pub used: u64,
    /// Of these, how many have no density.
    pub point_masses: u64,
    /// Without a loss, and so of no use here.
    pub without_loss: u64,
    /// Rows that are not records.
    pub skipped: u64,
}

/// A log that was opened to learn from it.
pub(crate) struct OpenLog {
    reader: LogReader,
    /// The space and how long contexts are, with the default oracle.
    pub spec: ModelSpec,
}

impl TrainingLog {
    pub(crate) fn open(&self) -> Result<OpenLog, JobError> {
        let mut log = self.log.clone();
        if let Some(Space::Interval { low, high }) = self.space {
            log.interval = Some((low, high));
        }
        let reader = log.open()?;
        let space = match (&self.space, &reader.space) {
            (Some(space), _) => space.clone(),
            (None, Some(space)) => Space::clone(space),
            (None, None) => {
                return Err(JobError::request(
                    "space",
                    "the log does not say what its action space is: give it, as in interval:0,1",
                ));
            }
        };
        let embeddings = self
            .embeddings
            .as_deref()
            .map(read_embeddings)
            .transpose()?;
        let context_dim = reader.context_dim();
        Ok(OpenLog {
            spec: ModelSpec::from_parts(space, embeddings, context_dim),
            reader,
        })
    }
}

/// What can be learned from in a log.
pub(crate) struct TrainingEvents<A> {
    pub spec: ModelSpec,
    pub observed: Vec<Observed<Context, A>>,
    pub counts: Counts,
}

impl OpenLog {
    pub(crate) fn kind(&self) -> Kind {
        self.reader.kind
    }

    /// All events of the log that have a loss.
    pub(crate) fn read<A: ActionKind>(
        mut self,
        progress: &dyn Progress,
    ) -> Result<TrainingEvents<A>, JobError> {
        let space = Arc::new(self.spec.space.clone());
        let mut counts = Counts::default();
        let mut all = Vec::new();
        let mut kept = None;
        while let Some((place, record)) = self.reader.next(progress)? {
            check(&record, &space, &place, &mut kept)?;
            let observed = record
                .observed::<A>()
                .map_err(|error| JobError::record(&place, error))?;
            let Some(observed) = observed else {
                counts.without_loss += 1;
                continue;
            };
            counts.used += 1;
            counts.point_masses += u64::from(observed.propensity == Propensity::PointMass);
            let Observed {
                action,
                loss,
                propensity,
                tau,
                ..
            } = observed;
            all.push(Observed {
                x: record.context,
                action,
                loss,
                propensity,
                tau,
            });
        }
        counts.skipped = self.reader.finish()?.rows;
        if counts.used == 0 {
            return Err(JobError::Log(format!(
                "none of the {} records has a loss: there is nothing to learn from",
                counts.without_loss
            )));
        }
        Ok(TrainingEvents {
            spec: self.spec,
            observed: all,
            counts,
        })
    }
}

fn check(
    record: &Record,
    space: &Arc<Space>,
    place: &Place,
    kept: &mut Option<f64>,
) -> Result<(), JobError> {
    if let Some(own) = &record.mu
        && own != space
    {
        let problem = format!(
            "the log is over {space}, and this is over {own}: learn from each space by itself"
        );
        return Err(JobError::field(place, "mu", problem));
    }
    space
        .check_action(&record.action)
        .map_err(|error| JobError::field(place, "action", error))?;
    let pass = record.pass_prob.unwrap_or(1.0);
    let first = *kept.get_or_insert(pass);
    if first != pass {
        let problem = format!(
            "it was kept with probability {pass}, and others with {first}: such logs can be evaluated and not learned \
             from, as oracles do not weigh for it"
        );
        return Err(JobError::field(place, "passProb", problem));
    }
    Ok(())
}

fn read_embeddings(file: &Path) -> Result<EmbeddingRows, JobError> {
    let text = std::fs::read_to_string(file).map_err(|source| JobError::File {
        file: file.to_owned(),
        source,
    })?;
    let (mut dim, mut values) = (0, Vec::new());
    for (row, line) in text.lines().enumerate() {
        let place = Place {
            file: file.into(),
            row: row as u64 + 1,
            field: None,
        };
        let before = values.len();
        for number in line.split(',') {
            let value = number.trim().parse::<f64>();
            values
                .push(value.map_err(|_| {
                    JobError::record(&place, format!("{number:?} is not a number"))
                })?);
        }
        let found = values.len() - before;
        if row == 0 {
            dim = found;
        }
        if found != dim {
            let problem = format!("{found} numbers, expected {dim} as in row 1");
            return Err(JobError::record(&place, problem));
        }
    }
    EmbeddingRows::new(dim, values).map_err(|error| JobError::request("embeddings", error))
}
