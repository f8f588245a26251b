use std::any::Any;
use std::fmt;

use crate::event::{Context, FeatureSchema, Limits};
use crate::explorer::{DecideError, Decision, Observed};
use crate::learner::{LearnError, Settings};
use crate::model::{
    self, ActionKind, AnyAction, Kind, KindError, Model, ModelError, ModelSpec, TrainedRows,
};

/// A [`Model`] whose kind of action is known only at run time: from a file, a request, another language.
///
/// ```
/// use egret::{AnyModel, Context, Kind, ModelSpec, Settings};
///
/// let spec = ModelSpec::from_parts("box:0,1,10,20".parse()?, None, 2);
/// let model = AnyModel::from_spec(spec, Settings::default())?;
/// let decision = model.decide(1, &Context::dense(vec![0.5, 1.0])?)?;
/// assert_eq!((model.kind(), decision.action.kind()), (Kind::Vector, Kind::Vector));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AnyModel(Box<dyn ErasedModel>);

impl AnyModel {
    /// Any oracle with any settings.
    pub fn from_spec(spec: ModelSpec, settings: Settings) -> Result<Self, ModelError> {
        crate::for_kind!(spec.space.kind(), A => Ok(Model::<A>::from_spec(spec, settings)?.into()))
    }

    /// Loads a saved model.
    pub fn load(bytes: &[u8]) -> Result<Self, ModelError> {
        let saved = model::parse(bytes)?;
        crate::for_kind!(saved.spec.space.kind(), A => Ok(Model::<A>::from_saved(saved)?.into()))
    }

    /// The whole model as bytes; [`load`](Self::load) restores it bit for bit.
    pub fn save(&self) -> Vec<u8> {
        self.0.save()
    }

    /// As [`Model::content_hash`].
    pub fn content_hash(&self) -> String {
        self.0.content_hash()
    }

    /// As [`Model::next_event`].
    pub fn next_event(&self) -> u64 {
        self.0.next_event()
    }

    /// As [`Model::with_next_event`].
    #[must_use]
    pub fn with_next_event(self, event: u64) -> Self {
        crate::for_kind!(self.kind(), A => {
            let model = self.into_typed::<A>().expect("its own kind");
            model.with_next_event(event).into()
        })
    }

    /// As [`Model::trained_rows`].
    pub fn trained_rows(&self) -> Option<&TrainedRows> {
        self.0.trained_rows()
    }

    /// As [`Model::with_trained_rows`].
    #[must_use]
    pub fn with_trained_rows(self, rows: Option<TrainedRows>) -> Self {
        crate::for_kind!(self.kind(), A => {
            let model = self.into_typed::<A>().expect("its own kind");
            model.with_trained_rows(rows).into()
        })
    }

    /// The kind of its actions.
    pub fn kind(&self) -> Kind {
        self.spec().space.kind()
    }

    /// Its description: space, context, oracle.
    pub fn spec(&self) -> &ModelSpec {
        self.0.spec()
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        self.0.settings()
    }

    /// How many batches were learned.
    pub fn batches_learned(&self) -> u64 {
        self.0.batches_learned()
    }

    /// The typed model, if its actions are of this kind.
    pub fn typed<A: ActionKind>(&self) -> Option<&Model<A>> {
        self.0.as_any().downcast_ref()
    }

    /// The typed model to change, if its actions are of this kind.
    pub fn typed_mut<A: ActionKind>(&mut self) -> Option<&mut Model<A>> {
        self.0.as_any_mut().downcast_mut()
    }

    /// The typed model; returns itself as the error if its actions are of another kind.
    pub fn into_typed<A: ActionKind>(self) -> Result<Model<A>, Self> {
        if self.kind() == A::KIND {
            let model = self.0.into_any().downcast();
            Ok(*model.expect("a kind has one type"))
        } else {
            Err(self)
        }
    }

    /// As [`Model::decide`].
    pub fn decide(&self, event: u64, x: &Context) -> Result<Decision<AnyAction>, DecideError> {
        self.0.decide(event, x)
    }

    /// As [`Model::decide_within`].
    pub fn decide_within(
        &self,
        event: u64,
        x: &Context,
        limits: &Limits,
    ) -> Result<Decision<AnyAction>, DecideError> {
        self.0.decide_within(event, x, limits)
    }

    /// As [`Model::decide_batch`].
    pub fn decide_batch(
        &self,
        events: &[(u64, &Context)],
    ) -> Vec<Result<Decision<AnyAction>, DecideError>> {
        self.0.decide_batch(events)
    }

    /// As [`Model::learn`].
    pub fn learn(&mut self, observed: &Observed<&Context, AnyAction>) -> Result<(), LearnError> {
        self.0.learn_batch(std::slice::from_ref(observed))
    }

    /// As [`Model::learn_batch`].
    pub fn learn_batch(
        &mut self,
        observed: &[Observed<&Context, AnyAction>],
    ) -> Result<(), LearnError> {
        self.0.learn_batch(observed)
    }

    /// As [`Model::grow`].
    pub fn grow(&mut self, schema: FeatureSchema) -> Result<(), ModelError> {
        self.0.grow(schema)
    }

    /// As [`Model::predict`].
    pub fn predict(&self, x: &Context, actions: &[AnyAction]) -> Result<Vec<f64>, DecideError> {
        self.0.predict(x, actions)
    }

    /// As [`Model::best`].
    pub fn best(&self, x: &Context) -> Result<AnyAction, DecideError> {
        self.0.best(x)
    }
}

impl<A: ActionKind> From<Model<A>> for AnyModel {
    fn from(model: Model<A>) -> Self {
        Self(Box::new(model))
    }
}

impl fmt::Debug for AnyModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a model does, without the type of its actions.
trait ErasedModel: Send + Sync + fmt::Debug {
    fn save(&self) -> Vec<u8>;
    fn content_hash(&self) -> String;
    fn next_event(&self) -> u64;
    fn trained_rows(&self) -> Option<&TrainedRows>;
    fn spec(&self) -> &ModelSpec;
    fn settings(&self) -> &Settings;
    fn batches_learned(&self) -> u64;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
    fn decide(&self, event: u64, x: &Context) -> Result<Decision<AnyAction>, DecideError>;
    fn decide_within(
        &self,
        event: u64,
        x: &Context,
        limits: &Limits,
    ) -> Result<Decision<AnyAction>, DecideError>;
    fn decide_batch(
        &self,
        events: &[(u64, &Context)],
    ) -> Vec<Result<Decision<AnyAction>, DecideError>>;
    fn learn_batch(&mut self, observed: &[Observed<&Context, AnyAction>])
    -> Result<(), LearnError>;
    fn grow(&mut self, schema: FeatureSchema) -> Result<(), ModelError>;
    fn predict(&self, x: &Context, actions: &[AnyAction]) -> Result<Vec<f64>, DecideError>;
    fn best(&self, x: &Context) -> Result<AnyAction, DecideError>;
}

impl<A: ActionKind> ErasedModel for Model<A> {
    fn save(&self) -> Vec<u8> {
        self.save()
    }

    fn content_hash(&self) -> String {
        self.content_hash()
    }

    fn next_event(&self) -> u64 {
        self.next_event()
    }

    fn trained_rows(&self) -> Option<&TrainedRows> {
        self.trained_rows()
    }

    fn spec(&self) -> &ModelSpec {
        self.spec()
    }

    fn settings(&self) -> &Settings {
        self.settings()
    }

    fn batches_learned(&self) -> u64 {
        self.batches_learned()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn decide(&self, event: u64, x: &Context) -> Result<Decision<AnyAction>, DecideError> {
        Ok(self.decide(event, x)?.map_action(Into::into))
    }

    fn decide_within(
        &self,
        event: u64,
        x: &Context,
        limits: &Limits,
    ) -> Result<Decision<AnyAction>, DecideError> {
        let decision = self.decide_within(event, x, limits)?;
        Ok(decision.map_action(Into::into))
    }

    fn decide_batch(
        &self,
        events: &[(u64, &Context)],
    ) -> Vec<Result<Decision<AnyAction>, DecideError>> {
        let decisions = self.decide_batch(events).into_iter();
        decisions
            .map(|decided| Ok(decided?.map_action(Into::into)))
            .collect()
    }

    fn learn_batch(
        &mut self,
        observed: &[Observed<&Context, AnyAction>],
    ) -> Result<(), LearnError> {
        let typed = observed
            .iter()
            .map(|event| {
                Ok(Observed {
                    x: event.x,
                    action: A::from_any(&event.action)?,
                    limits: event.limits.clone(),
                    loss: event.loss,
                    propensity: event.propensity,
                    tau: event.tau,
                })
            })
            .collect::<Result<Vec<_>, KindError>>();
        self.learn_batch(&typed.map_err(|error| LearnError::Action(error.to_string()))?)
    }

    fn grow(&mut self, schema: FeatureSchema) -> Result<(), ModelError> {
        self.grow(schema)
    }

    fn predict(&self, x: &Context, actions: &[AnyAction]) -> Result<Vec<f64>, DecideError> {
        let typed = actions
            .iter()
            .map(A::from_any)
            .collect::<Result<Vec<A>, _>>();
        self.predict(
            x,
            &typed.map_err(|error| DecideError::Action(error.to_string()))?,
        )
    }

    fn best(&self, x: &Context) -> Result<AnyAction, DecideError> {
        Ok(self.best(x)?.into())
    }
}
