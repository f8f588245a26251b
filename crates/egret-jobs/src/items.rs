//! Items come and go in the catalogue of a model, and what it learned stays.

use std::path::PathBuf;

use egret::{AnyModel, Item, Items};
use serde::{Deserialize, Serialize};

use crate::error::JobError;
use crate::saved_model::load_model;
use crate::training::read_embeddings;

/// Which items a catalogue gains and loses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeItemsRequest {
    /// A saved model over items.
    pub model: PathBuf,
    /// The features of new items: a file with one line of comma-separated numbers for each.
    #[serde(default)]
    pub add: Option<PathBuf>,
    /// The numbers of items that are no longer chosen.
    #[serde(default)]
    pub remove: Vec<u32>,
}

/// What became of the catalogue.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangeItemsReport {
    /// The numbers of the new items: the first, and one after the last.
    pub added: Option<(u32, u32)>,
    /// How many were taken out.
    pub removed: usize,
    /// The space of the model, as the log will name it.
    pub space: String,
}

/// Adds items after those that there are, and takes others out; the rest keep their numbers. The model goes on with what it
/// learned, and events of the catalogue before the change can still be learned from.
pub fn change_items(
    request: &ChangeItemsRequest,
) -> Result<(AnyModel, ChangeItemsReport), JobError> {
    if request.add.is_none() && request.remove.is_empty() {
        let problem = "nothing is added or removed: name the features of new items, or the numbers of old ones";
        return Err(JobError::request("add", problem));
    }
    let mut model = load_model(&request.model)?;
    let kind = model.spec().space.to_string();
    let Some(typed) = model.typed_mut::<Item>() else {
        let problem = format!("it is over {kind}, which has no items to add or remove");
        return Err(JobError::request("model", problem));
    };
    let removed: Vec<Item> = request.remove.iter().copied().map(Item).collect();
    if !removed.is_empty() {
        let done = typed.remove_items(&removed);
        done.map_err(|error| JobError::request("remove", error))?;
    }
    let added = match &request.add {
        None => None,
        Some(file) => {
            let items = Items::new(read_embeddings(file)?);
            let items = items.map_err(|error| JobError::request("add", error))?;
            let range = typed.add_items(items);
            let range = range.map_err(|error| JobError::request("add", error))?;
            Some((range.start, range.end))
        }
    };
    let report = ChangeItemsReport {
        added,
        removed: removed.len(),
        space: model.spec().space.to_string(),
    };
    Ok((model, report))
}
