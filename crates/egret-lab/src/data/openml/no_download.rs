use crate::data::{DownloadError, OpenMlSettings};

/// Stands for the client where the feature `download` is off: what is on disk is read, the rest is an error.
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
