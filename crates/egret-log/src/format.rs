use std::ffi::OsStr;
use std::io::{self, BufRead as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::input::Input;

/// How a file of Arrow begins.
pub(crate) const ARROW_FILE: &[u8] = b"ARROW1";
/// How a stream of Arrow begins.
const ARROW_STREAM: &[u8] = b"\xff\xff\xff\xff";
/// How Feather began before it was a file of Arrow.
pub(crate) const FEATHER_1: &[u8] = b"FEA1";

/// How a file holds records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Parquet: typed columns.
    Parquet,
    /// JSON lines: one object a line.
    #[serde(rename = "jsonl")]
    JsonLines,
    /// dsjson, as Vowpal Wabbit reads it.
    DsJson,
    /// Arrow's own format: a file, which Feather is too, or a stream. It is read, and not written.
    Arrow,
    /// CSV with a line of names: read with a [`LogMapping`](crate::LogMapping), and not written.
    Csv,
}

impl Format {
    /// By the ending of the name; `.gz` and `.zst` after it do not count.
    pub fn of_name(path: &Path) -> Option<Self> {
        let ending = |path: &Path| {
            let ending = path.extension().and_then(OsStr::to_str)?;
            Some(ending.to_ascii_lowercase())
        };
        let mut found = ending(path)?;
        if ["gz", "zst"].contains(&found.as_str()) {
            found = ending(Path::new(path.file_stem()?))?;
        }
        match found.as_str() {
            "parquet" | "pq" => Some(Self::Parquet),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            "dsjson" => Some(Self::DsJson),
            "csv" | "tsv" => Some(Self::Csv),
            "arrow" | "arrows" | "feather" | "ipc" => Some(Self::Arrow),
            _ => None,
        }
    }

    /// By the ending of the name, or else by the first bytes.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        match Self::of_name(path) {
            Some(format) => Ok(format),
            None => Ok(Self::of_bytes(Input::open(path)?.fill_buf()?)),
        }
    }

    /// By the first bytes: an object is JSON, and other text a table.
    pub(crate) fn of_bytes(start: &[u8]) -> Self {
        if start.starts_with(b"PAR1") {
            return Self::Parquet;
        }
        if [ARROW_FILE, ARROW_STREAM, FEATHER_1]
            .iter()
            .any(|word| start.starts_with(word))
        {
            return Self::Arrow;
        }
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        let start = start.trim_ascii_start();
        let line = start.split(|&byte| byte == b'\n').next();
        let label = b"\"_label_ca\"";
        let has_label = |line: &[u8]| line.windows(label.len()).any(|part| part == label);
        match start.first() {
            Some(b'{') if line.is_some_and(has_label) => Self::DsJson,
            Some(b'{' | b'[') | None => Self::JsonLines,
            Some(_) => Self::Csv,
        }
    }
}
