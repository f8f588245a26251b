use std::convert::Infallible;

use rand::TryRng;
use rand_philox::{Philox, splitmix64};

use crate::numeric::philox::{self, COARSE_GROUP, GROUP};

/// What random numbers are for. Each use within a decision has its own stream, so drawing more for one use does
/// not change the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Choosing τ from the grid.
    Smoothness = 0,
    /// Finding β.
    Beta = 1,
    /// Choosing the action.
    Action = 2,
    /// Estimating z.
    Z = 3,
    /// For simulating the world around the learner.
    World = 4,
    /// Choosing past events that an oracle learns from again.
    Replay = 5,
}

/// The random numbers of one (seed, event, stream): Philox 4×32-10.
///
/// The key is a hash of the seed, the counter is event · 2⁶⁴ + stream · 2⁵⁶ + block. Streams never overlap, and each
/// can be repeated alone, with the same bits on every machine.
///
/// ```
/// use egret::{EventRng, Stream};
///
/// let mut a = EventRng::new(7, 42, Stream::Action);
/// let mut b = EventRng::new(7, 42, Stream::Action);
/// assert_eq!(a.unit(), b.unit());
/// ```
#[derive(Debug, Clone)]
pub struct EventRng {
    words: Philox,
    /// The first block.
    start: u128,
    /// How many 32-bit words were consumed; a block has four.
    taken: u64,
}

impl EventRng {
    /// Opens a stream.
    pub fn new(seed: u64, event: u64, stream: Stream) -> Self {
        // The golden-ratio increment keeps seed 0 away from splitmix's fixed point.
        let key = splitmix64(seed.wrapping_add(0x9e37_79b9_7f4a_7c15));
        let start = (u128::from(event) << 64) | ((stream as u128) << 56);
        Self::at([key as u32, (key >> 32) as u32], start)
    }

    /// For draws before any event, such as starting weights. No decision uses its event number.
    pub(crate) fn before_events(seed: u64) -> Self {
        Self::new(seed, u64::MAX, Stream::World)
    }

    fn at(key: [u32; 2], start: u128) -> Self {
        Self {
            words: Philox::new(key, start),
            start,
            taken: 0,
        }
    }

    /// Uniform on (0, 1): never 0, never 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        self.taken += 2;
        philox::unit(self.words.next_u64())
    }

    /// Fills `out` as repeated calls of [`unit`](Self::unit) would, but faster.
    pub fn fill_unit(&mut self, out: &mut [f64]) {
        let mut out = out.iter_mut();
        // Whole blocks are computed many at a time. After an odd number of words every number straddles two blocks, so
        // there is no whole block to start from.
        while !self.taken.is_multiple_of(4) {
            match out.next() {
                Some(value) => *value = self.unit(),
                None => return,
            }
        }
        let (groups, rest) = out.into_slice().as_chunks_mut::<GROUP>();
        if !groups.is_empty() {
            self.fill_groups(groups, GROUP * groups.len());
        }
        let whole = rest.len() / 2 * 2;
        if FEW < whole {
            let mut group = [[0.0; GROUP]];
            self.fill_groups(&mut group, whole);
            rest[..whole].copy_from_slice(&group[0][..whole]);
            rest[whole..].fill_with(|| self.unit());
        } else {
            rest.fill_with(|| self.unit());
        }
    }

    /// Fills with uniform numbers of 32 bits, in half the time: enough for the place within a stratum. Consumes whole
    /// groups of blocks, starting at the next block.
    pub(crate) fn fill_coarse(&mut self, out: &mut [f64]) {
        let key = self.words.key();
        let block = self.start.wrapping_add(u128::from(self.taken.div_ceil(4)));
        let (groups, rest) = out.as_chunks_mut::<COARSE_GROUP>();
        philox::fill_coarse(key, block, groups);
        let mut made = (groups.len() * COARSE_GROUP) as u64;
        if !rest.is_empty() {
            let mut group = [[0.0; COARSE_GROUP]];
            philox::fill_coarse(key, block.wrapping_add(u128::from(made / 4)), &mut group);
            rest.copy_from_slice(&group[0][..rest.len()]);
            made += COARSE_GROUP as u64;
        }
        self.taken = self.taken.next_multiple_of(4) + made;
        self.words.seek(block.wrapping_add(u128::from(made / 4)));
    }

    /// Fills from the next unused block, then counts the first `taken` numbers as consumed.
    fn fill_groups(&mut self, groups: &mut [[f64; GROUP]], taken: usize) {
        let block = self.start.wrapping_add(u128::from(self.taken / 4));
        philox::fill_units(self.words.key(), block, groups);
        self.taken += 2 * taken as u64;
        self.words.seek(block.wrapping_add(taken as u128 / 2));
    }
}

/// Below this many numbers, one by one is faster.
const FEW: usize = 6;

impl TryRng for EventRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.taken += 1;
        Ok(self.words.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.taken += 2;
        Ok(self.words.next_u64())
    }

    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), Infallible> {
        // The last word counts even if not all of it is used.
        self.taken += dest.len().div_ceil(4) as u64;
        self.words.try_fill_bytes(dest)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::Rng;

    use super::*;

    #[test]
    fn bulk_equals_one_by_one() {
        let mut bulk = vec![0.0; 1_000];
        EventRng::new(1, 2, Stream::Beta).fill_unit(&mut bulk);
        let mut one = EventRng::new(1, 2, Stream::Beta);
        assert!(bulk.iter().all(|&value| value == one.unit()));
    }

    #[test]
    fn coarse_numbers_are_words_and_none_is_used_again() {
        let mut rng = EventRng::new(1, 2, Stream::Beta);
        let mut words: Vec<u32> = Vec::new();
        let mut reference = EventRng::new(1, 2, Stream::Beta);
        words.extend((0..1_000).map(|_| reference.next_u32()));
        rng.unit();
        let mut coarse = vec![0.0; 70];
        rng.fill_coarse(&mut coarse);
        // Two words were taken, so that the second block of four is the first whole one.
        let word = |place: usize| {
            let (group, place) = (place / 64, place % 64);
            words[4 + 64 * group + 4 * (place % 16) + place / 16]
        };
        for (place, &number) in coarse.iter().enumerate() {
            assert_eq!(number, (f64::from(word(place)) + 0.5) / 4_294_967_296.0);
        }
        assert_eq!(rng.next_u32(), words[4 + 128]);
        let mut again = vec![0.0; 40];
        rng.fill_coarse(&mut again);
        assert_eq!(
            again[0],
            (f64::from(words[4 + 132]) + 0.5) / 4_294_967_296.0
        );
    }

    /// One reading of a generator.
    #[derive(Debug, Clone, Copy)]
    enum Reading {
        Unit,
        U32,
        U64,
        Bytes(usize),
        Units(usize),
    }

    fn readings() -> impl Strategy<Value = Vec<Reading>> {
        let reading = prop_oneof![
            Just(Reading::Unit),
            Just(Reading::U32),
            Just(Reading::U64),
            (0_usize..300).prop_map(Reading::Bytes),
            (0_usize..200).prop_map(Reading::Units),
            // Even numbers leave whole blocks now and then.
            (0_usize..40).prop_map(|n| Reading::Units(2 * n)),
        ];
        proptest::collection::vec(reading, 1..20)
    }

    proptest! {
        #[test]
        fn any_mixture_of_readings_is_that_of_the_plain_generator(
            key in any::<[u32; 2]>(),
            readings in readings(),
            start in prop_oneof![
                any::<u128>(),
                Just(u128::from(u32::MAX - 20)),
                Just(u128::from(u64::MAX - 20)),
                Just(u128::MAX - 20),
            ],
        ) {
            let mut rng = EventRng::at(key, start);
            let mut plain = Philox::new(key, start);
            for reading in readings {
                match reading {
                    Reading::Unit => prop_assert_eq!(rng.unit(), philox::unit(plain.next_u64())),
                    Reading::U32 => prop_assert_eq!(rng.next_u32(), plain.next_u32()),
                    Reading::U64 => prop_assert_eq!(rng.next_u64(), plain.next_u64()),
                    Reading::Bytes(n) => {
                        let (mut found, mut expected) = (vec![0; n], vec![0; n]);
                        rng.fill_bytes(&mut found);
                        plain.fill_bytes(&mut expected);
                        prop_assert_eq!(found, expected);
                    }
                    Reading::Units(n) => {
                        let mut found = vec![0.0; n];
                        rng.fill_unit(&mut found);
                        for found in found {
                            prop_assert_eq!(found, philox::unit(plain.next_u64()));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn streams_differ() {
        let first = |seed, event, stream| EventRng::new(seed, event, stream).unit();
        let base = first(0, 0, Stream::Smoothness);
        assert_ne!(base, first(1, 0, Stream::Smoothness));
        assert_ne!(base, first(0, 1, Stream::Smoothness));
        assert_ne!(base, first(0, 0, Stream::Beta));
    }

    #[test]
    fn values_are_frozen() {
        // A change here is value-breaking: the same seed would give other actions.
        let mut rng = EventRng::new(7, 42, Stream::Action);
        let bits: Vec<u64> = (0..2).map(|_| rng.unit().to_bits()).collect();
        assert_eq!(bits, FROZEN);
    }

    const FROZEN: [u64; 2] = [4602313532166570566, 4593023523888955864];
}
