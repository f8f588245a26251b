use rand::Rng;

use crate::numeric::EventRng;

/// Whole numbers below `n`, each with probability exactly 1/n (Lemire 2019: multiply, shift, and reject the few words
/// that would cause bias).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UniformIndex {
    n: u32,
    reject_below: u32,
}

impl UniformIndex {
    /// # Panics
    /// If `n` is 0.
    pub(crate) fn new(n: u32) -> Self {
        assert!(0 < n, "there is an index to draw");
        Self {
            n,
            // 2³² mod n
            reject_below: n.wrapping_neg() % n,
        }
    }

    pub(crate) fn n(&self) -> u32 {
        self.n
    }

    /// The index for a random word; none if the word is rejected.
    #[inline(always)]
    pub(crate) fn index(&self, word: u32) -> Option<u32> {
        let product = u64::from(word) * u64::from(self.n);
        (self.reject_below <= product as u32).then_some((product >> 32) as u32)
    }

    pub(crate) fn draw(&self, rng: &mut EventRng) -> u32 {
        loop {
            if let Some(index) = self.index(rng.next_u32()) {
                return index;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use egret_testkit::chi_square_p_value;

    use super::*;
    use crate::numeric::Stream;

    #[test]
    fn indices_are_equally_probable() {
        let mut rng = EventRng::new(5, 0, Stream::World);
        let index = UniformIndex::new(7);
        let mut counts = [0; 7];
        for _ in 0..100_000 {
            counts[index.draw(&mut rng) as usize] += 1;
        }
        // False alarm: one in a million. Power: one index at 0.16 in place of 1/7 is seen.
        assert!(1e-6 < chi_square_p_value(&counts, &[1.0 / 7.0; 7]));
        let mut tilted = [0.14; 7];
        tilted[0] = 0.16;
        assert!(chi_square_p_value(&counts, &tilted) < 1e-6);
    }

    #[test]
    fn words_are_shared_out_evenly() {
        // For each index as many low halves pass: what is kept of 2³² is a multiple of n.
        for n in [1, 2, 3, 7, 10_000_000, u32::MAX] {
            let index = UniformIndex::new(n);
            let kept = (1_u64 << 32) - u64::from(index.reject_below);
            assert_eq!(kept % u64::from(n), 0);
            assert_eq!(index.index(u32::MAX), Some(n - 1));
        }
    }
}
