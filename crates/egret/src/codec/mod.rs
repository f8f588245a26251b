//! Text and bytes: how models are saved and how settings are written on a command line.
//!
//! A saved file is a frame: magic, format version, length, content, CRC-32. The frame is checked before the content is
//! read, so a damaged file is a [`LoadError`] and never a wrong model. Inside, each part writes its kind and then its
//! state; a state loads only into a part of the same kind.
//!
//! [`ShortText`] reads the short forms of commands, such as `fourier:features=256,scale=0.5`.

pub(crate) mod framed;
pub(crate) mod load_error;
pub(crate) mod saved_state;
pub(crate) mod short_text;

pub use load_error::LoadError;
pub use short_text::{ShortText, ShortTextError};
