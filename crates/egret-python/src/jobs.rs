//! What a user asks of logs: requests and reports are JSON, which Python has.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use egret::AnyModel;
use egret_jobs::audit::AuditRequest;
use egret_jobs::evaluate::EvaluateRequest;
use egret_jobs::select::SelectRequest;
use egret_jobs::summarize::SummarizeRequest;
use egret_jobs::train::TrainRequest;
use egret_jobs::{JobError, Progress, Step, audit, evaluate, select, summarize, train};
use pyo3::prelude::*;
use serde::Serialize;

use crate::error::{EgretError, log_error, raised};
use crate::model::PyModel;
use crate::objective::PyObjective;
use crate::space::PySpace;
use crate::table::memory_table;
use crate::value::{from_json, to_json};

/// Runs a job: (its report, the model that it made). `progress` is called with what is done, how much of it, and of how
/// much; Ctrl-C ends the job. A table takes the place of files.
#[pyfunction]
#[pyo3(signature = (job, request, progress=None, table=None, space=None, objective=None))]
pub fn run(
    py: Python<'_>,
    job: &str,
    request: &str,
    progress: Option<Py<PyAny>>,
    table: Option<&Bound<'_, PyAny>>,
    space: Option<&PySpace>,
    objective: Option<&PyObjective>,
) -> PyResult<(String, Option<PyModel>)> {
    let listener = Listener {
        callback: progress,
        raised: Mutex::new(None),
    };
    let table = table.map(memory_table).transpose()?;
    let (space, objective) = (space.map(|one| &one.space), objective.map(|one| &one.0));
    let table = table.map(|table| table.stating(space, objective));
    match job {
        "evaluate" => {
            let mut request: EvaluateRequest = from_json(request)?;
            request.log.table = table;
            report(py, &listener, || evaluate::evaluate(&request, &listener))
        }
        "audit" => {
            let mut request: AuditRequest = from_json(request)?;
            request.log.table = table;
            report(py, &listener, || audit::audit(&request, &listener))
        }
        "summarize" => {
            let mut request: SummarizeRequest = from_json(request)?;
            request.log.table = table;
            report(py, &listener, || summarize::summarize(&request, &listener))
        }
        "train" => {
            let mut request: TrainRequest = from_json(request)?;
            request.from.log.table = table;
            with_model(py, &listener, || train::train(&request, &listener))
        }
        "select" => {
            let mut request: SelectRequest = from_json(request)?;
            request.from.log.table = table;
            with_model(py, &listener, || select::select(&request, &listener))
        }
        other => Err(EgretError::new_err(format!("no job is called {other:?}"))),
    }
}

fn report<R: Serialize + Send>(
    py: Python<'_>,
    listener: &Listener,
    job: impl FnOnce() -> Result<R, JobError> + Send,
) -> PyResult<(String, Option<PyModel>)> {
    let report = py.detach(job).map_err(|error| listener.error(error))?;
    Ok((to_json(&report)?, None))
}

fn with_model<R: Serialize + Send>(
    py: Python<'_>,
    listener: &Listener,
    job: impl FnOnce() -> Result<(AnyModel, R), JobError> + Send,
) -> PyResult<(String, Option<PyModel>)> {
    let (model, report) = py.detach(job).map_err(|error| listener.error(error))?;
    Ok((to_json(&report)?, Some(PyModel::made(model))))
}

/// Hears of progress, and of Ctrl-C.
struct Listener {
    callback: Option<Py<PyAny>>,
    /// What ended the job.
    raised: Mutex<Option<PyErr>>,
}

impl Listener {
    fn error(&self, error: JobError) -> PyErr {
        let mut own = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        match error {
            JobError::Cancelled => own.take().unwrap_or_else(|| raised(JobError::Cancelled)),
            JobError::Read(_) | JobError::Write(_) | JobError::Record { .. } | JobError::Log(_) => {
                log_error(error)
            }
            error => raised(error),
        }
    }
}

impl Progress for Listener {
    fn step(&self, step: Step<'_>) -> ControlFlow<()> {
        let told = Python::attach(|py| {
            py.check_signals()?;
            if let Some(callback) = &self.callback {
                let (what, done, of) = match step {
                    Step::Read(share) => ("read", share, Some(1.0)),
                    Step::Epoch(epoch) => ("epochs", f64::from(epoch.epoch), None),
                    Step::Trained { done, of } => ("trained", done as f64, Some(of as f64)),
                };
                callback.call1(py, (what, done, of))?;
            }
            PyResult::Ok(())
        });
        match told {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
                *raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}
