use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;

/// The bytes of a text file, decompressed; `-` is the standard input.
pub(crate) struct Input {
    bytes: Box<dyn BufRead + Send>,
    read: Arc<AtomicU64>,
    size: u64,
}

/// What the first bytes are looked at for.
const BUFFER: usize = 1 << 18;

impl Input {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let read = Arc::new(AtomicU64::new(0));
        let counted = |inner: Box<dyn Read + Send>| {
            let read = read.clone();
            BufReader::with_capacity(BUFFER, Counted { inner, read })
        };
        let (mut raw, size) = if is_stdin(path) {
            (counted(Box::new(io::stdin())), 0)
        } else {
            let file = File::open(path)?;
            let size = file.metadata()?.len();
            (counted(Box::new(file)), size)
        };
        let bytes: Box<dyn BufRead + Send> = match raw.fill_buf()? {
            [0x1f, 0x8b, ..] => {
                Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(raw)))
            }
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(BufReader::with_capacity(
                BUFFER,
                zstd::stream::read::Decoder::with_buffer(raw)?,
            )),
            _ => Box::new(raw),
        };
        Ok(Self { bytes, read, size })
    }

    /// The share of the file that was read; 0 where its size is not known.
    pub(crate) fn progress(&self) -> f64 {
        let read = self.read.load(Ordering::Relaxed);
        if self.size == 0 {
            return 0.0;
        }
        (read as f64 / self.size as f64).min(1.0)
    }
}

/// Whether a path stands for the standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(into)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.bytes.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.bytes.consume(amount);
    }
}

struct Counted {
    inner: Box<dyn Read + Send>,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
