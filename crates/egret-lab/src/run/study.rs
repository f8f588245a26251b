use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::learner::PlayError;
use crate::run::{Journal, JournalError};

/// A piece of work whose result is kept.
pub struct Task<'a, T> {
    /// Everything that the result depends on.
    pub key: String,
    /// A short description for a reader.
    pub label: String,
    /// The expected duration in any unit, to estimate the time left.
    pub cost: f64,
    /// Does the work. The result is a pure function of the key.
    pub work: Box<dyn Fn() -> Result<T, PlayError> + Send + Sync + 'a>,
}

/// Watches a study while it runs. Methods are called from any thread.
pub trait Progress: Send + Sync {
    /// Called before the first task, with the cost of all tasks and of those whose results are already known.
    fn begin(&self, all: f64, known: f64);
    /// Called when a task of this cost is done.
    fn done(&self, cost: f64);
    /// Whether to stop after the tasks that are running.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Reports no progress.
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: f64, _: f64) {}
    fn done(&self, _: f64) {}
}

/// Runs all tasks whose results are not in the journal, on all threads of the pool, and gives all results in the order of the
/// tasks. The results depend neither on the number of threads nor on interruptions.
pub fn run_all<T>(
    tasks: &[Task<'_, T>],
    journal: Option<&Journal<T>>,
    progress: &dyn Progress,
) -> Result<Vec<T>, StudyError>
where
    T: Serialize + DeserializeOwned + Clone + Send + Sync,
{
    let known = |task: &Task<'_, T>| journal.and_then(|journal| journal.known(&task.key));
    let all = tasks.iter().map(|task| task.cost).sum();
    let done = tasks.iter().filter(|task| known(task).is_some());
    progress.begin(all, done.map(|task| task.cost).sum());
    let failed = AtomicBool::new(false);
    let one = |task: &Task<'_, T>| {
        if let Some(result) = known(task) {
            return Some(Ok(result.clone()));
        }
        if failed.load(Ordering::Relaxed) || progress.is_stopped() {
            return None;
        }
        let result = (task.work)().map_err(|error| StudyError::Task {
            label: task.label.clone(),
            error,
        });
        let kept = result.and_then(|result| {
            if let Some(journal) = journal {
                journal.add(&task.key, &result)?;
            }
            Ok(result)
        });
        match &kept {
            Ok(_) => progress.done(task.cost),
            Err(_) => failed.store(true, Ordering::Relaxed),
        }
        Some(kept)
    };
    // Each thread takes the next task from the front, so that an interrupted study has finished its first tasks.
    let next = AtomicUsize::new(0);
    let mut results: Vec<(usize, Option<Result<T, StudyError>>)> = rayon::broadcast(|_| {
        let mut mine = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(place) else {
                return mine;
            };
            mine.push((place, one(task)));
        }
    })
    .into_iter()
    .flatten()
    .collect();
    results.sort_unstable_by_key(|(place, _)| *place);
    let mut complete = Vec::with_capacity(results.len());
    let mut stopped = false;
    for (_, result) in results {
        match result {
            Some(result) => complete.push(result?),
            None => stopped = true,
        }
    }
    if stopped {
        return Err(StudyError::Stopped);
    }
    Ok(complete)
}

/// Why a study has no results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// A task failed.
    #[error("{label}: {error}")]
    Task {
        /// Its description.
        label: String,
        /// Why.
        error: PlayError,
    },
    /// A result cannot be saved.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The study was asked to stop.
    #[error("stopped; finished results are kept, and the same command continues from there")]
    Stopped,
}
