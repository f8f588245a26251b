use std::sync::Mutex;
use std::time::Duration;

use egret_lab::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// A bar of a thousand parts on the terminal, if there is one to look at.
pub fn reading(message: &'static str, hidden: bool) -> ProgressBar {
    if hidden {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} {wide_bar} {percent}% {eta}")
        .expect("the template is well formed");
    ProgressBar::new(1_000)
        .with_style(style)
        .with_message(message)
}

/// A bar for a study: what is done of it, and how much time is left.
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
            let style =
                ProgressStyle::with_template("{msg} {wide_bar} {percent}% {elapsed} {eta} left")
                    .expect("the template is well formed");
            ProgressBar::new(Self::PARTS)
                .with_style(style)
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

impl Progress for StudyBar {
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
