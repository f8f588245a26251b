use crate::evaluation::Plan;
use crate::evaluation::diagnostics::WeightSummary;
use crate::evaluation::layout::Layout;
use crate::interval::betting::{Path, Sides};
use crate::interval::{Counts, Replicates};
use crate::sums::{Moments, Scratch, Terms};
use crate::weighted_events::WeightedEvents;

/// All sums over some events that a [`Layout`] asks for.
#[derive(Debug, Clone)]
pub(crate) struct Totals {
    /// The moments of each rule.
    pub(crate) slots: Vec<Moments>,
    pub(crate) weights: WeightSummary,
    /// None before the first event, and where the plan has no bootstrap.
    pub(crate) replicates: Option<Replicates>,
    /// The confidence sequence of the widest bet; none where the plan has no bets.
    pub(crate) sides: Option<Sides>,
    pub(crate) path: Path,
}

/// What is needed to sum a chunk.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) layout: &'a Layout,
    /// The number of the first row of all.
    pub(crate) first_row: u64,
    /// The summary of earlier weights: smaller ones cannot be among the largest.
    pub(crate) so_far: &'a WeightSummary,
}

impl Totals {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self {
            slots: vec![Moments::default(); layout.rules.len()],
            weights: WeightSummary::new(),
            replicates: None,
            sides: layout.widest_bet().map(|bet| bet.empty()),
            path: Path::new(),
        }
    }

    /// The sums of a chunk that comes after `before` events.
    pub(crate) fn of(
        source: &Source<'_>,
        events: &WeightedEvents<'_>,
        before: u64,
        scratch: &mut Scratch,
    ) -> Self {
        let Source { plan, layout, .. } = *source;
        let mut sums = Self {
            weights: WeightSummary::of(events, source.so_far),
            ..Self::new(layout)
        };
        let mut bootstrap = layout.bootstrapped.then(|| {
            let row = source.first_row + before;
            let counts = Counts::draw(plan.replicates, plan.seed, row, events.len());
            let mut replicates = Replicates::new(plan.replicates, layout.rules.len());
            replicates.observe(&counts, events);
            (counts, replicates)
        });
        for (slot, &rule) in layout.rules.iter().enumerate() {
            let (r, shrunk) = scratch.two(events.len());
            rule.residuals(events, r, shrunk);
            let terms = Terms {
                r,
                u: events
                    .policy_predicted
                    .filter(|_| rule.has_policy_predicted()),
                v: (!rule.estimator.is_mean()).then_some(events.weights),
                h: events.event_weights,
            };
            if let Some((counts, replicates)) = &mut bootstrap {
                replicates.observe_residuals(slot, counts, r, events.event_weights);
            }
            sums.slots[slot] = Moments::of(&terms);
        }
        sums.bet(layout, events, before, scratch);
        sums.replicates = bootstrap.map(|(_, replicates)| replicates);
        sums
    }

    /// Adds the chunk to the confidence sequence, and to its path where a point is due.
    fn bet(
        &mut self,
        layout: &Layout,
        events: &WeightedEvents<'_>,
        before: u64,
        scratch: &mut Scratch,
    ) {
        let Some((bet, sides)) = layout.widest_bet().zip(self.sides.as_mut()) else {
            return;
        };
        let mut start = 0;
        while start < events.len() {
            let look = Path::next_after(before + start as u64);
            let end = events.len().min((look - before) as usize);
            bet.observe(&events.part(start..end), scratch, sides);
            if before + end as u64 == look {
                // The sides of this chunk alone: `add` adds those before it.
                self.path.push(end as u64, sides);
            }
            start = end;
        }
    }

    /// Adds the sums of the events that follow.
    pub(crate) fn add(&mut self, later: &Self) {
        if let Some((sides, more)) = self.sides.as_mut().zip(later.sides.as_ref()) {
            self.path.append(self.weights.n(), sides, &later.path);
            sides.merge(more);
        }
        for (slot, more) in self.slots.iter_mut().zip(&later.slots) {
            slot.merge(more);
        }
        match (&mut self.replicates, &later.replicates) {
            (Some(replicates), Some(more)) => replicates.merge(more),
            (None, Some(more)) => self.replicates = Some(more.clone()),
            (_, None) => {}
        }
        self.weights.merge(&later.weights);
    }
}
