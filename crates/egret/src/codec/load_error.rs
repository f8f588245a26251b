/// Why saved bytes were not taken on.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Not a file of egret's.
    #[error("these bytes are not a saved learner: they do not start with {expected:?}")]
    Magic {
        /// What each file starts with.
        expected: &'static str,
    },
    /// Written by a version that this one does not know.
    #[error("format version {found} is not known here, expected {expected}")]
    Version {
        /// In the file.
        found: u16,
        /// Known here.
        expected: u16,
    },
    /// The header is cut short.
    #[error("{found} bytes, of which the header alone takes {expected}")]
    Header {
        /// In the file.
        found: usize,
        /// In every header.
        expected: usize,
    },
    /// Fewer or more bytes than the header says.
    #[error("{found} bytes of content where the header says {expected}")]
    Length {
        /// In the file.
        found: u64,
        /// In the header.
        expected: u64,
    },
    /// The content is not what was written.
    #[error("checksum {found:#010x} where {expected:#010x} was written")]
    Checksum {
        /// Of the content.
        found: u32,
        /// In the file.
        expected: u32,
    },
    /// The content does not parse.
    #[error("the content does not parse: {0}")]
    Content(#[from] postcard::Error),
    /// Saved from another kind or size of thing.
    #[error("saved from {found}, this is {expected}")]
    Mismatch {
        /// In the file.
        found: String,
        /// What was asked to load it.
        expected: String,
    },
    /// A number that no correct state holds.
    #[error("the saved state is not one: {0}")]
    Invalid(String),
}
