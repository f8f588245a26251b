//! A model of the outcomes that is the user's own function.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use egret::{
    ActionKind, AnyAction, Batch, CappedIgw, Context, DecideError, Decision, EventRng, Explorer,
    FunctionOracle, GammaSchedule, Learner, Loss, ModelSpec, Objective, Outcome, ReferenceMeasure,
    Settings, Space, Support, for_kind,
};
use egret_log::Record;
use egret_onnx::OnnxModel;
use pyo3::prelude::*;

use crate::action::{self, Actions};
use crate::array;
use crate::context::{Contexts, Rows, context, refused};
use crate::decision::{Decided, PyDecision, PyDecisions};
use crate::error::{EgretError, raised};
use crate::log_parts::LogParts;
use crate::objective::PyObjective;
use crate::space::PySpace;
use crate::value::to_object;

/// Explores by a function of your own, of scikit-learn, PyTorch or by hand: predict(x, actions) gives the predicted outcome
/// of each action, in the units of the objective.
///
/// predict may also be the path of an ONNX file, which runs without Python: rows of the numbers of a context and of an action
/// in, one predicted outcome each out. Contexts are lists of numbers then, actions numbers or vectors.
///
/// x is the context as a dict or a list of numbers, actions an array with a number, an item, a row of numbers or a row of
/// items for each.
/// Every action keeps a positive density, so that the log evaluates any policy. learn counts outcomes, with which exploration
/// shrinks, and does not change the function: fit a new one, to the log or to what you keep, and make another
/// FunctionModel, from next_event on.
///
/// tau is how much more often than at random an action may be chosen, by default 64: the larger, the nearer to the best, and the
/// longer a decision takes. An action whose predicted outcome is worse by 1/gamma of the objective's range is chosen half as
/// often; by default gamma grows with the outcomes. Boxes, knobs, shares and more than 64 items have a search of their own and
/// refuse both.
///
/// reference is a policy of your own to explore around, in place of one that draws evenly from the space: reference(x, n, seed)
/// gives n independent draws, all of whose chance comes from the seed. Densities are against it then, and the log does
/// not say what it is: evaluate policies whose densities against it are in a column.
///
/// Other arguments are those of Model. Decisions are equal to the bit as far as your function is.
///
/// >>> def predict(x, prices):
/// ...     return 50 - abs(prices - x["worth"])
/// >>> shop = egret.FunctionModel(egret.Interval(5, 50), predict, objective=egret.maximize(0, 50))
/// >>> abs(shop.best({"worth": 20}) - 20) < 0.5
/// True
#[pyclass(frozen, module = "egret", name = "FunctionModel")]
pub struct PyFunctionModel {
    explorer: RwLock<Box<dyn Explores>>,
    spec: Arc<ModelSpec>,
    own_reference: bool,
    next_event: AtomicU64,
    parts: Mutex<Option<LogParts>>,
    failure: Failure,
}

/// What the function raised.
type Failure = Arc<Mutex<Option<PyErr>>>;

/// A learner, without the type of its actions.
trait Explores: Send + Sync {
    fn decide(&self, event: u64, x: &Context) -> Result<Decision<AnyAction>, DecideError>;
    fn best(&self, x: &Context) -> Result<AnyAction, DecideError>;
    fn learn(&mut self, x: &Context, decision: &Decision<AnyAction>, loss: Loss) -> PyResult<()>;
}

impl<A: ActionKind> Explores for Learner<Context, A> {
    fn decide(&self, event: u64, x: &Context) -> Result<Decision<AnyAction>, DecideError> {
        Ok(self.decide(event, x)?.map_action(Into::into))
    }

    fn best(&self, x: &Context) -> Result<AnyAction, DecideError> {
        Ok(self.best(x)?.into())
    }

    fn learn(&mut self, x: &Context, decision: &Decision<AnyAction>, loss: Loss) -> PyResult<()> {
        let action = A::from_any(&decision.action).map_err(raised)?;
        let decision = decision.clone().map_action(|_| action);
        self.learn(&decision.observed(x, loss)).map_err(raised)
    }
}

fn explorer<A: ActionKind>(
    spec: &ModelSpec,
    settings: Settings,
    of_capped_igw: bool,
    predict: Py<PyAny>,
    reference: Option<Py<PyAny>>,
    failure: Failure,
) -> PyResult<Box<dyn Explores>> {
    let objective = spec.objective.clipped();
    let of_space = A::measure(&spec.space).map_err(raised)?;
    let measure: Box<dyn ReferenceMeasure<Context, A>> = match reference {
        None => of_space,
        Some(draw) => Box::new(OwnReference {
            draw,
            space: spec.space.clone(),
            of_space,
            failure: failure.clone(),
        }),
    };
    let oracle = FunctionOracle::new(move |x: &Context, actions: &A::Batch, out: &mut [f64]| {
        match predicted::<A>(&predict, objective, x, actions) {
            Ok(losses) => out.copy_from_slice(&losses),
            Err(error) => {
                // NaN ends the decision, and the error is raised then.
                out.fill(f64::NAN);
                failed(&failure, error);
            }
        }
    });
    let learner = Learner::new(measure, Box::new(oracle), settings).map_err(raised)?;
    checked(learner, of_capped_igw)
}

/// The learner, unless it was given what has no effect on it.
fn checked<A: ActionKind>(
    learner: Learner<Context, A>,
    of_capped_igw: bool,
) -> PyResult<Box<dyn Explores>> {
    if of_capped_igw && matches!(learner.explorer(), Explorer::Zoom(_)) {
        return Err(EgretError::new_err(
            "tau and gamma have no effect on this space, which has a search of its own: leave them out",
        ));
    }
    Ok(Box::new(learner))
}

fn failed(failure: &Failure, error: PyErr) {
    let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
    failure.get_or_insert(error);
}

/// A learner by an ONNX file.
fn onnx_explorer<A: ActionKind>(
    spec: &ModelSpec,
    settings: Settings,
    of_capped_igw: bool,
    file: &Path,
) -> PyResult<Box<dyn Explores>> {
    let onnx = OnnxModel::load(file).map_err(raised)?;
    let model = onnx.into_model(spec.space.clone(), spec.objective, settings);
    let model = model.map_err(raised)?.into_typed::<A>();
    checked(
        model.expect("a model of the space").into_learner(),
        of_capped_igw,
    )
}

/// A user's own μ.
struct OwnReference<A> {
    draw: Py<PyAny>,
    space: Space,
    /// What is drawn from when the user's fails: the decision ends with the error.
    of_space: Box<dyn ReferenceMeasure<Context, A>>,
    failure: Failure,
}

impl<A: ActionKind> OwnReference<A> {
    fn drawn(&self, x: &Context, n: usize, seed: u64) -> PyResult<Vec<A>> {
        let drawn = Python::attach(|py| {
            let drawn = self.draw.call1(py, (to_object(py, x)?, n, seed))?;
            action::many_from_python(drawn.bind(py))
        })?;
        if drawn.len() != n {
            return Err(EgretError::new_err(format!(
                "reference gave {} actions, and {n} were asked for",
                drawn.len()
            )));
        }
        let typed = |action: &AnyAction| {
            let action = action.clone().into_kind(A::KIND);
            self.space.check_action(&action).map_err(raised)?;
            A::from_any(&action).map_err(raised)
        };
        drawn.iter().map(typed).collect()
    }
}

impl<A: ActionKind> ReferenceMeasure<Context, A> for OwnReference<A> {
    fn sample(&self, x: &Context, n: usize, rng: &mut EventRng, out: &mut A::Batch) {
        let seed = (rng.unit() * (1_u64 << 53) as f64) as u64;
        match self.drawn(x, n, seed) {
            Ok(drawn) => drawn.iter().for_each(|action| out.push(action)),
            Err(error) => {
                failed(&self.failure, error);
                self.of_space.sample(x, n, rng, out);
            }
        }
    }

    fn support(&self) -> Support {
        Support::Unknown
    }
}

/// The losses that the function predicts.
fn predicted<A: ActionKind>(
    predict: &Py<PyAny>,
    objective: Objective,
    x: &Context,
    actions: &A::Batch,
) -> PyResult<Vec<f64>> {
    Python::attach(|py| {
        let count = actions.len();
        let many = (0..count).map(|place| -> AnyAction { actions.get(place).into() });
        let many = many.collect::<Actions>().into_python(py)?;
        let outcomes = predict.call1(py, (to_object(py, x)?, many))?;
        let outcomes = array::numbers(outcomes.bind(py))?;
        if outcomes.len() != count {
            return Err(EgretError::new_err(format!(
                "predict gave {} outcomes for {count} actions",
                outcomes.len()
            )));
        }
        let loss = |outcome: f64| Ok(objective.loss(outcome).map_err(raised)?.get());
        outcomes.into_iter().map(loss).collect()
    })
}

impl PyFunctionModel {
    /// What was asked of the learner, or what the function raised.
    fn told<T>(&self, answer: Result<T, DecideError>) -> PyResult<T> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        match failure.take() {
            Some(error) => Err(error),
            None => answer.map_err(raised),
        }
    }

    fn decide_all(&self, xs: Rows<'_>) -> PyResult<Vec<Arc<Decided>>> {
        let count = xs.len();
        // All are looked at first: a batch that is refused takes no event numbers, and no time of the function.
        for (row, x) in xs.clone().enumerate() {
            x.map_err(|problem| refused(row, count, problem))?;
        }
        let first = self.next_event.fetch_add(count as u64, Ordering::Relaxed);
        let explorer = self.explorer.read().unwrap_or_else(PoisonError::into_inner);
        // One by one: the function has the interpreter to itself anyway.
        let decided = (first..).zip(xs).map(|(event, x)| {
            let x = x.map_err(EgretError::new_err)?;
            let decision = self.told(explorer.decide(event, &x))?;
            Ok(Arc::new(Decided::new(x, decision, Some(self.spec.clone()))))
        });
        decided.collect()
    }

    fn log(
        &self,
        parts: &mut LogParts,
        decided: &Decided,
        outcome: Option<Outcome>,
    ) -> PyResult<()> {
        if !self.own_reference {
            return parts.append_as(&self.spec, decided, outcome);
        }
        let Decided { x, decision, .. } = decided;
        let mut record = for_kind!(decision.action.kind(), A => {
            let action = A::from_any(&decision.action).map_err(raised)?;
            Record::new(x.clone(), &decision.clone().map_action(|_| action))
        });
        record.loss = outcome.map(|outcome| outcome.loss);
        record.outcome = outcome.map(|outcome| outcome.value);
        record.objective = Some(self.spec.objective);
        parts.write(record)
    }

    fn with_log<R>(&self, run: impl FnOnce(&mut Option<LogParts>) -> R) -> R {
        run(&mut self.parts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl PyFunctionModel {
    #[new]
    #[pyo3(signature = (space, predict, *, reference=None, objective=None, tau=None, gamma=None, seed=0, next_event=0, log=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        py: Python<'_>,
        space: PySpace,
        predict: Py<PyAny>,
        reference: Option<Py<PyAny>>,
        objective: Option<PyObjective>,
        tau: Option<f64>,
        gamma: Option<f64>,
        seed: u64,
        next_event: u64,
        log: Option<PathBuf>,
    ) -> PyResult<Self> {
        let objective = objective.map_or(Objective::LOSS, |objective| objective.0);
        let spec =
            ModelSpec::from_parts(space.space, space.embeddings, 0).with_objective(objective);
        let mut settings = Settings::default().with_seed(seed);
        if let Some(tau) = tau {
            settings.taus = vec![tau];
        }
        if let Some(gamma) = gamma {
            settings.gamma = GammaSchedule::constant(gamma).map_err(raised)?;
        }
        if let Space::Set { .. } = spec.space {
            // A search would ask the function about two sets for every item.
            settings.explorer = Explorer::CappedIgw(CappedIgw::default());
        }
        let own_reference = reference.is_some();
        let wrong = |problem: &str| Err(EgretError::new_err(problem.to_owned()));
        if own_reference && log.is_some() && matches!(spec.space, Space::Set { .. }) {
            return wrong(
                "a log of subsets is read by their reference measure: leave out reference or log",
            );
        }
        let failure = Failure::default();
        let file = predict.extract::<PathBuf>(py).ok();
        if own_reference && file.is_some() {
            return wrong("an ONNX file runs without Python, and so without a reference of yours");
        }
        let of_capped_igw = tau.is_some() || gamma.is_some();
        let explorer = for_kind!(spec.space.kind(), A => match file {
            Some(file) => onnx_explorer::<A>(&spec, settings, of_capped_igw, &file),
            None => {
                explorer::<A>(&spec, settings, of_capped_igw, predict, reference, failure.clone())
            }
        })?;
        let parts = log.map(|path| LogParts::open(&path)).transpose()?;
        let used = parts.as_ref().map_or(0, LogParts::next_event);
        Ok(Self {
            explorer: RwLock::new(explorer),
            spec: Arc::new(spec),
            own_reference,
            next_event: AtomicU64::new(next_event.max(used)),
            parts: Mutex::new(parts),
            failure,
        })
    }

    /// Chooses an action for a context.
    fn decide(&self, py: Python<'_>, x: &Bound<'_, PyAny>) -> PyResult<PyDecision> {
        let mut x = Contexts::Made(vec![context(x)?]);
        let x = x.rows()?;
        let decided = py.detach(|| self.decide_all(x))?;
        Ok(PyDecision(decided.into_iter().next().expect("one for one")))
    }

    /// Chooses an action for each of many contexts.
    fn decide_batch(&self, py: Python<'_>, xs: &Bound<'_, PyAny>) -> PyResult<PyDecisions> {
        let mut xs = Contexts::new(xs)?;
        let rows = xs.rows()?;
        Ok(PyDecisions(py.detach(|| self.decide_all(rows))?))
    }

    /// The action with the best predicted outcome in a context.
    fn best<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let x = context(x)?;
        let best = py.detach(|| {
            let explorer = self.explorer.read().unwrap_or_else(PoisonError::into_inner);
            self.told(explorer.best(&x))
        })?;
        action::to_python(py, &best)
    }

    /// Takes the outcome of a decision, and logs both if there is a log: the more outcomes, the less it explores. None: no
    /// outcome will come.
    #[pyo3(signature = (decision, outcome))]
    fn learn(&self, py: Python<'_>, decision: &PyDecision, outcome: Option<f64>) -> PyResult<()> {
        let decided = &decision.0;
        let objective = self.spec.objective;
        let outcome = outcome.map(|value| objective.outcome(value)).transpose();
        let outcome = outcome.map_err(raised)?;
        decided.close()?;
        let taken = py.detach(|| {
            let mut explorer = self
                .explorer
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            self.with_log(|parts| match parts {
                Some(parts) => self.log(parts, decided, outcome),
                None => Ok(()),
            })?;
            match outcome {
                Some(outcome) => explorer.learn(&decided.x, &decided.decision, outcome.loss),
                None => Ok(()),
            }
        });
        taken.inspect_err(|_| decided.reopen())
    }

    /// Completes the log.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.with_log(|parts| parts.as_mut().map_or(Ok(()), LogParts::close)))
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
        self.next_event.load(Ordering::Relaxed)
    }
}
