use crate::codec::LoadError;

/// Magic, version, length.
const HEADER: usize = 8 + 2 + 8;
const CHECKSUM: usize = 4;

/// A kind of file: its magic, and the version that this program writes.
pub(crate) struct Frame {
    pub magic: &'static str,
    pub version: u16,
}

impl Frame {
    /// Header, content, CRC-32 of both.
    pub(crate) fn around(&self, content: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + content.len() + CHECKSUM);
        bytes.extend_from_slice(self.magic.as_bytes());
        bytes.extend_from_slice(&self.version.to_le_bytes());
        bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
        bytes.extend_from_slice(content);
        let checksum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Checks header and checksum and returns the content between them.
    pub(crate) fn content_of<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], LoadError> {
        let rest = bytes
            .strip_prefix(self.magic.as_bytes())
            .ok_or(LoadError::Magic {
                expected: self.magic,
            })?;
        // Too short to hold even the length of the content.
        let cut_short = LoadError::Header {
            found: bytes.len(),
            expected: HEADER,
        };
        let (version, rest) = rest.split_first_chunk().ok_or(cut_short.clone())?;
        let version = u16::from_le_bytes(*version);
        if version != self.version {
            return Err(LoadError::Version {
                found: version,
                expected: self.version,
            });
        }
        let (length, rest) = rest.split_first_chunk().ok_or(cut_short)?;
        let length = u64::from_le_bytes(*length);
        let (content, checksum) = match rest.split_last_chunk::<CHECKSUM>() {
            Some((content, checksum)) if content.len() as u64 == length => (content, checksum),
            _ => {
                return Err(LoadError::Length {
                    found: rest.len().saturating_sub(CHECKSUM) as u64,
                    expected: length,
                });
            }
        };
        let expected = u32::from_le_bytes(*checksum);
        let found = crc32fast::hash(&bytes[..HEADER + content.len()]);
        if found != expected {
            return Err(LoadError::Checksum { found, expected });
        }
        Ok(content)
    }
}
