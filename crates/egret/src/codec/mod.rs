pub(crate) mod framed;
pub(crate) mod load_error;
pub(crate) mod saved_state;
pub(crate) mod short_text;

pub use load_error::LoadError;
pub use short_text::{ShortText, ShortTextError};
