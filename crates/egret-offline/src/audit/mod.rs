//! Audits: whether the densities, models and sequence numbers of a log are right.
//!
//! | file               | what                                                                            |
//! |--------------------|---------------------------------------------------------------------------------|
//! | `mod`              | [`Auditor`]: takes in the events of a log and reports                           |
//! | `recorded`         | [`Audited`], [`Recorded`]: what a log says about one decision                   |
//! | `replayer`         | [`Replayer`]: finds the model that made each decision, or learns it again       |
//! | `inspection`       | what one event shows by itself, worked out in parallel                          |
//! | `evidence`         | the tests, fed in the order of the log, and their average                       |
//! | `test_martingale`  | [`TestMartingale`]: the bets behind each test                                   |
//! | `bins`             | [`Binnable`]: cuts the action space into parts of equal mass                    |
//! | `mean_inverse`     | [`MeanInverse`]: the mean of 1/p, with its standard error                       |
//! | `order_check`      | [`OrderCheck`]: whether times and versions grow along the log                   |
//! | `action_ends`      | [`ActionEnds`]: whether many actions are exactly the least or the largest        |
//! | `sequence_check`   | [`SequenceCheck`]: whether numbers are missing or repeated                      |
//! | `random_numbers`   | [`RandomNumberCheck`]: whether events share their random numbers                |
//! | `report`, `evidence_history` | [`AuditReport`]: the result, and the evidence over time               |

mod action_ends;
mod bins;
mod evidence;
mod evidence_history;
mod inspection;
mod mean_inverse;
mod order_check;
mod random_numbers;
mod recorded;
mod replayer;
mod report;
mod sequence_check;
mod test_martingale;

pub use action_ends::ActionEnds;
pub use bins::Binnable;
pub use evidence_history::EvidenceHistory;
pub use mean_inverse::MeanInverse;
pub use order_check::OrderCheck;
pub use random_numbers::{RandomNumberCheck, RandomNumbers};
pub use recorded::{Audited, CappedIgwDraw, Recorded};
pub use replayer::{Replayer, Version};
pub use report::{
    AuditReport, Consistency, Finding, LogOrder, Losses, Proposals, ReplayCounts, TestRow,
};
pub use sequence_check::SequenceCheck;
pub use test_martingale::{MeanTerm, MeanTest, ProposalTest, TestMartingale};

use egret::{Action, Learner, LoadError, OutOfRange, Propensity, ReferenceMeasure};
use rayon::prelude::*;

use self::bins::Bins;
use self::evidence::{Evidence, RunningScale, Seen};
use self::inspection::{Buffers, Inspection, Inspector};
use self::report::MOST_NAMED;

/// Checks that a log is correct, in one pass and constant memory.
///
/// | check       | what                                                                  | needs     |
/// |-------------|-----------------------------------------------------------------------|-----------|
/// | replay      | every decision is repeated, bit for bit                               | its model |
/// | consistency | p = g/z, g within its bounds, in each record                          |           |
/// | 1/p         | E[1/p] = 1                                                            |           |
/// | bins        | E[1{a in bin}/p] = μ(bin), for 8 bins                                 | μ         |
/// | sides       | the same on one side of a feature of the context                     | μ, features |
/// | mean of 1/p | the mean of 1/p is not below 1, by its standard error                 |           |
/// | ends        | few actions are exactly the least or the largest                      | a line    |
/// | f̂          | E[f̂/p] = E_μ f̂ and E[(1 − f̂)/p] = 1 − E_μ f̂                      | its model |
/// | proposals   | E[K·ẑ/τ] = 1, where the action was drawn by rejection                 |           |
/// | sequence    | no number is missing or repeated                                      |           |
/// | randomness  | no two events share their random numbers                              | [`RandomNumberCheck`] |
///
/// The means but that of 1/p by its standard error are tested by betting ([`TestMartingale`]). That is valid at any time,
/// whatever the learner learned from earlier events. The average of the e-values is an e-value too, and raises the alarm at 1/α: a correct log ever raises
/// an alarm with probability at most α. If one test alone passes (number of tests)/α, as Bonferroni would ask, the average
/// has passed 1/α, and often it does so sooner.
///
/// The stake on an event is fixed before its action was drawn. Its scale is (1 + γ(1 − β)₊)/τ, an upper bound on 1/g.
/// Downward bets need a bound on 1/p = ẑ/g. That is the bound on 1/g, times z where z is computed, or times τ where z is
/// estimated, for no ẑ exceeds τ. A point mass counts as 1/p = 0, which keeps E[h/p] = E_μ h true.
///
/// ```
/// use egret::{FunctionOracle, Interval, Learner, Settings};
/// use egret_offline::{Audited, Auditor};
///
/// let oracle = FunctionOracle::new(|_: &(), actions: &Vec<f64>, out: &mut [f64]| {
///     out.copy_from_slice(actions);
/// });
/// let mu = Interval::new(0.0, 1.0)?;
/// let learner = Learner::new(Box::new(mu), Box::new(oracle), Settings::paper())?;
/// let mut auditor = Auditor::new(Some(Box::new(mu)), None, 0.01)?;
/// for event in 0..100 {
///     let decision = learner.decide(event, &())?;
///     auditor.observe(&[Audited::new(Some(event), (), decision, None)]);
/// }
/// assert!(!auditor.report().alarm);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Auditor<X, A: Action> {
    measure: Option<Box<dyn ReferenceMeasure<X, A>>>,
    replayer: Option<Replayer<X, A>>,
    alpha: f64,
    replay_every: u64,
    bins: Option<Bins>,
    evidence: Evidence,
    scale: RunningScale,
    events: u64,
    point_masses: u64,
    without_loss: u64,
    sequence: SequenceCheck,
    random_numbers: RandomNumbers,
    repeated_ids: Option<u64>,
    order: LogOrder,
    mean_inverse: MeanInverse,
    ends: Option<ActionEnds>,
    losses: Losses,
    bounded: u64,
    consistency: Consistency,
    replay: ReplayCounts,
    proposals: Proposals,
    history: EvidenceHistory,
}

/// Fewer events than this are inspected by one thread.
const FEW: usize = 64;

impl<X: Clone + Send + Sync, A: Binnable + PartialEq> Auditor<X, A> {
    /// `measure` is μ for the bins; a replayer knows its own. `replayer` has the models. `alpha` is in (0, 1).
    pub fn new(
        measure: Option<Box<dyn ReferenceMeasure<X, A>>>,
        replayer: Option<Replayer<X, A>>,
        alpha: f64,
    ) -> Result<Self, OutOfRange> {
        OutOfRange::unless(0.0 < alpha && alpha < 1.0, "alpha", alpha, "(0, 1)")?;
        Ok(Self {
            evidence: Evidence::new(measure.is_some() || replayer.is_some(), replayer.is_some()),
            measure,
            replayer,
            alpha,
            replay_every: 1,
            bins: None,
            scale: RunningScale::default(),
            events: 0,
            point_masses: 0,
            without_loss: 0,
            sequence: SequenceCheck::default(),
            random_numbers: RandomNumbers::default(),
            repeated_ids: None,
            order: LogOrder::default(),
            mean_inverse: MeanInverse::default(),
            ends: None,
            losses: Losses::default(),
            bounded: 0,
            consistency: Consistency::default(),
            replay: ReplayCounts::default(),
            proposals: Proposals::default(),
            history: EvidenceHistory::default(),
        })
    }

    /// Replays only the first of every so many decisions, where all would take too long.
    pub fn replaying_every(mut self, events: u64) -> Self {
        self.replay_every = events.max(1);
        self
    }

    /// Adds the next events, in the order of the log. How they are split over calls changes nothing.
    pub fn observe(&mut self, events: &[Audited<X, A>]) {
        let version = |event: &Audited<X, A>| event.decision.replayable().map(Version::of);
        for run in events.chunk_by(|a, b| version(a) == version(b)) {
            self.observe_run(version(&run[0]), run);
        }
    }

    /// Takes note of what seeded the generators, by a check of the caller's that saw all events.
    pub fn note_random_numbers(&mut self, found: RandomNumbers) {
        self.random_numbers = found;
    }

    /// Tests bins also on one side of each of so many features: [`Audited::sides`] says where an event is. Before the first
    /// event.
    pub fn with_sides(mut self, features: usize) -> Self {
        if self.measure.is_some() || self.replayer.is_some() {
            self.evidence.add_sides(features);
        }
        self
    }

    /// Takes note of how times and versions of models go along the log, by checks of the caller's that saw all events.
    pub fn note_order(&mut self, order: LogOrder) {
        self.order = order;
    }

    /// Takes note of how many names of events came again, if events have names.
    pub fn note_repeated_ids(&mut self, repeated: Option<u64>) {
        self.repeated_ids = repeated;
    }

    /// Events of one model: inspected in parallel, then counted in order.
    fn observe_run(&mut self, version: Option<Version>, run: &[Audited<X, A>]) {
        if self.bins.is_none() {
            let given = self.measure.as_deref();
            let own = self
                .replayer
                .as_ref()
                .map(|replayer| replayer.any().measure());
            self.bins = given.or(own).map(|mu| Bins::new(mu, &run[0].x));
            let line = given.or(own).and_then(ReferenceMeasure::as_line);
            let continuous = line.filter(|line| line.steps().is_none());
            self.ends = continuous.map(|_| ActionEnds::default());
        }
        let bins = self.bins.as_ref();
        let found = match (self.replayer.as_mut(), version) {
            (Some(replayer), Some(version)) => replayer.go_to(version),
            (Some(_), None) => Err("the record has no whole decision to replay"),
            (None, _) => Err("no model was given"),
        };
        let learner = found.ok();
        let why = found.err().map(str::to_owned);
        let inspector = Inspector {
            measure: learner.map(Learner::measure).or(self.measure.as_deref()),
            learner,
            bins,
        };
        let (before, every) = (self.events, self.replay_every);
        let inspect = |buffers: &mut Buffers<A>, (place, event): (usize, &Audited<X, A>)| {
            let place = before + place as u64;
            inspector.inspect(event, place, place.is_multiple_of(every), buffers)
        };
        // A few are inspected sooner than they are shared out among threads.
        let inspected: Vec<Inspection> = if run.len() < FEW {
            let mut buffers = Buffers::default();
            let events = run.iter().enumerate();
            events.map(|event| inspect(&mut buffers, event)).collect()
        } else {
            let events = run.par_iter().enumerate();
            events.map_init(Buffers::default, inspect).collect()
        };
        for (event, inspection) in run.iter().zip(&inspected) {
            self.count(event, inspection, why.as_deref());
        }
        if let Some(replayer) = &mut self.replayer {
            for event in run.iter().filter(|event| event.learned) {
                if let Some(decision) = event.decision.replayable() {
                    replayer.remember(&event.x, decision, event.loss);
                }
            }
        }
    }

    /// `no_model` says why the event's model is missing.
    fn count(&mut self, event: &Audited<X, A>, inspection: &Inspection, no_model: Option<&str>) {
        self.events += 1;
        self.without_loss += u64::from(event.loss.is_none());
        if let Some(seq) = event.seq {
            self.sequence.observe(seq);
        }
        let at = self.events;
        let finding = |what: &str| Finding {
            at,
            event: event.decision.replayable().map(|decision| decision.event),
            seq: event.seq,
            what: what.to_owned(),
        };
        if let Some(what) = inspection.contradiction {
            self.consistency.inconsistent += 1;
            if self.consistency.first.len() < MOST_NAMED {
                self.consistency.first.push(finding(what));
            }
        }
        self.replay.whole += u64::from(event.decision.replayable().is_some());
        match &inspection.replay {
            Some(outcome) => {
                self.replay.replayed += 1;
                match outcome {
                    Ok(()) => self.replay.equal += 1,
                    Err(error) => {
                        self.replay.differing += 1;
                        if self.replay.first_differences.len() < MOST_NAMED {
                            let what = error.to_string();
                            self.replay.first_differences.push(finding(&what));
                        }
                    }
                }
            }
            None => {
                if no_model.is_some() && event.decision.replayable().is_some() {
                    self.replay.without_model += 1;
                }
                if let Some(why) = no_model {
                    self.not_replayable(why);
                }
            }
        }
        if event.decision.propensity() == Propensity::PointMass {
            self.point_masses += 1;
        } else if let Some(ends) = &mut self.ends
            // A request may pin its action.
            && event.decision.limits().is_none()
        {
            ends.observe(event.decision.action().place());
        }
        self.mean_inverse.observe(inspection.inverse_density);
        self.bounded += u64::from(inspection.largest.is_some());
        if let (Some((fhat, _)), Some(loss)) = (inspection.fhat, event.loss) {
            self.losses.observe(fhat, loss.get());
        }
        if let Some(drawn) = inspection.proposals {
            let Proposals {
                events,
                mean,
                expected,
            } = &mut self.proposals;
            *events += 1;
            *mean += (drawn.proposals - *mean) / *events as f64;
            *expected += (drawn.tau / drawn.z - *expected) / *events as f64;
        }
        let scale = inspection
            .scale
            .unwrap_or_else(|| self.scale.next(inspection.inverse_density));
        let seen = Seen {
            inspection,
            scale,
            sides: &event.sides,
        };
        self.evidence
            .step(&seen, self.bins.as_ref(), at, self.alpha);
        let evidence = &self.evidence;
        self.history.observe(at, || evidence.e_values());
    }

    fn not_replayable(&mut self, why: &str) {
        self.replay.not_replayable += 1;
        let reasons = &mut self.replay.reasons;
        if let Some((_, count)) = reasons.iter_mut().find(|(reason, _)| reason == why) {
            *count += 1;
        } else if reasons.len() < MOST_NAMED {
            reasons.push((why.to_owned(), 1));
        }
    }

    /// The findings so far.
    pub fn report(&self) -> AuditReport {
        let mut replay = self.replay.clone();
        if let Some(replayer) = &self.replayer {
            replay.relearned = replayer.relearned();
            replay.unequal_models = replayer.unequal().to_vec();
        }
        let mut report = AuditReport {
            verdict: String::new(),
            alarm: false,
            alpha: self.alpha,
            events: self.events,
            point_masses: self.point_masses,
            without_loss: self.without_loss,
            sequence: self.sequence.clone(),
            random_numbers: self.random_numbers,
            repeated_ids: self.repeated_ids,
            order: self.order,
            mean_inverse: self.mean_inverse.finished(),
            ends: self.ends,
            losses: self.losses.finished(),
            bounded: self.bounded,
            models_given: self.replayer.is_some(),
            bins_known: self.bins.is_some(),
            not_checked: Vec::new(),
            consistency: self.consistency.clone(),
            replay,
            proposals: self.proposals.clone(),
            tests: self.evidence.rows(self.alpha),
            together: self.evidence.together(self.events, self.alpha),
            history: self.history.clone(),
        };
        report.judge();
        report
    }
}

impl<X: Clone, A: Action> Auditor<X, A> {
    /// Adds one more model, before the first event. It errs if the model is of another kind, or if there is no replayer.
    pub fn add_model(&mut self, learner: &Learner<X, A>) -> Result<(), LoadError> {
        match &mut self.replayer {
            Some(replayer) => replayer.add(learner),
            None => Err(LoadError::Invalid(
                "the audit was started without models".to_owned(),
            )),
        }
    }
}
