//! Off-policy evaluation: the value of a policy from events that another policy logged.
//!
//! | file          | what                                                                              |
//! |---------------|-----------------------------------------------------------------------------------|
//! | `mod`         | [`Evaluation`]: takes in weighted events and sums them                            |
//! | `plan`        | [`Plan`]: which estimators, with which intervals                                  |
//! | `report`      | [`Report`]: one [`Estimate`] for each estimator and interval                      |
//! | `standing`    | [`Standing`]: whether an interval lies below or above the mean of the log         |
//! | `verdict`     | [`Verdict`]: whether an interval can be relied on, and why not                    |
//! | `diagnostics` | [`Diagnostics`]: effective sample size, largest weights, mean weight, tails       |
//! | `comparison`  | [`PolicyComparison`]: the difference between two policies on the same events      |
//! | `distribution` | [`OutcomeDistribution`]: quantiles, and the mean of the worst outcomes           |
//! | `layout`, `totals`, `pareto_tail` | which sums a plan needs, those sums, and the shape of a tail  |

mod comparison;
mod diagnostics;
mod distribution;
mod estimate;
mod layout;
mod pareto_tail;
mod plan;
mod report;
mod standing;
mod totals;
mod verdict;

pub use comparison::{Difference, PolicyComparison, PolicyComparisonReport};
pub use diagnostics::Diagnostics;
pub use distribution::{DistributionEstimate, OutcomeDistribution, Worst};
pub use estimate::Estimate;
pub use plan::{Plan, PlanError};
pub use report::{Report, Skipped};
pub use standing::Standing;
pub use verdict::{Verdict, VerdictKind};

use self::layout::Layout;
use self::totals::Totals;
use crate::estimator::Estimator;
use crate::interval::Confidence;
use crate::sums::{ABSENT, COLUMNS, Chunked, Rest, Rows, Scratch};
use crate::weighted_events::{Present, WeightedEvents, WeightedEventsError};

/// Estimates the value of one policy in one pass over the events, in constant memory.
///
/// The same rows give the same bits in any batches and on any number of threads. Rows are cut into chunks of 4,096 from row 0
/// on, whatever batches they come in. Each chunk is summed in a fixed order, chunks are summed in parallel, and their sums
/// are added in order.
///
/// ```
/// use egret_offline::{WeightedEvents, Confidence, Evaluation, Plan};
///
/// let mut evaluation = Evaluation::new(Plan::default())?;
/// evaluation.observe(&WeightedEvents {
///     losses: &[0.0, 1.0, 0.5, 0.0],
///     weights: &[2.0, 0.0, 1.0, 1.0],
///     ..WeightedEvents::default()
/// })?;
/// let report = evaluation.report(Confidence::new(0.95)?);
/// assert_eq!(report.estimates[0].estimate, 0.125);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Evaluation {
    plan: Plan,
    layout: Layout,
    /// Which optional columns are given; none before the first batch.
    present: Option<Present>,
    total: Totals,
    rest: Rest<COLUMNS>,
    left_out: u64,
    sampled_unequally: bool,
    /// The number of the first row.
    first_row: u64,
}

impl Evaluation {
    /// Refuses a plan that cannot be carried out.
    pub fn new(plan: Plan) -> Result<Self, PlanError> {
        Self::from_row(plan, 0)
    }

    /// For the part of a log that begins with this row, to be merged with the part before it.
    pub fn from_row(plan: Plan, first_row: u64) -> Result<Self, PlanError> {
        plan.check()?;
        let layout = Layout::new(&plan);
        let total = Totals::new(&layout);
        Ok(Self {
            plan,
            layout,
            present: None,
            total,
            rest: Rest::new(ABSENT),
            left_out: 0,
            sampled_unequally: false,
            first_row,
        })
    }

    /// Adds a batch of events. A batch that is refused leaves no trace.
    pub fn observe(&mut self, events: &WeightedEvents<'_>) -> Result<(), EvaluationError> {
        let row = self.first_row + self.events();
        events.check(row)?;
        self.check_present(events)?;
        events.check_bound(row, self.plan.weight_bound)?;
        self.present = Some(Present::of(events));
        // Taken out, so that `self` is free to add chunks.
        let mut rest = self.rest.take();
        rest.cut(&events.to_rows(), |rows| self.add_chunks(rows));
        self.rest = rest;
        Ok(())
    }

    /// Counts events that could not be weighed, such as those without a loss. Point masses are not among them: they count
    /// with weight 0.
    pub fn leave_out(&mut self, events: u64) {
        self.left_out += events;
    }

    /// Says that events were kept for the log with unequal probabilities, and that event weights hold their inverses. What was
    /// kept may then depend on the action and the loss, so no interval is given that needs h to be known before them.
    pub fn sampled_unequally(&mut self) {
        self.sampled_unequally = true;
    }

    /// How many events were weighed.
    pub fn events(&self) -> u64 {
        self.total.weights.n() + self.rest.len() as u64
    }

    /// Adds the next part of the log. Its first row must be the one after the last row here.
    ///
    /// The result is that of one pass over all rows, except that sums are rounded in another order. For equal bits, make one
    /// pass.
    pub fn merge(&mut self, later: &Self) -> Result<(), EvaluationError> {
        let expected = self.first_row + self.events();
        if later.plan != self.plan {
            return Err(EvaluationError::OtherPlan);
        }
        if later.first_row != expected {
            return Err(EvaluationError::Unconnected {
                expected,
                found: later.first_row,
            });
        }
        if let (Some(ours), Some(theirs)) = (self.present, later.present) {
            ours.check_equal(theirs)?;
        }
        self.present = self.present.or(later.present);
        let rest = std::mem::replace(&mut self.rest, later.rest.clone());
        self.add_chunks(&rest.rows());
        self.total.add(&later.total);
        self.left_out += later.left_out;
        self.sampled_unequally |= later.sampled_unequally;
        Ok(())
    }

    /// The estimates from all events so far. More can be added later.
    pub fn report(&self, confidence: Confidence) -> Report {
        let mut all = self.clone();
        let rest = all.rest.take();
        all.add_chunks(&rest.rows());
        let source = report::Source {
            plan: &all.plan,
            layout: &all.layout,
            total: &all.total,
            left_out: all.left_out,
            sampled_unequally: all.sampled_unequally,
        };
        source.report(confidence)
    }

    fn check_present(&self, events: &WeightedEvents<'_>) -> Result<(), WeightedEventsError> {
        let present = Present::of(events);
        if let Some(before) = self.present {
            before.check_equal(present)?;
        }
        for &estimator in &self.plan.estimators {
            if self.plan.truncated && estimator == Estimator::Dr && !present.truncated {
                return Err(WeightedEventsError::Missing {
                    name: "truncated",
                    estimator: estimator.to_string(),
                });
            }
            for (name, there) in [
                ("predicted", present.predicted),
                ("policy_predicted", present.policy_predicted),
            ] {
                if estimator.needs_model() && !there {
                    return Err(WeightedEventsError::Missing {
                        name,
                        estimator: estimator.to_string(),
                    });
                }
            }
        }
        Ok(())
    }
}

impl Chunked<COLUMNS> for Evaluation {
    type Sums = Totals;

    fn sum(&self, rows: &Rows<'_, COLUMNS>, before: u64, scratch: &mut Scratch) -> Totals {
        let source = totals::Source {
            plan: &self.plan,
            layout: &self.layout,
            first_row: self.first_row,
            so_far: &self.total.weights,
        };
        Totals::of(&source, &WeightedEvents::of_rows(rows), before, scratch)
    }

    fn add(&mut self, sums: &Totals) {
        self.total.add(sums);
    }

    fn rows_added(&self) -> u64 {
        self.total.weights.n()
    }
}

/// Why events were refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluationError {
    /// They are out of range, or columns are missing.
    #[error(transparent)]
    WeightedEvents(#[from] WeightedEventsError),
    /// The two parts have different plans.
    #[error("cannot merge: the other part has another plan")]
    OtherPlan,
    /// The later part does not follow the earlier one.
    #[error("cannot merge: expected a part that begins with row {expected}, found row {found}")]
    Unconnected {
        /// The row after the last one here.
        expected: u64,
        /// The first row of the later part.
        found: u64,
    },
}
