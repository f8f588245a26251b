use std::sync::{Mutex, PoisonError};

/// Reusable buffers for any number of threads. Results never depend on what is in them.
#[derive(Debug)]
pub(crate) struct Pool<T>(Mutex<Vec<T>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// Begins without buffers.
impl<T> Clone for Pool<T> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<T: Default> Pool<T> {
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut memory = lock().pop().unwrap_or_default();
        let result = work(&mut memory);
        lock().push(memory);
        result
    }
}
