//! A model that has learned nothing yet, for those who have no log.

use std::path::PathBuf;

use egret::{
    AnyModel, Context, Contexts, FeatureSchema, ModelSpec, Objective, OracleSpec, Settings, Space,
};
use serde::{Deserialize, Serialize};

use crate::decide::named_contexts;
use crate::error::JobError;
use crate::training::read_embeddings;

/// What a new model decides on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CreateRequest {
    /// The action space; of a catalogue the embeddings say it.
    pub space: Option<Space>,
    /// A table of contexts to infer the features from.
    pub contexts: Option<PathBuf>,
    /// A column of that table that names the request and is no feature.
    pub id: Option<String>,
    /// How named features become numbers, in place of a table.
    pub features: Option<FeatureSchema>,
    /// The features of items: a file with one line of comma-separated numbers for each item.
    pub embeddings: Option<PathBuf>,
    /// What outcomes are: losses in [0, 1] if absent.
    pub objective: Objective,
    /// None: the default of the space.
    pub oracle: Option<OracleSpec>,
    /// The same seed gives the same model, and the same decisions.
    pub seed: u64,
}

/// Makes a model that decides at random until it learns.
pub fn create(request: &CreateRequest) -> Result<AnyModel, JobError> {
    let embeddings = request.embeddings.as_deref().map(read_embeddings);
    let embeddings = embeddings.transpose()?;
    let space = match (&request.space, &embeddings) {
        (Some(space), _) => space.clone(),
        (None, Some(rows)) => Space::Items {
            count: rows.len(),
            weights: None,
        },
        (None, None) => {
            let problem = "which actions are there? Give it as in interval:5,50 or box:0,1,0,5, or items by their embeddings";
            return Err(JobError::request("space", problem));
        }
    };
    let checked = space.check();
    checked.map_err(|error| JobError::request("space", error))?;
    let spec = ModelSpec::from_parts(space, embeddings, contexts(request)?);
    let spec = spec.with_objective(request.objective);
    let spec = match &request.oracle {
        Some(oracle) => spec.with_oracle(oracle.clone()),
        None => spec.with_seed(request.seed),
    };
    let settings = Settings::default().with_seed(request.seed);
    AnyModel::from_spec(spec, settings).map_err(|error| JobError::request("space", error))
}

fn contexts(request: &CreateRequest) -> Result<Contexts, JobError> {
    match (&request.features, &request.contexts) {
        (Some(_), Some(_)) => {
            let problem = "there is a table of contexts too: features come from one of them";
            Err(JobError::request("features", problem))
        }
        (Some(schema), None) => Ok(schema.clone().into()),
        (None, Some(table)) => {
            let contexts = named_contexts(table, request.id.as_deref())?;
            let schema = FeatureSchema::infer(contexts.iter().filter_map(Context::as_named));
            let schema = schema.map_err(|error| JobError::request("contexts", error))?;
            Ok(schema.into())
        }
        (None, None) if request.id.is_some() => {
            let problem = "it is a column of a table of contexts, and there is none";
            Err(JobError::request("id", problem))
        }
        (None, None) => Ok(FeatureSchema::new().into()),
    }
}
