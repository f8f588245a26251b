//! A log of decisions that somebody else made.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use egret::{Density, Objective, Propensity, Space};
use egret_log::{Extra, Record, Time};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::action;
use crate::context::context;
use crate::error::{EgretError, log_error, raised};
use crate::log_parts::LogParts;
use crate::objective::PyObjective;
use crate::space::PySpace;
use crate::value::from_object;

/// Writes a log of decisions that were made elsewhere, for evaluate, audit, train and every command. Model(log=...) writes
/// its own.
///
/// path
///     A file (.parquet, .jsonl, .dsjson), or a folder, in which records go on after those that are in it.
/// space, objective
///     Which actions there are, and what outcomes are; by default losses in [0, 1].
///
/// >>> with egret.LogWriter("prices.jsonl", egret.Interval(5, 50), objective=egret.maximize(0, 50)) as log:
/// ...     log.write({"income": 52}, action=20.0, density=1.0, outcome=20.0)
/// >>> egret.summarize("prices.jsonl").rows
/// 1
#[pyclass(frozen, module = "egret", name = "LogWriter")]
pub struct PyLogWriter {
    parts: Mutex<LogParts>,
    space: Arc<Space>,
    objective: Option<Objective>,
}

impl PyLogWriter {
    fn with<R>(&self, run: impl FnOnce(&mut LogParts) -> R) -> R {
        run(&mut self.parts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl PyLogWriter {
    #[new]
    #[pyo3(signature = (path, space, *, objective=None))]
    fn new(path: PathBuf, space: PySpace, objective: Option<PyObjective>) -> PyResult<Self> {
        Ok(Self {
            parts: Mutex::new(LogParts::open(&path)?),
            space: Arc::new(space.space),
            objective: objective.map(|objective| objective.0),
        })
    }

    /// Adds a decision.
    ///
    /// density
    ///     The density of the action against the reference measure of the space: on an interval, the density per unit of
    ///     length times its length; for items, the probability times their number. None for an action without one.
    /// outcome
    ///     In the units of the objective; None if it is not known.
    /// limits
    ///     What the request allowed, as in Model.decide.
    /// time
    ///     When it was decided: text after ISO 8601.
    /// columns
    ///     Numbers or text of your own, such as the densities of other policies.
    #[pyo3(signature = (context, action, density, outcome=None, *, limits=None, time=None, **columns))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn write(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = context)] context: egret::Context,
        #[pyo3(from_py_with = action::from_python)] action: egret::AnyAction,
        density: Option<f64>,
        outcome: Option<f64>,
        limits: Option<&Bound<'_, PyAny>>,
        time: Option<&str>,
        columns: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let propensity = match density {
            Some(density) => Propensity::Density(Density::new(density).map_err(raised)?),
            None => Propensity::PointMass,
        };
        let action = action.into_kind(self.space.kind());
        self.space.check_action(&action).map_err(raised)?;
        let mut record = Record::bare(context, action, propensity);
        record.mu = Some(self.space.clone());
        record.limits = limits.map(from_object).transpose()?;
        record.time = time.map(str::parse::<Time>).transpose().map_err(raised)?;
        let objective = self.objective.unwrap_or(Objective::LOSS);
        let known = outcome.map(|value| objective.outcome(value)).transpose();
        record.loss = known.map_err(raised)?.map(|outcome| outcome.loss);
        if self.objective.is_some() {
            record.objective = self.objective;
            record.outcome = outcome;
        }
        for (name, value) in columns.into_iter().flatten() {
            let name: String = name.extract()?;
            record.set_extra(name, extra(&value)?).map_err(log_error)?;
        }
        py.detach(|| self.with(|parts| parts.write(record)))
    }

    /// Completes the file that is open. In a folder, records go on in the next.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.with(LogParts::close))
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close(py)
    }
}

fn extra(value: &Bound<'_, PyAny>) -> PyResult<Extra> {
    if let Ok(number) = value.extract::<f64>() {
        return Ok(number.into());
    }
    match value.extract::<String>() {
        Ok(text) => Ok(text.as_str().into()),
        Err(_) => Err(EgretError::new_err(format!(
            "a column holds numbers or text, found {}",
            value.get_type().name()?
        ))),
    }
}
