use std::sync::Arc;

use egret::{
    ActionKind, Context, Contexts, EmbeddingRows, FeatureCounts, FeatureSchema, Kind, ModelSpec,
    Observed, Propensity, Space,
};
use egret_log::Record;
use egret_offline::thousands;
use serde::{Deserialize, Serialize};

use crate::error::{JobError, Place};
use crate::log_reader::{LogReader, largest_inverse};
use crate::progress::Progress;

/// A log that was opened to learn from it.
pub(crate) struct OpenLog {
    pub reader: LogReader,
    pub space: Space,
    pub embeddings: Option<EmbeddingRows>,
    /// Inferred if it is needed and absent.
    pub features: Option<FeatureSchema>,
}

/// What can be learned from in a log.
pub(crate) struct TrainingEvents<A> {
    /// The space and what contexts are, with the default oracle.
    pub spec: ModelSpec,
    pub observed: Vec<Observed<Context, A>>,
    /// What 1/p could not exceed at each of them, or ∞.
    pub largest_inverses: Vec<f64>,
    pub counts: Counts,
    /// One more than the largest event number: a model that is learned from the log has no chance in common with it.
    pub next_event: u64,
    /// How contexts differ from the schema, if they have names.
    pub features: Option<FeatureCounts>,
}

/// How many events of each sort a log has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// With a loss: those that are used.
    pub used: u64,
    /// Of these, how many have no density.
    pub point_masses: u64,
    /// Without a loss, and so of no use here.
    pub without_loss: u64,
    /// Bad rows that were skipped.
    pub skipped: u64,
}

impl OpenLog {
    pub(crate) fn kind(&self) -> Kind {
        self.reader.kind
    }

    /// All events of the log that have a loss.
    pub(crate) fn read<A: ActionKind>(
        mut self,
        progress: &dyn Progress,
    ) -> Result<TrainingEvents<A>, JobError> {
        let space = Arc::new(self.space.clone());
        let context_dim = self.reader.context_dim();
        let mut counts = Counts::default();
        let (mut all, mut largest_inverses) = (Vec::new(), Vec::new());
        let objective = self.reader.objective;
        let mut kept = None;
        let mut next_event = 0;
        while let Some((place, record)) = self.reader.next(progress)? {
            check(&record, &space, &place, &mut kept)?;
            next_event = next_event.max(record.event.map_or(0, |event| event.saturating_add(1)));
            let own = record.objective.unwrap_or_default();
            if objective != own {
                let problem = format!(
                    "the objective is {own}, and {objective} before it: learn from each by itself"
                );
                return Err(JobError::field(&place, "objective", problem));
            }
            let observed = record
                .observed::<A>()
                .map_err(|error| JobError::record(&place, error))?;
            let Some(observed) = observed else {
                counts.without_loss += 1;
                continue;
            };
            counts.used += 1;
            let draws = record.z_draws.map(|draws| draws as f64);
            largest_inverses.push(largest_inverse(record.largest_inverse_density, draws));
            counts.point_masses += u64::from(observed.propensity == Propensity::PointMass);
            let Observed {
                action,
                limits,
                loss,
                propensity,
                tau,
                ..
            } = observed;
            all.push(Observed {
                x: record.context,
                action,
                limits,
                loss,
                propensity,
                tau,
            });
        }
        counts.skipped = self.reader.finish()?.rows;
        if counts.used == 0 {
            return Err(JobError::Log(format!(
                "none of the {} records has a loss: there is nothing to learn from",
                thousands(counts.without_loss)
            )));
        }
        let named = || all.iter().filter_map(|event| event.x.as_named());
        let contexts = match self.features {
            Some(schema) => schema.into(),
            None if named().next().is_none() => context_dim.into(),
            None => {
                let schema = FeatureSchema::infer(named());
                Contexts::from(schema.map_err(|error| JobError::Log(error.to_string()))?)
            }
        };
        let spec =
            ModelSpec::from_parts(self.space, self.embeddings, contexts).with_objective(objective);
        let schema = spec.features.as_ref();
        Ok(TrainingEvents {
            features: schema.map(|schema| schema.counts(all.iter().map(|event| &event.x))),
            spec,
            observed: all,
            largest_inverses,
            counts,
            next_event,
        })
    }
}

fn check(
    record: &Record,
    space: &Arc<Space>,
    place: &Place,
    kept: &mut Option<f64>,
) -> Result<(), JobError> {
    if let Some(own) = &record.mu
        && own != space
    {
        let problem = format!(
            "the log is over {space}, and this is over {own}: learn from each space by itself"
        );
        return Err(JobError::field(place, "mu", problem));
    }
    space
        .check_action(&record.action)
        .map_err(|error| JobError::field(place, "action", error))?;
    let pass = record.pass_prob.unwrap_or(1.0);
    let first = *kept.get_or_insert(pass);
    if first != pass {
        let problem = format!(
            "this event was kept with probability {pass}, the first with {first}: training needs one probability for all"
        );
        return Err(JobError::field(place, "passProb", problem));
    }
    Ok(())
}
