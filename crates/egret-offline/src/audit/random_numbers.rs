use std::collections::btree_map::{BTreeMap, Entry};
use std::hash::{DefaultHasher, Hash, Hasher as _};

use serde::{Deserialize, Serialize};

/// Whether events share their random numbers, which come from seed and event number.
///
/// A process that restarts at a number it has used decides by the same chance again. Its densities look right, but its
/// actions follow from those of earlier events, and no estimate from them keeps what it promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RandomNumbers {
    /// Events that were compared with all before: those with seed and number, or a sample of them if there are many.
    pub compared: u64,
    /// Of these, events with seed and number of an earlier one, and another context.
    pub reused: u64,
    /// The same with equal contexts: the record is there twice, or its numbers were used twice.
    pub twice: u64,
}

/// Finds events that share their random numbers, in any order and in memory that does not grow.
///
/// Names of events are hashed, and the contexts of those with the least hashes are remembered, by a hash too. An event is
/// in this sample whenever one with the same name would be: what is compared is compared with all that came before.
#[derive(Debug, Clone, Default)]
pub struct RandomNumberCheck {
    found: RandomNumbers,
    contexts: BTreeMap<u64, u64>,
}

/// Up to this many events nothing is left out. 100 reused numbers among ten million are found with probability 0.93.
const SAMPLE: usize = 1 << 18;

impl RandomNumberCheck {
    /// Adds an event of a loop, with what seeded its generator; `context` is anything that tells contexts apart.
    pub fn observe<C: Hash>(
        &mut self,
        of: Option<&str>,
        seed: u64,
        event: u64,
        context: impl FnOnce() -> C,
    ) {
        let name = hash(&(of, seed, event));
        if self.contexts.len() == SAMPLE {
            let last = self.contexts.last_key_value();
            if last.is_some_and(|(&last, _)| last < name) {
                return;
            }
        }
        self.found.compared += 1;
        let context = hash(&context());
        match self.contexts.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert(context);
                if SAMPLE < self.contexts.len() {
                    self.contexts.pop_last();
                }
            }
            Entry::Occupied(earlier) if *earlier.get() == context => self.found.twice += 1,
            Entry::Occupied(_) => self.found.reused += 1,
        }
    }

    /// What was found so far.
    pub fn found(&self) -> RandomNumbers {
        self.found
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_names_are_counted_in_any_order() {
        let mut check = RandomNumberCheck::default();
        // Of two seeds and two loops, backwards: nothing is shared.
        for event in (0..1_000).rev() {
            for (of, seed) in [(None, 0), (None, 1), (Some("prices"), 0)] {
                check.observe(of, seed, event, || event);
            }
        }
        let mut found = RandomNumbers {
            compared: 3_000,
            ..RandomNumbers::default()
        };
        assert_eq!(check.found(), found);
        check.observe(None, 1, 7, || 8_u64);
        check.observe(None, 1, 7, || 7_u64);
        found.compared += 2;
        found.reused += 1;
        found.twice += 1;
        assert_eq!(check.found(), found);
    }

    /// A restart is found in a log of several times the sample; its memory is the sample, and right events are not accused.
    #[test]
    fn a_long_log_is_sampled() {
        let (events, again) = (6 * SAMPLE as u64, 20_000);
        let mut check = RandomNumberCheck::default();
        for event in 0..events {
            check.observe(None, 0, event, || event);
        }
        assert_eq!(check.contexts.len(), SAMPLE);
        assert_eq!(check.found().reused + check.found().twice, 0);
        let before = check.found().compared;
        for event in 0..again {
            check.observe(None, 0, event, || event + events);
        }
        let found = check.found();
        assert_eq!(found.reused, found.compared - before);
        // Each is in the sample with probability 1/6: 3,333 ± 53, and ± 300 is exceeded with probability below 1e-7.
        assert!(found.reused.abs_diff(again / 6) < 300, "{found:?}");
    }
}
