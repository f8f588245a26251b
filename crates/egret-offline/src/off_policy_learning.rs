use egret::{
    Action, ContextError, EventRng, Example, LoadError, OracleSpec, OutOfRange, ReferenceMeasure,
    RegressionOracle, Stream,
};
use serde::{Deserialize, Serialize};

use crate::pseudo_loss::Terms;
use crate::split::shuffle;
use crate::{Checkpoint, EarlyStopping, LoggedExample, Method, Parts, ServedPolicy, TargetError};

/// How an oracle is trained on a log.
///
/// | field        | default          | meaning                                                          |
/// |--------------|------------------|------------------------------------------------------------------|
/// | `method`     | direct method    | what the oracle is fitted to                                     |
/// | `batch`      | 8 (the paper)    | events in one step                                               |
/// | `steps`      | 2 (the paper)    | gradient steps for each batch                                    |
/// | `epochs`     | 100              | passes over the log at the most                                  |
/// | `patience`   | 1 (the paper)    | epochs without a better validation that end it                   |
/// | `criterion`  | squared error    | which validation number decides when to stop                     |
/// | `policy`     | best of 8        | how the oracle is to be served; its value is on every epoch      |
/// | `seed`       | 0                | of the order of events in each epoch, and of draws               |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingSettings {
    /// What the oracle is fitted to.
    pub method: Method,
    /// Events in one step.
    pub batch: usize,
    /// Gradient steps for each batch.
    pub steps: usize,
    /// The most passes over the training rows.
    pub epochs: u32,
    /// Epochs in a row without a better validation that end training.
    pub patience: u32,
    /// Which validation number decides.
    pub criterion: Criterion,
    /// How the oracle is to be served.
    pub policy: ServedPolicy,
    /// Of all chances.
    pub seed: u64,
}

/// What has to fall for training to go on.
///
/// The squared error is that of the method itself (its weights, its pseudo-losses) on validation rows: what training
/// descends, steady, and of no use to compare methods. The value is the mean loss of the served policy, estimated on the
/// same rows: what one is after, comparable between methods, and far noisier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// The method's own squared error.
    #[default]
    SquaredError,
    /// The value of the served policy, self-normalised. The paper has the true one, from labels.
    Value,
}

impl Criterion {
    /// The number to compare with those of earlier epochs, on one scale for all: the first epoch that has a number settles
    /// which. NaN, which is never better, where this epoch has none of it; none where no epoch has any.
    fn watched<'v>(
        self,
        mut earlier: impl Iterator<Item = &'v Validation>,
        now: &'v Validation,
    ) -> Option<f64> {
        let any = |of: &&Validation| of.value.is_some() || of.squared_error.is_some();
        let first = earlier.find(any).or(Some(now).filter(any))?;
        let number = match self {
            Self::Value if first.value.is_some() => now.value,
            _ => now.squared_error,
        };
        Some(number.unwrap_or(f64::NAN))
    }
}

impl Default for TrainingSettings {
    fn default() -> Self {
        Self {
            method: Method::DirectMethod,
            batch: 8,
            steps: 2,
            epochs: 100,
            patience: 1,
            criterion: Criterion::SquaredError,
            policy: ServedPolicy::default(),
            seed: 0,
        }
    }
}

impl TrainingSettings {
    /// For oracles that need no second look: least squares have seen all there is after one pass, and one step is
    /// exact; a second pass would count each event twice. An aggregation with such a member is such an oracle too. Others
    /// as they are.
    pub fn suited_to(self, oracle: &OracleSpec) -> Self {
        if sees_all_at_once(oracle) {
            Self {
                steps: 1,
                epochs: 1,
                ..self
            }
        } else {
            self
        }
    }

    fn check(&self) -> Result<(), OutOfRange> {
        self.method.check()?;
        for (name, value) in [
            ("batch", self.batch),
            ("steps", self.steps),
            ("epochs", self.epochs as usize),
            ("patience", self.patience as usize),
        ] {
            OutOfRange::unless(1 <= value, name, value as f64, "[1, inf)")?;
        }
        Ok(())
    }
}

fn sees_all_at_once(oracle: &OracleSpec) -> bool {
    match oracle {
        OracleSpec::LeastSquares { .. } => true,
        OracleSpec::Aggregation(members) => members.iter().any(sees_all_at_once),
        OracleSpec::PiecewiseConstant { of, .. } => sees_all_at_once(of),
        OracleSpec::Argmin { .. }
        | OracleSpec::Fourier { .. }
        | OracleSpec::LatentOutcome { .. }
        | OracleSpec::Curves { .. } => false,
    }
}

/// What is learned from: a log, how it is split, μ, and an oracle before it learns.
pub struct Lesson<'a, X, A: Action> {
    /// The log.
    pub examples: &'a [LoggedExample<X, A>],
    /// Which rows are for what.
    pub parts: &'a Parts,
    /// μ.
    pub measure: &'a dyn ReferenceMeasure<X, A>,
    /// Makes the oracle; each call makes the same.
    pub oracle: &'a (dyn Fn() -> Box<dyn RegressionOracle<X, A>> + Sync),
}

impl<X, A: Action> Clone for Lesson<'_, X, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<X, A: Action> Copy for Lesson<'_, X, A> {}

/// Training, one epoch at a time.
///
/// The doubly robust method first trains an oracle for each fold by the direct method, then the one that is asked for.
/// Everything is a pure function of log, split, settings and oracle: threads change nothing, and a training that goes on from
/// a [`Checkpoint`] ends with the same bits as one that was never interrupted.
///
/// ```
/// use egret::{
///     Context, Density, EventRng, FourierRegression, FourierSettings, Loss, Number, Propensity,
///     RegressionOracle, Stream, Interval,
/// };
/// use egret_offline::{Lesson, LoggedExample, Order, Split, Training, TrainingSettings};
///
/// let examples: Vec<LoggedExample<Context, f64>> = (0..400)
///     .map(|event| {
///         let mut rng = EventRng::new(1, event, Stream::World);
///         let (x, action) = (rng.unit(), rng.unit());
///         Ok(LoggedExample {
///             x: Context::dense(vec![x])?,
///             action,
///             propensity: Propensity::Density(Density::new(1.0)?),
///             loss: Loss::new((x - action).abs())?,
///         })
///     })
///     .collect::<Result<_, Box<dyn std::error::Error>>>()?;
/// let settings = FourierSettings { context_dim: 1, features: 32, scale: 1.0, seed: 3 };
/// let oracle = || -> Box<dyn RegressionOracle<Context, f64>> {
///     Box::new(FourierRegression::new(Number, settings.clone()).expect("in range"))
/// };
/// let parts = Split::paper().parts(examples.len(), Order::Log);
/// let measure = Interval::new(0.0, 1.0)?;
/// let lesson = Lesson { examples: &examples, parts: &parts, measure: &measure, oracle: &oracle };
///
/// let mut training = Training::new(lesson, TrainingSettings::default())?;
/// while let Some(epoch) = training.epoch()? {
///     assert!(epoch.validation.squared_error.is_some());
/// }
/// let trained = training.finish()?;
/// assert!(1 <= trained.best_epoch);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Training<'a, X, A: Action> {
    lesson: Lesson<'a, X, A>,
    settings: TrainingSettings,
    /// Of log, split and oracle: a checkpoint of another lesson is refused.
    digest: u64,
    /// Oracles of folds that are done.
    folds: Vec<Box<dyn RegressionOracle<X, A>>>,
    stage: Stage<X, A>,
    history: Vec<Epoch>,
}

/// What is being trained right now.
struct Stage<X, A: Action> {
    oracle: Box<dyn RegressionOracle<X, A>>,
    train: Terms<A>,
    validation: Terms<A>,
    stopping: EarlyStopping,
    epochs: u32,
    /// State and number of the best epoch.
    best: Option<(Vec<u8>, u32)>,
}

/// Says how well an oracle does.
pub type Judge<'j, X, A> =
    dyn FnMut(&dyn RegressionOracle<X, A>) -> Result<f64, LearningError> + 'j;

/// What one epoch came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Which fold's oracle was trained, of how many; none for the one that is asked for.
    pub fold: Option<(usize, usize)>,
    /// Which epoch of it, from 1.
    pub epoch: u32,
    /// How it does on validation rows.
    pub validation: Validation,
    /// Whether it is the best so far.
    pub best: bool,
}

/// Numbers of an oracle on validation rows; none where there are no such rows, or none with a density.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// The method's own squared error.
    pub squared_error: Option<f64>,
    /// The value of the served policy, self-normalised.
    pub value: Option<f64>,
}

/// What training ends with.
pub struct Trained<X, A: Action> {
    /// As it was after its best epoch.
    pub oracle: Box<dyn RegressionOracle<X, A>>,
    /// Which that was, from 1.
    pub best_epoch: u32,
    /// How it does on validation rows.
    pub validation: Validation,
    /// How many batches the training rows are.
    pub batches: u64,
    /// Every epoch, folds included.
    pub history: Vec<Epoch>,
}

impl<'a, X: Send + Sync, A: Action> Training<'a, X, A> {
    /// Checks settings and rows.
    pub fn new(
        lesson: Lesson<'a, X, A>,
        settings: TrainingSettings,
    ) -> Result<Self, LearningError> {
        settings.check()?;
        settings.policy.check()?;
        let Parts {
            train, validation, ..
        } = lesson.parts;
        let rows = lesson.examples.len();
        if let Some(&row) = train.iter().chain(validation).find(|&&row| rows <= row) {
            return Err(LearningError::NoSuchRow { row, rows });
        }
        let digest = Checkpoint::digest(&lesson);
        let stage = Self::stage(&lesson, &settings, &[])?;
        Ok(Self {
            lesson,
            settings,
            digest,
            folds: Vec::new(),
            stage,
            history: Vec::new(),
        })
    }

    /// The stage that follows when so many folds are done.
    fn stage(
        lesson: &Lesson<'a, X, A>,
        settings: &TrainingSettings,
        folds: &[Box<dyn RegressionOracle<X, A>>],
    ) -> Result<Stage<X, A>, LearningError> {
        let Lesson {
            examples,
            parts,
            measure,
            oracle,
        } = *lesson;
        let (train, validation) = match settings.method {
            Method::DoublyRobust {
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
                    let terms = |rows| Terms::losses(Method::DirectMethod, examples, rows);
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
                    // No fold's oracle was fitted to validation rows, so that any will do there. Each was stopped early by them.
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
            Method::DoublyRobust { folds, .. } if self.folds.len() < folds => {
                Some((self.folds.len(), folds))
            }
            _ => None,
        }
    }

    fn stage_is_over(&self) -> bool {
        self.settings.epochs <= self.stage.epochs || self.stage.stopping.is_over()
    }

    /// Trains for one epoch and tells how it went; none when training is over.
    pub fn epoch(&mut self) -> Result<Option<Epoch>, LearningError> {
        self.epoch_with(None)
    }

    /// As [`epoch`](Self::epoch), with another's word for how well the oracle does: less is better, and it stands as the
    /// epoch's value. Where labels are known, that is the true loss. First fits are judged by their error all the same.
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
            self.stage = Self::stage(&self.lesson, &self.settings, &self.folds)?;
        }
        let fold = self.fold();
        self.pass()?;
        let stage = &mut self.stage;
        stage.epochs += 1;
        let (value, criterion) = match (fold, judge) {
            // First fits are judged by their error: they are to be right, not to be served.
            (Some(_), _) => (None, self.settings.criterion),
            (None, Some(judge)) => (Some(judge(&*stage.oracle)?), Criterion::Value),
            (None, None) => {
                let policy = &self.settings.policy;
                let rows = &self.lesson.parts.validation;
                let value = policy.value(&self.lesson, &*stage.oracle, rows, self.settings.seed)?;
                (value, self.settings.criterion)
            }
        };
        let validation = Validation {
            squared_error: stage
                .validation
                .squared_error(&*stage.oracle, self.lesson.examples)?,
            value,
        };
        let earlier = self.history.iter().filter(|epoch| epoch.fold == fold);
        let watched = criterion.watched(earlier.map(|epoch| &epoch.validation), &validation);
        // With nothing to watch, the last epoch is the best there is.
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

    /// One pass over the training rows in an order of its own.
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
                let x = &self.lesson.examples[train.rows[place]].x;
                batch.extend(train.at(place).iter().map(|term| Example {
                    x,
                    action: &term.action,
                    loss: term.target,
                    weight: term.weight,
                }));
            }
            for _ in 0..self.settings.steps {
                if let Err(error) = oracle.learn(&batch) {
                    let rows = places.iter().map(|&place| train.rows[place]);
                    return Err(blame(&**oracle, self.lesson.examples, rows, error));
                }
            }
        }
        Ok(())
    }

    /// The stage's oracle after its best epoch.
    fn best(&self) -> Result<Box<dyn RegressionOracle<X, A>>, LearningError> {
        let (state, _) = self.stage.best.as_ref().ok_or(LearningError::NotTrained)?;
        let mut oracle = (self.lesson.oracle)();
        oracle.load(state)?;
        Ok(oracle)
    }

    /// All that is needed to go on from here: see [`resume`](Self::resume).
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

    /// Goes on where a checkpoint of the same lesson and settings was taken. Other numbers of epochs may be asked for than
    /// then, but for the doubly robust method: its first fits may be done already.
    pub fn resume(
        lesson: Lesson<'a, X, A>,
        settings: TrainingSettings,
        checkpoint: &Checkpoint,
    ) -> Result<Self, LearningError> {
        let mut training = Self::new(lesson, settings)?;
        let mut comparable = checkpoint.settings.clone();
        if !matches!(comparable.method, Method::DoublyRobust { .. }) {
            comparable.epochs = training.settings.epochs;
        }
        if comparable != training.settings {
            return Err(LearningError::OtherSettings);
        }
        if checkpoint.digest != training.digest {
            return Err(LearningError::OtherLesson);
        }
        for state in &checkpoint.folds {
            let mut oracle = (lesson.oracle)();
            oracle.load(state)?;
            training.folds.push(oracle);
        }
        training.stage = Self::stage(&lesson, &training.settings, &training.folds)?;
        let stage = &mut training.stage;
        stage.oracle.load(&checkpoint.oracle)?;
        stage.stopping = checkpoint.stopping.clone();
        stage.epochs = checkpoint.epochs;
        stage.best = checkpoint.best.clone();
        training.history = checkpoint.history.clone();
        Ok(training)
    }

    /// Trains until it is over, telling of each epoch.
    pub fn run(mut self, mut on_epoch: impl FnMut(&Epoch)) -> Result<Trained<X, A>, LearningError> {
        while let Some(epoch) = self.epoch()? {
            on_epoch(&epoch);
        }
        self.finish()
    }

    /// What was learned so far, as of the best epoch.
    pub fn finish(self) -> Result<Trained<X, A>, LearningError> {
        if self.fold().is_some() {
            return Err(LearningError::NotTrained);
        }
        let (state, best_epoch) = self.stage.best.ok_or(LearningError::NotTrained)?;
        let mut oracle = self.stage.oracle;
        oracle.load(&state)?;
        let is_best = |epoch: &&Epoch| epoch.fold.is_none() && epoch.epoch == best_epoch;
        let best = self.history.iter().find(is_best);
        Ok(Trained {
            oracle,
            best_epoch,
            validation: best.ok_or(LearningError::NotTrained)?.validation,
            batches: self.stage.train.rows.len().div_ceil(self.settings.batch) as u64,
            history: self.history,
        })
    }
}

/// Seeds of orders and draws differ from those of logs.
const ORDER: u64 = 0x7f4a_7c15_9e37_79b9;
const DRAWS: u64 = 0x1ce4_e5b9_bf58_476d;

/// Which row it was that an oracle refused.
fn blame<X, A: Action>(
    oracle: &dyn RegressionOracle<X, A>,
    examples: &[LoggedExample<X, A>],
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

/// Why nothing was learned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LearningError {
    /// A number is not in its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The split is of another log.
    #[error("the split has row {row}, the log has {rows} rows")]
    NoSuchRow {
        /// What the split has.
        row: usize,
        /// What the log has.
        rows: usize,
    },
    /// Not enough to cut into folds.
    #[error("{found} rows to train on, expected at least {least}")]
    TooFewRows {
        /// How many there are.
        found: usize,
        /// How many are needed.
        least: usize,
    },
    /// All weights are zero, or there are no rows.
    #[error(
        "none of the {rows} rows to train on counts: there are no rows, or all are point masses, from which only the \
         direct method learns"
    )]
    NothingCounts {
        /// How many there are.
        rows: usize,
    },
    /// The oracle cannot read a context.
    #[error("row {row}: {error}")]
    Context {
        /// Which row of the log, from 0.
        row: usize,
        /// Why.
        error: ContextError,
    },
    /// The oracle refused a batch for another reason.
    #[error("a batch was refused: {0}")]
    Refused(ContextError),
    /// The oracle predicted NaN.
    #[error("row {row}: the oracle predicted NaN")]
    NanPrediction {
        /// Which row of the log, from 0.
        row: usize,
    },
    /// The served policy has no density.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The oracle does not take on a state that it saved.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The bytes are not a checkpoint.
    #[error("not a checkpoint: {0}")]
    NotACheckpoint(String),
    /// The checkpoint is of a training with other settings.
    #[error("the checkpoint was taken under other settings: take those, or start again without it")]
    OtherSettings,
    /// The checkpoint is of another log, split or oracle.
    #[error(
        "the checkpoint was taken with another log, split or oracle: take those, or start again without it"
    )]
    OtherLesson,
    /// There was no epoch yet.
    #[error("no epoch was trained yet")]
    NotTrained,
}

#[cfg(test)]
mod tests {
    use egret::Forecaster;

    use super::*;

    #[test]
    fn epochs_are_compared_on_one_scale() {
        let of = |squared_error, value| Validation {
            squared_error,
            value,
        };
        let (nothing, error) = (of(None, None), of(Some(0.1), None));
        let both = of(Some(0.2), Some(0.5));
        let watched = |criterion: Criterion, earlier: &[Validation], now: &Validation| {
            criterion.watched(earlier.iter(), now)
        };
        // The value came first: an error of 0.1 is not better than a value of 0.5.
        assert_eq!(watched(Criterion::Value, &[], &both), Some(0.5));
        let later = watched(Criterion::Value, &[nothing, both], &error);
        assert!(later.is_some_and(f64::is_nan), "{later:?}");
        // The error came first, and stays what is looked at.
        assert_eq!(watched(Criterion::Value, &[error], &both), Some(0.2));
        assert_eq!(watched(Criterion::SquaredError, &[], &both), Some(0.2));
        assert_eq!(watched(Criterion::Value, &[nothing], &nothing), None);
    }

    #[test]
    fn least_squares_pass_once_in_an_aggregation_too() {
        let ridge = OracleSpec::LeastSquares {
            forecaster: Forecaster::Ridge,
            lambda: 1.0,
            squares: false,
        };
        let fourier = OracleSpec::Fourier {
            features: 8,
            scale: 1.0,
            seed: 0,
        };
        let of = |members: &[&OracleSpec]| {
            OracleSpec::Aggregation(members.iter().copied().cloned().collect())
        };
        let suited = |oracle: &OracleSpec| {
            let suited = TrainingSettings::default().suited_to(oracle);
            (suited.steps, suited.epochs)
        };
        assert_eq!(suited(&ridge), (1, 1));
        assert_eq!(suited(&of(&[&fourier, &ridge])), (1, 1));
        assert_eq!(suited(&of(&[&fourier, &of(&[&ridge])])), (1, 1));
        assert_eq!(suited(&of(&[&fourier])), (2, 100));
    }
}
