use egret::{Direction, Objective};
use serde::Serialize;

use crate::estimator::Estimator;
use crate::evaluation::diagnostics::WeightSummary;
use crate::evaluation::report::{NO_VALUE, more};
use crate::evaluation::verdict::{Subject, Terms};
use crate::evaluation::{Diagnostics, EvaluationError, PlanError, Standing, Verdict};
use crate::interval::betting::{Path, Side, Sides, scale_of};
use crate::interval::{
    Confidence, IntervalKind, PathPoint, RatioDifference, normal_quantile_above,
};
use crate::sums::{Chunked, Moments, Rest, Rows, Scratch, Terms as MomentTerms, length};
use crate::weighted_events::{WeightedEvents, WeightedEventsError};

/// Estimates the difference v₁ − v₂ between the values of two policies from the same events.
///
/// Both policies are weighed on the same losses, so much of the noise in each value cancels in the difference.
///
/// | estimator | terms                                     | interval                                              |
/// |-----------|-------------------------------------------|-------------------------------------------------------|
/// | `ips`     | (w₁ − w₂)ℓ                                | normal; betting, see below                            |
/// | `snips`   | the difference of two ratios              | normal                                                |
/// | `dr`      | E_q₁ f̂ − E_q₂ f̂ + (w₁ − w₂)(ℓ − f̂)        | normal, and betting in place of ips's, if all three   |
/// |           |                                           | predictions are given                                 |
///
/// Bets are on w₁ℓ + w₂(1 − ℓ), with mean 1 + v₁ − v₂, and from above on the same with the policies swapped. That spreads even
/// where w₁ = w₂, so that two policies that are alike are not seen to be. With w ≤ B there are also bets on
/// 1 + (w₁ − w₂)(ℓ − c) + k for c = 0, ¼, …, 1, where k is large enough that this is not negative: it does not spread then. All
/// share one wealth, and the interval of 1 − ℓ is the mirror image. Where events have bounds of their own, those too large for k
/// enter with the first term. With predictions that are known before the action is drawn
/// ([`with_predictions`](Self::with_predictions)) there are also bets on the terms of `dr`, shifted likewise.
///
/// Memory is constant, and neither batches nor threads change a bit, as in [`Evaluation`](crate::Evaluation).
///
/// ```
/// use egret_offline::{PolicyComparison, Confidence, PairedEvents};
///
/// let mut comparison = PolicyComparison::new(None)?;
/// comparison.observe(&PairedEvents {
///     losses: &[0.0, 1.0, 0.5, 0.5],
///     weights: [&[2.0, 0.0, 1.0, 1.0], &[0.0, 2.0, 1.0, 1.0]],
///     ..PairedEvents::default()
/// })?;
/// let differences = comparison.report(Confidence::new(0.95)?).differences;
/// assert_eq!(differences[0].estimate, -0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PolicyComparison {
    bound: Option<f64>,
    /// The bets that need a bound.
    parts: Vec<Part>,
    total: Totals,
    rest: Rest<COLUMNS>,
    left_out: u64,
    sampled_unequally: bool,
    /// Whether predictions are given; none before the first batch.
    predicted: Option<bool>,
}

/// A bet on the difference that needs a bound: on 1 + k + what is said here, which is not negative for events whose bound is small
/// enough for k.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    /// (w₁ − w₂)(ℓ − c).
    Centered { c: f64, k: f64 },
    /// The terms of dr.
    Corrected { k: f64 },
}

/// Logged events with the weights of two policies. [`WeightedEvents`] describes each quantity.
#[derive(Debug, Clone, Copy, Default)]
pub struct PairedEvents<'a> {
    /// ℓ.
    pub losses: &'a [f64],
    /// w₁ and w₂.
    pub weights: [&'a [f64]; 2],
    /// f̂(x, a), E_q₁ f̂(x, ·) and E_q₂ f̂(x, ·).
    pub predictions: Option<[&'a [f64]; 3]>,
    /// B, which neither of the weights could exceed.
    pub weight_bounds: Option<&'a [f64]>,
    /// h.
    pub event_weights: Option<&'a [f64]>,
}

/// An interval for v₁ − v₂: below 0, the first policy has the smaller loss. Both ends are NaN where no value is possible.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The estimator.
    pub estimator: Estimator,
    /// The kind of interval.
    pub interval: IntervalKind,
    /// The estimate of v₁ − v₂.
    pub estimate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The confidence level.
    pub level: f64,
    /// Over how many differences the level holds at once.
    pub simultaneous: u64,
    /// How many events were weighed.
    pub n: u64,
    /// How many more events would halve the interval, if they are like those seen.
    pub more_events: Option<u64>,
    /// Which of the two policies has the smaller loss, if that is shown.
    pub standing: Standing,
    /// Whether the interval can be relied on: the graver of the verdicts on the two policies' weights.
    pub verdict: Verdict,
}

impl Difference {
    /// From a difference of mean losses to one of mean outcomes, in the units of the objective.
    pub fn in_units(self, objective: &Objective) -> Self {
        let ends = [self.low, self.high].map(|end| objective.difference(end));
        let [low, high] = match objective.direction() {
            Direction::Maximize => [ends[1], ends[0]],
            Direction::Minimize => ends,
        };
        Self {
            estimate: objective.difference(self.estimate),
            low,
            high,
            standing: self.standing.in_units(objective),
            ..self
        }
    }

    /// About how many more events would take 0 out of the interval, if the difference is what is estimated and they are like
    /// those seen: widths shrink as 1/√n. None where nothing is left to settle, or no number of events would do.
    pub fn events_to_settle(&self) -> Option<u64> {
        if self.standing != Standing::NotShown {
            return None;
        }
        let reach = match 0.0 < self.estimate {
            true => self.estimate - self.low,
            false => self.high - self.estimate,
        };
        let more = self.n as f64 * ((reach / self.estimate).powi(2) - 1.0);
        (0.0..1e15).contains(&more).then(|| more.ceil() as u64)
    }

    /// What the interval says, whether to rely on it, and what would help, in one line. Numbers are taken to be in the units
    /// of this objective already; `other` is the second policy.
    pub fn in_words(&self, objective: &Objective, other: &str) -> String {
        let ends = (self.low, self.high);
        let more = self.more_events;
        self.verdict
            .line(objective, ends, self.standing, other, more)
    }
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyComparisonReport {
    /// Each estimator with each interval.
    pub differences: Vec<Difference>,
    /// What the weights of each policy tell.
    pub diagnostics: [Diagnostics; 2],
    /// The betting interval over time.
    pub path: Vec<PathPoint>,
}

/// ℓ, w₁, w₂, f̂, both policies' predicted losses, B, h.
const COLUMNS: usize = 8;

impl PolicyComparison {
    /// With a known upper bound on all weights, at least 1, or without one.
    pub fn new(weight_bound: Option<f64>) -> Result<Self, PlanError> {
        if let Some(bound) = weight_bound
            && !(1.0 <= bound && bound.is_finite())
        {
            return Err(PlanError::WeightBound { bound });
        }
        Ok(Self {
            total: Totals::new(&centered(weight_bound, false)),
            parts: centered(weight_bound, false),
            bound: weight_bound,
            rest: Rest::new(),
            left_out: 0,
            sampled_unequally: false,
            predicted: None,
        })
    }

    /// For events that come with bounds of their own ([`PairedEvents::weight_bounds`]), before the first of them.
    pub fn with_event_bounds(mut self) -> Self {
        self.parts = centered(self.bound, true);
        self.total = Totals::new(&self.parts);
        self
    }

    /// For events that come with predictions, before the first of them and after
    /// [`with_event_bounds`](Self::with_event_bounds). Without bounds of the weights it changes nothing.
    pub fn with_predictions(mut self) -> Self {
        let usual = self.bound.is_none() && !self.parts.is_empty();
        let bounds = self.bound.into_iter();
        let bounds = bounds.chain(USUAL_BOUNDS.into_iter().filter(|_| usual));
        // |ℓ − f̂| is at most 1, and the policies' mean predictions are seldom further apart than this.
        let corrected = bounds.map(|bound| Part::Corrected {
            k: bound - 1.0 + 0.25,
        });
        self.parts.extend(corrected);
        self.total = Totals::new(&self.parts);
        self.predicted = Some(true);
        self
    }

    /// Adds a batch of events. A batch that is refused leaves no trace.
    pub fn observe(&mut self, events: &PairedEvents<'_>) -> Result<(), EvaluationError> {
        let row = self.events();
        events.check(row, self.bound)?;
        let predicted = events.predictions.is_some();
        self.check_predicted(predicted)?;
        self.predicted = Some(predicted);
        let mut rest = std::mem::replace(&mut self.rest, Rest::new());
        rest.cut(&events.to_rows(), |rows| self.add_chunks(rows));
        self.rest = rest;
        Ok(())
    }

    /// Counts events that could not be weighed.
    pub fn leave_out(&mut self, events: u64) {
        self.left_out += events;
    }

    /// Says that events were kept for the log with unequal probabilities, as [`Evaluation`](crate::Evaluation) has it. There
    /// is no betting interval then.
    pub fn sampled_unequally(&mut self) {
        self.sampled_unequally = true;
    }

    /// How many events were weighed.
    pub fn events(&self) -> u64 {
        self.total.ips.n + self.rest.len() as u64
    }

    /// Adds a later part of the log, compared under the same bound.
    ///
    /// The result is that of one pass over all rows, except that sums are rounded in another order.
    pub fn merge(&mut self, later: &Self) -> Result<(), EvaluationError> {
        if self.bound != later.bound || self.parts != later.parts {
            return Err(EvaluationError::OtherPlan);
        }
        if let Some(predicted) = later.predicted {
            self.check_predicted(predicted)?;
        }
        self.predicted = self.predicted.or(later.predicted);
        self.sampled_unequally |= later.sampled_unequally;
        let rest = std::mem::replace(&mut self.rest, later.rest.clone());
        self.add_chunks(&rest.rows());
        self.total.add(&later.total);
        self.left_out += later.left_out;
        Ok(())
    }

    fn check_predicted(&self, predicted: bool) -> Result<(), WeightedEventsError> {
        match self.predicted {
            Some(before) if before != predicted => {
                Err(WeightedEventsError::Unequal { name: "predicted" })
            }
            _ => Ok(()),
        }
    }

    /// The differences from all events so far. More can be added later.
    pub fn report(&self, confidence: Confidence) -> PolicyComparisonReport {
        let mut all = self.clone();
        let rest = std::mem::replace(&mut all.rest, Rest::new());
        all.add_chunks(&rest.rows());
        all.finished(confidence)
    }

    fn finished(&self, confidence: Confidence) -> PolicyComparisonReport {
        let total = &self.total;
        let diagnostics =
            [0, 1].map(|policy| total.weights[policy].diagnostics(self.left_out, self.bound));
        let alpha = confidence.alpha();
        let n = total.ips.n;
        let thrice = (0 < n).then_some(3 * n);
        let difference = |estimator, interval, estimate: f64, (low, high), terms, more_events| {
            let verdict = |diagnostics| {
                Verdict::of(&Subject {
                    diagnostics,
                    estimator,
                    interval,
                    low,
                    high,
                    range: 2.0,
                    terms,
                    more_events,
                })
            };
            let [first, second] = [0, 1].map(|policy| verdict(&diagnostics[policy]));
            Difference {
                estimator,
                interval,
                estimate,
                low,
                high,
                level: confidence.level(),
                simultaneous: confidence.policies(),
                n,
                more_events,
                standing: Standing::of(low, high, (0.0, 0.0)),
                verdict: if second.kind < first.kind {
                    second
                } else {
                    first
                },
            }
        };
        let z = normal_quantile_above(0.5 * alpha);
        let normal = |estimator, estimate: f64, error: f64, terms| {
            let ends = (estimate - z * error, estimate + z * error);
            let kind = IntervalKind::Normal;
            difference(estimator, kind, estimate, ends, terms, thrice)
        };
        let (low, high) = total.sides.interval(alpha, 2.0).unwrap_or(NO_VALUE);
        let times = total.sides.times_until_half(alpha, 2.0);
        let (ips, snips) = (&total.ips, &total.snips);
        let own = |moments: &Moments| Terms {
            informative: moments.informative(),
            expected: total.unequal.informative_normalizer() * total.weights[0].informative_share(),
            spread: moments.spread(),
            largest: self
                .bound
                .map(|bound| bound * total.weights[0].largest_event_weight()),
        };
        let corrected = |part: &Part| matches!(part, Part::Corrected { .. });
        let betting = difference(
            match self.parts.iter().any(corrected) {
                true => Estimator::Dr,
                false => Estimator::Ips,
            },
            IntervalKind::Betting,
            if low.is_nan() {
                f64::NAN
            } else {
                total.sides.least_refuted(2.0) - 1.0
            },
            (low - 1.0, high - 1.0),
            own(ips),
            times.map(|times| more(n as f64, times)),
        );
        // The terms of the difference of two ratios, around the mean of both: (w₁ − w₂)(ℓ − v̄).
        let ratio_terms = Terms {
            informative: total.unequal.informative_around(snips.middle()),
            spread: total.unequal.spread_around(snips.middle()),
            ..own(ips)
        };
        let mut differences = Vec::new();
        if let Some(dr) = &total.dr {
            differences.push(normal(
                Estimator::Dr,
                dr.estimate(),
                dr.standard_error(),
                own(dr),
            ));
        }
        differences.extend([
            normal(
                Estimator::Snips,
                snips.estimate(),
                snips.standard_error(),
                ratio_terms,
            ),
            normal(
                Estimator::Ips,
                ips.estimate(),
                ips.standard_error(),
                own(ips),
            ),
        ]);
        let mut path = Vec::new();
        if !self.sampled_unequally {
            differences.push(betting);
            path = total.path.intervals(alpha, 2.0, (n, &total.sides));
        }
        for point in &mut path {
            point.low -= 1.0;
            point.high -= 1.0;
        }
        PolicyComparisonReport {
            differences,
            diagnostics,
            path,
        }
    }
}

impl<'a> PairedEvents<'a> {
    fn to_rows(self) -> Rows<'a, COLUMNS> {
        let [first, second] = self.weights;
        let [predicted, policy_predicted_1, policy_predicted_2] = self
            .predictions
            .map_or([None; 3], |columns| columns.map(Some));
        [
            Some(self.losses),
            Some(first),
            Some(second),
            predicted,
            policy_predicted_1,
            policy_predicted_2,
            self.weight_bounds,
            self.event_weights,
        ]
    }

    /// The events of one policy.
    fn policy(&self, policy: usize) -> WeightedEvents<'a> {
        WeightedEvents {
            losses: self.losses,
            weights: self.weights[policy],
            predicted: self.predictions.map(|columns| columns[0]),
            policy_predicted: self.predictions.map(|columns| columns[1 + policy]),
            truncated: None,
            weight_bounds: self.weight_bounds,
            event_weights: self.event_weights,
        }
    }

    fn check(&self, row: u64, bound: Option<f64>) -> Result<(), EvaluationError> {
        for policy in [0, 1] {
            let events = self.policy(policy);
            events.check(row)?;
            events.check_bound(row, bound)?;
        }
        Ok(())
    }
}

impl Chunked<COLUMNS> for PolicyComparison {
    type Sums = Totals;

    fn sum(&self, rows: &Rows<'_, COLUMNS>, before: u64, scratch: &mut Scratch) -> Totals {
        let n = length(rows);
        let [losses, w1, w2, predicted, b1, b2, _, event_weights] = *rows;
        let [losses, w1, w2] = [losses, w1, w2].map(Option::unwrap_or_default);
        let (u, r) = scratch.two(n);
        for i in 0..n {
            r[i] = (w1[i] - w2[i]) * losses[i];
        }
        let ips = Moments::of(&MomentTerms {
            r,
            u: None,
            v: None,
            h: event_weights,
        });
        for i in 0..n {
            u[i] = w1[i] - w2[i];
        }
        let unequal = Moments::of(&MomentTerms {
            r,
            u: None,
            v: Some(u),
            h: event_weights,
        });
        let dr = if let (Some(predicted), Some(b1), Some(b2)) = (predicted, b1, b2) {
            for i in 0..n {
                u[i] = b1[i] - b2[i];
                r[i] = (w1[i] - w2[i]) * (losses[i] - predicted[i]);
            }
            Some(Moments::of(&MomentTerms {
                r,
                u: Some(u),
                v: None,
                h: event_weights,
            }))
        } else {
            None
        };
        let weights = [w1, w2].map(|weights| WeightedEvents {
            losses,
            weights,
            event_weights,
            ..WeightedEvents::default()
        });
        let mut sums = Totals {
            ips,
            unequal,
            snips: RatioDifference::of(losses, [w1, w2], event_weights),
            dr,
            weights: [0, 1]
                .map(|policy| WeightSummary::of(&weights[policy], &self.total.weights[policy])),
            ..Totals::new(&self.parts)
        };
        let mut start = 0;
        while start < n {
            let look = Path::next_after(before + start as u64);
            let end = n.min((look - before) as usize);
            let range = start..end;
            let (x, y) = scratch.two(end - start);
            let part = rows.map(|column| column.map(|column| &column[range.clone()]));
            self.bet(&part, x, y, &mut sums.sides);
            if before + end as u64 == look {
                // The sides of this chunk alone: `add` adds those before it.
                sums.path.push(end as u64, &sums.sides);
            }
            start = end;
        }
        sums
    }

    fn add(&mut self, sums: &Totals) {
        self.total.add(sums);
    }

    fn rows_added(&self) -> u64 {
        self.total.ips.n
    }
}

impl PolicyComparison {
    fn bet(&self, rows: &Rows<'_, COLUMNS>, x: &mut [f64], y: &mut [f64], sides: &mut Sides) {
        let [losses, w1, w2, predicted, b1, b2, bounds, event_weights] = *rows;
        let [losses, w1, w2] = [losses, w1, w2].map(Option::unwrap_or_default);
        let [predicted, b1, b2] = [predicted, b1, b2].map(Option::unwrap_or_default);
        mixed(losses, w1, w2, x, y);
        sides.below.observe(0, x, event_weights);
        sides.above.observe(0, y, event_weights);
        let bound = self.bound.unwrap_or(f64::INFINITY);
        for (place, part) in self.parts.iter().enumerate() {
            for i in 0..losses.len() {
                let bound = bounds.map_or(bound, |bounds| bounds[i].min(bound));
                let (loss, w1, w2) = (losses[i], w1[i], w2[i]);
                // What is added to 1 from below and from above, its largest size, and k. From above with 1 − c, so that the
                // two sides are mirror images.
                let (below, above, largest, k) = match *part {
                    Part::Centered { c, k } => {
                        let mirrored = (w2 - w1) * (loss - (1.0 - c));
                        ((w1 - w2) * (loss - c), mirrored, reach(c) * bound, k)
                    }
                    Part::Corrected { k } => {
                        let apart = b1[i] - b2[i];
                        let term = (w1 - w2) * (loss - predicted[i]) + apart;
                        // Not by f̂ of the action: what is bet on must be chosen before the action is known.
                        let largest = bound + apart.abs();
                        (term, -term, largest, k)
                    }
                };
                let k = k / event_weights.map_or(1.0, |h| scale_of(h[i]));
                // A little more for rounding, which `max` takes away again.
                [x[i], y[i]] = if largest <= (1.0 + k) * (1.0 + 1e-12) {
                    [1.0 + below + k, 1.0 + above + k].map(|value| value.max(0.0))
                } else {
                    let first = w1 * loss + w2 * (1.0 - loss);
                    let second = w2 * loss + w1 * (1.0 - loss);
                    [first + k, second + k]
                };
            }
            sides.below.observe(1 + place, x, event_weights);
            sides.above.observe(1 + place, y, event_weights);
        }
    }
}

/// The largest |ℓ − c|.
fn reach(c: f64) -> f64 {
    c.max(1.0 - c)
}

/// The bounds that k is made for, where each event has its own.
const USUAL_BOUNDS: [f64; 3] = [4.0, 16.0, 64.0];

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn mixed(losses: &[f64], w1: &[f64], w2: &[f64], x: &mut [f64], y: &mut [f64]) {
    let rows = x.iter_mut().zip(y).zip(losses).zip(w1).zip(w2);
    for ((((x, y), loss), w1), w2) in rows {
        *x = w1 * loss + w2 * (1.0 - loss);
        *y = w2 * loss + w1 * (1.0 - loss);
    }
}

/// (w₁ − w₂)(ℓ − c) around several centers, each for every bound.
fn centered(bound: Option<f64>, event_bounds: bool) -> Vec<Part> {
    let (bounds, centers): (&[f64], &[f64]) = match &bound {
        Some(bound) => (std::slice::from_ref(bound), &[0.0, 0.25, 0.5, 0.75, 1.0]),
        None if event_bounds => (&USUAL_BOUNDS, &[0.0, 0.5, 1.0]),
        None => (&[], &[]),
    };
    let with = |bound: f64| {
        centers.iter().map(move |&c| Part::Centered {
            c,
            k: (reach(c) * bound - 1.0).max(0.0),
        })
    };
    bounds.iter().flat_map(|&bound| with(bound)).collect()
}

/// Bounds on 1 + v₁ − v₂ and on 1 + v₂ − v₁, before any event. Each kind of bet has as much of the wealth.
fn empty_sides(parts: &[Part]) -> Sides {
    let corrected = |part: &&Part| matches!(part, Part::Corrected { .. });
    let corrected = parts.iter().filter(corrected).count();
    let centered = (parts.len() - corrected).max(1) as f64;
    let others = parts.iter().map(|part| match *part {
        Part::Centered { k, .. } => (1.0, k),
        Part::Corrected { k } => (centered / corrected as f64, k),
    });
    let side = Side::new(std::iter::once((centered, 0.0)).chain(others));
    Sides {
        below: side.clone(),
        above: side,
    }
}

/// Sums over events.
#[derive(Debug, Clone)]
pub(crate) struct Totals {
    ips: Moments,
    /// Of (w₁ − w₂)ℓ over w₁ − w₂.
    unequal: Moments,
    snips: RatioDifference,
    dr: Option<Moments>,
    weights: [WeightSummary; 2],
    sides: Sides,
    path: Path,
}

impl Totals {
    fn new(parts: &[Part]) -> Self {
        Self {
            ips: Moments::default(),
            unequal: Moments::default(),
            snips: RatioDifference::default(),
            dr: None,
            weights: [WeightSummary::new(), WeightSummary::new()],
            sides: empty_sides(parts),
            path: Path::new(),
        }
    }

    fn add(&mut self, later: &Self) {
        self.path.append(self.ips.n, &self.sides, &later.path);
        self.sides.merge(&later.sides);
        self.ips.merge(&later.ips);
        self.unequal.merge(&later.unequal);
        self.snips.merge(&later.snips);
        if let Some(more) = &later.dr {
            self.dr.get_or_insert_default().merge(more);
        }
        for (ours, theirs) in self.weights.iter_mut().zip(&later.weights) {
            ours.merge(theirs);
        }
    }
}
