/// Why saved bytes cannot be loaded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Not a file that egret wrote.
    #[error("not a file of this kind: it does not start with {expected:?}")]
    Magic {
        /// What such files start with.
        expected: &'static str,
    },
    /// Written by another version of egret.
    #[error("format version {found} is not supported, expected {expected}")]
    Version {
        /// In the file.
        found: u16,
        /// Supported here.
        expected: u16,
    },
    /// The header is cut short.
    #[error("the file has {found} bytes, but the header alone takes {expected}")]
    Header {
        /// In the file.
        found: usize,
        /// In every header.
        expected: usize,
    },
    /// Fewer or more bytes than the header says.
    #[error("the file has {found} bytes of content, but its header says {expected}")]
    Length {
        /// In the file.
        found: u64,
        /// In the header.
        expected: u64,
    },
    /// The content was damaged after it was written.
    #[error("the file is damaged: its checksum is {found:#010x}, expected {expected:#010x}")]
    Checksum {
        /// Of the content.
        found: u32,
        /// In the file.
        expected: u32,
    },
    /// The content does not parse.
    #[error("the content cannot be parsed: {0}")]
    Content(#[from] postcard::Error),
    /// The description is of more weights than there are bytes.
    #[error(
        "the file describes a model whose weights take at least {expected} bytes, and holds {found}"
    )]
    Weights {
        /// In the file.
        found: usize,
        /// What the description needs.
        expected: usize,
    },
    /// Saved from an object of another kind or size.
    #[error("saved from {found}, but loaded into {expected}")]
    Mismatch {
        /// In the file.
        found: String,
        /// What it was loaded into.
        expected: String,
    },
    /// The state holds a value that no saved object can have.
    #[error("the saved state is invalid: {0}")]
    Invalid(String),
}
