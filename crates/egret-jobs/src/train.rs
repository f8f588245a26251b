//! Learns a model from a log, to be served or evaluated.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use egret::{
    ActionKind, AnyAction, AnyModel, Context, FeatureCounts, Model, ModelSpec, Objective, Observed,
    Settings, TrainedRows, for_kind,
};
use egret_offline::{
    Checkpoint, Epoch, HeldOutValue, LearningError, OfflineProtocol, Order, Selection,
    SelectionError, SelectionSettings, SplitRows, Trained, Training, TrainingCandidate,
    TrainingSettings, TrainingTask, Validation,
};
use serde::{Deserialize, Serialize};

pub use crate::training::{CandidateRequest, Counts, SplitRequest, TrainingLog};

use crate::confidence::confidence;
use crate::error::JobError;
use crate::progress::{Progress, Step, tell};
use crate::row_bytes::row_bytes;
use crate::training::TrainingEvents;

/// What is learned from, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainRequest {
    /// The log.
    pub from: TrainingLog,
    /// Oracle and training.
    pub candidate: CandidateRequest,
    /// The paper's offline protocol in place of the candidate: a network by dm and by clipped ips, events dealt out at
    /// random, the better one is kept.
    pub paper: bool,
    /// The parts of the log.
    pub split: SplitRequest,
    /// Seeds everything random: the same seed gives the same model.
    pub seed: u64,
    /// The probability with which the interval on test rows holds.
    pub level: f64,
    /// Where the state of training is kept after each epoch.
    pub checkpoint: Option<PathBuf>,
    /// Go on from that state.
    pub resume: bool,
}

impl Default for TrainRequest {
    fn default() -> Self {
        Self {
            from: TrainingLog::default(),
            candidate: CandidateRequest::default(),
            paper: false,
            split: SplitRequest::default(),
            seed: 0,
            level: 0.95,
            checkpoint: None,
            resume: false,
        }
    }
}

/// How training went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrainReport {
    /// Oracle and method.
    pub name: String,
    /// How the model is to be served, for its value.
    pub policy: String,
    /// What the log holds.
    #[serde(rename = "log")]
    pub counts: Counts,
    /// How contexts differ from the schema, if they have names.
    pub features: Option<FeatureCounts>,
    /// Rows trained on.
    pub train: usize,
    /// Rows that stopped the training.
    pub validation: usize,
    /// Rows that judged it.
    pub test: usize,
    /// What outcomes are: values are in its units.
    pub objective: Objective,
    /// The epoch whose model it is.
    pub best_epoch: u32,
    /// What that epoch came to on validation rows.
    pub validated: Validation,
    /// The model's value on test rows; none where no row has weight under its policy.
    pub tested: Option<HeldOutValue>,
    /// All epochs.
    pub epochs: Vec<Epoch>,
}

/// Learns a model.
pub fn train(
    request: &TrainRequest,
    progress: &dyn Progress,
) -> Result<(AnyModel, TrainReport), JobError> {
    request.split.checked(request.seed)?;
    confidence(request.level)?;
    let log = request.from.open(progress)?;
    for_kind!(log.kind(), A => train_kind(request, log.read::<A>(progress)?, progress))
}

fn train_kind<A: ActionKind>(
    request: &TrainRequest,
    events: TrainingEvents<A>,
    progress: &dyn Progress,
) -> Result<(AnyModel, TrainReport), JobError> {
    let TrainingEvents {
        spec,
        observed,
        largest_inverses,
        counts,
        next_event,
        features,
    } = events;
    let (spec, observed) = (&spec, observed.as_slice());
    let Done {
        candidate,
        trained,
        rows,
    } = if request.paper {
        by_protocol(request, spec, observed, progress)?
    } else {
        by_epochs(request, spec, observed, progress)?
    };
    let settings = Settings::default().with_seed(request.seed);
    let state = trained.oracle.save();
    let model = Model::<A>::trained(candidate.spec(spec), settings, &state, trained.learned);
    let model = model.map_err(egret_offline::CandidateError::from)?;
    let in_units = |epoch: &Epoch| Epoch {
        validation: epoch.validation.in_units(&spec.objective),
        ..*epoch
    };
    let mut report = TrainReport {
        name: candidate.name(),
        policy: candidate.training.policy.to_string(),
        counts,
        features,
        train: rows.train.len(),
        validation: rows.validation.len(),
        test: rows.test.len(),
        objective: spec.objective,
        best_epoch: trained.best_epoch,
        validated: trained.validation.in_units(&spec.objective),
        tested: None,
        epochs: trained.history.iter().map(in_units).collect(),
    };
    let examples = (observed, largest_inverses.as_slice());
    let tested = tested(request, spec, examples, &rows, candidate, trained)?;
    report.tested = tested.map(|mut tested| {
        if request.from.log.estimate_density {
            let verdict = tested.interval.verdict;
            tested.interval.verdict = verdict.with_estimated_densities();
        }
        tested.in_units(&spec.objective)
    });
    let mut trained_rows = TrainedRows::default();
    for &row in rows.train.iter().chain(&rows.validation) {
        let Observed {
            x, action, loss, ..
        } = &observed[row];
        let action: AnyAction = action.clone().into();
        trained_rows.add(&row_bytes(x, &action, loss.get()));
    }
    let model = model
        .with_next_event(next_event)
        .with_trained_rows(Some(trained_rows));
    Ok((model.into(), report))
}

/// A candidate, what it came to, and the rows it was trained on.
struct Done<A: ActionKind> {
    candidate: TrainingCandidate,
    trained: Trained<Context, A>,
    rows: SplitRows,
}

fn by_protocol<A: ActionKind>(
    request: &TrainRequest,
    spec: &ModelSpec,
    observed: &[Observed<Context, A>],
    progress: &dyn Progress,
) -> Result<Done<A>, JobError> {
    let mut protocol = OfflineProtocol::paper(spec.context_dim.max(1), request.seed)
        .map_err(|error| JobError::request("paper", error))?;
    protocol.order = Order::Shuffled(request.seed);
    let cancelled = AtomicBool::new(false);
    let outcome = protocol.learn_watched(spec, observed, |epoch| {
        let flow = progress.step(Step::Epoch(epoch));
        cancelled.fetch_or(flow.is_break(), Ordering::Relaxed);
        flow
    });
    if cancelled.into_inner() {
        return Err(JobError::Cancelled);
    }
    let mut outcome = outcome?;
    Ok(Done {
        candidate: protocol.candidates.swap_remove(outcome.best),
        trained: outcome.trained.swap_remove(outcome.best),
        rows: outcome.parts,
    })
}

fn by_epochs<A: ActionKind>(
    request: &TrainRequest,
    spec: &ModelSpec,
    observed: &[Observed<Context, A>],
    progress: &dyn Progress,
) -> Result<Done<A>, JobError> {
    let candidate = request.candidate.candidate(spec, request.seed);
    let (split, order) = request.split.checked(request.seed)?;
    let rows = split.parts(observed.len(), order);
    let before = earlier(request)?;
    // What is no error of training is kept for after.
    let mut stopped = None;
    let trained = candidate.train_with(
        spec,
        observed,
        &rows,
        |task: TrainingTask<'_, Context, A>, settings: TrainingSettings| {
            let mut training = match &before {
                Some(checkpoint) => Training::resume(task, settings, checkpoint)?,
                None => Training::new(task, settings)?,
            };
            while let Some(epoch) = training.epoch()? {
                let kept = request
                    .checkpoint
                    .as_deref()
                    .map_or(Ok(()), |file| keep(file, &training.checkpoint()));
                if let Err(error) = kept.and_then(|()| tell(progress, Step::Epoch(&epoch))) {
                    stopped = Some(error);
                    return Err(LearningError::NotTrained);
                }
            }
            training.finish()
        },
    );
    match stopped {
        Some(error) => Err(error),
        None => Ok(Done {
            trained: trained?,
            candidate,
            rows,
        }),
    }
}

/// The state that training goes on from.
fn earlier(request: &TrainRequest) -> Result<Option<Checkpoint>, JobError> {
    let Some(file) = &request.checkpoint else {
        return Ok(None);
    };
    if !file.exists() {
        return Ok(None);
    }
    if !request.resume {
        let problem = format!(
            "{} is from an earlier training: go on from it (--resume), or name another file",
            file.display()
        );
        return Err(JobError::request("checkpoint", problem));
    }
    let bytes = std::fs::read(file).map_err(|source| JobError::File {
        file: file.clone(),
        source,
    })?;
    let checkpoint = Checkpoint::load(&bytes);
    let checkpoint = checkpoint
        .map_err(|error| JobError::request("checkpoint", format!("{}: {error}", file.display())))?;
    Ok(Some(checkpoint))
}

/// Whole or not at all: beside its place first.
fn keep(file: &Path, checkpoint: &Checkpoint) -> Result<(), JobError> {
    let written = || -> std::io::Result<()> {
        let mut output = egret_log::OutputFile::create(file)?;
        std::io::Write::write_all(&mut output, &checkpoint.save())?;
        output.finish()
    };
    written().map_err(|source| {
        JobError::Write(egret_log::WriteError::Io {
            file: file.to_owned(),
            source,
        })
    })
}

/// The model's value on test rows, if any has weight.
fn tested<A: ActionKind>(
    request: &TrainRequest,
    spec: &ModelSpec,
    (observed, largest_inverses): (&[Observed<Context, A>], &[f64]),
    rows: &SplitRows,
    candidate: TrainingCandidate,
    trained: Trained<Context, A>,
) -> Result<Option<HeldOutValue>, JobError> {
    let settings = SelectionSettings {
        level: request.level,
        seed: request.seed,
        largest_inverses,
        again: &[],
    };
    let selection = Selection::judge(spec, observed, rows, &[candidate], vec![trained], settings);
    match selection {
        Ok(selection) => Ok(Some(selection.best().value.clone())),
        Err(SelectionError::NothingToJudgeBy { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
