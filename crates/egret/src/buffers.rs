use std::sync::{Mutex, PoisonError};

/// Memory to work in, for as many threads as come at once; no result depends on what is in it.
#[derive(Default)]
pub(crate) struct Buffers(Mutex<Vec<Vec<f64>>>);

impl Buffers {
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Vec<f64>) -> T) -> T {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffer = lock().pop().unwrap_or_default();
        let result = work(&mut buffer);
        lock().push(buffer);
        result
    }
}
