use std::io::{self, BufRead, Read};

use serde_json::Value;

use crate::input::Input;
use crate::record::{RowError, bad_row::BadRow, mu_cache::MuCache};

/// A line that is longer holds no record.
const LONGEST: usize = 64 << 20;

/// What makes a record, or something else, of a line.
pub(crate) type Decode<T> = Box<dyn FnMut(&[u8], &mut MuCache) -> Result<T, RowError> + Send>;

/// What a file has on each of its lines.
pub(crate) struct LineSource<T> {
    input: Input,
    decode: Decode<T>,
    line: Vec<u8>,
    row: u64,
    cache: MuCache,
}

impl<T> LineSource<T> {
    pub(crate) fn new(input: Input, decode: Decode<T>) -> Self {
        Self {
            input,
            decode,
            line: Vec::new(),
            row: 0,
            cache: MuCache::default(),
        }
    }

    /// The share of the bytes that were read.
    pub(crate) fn progress(&self) -> f64 {
        self.input.progress()
    }

    /// The line that was read last, from 1.
    pub(crate) fn row(&self) -> u64 {
        self.row
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<Result<T, BadRow>>> {
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
            if LONGEST < read {
                self.input.skip_until(b'\n')?;
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

    /// The line that was read last, and what is wrong with it.
    pub(crate) fn bad(&self, error: RowError) -> BadRow {
        let line = self.line.trim_ascii_end();
        BadRow {
            row: self.row,
            error,
            content: Value::String(String::from_utf8_lossy(line).into_owned()),
        }
    }
}
