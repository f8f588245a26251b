use egret::{EventRng, OutOfRange, Stream};
use serde::{Deserialize, Serialize};

/// The shares of a log that train, validate (and so end training), and test.
///
/// In the order of the log, test rows come after all rows that were learned from. Intervals then hold even if the logging
/// policy learned as it went, for the tested policy was fixed before any test row. With shuffled rows, as in the paper,
/// later rows train a policy that earlier rows test. That is harmless if the logging policy did not learn.
///
/// ```
/// use egret_offline::{Order, Split};
///
/// let parts = Split::new(0.8, 0.1, 0.1)?.parts(1_000, Order::Log);
/// assert_eq!((parts.train.len(), parts.validation.len(), parts.test.len()), (800, 100, 100));
/// assert_eq!(parts.test[0], 900);
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Split {
    train: f64,
    validation: f64,
    test: f64,
}

/// In which order rows are dealt out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// As they were logged: training rows first, test rows last.
    Log,
    /// Shuffled with this seed.
    Shuffled(u64),
}

/// The rows of each part, by number. Together they are all rows, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitRows {
    /// Rows to learn from.
    pub train: Vec<usize>,
    /// Rows that say when to stop.
    pub validation: Vec<usize>,
    /// Rows to test on. Nothing was chosen with them before.
    pub test: Vec<usize>,
}

impl Split {
    /// The shares sum to 1, and the first is positive.
    pub fn new(train: f64, validation: f64, test: f64) -> Result<Self, OutOfRange> {
        OutOfRange::unless(
            0.0 < train && train <= 1.0,
            "share to train on",
            train,
            "(0, 1]",
        )?;
        for (name, share) in [
            ("share to validate on", validation),
            ("share to test on", test),
        ] {
            OutOfRange::unless((0.0..1.0).contains(&share), name, share, "[0, 1)")?;
        }
        let sum = train + validation + test;
        OutOfRange::unless((sum - 1.0).abs() < 1e-9, "sum of the shares", sum, "{1}")?;
        Ok(Self {
            train,
            validation,
            test,
        })
    }

    /// The paper's: 80%, 10%, 10%.
    pub fn paper() -> Self {
        Self {
            train: 0.8,
            validation: 0.1,
            test: 0.1,
        }
    }

    /// Deals out `rows` rows. Each part is within one row of its share; training gets what rounding leaves.
    pub fn parts(&self, rows: usize, order: Order) -> SplitRows {
        let mut train: Vec<usize> = (0..rows).collect();
        if let Order::Shuffled(seed) = order {
            shuffle(&mut train, EventRng::new(seed, SPLIT, Stream::World));
        }
        let count = |share: f64| (share * rows as f64).round() as usize;
        let test = train.split_off(rows - count(self.test).min(rows));
        let validation = train.split_off(train.len() - count(self.validation).min(train.len()));
        SplitRows {
            train,
            validation,
            test,
        }
    }
}

/// The event number that shuffles are drawn at; no log has it.
const SPLIT: u64 = u64::MAX - 1;

/// Shuffles so that every order is equally likely (Fisher and Yates).
pub(crate) fn shuffle<T>(items: &mut [T], mut rng: EventRng) {
    for last in (1..items.len()).rev() {
        let place = (rng.unit() * (last + 1) as f64) as usize;
        items.swap(last, place.min(last));
    }
}

#[cfg(test)]
mod tests {
    use egret_testkit::chi_square_p_value;

    use super::*;

    #[test]
    fn parts_are_all_rows_once() {
        let split = Split::new(0.7, 0.2, 0.1).expect("sums to 1");
        for rows in [0, 1, 2, 9, 100, 1_003] {
            for order in [Order::Log, Order::Shuffled(3)] {
                let parts = split.parts(rows, order);
                let mut all = [parts.train, parts.validation, parts.test].concat();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..rows), "{rows} {order:?}");
            }
        }
    }

    #[test]
    fn a_seed_is_a_split() {
        let split = Split::paper();
        let test = |seed| split.parts(500, Order::Shuffled(seed)).test;
        assert_eq!(test(1), test(1));
        assert_ne!(test(1), test(2));
    }

    #[test]
    fn orders_are_alike() {
        // 24 orders of four, 4,800 times; a fair shuffle fails with probability 1e-6.
        let mut counts = [0_u64; 24];
        for event in 0..4_800 {
            let mut items = [0, 1, 2, 3];
            shuffle(&mut items, EventRng::new(5, event, Stream::World));
            let [a, b, c, _] = items;
            let second = b - usize::from(a < b);
            let third = c - usize::from(a < c) - usize::from(b < c);
            counts[a * 6 + second * 2 + third] += 1;
        }
        let expected = [1.0 / 24.0; 24];
        assert!(chi_square_p_value(&counts, &expected) > 1e-6, "{counts:?}");
    }

    #[test]
    fn shares_that_cannot_be_are_refused() {
        for (train, validation, test) in [
            (0.0, 0.5, 0.5),
            (0.8, 0.1, 0.2),
            (1.1, -0.1, 0.0),
            (f64::NAN, 0.1, 0.1),
            (0.8, f64::NAN, 0.1),
        ] {
            assert!(
                Split::new(train, validation, test).is_err(),
                "{train} {validation} {test}"
            );
        }
        assert!(Split::new(1.0, 0.0, 0.0).is_ok());
    }
}
