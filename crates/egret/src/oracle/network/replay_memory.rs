use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::codec::{LoadError, saved_state};
use crate::event::{Context, ContextError};
use crate::numeric::{EventRng, Stream};
use crate::oracle::{
    Example,
    network::{context::MOST_DENSE, feature_scale::FeatureScale},
};

/// The last [`CAPACITY`] events, for a network to learn from more than once.
///
/// A new event replaces the oldest, so that old behaviour is forgotten. The seed and the number of events seen decide
/// which ones are learned again. All numbers are held in 32 bits: half the memory, and half the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReplayMemory {
    seen: u64,
    /// The features of the first dense context. Others are held as differences from it: a feature may be far from 0, such
    /// as the time in seconds, and vary little.
    origin: Vec<f32>,
    past: Vec<Past>,
    /// Those of the last step, as they are read.
    #[serde(skip)]
    read: Vec<Context>,
}

/// One event as a network learns it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event<'a> {
    pub(crate) x: &'a Context,
    /// What the network sees of the action.
    pub(crate) action: &'a [f64],
    pub(crate) loss: f64,
    pub(crate) weight: f64,
}

/// An event that was learned.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Past {
    x: Held,
    pub(crate) action: SmallVec<[f32; 4]>,
    pub(crate) loss: f32,
    pub(crate) weight: f32,
}

/// A context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Held {
    /// Differences from the origin.
    Dense(Vec<f32>),
    /// How many features there are, and those that are not 0.
    Sparse(usize, Vec<(u32, f32)>),
}

impl Default for Held {
    fn default() -> Self {
        Self::Dense(Vec::new())
    }
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
            origin: Vec::new(),
            past: Vec::new(),
            read: Vec::new(),
        }
    }

    /// Adds an event and returns the places of those to learn now, itself first.
    pub(crate) fn add(&mut self, seed: u64, event: Event<'_>) -> [usize; STEP] {
        let place = (self.seen % CAPACITY as u64) as usize;
        if place == self.past.len() {
            self.past.push(Past::default());
        }
        let past = &mut self.past[place];
        past.x.hold(event.x, &mut self.origin);
        past.action.clear();
        past.action.extend(event.action.iter().map(|&u| narrow(u)));
        (past.loss, past.weight) = (narrow(event.loss), narrow(event.weight));
        let mut rng = EventRng::new(seed, self.seen, Stream::Replay);
        self.seen += 1;
        let held = self.past.len() as f64;
        let mut step = [place; STEP];
        for other in &mut step[1..] {
            *other = (rng.unit() * held) as usize;
        }
        step
    }

    /// The events at places that [`add`](Self::add) gave.
    pub(crate) fn events(&self, places: [usize; STEP]) -> [&Past; STEP] {
        places.map(|place| &self.past[place])
    }

    /// Their contexts.
    pub(crate) fn contexts(&mut self, places: [usize; STEP]) -> [&Context; STEP] {
        for (row, place) in places.into_iter().enumerate() {
            self.read(place, row);
        }
        std::array::from_fn(|row| &self.read[row])
    }

    /// Reads a little of each context held dense. They lie anywhere in memory: to wait for all of them at once takes hardly
    /// longer than to wait for one.
    pub(crate) fn touch(&self, places: [usize; STEP]) {
        const LINE: usize = 64 / size_of::<f32>();
        let mut bits = 0;
        for place in places {
            if let Held::Dense(differences) = &self.past[place].x {
                for line in differences.chunks(LINE) {
                    bits ^= line[0].to_bits();
                }
            }
        }
        std::hint::black_box(bits);
    }

    /// Writes the scaled features of the context at one place, without a copy of those held dense.
    pub(crate) fn scale(&mut self, place: usize, scale: &FeatureScale, out: &mut [f32]) {
        match &self.past[place].x {
            Held::Dense(differences) => scale.apply_to_sum(&self.origin, differences, out),
            Held::Sparse(..) => scale.apply(self.read(place, 0), out),
        }
    }

    /// The context at one place, in the memory of a row.
    fn read(&mut self, place: usize, row: usize) -> &Context {
        let none = || Context::dense(Vec::new()).expect("no number is infinite");
        self.read.resize_with(STEP, none);
        self.past[place].x.read(&self.origin, &mut self.read[row]);
        &self.read[row]
    }

    /// An error unless its events have `action_dim` numbers of an action, and as many features as contexts have, or had
    /// before the network grew.
    pub(crate) fn check(&self, lengths: &[usize], action_dim: usize) -> Result<(), LoadError> {
        saved_state::expect_count("events seen", self.seen)?;
        let held = self.seen.min(CAPACITY as u64) as usize;
        saved_state::expect_same("events held:", &self.past.len(), &held)?;
        let small = |number: f64| number.abs() <= 3.0 * LARGEST;
        saved_state::expect_numbers("origins", &self.origin, self.origin.len(), small)?;
        for past in &self.past {
            let dim = past.x.dim();
            if !lengths.contains(&dim) {
                return Err(LoadError::Mismatch {
                    found: format!("features of a past event: {dim}"),
                    expected: format!("as many as one of {lengths:?}"),
                });
            }
            past.x.check(&self.origin)?;
            saved_state::expect_numbers("past action", &past.action, action_dim, small)?;
            saved_state::expect_numbers("past losses", &[past.loss], 1, small)?;
            saved_state::expect_numbers("past weights", &[past.weight], 1, |weight| {
                0.0 <= weight && small(weight)
            })?;
        }
        Ok(())
    }
}

impl Held {
    /// Holds this context from now on, in the memory of the last.
    fn hold(&mut self, x: &Context, origin: &mut Vec<f32>) {
        match x.as_dense() {
            Some(values) if values.len() <= MOST_DENSE => {
                let first = values.get(origin.len()..).unwrap_or_default();
                origin.extend(first.iter().map(|&value| narrow(value)));
                let mut held = match self {
                    Self::Dense(held) => std::mem::take(held),
                    Self::Sparse(..) => Vec::new(),
                };
                held.clear();
                let pairs = values.iter().zip(origin);
                held.extend(pairs.map(|(value, origin)| narrow(value - f64::from(*origin))));
                *self = Self::Dense(held);
            }
            _ => {
                let mut held = match self {
                    Self::Sparse(_, held) => std::mem::take(held),
                    Self::Dense(_) => Vec::new(),
                };
                held.clear();
                x.for_each(|feature, value| {
                    if value != 0.0 {
                        held.push((feature as u32, narrow(value)));
                    }
                });
                *self = Self::Sparse(x.dim(), held);
            }
        }
    }

    fn read(&self, origin: &[f32], x: &mut Context) {
        let read = match self {
            Self::Dense(held) => x.refill_dense(held.len(), |values| add(origin, held, values)),
            Self::Sparse(dim, held) => x.refill_sparse(*dim, |entries| {
                let held = held.iter();
                entries.extend(held.map(|&(feature, value)| (feature, f64::from(value))));
            }),
        };
        read.expect("a context once, or checked");
    }

    fn dim(&self) -> usize {
        match self {
            Self::Dense(held) => held.len(),
            Self::Sparse(dim, _) => *dim,
        }
    }

    fn check(&self, origin: &[f32]) -> Result<(), LoadError> {
        let small = |number: f32| f64::from(number).abs() <= 3.0 * LARGEST;
        let good = match self {
            Self::Dense(held) => held.len() <= origin.len() && held.iter().all(|&d| small(d)),
            Self::Sparse(dim, held) => {
                let mut rising = held.windows(2).map(|pair| pair[0].0 < pair[1].0);
                let last = held.last().is_none_or(|&(last, _)| (last as usize) < *dim);
                last && rising.all(|rises| rises) && held.iter().all(|&(_, value)| small(value))
            }
        };
        if good {
            Ok(())
        } else {
            Err(LoadError::Invalid(format!("the past context {self:?}")))
        }
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn add(a: &[f32], b: &[f32], out: &mut [f64]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = f64::from(*a) + f64::from(*b);
    }
}

/// To 32 bits. Differences of numbers up to 10³⁰ fit; an action beyond them is cut off.
fn narrow(value: f64) -> f32 {
    value.clamp(-2.0 * LARGEST, 2.0 * LARGEST) as f32
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

    fn add(memory: &mut ReplayMemory, seed: u64, number: usize) -> [usize; STEP] {
        let x = Context::dense(vec![number as f64]).expect("finite");
        memory.add(seed, event(&x))
    }

    fn event(x: &Context) -> Event<'_> {
        Event {
            x,
            action: &[0.5],
            loss: 0.25,
            weight: 1.0,
        }
    }

    /// The contexts at places.
    fn contexts(memory: &mut ReplayMemory, places: [usize; STEP]) -> [Context; STEP] {
        memory.contexts(places).map(Context::clone)
    }

    fn taught(events: usize) -> ReplayMemory {
        let mut memory = ReplayMemory::new();
        for number in 0..events {
            add(&mut memory, 1, number);
        }
        memory
    }

    #[test]
    fn a_count_that_would_overflow_is_refused() {
        let memory = taught(CAPACITY);
        for (seen, good) in [(1 << 53, true), (u64::MAX, false)] {
            let memory = ReplayMemory {
                seen,
                ..memory.clone()
            };
            assert_eq!(memory.check(&[1], 1).is_ok(), good, "{seen}");
        }
    }

    #[test]
    fn the_newest_comes_first_and_the_oldest_goes() {
        let mut memory = ReplayMemory::new();
        let mut found = vec![0_u32; CAPACITY];
        for number in 0..2 * CAPACITY {
            let step = add(&mut memory, 7, number);
            let x = contexts(&mut memory, step);
            assert_eq!(x[0].as_dense(), Some(&[number as f64][..]));
            for other in step {
                assert!(other <= number);
                found[other] += 1;
            }
        }
        for place in 0..CAPACITY {
            let x = contexts(&mut memory, [place; STEP]);
            assert_eq!(x[0].as_dense(), Some(&[(CAPACITY + place) as f64][..]));
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
            (0..50).map(|n| add(&mut memory, seed, n)).collect()
        };
        assert_eq!(steps(1), steps(1));
        assert_ne!(steps(1), steps(2));
    }

    #[test]
    fn contexts_of_any_form_and_length_come_back() {
        let mut memory = ReplayMemory::new();
        let far = 1.7e9;
        let wide = MOST_DENSE + 1;
        let mut long = vec![0.0; wide];
        long[7] = -0.5;
        let xs = [
            Context::dense(vec![far, 1.0]),
            Context::dense(vec![far + 0.25, 1e30]),
            Context::sparse(2, vec![(1, 0.5)]),
            Context::dense(vec![0.0, -1e30]),
            // After a growth.
            Context::dense(vec![far + 0.125, 0.0, 3.0]),
            Context::sparse(wide, vec![(512, 2.0)]),
            Context::dense(long),
            Context::dense(vec![far - 0.25, 1.0, 2.0]),
        ]
        .map(|x| x.expect("finite"));
        for x in &xs {
            memory.add(1, event(x));
        }
        let places = std::array::from_fn(|place| place);
        for (found, x) in contexts(&mut memory, places).iter().zip(&xs) {
            assert_eq!(found.dim(), x.dim());
            let mut expected = vec![0.0; x.dim()];
            x.for_each(|feature, value| expected[feature] = value);
            found.for_each(|feature, value| {
                let error = (value - expected[feature]).abs();
                // As near as 32 bits are to the difference from the first context.
                let most = 1e-7 * expected[feature].abs().min(1e30);
                let most = if (expected[feature] - far).abs() < 1.0 {
                    1e-7
                } else {
                    most
                };
                assert!(error <= most, "{value} {x:?}");
                expected[feature] = 0.0;
            });
            // What is not listed is 0.
            assert!(expected.iter().all(|value| *value == 0.0), "{x:?}");
        }
        let bytes = postcard::to_stdvec(&memory).expect("plain numbers and lists");
        let mut other: ReplayMemory = postcard::from_bytes(&bytes).expect("as written");
        assert!(other.check(&[2, 3, wide], 1).is_ok());
        assert_eq!(contexts(&mut other, places), contexts(&mut memory, places));
    }

    #[test]
    fn states_that_cannot_be_are_refused() {
        let mut memory = taught(3);
        let sparse = Context::sparse(1, vec![(0, 2.0)]).expect("sorted");
        memory.add(1, event(&sparse));
        assert!(memory.check(&[1], 1).is_ok());
        assert!(memory.check(&[2], 1).is_err());
        assert!(memory.check(&[1], 2).is_err());
        type Damage = fn(&mut ReplayMemory);
        let damages: [Damage; 9] = [
            |memory| memory.seen = 2,
            |memory| memory.past[1].loss = f32::NAN,
            |memory| memory.past[1].weight = -1.0,
            |memory| memory.past[1].action[0] = f32::INFINITY,
            |memory| memory.past[1].x = Held::Dense(vec![f32::NAN]),
            |memory| memory.past[3].x = Held::Sparse(1, vec![(1, 2.0)]),
            |memory| memory.past[3].x = Held::Sparse(1, vec![(0, 2.0), (0, 2.0)]),
            |memory| memory.past[3].x = Held::Sparse(1, vec![(0, f32::INFINITY)]),
            |memory| memory.origin.clear(),
        ];
        for (place, damage) in damages.into_iter().enumerate() {
            let mut damaged = memory.clone();
            damage(&mut damaged);
            assert!(damaged.check(&[1], 1).is_err(), "{place}");
        }
    }
}
