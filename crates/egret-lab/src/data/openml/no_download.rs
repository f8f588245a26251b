use crate::data::{DownloadError, OpenMlSettings};

/// The client without the feature `download`: files on disk are read, everything else is an error.
#[derive(Debug)]
pub(crate) struct Download;

impl Download {
    pub(crate) fn new(_: &OpenMlSettings, _: &str) -> Self {
        Self
    }

    pub(crate) fn get(
        &self,
        url: &str,
        _: impl Fn(&[u8]) -> Result<(), String>,
    ) -> Result<Vec<u8>, DownloadError> {
        Err(DownloadError::NotBuilt {
            url: url.to_owned(),
        })
    }
}
