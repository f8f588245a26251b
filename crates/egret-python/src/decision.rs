//! What was decided: one, and many at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use egret::{AnyAction, Context, Decision, Kind, ModelSpec, for_kind};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

use crate::action::{self, Actions};
use crate::array::array;
use crate::error::{EgretError, raised};
use crate::value::{from_json, to_json, to_object};

/// A decision with its context, and the description of the model that made it: none if it was pickled.
pub struct Decided {
    pub x: Context,
    pub decision: Decision<AnyAction>,
    pub spec: Option<Arc<ModelSpec>>,
    closed: AtomicBool,
}

impl Decided {
    pub fn new(x: Context, decision: Decision<AnyAction>, spec: Option<Arc<ModelSpec>>) -> Self {
        Self {
            x,
            decision,
            spec,
            closed: AtomicBool::new(false),
        }
    }

    /// Takes its outcome; an error if it has one.
    pub fn close(&self) -> PyResult<()> {
        if self.closed.swap(true, Ordering::Relaxed) {
            let event = self.decision.event;
            let words = format!("event {event} has its outcome already: it is learned from once");
            return Err(EgretError::new_err(words));
        }
        Ok(())
    }

    /// It may have its outcome again: nothing was learned.
    pub fn reopen(&self) {
        self.closed.store(false, Ordering::Relaxed);
    }

    fn density(&self) -> Option<f64> {
        let density = self.decision.propensity.density();
        density.map(egret::Density::get)
    }
}

/// What to do, and how likely that was. Hand it to Model.learn with the outcome, now or much later.
///
/// Decisions are pickled, so that another process may learn from them.
///
/// >>> decision = egret.Model(egret.Interval(5, 50)).decide([1.0])
/// >>> 5 <= decision.action <= 50 and 0 < decision.density
/// True
#[pyclass(frozen, module = "egret", name = "Decision")]
pub struct PyDecision(pub Arc<Decided>);

#[pymethods]
impl PyDecision {
    /// The number of the event: with the seed it is the source of its random numbers.
    #[getter]
    fn event(&self) -> u64 {
        self.0.decision.event
    }

    /// What to do: a float, an array of floats, the place of an item, or a list of places.
    #[getter]
    fn action<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        action::to_python(py, &self.0.decision.action)
    }

    /// The density of the action against the reference measure; None for a point mass.
    #[getter]
    fn density(&self) -> Option<f64> {
        self.0.density()
    }

    /// What it was decided for: a dict, or a list of numbers.
    #[getter]
    fn context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_object(py, &self.0.x)
    }

    /// What the request allowed; None if all.
    #[getter]
    fn limits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_object(py, &self.0.decision.limits)
    }

    /// How many batches the model had learned.
    #[getter]
    fn batches_learned(&self) -> u64 {
        self.0.decision.batches_learned
    }

    /// An upper bound on 1/density over all actions, if it is known.
    #[getter]
    fn largest_inverse_density(&self) -> Option<f64> {
        self.0.decision.largest_inverse_density
    }

    /// The importance weight of a policy with this density at the action; None for a point mass.
    fn importance_weight(&self, density: f64) -> Option<f64> {
        self.0.decision.importance_weight(density)
    }

    /// Everything that replays it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_object(py, &self.0.decision)
    }

    fn __repr__(&self) -> String {
        let Decision { event, action, .. } = &self.0.decision;
        match self.0.density() {
            Some(density) => {
                format!("<egret.Decision event={event} action={action} density={density}>")
            }
            None => format!("<egret.Decision event={event} action={action}, a point mass>"),
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let decided = &slf.get().0;
        let kind = decided.decision.action.kind().to_string();
        let json = to_json(&(kind, &decided.x, &decided.decision))?;
        Ok((slf.getattr("_restored")?, (json,)))
    }

    #[staticmethod]
    fn _restored(json: &str) -> PyResult<Self> {
        let (kind, x, decision): (String, Context, serde_json::Value) = from_json(json)?;
        Ok(Self(Arc::new(Decided::new(
            x,
            restored(&kind, decision)?,
            None,
        ))))
    }
}

/// A decision, whose JSON does not say of which kind its action is.
fn restored(kind: &str, json: serde_json::Value) -> PyResult<Decision<AnyAction>> {
    let kinds = [
        Kind::Number,
        Kind::Vector,
        Kind::Item,
        Kind::Mixed,
        Kind::Set,
    ];
    let kind = kinds.into_iter().find(|known| known.to_string() == kind);
    let kind = kind.ok_or_else(|| EgretError::new_err("not a decision of this egret"))?;
    for_kind!(kind, A => {
        let decision: Decision<A> = serde_json::from_value(json).map_err(raised)?;
        Ok(decision.map_action(Into::into))
    })
}

/// Many decisions, in the order of their contexts.
///
/// >>> decisions = egret.Model(egret.Interval(5, 50)).decide_batch([[1.0], [2.0]])
/// >>> len(decisions), decisions.actions.shape, decisions[0].event
/// (2, (2,), 0)
#[pyclass(frozen, sequence, module = "egret", name = "Decisions")]
pub struct PyDecisions(pub Vec<Arc<Decided>>);

#[pymethods]
impl PyDecisions {
    /// The numbers of the events.
    #[getter]
    fn events<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        let events = self.0.iter().map(|decided| decided.decision.event);
        array(py, events.collect())
    }

    /// What to do: an array with a number, an item or a row of numbers for each.
    #[getter]
    fn actions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let actions = self.0.iter().map(|decided| &decided.decision.action);
        actions.collect::<Actions>().into_python(py)
    }

    /// The densities of the actions against the reference measure; NaN for a point mass.
    #[getter]
    fn densities<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        let densities = self.0.iter().map(|decided| decided.density());
        let densities = densities.map(|density| density.unwrap_or(f64::NAN));
        array(py, densities.collect())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, place: isize) -> PyResult<PyDecision> {
        let from_end = if place < 0 { self.0.len() as isize } else { 0 };
        let decided = usize::try_from(place + from_end).ok();
        let decided = decided.and_then(|place| self.0.get(place));
        match decided {
            Some(decided) => Ok(PyDecision(decided.clone())),
            None => Err(PyIndexError::new_err(format!(
                "there are {} decisions",
                self.0.len()
            ))),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let decisions = self.0.iter().cloned().map(PyDecision);
        PyList::new(py, decisions.collect::<Vec<_>>())?.try_iter()
    }

    fn __repr__(&self) -> String {
        format!("<egret.Decisions: {}>", self.0.len())
    }
}
