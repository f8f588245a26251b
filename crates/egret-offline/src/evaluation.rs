use rayon::prelude::*;

use crate::bootstrap::{Replicates, percentile_interval};
use crate::confidence_sequence::{Path, PathPoint, Side, Sides};
use crate::diagnostics::WeightSummary;
use crate::empirical_bernstein::EmpiricalBernstein;
use crate::estimator::Rule;
use crate::moments::{Moments, Terms};
use crate::normal_interval::normal_quantile_above;
use crate::verdict::{Subject, Verdict};
use crate::{
    Columns, ColumnsError, Confidence, Diagnostics, Estimate, Estimator, Hyperparameter,
    IntervalKind,
};

/// What is to be estimated, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// By these estimators.
    pub estimators: Vec<Estimator>,
    /// With these intervals.
    pub intervals: Vec<IntervalKind>,
    /// No weight is above this, it is promised; a weight that is ends the evaluation. At least 1.
    pub weight_bound: Option<f64>,
    /// How many logs the bootstrap draws. 200 are enough for 95% (Efron & Tibshirani 1993 ask for more for the ends
    /// than for the standard error; the memory is 200 numbers a sum).
    pub replicates: usize,
    /// Seed of the bootstrap.
    pub seed: u64,
}

impl Default for Plan {
    /// IPS, SNIPS, with normal and betting intervals.
    fn default() -> Self {
        Self {
            estimators: vec![Estimator::Ips, Estimator::Snips],
            intervals: vec![IntervalKind::Normal, IntervalKind::Betting],
            weight_bound: None,
            replicates: 200,
            seed: 0,
        }
    }
}

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
    rest: Rest,
    left_out: u64,
    /// The number of the first row.
    first_row: u64,
}

/// All that an evaluation has to say.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Each estimator with each interval that it can have, in the order of the plan.
    pub estimates: Vec<Estimate>,
    /// Those it cannot have.
    pub skipped: Vec<Skipped>,
    /// What the weights are like.
    pub diagnostics: Diagnostics,
    /// The betting interval over time, of the first estimator that has one.
    pub path: Vec<PathPoint>,
}

/// An interval that an estimator cannot have.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Skipped {
    /// Which estimator.
    pub estimator: Estimator,
    /// Which interval.
    pub interval: IntervalKind,
    /// Why.
    pub reason: &'static str,
}

/// Rows of a chunk.
pub(crate) const CHUNK: usize = 4_096;

/// Chunks whose sums wait for one another at most.
const GROUP: usize = 64;

impl Evaluation {
    /// Refuses a plan that cannot be carried out.
    pub fn new(plan: Plan) -> Result<Self, PlanError> {
        Self::from_row(plan, 0)
    }

    /// For a log whose first row has this number: a later part of another, to be merged with it.
    pub fn from_row(plan: Plan, first_row: u64) -> Result<Self, PlanError> {
        if plan.estimators.is_empty() {
            return Err(PlanError::NoEstimator);
        }
        if let Some(bound) = plan.weight_bound
            && !(1.0 <= bound && bound.is_finite())
        {
            return Err(PlanError::WeightBound { bound });
        }
        if plan.intervals.contains(&IntervalKind::Bootstrap) && plan.replicates < 2 {
            return Err(PlanError::Replicates {
                replicates: plan.replicates,
            });
        }
        let layout = Layout::new(&plan);
        let total = Totals::new(&layout);
        Ok(Self {
            plan,
            layout,
            present: None,
            total,
            rest: Rest::default(),
            left_out: 0,
            first_row,
        })
    }

    /// Adds events. Those of a batch that is refused are not used, none of them.
    pub fn observe(&mut self, columns: &Columns<'_>) -> Result<(), EvaluationError> {
        let row = self.first_row + self.events();
        columns.check(row)?;
        self.check_present(columns)?;
        if let Some(bound) = self.plan.weight_bound
            && let Some(place) = columns.weights.iter().position(|&w| bound < w)
        {
            return Err(EvaluationError::WeightAboveBound {
                row: row + place as u64,
                weight: columns.weights[place],
                bound,
            });
        }
        self.present = Some(Present::of(columns));
        let mut start = 0;
        if !self.rest.is_empty() || columns.len() < CHUNK {
            start = columns.len().min(CHUNK - self.rest.len());
            self.rest.extend(&columns.rows(0..start));
            if self.rest.len() == CHUNK {
                let rest = std::mem::take(&mut self.rest);
                self.add_chunks(&rest.columns());
            }
        }
        let whole = start + (columns.len() - start) / CHUNK * CHUNK;
        self.add_chunks(&columns.rows(start..whole));
        self.rest.extend(&columns.rows(whole..columns.len()));
        Ok(())
    }

    /// Tells of events that were not weighed, as they have no density.
    pub fn leave_out(&mut self, events: u64) {
        self.left_out += events;
    }

    /// How many events were weighed.
    pub fn events(&self) -> u64 {
        self.total.weights.n() + self.rest.len() as u64
    }

    /// Adds a later part of the log. Its first row must be the one after the last of this one.
    ///
    /// If this part ends with a whole chunk of 4,096 rows, all is as if its rows had passed by in one
    /// go, to the bit; otherwise sums are rounded in another order.
    pub fn merge(&mut self, later: &Self) -> Result<(), EvaluationError> {
        let expected = self.first_row + self.events();
        if later.first_row != expected || later.plan != self.plan {
            return Err(EvaluationError::Unconnected {
                expected,
                found: later.first_row,
            });
        }
        if let (Some(ours), Some(theirs)) = (self.present, later.present) {
            ours.check_equal(theirs)?;
        }
        self.present = self.present.or(later.present);
        let rest = std::mem::take(&mut self.rest);
        self.add_chunk(&rest.columns());
        self.total.append(&later.total);
        self.rest = later.rest.clone();
        self.left_out += later.left_out;
        Ok(())
    }

    /// What is known so far. Events can be added after it.
    pub fn report(&self, confidence: Confidence) -> Report {
        let mut all = self.clone();
        let rest = std::mem::take(&mut all.rest);
        all.add_chunk(&rest.columns());
        all.finished(confidence)
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

    fn add_chunks(&mut self, columns: &Columns<'_>) {
        for start in (0..columns.len()).step_by(GROUP * CHUNK) {
            let group = columns.rows(start..columns.len().min(start + GROUP * CHUNK));
            let first = self.total.weights.n();
            let this: &Self = self;
            let sums: Vec<ChunkSums> = (0..group.len().div_ceil(CHUNK))
                .into_par_iter()
                .map_init(Scratch::default, |scratch, chunk| {
                    let rows = chunk * CHUNK..group.len().min((chunk + 1) * CHUNK);
                    let before = first + rows.start as u64;
                    this.sum(&group.rows(rows), before, scratch)
                })
                .collect();
            for sums in &sums {
                self.total.add(sums);
            }
        }
    }

    fn add_chunk(&mut self, columns: &Columns<'_>) {
        let sums = self.sum(columns, self.total.weights.n(), &mut Scratch::default());
        self.total.add(&sums);
    }

    /// The sums of a chunk that has `before` events before it.
    fn sum(&self, columns: &Columns<'_>, before: u64, scratch: &mut Scratch) -> ChunkSums {
        let n = columns.len();
        scratch.resize(n);
        let mut replicates = self
            .layout
            .bootstrapped
            .then(|| Replicates::new(self.plan.replicates, self.layout.rules.len()));
        if let Some(replicates) = &mut replicates {
            replicates.open(self.plan.seed, self.first_row + before, n);
        }
        let mut slots = Vec::with_capacity(self.layout.rules.len());
        for (slot, &rule) in self.layout.rules.iter().enumerate() {
            let Scratch { r, shrunk, .. } = scratch;
            rule.residuals(columns, r, shrunk);
            let terms = Terms {
                r,
                u: columns.baselines.filter(|_| rule.has_baseline()),
                v: (!rule.estimator.is_mean()).then_some(columns.weights),
                h: columns.shares,
            };
            if let Some(replicates) = &mut replicates {
                replicates.observe(slot, &terms);
            }
            slots.push(SlotSums {
                moments: Moments::of(&terms),
                bias: if self.layout.tuned(slot) {
                    bias(rule, columns, shrunk)
                } else {
                    0.0
                },
            });
        }
        ChunkSums {
            slots,
            weights: WeightSummary::of(columns, &self.total.weights),
            replicates,
            steps: self.steps(columns, before, scratch),
        }
    }

    /// The sums of the confidence sequences, cut where the path is looked at.
    fn steps(&self, columns: &Columns<'_>, before: u64, scratch: &mut Scratch) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut start = 0;
        while !self.layout.sequences.is_empty() && start < columns.len() {
            let look = Path::next_after(before + start as u64);
            let end = columns.len().min((look - before) as usize);
            let rows = columns.rows(start..end);
            let sides = self.layout.sequences.iter();
            let sides = sides
                .map(|sequence| sequence.sums(&rows, scratch))
                .collect();
            steps.push(Step {
                events: (end - start) as u64,
                look: before + end as u64 == look,
                sides,
            });
            start = end;
        }
        steps
    }

    fn finished(&self, confidence: Confidence) -> Report {
        let diagnostics = self.total.weights.diagnostics(self.left_out);
        let mut estimates = Vec::new();
        let mut skipped = Vec::new();
        for (place, &estimator) in self.plan.estimators.iter().enumerate() {
            let slot = self.best_slot(place);
            for &interval in &self.plan.intervals {
                match self.interval(place, slot, interval, confidence) {
                    Ok(found) => estimates.push(self.estimate(
                        slot,
                        estimator,
                        interval,
                        found,
                        confidence,
                        &diagnostics,
                    )),
                    Err(reason) => skipped.push(Skipped {
                        estimator,
                        interval,
                        reason,
                    }),
                }
            }
        }
        Report {
            estimates,
            skipped,
            diagnostics,
            path: self.path(confidence),
        }
    }

    fn path(&self, confidence: Confidence) -> Vec<PathPoint> {
        let Some(sides) = self.total.sides.first() else {
            return Vec::new();
        };
        let mut path = self.total.paths[0].intervals(confidence.alpha(), 1.0);
        let n = self.total.weights.n();
        if path.last().is_none_or(|last| last.n < n) && 0 < n {
            let (low, high) = sides.interval(confidence.alpha(), 1.0);
            path.push(PathPoint { n, low, high });
        }
        path
    }

    /// The slot with the least estimated bias² + variance among those of an estimator.
    fn best_slot(&self, place: usize) -> usize {
        let slots = self.layout.slots[place].clone();
        let score = |slot: usize| {
            let SlotSums { moments, bias } = &self.total.slots[slot];
            let bias = bias / moments.sums[0];
            let error = moments.standard_error();
            bias * bias + error * error
        };
        let mut best = slots.start;
        for slot in slots {
            if score(slot) < score(best) {
                best = slot;
            }
        }
        best
    }

    fn interval(
        &self,
        place: usize,
        slot: usize,
        kind: IntervalKind,
        confidence: Confidence,
    ) -> Result<Found, &'static str> {
        let rule = self.layout.rules[slot];
        let moments = &self.total.slots[slot].moments;
        let alpha = confidence.alpha();
        let n = moments.n as f64;
        let thrice = (0 < moments.n).then_some(3 * moments.n);
        match kind {
            IntervalKind::Normal => {
                let margin = normal_quantile_above(0.5 * alpha) * moments.standard_error();
                let estimate = moments.estimate();
                Ok(Found {
                    low: estimate - margin,
                    high: estimate + margin,
                    more_events: thrice,
                })
            }
            IntervalKind::Bootstrap => {
                let replicates = self.total.replicates.as_ref();
                let replicates = replicates.ok_or("there are no events")?;
                let (low, high) = percentile_interval(&replicates.estimates(slot), alpha);
                Ok(Found {
                    low,
                    high,
                    more_events: thrice,
                })
            }
            IntervalKind::EmpiricalBernstein => {
                let choices = self.layout.slots[place].len();
                let bernstein = self.bernstein(rule, moments, choices)?;
                let (low, high) = bernstein.interval(alpha);
                Ok(Found {
                    low,
                    high,
                    more_events: bernstein
                        .times_until_half(alpha)
                        .map(|times| more(n, times)),
                })
            }
            IntervalKind::Betting => {
                let sequence = self.layout.sequence_of(rule.estimator)?;
                if rule.estimator == Estimator::Dr && 1.0 < self.total.weights.largest_baseline {
                    return Err(
                        "a baseline is above 1, so that the terms of dr have no known bound",
                    );
                }
                let sides = &self.total.sides[sequence];
                let (low, high) = sides.interval(alpha, 1.0);
                Ok(Found {
                    low,
                    high,
                    more_events: sides
                        .times_until_half(alpha, 1.0)
                        .map(|times| more(n, times)),
                })
            }
        }
    }

    fn bernstein(
        &self,
        rule: Rule,
        moments: &Moments,
        choices: usize,
    ) -> Result<EmpiricalBernstein, &'static str> {
        if !rule.estimator.is_mean() {
            return Err("a ratio of sums is no mean of bounded terms");
        }
        if self.present.is_some_and(|present| present.shares) {
            return Err("events that count unequally are not alike, as this interval wants them");
        }
        let bound = rule.largest_weight(self.plan.weight_bound.unwrap_or(f64::INFINITY));
        if !bound.is_finite() {
            return Err("weights have no bound: give one, or clip");
        }
        if rule.has_baseline() && 1.0 < self.total.weights.largest_baseline {
            return Err("a baseline is above 1, so that the terms have no known bound");
        }
        // w(ℓ − f̂) is in [−w, w] and E_q f̂ in [0, 1].
        let range = if rule.has_baseline() {
            1.0 + 2.0 * bound
        } else {
            bound
        };
        Ok(EmpiricalBernstein {
            n: moments.n,
            mean: moments.estimate(),
            variance: moments.variance(),
            range,
            choices,
        })
    }

    fn estimate(
        &self,
        slot: usize,
        estimator: Estimator,
        interval: IntervalKind,
        found: Found,
        confidence: Confidence,
        diagnostics: &Diagnostics,
    ) -> Estimate {
        let tuned = estimator.hyperparameter() == Some(Hyperparameter::Tuned);
        let used = self.layout.rules[slot].used();
        let Found {
            low,
            high,
            more_events,
        } = found;
        let subject = Subject {
            diagnostics,
            estimator: Some(used),
            interval,
            low,
            high,
            range: 1.0,
        };
        Estimate {
            estimator: used,
            tuned,
            interval,
            estimate: self.total.slots[slot].moments.estimate(),
            low,
            high,
            level: confidence.level(),
            simultaneous: confidence.policies(),
            n: diagnostics.n,
            ess: diagnostics.ess,
            max_weight: self.total.weights.max_weight(),
            mean_weight: diagnostics.mean_weight,
            zero_share: diagnostics.zero_share,
            kappa: diagnostics.kappa,
            more_events,
            verdict: Verdict::of(&subject),
        }
    }
}

/// (times − 1) · n, rounded up.
pub(crate) fn more(n: f64, times: f64) -> u64 {
    ((times - 1.0) * n).ceil() as u64
}

/// An interval.
struct Found {
    low: f64,
    high: f64,
    more_events: Option<u64>,
}

/// What is summed for each event.
#[derive(Debug, Clone)]
struct Layout {
    rules: Vec<Rule>,
    /// The rules of each estimator of the plan.
    slots: Vec<std::ops::Range<usize>>,
    sequences: Vec<Sequence>,
    bootstrapped: bool,
    /// Whether betting was asked for.
    bets: bool,
}

impl Layout {
    fn new(plan: &Plan) -> Self {
        let mut rules = Vec::new();
        let mut slots = Vec::new();
        for estimator in &plan.estimators {
            let start = rules.len();
            rules.extend(estimator.rules());
            slots.push(start..rules.len());
        }
        let bets = plan.intervals.contains(&IntervalKind::Betting);
        let mut sequences = Vec::new();
        if bets && plan.estimators.contains(&Estimator::Ips) {
            sequences.push(Sequence::Ips {
                bound: plan.weight_bound,
            });
        }
        if let Some(bound) = plan.weight_bound
            && bets
            && plan.estimators.contains(&Estimator::Dr)
        {
            sequences.push(Sequence::Dr { bound });
        }
        Self {
            rules,
            slots,
            sequences,
            bootstrapped: plan.intervals.contains(&IntervalKind::Bootstrap),
            bets,
        }
    }

    fn tuned(&self, slot: usize) -> bool {
        self.rules[slot].estimator.hyperparameter() == Some(Hyperparameter::Tuned)
    }

    fn sequence_of(&self, estimator: Estimator) -> Result<usize, &'static str> {
        debug_assert!(self.bets);
        let place = self.sequences.iter().position(|sequence| {
            matches!(
                (sequence, estimator),
                (Sequence::Ips { .. }, Estimator::Ips) | (Sequence::Dr { .. }, Estimator::Dr)
            )
        });
        place.ok_or(match estimator {
            Estimator::Dr => "needs a bound on the weights: without one, bet on ips",
            Estimator::Snips | Estimator::Sndr => {
                "a ratio of sums cannot be bet on: bet on ips or dr"
            }
            _ => "a biased mean is not the value: bet on ips or dr",
        })
    }
}

/// What is bet on.
#[derive(Debug, Clone, Copy)]
enum Sequence {
    /// wℓ and w(1 − ℓ).
    Ips { bound: Option<f64> },
    /// E_q f̂ + w(ℓ − f̂), with w ≤ bound.
    Dr { bound: f64 },
}

impl Sequence {
    fn empty(self) -> Sides {
        let side = match self {
            Self::Ips { bound: None } => Side::new(&[0.0]),
            Self::Ips { bound: Some(bound) } => Side::new(&[0.0, bound - 1.0]),
            Self::Dr { bound } => Side::new(&[bound]),
        };
        Sides {
            below: side.clone(),
            above: side,
        }
    }

    fn sums(self, columns: &Columns<'_>, scratch: &mut Scratch) -> Sides {
        let mut sides = self.empty();
        let n = columns.len();
        let (x, y) = (&mut scratch.r[..n], &mut scratch.shrunk[..n]);
        let shares = columns.shares;
        match self {
            Self::Ips { bound } => {
                split(columns.losses, columns.weights, x, y);
                sides.below.observe(0, x, shares);
                sides.above.observe(0, y, shares);
                if let Some(bound) = bound {
                    // B − w(1 − ℓ) for the one, B − wℓ for the other.
                    for value in x.iter_mut().chain(y.iter_mut()) {
                        *value = (bound - *value).max(0.0);
                    }
                    sides.below.observe(1, y, shares);
                    sides.above.observe(1, x, shares);
                }
            }
            Self::Dr { bound } => {
                let fhats = columns.fhats.unwrap_or_default();
                let baselines = columns.baselines.unwrap_or_default();
                for i in 0..n {
                    let term = baselines[i] + columns.weights[i] * (columns.losses[i] - fhats[i]);
                    // Negative only by rounding, or where a baseline is above 1 and the interval is refused.
                    x[i] = (bound + term).max(0.0);
                    y[i] = (bound + (1.0 - term)).max(0.0);
                }
                sides.below.observe(0, x, shares);
                sides.above.observe(0, y, shares);
            }
        }
        sides
    }
}

/// wℓ and w(1 − ℓ).
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn split(losses: &[f64], weights: &[f64], x: &mut [f64], y: &mut [f64]) {
    for (((x, y), loss), w) in x.iter_mut().zip(y).zip(losses).zip(weights) {
        *x = w * loss;
        *y = w * (1.0 - loss);
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

#[derive(Debug, Clone)]
struct SlotSums {
    moments: Moments,
    bias: f64,
}

struct ChunkSums {
    slots: Vec<SlotSums>,
    weights: WeightSummary,
    replicates: Option<Replicates>,
    steps: Vec<Step>,
}

/// Sums of the confidence sequences over some events.
struct Step {
    events: u64,
    look: bool,
    sides: Vec<Sides>,
}

#[derive(Debug, Clone)]
struct Totals {
    slots: Vec<SlotSums>,
    weights: WeightSummary,
    replicates: Option<Replicates>,
    /// For each sequence.
    sides: Vec<Sides>,
    paths: Vec<Path>,
    /// Events in `sides`.
    stepped: u64,
}

impl Totals {
    fn new(layout: &Layout) -> Self {
        let empty = SlotSums {
            moments: Moments::default(),
            bias: 0.0,
        };
        Self {
            slots: vec![empty; layout.rules.len()],
            weights: WeightSummary::new(),
            replicates: None,
            sides: layout
                .sequences
                .iter()
                .map(|sequence| sequence.empty())
                .collect(),
            paths: vec![Path::new(); layout.sequences.len()],
            stepped: 0,
        }
    }

    fn add(&mut self, chunk: &ChunkSums) {
        self.add_sums(&chunk.slots, &chunk.weights, chunk.replicates.as_ref());
        for step in &chunk.steps {
            self.stepped += step.events;
            for ((sides, path), more) in self.sides.iter_mut().zip(&mut self.paths).zip(&step.sides)
            {
                sides.merge(more);
                if step.look {
                    path.push(self.stepped, sides);
                }
            }
        }
    }

    fn add_sums(
        &mut self,
        slots: &[SlotSums],
        weights: &WeightSummary,
        replicates: Option<&Replicates>,
    ) {
        for (slot, more) in self.slots.iter_mut().zip(slots) {
            slot.moments.merge(&more.moments);
            slot.bias += more.bias;
        }
        self.weights.merge(weights);
        match (&mut self.replicates, replicates) {
            (Some(replicates), Some(more)) => replicates.merge(more),
            (None, Some(more)) => self.replicates = Some(more.clone()),
            (_, None) => {}
        }
    }

    /// Adds those of a later part, whose path was looked at by its own count of events.
    fn append(&mut self, later: &Self) {
        self.add_sums(&later.slots, &later.weights, later.replicates.as_ref());
        for (place, sides) in self.sides.iter_mut().enumerate() {
            self.paths[place].append(self.stepped, sides, &later.paths[place]);
            sides.merge(&later.sides[place]);
        }
        self.stepped += later.stepped;
    }
}

/// Which optional columns there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Present {
    fhats: bool,
    baselines: bool,
    shares: bool,
    kappas: bool,
}

impl Present {
    fn of(columns: &Columns<'_>) -> Self {
        Self {
            fhats: columns.fhats.is_some(),
            baselines: columns.baselines.is_some(),
            shares: columns.shares.is_some(),
            kappas: columns.kappas.is_some(),
        }
    }

    fn check_equal(self, other: Self) -> Result<(), ColumnsError> {
        for (name, ours, theirs) in [
            ("fhat", self.fhats, other.fhats),
            ("baseline", self.baselines, other.baselines),
            ("share", self.shares, other.shares),
            ("kappa", self.kappas, other.kappas),
        ] {
            if ours != theirs {
                return Err(ColumnsError::Unequal { name });
            }
        }
        Ok(())
    }
}

/// Events that do not fill a chunk yet.
#[derive(Debug, Clone, Default)]
struct Rest {
    losses: Vec<f64>,
    weights: Vec<f64>,
    fhats: Option<Vec<f64>>,
    baselines: Option<Vec<f64>>,
    shares: Option<Vec<f64>>,
    kappas: Option<Vec<f64>>,
}

impl Rest {
    fn len(&self) -> usize {
        self.losses.len()
    }

    fn is_empty(&self) -> bool {
        self.losses.is_empty()
    }

    fn extend(&mut self, columns: &Columns<'_>) {
        self.losses.extend_from_slice(columns.losses);
        self.weights.extend_from_slice(columns.weights);
        for (ours, theirs) in [
            (&mut self.fhats, columns.fhats),
            (&mut self.baselines, columns.baselines),
            (&mut self.shares, columns.shares),
            (&mut self.kappas, columns.kappas),
        ] {
            if let Some(theirs) = theirs {
                ours.get_or_insert_default().extend_from_slice(theirs);
            }
        }
    }

    fn columns(&self) -> Columns<'_> {
        Columns {
            losses: &self.losses,
            weights: &self.weights,
            fhats: self.fhats.as_deref(),
            baselines: self.baselines.as_deref(),
            shares: self.shares.as_deref(),
            kappas: self.kappas.as_deref(),
        }
    }
}

/// Room for the terms of a chunk.
#[derive(Debug, Default)]
struct Scratch {
    r: Vec<f64>,
    shrunk: Vec<f64>,
}

impl Scratch {
    fn resize(&mut self, n: usize) {
        self.r.resize(n, 0.0);
        self.shrunk.resize(n, 0.0);
    }
}

/// Why a plan was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Nothing to do.
    #[error("the plan names no estimator")]
    NoEstimator,
    /// A mean weight of 1 needs a bound that is no less.
    #[error("the bound on weights is {bound}, expected a number in [1, inf)")]
    WeightBound {
        /// What it was.
        bound: f64,
    },
    /// Percentiles need something to be percentiles of.
    #[error("{replicates} replicates are too few for a bootstrap, expected at least 2")]
    Replicates {
        /// What it was.
        replicates: usize,
    },
}

/// Why events were refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluationError {
    /// They are not what an event can be.
    #[error(transparent)]
    Columns(#[from] ColumnsError),
    /// The promise about the weights is broken.
    #[error("weight of row {row} is {weight}, above the bound {bound} that was given")]
    WeightAboveBound {
        /// Which row.
        row: u64,
        /// Its weight.
        weight: f64,
        /// The bound.
        bound: f64,
    },
    /// Two parts that are not one log under one plan.
    #[error(
        "cannot merge: expected the same plan and a part that begins with row {expected}, found row {found}"
    )]
    Unconnected {
        /// The row after the last.
        expected: u64,
        /// The first row of the later part.
        found: u64,
    },
}
