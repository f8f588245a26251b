//! Trains many candidates on a log, judges them on held-out events, keeps the best.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use egret::{ActionKind, AnyModel, Decision, FeatureCounts, Objective, Settings, Space, for_kind};
use egret_offline::{
    CandidateStanding, Epoch, HeldOutValue, Selection, SelectionSettings, TrainingCandidate,
    Validation,
};
use serde::{Deserialize, Serialize};

use crate::confidence::confidence;
use crate::decided_again::DecidedAgain;
use crate::error::JobError;
use crate::progress::{Progress, Step};
use crate::train::{CandidateRequest, Counts, SplitRequest, TrainingLog};
use crate::training::TrainingEvents;

/// Which candidates, and what they learn from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelectRequest {
    /// The log.
    pub from: TrainingLog,
    /// The candidates.
    pub candidates: Vec<CandidateRequest>,
    /// The parts of the log.
    pub split: SplitRequest,
    /// The model that made the log, from before its first event, or several: decisions of held-out events are made again with it,
    /// which narrows betting intervals.
    pub logged_by: Vec<PathBuf>,
    /// Seeds everything random.
    pub seed: u64,
    /// The probability with which all intervals hold at once.
    pub level: f64,
}

impl Default for SelectRequest {
    fn default() -> Self {
        Self {
            from: TrainingLog::default(),
            candidates: Vec::new(),
            split: SplitRequest::default(),
            logged_by: Vec::new(),
            seed: 0,
            level: 0.95,
        }
    }
}

/// How the candidates did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SelectReport {
    /// One row for each, in the order of the request.
    pub candidates: Vec<CandidateRow>,
    /// What the log holds.
    #[serde(rename = "log")]
    pub counts: Counts,
    /// How contexts differ from the schema, if they have names.
    pub features: Option<FeatureCounts>,
    /// Rows to train on, to stop by, to judge by.
    pub parts: [usize; 3],
    /// What outcomes are: estimates and intervals are in its units.
    pub objective: Objective,
    /// Who won and what may be as good, in a sentence.
    pub sentence: String,
}

/// One candidate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateRow {
    /// Oracle and method.
    pub candidate: String,
    /// How it is served.
    pub policy: String,
    /// On validation rows.
    pub validation: Validation,
    /// The epoch whose model it is.
    pub best_epoch: u32,
    /// What outcomes are, as in `maximize:0,50`.
    pub objective: String,
    /// Its mean outcome on held-out rows, in the units of the objective.
    pub estimate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability with which all intervals hold.
    pub level: f64,
    /// Held-out rows.
    pub n: u64,
    /// Effective sample size.
    pub ess: f64,
    /// The largest weight.
    pub max_weight: f64,
    /// The mean weight, which should be 1.
    pub mean_weight: f64,
    /// Beside the winner.
    pub standing: CandidateStanding,
    /// How many more held-out events would settle a tie with the winner, if the difference is what is estimated.
    pub settles_after: Option<u64>,
    /// Whether to trust the interval.
    pub verdict: String,
    /// Whether it is the one that is kept.
    pub winner: bool,
}

/// Selects the best candidate.
pub fn select(
    request: &SelectRequest,
    progress: &dyn Progress,
) -> Result<(AnyModel, SelectReport), JobError> {
    request.split.checked(request.seed)?;
    confidence(request.level)?;
    let source = &request.from.log;
    if !request.logged_by.is_empty() {
        let problem = match (source.estimate_density, source.can_be_read_twice()) {
            (true, _) => Some(
                "it needs logged densities, and those are to be estimated: leave one of the two out",
            ),
            (_, false) => {
                Some("the log is read twice for it, and a pipe cannot be: save it as a file")
            }
            _ => None,
        };
        if let Some(problem) = problem {
            return Err(JobError::request("logged_by", problem));
        }
    }
    let log = request.from.open(progress)?;
    for_kind!(log.kind(), A => select_kind(request, log.read::<A>(progress)?, progress))
}

fn select_kind<A: ActionKind>(
    request: &SelectRequest,
    events: TrainingEvents<A>,
    progress: &dyn Progress,
) -> Result<(AnyModel, SelectReport), JobError> {
    let TrainingEvents {
        spec,
        observed,
        largest_inverses,
        counts,
        next_event,
        features,
    } = events;
    let (spec, observed) = (&spec, observed.as_slice());
    let candidates: Vec<TrainingCandidate> = request
        .candidates
        .iter()
        .map(|candidate| candidate.candidate(spec, request.seed))
        .collect();
    let (split, order) = request.split.checked(request.seed)?;
    let rows = split.parts(observed.len(), order);
    let again = decided_again(request, &spec.space, &rows.test, progress)?;
    let settings = SelectionSettings {
        level: request.level,
        seed: request.seed,
        largest_inverses: &largest_inverses,
        again: &again,
    };
    let (done, of) = (AtomicUsize::new(0), candidates.len());
    // Epochs are told too, as no more than before, so that a job can be ended between them.
    let watch = |_: &TrainingCandidate, epoch: Option<&Epoch>| -> ControlFlow<()> {
        let one = usize::from(epoch.is_none());
        let done = done.fetch_add(one, Ordering::Relaxed) + one;
        progress.step(Step::Trained { done, of })
    };
    let selection = Selection::new(spec, observed, &rows, &candidates, settings, watch);
    let mut selection = selection.map_err(|error| match error {
        egret_offline::SelectionError::Cancelled => JobError::Cancelled,
        error => error.into(),
    })?;
    if request.from.log.estimate_density {
        selection = selection.with_estimated_densities();
    }
    let model = selection.model(Settings::default().with_seed(request.seed))?;
    let report = SelectReport {
        candidates: report_rows(
            &selection,
            &spec.objective,
            request.from.log.estimate_density,
        ),
        objective: spec.objective,
        counts,
        features,
        parts: [rows.train.len(), rows.validation.len(), rows.test.len()],
        sentence: selection.sentence(),
    };
    Ok((model.with_next_event(next_event).into(), report))
}

/// The decisions of these rows, made again by the model that made the log; none where it is not given.
fn decided_again<A: ActionKind>(
    request: &SelectRequest,
    space: &Space,
    rows: &[usize],
    progress: &dyn Progress,
) -> Result<Vec<Vec<Decision<A>>>, JobError> {
    let (files, seed) = (&request.logged_by, request.seed);
    let space = Arc::new(space.clone());
    let Some(mut again) = DecidedAgain::<A>::new(files, Some(&space), seed)? else {
        return Ok(Vec::new());
    };
    let mut places = vec![None; rows.iter().max().map_or(0, |last| last + 1)];
    for (place, &row) in rows.iter().enumerate() {
        places[row] = Some(place);
    }
    let mut decisions = vec![Vec::new(); rows.len()];
    let mut log = request.from.open(progress)?.reader;
    // Rows are counted as they were for training: those with a loss.
    let mut used = 0;
    while let Some((place, record)) = log.next(progress)? {
        let wanted = record.loss.and_then(|_| *places.get(used)?);
        used += usize::from(record.loss.is_some());
        let made = again.observe((log.rows() - 1, &place, &record), wanted.is_some())?;
        if let Some(wanted) = wanted {
            decisions[wanted] = made;
        }
        if places.len() == used {
            break;
        }
    }
    Ok(decisions)
}

fn report_rows<A: ActionKind>(
    selection: &Selection<A>,
    objective: &Objective,
    estimated_densities: bool,
) -> Vec<CandidateRow> {
    let entries = selection.entries.iter().enumerate();
    entries
        .map(|(place, entry)| {
            let HeldOutValue {
                estimate,
                interval,
                standing,
                behind,
                ..
            } = entry.value.clone().in_units(objective);
            let verdict = match estimated_densities {
                true => interval.verdict.clone().with_estimated_densities(),
                false => interval.verdict.clone(),
            };
            CandidateRow {
                candidate: entry.candidate.name(),
                policy: entry.candidate.training.policy.to_string(),
                validation: entry.trained.validation.in_units(objective),
                best_epoch: entry.trained.best_epoch,
                objective: objective.to_string(),
                estimate,
                low: interval.low,
                high: interval.high,
                level: interval.level,
                n: interval.n,
                ess: interval.ess,
                max_weight: interval.max_weight,
                mean_weight: interval.mean_weight,
                standing,
                settles_after: behind.and_then(|behind| behind.events_to_settle()),
                verdict: verdict.words,
                winner: place == selection.winner,
            }
        })
        .collect()
}
