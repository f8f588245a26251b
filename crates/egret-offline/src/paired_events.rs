use crate::weighted_events::{
    Column, TRUNCATIONS, WeightedEvents, WeightedEventsError, check_columns,
};

/// Logged events with the weights of two policies. [`WeightedEvents`] describes each quantity.
#[derive(Debug, Clone, Copy, Default)]
pub struct PairedEvents<'a> {
    /// ℓ.
    pub losses: &'a [f64],
    /// w₁ and w₂.
    pub weights: [&'a [f64]; 2],
    /// f̂(x, a), E_q₁ f̂(x, ·) and E_q₂ f̂(x, ·).
    pub predictions: Option<[&'a [f64]; 3]>,
    /// Means of what large weights are cut off from: they narrow betting intervals.
    pub truncated: Option<PairedTruncatedMeans<'a>>,
    /// B₁ and B₂, which w₁ and w₂ could not exceed.
    pub weight_bounds: Option<[&'a [f64]; 2]>,
    /// h.
    pub event_weights: Option<&'a [f64]>,
}

/// Means over the actions that the logging policy might have played, or unbiased estimates of them, which must not depend on
/// the action that it did play: for each k of [`TRUNCATIONS`] one column of E min(Ẑ, k), where
///
/// Ẑ = (w₁ − w₂)₊ f̂ + (w₂ − w₁)₊ (1 − f̂)
///
/// is what differs between the policies, as it is predicted. [`paired_truncated_means`] takes them from decisions that the model of
/// the log makes again.
#[derive(Debug, Clone, Copy)]
pub struct PairedTruncatedMeans<'a> {
    /// E min(w₁, w₂): what the policies have in common.
    pub common: &'a [f64],
    /// E min(Ẑ, k).
    pub below: [&'a [f64]; TRUNCATIONS.len()],
    /// The same with 1 − f̂ in place of f̂.
    pub above: [&'a [f64]; TRUNCATIONS.len()],
}

/// Z of a loss, and Ẑ of a predicted one.
pub(crate) fn differing([w1, w2]: [f64; 2], loss: f64) -> f64 {
    match w2 < w1 {
        true => (w1 - w2) * loss,
        false => (w2 - w1) * (1.0 - loss),
    }
}

/// What the columns of [`PairedTruncatedMeans`] are at one event, as means over decisions that the logging model makes again
/// ([`Learner::decide_again`](egret::Learner::decide_again)): each gives the weights for the two policies, 0 for a point mass, and f̂ of
/// its action. Of no decision at all they are 0.
pub fn paired_truncated_means(
    again: impl ExactSizeIterator<Item = ([f64; 2], f64)>,
) -> PairedMeans {
    let share = 1.0 / again.len().max(1) as f64;
    let mut means = [0.0; 1 + 2 * TRUNCATIONS.len()];
    for (weights, fhat) in again {
        let (common, sides) = means.split_at_mut(1);
        common[0] += share * weights[0].min(weights[1]);
        let sides = sides.chunks_mut(TRUNCATIONS.len());
        for (means, fhat) in sides.zip([fhat, 1.0 - fhat]) {
            let differing = differing(weights, fhat);
            for (mean, cut) in means.iter_mut().zip(TRUNCATIONS) {
                *mean += share * differing.min(cut);
            }
        }
    }
    means
}

/// The numbers that [`PairedTruncatedMeans`] has at one event, in the order of its fields.
pub type PairedMeans = [f64; 1 + 2 * TRUNCATIONS.len()];

/// The columns of [`PairedTruncatedMeans`] as they are filled, event by event.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PairedTruncatedColumns([Vec<f64>; 1 + 2 * TRUNCATIONS.len()]);

impl PairedTruncatedColumns {
    /// Adds an event, which has these [`paired_truncated_means`].
    pub fn push(&mut self, means: &PairedMeans) {
        for (column, mean) in self.0.iter_mut().zip(means) {
            column.push(*mean);
        }
    }

    /// How many events.
    pub fn len(&self) -> usize {
        self.0[0].len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets the events and keeps the memory.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(Vec::clear);
    }

    /// Some of the events, by their rows; none where there is none.
    pub fn only(&self, rows: &[usize]) -> Self {
        match self.is_empty() {
            true => Self::default(),
            false => Self(
                self.0
                    .each_ref()
                    .map(|column| rows.iter().map(|&row| column[row]).collect()),
            ),
        }
    }

    /// As an evaluation takes them.
    pub fn means(&self) -> PairedTruncatedMeans<'_> {
        let [common, sides @ ..] = &self.0;
        let side = |from: usize| std::array::from_fn(|place| &sides[from + place][..]);
        PairedTruncatedMeans {
            common,
            below: side(0),
            above: side(TRUNCATIONS.len()),
        }
    }
}

impl<'a> PairedEvents<'a> {
    /// How many events.
    pub(crate) fn len(&self) -> usize {
        self.losses.len()
    }

    /// The events of one policy.
    pub(crate) fn policy(&self, policy: usize) -> WeightedEvents<'a> {
        WeightedEvents {
            losses: self.losses,
            weights: self.weights[policy],
            predicted: self.predictions.map(|columns| columns[0]),
            policy_predicted: self.predictions.map(|columns| columns[1 + policy]),
            truncated: None,
            weight_bounds: self.weight_bounds.map(|bounds| bounds[policy]),
            event_weights: self.event_weights,
        }
    }

    /// Refuses numbers out of range, columns of different lengths, and weights above their bounds.
    pub(crate) fn check(&self, first: u64, bound: Option<f64>) -> Result<(), WeightedEventsError> {
        for policy in [0, 1] {
            let events = self.policy(policy);
            events.check(first)?;
            events.check_bound(first, bound)?;
        }
        if let Some(means) = &self.truncated {
            let sides = means.below.into_iter().chain(means.above);
            let columns = sides.map(Column::truncated);
            let common = std::iter::once(Column::common(means.common));
            check_columns(self.len(), first, common.chain(columns))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_filled_and_cut_to_rows() {
        let mut columns = PairedTruncatedColumns::default();
        assert!(columns.is_empty() && columns.only(&[]).is_empty());
        let means = |event: f64| std::array::from_fn(|place| event + place as f64);
        for event in [0.0, 100.0, 200.0] {
            columns.push(&means(event));
        }
        assert!(columns.len() == 3 && !columns.is_empty());
        let mut last_and_first = PairedTruncatedColumns::default();
        last_and_first.push(&means(200.0));
        last_and_first.push(&means(0.0));
        assert_eq!(columns.only(&[2, 0]), last_and_first);
        let found = last_and_first.means();
        assert_eq!(found.common, [200.0, 0.0]);
        assert_eq!(
            (found.below[0], found.below[7]),
            (&[201.0, 1.0][..], &[208.0, 8.0][..])
        );
        assert_eq!(
            (found.above[0], found.above[7]),
            (&[209.0, 9.0][..], &[216.0, 16.0][..])
        );
        columns.clear();
        assert_eq!(columns, PairedTruncatedColumns::default());
    }

    #[test]
    fn each_policy_has_its_columns_and_is_checked() {
        let good = PairedEvents {
            losses: &[0.5],
            weights: [&[1.0], &[2.0]],
            predictions: Some([&[0.1], &[0.2], &[0.3]]),
            weight_bounds: Some([&[4.0], &[8.0]]),
            ..PairedEvents::default()
        };
        for (policy, weight, predicted, bound) in [(0, 1.0, 0.2, 4.0), (1, 2.0, 0.3, 8.0)] {
            let events = good.policy(policy);
            assert_eq!((events.weights[0], events.losses[0]), (weight, 0.5));
            assert_eq!(events.predicted, Some(&[0.1][..]));
            assert_eq!(events.policy_predicted, Some(&[predicted][..]));
            assert_eq!(events.weight_bounds, Some(&[bound][..]));
        }
        assert_eq!(good.check(0, None), Ok(()));
        for bad in [
            PairedEvents {
                weights: [&[1.0], &[-2.0]],
                ..good
            },
            PairedEvents {
                weights: [&[5.0], &[2.0]],
                ..good
            },
            PairedEvents {
                weights: [&[1.0], &[9.0]],
                ..good
            },
            PairedEvents {
                losses: &[1.5],
                ..good
            },
        ] {
            assert!(bad.check(0, None).is_err(), "{bad:?}");
        }
        assert!(good.check(0, Some(1.5)).is_err());
        let mut columns = PairedTruncatedColumns::default();
        columns.push(&[0.5; 1 + 2 * TRUNCATIONS.len()]);
        columns.push(&[0.5; 1 + 2 * TRUNCATIONS.len()]);
        let too_long = PairedEvents {
            truncated: Some(columns.means()),
            ..good
        };
        assert!(too_long.check(0, None).is_err());
    }
}
