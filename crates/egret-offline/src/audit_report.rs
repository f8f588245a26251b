use serde::Serialize;

use crate::evidence_history::EvidenceHistory;
use crate::replayer::Version;
use crate::sequence_check::SequenceCheck;

/// What a log says of itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditReport {
    /// In words: whether the log can be trusted, and if not, why.
    pub verdict: String,
    /// Whether anything is wrong.
    pub alarm: bool,
    /// The probability with which a right log is accused by the tests, at any time.
    pub alpha: f64,
    /// How many events there were.
    pub events: u64,
    /// How many of them were point masses, which cannot be weighed.
    pub atoms: u64,
    /// How many have no loss.
    pub without_loss: u64,
    /// Sequence numbers.
    pub sequence: SequenceCheck,
    /// Numbers within each record.
    pub consistency: Consistency,
    /// Decisions made again.
    pub replay: ReplayCounts,
    /// How many proposals an action took.
    pub proposals: Proposals,
    /// One for each e-process.
    pub tests: Vec<TestRow>,
    /// The mean of the tests: what the alarm rests on.
    pub together: TestRow,
    /// Evidence over time.
    pub history: EvidenceHistory,
}

/// One e-process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestRow {
    /// Its name.
    pub test: &'static str,
    /// What it bets against.
    pub hypothesis: &'static str,
    /// Events that it saw.
    pub events: u64,
    /// The evidence now.
    pub e_value: f64,
    /// The most it ever was.
    pub largest: f64,
    /// At what evidence it rings.
    pub threshold: f64,
    /// After how many events of the log it rang.
    pub alarm_at: Option<u64>,
}

/// Whether the numbers of a record agree.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Consistency {
    /// How many do not.
    pub inconsistent: u64,
    /// The first of them.
    pub first: Vec<Finding>,
}

/// Something wrong with one event.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// How many events had come, this one included.
    pub at: u64,
    /// The event's number.
    pub event: u64,
    /// Its sequence number.
    pub seq: Option<u64>,
    /// What it is.
    pub what: String,
}

/// How many decisions came out the same.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ReplayCounts {
    /// Made again.
    pub replayed: u64,
    /// Equal to the bit in every field.
    pub equal: u64,
    /// Not equal.
    pub differing: u64,
    /// The first of those.
    pub first_differences: Vec<Finding>,
    /// Not made again, for want of a model.
    pub not_replayable: u64,
    /// The first reasons, with how many events each kept from being made again.
    pub reasons: Vec<(String, u64)>,
    /// Models learned from the log.
    pub relearned: u64,
    /// Versions whose given model is not what the log teaches.
    pub unequal_models: Vec<Version>,
}

/// Proposals of the rejection sampler.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Proposals {
    /// Events whose action was drawn by it.
    pub events: u64,
    /// How many they took on average.
    pub mean: f64,
    /// κτ by what is logged: the mean of τ/ẑ, a little more than κτ since ẑ is an estimate.
    pub expected: f64,
}

impl AuditReport {
    /// The verdict, from all else.
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
                "{differing} of {replayed} decisions come out otherwise when made again, the first at event {}: {}",
                first.at, first.what
            ));
        }
        if let Some(version) = unequal_models.first() {
            wrong.push(format!(
                "the model given for version {} is not what the log teaches",
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
                "the densities are not those of the actions: after {at} events the evidence passed {}, most of it from \
                 the test of {loudest}",
                self.together.threshold
            ));
        }
        if !self.sequence.dense() {
            wrong.push(format!(
                "{} sequence numbers are missing and {} came again",
                self.sequence.missing, self.sequence.repeated
            ));
        }
        self.alarm = !wrong.is_empty();
        self.verdict = if self.alarm {
            format!("do not weigh this log: {}", wrong.join("; "))
        } else if self.events == 0 {
            "nothing to audit: the log is empty".to_owned()
        } else {
            let replay = match (replayed, not_replayable) {
                (0, _) => "no decision was made again, for want of models".to_owned(),
                (_, 0) => format!("all {equal} decisions come out the same to the bit"),
                _ => format!(
                    "{equal} decisions come out the same to the bit, {not_replayable} had no model"
                ),
            };
            format!(
                "no fault found in {} events: {replay}; the evidence against the densities never passed {:.1}, where {} \
                 would ring",
                self.events, self.together.largest, self.together.threshold
            )
        };
    }
}
