use serde::Serialize;

use crate::audit::action_ends::ActionEnds;
use crate::audit::evidence_history::EvidenceHistory;
use crate::audit::mean_inverse::MeanInverse;
use crate::audit::order_check::OrderCheck;
use crate::audit::random_numbers::RandomNumbers;
use crate::audit::replayer::Version;
use crate::audit::sequence_check::SequenceCheck;
use crate::numerals::thousands;

/// This many faults are named; more are only counted.
pub(crate) const MOST_NAMED: usize = 5;

/// The result of an audit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditReport {
    /// Whether the log can be trusted, and if not why, in words.
    pub verdict: String,
    /// Whether anything is wrong.
    pub alarm: bool,
    /// A correct log ever raises an alarm by the tests with probability at most this.
    pub alpha: f64,
    /// How many events there were.
    pub events: u64,
    /// How many of them were point masses, which have no density.
    pub point_masses: u64,
    /// How many have no loss.
    pub without_loss: u64,
    /// Whether sequence numbers are missing or repeated.
    pub sequence: SequenceCheck,
    /// Whether events share their random numbers.
    pub random_numbers: RandomNumbers,
    /// How many names of events came again; none where events have no names.
    pub repeated_ids: Option<u64>,
    /// Whether times and versions of models grow along the log.
    pub order: LogOrder,
    /// The mean of 1/p, by an asymptotic test.
    pub mean_inverse: MeanInverse,
    /// Whether actions were clipped, where they are on a line.
    pub ends: Option<ActionEnds>,
    /// Whether losses go with predictions.
    pub losses: Losses,
    /// How many events have a bound on 1/p, without which nothing is bet on densities that are too large.
    pub bounded: u64,
    /// Whether models were given.
    pub models_given: bool,
    /// Whether the reference measure is known.
    pub bins_known: bool,
    /// Which checks could not be made, and why.
    pub not_checked: Vec<String>,
    /// Whether the numbers within each record agree.
    pub consistency: Consistency,
    /// How many decisions were replayed, and how many differ.
    pub replay: ReplayCounts,
    /// How many proposals an action took.
    pub proposals: Proposals,
    /// The tests of the densities.
    pub tests: Vec<TestRow>,
    /// The average of the tests, which the alarm rests on.
    pub together: TestRow,
    /// The evidence over time.
    pub history: EvidenceHistory,
}

/// One test of the densities: an e-process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestRow {
    /// Its name.
    pub test: &'static str,
    /// The hypothesis that it bets against.
    pub hypothesis: &'static str,
    /// How many events it saw.
    pub events: u64,
    /// The evidence against the hypothesis now.
    pub e_value: f64,
    /// The largest evidence so far.
    pub largest: f64,
    /// The evidence at which it raises an alarm.
    pub threshold: f64,
    /// After how many events of the log it raised an alarm.
    pub alarm_at: Option<u64>,
}

/// Whether the numbers of a record agree.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Consistency {
    /// How many records do not.
    pub inconsistent: u64,
    /// The first of them.
    pub first: Vec<Finding>,
}

/// A fault of one event.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Its place in the log, from 1.
    pub at: u64,
    /// The event's number, if the log has it.
    pub event: Option<u64>,
    /// Its sequence number.
    pub seq: Option<u64>,
    /// What is wrong.
    pub what: String,
}

/// How many decisions were replayed, and how many came out the same.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ReplayCounts {
    /// Replayed.
    pub replayed: u64,
    /// Equal in every field, bit for bit.
    pub equal: u64,
    /// Different.
    pub differing: u64,
    /// The first that differ.
    pub first_differences: Vec<Finding>,
    /// Records that hold a whole decision.
    pub whole: u64,
    /// Of these, how many have no model among those given.
    pub without_model: u64,
    /// Not replayed, for lack of a model or of a whole decision.
    pub not_replayable: u64,
    /// The first reasons, each with how many events were not replayed for it.
    pub reasons: Vec<(String, u64)>,
    /// How many models were learned from the log.
    pub relearned: u64,
    /// Versions whose given model differs from the one learned from the log.
    pub unequal_models: Vec<Version>,
}

/// Whether times and versions of models grow along the log.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct LogOrder {
    /// When decisions were made.
    pub times: OrderCheck,
    /// How many batches their models had learned.
    pub versions: OrderCheck,
}

/// Whether losses go with the predictions of the models that decided.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Losses {
    /// How many events have both.
    pub events: u64,
    /// The correlation of f̂ and loss; 0 where either does not vary.
    pub correlation: f64,
    /// Its standard error, if they have nothing to do with each other.
    pub error: f64,
    /// Σf̂, Σℓ, Σf̂², Σℓ², Σf̂ℓ.
    #[serde(skip)]
    sums: [f64; 5],
}

impl Losses {
    pub(crate) fn observe(&mut self, fhat: f64, loss: f64) {
        self.events += 1;
        let terms = [fhat, loss, fhat * fhat, loss * loss, fhat * loss];
        for (sum, term) in self.sums.iter_mut().zip(terms) {
            *sum += term;
        }
    }

    pub(crate) fn finished(mut self) -> Self {
        let n = self.events.max(1) as f64;
        let [fhat, loss, ff, ll, fl] = self.sums.map(|sum| sum / n);
        let spread = ((ff - fhat * fhat) * (ll - loss * loss)).max(0.0).sqrt();
        self.error = 1.0 / n.sqrt();
        self.correlation = match 1e-12 < spread {
            true => (fl - fhat * loss) / spread,
            false => 0.0,
        };
        self
    }

    /// Whether something shows that losses belong to their events.
    fn are_shown(&self) -> bool {
        3.0 * self.error < self.correlation
    }
}

/// How many proposals the rejection sampler took.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Proposals {
    /// How many events have an action that it drew.
    pub events: u64,
    /// The mean number of proposals.
    pub mean: f64,
    /// The expected number κτ, from the log: the mean of τ/ẑ, a little more than κτ since ẑ is an estimate.
    pub expected: f64,
}

impl AuditReport {
    /// Writes the verdict from the other fields.
    pub(crate) fn judge(&mut self) {
        let mut wrong = Vec::new();
        let ReplayCounts {
            replayed,
            equal,
            differing,
            first_differences,
            not_replayable,
            unequal_models,
            ..
        } = &self.replay;
        if let Some(first) = first_differences.first() {
            wrong.push(format!(
                "{} of {} decisions differ when replayed, the first at event {}: {}",
                thousands(*differing),
                thousands(*replayed),
                first.at,
                first.what
            ));
        }
        if let Some(version) = unequal_models.first() {
            wrong.push(format!(
                "the model given for version {} differs from the one learned from the log",
                version.batches
            ));
        }
        if let Some(first) = self.consistency.first.first() {
            wrong.push(format!(
                "{} records contradict themselves, the first at event {}: {}",
                thousands(self.consistency.inconsistent),
                first.at,
                first.what
            ));
        }
        if let Some(at) = self.together.alarm_at {
            let loudest = self
                .tests
                .iter()
                .max_by(|a, b| a.largest.total_cmp(&b.largest))
                .map_or("", |row| row.test);
            wrong.push(format!(
                "the densities do not match the actions: after {} events the evidence passed {}, most of it from the \
                 test of {loudest}",
                thousands(at),
                self.together.threshold
            ));
        }
        if !self.sequence.dense() {
            wrong.push(format!(
                "{} sequence numbers are missing and {} are repeated",
                thousands(self.sequence.missing),
                thousands(self.sequence.repeated)
            ));
        }
        let RandomNumbers { reused, twice, .. } = self.random_numbers;
        if 0 < reused {
            wrong.push(format!(
                "{} events share their random numbers with an earlier one of another context: a process that restarts \
                 has to go on after the largest event number",
                thousands(reused)
            ));
        }
        if 0 < twice {
            wrong.push(format!(
                "{} records have seed, event and context of an earlier one",
                thousands(twice)
            ));
        }
        self.more_faults(&mut wrong);
        self.not_checked = self.unmade_checks();
        self.alarm = !wrong.is_empty();
        self.verdict = if self.alarm {
            format!("do not weigh this log: {}", wrong.join("; "))
        } else if self.events == 0 {
            "the log is empty: there is nothing to audit".to_owned()
        } else {
            let replay = match (replayed, not_replayable) {
                (0, _) => "no decision was replayed, for lack of models".to_owned(),
                (_, 0) => format!("all {} decisions replay bit for bit", thousands(*equal)),
                _ => format!(
                    "{} decisions replay bit for bit, {} had no model",
                    thousands(*equal),
                    thousands(*not_replayable)
                ),
            };
            let unmade = match self.not_checked.len() {
                0 => String::new(),
                1 => "; one check could not be made".to_owned(),
                checks => format!("; {checks} checks could not be made"),
            };
            format!(
                "no fault found in {} events: {replay}; the evidence against the densities never passed {:.1}, and an \
                 alarm needs {}{unmade}",
                thousands(self.events),
                self.together.largest,
                self.together.threshold
            )
        };
    }

    fn more_faults(&self, wrong: &mut Vec<String>) {
        if self.mean_inverse.is_too_small() {
            let MeanInverse { mean, error, .. } = self.mean_inverse;
            wrong.push(format!(
                "densities are too large: the mean of 1/p is {mean:.4} ± {error:.4} and should be 1 (an asymptotic test)"
            ));
        }
        for (what, order) in [
            ("times", self.order.times),
            ("versions of models", self.order.versions),
        ] {
            if order.is_backwards() {
                wrong.push(format!(
                    "the log runs backwards: {what} fall {} times and grow {} times",
                    order.down, order.up
                ));
            }
        }
        if let Some(repeated) = self.repeated_ids.filter(|&repeated| 0 < repeated) {
            wrong.push(format!(
                "{} events have the eventId of an earlier one",
                thousands(repeated)
            ));
        }
        if let Some((at, count)) = self.ends.and_then(|ends| ends.clipped()) {
            wrong.push(format!(
                "{} actions are exactly {at}: they were clipped or rounded after they were drawn, and have another density",
                thousands(count)
            ));
        }
        let ReplayCounts {
            whole,
            without_model,
            ..
        } = self.replay;
        if self.models_given && whole * 95 < without_model * 100 {
            wrong.push(format!(
                "only {} of {} decisions could be replayed by the models given: give the other models or relearn them, \
                 and give the log in its own order",
                thousands(whole - without_model),
                thousands(whole)
            ));
        }
    }

    /// In sentences; nothing that a fault was found by.
    fn unmade_checks(&self) -> Vec<String> {
        let mut unmade = Vec::new();
        let mut say = |unless: bool, words: &str| {
            if !unless {
                unmade.push(words.to_owned());
            }
        };
        let known = self.bounded == self.events;
        say(
            known || self.mean_inverse.is_settled(),
            "Densities that are too large: there is no bound on 1/p (largestInverseDensity in the log, or --least-density), and \
             1/p varies too much for its mean to tell",
        );
        say(
            known || !self.mean_inverse.is_settled(),
            "Densities that are too large, at all times: without a bound on 1/p (largestInverseDensity in the log, or \
             --least-density) only an asymptotic test was made, at the end",
        );
        say(
            self.bins_known,
            "Whether actions are where the densities say: the log does not say its reference measure (mu), and no model does",
        );
        say(
            (self.tests.iter()).any(|row| row.test == "sides" && 0 < row.events),
            "Densities that belong to other contexts: that needs features that are numbers or words and differ, and the \
             reference measure",
        );
        say(self.models_given, "Replay: no model was given");
        say(
            self.sequence.numbered == self.events,
            "Gaps: not all events have a seq",
        );
        say(
            self.repeated_ids.is_some() || 0 < self.random_numbers.compared,
            "Records that are there twice: events have no eventId, and no seed and event",
        );
        say(
            self.order.times.is_known() || self.order.versions.is_known(),
            "The order of the log: events have no time, and no two versions of a model",
        );
        say(
            self.losses.are_shown(),
            "Losses: no log alone shows whether they are those of their events, were shifted or are missing where they are \
             large, and no model predicts them",
        );
        unmade
    }
}
