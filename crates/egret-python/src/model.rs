//! The model: decides, learns, predicts, and is saved.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use egret::{
    ActionKind, AnyModel, Context, FeatureSchema, Limits, ModelSpec, Objective, OracleSpec,
    Outcome, SchemaSample, Settings, for_kind,
};
use egret_offline::{CappedIgwPolicy, Policy as _, PolicyBuffers, PolicySeed};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::action::{self, Actions};
use crate::array::{self, array};
use crate::context::{Contexts, Rows, context, refused};
use crate::decision::{Decided, PyDecision, PyDecisions};
use crate::error::{EgretError, raised, words};
use crate::log_parts::LogParts;
use crate::objective::PyObjective;
use crate::schema::PySchema;
use crate::space::PySpace;
use crate::value::{from_object, to_object};

/// How many decisions may wait for their outcomes before the oldest is logged without one, as in Rust's DecisionLoop.
const WAITING: usize = 100_000;

/// How many contexts of a batch are decided at once, so that what a decision needs on its way is not kept for all of them: a
/// hundredth of a second's work for each of eight cores.
const TOGETHER: usize = 4_096;

/// A contextual bandit: decides, and learns from the outcomes.
///
/// space
///     Which actions there are: Interval(5, 50), Box([(1, 16), (1, 64)]), Items(features).
/// features
///     What contexts are: a Schema of named features, or how many numbers there are. By default they are what the first
///     context is, and the schema of dicts is inferred from the first `infer_after` of them; until then the model decides
///     without.
/// objective
///     What outcomes are: maximize(0, 50). By default losses in [0, 1].
/// seed
///     The same seed, contexts and outcomes give the same decisions to the bit.
/// oracle
///     How outcomes are predicted, as the command's --oracle. The default is recommended.
/// effective_events
///     How many events in 1,000 are to be effective for the evaluation of uniform play: how much is explored, by default 20.
/// log
///     A folder, to which every event goes with its outcome, after those that are in it; or the name of a .parquet or .jsonl
///     file. A file is complete after close or flush, or when the program ends.
///
/// Many threads may share a model.
///
/// >>> model = egret.Model(egret.Interval(5, 50), objective=egret.maximize(0, 50))
/// >>> for customer in range(300):
/// ...     decision = model.decide({"income": 20 + 10 * (customer % 7)})
/// ...     bought = decision.action < 18 + 4 * (customer % 7)
/// ...     model.learn(decision, decision.action if bought else 0)
/// >>> 5 <= model.best({"income": 50}) <= 50
/// True
#[pyclass(frozen, module = "egret", name = "Model")]
pub struct PyModel(Arc<Shared>);

struct Shared {
    state: RwLock<State>,
    next_event: AtomicU64,
    journal: Mutex<Option<Journal>>,
}

struct State {
    recipe: Recipe,
    /// None until the first context tells what contexts are.
    model: Option<AnyModel>,
    spec: Option<Arc<ModelSpec>>,
    /// The first contexts, while the schema is inferred from them.
    sample: Option<SchemaSample>,
    infer_after: u64,
}

/// What a model is made of, but for its contexts.
struct Recipe {
    space: PySpace,
    objective: Objective,
    oracle: Option<OracleSpec>,
    settings: Settings,
}

/// The log, and the decisions whose outcomes it waits for.
struct Journal {
    parts: LogParts,
    waiting: BTreeMap<u64, Arc<Decided>>,
}

impl Recipe {
    fn model(&self, contexts: impl Into<egret::Contexts>) -> PyResult<AnyModel> {
        let PySpace { space, embeddings } = self.space.clone();
        let spec = ModelSpec::from_parts(space, embeddings, contexts)
            .with_objective(self.objective)
            .with_seed(self.settings.seed);
        let spec = match &self.oracle {
            Some(oracle) => spec.with_oracle(oracle.clone()),
            None => spec,
        };
        AnyModel::from_spec(spec, self.settings.clone()).map_err(raised)
    }
}

impl State {
    /// Ready for these contexts without a change.
    fn is_ready(&self) -> bool {
        self.model.is_some() && self.sample.is_none()
    }

    fn set(&mut self, model: AnyModel) {
        self.spec = Some(Arc::new(model.spec().clone()));
        self.model = Some(model);
    }

    /// Makes the model that these contexts need, and lets it grow once enough of them were seen.
    fn prepare(&mut self, contexts: &[Context]) -> PyResult<()> {
        let Some(first) = contexts.first() else {
            return Ok(());
        };
        if self.model.is_none() {
            let named = first.as_named().is_some();
            let model = if named {
                self.recipe.model(FeatureSchema::new())?
            } else {
                self.recipe.model(first.dim())?
            };
            self.sample = named.then(SchemaSample::new);
            self.set(model);
        }
        if let (Some(sample), Some(model)) = (&mut self.sample, &mut self.model) {
            for features in contexts.iter().filter_map(Context::as_named) {
                sample.add(features);
            }
            if self.infer_after <= sample.events() {
                let schema = model.spec().features.clone().unwrap_or_default();
                let schema = sample.grown(&schema).map_err(raised)?;
                model.grow(schema).map_err(raised)?;
                self.spec = Some(Arc::new(model.spec().clone()));
                self.sample = None;
            }
        }
        Ok(())
    }

    fn made(&self) -> PyResult<(&AnyModel, &Arc<ModelSpec>)> {
        match (&self.model, &self.spec) {
            (Some(model), Some(spec)) => Ok((model, spec)),
            _ => Err(EgretError::new_err(
                "the model has seen no context yet, and so is not made: decide first, or give it features",
            )),
        }
    }
}

impl Shared {
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Before the first contexts are decided, all of them are looked at: a model is made for none of those that are refused.
    fn prepare(&self, rows: &Rows<'_>) -> PyResult<()> {
        if self.read().is_ready() {
            return Ok(());
        }
        if !rows.made().is_empty() {
            return self.write().prepare(rows.made());
        }
        let mut first = None;
        for (row, x) in rows.clone().enumerate() {
            let x = x.map_err(|problem| refused(row, rows.len(), problem))?;
            first.get_or_insert(x);
        }
        self.write().prepare(first.as_slice())
    }

    fn with_journal<R>(&self, run: impl FnOnce(&mut Option<Journal>) -> R) -> R {
        run(&mut self.journal.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Numbers the contexts and decides. Where that fails, the numbers are free again unless another thread went on.
    fn decide(&self, rows: Rows<'_>, limits: Option<&Limits>) -> PyResult<Vec<Arc<Decided>>> {
        self.prepare(&rows)?;
        let state = self.read();
        let (model, spec) = state.made()?;
        let count = rows.len() as u64;
        let first = self.next_event.fetch_add(count, Ordering::Relaxed);
        let decided = decide_rows(model, spec, first, rows, limits);
        if decided.is_err() {
            let (last, relaxed) = (first + count, Ordering::Relaxed);
            let _ = self
                .next_event
                .compare_exchange(last, first, relaxed, relaxed);
        }
        let decided = decided?;
        self.with_journal(|journal| match journal {
            Some(journal) => journal.await_outcomes(model, &decided),
            None => Ok(()),
        })?;
        Ok(decided)
    }

    /// Logs the events, then learns from those with an outcome in one step.
    fn learn(&self, events: &[(Arc<Decided>, Option<f64>)]) -> PyResult<()> {
        let mut state = self.write();
        state.made()?;
        let model = state.model.as_mut().expect("looked at just now");
        let objective = model.spec().objective;
        let outcome = |value: f64| objective.outcome(value).map_err(raised);
        let outcomes: Vec<Option<Outcome>> = events
            .iter()
            .map(|(_, value)| value.map(outcome).transpose())
            .collect::<PyResult<_>>()?;
        for (done, (decided, _)) in events.iter().enumerate() {
            decided.close().inspect_err(|_| reopen(&events[..done]))?;
        }
        let learned = self.log_and_learn(model, events, &outcomes);
        learned.inspect_err(|_| reopen(events))
    }

    fn log_and_learn(
        &self,
        model: &mut AnyModel,
        events: &[(Arc<Decided>, Option<f64>)],
        outcomes: &[Option<Outcome>],
    ) -> PyResult<()> {
        // First the log: a model that has learned what the log lacks could not be had again from it.
        self.with_journal(|journal| -> PyResult<()> {
            let Some(journal) = journal else {
                return Ok(());
            };
            for ((decided, _), outcome) in events.iter().zip(outcomes) {
                journal.parts.append(model, decided, *outcome)?;
                journal.waiting.remove(&decided.decision.event);
            }
            Ok(())
        })?;
        let observed: Vec<_> = events
            .iter()
            .zip(outcomes)
            .filter_map(|((decided, _), outcome)| {
                Some(decided.decision.observed(&decided.x, (*outcome)?.loss))
            })
            .collect();
        if observed.is_empty() {
            return Ok(());
        }
        model.learn_batch(&observed).map_err(raised)
    }

    fn save(&self) -> PyResult<Vec<u8>> {
        let mut state = self.write();
        state.made()?;
        let model = state.model.take().expect("looked at just now");
        let model = model.with_next_event(self.next_event.load(Ordering::Relaxed));
        let bytes = model.save();
        state.model = Some(model);
        Ok(bytes)
    }

    /// Logs the decisions that wait, without outcomes, and completes the file.
    fn close(&self) -> PyResult<()> {
        let state = self.read();
        self.with_journal(|journal| match (journal.take(), &state.model) {
            (Some(mut journal), Some(model)) => {
                journal.expire(model, 0)?;
                journal.parts.close()
            }
            _ => Ok(()),
        })
    }
}

/// Decides the contexts, numbered from `first` on. Limits are those of one context.
fn decide_rows(
    model: &AnyModel,
    spec: &Arc<ModelSpec>,
    first: u64,
    mut rows: Rows<'_>,
    limits: Option<&Limits>,
) -> PyResult<Vec<Arc<Decided>>> {
    let count = rows.len();
    let mut decided = Vec::with_capacity(count);
    while decided.len() < count {
        let start = decided.len();
        let contexts = rows.by_ref().take(TOGETHER).enumerate();
        let contexts: Vec<Context> = contexts
            .map(|(row, x)| x.map_err(|problem| refused(start + row, count, problem)))
            .collect::<PyResult<_>>()?;
        let event = first + start as u64;
        let decisions = match (limits, &contexts[..]) {
            (Some(limits), [x]) => vec![model.decide_within(event, x, limits)],
            (None, [x]) => vec![model.decide(event, x)],
            (_, many) => model.decide_batch(&(event..).zip(many).collect::<Vec<_>>()),
        };
        for (x, decision) in contexts.into_iter().zip(decisions) {
            let decision =
                decision.map_err(|error| refused(decided.len(), count, words(&error)))?;
            decided.push(Arc::new(Decided::new(x, decision, Some(spec.clone()))));
        }
    }
    Ok(decided)
}

fn reopen(events: &[(Arc<Decided>, Option<f64>)]) {
    for (decided, _) in events {
        decided.reopen();
    }
}

impl Journal {
    fn await_outcomes(&mut self, model: &AnyModel, decided: &[Arc<Decided>]) -> PyResult<()> {
        for decided in decided {
            self.waiting.insert(decided.decision.event, decided.clone());
        }
        self.expire(model, WAITING)
    }

    /// Logs the oldest without an outcome, until so many wait.
    fn expire(&mut self, model: &AnyModel, left: usize) -> PyResult<()> {
        while left < self.waiting.len() {
            let Some(oldest) = self.waiting.first_entry() else {
                break;
            };
            self.parts.append(model, oldest.get(), None)?;
            let _ = oldest.get().close();
            oldest.remove();
        }
        Ok(())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // There is nobody left to tell; close tells.
        let _ = self.close();
    }
}

/// Completes the log of a model that still lives when the program ends.
#[pyclass(frozen, module = "egret")]
struct AtExit(Weak<Shared>);

#[pymethods]
impl AtExit {
    fn __call__(&self) -> PyResult<()> {
        self.0.upgrade().map_or(Ok(()), |shared| shared.close())
    }
}

impl PyModel {
    /// A model that was made elsewhere.
    pub fn made(model: AnyModel) -> Self {
        let spec = model.spec().clone();
        let recipe = Recipe {
            space: PySpace {
                space: spec.space.clone(),
                embeddings: spec.embeddings.clone(),
            },
            objective: spec.objective,
            oracle: Some(spec.oracle.clone()),
            settings: model.settings().clone(),
        };
        let next_event = AtomicU64::new(model.next_event());
        let state = State {
            recipe,
            spec: Some(Arc::new(spec)),
            model: Some(model),
            sample: None,
            infer_after: 0,
        };
        Self(Arc::new(Shared {
            state: RwLock::new(state),
            next_event,
            journal: Mutex::new(None),
        }))
    }

    fn log_to(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<()> {
        let Some(path) = path else {
            return Ok(());
        };
        let parts = LogParts::open(&path)?;
        let relaxed = Ordering::Relaxed;
        self.0.next_event.fetch_max(parts.next_event(), relaxed);
        let waiting = BTreeMap::new();
        self.0
            .with_journal(|journal| *journal = Some(Journal { parts, waiting }));
        let at_exit = AtExit(Arc::downgrade(&self.0));
        py.import("atexit")?.call_method1("register", (at_exit,))?;
        Ok(())
    }
}

#[pymethods]
impl PyModel {
    #[new]
    #[pyo3(signature = (space, features=None, *, objective=None, seed=0, oracle=None, effective_events=None, infer_after=100, log=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        py: Python<'_>,
        space: PySpace,
        features: Option<&Bound<'_, PyAny>>,
        objective: Option<PyObjective>,
        seed: u64,
        oracle: Option<&str>,
        effective_events: Option<f64>,
        infer_after: u64,
        log: Option<PathBuf>,
    ) -> PyResult<Self> {
        let settings = Settings::default().with_seed(seed);
        let recipe = Recipe {
            space,
            objective: objective.map_or(Objective::LOSS, |objective| objective.0),
            oracle: oracle.map(str::parse).transpose().map_err(raised)?,
            settings: match effective_events {
                Some(per_1000) => settings.with_effective_events(per_1000),
                None => settings,
            },
        };
        let mut state = State {
            recipe,
            model: None,
            spec: None,
            sample: None,
            infer_after,
        };
        if let Some(features) = features {
            let model = if let Ok(schema) = features.extract::<PySchema>() {
                state.recipe.model(schema.0)?
            } else if let Ok(numbers) = features.extract::<usize>() {
                state.recipe.model(numbers)?
            } else {
                return Err(EgretError::new_err(
                    "features are a Schema, or how many numbers a context has",
                ));
            };
            state.set(model);
        }
        let model = Self(Arc::new(Shared {
            state: RwLock::new(state),
            next_event: AtomicU64::new(0),
            journal: Mutex::new(None),
        }));
        model.log_to(py, log)?;
        Ok(model)
    }

    /// Chooses an action for a context: a dict of named features, or numbers in a list, an array or a sparse row.
    ///
    /// limits
    ///     What the request allows: (low, high) for numbers, or a dict as in docs/log.md, such as
    ///     {"items": {"excluded": [3]}}. Densities are then within the limits.
    #[pyo3(signature = (x, *, limits=None))]
    fn decide(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        limits: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyDecision> {
        let mut x = Contexts::Made(vec![context(x)?]);
        let (x, limits) = (x.rows()?, limits.map(limits_of).transpose()?);
        let decided = py.detach(|| self.0.decide(x, limits.as_ref()))?;
        Ok(PyDecision(decided.into_iter().next().expect("one for one")))
    }

    /// Chooses an action for each context, in parallel: an array, a sparse matrix, a table of pandas, polars, pyarrow or
    /// DuckDB, or a sequence. The decisions are those that decide would have made one by one.
    fn decide_batch(&self, py: Python<'_>, xs: &Bound<'_, PyAny>) -> PyResult<PyDecisions> {
        let mut xs = Contexts::new(xs)?;
        let rows = xs.rows()?;
        Ok(PyDecisions(py.detach(|| self.0.decide(rows, None))?))
    }

    /// Learns from the outcome of a decision, and logs both if there is a log. None: no outcome will come.
    #[pyo3(signature = (decision, outcome))]
    fn learn(&self, py: Python<'_>, decision: &PyDecision, outcome: Option<f64>) -> PyResult<()> {
        let event = (decision.0.clone(), outcome);
        py.detach(|| self.0.learn(&[event]))
    }

    /// Learns from the outcomes of many decisions in one step. NaN and None: no outcome will come.
    fn learn_batch(
        &self,
        py: Python<'_>,
        decisions: &Bound<'_, PyAny>,
        outcomes: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let decisions = match decisions.cast::<PyDecisions>() {
            Ok(decisions) => decisions.get().0.clone(),
            Err(_) => {
                let many: Vec<PyRef<'_, PyDecision>> = decisions.extract()?;
                many.iter().map(|decision| decision.0.clone()).collect()
            }
        };
        let outcomes: Vec<Option<f64>> = match array::vector(outcomes)? {
            Some(array) => array.as_slice()?.iter().copied().map(Some).collect(),
            None => outcomes.extract()?,
        };
        if decisions.len() != outcomes.len() {
            return Err(EgretError::new_err(format!(
                "{} decisions have {} outcomes: give one for each",
                decisions.len(),
                outcomes.len()
            )));
        }
        let known = outcomes
            .into_iter()
            .map(|value| value.filter(|value| !value.is_nan()));
        let events: Vec<_> = decisions.into_iter().zip(known).collect();
        py.detach(|| self.0.learn(&events))
    }

    /// The predicted outcome of each action in a context, in the units of the objective.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        actions: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (x, actions) = (context(x)?, action::many_from_python(actions)?);
        let predicted = py.detach(|| {
            let state = self.0.read();
            state.made()?.0.predict(&x, &actions).map_err(raised)
        })?;
        Ok(array(py, predicted))
    }

    /// The density with which it would now choose an action in a context, against the reference measure. Where it is not
    /// computed it is estimated, without bias.
    fn density(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        action: &Bound<'_, PyAny>,
    ) -> PyResult<f64> {
        let (x, action) = (context(x)?, action::from_python(action)?);
        py.detach(|| {
            let state = self.0.read();
            let (model, spec) = state.made()?;
            let action = action.into_kind(model.kind());
            spec.space.check_action(&action).map_err(raised)?;
            let (seed, event) = (model.settings().seed, model.next_event());
            for_kind!(model.kind(), A => {
                let learner = model.typed::<A>().expect("its own kind").learner();
                let policy = CappedIgwPolicy::new(learner).map_err(raised)?;
                let action = A::from_any(&action).map_err(raised)?;
                let buffers = &mut PolicyBuffers::default();
                let density = policy.density(PolicySeed { seed, event }, &x, &action, buffers);
                density.map_err(raised)
            })
        })
    }

    /// The action with the best predicted outcome in a context.
    fn best<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let x = context(x)?;
        let best = py.detach(|| self.0.read().made()?.0.best(&x).map_err(raised))?;
        action::to_python(py, &best)
    }

    /// The best action for each of many contexts.
    fn best_batch<'py>(
        &self,
        py: Python<'py>,
        xs: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut xs = Contexts::new(xs)?;
        let rows = xs.rows()?;
        let best: Actions = py.detach(|| {
            let state = self.0.read();
            let (model, _) = state.made()?;
            let count = rows.len();
            let best = rows.enumerate().map(|(row, x)| {
                let x = x.map_err(|problem| refused(row, count, problem))?;
                model
                    .best(&x)
                    .map_err(|error| refused(row, count, words(&error)))
            });
            best.collect::<PyResult<_>>()
        })?;
        best.into_python(py)
    }

    /// Writes the model to a file, which the command takes too: all that it has learned, and the number of the next event.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| {
            let bytes = self.0.save()?;
            egret_report::output::write(&path, &bytes).map_err(raised)
        })
    }

    /// Reads a model that was saved; it goes on to the bit.
    #[staticmethod]
    #[pyo3(signature = (path, *, log=None))]
    fn load(py: Python<'_>, path: PathBuf, log: Option<PathBuf>) -> PyResult<Self> {
        let model = py.detach(|| egret_jobs::load_model(&path).map_err(raised))?;
        let model = Self::made(model);
        model.log_to(py, log)?;
        Ok(model)
    }

    /// The model as bytes, as save writes them.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.save())?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A model from its bytes.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Ok(Self::made(AnyModel::load(bytes).map_err(raised)?))
    }

    /// Completes the file of the log that is open; events go on in the next. Decisions that wait stay.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            self.0.with_journal(|journal| match journal {
                Some(journal) => journal.parts.close(),
                None => Ok(()),
            })
        })
    }

    /// Logs the decisions that still wait, without outcomes, and completes the log. The model can go on without a log.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.close())
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close(py)
    }

    /// The number of the next event.
    #[getter]
    fn next_event(&self) -> u64 {
        self.0.next_event.load(Ordering::Relaxed)
    }

    /// How many batches were learned.
    #[getter]
    fn batches_learned(&self) -> u64 {
        let state = self.0.read();
        state.model.as_ref().map_or(0, AnyModel::batches_learned)
    }

    /// Which actions there are.
    #[getter]
    fn space(&self) -> PySpace {
        self.0.read().recipe.space.clone()
    }

    /// What outcomes are.
    #[getter]
    fn objective(&self) -> PyObjective {
        PyObjective(self.0.read().recipe.objective)
    }

    /// What contexts are: a Schema, how many numbers, or None before the first context.
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let state = self.0.read();
        let Some(spec) = &state.spec else {
            return Ok(None);
        };
        Ok(Some(match &spec.features {
            Some(schema) => PySchema(schema.clone()).into_bound_py_any(py)?,
            None => spec.context_dim.into_bound_py_any(py)?,
        }))
    }

    /// How losses are predicted and explored, as data.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let state = self.0.read();
        to_object(py, &state.recipe.settings)
    }

    /// 64 bits of all that the model is and has learned, as hexadecimal digits; equal models decide alike.
    fn content_hash(&self) -> PyResult<String> {
        Ok(self.0.read().made()?.0.content_hash())
    }

    fn __repr__(&self) -> String {
        let state = self.0.read();
        format!(
            "<egret.Model {} {}, {} batches learned>",
            state.recipe.space.space,
            state.recipe.objective,
            state.model.as_ref().map_or(0, AnyModel::batches_learned)
        )
    }

    fn __copy__(&self) -> PyResult<Self> {
        Self::from_bytes(&self.0.save()?)
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__copy__()
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let bytes = slf.get().to_bytes(slf.py())?;
        Ok((slf.getattr("from_bytes")?, (bytes,)))
    }
}

/// (low, high), or a dict in the form of the log.
fn limits_of(limits: &Bound<'_, PyAny>) -> PyResult<Limits> {
    match limits.extract::<(f64, f64)>() {
        Ok((low, high)) => Ok(Limits::Interval { low, high }),
        Err(_) => from_object(limits),
    }
}
