use egret_offline::{
    PairedEvents, PairedTruncatedColumns, TRUNCATIONS, TruncatedMeans, WeightedEvents,
};

use super::density::Largest;

/// Events of a scan, weighted for every policy at once.
#[derive(Debug, Default)]
pub(super) struct WeightedBatch {
    /// Where in the objective's range outcomes lie, from its lower end up. Estimators take shares where they speak of losses:
    /// importance weighting then acts on rewards as they are, and not on what is missing from the highest one, which
    /// would spread far more.
    pub shares: Vec<f64>,
    /// f̂(x, a), where there is an f̂.
    pub predicted: Vec<f64>,
    /// τ/(τ + γ), where estimates are to be stabilized.
    pub event_weights: Vec<f64>,
    /// κ, of the events that tell z.
    pub kappas: Vec<f64>,
    /// 1/p at most, of the events: ∞ where nobody knows.
    pub largest_inverses: Vec<f64>,
    /// For each policy: w, and E_q f̂ where there is an f̂.
    pub policies: Vec<(Vec<f64>, Vec<f64>)>,
    /// For each policy what w could not exceed, if its density has a bound.
    pub bounds: Vec<Vec<f64>>,
    /// For each policy its truncated means, where decisions were made again.
    pub truncated: Vec<TruncatedColumns>,
    /// For each policy those beside the one that it is compared with.
    pub beside: Vec<PairedTruncatedColumns>,
}

/// The columns of [`TruncatedMeans`].
pub(super) type TruncatedColumns = [[Vec<f64>; TRUNCATIONS.len()]; 2];

impl WeightedBatch {
    /// Room for so many policies.
    pub(super) fn new(policies: usize) -> Self {
        Self {
            policies: vec![Default::default(); policies],
            bounds: vec![Vec::new(); policies],
            truncated: vec![Default::default(); policies],
            beside: vec![PairedTruncatedColumns::default(); policies],
            ..Self::default()
        }
    }

    /// Forgets the events and keeps the memory.
    pub(super) fn clear(&mut self) {
        let Self {
            shares,
            predicted,
            event_weights,
            kappas,
            largest_inverses,
            policies,
            bounds,
            truncated,
            beside,
        } = self;
        let columns = [shares, predicted, event_weights, kappas, largest_inverses];
        let truncated = truncated.iter_mut().flatten().flatten();
        for column in columns.into_iter().chain(bounds).chain(truncated) {
            column.clear();
        }
        for (weights, policy_predicted) in policies {
            weights.clear();
            policy_predicted.clear();
        }
        beside.iter_mut().for_each(PairedTruncatedColumns::clear);
    }

    /// Some of the events, by their rows. κ is told of all events alone.
    pub(super) fn only(&self, rows: &[usize]) -> Self {
        let of = |column: &Vec<f64>| match column.is_empty() {
            true => Vec::new(),
            false => rows.iter().map(|&row| column[row]).collect(),
        };
        let policies = self.policies.iter();
        Self {
            shares: of(&self.shares),
            predicted: of(&self.predicted),
            event_weights: of(&self.event_weights),
            kappas: Vec::new(),
            largest_inverses: of(&self.largest_inverses),
            policies: policies
                .map(|(weights, predicted)| (of(weights), of(predicted)))
                .collect(),
            bounds: vec![Vec::new(); self.policies.len()],
            truncated: self
                .truncated
                .iter()
                .map(|sides| sides.each_ref().map(|columns| columns.each_ref().map(of)))
                .collect(),
            beside: self.beside.iter().map(|means| means.only(rows)).collect(),
        }
    }

    /// The same without f̂.
    pub(super) fn without_predictions(mut self) -> Self {
        self.predicted.clear();
        for (_, predicted) in &mut self.policies {
            predicted.clear();
        }
        for column in self.truncated.iter_mut().flatten().flatten() {
            column.clear();
        }
        for means in &mut self.beside {
            means.clear();
        }
        self
    }

    /// Divides event weights by a unit: by default the power of two at or below the first of them, which is returned for the
    /// events that follow. Estimates do not depend on it, to the bit; bets are chosen for event weights around 1.
    pub(super) fn scale_event_weights(&mut self, unit: Option<f64>) -> Option<f64> {
        const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
        let first = self.event_weights.first();
        let unit = unit.or_else(|| first.map(|h| f64::from_bits(h.to_bits() & EXPONENT)));
        for h in &mut self.event_weights {
            *h /= unit.unwrap_or(1.0);
        }
        unit
    }

    /// Makes the bounds of the policies, from the largest density or weight of each.
    pub(super) fn bound(&mut self, largest: &[Option<Largest>]) {
        for (bounds, largest) in self.bounds.iter_mut().zip(largest) {
            let inverses = self.largest_inverses.iter();
            bounds.extend(
                largest
                    .iter()
                    .flat_map(|one| inverses.clone().map(|&inverse| one.weight(inverse))),
            );
        }
    }

    /// As one policy sees them.
    pub(super) fn of(&self, policy: usize) -> WeightedEvents<'_> {
        let (weights, policy_predicted) = &self.policies[policy];
        WeightedEvents {
            losses: &self.shares,
            weights,
            predicted: self.optional(&self.predicted),
            policy_predicted: self.optional(policy_predicted),
            truncated: self.truncated_means(policy),
            weight_bounds: self.optional(&self.bounds[policy]),
            event_weights: self.optional(&self.event_weights),
        }
    }

    /// As two policies see them.
    pub(super) fn paired(&self, first: usize, second: usize) -> PairedEvents<'_> {
        let (one, two) = (self.of(first), self.of(second));
        let beside = &self.beside[first];
        PairedEvents {
            losses: &self.shares,
            weights: [one.weights, two.weights],
            predictions: match (one.predicted, one.policy_predicted, two.policy_predicted) {
                (Some(predicted), Some(one), Some(two)) => Some([predicted, one, two]),
                _ => None,
            },
            truncated: (beside.len() == self.shares.len()).then(|| beside.means()),
            weight_bounds: one
                .weight_bounds
                .zip(two.weight_bounds)
                .map(|(one, two)| [one, two]),
            event_weights: one.event_weights,
        }
    }

    fn truncated_means(&self, policy: usize) -> Option<TruncatedMeans<'_>> {
        let [below, above] = &self.truncated[policy];
        self.optional(&below[0])?;
        Some(TruncatedMeans {
            below: below.each_ref().map(|column| &column[..]),
            above: above.each_ref().map(|column| &column[..]),
        })
    }

    fn optional<'a>(&self, column: &'a [f64]) -> Option<&'a [f64]> {
        (column.len() == self.shares.len()).then_some(column)
    }
}
