use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Duration;

use egret_jobs::{Progress, Step};
use egret_lab::Progress as StudyProgress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::interrupt::Listener;

/// A bar for a job on the terminal, if there is one to look at. Ctrl-C ends the job.
pub struct JobBar {
    bar: ProgressBar,
    ctrl_c: Listener,
}

impl JobBar {
    /// The fineness of the bar.
    const PARTS: u64 = 1_000;

    pub fn new(message: &'static str, hidden: bool) -> Self {
        let bar = if hidden {
            ProgressBar::hidden()
        } else {
            ProgressBar::new(Self::PARTS)
                .with_style(style("{msg} {wide_bar} {percent}% {eta}"))
                .with_message(message)
        };
        Self {
            bar,
            ctrl_c: Listener::new(),
        }
    }
}

impl Progress for JobBar {
    fn step(&self, step: Step<'_>) -> ControlFlow<()> {
        match step {
            Step::Read(share) => self.bar.set_position((Self::PARTS as f64 * share) as u64),
            Step::Epoch(epoch) => {
                self.bar.set_style(style("epoch {msg} {spinner} {elapsed}"));
                let error = epoch.validation.squared_error;
                let error = error.map_or(String::new(), |error| format!(", error {error:.5}"));
                let fold = epoch.fold.map_or(String::new(), |(fold, folds)| {
                    format!(" of first fit {} of {folds}", fold + 1)
                });
                self.bar
                    .set_message(format!("{}{fold}{error}", epoch.epoch));
                self.bar.tick();
            }
            Step::Trained { done, of } => {
                self.bar
                    .set_style(style("candidates {wide_bar} {pos}/{len} {elapsed}"));
                self.bar.set_length(of as u64);
                self.bar.set_position(done as u64);
            }
        }
        match self.ctrl_c.is_stopped() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

impl Drop for JobBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A bar for a study of the lab: what is done of it, and how much time is left.
pub struct StudyBar {
    bar: ProgressBar,
    /// How much of the work a part of the bar stands for, and what is done.
    state: Mutex<(f64, f64)>,
}

impl StudyBar {
    /// The fineness of the bar.
    const PARTS: u64 = 100_000;

    pub fn new(message: &'static str, hidden: bool) -> Self {
        let bar = if hidden {
            ProgressBar::hidden()
        } else {
            ProgressBar::new(Self::PARTS)
                .with_style(style("{msg} {wide_bar} {percent}% {elapsed} {eta} left"))
                .with_message(message)
        };
        Self {
            bar,
            state: Mutex::new((1.0, 0.0)),
        }
    }

    fn add(&self, cost: f64) -> u64 {
        let mut state = self.state.lock().expect("no thread panics while it adds");
        state.1 += cost;
        (Self::PARTS as f64 * state.1 / state.0) as u64
    }
}

impl StudyProgress for StudyBar {
    fn begin(&self, all: f64, known: f64) {
        *self.state.lock().expect("no thread panics while it adds") = (all, 0.0);
        self.bar.set_position(self.add(known));
        // What was done another day says nothing of today's speed.
        self.bar.reset_eta();
        self.bar.enable_steady_tick(Duration::from_secs(1));
    }

    fn done(&self, cost: f64) {
        self.bar.set_position(self.add(cost));
    }
}

impl Drop for StudyBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The look of a bar.
pub fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is well formed")
}
