/// Logged events as an estimator sees them: one slice for each quantity. Those that are given have the same length.
///
/// | field              | symbol      | range   | meaning                                                             |
/// |--------------------|-------------|---------|---------------------------------------------------------------------|
/// | `losses`           | ℓ           | [0, 1]  | loss of the action                                                  |
/// | `weights`          | w = q/p     | [0, ∞)  | importance weight: the policy's density over the logged one; E w = 1 |
/// | `predicted`        | f̂(x, a)     | [0, 1]  | predicted loss of the logged action                                 |
/// | `policy_predicted` | E_q f̂(x, ·) | [0, ∞)  | the policy's predicted loss, or an unbiased estimate of it          |
/// | `truncated`        |             |         | see [`TruncatedMeans`]                                              |
/// | `weight_bounds`    | B           | [w, ∞]  | what w could not exceed, whatever the action; known before it was drawn |
/// | `event_weights`    | h           | (0, ∞)  | how much the event counts; known before its action was drawn, or 1/P(the event was kept) |
///
/// A prediction must not have been learned from the loss beside it, nor from a later one.
#[derive(Debug, Clone, Copy, Default)]
pub struct WeightedEvents<'a> {
    /// ℓ.
    pub losses: &'a [f64],
    /// w.
    pub weights: &'a [f64],
    /// f̂(x, a): estimators that use a model need it.
    pub predicted: Option<&'a [f64]>,
    /// E_q f̂(x, ·): estimators that use a model need it.
    pub policy_predicted: Option<&'a [f64]>,
    /// Means of predictions that large weights are cut off from: they narrow betting intervals.
    pub truncated: Option<TruncatedMeans<'a>>,
    /// B; ∞ where they are absent. They must not depend on what was drawn to estimate w: an estimated z has no part in them.
    pub weight_bounds: Option<&'a [f64]>,
    /// h; 1 where they are absent.
    pub event_weights: Option<&'a [f64]>,
}

/// Where w·f̂ is cut off in [`TruncatedMeans`].
pub const TRUNCATIONS: [f64; 8] = [1.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// E min(w·f̂, k) and E min(w·(1 − f̂), k) over the actions that the logging policy might have played, for each k of
/// [`TRUNCATIONS`]: one column for each. Or unbiased estimates of them, which must not depend on the action that it did play.
///
/// The policy that made the log must be known for that, over all actions or as draws: [`truncated_means`](crate::truncated_means)
/// takes them from decisions that its model makes again.
#[derive(Debug, Clone, Copy)]
pub struct TruncatedMeans<'a> {
    /// E min(w·f̂, k).
    pub below: [&'a [f64]; TRUNCATIONS.len()],
    /// E min(w·(1 − f̂), k).
    pub above: [&'a [f64]; TRUNCATIONS.len()],
}

impl WeightedEvents<'_> {
    /// How many events.
    pub fn len(&self) -> usize {
        self.losses.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.losses.is_empty()
    }

    /// Refuses numbers out of range and columns of different lengths. `first` is the number of the first row.
    pub(crate) fn check(&self, first: u64) -> Result<(), WeightedEventsError> {
        let truncated = self.truncated.iter();
        let truncated = truncated.flat_map(|means| means.below.into_iter().chain(means.above));
        let columns = [
            Some(Column::new("loss", self.losses, ONE)),
            Some(Column::new("weight", self.weights, FINITE)),
            self.predicted
                .map(|column| Column::new("predicted", column, ONE)),
            self.policy_predicted
                .map(|column| Column::new("policy_predicted", column, FINITE)),
            self.weight_bounds
                .map(|column| Column::new("weight_bound", column, NOT_NEGATIVE)),
            self.event_weights
                .map(|column| Column::new("event_weight", column, POSITIVE)),
        ];
        let columns = columns.into_iter().flatten();
        check_columns(
            self.len(),
            first,
            columns.chain(truncated.map(Column::truncated)),
        )
    }

    /// Refuses a weight above the bound that the caller gave.
    pub(crate) fn check_bound(
        &self,
        first: u64,
        bound: Option<f64>,
    ) -> Result<(), WeightedEventsError> {
        // Bounds of events are products, and may be off by rounding.
        let own = |place: usize| {
            let own = self.weight_bounds.map(|bounds| bounds[place]);
            own.map_or(f64::INFINITY, |own| own * (1.0 + 1e-9))
        };
        let bound = bound.unwrap_or(f64::INFINITY);
        if bound == f64::INFINITY && self.weight_bounds.is_none() {
            return Ok(());
        }
        let mut weights = self.weights.iter().enumerate();
        match weights.find(|&(place, &w)| bound < w || own(place) < w) {
            None => Ok(()),
            Some((place, &weight)) => Err(WeightedEventsError::WeightAboveBound {
                row: first + place as u64,
                weight,
                bound: bound.min(own(place)),
            }),
        }
    }
}

/// The least and the largest number that is allowed, and both in words.
type Allowed = (f64, f64, &'static str);

const ONE: Allowed = (0.0, 1.0, "[0, 1]");

/// Far beyond anything sensible, and squares still add up to finite numbers.
const FINITE: Allowed = (0.0, 1e100, "[0, 1e100]");

const NOT_NEGATIVE: Allowed = (0.0, f64::INFINITY, "[0, inf]");

const POSITIVE: Allowed = (1e-30, 1e30, "[1e-30, 1e30]");

const AT_MOST_THE_LARGEST_CUT: Allowed = (0.0, TRUNCATIONS[TRUNCATIONS.len() - 1], "[0, 256]");

/// A column and what may be in it.
pub(crate) struct Column<'a> {
    name: &'static str,
    values: &'a [f64],
    allowed: Allowed,
}

impl<'a> Column<'a> {
    fn new(name: &'static str, values: &'a [f64], allowed: Allowed) -> Self {
        Self {
            name,
            values,
            allowed,
        }
    }

    /// One of the truncated means.
    pub(crate) fn truncated(values: &'a [f64]) -> Self {
        Self::new("truncated", values, AT_MOST_THE_LARGEST_CUT)
    }

    /// E min(w₁, w₂).
    pub(crate) fn common(values: &'a [f64]) -> Self {
        Self::new("common", values, FINITE)
    }
}

/// Refuses numbers out of range and columns of another length. `first` is the number of the first row.
pub(crate) fn check_columns<'a>(
    losses: usize,
    first: u64,
    columns: impl Iterator<Item = Column<'a>>,
) -> Result<(), WeightedEventsError> {
    for column in columns {
        let Column {
            name,
            values,
            allowed: (low, high, expected),
        } = column;
        if values.len() != losses {
            return Err(WeightedEventsError::Length {
                name,
                length: values.len(),
                losses,
            });
        }
        if !all_within(values, low, high) {
            let bad = |value: &f64| !(low..=high).contains(value);
            let place = values.iter().position(bad).expect("one of them is bad");
            return Err(WeightedEventsError::Value {
                name,
                row: first + place as u64,
                value: values[place],
                expected,
            });
        }
    }
    Ok(())
}

/// Whether all values are in [low, high]. It never stops early: that lets the compiler use vectors, which is many times faster.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
pub(crate) fn all_within(values: &[f64], low: f64, high: f64) -> bool {
    values
        .iter()
        .fold(true, |all, &value| all & (low <= value) & (value <= high))
}

/// Which optional columns are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Present {
    pub(crate) predicted: bool,
    pub(crate) policy_predicted: bool,
    pub(crate) truncated: bool,
}

impl Present {
    pub(crate) fn of(events: &WeightedEvents<'_>) -> Self {
        Self {
            predicted: events.predicted.is_some(),
            policy_predicted: events.policy_predicted.is_some(),
            truncated: events.truncated.is_some(),
        }
    }

    pub(crate) fn check_equal(self, other: Self) -> Result<(), WeightedEventsError> {
        for (name, ours, theirs) in [
            ("predicted", self.predicted, other.predicted),
            (
                "policy_predicted",
                self.policy_predicted,
                other.policy_predicted,
            ),
            ("truncated", self.truncated, other.truncated),
        ] {
            if ours != theirs {
                return Err(WeightedEventsError::Unequal { name });
            }
        }
        Ok(())
    }
}

/// Why events were refused. None of the batch was used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WeightedEventsError {
    /// A number out of range.
    #[error("{name} of row {row} is {value}, expected a number in {expected}")]
    Value {
        /// Which column.
        name: &'static str,
        /// Which row, counted from 0 over all batches.
        row: u64,
        /// What it was.
        value: f64,
        /// The range it must be in.
        expected: &'static str,
    },
    /// Columns of different lengths.
    #[error("the column {name} has {length} rows, expected {losses} as in loss")]
    Length {
        /// Which column.
        name: &'static str,
        /// Its length.
        length: usize,
        /// The length of the losses.
        losses: usize,
    },
    /// A weight exceeds the bound that the caller gave.
    #[error("weight of row {row} is {weight}, above the bound {bound} that was given")]
    WeightAboveBound {
        /// Which row.
        row: u64,
        /// Its weight.
        weight: f64,
        /// The bound.
        bound: f64,
    },
    /// An estimator needs a column that is missing.
    #[error("{estimator} needs the column {name}, which is missing")]
    Missing {
        /// Which column.
        name: &'static str,
        /// Which estimator needs it.
        estimator: String,
    },
    /// A column was given in one batch and missing in another.
    #[error("the column {name} is given in some batches and missing in others")]
    Unequal {
        /// Which column.
        name: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_above_its_bound_is_named_and_rounding_is_not() {
        let losses = [0.5; 3];
        let events = |weights| WeightedEvents {
            losses: &losses,
            weights,
            weight_bounds: Some(&[2.0, 4.0, 8.0]),
            ..WeightedEvents::default()
        };
        assert!(!events(&[1.0; 3]).is_empty() && WeightedEvents::default().is_empty());
        let rounded = [2.0, 4.0 * (1.0 + 1e-12), 8.0];
        assert_eq!(events(&rounded).check_bound(0, None), Ok(()));
        assert_eq!(events(&rounded).check_bound(0, Some(8.0)), Ok(()));
        for (weights, bound, expected) in [
            (&[2.0, 4.1, 8.0], None, (11, 4.1, 4.0 * (1.0 + 1e-9))),
            (&[2.0, 3.0, 7.0], Some(6.0), (12, 7.0, 6.0)),
        ] {
            let refused = events(weights).check_bound(10, bound);
            let (row, weight, bound) = expected;
            let expected = WeightedEventsError::WeightAboveBound { row, weight, bound };
            assert_eq!(refused, Err(expected));
        }
    }

    #[test]
    fn batches_must_have_the_same_columns() {
        let bare = WeightedEvents::default();
        let predicted = WeightedEvents {
            predicted: Some(&[]),
            ..bare
        };
        let [bare, predicted] = [bare, predicted].map(|events| Present::of(&events));
        assert_eq!(bare.check_equal(bare), Ok(()));
        let refused = bare.check_equal(predicted);
        let name = "predicted";
        assert_eq!(refused, Err(WeightedEventsError::Unequal { name }));
    }

    #[test]
    fn a_bad_number_is_named_with_its_row() {
        let good = WeightedEvents {
            losses: &[0.0, 1.0],
            weights: &[0.0, 1e100],
            event_weights: Some(&[1e-9, 2.0]),
            ..WeightedEvents::default()
        };
        assert_eq!(good.check(0), Ok(()));
        for bad in [f64::NAN, -1e-300, f64::INFINITY] {
            let events = WeightedEvents {
                weights: &[1.0, bad],
                ..good
            };
            let error = events.check(40).expect_err("no weight");
            assert!(
                matches!(
                    error,
                    WeightedEventsError::Value {
                        name: "weight",
                        row: 41,
                        ..
                    }
                ),
                "{error}"
            );
        }
        let events = WeightedEvents {
            event_weights: Some(&[1.0, 0.0]),
            ..good
        };
        let error = events.check(0).expect_err("no event weight");
        assert_eq!(
            error.to_string(),
            "event_weight of row 1 is 0, expected a number in [1e-30, 1e30]"
        );
        let events = WeightedEvents {
            predicted: Some(&[0.5]),
            ..good
        };
        assert!(matches!(
            events.check(0),
            Err(WeightedEventsError::Length { .. })
        ));
    }
}
