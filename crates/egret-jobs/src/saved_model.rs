use std::path::Path;

use egret::AnyModel;

use crate::error::JobError;

/// Loads a saved model.
pub fn load_model(file: &Path) -> Result<AnyModel, JobError> {
    let bytes = std::fs::read(file).map_err(|source| JobError::File {
        file: file.to_owned(),
        source,
    })?;
    AnyModel::load(&bytes).map_err(|source| JobError::Model {
        file: file.to_owned(),
        source,
    })
}
