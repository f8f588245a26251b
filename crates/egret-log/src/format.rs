use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

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
}

impl Format {
    /// By the ending of the name.
    pub fn of_name(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?;
        match ending.to_ascii_lowercase().as_str() {
            "parquet" | "pq" => Some(Self::Parquet),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            "dsjson" => Some(Self::DsJson),
            _ => None,
        }
    }

    /// By the ending of the name, or else by the first bytes.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        if let Some(format) = Self::of_name(path) {
            return Ok(format);
        }
        let mut start = Vec::new();
        File::open(path)?.take(1 << 16).read_to_end(&mut start)?;
        if start.starts_with(b"PAR1") {
            return Ok(Self::Parquet);
        }
        let line = start.split(|&byte| byte == b'\n').next();
        let label = b"\"_label_ca\"";
        let has_label = |line: &[u8]| line.windows(label.len()).any(|part| part == label);
        Ok(if line.is_some_and(has_label) {
            Self::DsJson
        } else {
            Self::JsonLines
        })
    }
}
