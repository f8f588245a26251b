//! The public side of egret-lab.

mod openml;
mod openml_server;
mod studies;
