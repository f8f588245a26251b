use std::collections::BTreeMap;

use egret::{Action, Decision, Learner, LoadError, Loss, Observed, Propensity};

/// Finds the model that made each decision of a log, in the order of the log.
///
/// Models that were saved are loaded at their version. Where one is missing it can be learned: the events decided at
/// version v, in the order of the log, are the batch that makes version v + 1. That is how egret's own runs learn; a log
/// whose events were learned in another order, or not all of them, needs its models. Where a version is learned and saved
/// both, the two have to be equal to the bit.
pub struct Replayer<X, A: Action> {
    learner: Learner<X, A>,
    saved: BTreeMap<Version, Vec<u8>>,
    relearn: bool,
    at: Option<Version>,
    /// Why the learner does not hold the model of `at`.
    missing: Option<String>,
    batch: Vec<Played<X, A>>,
    too_many: bool,
    relearned: u64,
    unequal: Vec<Version>,
}

/// Which model: settings by their epoch, and batches learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Version {
    /// The epoch of the settings.
    pub epoch: u32,
    /// Batches learned.
    pub batches: u64,
}

impl Version {
    /// The model that made a decision.
    pub fn of<A>(decision: &Decision<A>) -> Self {
        Self {
            epoch: decision.epoch,
            batches: decision.batches_learned,
        }
    }

    /// What a learner holds.
    pub fn held_by<X: ?Sized, A: Action>(learner: &Learner<X, A>) -> Self {
        Self {
            epoch: learner.settings().epoch,
            batches: learner.batches_learned(),
        }
    }
}

/// What is learned from, kept until the next version is asked for.
struct Played<X, A> {
    x: X,
    action: A,
    loss: Option<Loss>,
    tau_index: u32,
    tau_probability: f64,
    propensity: Propensity,
}

/// No batch that is learned at once is as large; a log of one model would fill the memory.
const MOST_IN_BATCH: usize = 1 << 17;

impl<X: Clone, A: Action> Replayer<X, A> {
    /// With one model, and whether to learn those that are missing.
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

    /// One more model of the same space and the same kind of oracle. Before the first event only.
    pub fn add(&mut self, learner: &Learner<X, A>) -> Result<(), LoadError> {
        let bytes = learner.save();
        self.learner.load(&bytes)?;
        self.saved.insert(Version::held_by(learner), bytes);
        Ok(())
    }

    /// Any learner of the log's space, to ask for its μ.
    pub fn any(&self) -> &Learner<X, A> {
        &self.learner
    }

    /// Goes to the model of the next events: it, or why there is none.
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

    /// An event of the version gone to last, with its loss if that is known.
    pub fn remember(&mut self, x: &X, decision: &Decision<A>, loss: Option<Loss>) {
        if !self.relearn || self.missing.is_some() || self.too_many {
            return;
        }
        if self.batch.len() == MOST_IN_BATCH {
            self.batch.clear();
            self.too_many = true;
            return;
        }
        self.batch.push(Played {
            x: x.clone(),
            action: decision.action.clone(),
            loss,
            tau_index: decision.tau_index,
            tau_probability: decision.tau_probability,
            propensity: decision.propensity,
        });
    }

    /// How many versions were learned from the log.
    pub fn relearned(&self) -> u64 {
        self.relearned
    }

    /// Versions whose saved model is not what the log teaches.
    pub fn unequal(&self) -> &[Version] {
        &self.unequal
    }

    /// Makes the learner hold this model, or says why it cannot.
    fn find(&mut self, version: Version) -> Result<(), String> {
        let Version { epoch, batches } = version;
        let follows = self
            .at
            .is_some_and(|at| at.epoch == epoch && Some(batches) == at.batches.checked_add(1));
        let learned = (self.relearn && follows && self.missing.is_none()).then(|| self.learn());
        let Some(saved) = self.saved.get(&version) else {
            return match learned {
                Some(Ok(())) => {
                    self.relearned += 1;
                    Ok(())
                }
                Some(Err(why)) => Err(why),
                None if self.relearn => Err(format!(
                    "no model of version {batches}, epoch {epoch} is given, and the one before it is not known"
                )),
                None => Err(format!(
                    "no model of version {batches}, epoch {epoch} is given"
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

    /// Learns the batch of the version gone to last.
    fn learn(&mut self) -> Result<(), String> {
        let now = self.learner.batches_learned();
        if self.too_many {
            return Err(format!(
                "version {now} decided more than {MOST_IN_BATCH} events, too many to learn from at once"
            ));
        }
        let mut events = Vec::with_capacity(self.batch.len());
        for played in &self.batch {
            let Some(loss) = played.loss else {
                return Err(format!(
                    "an event of version {now} has no loss to learn from"
                ));
            };
            events.push(Observed {
                x: &played.x,
                action: &played.action,
                loss,
                tau_index: played.tau_index,
                tau_probability: played.tau_probability,
                propensity: played.propensity,
            });
        }
        self.learner
            .learn(&events)
            .map_err(|error| format!("version {now} cannot learn its events: {error}"))
    }
}

/// So many are named, and more only counted.
pub(crate) const MOST_NAMED: usize = 5;
