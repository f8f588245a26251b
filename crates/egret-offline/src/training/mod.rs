//! Off-policy learning: fits an oracle to a log, epoch by epoch, and stops early.
//!
//! | file             | what                                                                              |
//! |------------------|-----------------------------------------------------------------------------------|
//! | `mod`            | [`Training`]: takes a [`TrainingTask`] and ends with [`Trained`]                  |
//! | `settings`       | [`TrainingSettings`], [`Criterion`]: batches, epochs, when to stop                |
//! | `method`         | [`TrainingMethod`]: direct, clipped IPS, or doubly robust                         |
//! | `split`          | [`Split`]: which rows train, validate and test                                    |
//! | `served_policy`  | [`ServedPolicy`]: how an oracle is turned into a policy with a density            |
//! | `candidate`      | [`TrainingCandidate`]: an oracle and its settings, trained in one call            |
//! | `protocol`       | [`OfflineProtocol`]: the paper's offline experiment                               |
//! | `checkpoint`     | [`Checkpoint`]: a training that can go on later                                   |
//! | `early_stopping`, `pseudo_loss`, `learning_error` | patience, the terms of a fit, and why it failed  |

mod candidate;
mod checkpoint;
mod early_stopping;
mod learning_error;
mod method;
mod protocol;
mod pseudo_loss;
mod served_policy;
mod settings;
mod split;

pub use candidate::{CandidateError, TrainingCandidate};
pub use checkpoint::Checkpoint;
pub use early_stopping::EarlyStopping;
pub use learning_error::LearningError;
pub use method::{PointMasses, TrainingMethod};
pub use protocol::{OfflineProtocol, ProtocolOutcome};
pub(crate) use served_policy::importance_weights;
pub use served_policy::{ServedPolicy, UnknownPolicy};
pub use settings::{Criterion, TrainingSettings};
pub use split::{Order, Split, SplitRows};

use egret::{
    Action, ContextError, EventRng, Example, Learned, Objective, Observed, ReferenceMeasure,
    RegressionOracle, Stream,
};
use serde::{Deserialize, Serialize};

use self::pseudo_loss::Terms;
use self::split::shuffle;

/// What to learn from: a log, how it is split, μ, and an oracle that has learned nothing yet.
pub struct TrainingTask<'a, X, A: Action> {
    /// The log.
    pub examples: &'a [Observed<X, A>],
    /// Which rows are for what.
    pub parts: &'a SplitRows,
    /// μ.
    pub measure: &'a dyn ReferenceMeasure<X, A>,
    /// Makes the oracle; each call makes an equal one.
    pub oracle: &'a (dyn Fn() -> Box<dyn RegressionOracle<X, A>> + Sync),
}

impl<X, A: Action> Clone for TrainingTask<'_, X, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<X, A: Action> Copy for TrainingTask<'_, X, A> {}

/// Trains an oracle on a log, one epoch at a time.
///
/// The doubly robust method first trains one oracle for each fold by the direct method, then the final one. The result is a
/// pure function of log, split, settings and oracle: threads change nothing, and a training that goes on from a
/// [`Checkpoint`] ends with the same bits as one that was never interrupted.
///
/// ```
/// use egret::{
///     Context, Density, EventRng, FourierRegression, FourierSettings, Interval, Loss, Observed,
///     Propensity, RegressionOracle, ScalarFeatures, Stream,
/// };
/// use egret_offline::{Order, Split, Training, TrainingSettings, TrainingTask};
///
/// let examples: Vec<Observed<Context, f64>> = (0..400)
///     .map(|event| {
///         let mut rng = EventRng::new(1, event, Stream::World);
///         let (x, action) = (rng.unit(), rng.unit());
///         Ok(Observed {
///             x: Context::dense(vec![x])?,
///             action,
///             propensity: Propensity::Density(Density::new(1.0)?),
///             limits: None,
///             loss: Loss::new((x - action).abs())?,
///             tau: None,
///         })
///     })
///     .collect::<Result<_, Box<dyn std::error::Error>>>()?;
/// let settings = FourierSettings { context_dim: 1, features: 32, scale: 1.0, seed: 3 };
/// let oracle = || -> Box<dyn RegressionOracle<Context, f64>> {
///     Box::new(FourierRegression::new(ScalarFeatures, settings.clone()).expect("in range"))
/// };
/// let parts = Split::paper().parts(examples.len(), Order::Log);
/// let measure = Interval::new(0.0, 1.0)?;
/// let task = TrainingTask { examples: &examples, parts: &parts, measure: &measure, oracle: &oracle };
///
/// let mut training = Training::new(task, TrainingSettings::default())?;
/// while let Some(epoch) = training.epoch()? {
///     assert!(epoch.validation.squared_error.is_some());
/// }
/// let trained = training.finish()?;
/// assert!(1 <= trained.best_epoch);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Training<'a, X, A: Action> {
    task: TrainingTask<'a, X, A>,
    settings: TrainingSettings,
    /// Identifies log, split and oracle: a checkpoint of another task is refused.
    digest: u64,
    /// The oracles of the folds that are done.
    folds: Vec<Box<dyn RegressionOracle<X, A>>>,
    stage: Stage<X, A>,
    history: Vec<Epoch>,
}

/// What is being trained now: the oracle of a fold, or the final one.
struct Stage<X, A: Action> {
    oracle: Box<dyn RegressionOracle<X, A>>,
    train: Terms<A>,
    validation: Terms<A>,
    stopping: EarlyStopping,
    epochs: u32,
    /// The oracle's state after its best epoch, and which epoch that was.
    best: Option<(Vec<u8>, u32)>,
}

/// The loss of an oracle: the smaller, the better.
pub type Judge<'j, X, A> =
    dyn FnMut(&dyn RegressionOracle<X, A>) -> Result<f64, LearningError> + 'j;

/// The result of one epoch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Which fold's oracle was trained, of how many; none for the final one.
    pub fold: Option<(usize, usize)>,
    /// Which epoch of that oracle, from 1.
    pub epoch: u32,
    /// Its numbers on validation rows.
    pub validation: Validation,
    /// Whether it is the best so far.
    pub best: bool,
}

/// How an oracle does on validation rows. A number is missing where there are no such rows, or none with a density.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// The method's own squared error.
    pub squared_error: Option<f64>,
    /// The value of the served policy, self-normalized.
    pub value: Option<f64>,
}

impl Validation {
    /// From losses to outcomes, in the units of the objective; the squared error in their square.
    pub fn in_units(self, objective: &Objective) -> Self {
        let width = objective.high() - objective.low();
        Self {
            squared_error: self.squared_error.map(|error| error * width * width),
            value: self.value.map(|loss| objective.value(loss)),
        }
    }
}

/// The result of training.
pub struct Trained<X, A: Action> {
    /// The oracle as it was after its best epoch.
    pub oracle: Box<dyn RegressionOracle<X, A>>,
    /// Which epoch that was, from 1.
    pub best_epoch: u32,
    /// Its numbers on validation rows.
    pub validation: Validation,
    /// How many events the training rows are, and how many batches they make.
    pub learned: Learned,
    /// Every epoch, those of folds included.
    pub history: Vec<Epoch>,
}

impl<'a, X: Send + Sync, A: Action> Training<'a, X, A> {
    /// Checks settings and rows.
    pub fn new(
        task: TrainingTask<'a, X, A>,
        settings: TrainingSettings,
    ) -> Result<Self, LearningError> {
        settings.check()?;
        settings.policy.check()?;
        let SplitRows {
            train, validation, ..
        } = task.parts;
        let rows = task.examples.len();
        if let Some(&row) = train.iter().chain(validation).find(|&&row| rows <= row) {
            return Err(LearningError::NoSuchRow { row, rows });
        }
        let digest = Checkpoint::digest(&task);
        let stage = Self::stage(&task, &settings, &[])?;
        Ok(Self {
            task,
            settings,
            digest,
            folds: Vec::new(),
            stage,
            history: Vec::new(),
        })
    }

    /// The stage that follows after these folds.
    fn stage(
        task: &TrainingTask<'a, X, A>,
        settings: &TrainingSettings,
        folds: &[Box<dyn RegressionOracle<X, A>>],
    ) -> Result<Stage<X, A>, LearningError> {
        let TrainingTask {
            examples,
            parts,
            measure,
            oracle,
        } = *task;
        let (train, validation) = match settings.method {
            TrainingMethod::DoublyRobust {
                folds: count,
                draws,
                ..
            } => {
                if parts.train.len() < count {
                    return Err(LearningError::TooFewRows {
                        found: parts.train.len(),
                        least: count,
                    });
                }
                if folds.len() < count {
                    let others: Vec<usize> = parts
                        .train
                        .iter()
                        .enumerate()
                        .filter(|(place, _)| place % count != folds.len())
                        .map(|(_, &row)| row)
                        .collect();
                    let terms = |rows| Terms::losses(TrainingMethod::DirectMethod, examples, rows);
                    (terms(&others), terms(&parts.validation))
                } else {
                    let terms = |rows, first: &dyn Fn(usize) -> usize| {
                        Terms::pseudo_losses(
                            (settings.method, draws),
                            (examples, rows),
                            measure,
                            |place| &*folds[first(place)],
                            settings.seed ^ DRAWS,
                        )
                    };
                    // No fold's oracle was fitted to validation rows, so any will do there. Each was stopped early by them.
                    (
                        terms(&parts.train, &|place| place % count)?,
                        terms(&parts.validation, &|_| 0)?,
                    )
                }
            }
            method => (
                Terms::losses(method, examples, &parts.train),
                Terms::losses(method, examples, &parts.validation),
            ),
        };
        if train.rows.is_empty() {
            return Err(LearningError::NothingCounts {
                rows: parts.train.len(),
            });
        }
        Ok(Stage {
            oracle: oracle(),
            train,
            validation,
            stopping: EarlyStopping::new(settings.patience),
            epochs: 0,
            best: None,
        })
    }

    fn fold(&self) -> Option<(usize, usize)> {
        match self.settings.method {
            TrainingMethod::DoublyRobust { folds, .. } if self.folds.len() < folds => {
                Some((self.folds.len(), folds))
            }
            _ => None,
        }
    }

    fn stage_is_over(&self) -> bool {
        self.settings.epochs <= self.stage.epochs || self.stage.stopping.is_over()
    }

    /// Trains for one epoch and returns its result; none when training is over.
    pub fn epoch(&mut self) -> Result<Option<Epoch>, LearningError> {
        self.epoch_with(None)
    }

    /// As [`epoch`](Self::epoch), but `judge` gives the value of the epoch. Where labels are known, that is the true loss. The
    /// oracles of folds are still judged by their squared error.
    pub fn epoch_judged(
        &mut self,
        judge: &mut Judge<'_, X, A>,
    ) -> Result<Option<Epoch>, LearningError> {
        self.epoch_with(Some(judge))
    }

    fn epoch_with(
        &mut self,
        judge: Option<&mut Judge<'_, X, A>>,
    ) -> Result<Option<Epoch>, LearningError> {
        if self.stage_is_over() {
            if self.fold().is_none() {
                return Ok(None);
            }
            self.folds.push(self.best()?);
            self.stage = Self::stage(&self.task, &self.settings, &self.folds)?;
        }
        let fold = self.fold();
        self.pass()?;
        let stage = &mut self.stage;
        stage.epochs += 1;
        let (value, criterion) = match (fold, judge) {
            // The oracles of folds are judged by their error: they must predict well, and are never served.
            (Some(_), _) => (None, self.settings.criterion),
            (None, Some(judge)) => (Some(judge(&*stage.oracle)?), Criterion::Value),
            (None, None) => {
                let policy = &self.settings.policy;
                let rows = &self.task.parts.validation;
                let value = policy.value(&self.task, &*stage.oracle, rows, self.settings.seed)?;
                (value, self.settings.criterion)
            }
        };
        let validation = Validation {
            squared_error: stage
                .validation
                .squared_error(&*stage.oracle, self.task.examples)?,
            value,
        };
        let earlier = self.history.iter().filter(|epoch| epoch.fold == fold);
        let watched = criterion.watched(earlier.map(|epoch| &epoch.validation), &validation);
        // With nothing to compare, the last epoch is the best.
        let best = watched.is_none_or(|loss| stage.stopping.observe(loss));
        if best || stage.best.is_none() {
            stage.best = Some((stage.oracle.save(), stage.epochs));
        }
        let epoch = Epoch {
            fold,
            epoch: stage.epochs,
            validation,
            best,
        };
        self.history.push(epoch);
        Ok(Some(epoch))
    }

    /// One pass over the training rows, in an order of its own.
    fn pass(&mut self) -> Result<(), LearningError> {
        let seed = self.settings.seed ^ ORDER;
        let Stage {
            oracle,
            train,
            epochs,
            ..
        } = &mut self.stage;
        let mut order: Vec<usize> = (0..train.rows.len()).collect();
        let event = ((self.folds.len() as u64) << 32) | u64::from(*epochs);
        shuffle(&mut order, EventRng::new(seed, event, Stream::World));
        let mut batch = Vec::with_capacity(self.settings.batch * train.per_row);
        for places in order.chunks(self.settings.batch) {
            batch.clear();
            for &place in places {
                let x = &self.task.examples[train.rows[place]].x;
                batch.extend(train.at(place).iter().map(|term| Example {
                    x,
                    action: &term.action,
                    loss: term.loss,
                    weight: term.weight,
                }));
            }
            for _ in 0..self.settings.steps {
                if let Err(error) = oracle.learn(&batch) {
                    let rows = places.iter().map(|&place| train.rows[place]);
                    return Err(blame(&**oracle, self.task.examples, rows, error));
                }
            }
        }
        Ok(())
    }

    /// The oracle of this stage after its best epoch.
    fn best(&self) -> Result<Box<dyn RegressionOracle<X, A>>, LearningError> {
        let (state, _) = self.stage.best.as_ref().ok_or(LearningError::NotTrained)?;
        let mut oracle = (self.task.oracle)();
        oracle.load(state)?;
        Ok(oracle)
    }

    /// Everything needed to go on from here; see [`resume`](Self::resume).
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            settings: self.settings.clone(),
            digest: self.digest,
            folds: self.folds.iter().map(|oracle| oracle.save()).collect(),
            oracle: self.stage.oracle.save(),
            stopping: self.stage.stopping.clone(),
            epochs: self.stage.epochs,
            best: self.stage.best.clone(),
            history: self.history.clone(),
        }
    }

    /// Goes on from a checkpoint of the same task and settings. The number of epochs may differ, except for the doubly robust
    /// method, whose folds may be done already.
    pub fn resume(
        task: TrainingTask<'a, X, A>,
        settings: TrainingSettings,
        checkpoint: &Checkpoint,
    ) -> Result<Self, LearningError> {
        let mut training = Self::new(task, settings)?;
        let mut comparable = checkpoint.settings.clone();
        if !matches!(comparable.method, TrainingMethod::DoublyRobust { .. }) {
            comparable.epochs = training.settings.epochs;
        }
        if comparable != training.settings {
            return Err(LearningError::OtherSettings);
        }
        if checkpoint.digest != training.digest {
            return Err(LearningError::OtherTask);
        }
        for state in &checkpoint.folds {
            let mut oracle = (task.oracle)();
            oracle.load(state)?;
            training.folds.push(oracle);
        }
        training.stage = Self::stage(&task, &training.settings, &training.folds)?;
        let stage = &mut training.stage;
        stage.oracle.load(&checkpoint.oracle)?;
        stage.stopping = checkpoint.stopping.clone();
        stage.epochs = checkpoint.epochs;
        stage.best = checkpoint.best.clone();
        training.history = checkpoint.history.clone();
        Ok(training)
    }

    /// Trains to the end and calls `on_epoch` after each epoch.
    pub fn run(mut self, mut on_epoch: impl FnMut(&Epoch)) -> Result<Trained<X, A>, LearningError> {
        while let Some(epoch) = self.epoch()? {
            on_epoch(&epoch);
        }
        self.finish()
    }

    /// The result so far, as of the best epoch.
    pub fn finish(self) -> Result<Trained<X, A>, LearningError> {
        if self.fold().is_some() {
            return Err(LearningError::NotTrained);
        }
        let (state, best_epoch) = self.stage.best.ok_or(LearningError::NotTrained)?;
        let mut oracle = self.stage.oracle;
        oracle.load(&state)?;
        let is_best = |epoch: &&Epoch| epoch.fold.is_none() && epoch.epoch == best_epoch;
        let best = self.history.iter().find(is_best);
        let rows = self.stage.train.rows.len();
        Ok(Trained {
            learned: Learned {
                batches: rows.div_ceil(self.settings.batch) as u64,
                events: rows as u64,
                squared_error: oracle.squared_error(),
                forgotten: oracle.forgotten(),
            },
            oracle,
            best_epoch,
            validation: best.ok_or(LearningError::NotTrained)?.validation,
            history: self.history,
        })
    }
}

/// Makes the seeds of orders and draws differ from those of logs.
const ORDER: u64 = 0x7f4a_7c15_9e37_79b9;
const DRAWS: u64 = 0x1ce4_e5b9_bf58_476d;

/// Finds the row that the oracle refused.
fn blame<X, A: Action>(
    oracle: &dyn RegressionOracle<X, A>,
    examples: &[Observed<X, A>],
    rows: impl Iterator<Item = usize>,
    error: ContextError,
) -> LearningError {
    let mut prepared = Vec::new();
    for row in rows {
        prepared.clear();
        if let Err(error) = oracle.prepare(&examples[row].x, &mut prepared) {
            return LearningError::Context { row, error };
        }
    }
    LearningError::Refused(error)
}
