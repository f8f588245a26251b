use serde::Serialize;

use crate::audit::evidence_history::EvidenceHistory;
use crate::audit::random_numbers::RandomNumbers;
use crate::audit::replayer::Version;
use crate::audit::sequence_check::SequenceCheck;

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
    /// Not replayed, for lack of a model.
    pub not_replayable: u64,
    /// The first reasons, each with how many events were not replayed for it.
    pub reasons: Vec<(String, u64)>,
    /// How many models were learned from the log.
    pub relearned: u64,
    /// Versions whose given model differs from the one learned from the log.
    pub unequal_models: Vec<Version>,
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
                "{differing} of {replayed} decisions differ when replayed, the first at event {}: {}",
                first.at, first.what
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
                self.consistency.inconsistent, first.at, first.what
            ));
        }
        if let Some(at) = self.together.alarm_at {
            let loudest = self
                .tests
                .iter()
                .max_by(|a, b| a.largest.total_cmp(&b.largest))
                .map_or("", |row| row.test);
            wrong.push(format!(
                "the densities do not match the actions: after {at} events the evidence passed {}, most of it from the \
                 test of {loudest}",
                self.together.threshold
            ));
        }
        if !self.sequence.dense() {
            wrong.push(format!(
                "{} sequence numbers are missing and {} are repeated",
                self.sequence.missing, self.sequence.repeated
            ));
        }
        let RandomNumbers { reused, twice, .. } = self.random_numbers;
        if 0 < reused {
            wrong.push(format!(
                "{reused} events share their random numbers with an earlier one of another context: a process that restarts \
                 has to go on after the largest event number"
            ));
        }
        if 0 < twice {
            wrong.push(format!(
                "{twice} records have seed, event and context of an earlier one"
            ));
        }
        self.alarm = !wrong.is_empty();
        self.verdict = if self.alarm {
            format!("do not weigh this log: {}", wrong.join("; "))
        } else if self.events == 0 {
            "the log is empty: there is nothing to audit".to_owned()
        } else {
            let replay = match (replayed, not_replayable) {
                (0, _) => "no decision was replayed, for lack of models".to_owned(),
                (_, 0) => format!("all {equal} decisions replay bit for bit"),
                _ => format!("{equal} decisions replay bit for bit, {not_replayable} had no model"),
            };
            format!(
                "no fault found in {} events: {replay}; the evidence against the densities never passed {:.1}, and an \
                 alarm needs {}",
                self.events, self.together.largest, self.together.threshold
            )
        };
    }
}
