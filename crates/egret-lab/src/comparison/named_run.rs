use std::collections::{BTreeMap, BTreeSet};

use crate::run::RunRecord;

/// A run, with a name for its learner that no other learner has.
pub(super) struct NamedRun<'a> {
    pub learner: String,
    pub record: &'a RunRecord,
}

/// Two runs are the same if they agree on this: problem, learner and seed.
fn identity(record: &RunRecord) -> (&str, &str, &str, u64, u64) {
    (
        &record.environment,
        &record.fingerprint,
        &record.learner,
        record.decisions,
        record.seed,
    )
}

/// All runs. Names that stand for several learners are extended by source and settings; a run found twice is kept once.
pub(super) fn named_runs<'a>(sources: &[(String, &'a [RunRecord])]) -> Vec<NamedRun<'a>> {
    let settings = SettingsOfNames::new(sources);
    let mut first: BTreeMap<_, &RunRecord> = BTreeMap::new();
    let mut apart = settings.ambiguous();
    for record in sources.iter().flat_map(|(_, records)| *records) {
        let known = first.entry(identity(record)).or_insert(record);
        // A run that is repeated gives the same loss, bit for bit.
        if known.loss.to_bits() != record.loss.to_bits() {
            apart.insert(&record.learner);
        }
    }
    let mut taken = BTreeSet::new();
    let mut runs = Vec::new();
    for (source, records) in sources {
        for record in *records {
            let mut marks = Vec::new();
            if apart.contains(record.learner.as_str()) {
                marks.extend((!source.is_empty()).then_some(source.as_str()));
                marks.extend(settings.mark(source, record));
            }
            let learner = match &marks[..] {
                [] => record.learner.clone(),
                marks => format!("{} ({})", record.learner, marks.join("; ")),
            };
            if taken.insert((learner.clone(), identity(record))) {
                runs.push(NamedRun { learner, record });
            }
        }
    }
    runs
}

/// The settings of the learners of each name, by source.
struct SettingsOfNames<'a> {
    of: BTreeMap<(&'a str, &'a str), BTreeSet<&'a str>>,
}

impl<'a> SettingsOfNames<'a> {
    fn new(sources: &'a [(String, &'a [RunRecord])]) -> Self {
        let mut of: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
        for (source, records) in sources {
            for record in *records {
                let known = of.entry((source.as_str(), record.learner.as_str()));
                known.or_default().insert(record.settings.as_str());
            }
        }
        // A study that began before egret saved settings, and ended after: one learner, with and without settings.
        for known in of.values_mut().filter(|known| known.len() == 2) {
            known.remove("");
        }
        Self { of }
    }

    /// Names that stand for several learners.
    fn ambiguous(&self) -> BTreeSet<&'a str> {
        let mut first = BTreeMap::new();
        let mut ambiguous = BTreeSet::new();
        for ((_, learner), settings) in &self.of {
            for of in settings {
                if *first.entry(*learner).or_insert(of) != of {
                    ambiguous.insert(*learner);
                }
            }
        }
        ambiguous
    }

    /// What distinguishes the learner of a run from others of its name in the same source, if there are any.
    fn mark<'r>(&self, source: &str, record: &'r RunRecord) -> Option<&'r str> {
        let settings = &self.of[&(source, record.learner.as_str())];
        let mark = match record.settings.as_str() {
            "" => "unknown settings",
            settings => settings,
        };
        (1 < settings.len()).then_some(mark)
    }
}
