//! The public side of egret-lab.

mod formats;
mod openml;
mod openml_server;
mod studies;
