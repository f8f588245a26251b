//! The log through its public interface.

mod any_record;
mod bad_rows;
mod columns;
mod frozen;
mod mapping;
mod memory_table;
mod merge;
mod round_trip;

use std::path::Path;

use egret_log::{OnBad, Reader, Record};

/// All records of a file or a folder, each of which has to be good.
fn read(path: &Path) -> Vec<Record> {
    Reader::open(&[path], OnBad::Stop)
        .expect("there are files")
        .collect::<Result<_, _>>()
        .expect("each row is a record")
}
