use crate::chunks::{Chunked, Rest, Rows, Scratch};
use crate::columns::{COLUMNS, Present};
use crate::layout::Layout;
use crate::report;
use crate::totals::{self, Totals};
use crate::{Columns, ColumnsError, Confidence, Plan, PlanError, Report};

/// The value of one policy, from events that pass by once.
///
/// Memory is constant. Rows are cut into chunks of 4,096 from row 0 on, whatever batches they come in; each chunk is summed in
/// one order, chunks are worked on side by side, and their sums are added in order: the same rows give
/// the same bits in any batches and on any number of threads.
///
/// ```
/// use egret_offline::{Columns, Confidence, Evaluation, Plan};
///
/// let mut evaluation = Evaluation::new(Plan::default())?;
/// evaluation.observe(&Columns {
///     losses: &[0.0, 1.0, 0.5, 0.0],
///     weights: &[2.0, 0.0, 1.0, 1.0],
///     ..Columns::default()
/// })?;
/// let report = evaluation.report(Confidence::new(0.95)?);
/// assert_eq!(report.estimates[0].estimate, 0.125);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Evaluation {
    plan: Plan,
    layout: Layout,
    /// Which optional columns there are, once known.
    present: Option<Present>,
    total: Totals,
    rest: Rest<COLUMNS>,
    left_out: u64,
    /// The number of the first row.
    first_row: u64,
}

impl Evaluation {
    /// Refuses a plan that cannot be carried out.
    pub fn new(plan: Plan) -> Result<Self, PlanError> {
        Self::from_row(plan, 0)
    }

    /// For a log whose first row has this number: a later part of another, to be merged with it.
    pub fn from_row(plan: Plan, first_row: u64) -> Result<Self, PlanError> {
        plan.check()?;
        let layout = Layout::new(&plan);
        let total = Totals::new(&layout);
        Ok(Self {
            plan,
            layout,
            present: None,
            total,
            rest: Rest::new(),
            left_out: 0,
            first_row,
        })
    }

    /// Adds events. Those of a batch that is refused are not used, none of them.
    pub fn observe(&mut self, columns: &Columns<'_>) -> Result<(), EvaluationError> {
        let row = self.first_row + self.events();
        columns.check(row)?;
        self.check_present(columns)?;
        columns.check_bound(row, self.plan.weight_bound)?;
        self.present = Some(Present::of(columns));
        // Taken out while chunks are added to the rest of it.
        let mut rest = std::mem::replace(&mut self.rest, Rest::new());
        rest.cut(&columns.to_rows(), |rows| self.add_chunks(rows));
        self.rest = rest;
        Ok(())
    }

    /// Tells of events that could not be weighed, such as those without a loss. A point mass can: it counts with weight 0.
    pub fn leave_out(&mut self, events: u64) {
        self.left_out += events;
    }

    /// How many events were weighed.
    pub fn events(&self) -> u64 {
        self.total.weights.n() + self.rest.len() as u64
    }

    /// Adds a later part of the log. Its first row must be the one after the last of this one.
    ///
    /// All is as if the rows had passed by in one go, but that sums are rounded in another order: for equal bits, pass them by.
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
        Ok(())
    }

    /// What is known so far. Events can be added after it.
    pub fn report(&self, confidence: Confidence) -> Report {
        let mut all = self.clone();
        let rest = std::mem::replace(&mut all.rest, Rest::new());
        all.add_chunks(&rest.rows());
        let source = report::Source {
            plan: &all.plan,
            layout: &all.layout,
            total: &all.total,
            left_out: all.left_out,
            shares: all.present.is_some_and(|present| present.shares),
        };
        source.report(confidence)
    }

    fn check_present(&self, columns: &Columns<'_>) -> Result<(), ColumnsError> {
        let present = Present::of(columns);
        if let Some(before) = self.present {
            before.check_equal(present)?;
        }
        for &estimator in &self.plan.estimators {
            for (name, there) in [("fhat", present.fhats), ("baseline", present.baselines)] {
                if estimator.needs_model() && !there {
                    return Err(ColumnsError::Missing {
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
        Totals::of(&source, &Columns::of_rows(rows), before, scratch)
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
    /// They are not what an event can be.
    #[error(transparent)]
    Columns(#[from] ColumnsError),
    /// Two parts that were not summed alike.
    #[error("cannot merge: the other part has another plan")]
    OtherPlan,
    /// Two parts that do not follow one another.
    #[error("cannot merge: expected a part that begins with row {expected}, found row {found}")]
    Unconnected {
        /// The row after the last.
        expected: u64,
        /// The first row of the later part.
        found: u64,
    },
}
