use std::collections::BTreeMap;

use egret::{Action, Decision, Learner, LoadError, Loss, Observed};

use crate::audit::report::MOST_NAMED;

/// Finds the model that made each decision of a log, in the order of the log.
///
/// Saved models are loaded at their version. A missing one can be learned again: the events decided at version v, in the
/// order of the log, are the batch that makes version v + 1. egret's own runs learn like that. A log whose events were
/// learned in another order, or only in part, needs its saved models. Where a version is both learned and saved, the two
/// must be equal bit for bit.
pub struct Replayer<X, A: Action> {
    learner: Learner<X, A>,
    saved: BTreeMap<Version, Vec<u8>>,
    relearn: bool,
    at: Option<Version>,
    /// Why the learner does not hold the model of `at`.
    missing: Option<String>,
    /// The events that version `at` decided; none for an event without a loss.
    batch: Vec<Option<Observed<X, A>>>,
    too_many: bool,
    relearned: u64,
    unequal: Vec<Version>,
}

/// Which model: the version of its settings, and the batches it has learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Version {
    /// The version of its settings.
    pub settings_version: u32,
    /// Batches learned.
    pub batches: u64,
}

impl Version {
    /// The model that made a decision.
    pub fn of<A>(decision: &Decision<A>) -> Self {
        Self {
            settings_version: decision.settings_version,
            batches: decision.batches_learned,
        }
    }

    /// The model that a learner holds.
    pub fn held_by<X: ?Sized, A: Action>(learner: &Learner<X, A>) -> Self {
        Self {
            settings_version: learner.settings().settings_version,
            batches: learner.batches_learned(),
        }
    }
}

/// The largest batch that is kept to learn from. Without a limit, a long log of a single model would fill the memory.
const MOST_IN_BATCH: usize = 1 << 17;

impl<X: Clone, A: Action> Replayer<X, A> {
    /// With one model. `relearn` says whether to learn missing ones from the log.
    pub fn new(learner: Learner<X, A>, relearn: bool) -> Self {
        let saved = BTreeMap::from([(Version::held_by(&learner), learner.save())]);
        Self {
            learner,
            saved,
            relearn,
            at: None,
            missing: None,
            batch: Vec::new(),
            too_many: false,
            relearned: 0,
            unequal: Vec::new(),
        }
    }

    /// Adds one more model of the same space and the same kind of oracle. Only before the first event.
    pub fn add(&mut self, learner: &Learner<X, A>) -> Result<(), LoadError> {
        let bytes = learner.save();
        self.learner.load(&bytes)?;
        self.saved.insert(Version::held_by(learner), bytes);
        Ok(())
    }

    /// Some learner of the log's space: it knows μ.
    pub fn any(&self) -> &Learner<X, A> {
        &self.learner
    }

    /// Moves to the model of the next events. Returns it, or why there is none.
    pub fn go_to(&mut self, version: Version) -> Result<&Learner<X, A>, &str> {
        if self.at != Some(version) {
            self.missing = self.find(version).err();
            self.at = Some(version);
            self.batch.clear();
            self.too_many = false;
        }
        match &self.missing {
            None => Ok(&self.learner),
            Some(why) => Err(why),
        }
    }

    /// Keeps an event of the current version to learn from, with its loss if known.
    pub fn remember(&mut self, x: &X, decision: &Decision<A>, loss: Option<Loss>) {
        if !self.relearn || self.missing.is_some() || self.too_many {
            return;
        }
        if self.batch.len() == MOST_IN_BATCH {
            self.batch.clear();
            self.too_many = true;
            return;
        }
        self.batch
            .push(loss.map(|loss| decision.observed(x.clone(), loss)));
    }

    /// How many versions were learned from the log.
    pub fn relearned(&self) -> u64 {
        self.relearned
    }

    /// Versions whose saved model differs from the one learned from the log.
    pub fn unequal(&self) -> &[Version] {
        &self.unequal
    }

    /// Makes the learner hold this model, or says why it cannot.
    fn find(&mut self, version: Version) -> Result<(), String> {
        let Version {
            settings_version,
            batches,
        } = version;
        let follows = self.at.is_some_and(|at| {
            at.settings_version == settings_version && Some(batches) == at.batches.checked_add(1)
        });
        let learned = (self.relearn && follows && self.missing.is_none()).then(|| self.learn());
        let Some(saved) = self.saved.get(&version) else {
            return match learned {
                Some(Ok(())) => {
                    self.relearned += 1;
                    Ok(())
                }
                Some(Err(why)) => Err(why),
                None if self.relearn => Err(format!(
                    "no model of version {batches} under settings version {settings_version} was given, and the version before it is not known either"
                )),
                None => Err(format!(
                    "no model of version {batches} under settings version {settings_version} was given"
                )),
            };
        };
        if let Some(Ok(())) = learned {
            self.relearned += 1;
            if self.learner.save() != *saved && self.unequal.len() < MOST_NAMED {
                self.unequal.push(version);
            }
        }
        self.learner.load(saved).map_err(|error| error.to_string())
    }

    /// Learns the batch of the current version.
    fn learn(&mut self) -> Result<(), String> {
        let now = self.learner.batches_learned();
        if self.too_many {
            return Err(format!(
                "version {now} decided more than {MOST_IN_BATCH} events, too many to learn from at once"
            ));
        }
        let events: Option<Vec<Observed<X, A>>> = self.batch.drain(..).collect();
        let events =
            events.ok_or_else(|| format!("an event of version {now} has no loss to learn from"))?;
        self.learner
            .learn_batch(&events)
            .map_err(|error| format!("version {now} cannot learn its events: {error}"))
    }
}
