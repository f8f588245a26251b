//! A model goes on learning from the events of a log, as it would have online.

use std::path::PathBuf;

use egret::{
    ActionKind, AnyAction, AnyModel, Context, FeatureCounts, Objective, Observed, TrainedRows,
    for_kind,
};
use egret_log::Record;
use egret_offline::thousands;
use serde::{Deserialize, Serialize};

use crate::error::JobError;
use crate::log_source::LogSource;
use crate::progress::Progress;
use crate::row_bytes::row_bytes;
use crate::saved_model::load_model;
use crate::train::Counts;

/// Which model learns from which log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoOnRequest {
    /// A saved model.
    pub model: PathBuf,
    /// The events that it has not learned from yet, in order.
    pub log: LogSource,
    /// Events in one step.
    #[serde(default = "eight")]
    pub batch: usize,
}

fn eight() -> usize {
    8
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GoOnReport {
    /// What the log holds.
    #[serde(rename = "log")]
    pub counts: Counts,
    /// What outcomes are.
    pub objective: Objective,
    /// Batches learned before.
    pub batches_before: u64,
    /// Batches learned now.
    pub batches_learned: u64,
    /// The root of the mean squared error of its predictions, each made before the event was learned, in the units of the
    /// objective.
    pub error: f64,
    /// How contexts differ from the schema, if they have names.
    pub features: Option<FeatureCounts>,
}

/// Learns the events of a log once, in their order. Memory does not grow with the log.
pub fn go_on(
    request: &GoOnRequest,
    progress: &dyn Progress,
) -> Result<(AnyModel, GoOnReport), JobError> {
    if request.batch == 0 {
        return Err(JobError::request("batch", "0: give 1 or more"));
    }
    if request.log.estimate_density {
        let problem = "a model that goes on learning uses no densities: leave it out";
        return Err(JobError::request("estimate_density", problem));
    }
    let mut model = load_model(&request.model)?;
    let (space, objective) = (model.spec().space.clone(), model.spec().objective);
    let schema = model.spec().features.clone();
    let mut source = request.log.clone();
    let ever = space.with_removed_items();
    if ever == space {
        source.mapping.space.get_or_insert(ever);
    } else {
        // Events of every version are learned from, and a table does not say of which it is.
        source.mapping.unstated_space = Some(ever);
    }
    let mut log = source.open(progress)?;
    let batches_before = model.batches_learned();
    let mut counts = Counts::default();
    let (mut squares, mut next_event) = (0.0, model.next_event());
    let mut features = schema.as_ref().map(|_| FeatureCounts::default());
    let mut trained_rows = TrainedRows::default();
    let mut batch: Vec<Record> = Vec::with_capacity(request.batch);
    loop {
        let next = log.next(progress)?;
        let ended = next.is_none();
        if let Some((place, record)) = next {
            let own = record.objective.unwrap_or_default();
            if own != objective {
                let problem = format!(
                    "the objective is {own}, and the model's is {objective}: they cannot be mixed"
                );
                return Err(JobError::field(&place, "objective", problem));
            }
            if (record.mu.as_deref()).is_some_and(|own| !own.is_or_became(&space)) {
                let problem = format!(
                    "the model is over {space}, and this is over {}",
                    record.mu.as_deref().unwrap_or(&space)
                );
                return Err(JobError::field(&place, "mu", problem));
            }
            next_event = next_event.max(record.event.map_or(0, |event| event.saturating_add(1)));
            match record.loss {
                None => counts.without_loss += 1,
                Some(loss) => {
                    counts.used += 1;
                    counts.point_masses += u64::from(record.propensity().density().is_none());
                    let predicted =
                        model.predict(&record.context, std::slice::from_ref(&record.action))?[0];
                    squares += (predicted - objective.value(loss.get())).powi(2);
                    trained_rows.add(&row_bytes(&record.context, &record.action, loss.get()));
                    batch.push(record);
                }
            }
        }
        if request.batch <= batch.len() || ended && !batch.is_empty() {
            learn(&mut model, &batch)?;
            if let (Some(features), Some(schema)) = (&mut features, &schema) {
                features.merge(&schema.counts(batch.iter().map(|record| &record.context)));
            }
            batch.clear();
        }
        if ended {
            break;
        }
    }
    counts.skipped = log.finish()?.rows;
    if counts.used == 0 {
        return Err(JobError::Log(format!(
            "none of the {} records has an outcome: there is nothing to learn from",
            thousands(counts.without_loss)
        )));
    }
    let report = GoOnReport {
        objective,
        batches_before,
        batches_learned: model.batches_learned() - batches_before,
        error: (squares / counts.used as f64).sqrt(),
        counts,
        features,
    };
    let before = model.trained_rows().cloned();
    let trained_rows = before.map_or(trained_rows.clone(), |before| before.and(trained_rows));
    let model = for_kind!(model.kind(), A => numbered::<A>(model, next_event));
    Ok((model.with_trained_rows(Some(trained_rows)), report))
}

fn learn(model: &mut AnyModel, records: &[Record]) -> Result<(), JobError> {
    let observed: Vec<Observed<&Context, AnyAction>> = records
        .iter()
        .filter_map(|record| {
            Some(Observed {
                x: &record.context,
                action: record.action.clone(),
                limits: record.limits.clone(),
                loss: record.loss?,
                propensity: record.propensity(),
                tau: None,
            })
        })
        .collect();
    model
        .learn_batch(&observed)
        .map_err(|error| JobError::Log(format!("the model cannot learn from this log: {error}")))
}

fn numbered<A: ActionKind>(model: AnyModel, next_event: u64) -> AnyModel {
    match model.into_typed::<A>() {
        Ok(model) => model.with_next_event(next_event).into(),
        Err(model) => model,
    }
}
