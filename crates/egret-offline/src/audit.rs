use egret::{
    Action, Batch, CertifiedBy, Decision, DensityKind, Learner, LoadError, Loss, LossCurve,
    OutOfRange, Propensity, ReferenceMeasure, ReplayError,
};
use rayon::prelude::*;

use crate::audit_bins::{Bins, Placed};
use crate::audit_report::{AuditReport, Consistency, Finding, Proposals, ReplayCounts, TestRow};
use crate::evidence_history::EvidenceHistory;
use crate::replayer::{MOST_NAMED, Replayer, Version};
use crate::sequence_check::SequenceCheck;
use crate::target::{Chance, Use};
use crate::test_martingale::{MeanTerm, MeanTest, ProposalTest};

/// Whether a log is what it says, checked as it streams by, in memory that does not grow.
///
/// | check       | what                                                                  | needs     |
/// |-------------|-----------------------------------------------------------------------|-----------|
/// | replay      | every decision made again, equal to the bit                           | its model |
/// | consistency | p = g/z, g within its bounds, in each record                          |           |
/// | 1/p         | E[1/p] = 1                                                            |           |
/// | bins        | E[1{a in bin}/p] = μ(bin), for 8 bins                                 | μ         |
/// | f̂          | E[f̂/p] = E_μ f̂ and E[(1 − f̂)/p] = 1 − E_μ f̂                      | its model |
/// | proposals   | E[K·ẑ/τ] = 1, where the action was drawn by rejection                 |           |
/// | sequence    | numbers are dense                                                     |           |
///
/// The four means are tested by betting ([`TestMartingale`](crate::TestMartingale)): valid at any time, whatever the learner learned from what
/// came before. The alarm rests on the average of their e-values, itself an e-value, and rings at 1/α: a right log is
/// accused with probability α at most, ever. The average rings whenever one test alone passes (number of tests)/α, as
/// Bonferroni would have it, and often sooner.
///
/// What is staked on an event is fixed before its action was drawn: the scale is (1 + γ(1 − β)₊)/τ, an upper bound of
/// 1/g. Downward bets need a bound on 1/p = ẑ/g: that of 1/g times z where z is computed, and times τ, which no ẑ
/// exceeds, where it is drawn. A point mass counts as 1/p = 0, for E[h/p; not a point mass] = E_μ h just as well.
///
/// ```
/// use egret::{Decision, FunctionOracle, Learner, Settings, Interval};
/// use egret_offline::{Audited, Auditor};
///
/// let oracle = FunctionOracle::new(|_: &(), actions: &Vec<f64>, out: &mut [f64]| {
///     out.copy_from_slice(actions);
/// });
/// let mu = Interval::new(0.0, 1.0)?;
/// let mut learner = Learner::new(Box::new(mu), Box::new(oracle), Settings::paper())?;
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
    tests: Tests,
    scale: RunningScale,
    events: u64,
    atoms: u64,
    without_loss: u64,
    sequence: SequenceCheck,
    consistency: Consistency,
    replay: ReplayCounts,
    proposals: Proposals,
    history: EvidenceHistory,
}

/// One event of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Audited<X, A> {
    /// Its place in the log, where the log has numbers.
    pub seq: Option<u64>,
    /// The context.
    pub x: X,
    /// What was decided.
    pub decision: Decision<A>,
    /// What it cost, if that is known.
    pub loss: Option<Loss>,
    /// Whether the decision has all that a replay needs. Where it has not, event, seed and model may be anything.
    pub replayable: bool,
    /// Whether the model learned from it, where models are learned again.
    pub learned: bool,
}

impl<X, A> Audited<X, A> {
    /// A whole decision that the model learned from.
    pub fn new(seq: Option<u64>, x: X, decision: Decision<A>, loss: Option<Loss>) -> Self {
        Self {
            seq,
            x,
            decision,
            loss,
            replayable: true,
            learned: true,
        }
    }
}

/// Draws of μ for E_μ f̂ at each event.
const DRAWS: usize = 32;

/// So few events are looked at by one thread.
const FEW: usize = 64;

/// Auditing draws need a seed of their own: any will do.
const SEED: u64 = 0x61_7564_6974;

impl<X: Clone + Send + Sync, A: Placed + PartialEq> Auditor<X, A> {
    /// μ for the bins, if it is known and the replayer does not tell it; the models, if there are any; α in (0, 1).
    pub fn new(
        measure: Option<Box<dyn ReferenceMeasure<X, A>>>,
        replayer: Option<Replayer<X, A>>,
        alpha: f64,
    ) -> Result<Self, OutOfRange> {
        OutOfRange::unless(0.0 < alpha && alpha < 1.0, "alpha", alpha, "(0, 1)")?;
        Ok(Self {
            tests: Tests::new(measure.is_some() || replayer.is_some(), replayer.is_some()),
            measure,
            replayer,
            alpha,
            replay_every: 1,
            bins: None,
            scale: RunningScale::default(),
            events: 0,
            atoms: 0,
            without_loss: 0,
            sequence: SequenceCheck::default(),
            consistency: Consistency::default(),
            replay: ReplayCounts::default(),
            proposals: Proposals::default(),
            history: EvidenceHistory::default(),
        })
    }

    /// Makes only the first of every so many decisions again, where all would take too long.
    pub fn replaying_every(mut self, events: u64) -> Self {
        self.replay_every = events.max(1);
        self
    }

    /// The next events, in the order of the log. How they are split over calls changes nothing.
    pub fn observe(&mut self, events: &[Audited<X, A>]) {
        let version = |event: &Audited<X, A>| {
            let replayable = event.replayable;
            replayable.then(|| Version::of(&event.decision))
        };
        for run in events.chunk_by(|a, b| version(a) == version(b)) {
            self.observe_run(version(&run[0]), run);
        }
    }

    /// Events of one model: looked at in parallel, then counted in order.
    fn observe_run(&mut self, version: Option<Version>, run: &[Audited<X, A>]) {
        if self.bins.is_none() {
            let known = self.measure.as_deref();
            let told = self
                .replayer
                .as_ref()
                .map(|replayer| replayer.any().measure());
            self.bins = known.or(told).map(|mu| Bins::new(mu, &run[0].x));
        }
        let bins = self.bins.as_ref();
        let found = match (self.replayer.as_mut(), version) {
            (Some(replayer), Some(version)) => replayer.go_to(version),
            (Some(_), None) => Err("the record lacks what a replay needs"),
            (None, _) => Err("no model is given"),
        };
        let learner = found.ok();
        let why = found.err().map(str::to_owned);
        let look = Look {
            measure: learner.map(Learner::measure).or(self.measure.as_deref()),
            learner,
            bins,
        };
        let (before, every) = (self.events, self.replay_every);
        let at = |buffers: &mut Buffers<A>, (place, event): (usize, &Audited<X, A>)| {
            let place = before + place as u64;
            look.at(event, place, place.is_multiple_of(every), buffers)
        };
        // A few are sooner looked at than shared out.
        let seen: Vec<Seen> = if run.len() < FEW {
            let mut buffers = Buffers::default();
            let events = run.iter().enumerate();
            events.map(|event| at(&mut buffers, event)).collect()
        } else {
            let events = run.par_iter().enumerate();
            events.map_init(Buffers::default, at).collect()
        };
        for (event, seen) in run.iter().zip(&seen) {
            self.count(event, seen, why.as_deref());
        }
        if let Some(replayer) = &mut self.replayer {
            for event in run.iter().filter(|event| event.replayable && event.learned) {
                replayer.remember(&event.x, &event.decision, event.loss);
            }
        }
    }

    fn count(&mut self, event: &Audited<X, A>, seen: &Seen, no_model: Option<&str>) {
        self.events += 1;
        self.without_loss += u64::from(event.loss.is_none());
        if let Some(seq) = event.seq {
            self.sequence.observe(seq);
        }
        let at = self.events;
        let finding = |what: &str| Finding {
            at,
            event: event.decision.event,
            seq: event.seq,
            what: what.to_owned(),
        };
        if let Some(what) = seen.contradiction {
            self.consistency.inconsistent += 1;
            if self.consistency.first.len() < MOST_NAMED {
                self.consistency.first.push(finding(what));
            }
        }
        match &seen.replay {
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
                if let Some(why) = no_model {
                    self.not_replayable(why);
                }
            }
        }
        if event.decision.propensity == Propensity::PointMass {
            self.atoms += 1;
        }
        if let Some(drawn) = seen.proposals {
            let Proposals {
                events,
                mean,
                expected,
            } = &mut self.proposals;
            *events += 1;
            *mean += (drawn.proposals - *mean) / *events as f64;
            *expected += (drawn.tau / drawn.z - *expected) / *events as f64;
        }
        let scale = seen.scale.unwrap_or_else(|| self.scale.next(seen.weight));
        self.tests
            .step(seen, scale, self.bins.as_ref(), at, self.alpha);
        let tests = &self.tests;
        self.history.observe(at, || {
            let rows = tests.rows.iter().map(|row| row.value());
            rows.chain([tests.together()]).collect()
        });
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

    /// What was found so far.
    pub fn report(&self) -> AuditReport {
        let mut replay = self.replay.clone();
        if let Some(replayer) = &self.replayer {
            replay.relearned = replayer.relearned();
            replay.unequal_models = replayer.unequal().to_vec();
        }
        let rows = self.tests.rows.len() as f64;
        let mut report = AuditReport {
            verdict: String::new(),
            alarm: false,
            alpha: self.alpha,
            events: self.events,
            atoms: self.atoms,
            without_loss: self.without_loss,
            sequence: self.sequence.clone(),
            consistency: self.consistency.clone(),
            replay,
            proposals: self.proposals.clone(),
            tests: self
                .tests
                .rows
                .iter()
                .map(|row| row.report(rows / self.alpha))
                .collect(),
            together: TestRow {
                test: "all together",
                hypothesis: "every density is that of its action",
                events: self.events,
                e_value: self.tests.together(),
                largest: self.tests.largest,
                threshold: 1.0 / self.alpha,
                alarm_at: self.tests.alarm_at,
            },
            history: self.history.clone(),
        };
        report.judge();
        report
    }
}

impl<X: Clone, A: Action> Auditor<X, A> {
    /// One more model, before the first event; errs where it is of another kind, or no model was given at first.
    pub fn add_model(&mut self, learner: &Learner<X, A>) -> Result<(), LoadError> {
        match &mut self.replayer {
            Some(replayer) => replayer.add(learner),
            None => Err(LoadError::Invalid(
                "the audit was begun without models".to_owned(),
            )),
        }
    }
}

/// What is looked at with.
struct Look<'a, X, A: Action> {
    measure: Option<&'a dyn ReferenceMeasure<X, A>>,
    learner: Option<&'a Learner<X, A>>,
    bins: Option<&'a Bins>,
}

/// What an event shows by itself.
struct Seen {
    /// 1/p; 0 for a point mass.
    weight: f64,
    /// About how large 1/p is on average, weighed by itself; none where only the past can tell.
    scale: Option<f64>,
    /// What 1/p cannot exceed.
    largest: Option<f64>,
    bin: usize,
    /// The masses of the bins, where they had to be drawn.
    masses: Option<Vec<f64>>,
    /// f̂ at the action, and its mean over fresh draws.
    fhat: Option<(f64, f64)>,
    proposals: Option<Drawn>,
    contradiction: Option<&'static str>,
    replay: Option<Result<(), ReplayError>>,
}

/// An action that was drawn by rejection.
#[derive(Clone, Copy)]
struct Drawn {
    proposals: f64,
    tau: f64,
    z: f64,
}

struct Buffers<A: Action> {
    prepared: Vec<f64>,
    actions: A::Batch,
    fhats: Vec<f64>,
}

impl<A: Action> Default for Buffers<A> {
    fn default() -> Self {
        Self {
            prepared: Vec::new(),
            actions: A::Batch::default(),
            fhats: Vec::new(),
        }
    }
}

/// Larger numbers than this are this one: their bets are won or lost alike.
const HUGE: f64 = 1e250;

impl<X: Clone + Send + Sync, A: Placed + PartialEq> Look<'_, X, A> {
    /// The place is the number of events before it.
    fn at(
        &self,
        event: &Audited<X, A>,
        place: u64,
        replayed: bool,
        buffers: &mut Buffers<A>,
    ) -> Seen {
        let decision = &event.decision;
        let density = decision.propensity.density();
        let bound = decision.capped_igw.map(|capped| {
            let gap = (1.0 - capped.certificate.beta).max(0.0);
            (1.0 + decision.gamma * gap) / decision.tau
        });
        // A density over all τ is not one given the τ that was drawn: its scale must not depend on it.
        let bound = bound.filter(|_| decision.density_kind == DensityKind::Conditional);
        let largest = decision.capped_igw.zip(bound).map(|(capped, bound)| {
            if capped.z.draws == 0 && capped.certificate.certified_by == CertifiedBy::Exact {
                bound
            } else {
                bound * decision.tau
            }
        });
        let (fhat, masses) = self.draw(event, place, buffers);
        Seen {
            weight: density.map_or(0.0, |density| (1.0 / density.get()).min(HUGE)),
            scale: bound.map(|bound| bound.clamp(1.0, HUGE)),
            // The tolerance of a computed z.
            largest: largest.map(|largest| (1.000_001 * largest).clamp(1.0, HUGE)),
            bin: self.bins.map_or(0, |bins| bins.of(&decision.action)),
            masses,
            fhat,
            proposals: decision.capped_igw.and_then(|capped| {
                (capped.certificate.certified_by != CertifiedBy::Exact).then_some(Drawn {
                    proposals: decision.proposals as f64,
                    tau: decision.tau,
                    z: capped.z.value,
                })
            }),
            contradiction: contradiction(decision),
            replay: self
                .learner
                .filter(|_| replayed)
                .map(|learner| learner.replay(&event.x, decision)),
        }
    }

    /// f̂ with its mean, and the masses of bins, from fresh draws of μ where they are needed. They go by the place in the
    /// log: its own numbers may repeat, and the same draws at each event are an error that does not average out.
    fn draw(
        &self,
        event: &Audited<X, A>,
        place: u64,
        buffers: &mut Buffers<A>,
    ) -> (Option<(f64, f64)>, Option<Vec<f64>>) {
        let unknown = self.bins.filter(|bins| bins.masses.is_none());
        let Some(measure) = self.measure else {
            return (None, None);
        };
        if self.learner.is_none() && unknown.is_none() {
            return (None, None);
        }
        let chance = Chance {
            seed: SEED,
            event: place,
        };
        let Buffers {
            prepared,
            actions,
            fhats,
        } = buffers;
        actions.clear();
        let mut rng = chance.rng(Use::Audit, 0);
        measure.sample_stratified(&event.x, DRAWS, &mut rng, actions);
        let masses = unknown.map(|bins| bins.shares::<A>(actions));
        let fhat = self.learner.and_then(|learner| {
            actions.push(&event.decision.action);
            let curve = LossCurve::new(learner.oracle(), &event.x, prepared).ok()?;
            curve.predict(actions, fhats).ok()?;
            let (own, others) = fhats.split_last()?;
            let mean = others.iter().sum::<f64>() / others.len() as f64;
            Some((*own, mean))
        });
        (fhat, masses)
    }
}

/// What no record can be, however lucky.
fn contradiction<A>(decision: &Decision<A>) -> Option<&'static str> {
    const SLACK: f64 = 1e-9;
    let capped = decision.capped_igw?;
    let (tau, gamma) = (decision.tau, decision.gamma);
    let (g, z) = (capped.g, capped.z.value);
    let least = tau / (1.0 + gamma * (1.0 - capped.certificate.beta).max(0.0));
    let density = decision.propensity.density().map_or(0.0, |p| p.get());
    let computed = capped.certificate.certified_by == CertifiedBy::Exact;
    [
        (g <= tau * (1.0 + SLACK), "g exceeds tau"),
        (
            least * (1.0 - SLACK) <= g,
            "g is less than tau / (1 + gamma (1 - beta))",
        ),
        (z <= tau * (1.0 + SLACK), "z exceeds tau"),
        (
            !computed || (z - 1.0).abs() < 1e-4,
            "z was computed and is not 1",
        ),
        (
            decision.density_kind == DensityKind::Marginal || (density * z - g).abs() <= SLACK * g,
            "the density is not g / z",
        ),
        (1 <= decision.proposals, "an action took no proposal"),
    ]
    .into_iter()
    .find(|(holds, _)| !holds)
    .map(|(_, what)| what)
}

/// The mean of (1/p)² over earlier events: what scales bets where nothing else is known before the action.
#[derive(Default)]
struct RunningScale {
    events: f64,
    squares: f64,
}

impl RunningScale {
    /// From what came before; then this is added.
    fn next(&mut self, weight: f64) -> f64 {
        let scale = ((1.0 + self.squares) / (1.0 + self.events)).clamp(1.0, HUGE);
        self.events += 1.0;
        self.squares = (self.squares + weight * weight).min(HUGE);
        scale
    }
}

/// The e-processes, and their average.
struct Tests {
    rows: Vec<Row>,
    largest: f64,
    alarm_at: Option<u64>,
}

struct Row {
    kind: Kind,
    largest: f64,
    alarm_at: Option<u64>,
}

enum Kind {
    Inverse(MeanTest),
    Bins(Vec<MeanTest>),
    Fhat([MeanTest; 2]),
    Proposals(ProposalTest),
}

impl Tests {
    /// Which there are is settled before the first event.
    fn new(bins: bool, fhat: bool) -> Self {
        let kinds = [
            Some(Kind::Inverse(MeanTest::default())),
            bins.then(|| Kind::Bins(Vec::new())),
            fhat.then(|| Kind::Fhat(Default::default())),
            Some(Kind::Proposals(ProposalTest::default())),
        ];
        Self {
            rows: kinds
                .into_iter()
                .flatten()
                .map(|kind| Row {
                    kind,
                    largest: 1.0,
                    alarm_at: None,
                })
                .collect(),
            largest: 1.0,
            alarm_at: None,
        }
    }

    fn step(&mut self, seen: &Seen, scale: f64, bins: Option<&Bins>, at: u64, alpha: f64) {
        let threshold = self.rows.len() as f64 / alpha;
        for row in &mut self.rows {
            row.step(seen, scale, bins);
            row.largest = row.largest.max(row.value());
            if row.alarm_at.is_none() && threshold <= row.largest {
                row.alarm_at = Some(at);
            }
        }
        self.largest = self.largest.max(self.together());
        if self.alarm_at.is_none() && 1.0 / alpha <= self.largest {
            self.alarm_at = Some(at);
        }
    }

    /// The average: an e-value, since each is one.
    fn together(&self) -> f64 {
        let sum: f64 = self.rows.iter().map(Row::value).sum();
        sum / self.rows.len() as f64
    }
}

impl Row {
    fn step(&mut self, seen: &Seen, scale: f64, bins: Option<&Bins>) {
        let term = |y: f64, mean: f64, largest_mean: f64| MeanTerm {
            y,
            mean,
            largest_mean,
            scale,
            largest: seen.largest,
        };
        match &mut self.kind {
            Kind::Inverse(test) => test.step(&term(seen.weight, 1.0, 1.0)),
            Kind::Bins(tests) => {
                let Some(bins) = bins else { return };
                tests.resize_with(bins.len(), MeanTest::default);
                for (bin, test) in tests.iter_mut().enumerate() {
                    let y = if seen.bin == bin { seen.weight } else { 0.0 };
                    let (mean, largest) = match (&bins.masses, &seen.masses) {
                        (Some(known), _) => (known[bin], known[bin]),
                        (None, Some(drawn)) => (drawn[bin], 1.0),
                        (None, None) => return,
                    };
                    test.step(&term(y, mean, largest));
                }
            }
            Kind::Fhat([high, low]) => {
                let Some((fhat, mean)) = seen.fhat else {
                    return;
                };
                high.step(&term(fhat * seen.weight, mean, 1.0));
                low.step(&term((1.0 - fhat) * seen.weight, 1.0 - mean, 1.0));
            }
            Kind::Proposals(test) => {
                if let Some(drawn) = seen.proposals {
                    test.step(drawn.proposals * drawn.z / drawn.tau);
                }
            }
        }
    }

    /// The average of its martingales.
    fn value(&self) -> f64 {
        let mean = |tests: &[MeanTest]| {
            let sum: f64 = tests.iter().map(|test| test.martingale().value()).sum();
            sum / tests.len() as f64
        };
        match &self.kind {
            Kind::Inverse(test) => test.martingale().value(),
            Kind::Bins(tests) if tests.is_empty() => 1.0,
            Kind::Bins(tests) => mean(tests),
            Kind::Fhat(tests) => mean(tests),
            Kind::Proposals(test) => test.martingale().value(),
        }
    }

    fn events(&self) -> u64 {
        let one = match &self.kind {
            Kind::Inverse(test) => test.martingale(),
            Kind::Bins(tests) => match tests.first() {
                Some(test) => test.martingale(),
                None => return 0,
            },
            Kind::Fhat([test, _]) => test.martingale(),
            Kind::Proposals(test) => test.martingale(),
        };
        one.events()
    }

    fn report(&self, threshold: f64) -> TestRow {
        let (test, hypothesis) = match self.kind {
            Kind::Inverse(_) => ("1/p", "the mean of 1/p is 1"),
            Kind::Bins(_) => (
                "bins",
                "the mean of 1{a in a bin}/p is the mass of the bin, for each bin",
            ),
            Kind::Fhat(_) => ("f̂", "the mean of f̂/p is that of f̂ over all actions"),
            Kind::Proposals(_) => (
                "proposals",
                "proposals · z/τ is 1 on average, and z has a relative error of at most 1",
            ),
        };
        TestRow {
            test,
            hypothesis,
            events: self.events(),
            e_value: self.value(),
            largest: self.largest,
            threshold,
            alarm_at: self.alarm_at,
        }
    }
}
