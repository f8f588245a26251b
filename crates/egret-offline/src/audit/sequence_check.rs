use serde::Serialize;

use crate::audit::report::MOST_NAMED;

/// Whether sequence numbers are dense: each is one more than the last.
///
/// Events are seldom dropped at random, so a log with gaps can be biased.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct SequenceCheck {
    /// How many events had a number.
    pub numbered: u64,
    /// How many numbers were skipped.
    pub missing: u64,
    /// How many numbers came again, or after a larger one.
    pub repeated: u64,
    /// The first gaps and repeats: (the number before, the number found).
    pub first: Vec<(u64, u64)>,
    #[serde(skip)]
    last: Option<u64>,
}

impl SequenceCheck {
    /// Takes the next number.
    pub fn observe(&mut self, seq: u64) {
        self.numbered += 1;
        let Some(last) = self.last else {
            self.last = Some(seq);
            return;
        };
        if seq == last.saturating_add(1) {
            self.last = Some(seq);
            return;
        }
        if self.first.len() < MOST_NAMED {
            self.first.push((last, seq));
        }
        if seq <= last {
            self.repeated += 1;
        } else {
            self.missing += seq - last - 1;
            self.last = Some(seq);
        }
    }

    /// Whether no number is missing or repeated.
    pub fn dense(&self) -> bool {
        self.missing == 0 && self.repeated == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_and_repeats_are_counted() {
        let check = |numbers: &[u64]| {
            let mut check = SequenceCheck::default();
            numbers.iter().for_each(|&seq| check.observe(seq));
            check
        };
        assert!(check(&[7, 8, 9]).dense());
        assert!(check(&[]).dense());
        let gap = check(&[1, 2, 6, 7]);
        assert_eq!((gap.missing, gap.repeated), (3, 0));
        assert_eq!(gap.first, [(2, 6)]);
        let again = check(&[1, 2, 2, 3, 1, 4]);
        assert_eq!((again.missing, again.repeated), (0, 2));
        assert_eq!(again.first, [(2, 2), (3, 1)]);
    }
}
