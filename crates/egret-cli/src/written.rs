//! Files that commands write, and what is told of them.

use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};
use egret_log::is_stream;

/// Parses where a file goes: - is the standard output, as it is the standard input where a file is read.
pub fn output_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| match path.as_os_str() == "-" && cfg!(unix) {
        true => PathBuf::from("/dev/stdout"),
        false => path,
    })
}

/// What is told once a file is written. Where it went to the standard output, or to what may be the same, the words go to the
/// standard error.
pub fn told(output: &Path, text: String) -> String {
    if is_stream(output) {
        eprint!("{text}");
        return String::new();
    }
    text
}
