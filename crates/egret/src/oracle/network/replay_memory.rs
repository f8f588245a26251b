use serde::{Deserialize, Serialize};

use crate::codec::{LoadError, saved_state};
use crate::event::{Context, ContextError};
use crate::numeric::{EventRng, Stream};
use crate::oracle::Example;

/// The last [`CAPACITY`] events, for a network to learn from more than once.
///
/// A new event replaces the oldest, so that old behaviour is forgotten. The seed and the number of events seen decide
/// which ones are learned again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReplayMemory {
    seen: u64,
    past: Vec<Past>,
}

/// One event as a network learns it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Past {
    pub(crate) x: Context,
    /// What the network sees of the action.
    pub(crate) action: Vec<f64>,
    pub(crate) loss: f64,
    pub(crate) weight: f64,
}

/// How many events are held.
pub(crate) const CAPACITY: usize = 4096;

/// How many events one step learns from: the new one, and others of the past.
pub(crate) const STEP: usize = 8;

impl ReplayMemory {
    /// Before any event.
    pub(crate) fn new() -> Self {
        Self {
            seen: 0,
            past: Vec::new(),
        }
    }

    /// Adds an event and returns the places of those to learn now, itself first.
    pub(crate) fn add(&mut self, seed: u64, event: Past) -> [usize; STEP] {
        let place = (self.seen % CAPACITY as u64) as usize;
        if place < self.past.len() {
            self.past[place] = event;
        } else {
            self.past.push(event);
        }
        let mut rng = EventRng::new(seed, self.seen, Stream::Replay);
        self.seen += 1;
        let held = self.past.len() as f64;
        let mut step = [place; STEP];
        for other in &mut step[1..] {
            *other = (rng.unit() * held) as usize;
        }
        step
    }

    /// The event at a place that [`add`](Self::add) gave.
    pub(crate) fn get(&self, place: usize) -> &Past {
        &self.past[place]
    }

    /// An error unless its events have `action_dim` numbers of an action, and as many features as contexts have, or had
    /// before the network grew.
    pub(crate) fn check(&self, lengths: &[usize], action_dim: usize) -> Result<(), LoadError> {
        saved_state::expect_count("events seen", self.seen)?;
        let held = self.seen.min(CAPACITY as u64) as usize;
        saved_state::expect_same("events held:", &self.past.len(), &held)?;
        for past in &self.past {
            if !lengths.contains(&past.x.dim()) {
                return Err(LoadError::Mismatch {
                    found: format!("features of a past event: {}", past.x.dim()),
                    expected: format!("as many as one of {lengths:?}"),
                });
            }
            let finite = |number: f64| number.is_finite();
            saved_state::expect_numbers("past action", &past.action, action_dim, finite)?;
            saved_state::expect_numbers("past losses", &[past.loss], 1, |loss| {
                loss.abs() <= LARGEST
            })?;
            saved_state::expect_numbers("past weights", &[past.weight], 1, |weight| {
                (0.0..=LARGEST).contains(&weight)
            })?;
        }
        Ok(())
    }
}

/// The largest loss and the largest weight that are accepted.
const LARGEST: f64 = 1e30;

/// An error unless loss and weight are small enough to compute with.
pub(crate) fn check_size_of_loss<A>(example: &Example<'_, Context, A>) -> Result<(), ContextError> {
    let (loss, weight) = (example.loss.get(), example.weight.get());
    if loss.abs() <= LARGEST && weight <= LARGEST {
        Ok(())
    } else {
        Err(ContextError::Refused(format!(
            "a loss of {loss} with the weight {weight} is too large to compute with, expected numbers up to 1e30"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(number: usize) -> Past {
        Past {
            x: Context::dense(vec![number as f64]).expect("finite"),
            action: vec![0.5],
            loss: 0.25,
            weight: 1.0,
        }
    }
    #[test]
    fn a_count_that_would_overflow_is_refused() {
        for (seen, good) in [(1 << 53, true), (u64::MAX, false)] {
            let memory = ReplayMemory {
                seen,
                past: vec![event(0); CAPACITY],
            };
            assert_eq!(memory.check(&[1], 1).is_ok(), good, "{seen}");
        }
    }

    #[test]
    fn the_newest_comes_first_and_the_oldest_goes() {
        let mut memory = ReplayMemory::new();
        let mut found = vec![0_u32; CAPACITY];
        for number in 0..2 * CAPACITY {
            let step = memory.add(7, event(number));
            assert_eq!(memory.get(step[0]), &event(number));
            for other in step {
                assert!(other <= number);
                found[other] += 1;
            }
        }
        for place in 0..CAPACITY {
            assert_eq!(memory.get(place), &event(CAPACITY + place));
        }
        // Every place is learned again now and then: 7 chances in 4096 each, for 4096 events, is e⁻⁷ for none.
        let never = found.iter().filter(|&&count| count <= 2).count();
        assert!(never < CAPACITY / 10, "{never}");
        assert!(memory.check(&[1], 1).is_ok());
    }

    #[test]
    fn what_is_learned_again_follows_from_the_seed() {
        let steps = |seed: u64| -> Vec<[usize; STEP]> {
            let mut memory = ReplayMemory::new();
            (0..50).map(|n| memory.add(seed, event(n))).collect()
        };
        assert_eq!(steps(1), steps(1));
        assert_ne!(steps(1), steps(2));
    }

    #[test]
    fn states_that_cannot_be_are_refused() {
        let mut memory = ReplayMemory::new();
        for number in 0..3 {
            memory.add(1, event(number));
        }
        assert!(memory.check(&[1], 1).is_ok());
        assert!(memory.check(&[2], 1).is_err());
        assert!(memory.check(&[1], 2).is_err());
        for damage in [
            |memory: &mut ReplayMemory| memory.seen = 2,
            |memory: &mut ReplayMemory| memory.past[1].loss = f64::NAN,
            |memory: &mut ReplayMemory| memory.past[1].weight = -1.0,
            |memory: &mut ReplayMemory| memory.past[1].action[0] = f64::INFINITY,
        ] {
            let mut damaged = memory.clone();
            damage(&mut damaged);
            assert!(damaged.check(&[1], 1).is_err());
        }
    }
}
