//! Ctrl-C: a job that listens stops in order, anything else ends at once. Both say what was kept, and how to go on.

use std::process;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The exit code of what was interrupted, as shells have it.
pub const CODE: u8 = 130;

static STOPPED: AtomicBool = AtomicBool::new(false);
static LISTENERS: AtomicUsize = AtomicUsize::new(0);
static KEPT: Mutex<Option<Box<Kept>>> = Mutex::new(None);

type Kept = dyn Fn() -> String + Send;

/// Listens to Ctrl-C from now on.
pub fn watch() {
    let heard = || {
        let again = STOPPED.swap(true, Ordering::SeqCst);
        if again || LISTENERS.load(Ordering::SeqCst) == 0 {
            eprintln!("{}", message());
            process::exit(CODE.into());
        }
        eprintln!("stopping; once more stops at once");
    };
    // Where it cannot be heard, it ends the process as ever.
    let _ = ctrlc::set_handler(heard);
}

/// Says what an interruption leaves behind; asked when it happens.
pub fn keeps(kept: impl Fn() -> String + Send + 'static) {
    *KEPT.lock().expect("nobody panics with it") = Some(Box::new(kept));
}

/// What is told of an interruption.
pub fn message() -> String {
    let kept = KEPT.lock().expect("nobody panics with it");
    let nothing = || "nothing was written: run the same command again".to_owned();
    format!(
        "interrupted: {}",
        kept.as_ref().map_or_else(nothing, |kept| kept())
    )
}

/// A job that asks now and then whether to stop.
pub struct Listener(());

impl Listener {
    pub fn new() -> Self {
        LISTENERS.fetch_add(1, Ordering::SeqCst);
        Self(())
    }

    pub fn is_stopped(&self) -> bool {
        STOPPED.load(Ordering::SeqCst)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        LISTENERS.fetch_sub(1, Ordering::SeqCst);
    }
}
