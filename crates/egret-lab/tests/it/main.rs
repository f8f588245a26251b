//! The public side of egret-lab.

mod formats;
#[cfg(feature = "download")]
mod openml;
#[cfg(feature = "download")]
mod openml_server;
mod studies;
