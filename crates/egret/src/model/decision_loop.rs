use std::collections::{BTreeMap, btree_map::Entry};
use std::convert::Infallible;

use crate::event::{Context, FeatureSchema, Limits, Loss, Outcome, OutcomeError, SchemaSample};
use crate::explorer::{DecideError, Decision};
use crate::learner::LearnError;
use crate::model::{ActionKind, Model, ModelError, ModelSpec};

/// A model that numbers its events and remembers each decision until its loss arrives.
///
/// | call         | what happens                                                              |
/// |--------------|---------------------------------------------------------------------------|
/// | `decide`     | makes the decision of the next event; `decision.event` is its number      |
/// | `decide_within` | the same, for a request that allows a part of the actions              |
/// | `learn`      | learns from the loss of an event, logs the event, and forgets it          |
///
/// Losses may arrive late and in any order. At most `capacity` decisions wait for theirs; when another one is made, the
/// oldest is logged without a loss and forgotten. Events are learned and logged in the order in which their losses
/// arrived, so learning its rows one by one gives the same model.
///
/// ```
/// use egret::{Context, DecisionLoop, Interval, Loss, Model};
///
/// let mut prices = DecisionLoop::new(Model::new(Interval::new(5.0, 50.0)?, 1)?);
/// for day in 0..10 {
///     let decision = prices.decide(Context::dense(vec![f64::from(day)])?)?;
///     let sold = decision.action < 30.0;
///     let loss = if sold { 1.0 - decision.action / 50.0 } else { 1.0 };
///     prices.learn(decision.event, Loss::new(loss)?)?;
/// }
/// assert_eq!(prices.model().batches_learned(), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DecisionLoop<A: ActionKind, L = NoLog> {
    model: Model<A>,
    log: L,
    waiting: BTreeMap<u64, (Context, Decision<A>)>,
    capacity: usize,
    expired: u64,
    clipped: u64,
    /// Events below this number that still wait were decided by a model of this description, before it grew.
    earlier: Vec<(u64, ModelSpec)>,
    inferring: Option<Inferring>,
    inference_error: Option<ModelError>,
}

/// A schema that is being inferred from the first contexts.
#[derive(Debug)]
struct Inferring {
    events: u64,
    sample: SchemaSample,
}

/// Where finished events go: a file, a queue, a list.
pub trait EventLog<A: ActionKind> {
    /// Why an event could not be logged.
    type Error;

    /// Takes note of the model that the loop begins with, once, before any event.
    fn begin(&mut self, model: &Model<A>) {
        let _ = model;
    }

    /// Appends a finished event of a model of this description. The outcome is none if it did not arrive in time.
    fn append(
        &mut self,
        spec: &ModelSpec,
        x: &Context,
        decision: &Decision<A>,
        outcome: Option<Outcome>,
    ) -> Result<(), Self::Error>;
}

/// A log that keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLog;

impl<A: ActionKind> EventLog<A> for NoLog {
    type Error = Infallible;

    fn append(
        &mut self,
        _: &ModelSpec,
        _: &Context,
        _: &Decision<A>,
        _: Option<Outcome>,
    ) -> Result<(), Infallible> {
        Ok(())
    }
}

/// How many decisions may wait by default.
const CAPACITY: usize = 100_000;

impl<A: ActionKind> DecisionLoop<A> {
    /// Without a log; event numbers go on from the model's.
    pub fn new(model: Model<A>) -> Self {
        Self::with_log(model, NoLog)
    }
}

impl<A: ActionKind, L: EventLog<A>> DecisionLoop<A, L> {
    /// Every finished event goes to `log`.
    pub fn with_log(model: Model<A>, mut log: L) -> Self {
        log.begin(&model);
        Self {
            model,
            log,
            waiting: BTreeMap::new(),
            capacity: CAPACITY,
            expired: 0,
            clipped: 0,
            earlier: Vec::new(),
            inferring: None,
            inference_error: None,
        }
    }

    /// After the first so many decisions, the model [grows](Model::grow) by the fields that their contexts had and its
    /// schema lacks, by the rules of [`SchemaSample`]. Before, the model learns without them.
    ///
    /// The growth stands at one event, so the same contexts and outcomes give the same bits. Decisions before it are
    /// logged with the schema before it, and replay with a model that was saved before it. A loop that is made anew from
    /// a saved model starts counting again.
    ///
    /// ```
    /// use egret::{DecisionLoop, Features, FeatureSchema, Interval, Model};
    ///
    /// let model = Model::new(Interval::new(5.0, 50.0)?, FeatureSchema::new())?; // no fields yet
    /// let mut prices = DecisionLoop::new(model).infer_features_after(20)?;
    /// for customer in 0..21 {
    ///     let x = Features::new().with("income", 1_000 * customer).with("returning", customer % 2 == 0);
    ///     let decision = prices.decide(x)?;
    ///     prices.outcome(decision.event, 0.5)?;
    /// }
    /// let schema = prices.model().spec().features.as_ref().expect("it has one");
    /// assert_eq!(schema.fields().map(|(name, _)| name).collect::<Vec<_>>(), ["income", "returning"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn infer_features_after(mut self, events: u64) -> Result<Self, ModelError> {
        if self.model.spec().features.is_none() {
            return Err(ModelError::NoSchema);
        }
        let sample = SchemaSample::new();
        self.inferring = Some(Inferring { events, sample });
        Ok(self)
    }

    /// Why the features of the first contexts could not be taken in; the loop then goes on without them.
    pub fn inference_error(&self) -> Option<&ModelError> {
        self.inference_error.as_ref()
    }

    /// As [`Model::grow`]. Decisions that wait are logged with the schema that they were made with.
    pub fn grow(&mut self, schema: FeatureSchema) -> Result<(), ModelError> {
        self.change(|model| model.grow(schema))
    }

    /// Changes the model, and remembers its description for the decisions that wait.
    pub(crate) fn change<R>(
        &mut self,
        change: impl FnOnce(&mut Model<A>) -> Result<R, ModelError>,
    ) -> Result<R, ModelError> {
        let spec = self.model.spec().clone();
        let result = change(&mut self.model)?;
        if !self.waiting.is_empty() {
            self.earlier.push((self.model.next_event, spec));
        }
        Ok(result)
    }

    /// Grows the model once enough contexts were seen. That it cannot is no reason to leave a decision out.
    fn infer(&mut self) {
        let due = |inferring: &mut Inferring| inferring.events <= inferring.sample.events();
        let Some(Inferring { sample, .. }) = self.inferring.take_if(due) else {
            return;
        };
        let schema = self.model.spec().features.as_ref();
        let grown = schema.map_or(
            Err(ModelError::NoSchema),
            |schema| Ok(sample.grown(schema)?),
        );
        self.inference_error = grown.and_then(|schema| self.grow(schema)).err();
    }

    /// Sets how many decisions may wait for their loss: at least 1, by default 100,000.
    pub fn with_capacity(mut self, capacity: usize) -> Self {
        self.capacity = capacity.max(1);
        self
    }

    /// Goes on numbering at `event`; an error if the number is used already, as far as the [model](Model::next_event) knows.
    ///
    /// Two decisions with the same number and seed share their random numbers. A loop over a saved model goes on by itself.
    /// After a crash give one more than the largest number in the log, which is `next_event` of `egret log stats`. Loops
    /// that run side by side take seeds of their own ([`Settings::with_seed`](crate::Settings::with_seed)).
    pub fn starting_at(mut self, event: u64) -> Result<Self, LoopError<L::Error>> {
        let next = self.model.next_event;
        if event < next {
            return Err(LoopError::UsedEvent { event, next });
        }
        self.model.next_event = event;
        Ok(self)
    }

    /// Makes the decision of the next event.
    pub fn decide(&mut self, x: impl Into<Context>) -> Result<Decision<A>, LoopError<L::Error>> {
        self.decide_next(x.into(), None)
    }

    /// As [`decide`](Self::decide), for a request that allows a part of the actions: see [`Model::decide_within`]. The limits are
    /// logged with the event.
    pub fn decide_within(
        &mut self,
        x: impl Into<Context>,
        limits: &Limits,
    ) -> Result<Decision<A>, LoopError<L::Error>> {
        self.decide_next(x.into(), Some(limits))
    }

    fn decide_next(
        &mut self,
        x: Context,
        limits: Option<&Limits>,
    ) -> Result<Decision<A>, LoopError<L::Error>> {
        let next = self.model.next_event.checked_add(1);
        let next = next.ok_or(LoopError::LastEvent)?;
        self.infer();
        let event = self.model.next_event;
        let decision = match limits {
            Some(limits) => self.model.decide_within(event, &x, limits)?,
            None => self.model.decide(event, &x)?,
        };
        while self.capacity <= self.waiting.len() {
            self.expire_oldest()?;
        }
        if let (Some(inferring), Some(features)) = (&mut self.inferring, x.as_named()) {
            inferring.sample.add(features);
        }
        self.model.next_event = next;
        self.waiting.insert(decision.event, (x, decision.clone()));
        Ok(decision)
    }

    /// The outcome of an event in the units of the model's [`Objective`](crate::Objective): logged, learned from,
    /// forgotten. Where the log refuses it, nothing is learned and the decision still waits.
    pub fn outcome(&mut self, event: u64, value: f64) -> Result<(), LoopError<L::Error>> {
        let objective = self.model.objective();
        let (outcome, outside) = (objective.outcome(value)?, objective.is_outside(value));
        self.close(event, outcome)?;
        self.clipped += u64::from(outside);
        Ok(())
    }

    /// As [`outcome`](Self::outcome), for a loss in [0, 1].
    pub fn learn(&mut self, event: u64, loss: Loss) -> Result<(), LoopError<L::Error>> {
        let value = self.model.objective().value(loss.get());
        self.close(event, Outcome { value, loss })
    }

    fn close(&mut self, event: u64, outcome: Outcome) -> Result<(), LoopError<L::Error>> {
        let Entry::Occupied(waiting) = self.waiting.entry(event) else {
            return Err(LoopError::NotWaiting { event });
        };
        let (x, decision) = waiting.get();
        let spec = spec_of(event, &self.earlier, &self.model);
        // First the log: a model that has learned what the log lacks could not be had again from it.
        self.log
            .append(spec, x, decision, Some(outcome))
            .map_err(LoopError::Log)?;
        let (x, decision) = waiting.remove();
        self.forget_specs();
        Ok(self.model.learn(&decision.observed(&x, outcome.loss))?)
    }

    /// Logs the decisions that still wait, without a loss. On an error the rest still waits, and nothing is lost.
    pub fn expire_all(&mut self) -> Result<(), LoopError<L::Error>> {
        while !self.waiting.is_empty() {
            self.expire_oldest()?;
        }
        Ok(())
    }

    /// The model and the log. Decisions that still wait are forgotten: [`expire_all`](Self::expire_all) logs them.
    pub fn into_parts(self) -> (Model<A>, L) {
        (self.model, self.log)
    }

    /// Forgets the decision that waits longest, once the log has taken it.
    fn expire_oldest(&mut self) -> Result<(), LoopError<L::Error>> {
        let Some(oldest) = self.waiting.first_entry() else {
            return Ok(());
        };
        let (x, decision) = oldest.get();
        let spec = spec_of(decision.event, &self.earlier, &self.model);
        self.log
            .append(spec, x, decision, None)
            .map_err(LoopError::Log)?;
        oldest.remove();
        self.expired += 1;
        self.forget_specs();
        Ok(())
    }

    /// Forgets descriptions that no waiting event was decided by.
    fn forget_specs(&mut self) {
        let oldest = self.waiting.keys().next().copied();
        self.earlier
            .retain(|(end, _)| oldest.is_some_and(|oldest| oldest < *end));
    }

    /// The model as it is now.
    pub fn model(&self) -> &Model<A> {
        &self.model
    }

    /// How many decisions wait for their loss.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many decisions were forgotten before their loss arrived.
    pub fn expired(&self) -> u64 {
        self.expired
    }

    /// How many outcomes were outside the objective's range and counted as its nearest end. An objective that does not
    /// [clip](crate::Objective::clipped) refuses them.
    pub fn clipped(&self) -> u64 {
        self.clipped
    }

    /// The number of the next event.
    pub fn next_event(&self) -> u64 {
        self.model.next_event
    }
}

/// The description of the model that an event was decided by.
fn spec_of<'a, A: ActionKind>(
    event: u64,
    earlier: &'a [(u64, ModelSpec)],
    model: &'a Model<A>,
) -> &'a ModelSpec {
    let before = earlier.iter().find(|(end, _)| event < *end);
    before.map_or(model.spec(), |(_, spec)| spec)
}

/// Why a call of a [`DecisionLoop`] failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoopError<E> {
    /// There is no number left for the next event.
    #[error(
        "the last event has been numbered: start the loop at a smaller number (see starting_at)"
    )]
    LastEvent,
    /// The loop was to start at a number that a decision has had.
    #[error(
        "event {event} is used already, and its random numbers would come again: start at {next} or above, or take a \
         model with another seed"
    )]
    UsedEvent {
        /// Which event.
        event: u64,
        /// The least that is free.
        next: u64,
    },
    /// No decision was made.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// Nothing was learned.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The outcome is not in the objective's range.
    #[error(transparent)]
    Outcome(#[from] OutcomeError),
    /// The event was never decided, has its loss already, or waited too long.
    #[error(
        "event {event} is not waiting for a loss: it was never decided, already has its loss, or was forgotten to make \
         room (see with_capacity)"
    )]
    NotWaiting {
        /// Which event.
        event: u64,
    },
    /// The log refused an event. It still waits, and can be offered again.
    #[error("the event could not be logged")]
    Log(#[source] E),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Objective;
    use crate::learner::Settings;
    use crate::measure::Interval;
    use crate::oracle::OracleSpec;

    fn model() -> Model<f64> {
        let mut spec = ModelSpec::new(Interval::new(0.0, 1.0).expect("in order"), 1);
        spec.oracle = OracleSpec::paper();
        Model::from_spec(spec, Settings::paper()).expect("good settings")
    }

    #[test]
    fn numbers_of_events_end_with_an_error() {
        let mut own = DecisionLoop::new(model())
            .starting_at(u64::MAX - 1)
            .expect("unused");
        assert_eq!(own.decide(x(0)).expect("an action").event, u64::MAX - 1);
        assert_eq!(own.decide(x(0)), Err(LoopError::LastEvent));
        own.outcome(u64::MAX - 1, 0.5).expect("it waits");
    }

    /// A process that ends, and one that starts from what was saved: with the number, and by a file that lacks it.
    #[test]
    fn a_loop_over_a_saved_model_uses_no_number_again() {
        let decide = |own: &mut DecisionLoop<f64>, count: u64| -> Vec<Decision<f64>> {
            (0..count)
                .map(|_| own.decide(x(0)).expect("an action"))
                .collect()
        };
        let mut first = DecisionLoop::new(model());
        let before = decide(&mut first, 20);
        let saved = first.model().save();
        let loaded = || Model::<f64>::load(&saved).expect("just saved");
        let mut second = DecisionLoop::new(loaded());
        assert_eq!(second.next_event(), 20);
        let after = decide(&mut second, 20);
        assert_eq!(after, decide(&mut first, 20));
        assert!(
            before
                .iter()
                .all(|old| after.iter().all(|new| old.action != new.action))
        );

        let refused = DecisionLoop::new(loaded()).starting_at(19).map(drop);
        assert_eq!(
            refused,
            Err(LoopError::UsedEvent {
                event: 19,
                next: 20
            })
        );
        let words = refused.expect_err("a used number").to_string();
        assert!(words.contains("start at 20 or above"), "{words}");
        let ahead = DecisionLoop::new(loaded())
            .starting_at(1_000)
            .expect("free");
        assert_eq!(ahead.next_event(), 1_000);

        // A file that does not say it, as of a model that no loop has run: chance repeats, action by action.
        let mut forgetful = DecisionLoop::new(loaded().with_next_event(0));
        assert_eq!(decide(&mut forgetful, 20), before);
    }

    fn x(event: u64) -> Context {
        Context::dense(vec![(event as f64 * 0.37).fract()]).expect("finite")
    }

    fn loss(value: f64) -> Loss {
        Loss::new(value).expect("in range")
    }

    /// (event, loss) of what was logged; refuses once it holds `room`.
    #[derive(Debug, Default)]
    struct List {
        events: Vec<(u64, Option<f64>)>,
        room: Option<usize>,
    }

    impl EventLog<f64> for List {
        type Error = &'static str;

        fn append(
            &mut self,
            spec: &ModelSpec,
            x: &Context,
            decision: &Decision<f64>,
            outcome: Option<Outcome>,
        ) -> Result<(), &'static str> {
            assert_eq!(spec.space.to_string(), "interval:0,1");
            assert_eq!(x, &self::x(decision.event));
            if self.room == Some(self.events.len()) {
                return Err("the disk is full");
            }
            self.events
                .push((decision.event, outcome.map(|outcome| outcome.loss.get())));
            Ok(())
        }
    }

    #[test]
    fn clipped_outcomes_are_counted_and_others_refused() {
        let revenue = Objective::maximize(0.0, 50.0).expect("a range");
        let fresh = |objective| {
            let interval = Interval::new(5.0, 50.0).expect("an interval");
            let model = Model::new(interval, 1).expect("a model");
            DecisionLoop::new(model.with_objective(objective))
        };
        let (mut strict, mut clips) = (fresh(revenue), fresh(revenue.clipped()));
        for value in [20.0, 51.0, -1.0] {
            let x = Context::dense(vec![1.0]).expect("finite");
            let event = clips.decide(x.clone()).expect("an action").event;
            clips.outcome(event, value).expect("clipped");
            let event = strict.decide(x).expect("an action").event;
            assert_eq!(strict.outcome(event, value).is_ok(), value == 20.0);
        }
        assert_eq!((clips.clipped(), strict.clipped()), (2, 0));
        assert_eq!(clips.model().batches_learned(), 3);
    }

    #[test]
    fn late_outcomes_teach_as_direct_calls_would() {
        let mut own = DecisionLoop::new(model());
        let mut direct = model();
        let mut waiting = Vec::new();
        for event in 0..50 {
            let decision = own.decide(x(event)).expect("an action");
            assert_eq!(Ok(&decision), direct.decide(event, &x(event)).as_ref());
            waiting.push(decision);
            // Out of order, ten at a time.
            if waiting.len() == 10 {
                for decision in waiting.drain(..).rev() {
                    let loss = loss((decision.action - 0.5).abs());
                    let observed = decision.observed(x(decision.event), loss);
                    direct.learn(&observed).expect("a good event");
                    own.learn(decision.event, loss).expect("it waits");
                }
            }
        }
        assert_eq!((own.waiting(), own.expired(), own.next_event()), (0, 0, 50));
        own.expire_all().expect("nothing waits");
        let (model, _) = own.into_parts();
        assert_eq!(model.content_hash(), direct.content_hash());
    }

    #[test]
    fn the_oldest_makes_room_and_is_logged_without_a_loss() {
        let mut own = DecisionLoop::with_log(model(), List::default())
            .with_capacity(2)
            .starting_at(7)
            .expect("unused");
        for event in 7..11 {
            assert_eq!(own.decide(x(event)).expect("an action").event, event);
        }
        assert_eq!((own.waiting(), own.expired()), (2, 2));
        assert_eq!(
            own.learn(7, loss(0.5)),
            Err(LoopError::NotWaiting { event: 7 })
        );
        own.learn(10, loss(0.25)).expect("it waits");
        assert_eq!(
            own.learn(10, loss(0.25)),
            Err(LoopError::NotWaiting { event: 10 })
        );
        own.expire_all().expect("a log without end");
        let (model, log) = own.into_parts();
        let expected = [(7, None), (8, None), (10, Some(0.25)), (9, None)];
        assert_eq!(log.events, expected);
        assert_eq!(model.batches_learned(), 1);
    }

    #[test]
    fn what_the_log_refuses_still_waits_and_is_not_learned() {
        let log = List {
            room: Some(1),
            ..List::default()
        };
        let mut own = DecisionLoop::with_log(model(), log).with_capacity(2);
        own.decide(x(0)).expect("an action");
        own.learn(0, loss(0.5)).expect("there is room");
        own.decide(x(1)).expect("an action");
        own.decide(x(2)).expect("an action");
        let full = Err(LoopError::Log("the disk is full"));
        assert_eq!(own.learn(1, loss(0.5)), full);
        assert_eq!(own.expire_all(), full);
        // No room for a third decision: its number is not used up.
        assert!(own.decide(x(3)).is_err());
        assert_eq!((own.waiting(), own.expired(), own.next_event()), (2, 0, 3));
        assert_eq!(own.model().batches_learned(), 1);
        own.log.room = None;
        own.learn(1, loss(0.25)).expect("there is room again");
        own.expire_all().expect("there is room again");
        let (model, log) = own.into_parts();
        assert_eq!(log.events, [(0, Some(0.5)), (1, Some(0.25)), (2, None)]);
        assert_eq!(model.batches_learned(), 2);
    }

    #[test]
    fn every_event_is_logged_once_with_the_loss_that_came_in_time() {
        let mut own = DecisionLoop::with_log(model(), List::default()).with_capacity(8);
        let never = Err(LoopError::NotWaiting { event: 0 });
        assert_eq!(own.learn(0, loss(0.5)), never, "nothing is decided yet");
        // What the log must hold, and which events still wait, the oldest first.
        let (mut expected, mut pending) = (BTreeMap::new(), Vec::new());
        let mut refused = 0;
        for event in 0..60 {
            assert_eq!(own.next_event(), event);
            assert_eq!(own.decide(x(event)).expect("an action").event, event);
            expected.insert(event, None);
            if pending.len() == 8 {
                pending.remove(0);
            }
            pending.push(event);
            assert_eq!(own.waiting(), pending.len());
            // At once, seven events later, too late, and once more.
            let Some(due) = event.checked_sub([0, 7, 19, 3][event as usize % 4]) else {
                continue;
            };
            let value = due as f64 / 100.0;
            let learned = own.learn(due, loss(value));
            if let Some(place) = pending.iter().position(|waits| *waits == due) {
                assert_eq!(learned, Ok(()));
                pending.remove(place);
                expected.insert(due, Some(value));
            } else {
                assert_eq!(learned, Err(LoopError::NotWaiting { event: due }));
                refused += 1;
            }
            let unknown = own.learn(event + 1, loss(0.5));
            assert_eq!(unknown, Err(LoopError::NotWaiting { event: event + 1 }));
        }
        assert!(20 <= refused, "{refused}");
        let losses = expected.values().flatten().count();
        assert!((20..60).contains(&losses), "{losses}");
        own.expire_all().expect("a log without end");
        let (model, log) = own.into_parts();
        assert_eq!(model.batches_learned(), losses as u64);
        let mut logged = log.events;
        logged.sort_by_key(|(event, _)| *event);
        assert_eq!(logged, expected.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_bad_context_uses_no_number() {
        let mut own = DecisionLoop::new(model());
        let wide = Context::dense(vec![1.0, 2.0]).expect("finite");
        assert!(matches!(own.decide(wide), Err(LoopError::Decide(_))));
        assert_eq!((own.next_event(), own.waiting()), (0, 0));
    }
}
