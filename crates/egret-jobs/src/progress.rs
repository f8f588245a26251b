use std::ops::ControlFlow;

use egret_offline::Epoch;

use crate::error::JobError;

/// Hears how far a job has come, and may end it.
///
/// Any function of a [`Step`] is one: `&|step: Step| { …; ControlFlow::Continue(()) }`.
pub trait Progress: Sync {
    /// `Break` ends the job with [`JobError::Cancelled`]. No output is written then; a checkpoint of training stays.
    fn step(&self, step: Step<'_>) -> ControlFlow<()>;
}

impl<F: Fn(Step<'_>) -> ControlFlow<()> + Sync> Progress for F {
    fn step(&self, step: Step<'_>) -> ControlFlow<()> {
        self(step)
    }
}

/// Something that was done.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// This share of the log was read.
    Read(f64),
    /// A pass over the training rows.
    Epoch(&'a Epoch),
    /// Some of the candidates were trained.
    Trained {
        /// How many so far.
        done: usize,
        /// How many there are.
        of: usize,
    },
}

/// Tells nobody and never ends a job.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn step(&self, _: Step<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Rows between two reports of progress.
const EVERY: u64 = 4_096;

/// Tells of reading after every few thousand rows; `share` is the share of the log that was read.
pub(crate) fn tell_rows(
    progress: &dyn Progress,
    rows: u64,
    share: impl FnOnce() -> f64,
) -> Result<(), JobError> {
    if rows.is_multiple_of(EVERY) {
        tell(progress, Step::Read(share()))?;
    }
    Ok(())
}

/// Tells of a step; an error where the job is to end.
pub(crate) fn tell(progress: &dyn Progress, step: Step<'_>) -> Result<(), JobError> {
    match progress.step(step) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(JobError::Cancelled),
    }
}
