use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use serde_json::Value;

use crate::record::{Record, RowError, bad_row::BadRow, mu_cache::MuCache};

/// A line that is longer holds no record.
const LONGEST: usize = 64 << 20;

/// What makes a record of a line.
pub(crate) type Decode = Box<dyn FnMut(&[u8], &mut MuCache) -> Result<Record, RowError> + Send>;

/// The records of a file with one on each line.
pub(crate) struct LineSource {
    input: BufReader<File>,
    decode: Decode,
    line: Vec<u8>,
    row: u64,
    read: u64,
    size: u64,
    cache: MuCache,
}

impl LineSource {
    pub(crate) fn open(file: File, decode: Decode) -> io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self {
            input: BufReader::with_capacity(1 << 18, file),
            decode,
            line: Vec::new(),
            row: 0,
            read: 0,
            size,
            cache: MuCache::default(),
        })
    }

    /// The share of the bytes that were read.
    pub(crate) fn progress(&self) -> f64 {
        self.read as f64 / self.size.max(1) as f64
    }

    /// The line that was read last, from 1.
    pub(crate) fn row(&self) -> u64 {
        self.row
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<Result<Record, BadRow>>> {
        loop {
            self.line.clear();
            let limit = LONGEST as u64 + 1;
            let read = (&mut self.input)
                .take(limit)
                .read_until(b'\n', &mut self.line)?;
            if read == 0 {
                return Ok(None);
            }
            self.row += 1;
            self.read += read as u64;
            if LONGEST < read {
                self.read += self.input.skip_until(b'\n')? as u64;
                self.line.truncate(1000);
                let error = format!("the line is longer than {LONGEST} bytes");
                return Ok(Some(Err(self.bad(RowError::Unreadable(error)))));
            }
            let mut text = self.line.as_slice();
            if self.row == 1 {
                text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
            }
            if text.trim_ascii().is_empty() {
                continue;
            }
            let record = (self.decode)(text, &mut self.cache);
            return Ok(Some(record.map_err(|error| self.bad(error))));
        }
    }

    fn bad(&self, error: RowError) -> BadRow {
        let line = self.line.trim_ascii_end();
        BadRow {
            row: self.row,
            error,
            content: Value::String(String::from_utf8_lossy(line).into_owned()),
        }
    }
}
