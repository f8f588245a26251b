use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use egret::Model;

/// Loads a saved model.
pub fn load(path: &Path) -> Result<Model> {
    let name = path.display();
    let bytes = fs::read(path).with_context(|| format!("cannot read the model {name}"))?;
    Model::load(&bytes).with_context(|| {
        format!("{name} is no model that can be used here: `egret learn` writes one, and so does `egret demo`")
    })
}
