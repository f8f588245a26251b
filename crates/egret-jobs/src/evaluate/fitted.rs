use egret::{
    ActionKind, Context, Contexts, FeatureSchema, Model, ModelSpec, Objective, Observed, Settings,
    Space,
};

use egret_log::Record;

use super::density::Predictor;
use crate::error::{JobError, Place};

/// Predicts each event by a model that has learned from the events before it.
///
/// So no event is predicted by what it taught, as when a log is split into folds. More than with folds, f̂ is also known
/// before the event: the terms of a doubly robust estimate are then a martingale, and intervals that hold at every event,
/// such as betting's, stay valid.
pub(super) struct Fitted<A: ActionKind> {
    model: Model<A>,
    learned: usize,
}

/// Events that are predicted before the model learns again: an eighth of those it has learned from, within these ends.
const BLOCK: (usize, usize) = (64, 4_096);

impl<A: ActionKind> Fitted<A> {
    /// Nothing learned yet. What features are is inferred from the first contexts, which say nothing of outcomes.
    pub(super) fn new<'a>(
        space: &Space,
        objective: Objective,
        seed: u64,
        first: impl Iterator<Item = &'a Context> + Clone,
    ) -> Result<Self, JobError> {
        let named = first.clone().filter_map(Context::as_named);
        let contexts = match named.clone().next() {
            Some(_) => {
                let schema = FeatureSchema::infer(named);
                Contexts::from(schema.map_err(|error| JobError::Log(error.to_string()))?)
            }
            None => first.take(1).map(Context::dim).sum::<usize>().into(),
        };
        let spec = ModelSpec::from_parts(space.clone(), None, contexts)
            .with_objective(objective)
            .with_seed(seed);
        let model = Model::from_spec(spec, Settings::default().with_seed(seed));
        Ok(Self {
            model: model.map_err(|error| JobError::request("predictions", error))?,
            learned: 0,
        })
    }

    /// f̂ by now.
    pub(super) fn predictor(&self) -> Predictor<'_, A> {
        Predictor::Model(self.model.learner())
    }

    /// How many events are predicted before the model learns from them.
    pub(super) fn block(&self) -> usize {
        (self.learned / 8).clamp(BLOCK.0, BLOCK.1)
    }

    /// Learns from one event: what was played and what came of it. How it was drawn is no matter to f̂.
    pub(super) fn learn(&mut self, place: &Place, record: &Record) -> Result<(), JobError> {
        let observed = record.observed::<A>();
        let observed = observed.map_err(|error| JobError::record(place, error))?;
        let Some(observed) = observed else {
            return Ok(());
        };
        self.learned += 1;
        let observed = Observed {
            tau: None,
            ..observed
        };
        let learned = self.model.learn(&observed);
        learned.map_err(|error| JobError::record(place, error))
    }
}
