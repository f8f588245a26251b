pub(crate) mod framed;
pub(crate) mod load_error;
pub(crate) mod saved_state;

pub use load_error::LoadError;
