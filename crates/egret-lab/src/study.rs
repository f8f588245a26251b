use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Journal, JournalError, PlayError};

/// One piece of work whose result is kept.
pub struct Task<'a, T> {
    /// All that the result depends on.
    pub key: String,
    /// Which it is, for a reader.
    pub label: String,
    /// How long it takes, in any unit: for the time that is left.
    pub cost: f64,
    /// Does it; a pure function of the key.
    pub work: Box<dyn Fn() -> Result<T, PlayError> + Send + Sync + 'a>,
}

/// What is told of a study while it runs, from any thread.
pub trait Progress: Send + Sync {
    /// Before the first task: the cost of all, and of those whose results were kept from before.
    fn begin(&self, all: f64, known: f64);
    /// A task is done that cost so much.
    fn done(&self, cost: f64);
    /// Whether to stop after the tasks that are under way.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Nobody watches.
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: f64, _: f64) {}
    fn done(&self, _: f64) {}
}

/// Runs all tasks whose results are not in the journal, on as many threads as there are, and gives all results in the order
/// of the tasks: the same whatever the threads, and however often it was interrupted.
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
    // Each thread takes the next task from the front, so that an interrupted study has its first tasks whole.
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
    let mut whole = Vec::with_capacity(results.len());
    let mut stopped = false;
    for (_, result) in results {
        match result {
            Some(result) => whole.push(result?),
            None => stopped = true,
        }
    }
    if stopped {
        return Err(StudyError::Stopped);
    }
    Ok(whole)
}

/// Why a study has no results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// A run failed.
    #[error("{label}: {error}")]
    Task {
        /// Which.
        label: String,
        /// Why.
        error: PlayError,
    },
    /// Results cannot be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// It was told to stop.
    #[error("stopped; what was done is kept, and the same command goes on from there")]
    Stopped,
}
