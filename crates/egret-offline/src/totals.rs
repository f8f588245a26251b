use crate::bootstrap::Replicates;
use crate::chunks::Scratch;
use crate::confidence_sequence::{Path, Sides};
use crate::diagnostics::WeightSummary;
use crate::estimator::Rule;
use crate::layout::Layout;
use crate::moments::{Moments, Terms};
use crate::{Columns, Plan};

/// All sums over some events.
#[derive(Debug, Clone)]
pub(crate) struct Totals {
    /// Of each rule.
    pub(crate) slots: Vec<SlotSums>,
    pub(crate) weights: WeightSummary,
    /// None before the first event, and where there is no bootstrap.
    pub(crate) replicates: Option<Replicates>,
    /// Of each bet.
    pub(crate) sides: Vec<Sides>,
    pub(crate) paths: Vec<Path>,
}

/// The sums of a rule.
#[derive(Debug, Clone, Default)]
pub(crate) struct SlotSums {
    pub(crate) moments: Moments,
    /// Σ h(w − ŵ)(ℓ − f̂), for rules to choose among.
    pub(crate) bias: f64,
}

/// What a chunk is summed by.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) layout: &'a Layout,
    /// The number of the first row of all.
    pub(crate) first_row: u64,
    /// Weights that it rules out of the largest need not be looked at again.
    pub(crate) so_far: &'a WeightSummary,
}

impl Totals {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self {
            slots: vec![SlotSums::default(); layout.rules.len()],
            weights: WeightSummary::new(),
            replicates: None,
            sides: layout.bets.iter().map(|bet| bet.empty()).collect(),
            paths: vec![Path::new(); layout.bets.len()],
        }
    }

    /// Of a chunk that has `before` events before it.
    pub(crate) fn of(
        source: &Source<'_>,
        columns: &Columns<'_>,
        before: u64,
        scratch: &mut Scratch,
    ) -> Self {
        let Source { plan, layout, .. } = *source;
        let mut sums = Self {
            weights: WeightSummary::of(columns, source.so_far),
            replicates: layout.bootstrapped.then(|| {
                let mut replicates = Replicates::new(plan.replicates, layout.rules.len());
                replicates.open(plan.seed, source.first_row + before, columns.len());
                replicates
            }),
            ..Self::new(layout)
        };
        for (slot, &rule) in layout.rules.iter().enumerate() {
            let (r, shrunk) = scratch.two(columns.len());
            rule.residuals(columns, r, shrunk);
            let terms = Terms {
                r,
                u: columns.baselines.filter(|_| rule.has_baseline()),
                v: (!rule.estimator.is_mean()).then_some(columns.weights),
                h: columns.shares,
            };
            if let Some(replicates) = &mut sums.replicates {
                replicates.observe(slot, &terms);
            }
            sums.slots[slot].moments = Moments::of(&terms);
            if layout.tuned(slot) {
                sums.slots[slot].bias = bias(rule, columns, shrunk);
            }
        }
        sums.bet(layout, columns, before, scratch);
        if let Some(replicates) = &mut sums.replicates {
            replicates.close();
        }
        sums
    }

    /// The sums of the confidence sequences, cut where their paths are looked at.
    fn bet(&mut self, layout: &Layout, columns: &Columns<'_>, before: u64, scratch: &mut Scratch) {
        let bets = layout.bets.iter().zip(&mut self.sides).zip(&mut self.paths);
        for ((bet, sides), path) in bets {
            let mut start = 0;
            while start < columns.len() {
                let look = Path::next_after(before + start as u64);
                let end = columns.len().min((look - before) as usize);
                bet.observe(&columns.part(start..end), scratch, sides);
                if before + end as u64 == look {
                    // Of this chunk alone: those before it are added with the rest.
                    path.push(end as u64, sides);
                }
                start = end;
            }
        }
    }

    /// Adds those of the events that follow.
    pub(crate) fn add(&mut self, later: &Self) {
        for ((path, sides), more) in self.paths.iter_mut().zip(&self.sides).zip(&later.paths) {
            path.append(self.weights.n(), sides, more);
        }
        for (sides, more) in self.sides.iter_mut().zip(&later.sides) {
            sides.merge(more);
        }
        for (slot, more) in self.slots.iter_mut().zip(&later.slots) {
            slot.moments.merge(&more.moments);
            slot.bias += more.bias;
        }
        match (&mut self.replicates, &later.replicates) {
            (Some(replicates), Some(more)) => replicates.merge(more),
            (None, Some(more)) => self.replicates = Some(more.clone()),
            (_, None) => {}
        }
        self.weights.merge(&later.weights);
    }
}

/// Σ h(w − ŵ)(ℓ − f̂).
fn bias(rule: Rule, columns: &Columns<'_>, shrunk: &[f64]) -> f64 {
    let fhats = columns.fhats.filter(|_| rule.has_baseline());
    let mut sum = 0.0;
    for i in 0..columns.len() {
        let residual = columns.losses[i] - fhats.map_or(0.0, |fhats| fhats[i]);
        let share = columns.shares.map_or(1.0, |shares| shares[i]);
        sum += share * (columns.weights[i] - shrunk[i]) * residual;
    }
    sum
}
