//! What a user asks of logs: requests and reports are JSON, which Python has.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

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
    let report = attended(py, listener, job)?;
    Ok((to_json(&report)?, None))
}

fn with_model<R: Serialize + Send>(
    py: Python<'_>,
    listener: &Listener,
    job: impl FnOnce() -> Result<(AnyModel, R), JobError> + Send,
) -> PyResult<(String, Option<PyModel>)> {
    let (model, report) = attended(py, listener, job)?;
    Ok((to_json(&report)?, Some(PyModel::made(model))))
}

/// Runs a job on a thread of its own, while this one hears of signals: Python hears of them on its main thread alone, and
/// jobs tell of their progress from threads of their own.
fn attended<R: Send>(
    py: Python<'_>,
    listener: &Listener,
    job: impl FnOnce() -> Result<R, JobError> + Send,
) -> PyResult<R> {
    const LOOK: Duration = Duration::from_millis(50);
    let (ended, waiting) = (Mutex::new(false), Condvar::new());
    let result = thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // Also where the job panics.
            let _ends = Ends(&ended, &waiting);
            job()
        });
        loop {
            let is_over = py.detach(|| {
                let ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = waiting.wait_timeout_while(ended, LOOK, |ended| !*ended);
                *waited.unwrap_or_else(PoisonError::into_inner).0
            });
            if is_over {
                return worker.join();
            }
            if let Err(error) = py.check_signals() {
                listener.end(error);
            }
        }
    });
    match result {
        Ok(result) => result.map_err(|error| listener.error(error)),
        Err(panic) => resume_unwind(panic),
    }
}

/// Says that a thread is done.
struct Ends<'a>(&'a Mutex<bool>, &'a Condvar);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.1.notify_all();
    }
}

/// Hears of progress, and of Ctrl-C.
struct Listener {
    callback: Option<Py<PyAny>>,
    /// What ended the job.
    raised: Mutex<Option<PyErr>>,
}

impl Listener {
    /// Lets the job end with this error, unless another was first.
    fn end(&self, error: PyErr) {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.get_or_insert(error);
    }

    fn is_ended(&self) -> bool {
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.is_some()
    }

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
        if let Some(callback) = self.callback.as_ref().filter(|_| !self.is_ended()) {
            let (what, done, of) = match step {
                Step::Read(share) => ("read", share, Some(1.0)),
                Step::Epoch(epoch) => ("epochs", f64::from(epoch.epoch), None),
                Step::Trained { done, of } => ("trained", done as f64, Some(of as f64)),
            };
            let told = Python::attach(|py| callback.call1(py, (what, done, of)).map(drop));
            if let Err(error) = told {
                self.end(error);
            }
        }
        match self.is_ended() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}
