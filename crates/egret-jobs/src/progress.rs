use std::ops::ControlFlow;

use egret_offline::Epoch;

use crate::error::JobError;

/// Is told how far a job has come, and may end it.
///
/// Any function of a [`Step`] is one: `&|step: Step| { …; ControlFlow::Continue(()) }`.
pub trait Progress: Sync {
    /// `Break` ends the job with [`JobError::Cancelled`]; nothing is written then.
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
    /// So many of so many candidates were trained.
    Trained {
        /// Done.
        done: usize,
        /// Of all.
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

/// Tells of a step; an error where the job is to end.
pub(crate) fn tell(progress: &dyn Progress, step: Step<'_>) -> Result<(), JobError> {
    match progress.step(step) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(JobError::Cancelled),
    }
}
