use std::io::{self, Read};

use arrow_ipc::root_as_message;

use crate::input::Input;

/// The bytes of a stream of Arrow, message by message. Each is read whole and looked at before it is decoded: a length that
/// was damaged is then an error, and no request for more memory than there is.
pub(crate) struct ArrowMessages {
    input: Input,
    message: Vec<u8>,
    /// How much of the message was handed on.
    served: usize,
    ended: bool,
}

/// What stands before the length of a message.
const CONTINUATION: u32 = u32::MAX;

/// The most bytes of one column of one batch, decompressed.
const MOST: i64 = 1 << 32;

impl ArrowMessages {
    pub(crate) fn new(input: Input) -> Self {
        Self {
            input,
            message: Vec::new(),
            served: 0,
            ended: false,
        }
    }

    /// The share of the file that was read.
    pub(crate) fn progress(&self) -> f64 {
        self.input.progress()
    }

    fn next_message(&mut self) -> io::Result<()> {
        self.message.clear();
        self.served = 0;
        if self.ended || self.append(4)? == 0 {
            return Ok(());
        }
        let mut length = self.last_number();
        if length == CONTINUATION {
            self.append_all(4)?;
            length = self.last_number();
        }
        if length == 0 {
            // What follows in a file is its index.
            self.ended = true;
            return Ok(());
        }
        let start = self.message.len();
        self.append_all(length.into())?;
        let message = root_as_message(&self.message[start..]).map_err(damaged)?;
        let dictionary = || message.header_as_dictionary_batch()?.data();
        let batch = message.header_as_record_batch().or_else(dictionary);
        let batch = batch.filter(|batch| batch.compression().is_some());
        let buffers = batch.and_then(|batch| batch.buffers());
        let offsets: Vec<usize> = buffers
            .into_iter()
            .flatten()
            .filter(|buffer| 8 <= buffer.length())
            .map(|buffer| usize::try_from(buffer.offset()).unwrap_or(usize::MAX))
            .collect();
        let body = u64::try_from(message.bodyLength()).map_err(damaged)?;
        let start = self.message.len();
        self.append_all(body)?;
        let body = &self.message[start..];
        for offset in offsets {
            let prefix = body.get(offset..).and_then(|from| from.first_chunk::<8>());
            let length = prefix.map(|bytes| i64::from_le_bytes(*bytes));
            if length.is_none_or(|length| MOST < length) {
                return Err(damaged("a column of a batch is longer than 4 GiB"));
            }
        }
        Ok(())
    }

    fn last_number(&self) -> u32 {
        let bytes = self.message.last_chunk::<4>();
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// Appends up to so many bytes; how many there were.
    fn append(&mut self, count: u64) -> io::Result<usize> {
        (&mut self.input).take(count).read_to_end(&mut self.message)
    }

    fn append_all(&mut self, count: u64) -> io::Result<()> {
        match self.append(count)? as u64 == count {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Read for ArrowMessages {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.served == self.message.len() {
            self.next_message()?;
        }
        let count = (&self.message[self.served..]).read(into)?;
        self.served += count;
        Ok(count)
    }
}

fn damaged(error: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}
