use serde::Serialize;

use crate::chunks::{Chunked, Rest, Rows, Scratch, length};
use crate::confidence_sequence::{Path, PathPoint, Side, Sides};
use crate::diagnostics::WeightSummary;
use crate::evaluation::EvaluationError;
use crate::moments::{Moments, Terms};
use crate::normal_interval::normal_quantile_above;
use crate::ratio_difference::RatioDifference;
use crate::report::more;
use crate::verdict::{Subject, Verdict};
use crate::{Columns, ColumnsError, Confidence, Diagnostics, Estimator, IntervalKind, PlanError};

/// The value of one policy less that of another, v₁ − v₂, from the same events.
///
/// Both policies meet the same losses, so that much of what is uncertain in each value cancels in the difference:
///
/// | estimator | terms                                     | interval                                              |
/// |-----------|-------------------------------------------|-------------------------------------------------------|
/// | `ips`     | (w₁ − w₂)ℓ                                | normal; betting, on w₁ℓ + w₂(1 − ℓ), with mean 1 + v₁ − v₂, and the mirror of it |
/// | `snips`   | the difference of two ratios              | normal                                                |
/// | `dr`      | E_q₁ f̂ − E_q₂ f̂ + (w₁ − w₂)(ℓ − f̂)        | normal, where f̂ and both baselines are there          |
///
/// Without a bound on the weights the bets cannot see that two policies are alike: w₁ℓ + w₂(1 − ℓ) spreads even when w₁ = w₂. With
/// w ≤ B half of the wealth is bet on B + (w₁ − w₂)ℓ, which does not.
///
/// Memory is constant, and neither batches nor threads change a bit, as in [`Evaluation`](crate::Evaluation).
///
/// ```
/// use egret_offline::{Comparison, Confidence, PairedColumns};
///
/// let mut comparison = Comparison::new(None)?;
/// comparison.observe(&PairedColumns {
///     losses: &[0.0, 1.0, 0.5, 0.5],
///     weights: [&[2.0, 0.0, 1.0, 1.0], &[0.0, 2.0, 1.0, 1.0]],
///     ..PairedColumns::default()
/// })?;
/// let differences = comparison.report(Confidence::new(0.95)?).differences;
/// assert_eq!(differences[0].estimate, -0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Comparison {
    bound: Option<f64>,
    total: Totals,
    rest: Rest<COLUMNS>,
    left_out: u64,
    /// Whether there are predictions, and shares, once known.
    present: Option<(bool, bool)>,
}

/// Events as two policies weigh them. See [`Columns`] for what is what.
#[derive(Debug, Clone, Copy, Default)]
pub struct PairedColumns<'a> {
    /// ℓ.
    pub losses: &'a [f64],
    /// w₁ and w₂.
    pub weights: [&'a [f64]; 2],
    /// f̂(x, a), E_q₁ f̂(x, ·) and E_q₂ f̂(x, ·).
    pub predictions: Option<[&'a [f64]; 3]>,
    /// h.
    pub shares: Option<&'a [f64]>,
}

/// An interval for v₁ − v₂: below 0, the first policy has the smaller loss.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// How it was estimated.
    pub estimator: Estimator,
    /// How the interval was made.
    pub interval: IntervalKind,
    /// v₁ − v₂.
    pub estimate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability with which the interval is to hold the difference.
    pub level: f64,
    /// Over how many differences at once it is to do so.
    pub simultaneous: u64,
    /// How many events were weighed.
    pub n: u64,
    /// How many more events, like those seen, make the interval half as wide.
    pub more_events: Option<u64>,
    /// Whether to trust it: the graver of the verdicts on both policies' weights.
    pub verdict: Verdict,
}

/// All that a comparison has to say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparisonReport {
    /// Each estimator with each interval.
    pub differences: Vec<Difference>,
    /// What the weights of each policy are like.
    pub diagnostics: [Diagnostics; 2],
    /// The betting interval over time.
    pub path: Vec<PathPoint>,
}

/// ℓ, w₁, w₂, f̂, two baselines, h.
const COLUMNS: usize = 7;

impl Comparison {
    /// With or without a bound on all weights, which is at least 1.
    pub fn new(weight_bound: Option<f64>) -> Result<Self, PlanError> {
        if let Some(bound) = weight_bound
            && !(1.0 <= bound && bound.is_finite())
        {
            return Err(PlanError::WeightBound { bound });
        }
        Ok(Self {
            bound: weight_bound,
            total: Totals::new(weight_bound),
            rest: Rest::new(),
            left_out: 0,
            present: None,
        })
    }

    /// Adds events. Those of a batch that is refused are not used, none of them.
    pub fn observe(&mut self, columns: &PairedColumns<'_>) -> Result<(), EvaluationError> {
        let row = self.events();
        columns.check(row, self.bound)?;
        let present = (columns.predictions.is_some(), columns.shares.is_some());
        self.check_present(present)?;
        self.present = Some(present);
        let mut rest = std::mem::replace(&mut self.rest, Rest::new());
        rest.cut(&columns.to_rows(), |rows| self.add_chunks(rows));
        self.rest = rest;
        Ok(())
    }

    /// Tells of events that were not weighed, as they have no density.
    pub fn leave_out(&mut self, events: u64) {
        self.left_out += events;
    }

    /// How many events were weighed.
    pub fn events(&self) -> u64 {
        self.total.ips.n + self.rest.len() as u64
    }

    /// Adds a later part of the log, compared under the same bound.
    ///
    /// All is as if the rows had passed by in one go, but that sums are rounded in another order.
    pub fn merge(&mut self, later: &Self) -> Result<(), EvaluationError> {
        if self.bound != later.bound {
            return Err(EvaluationError::OtherPlan);
        }
        if let Some(present) = later.present {
            self.check_present(present)?;
        }
        self.present = self.present.or(later.present);
        let rest = std::mem::replace(&mut self.rest, later.rest.clone());
        self.add_chunks(&rest.rows());
        self.total.add(&later.total);
        self.left_out += later.left_out;
        Ok(())
    }

    fn check_present(&self, present: (bool, bool)) -> Result<(), ColumnsError> {
        let before = self.present.unwrap_or(present);
        for (name, unequal) in [
            ("fhat", before.0 != present.0),
            ("share", before.1 != present.1),
        ] {
            if unequal {
                return Err(ColumnsError::Unequal { name });
            }
        }
        Ok(())
    }

    /// What is known so far. Events can be added after it.
    pub fn report(&self, confidence: Confidence) -> ComparisonReport {
        let mut all = self.clone();
        let rest = std::mem::replace(&mut all.rest, Rest::new());
        all.add_chunks(&rest.rows());
        all.finished(confidence)
    }

    fn finished(&self, confidence: Confidence) -> ComparisonReport {
        let total = &self.total;
        let diagnostics = [0, 1].map(|policy| total.weights[policy].diagnostics(self.left_out));
        let alpha = confidence.alpha();
        let n = total.ips.n;
        let thrice = (0 < n).then_some(3 * n);
        let difference = |estimator, interval, estimate: f64, (low, high), more_events| {
            let verdict = |diagnostics| {
                Verdict::of(&Subject {
                    diagnostics,
                    estimator,
                    interval,
                    low,
                    high,
                    range: 2.0,
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
                verdict: if second.kind < first.kind {
                    second
                } else {
                    first
                },
            }
        };
        let z = normal_quantile_above(0.5 * alpha);
        let normal = |estimator, estimate: f64, error: f64| {
            let ends = (estimate - z * error, estimate + z * error);
            difference(estimator, IntervalKind::Normal, estimate, ends, thrice)
        };
        let (low, high) = total.sides.interval(alpha, 2.0);
        let times = total.sides.times_until_half(alpha, 2.0);
        let (ips, snips) = (&total.ips, &total.snips);
        let mut differences = vec![
            normal(Estimator::Ips, ips.estimate(), ips.standard_error()),
            difference(
                Estimator::Ips,
                IntervalKind::Betting,
                ips.estimate(),
                (low - 1.0, high - 1.0),
                times.map(|times| more(n as f64, times)),
            ),
            normal(Estimator::Snips, snips.estimate(), snips.standard_error()),
        ];
        if let Some(dr) = &total.dr {
            differences.push(normal(Estimator::Dr, dr.estimate(), dr.standard_error()));
        }
        let mut path = total.path.intervals(alpha, 2.0);
        if path.last().is_none_or(|last| last.n < n) && 0 < n {
            path.push(PathPoint { n, low, high });
        }
        for point in &mut path {
            point.low -= 1.0;
            point.high -= 1.0;
        }
        ComparisonReport {
            differences,
            diagnostics,
            path,
        }
    }
}

impl<'a> PairedColumns<'a> {
    fn to_rows(self) -> Rows<'a, COLUMNS> {
        let [first, second] = self.weights;
        let [fhats, baselines_1, baselines_2] = self
            .predictions
            .map_or([None; 3], |columns| columns.map(Some));
        [
            Some(self.losses),
            Some(first),
            Some(second),
            fhats,
            baselines_1,
            baselines_2,
            self.shares,
        ]
    }

    /// One of the policies alone.
    fn policy(&self, policy: usize) -> Columns<'a> {
        Columns {
            losses: self.losses,
            weights: self.weights[policy],
            fhats: self.predictions.map(|columns| columns[0]),
            baselines: self.predictions.map(|columns| columns[1 + policy]),
            shares: self.shares,
        }
    }

    fn check(&self, row: u64, bound: Option<f64>) -> Result<(), EvaluationError> {
        for policy in [0, 1] {
            let columns = self.policy(policy);
            columns.check(row)?;
            columns.check_bound(row, bound)?;
        }
        Ok(())
    }
}

impl Chunked<COLUMNS> for Comparison {
    type Sums = Totals;

    fn sum(&self, rows: &Rows<'_, COLUMNS>, before: u64, scratch: &mut Scratch) -> Totals {
        let n = length(rows);
        let [losses, w1, w2, fhats, b1, b2, shares] = *rows;
        let [losses, w1, w2] = [losses, w1, w2].map(Option::unwrap_or_default);
        let (u, r) = scratch.two(n);
        for i in 0..n {
            r[i] = (w1[i] - w2[i]) * losses[i];
        }
        let ips = Moments::of(&Terms {
            r,
            u: None,
            v: None,
            h: shares,
        });
        let dr = if let (Some(fhats), Some(b1), Some(b2)) = (fhats, b1, b2) {
            for i in 0..n {
                u[i] = b1[i] - b2[i];
                r[i] = (w1[i] - w2[i]) * (losses[i] - fhats[i]);
            }
            Some(Moments::of(&Terms {
                r,
                u: Some(u),
                v: None,
                h: shares,
            }))
        } else {
            None
        };
        let weights = [w1, w2].map(|weights| Columns {
            losses,
            weights,
            shares,
            ..Columns::default()
        });
        let mut sums = Totals {
            ips,
            snips: RatioDifference::of(losses, [w1, w2], shares),
            dr,
            weights: [0, 1]
                .map(|policy| WeightSummary::of(&weights[policy], &self.total.weights[policy])),
            ..Totals::new(self.bound)
        };
        let mut start = 0;
        while start < n {
            let look = Path::next_after(before + start as u64);
            let end = n.min((look - before) as usize);
            let range = start..end;
            let (x, y) = scratch.two(end - start);
            let part = [losses, w1, w2].map(|column| &column[range.clone()]);
            let shares = shares.map(|shares| &shares[range]);
            bet(part, self.bound, shares, x, y, &mut sums.sides);
            if before + end as u64 == look {
                // Of this chunk alone: those before it are added with the rest.
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

/// w₁ℓ + w₂(1 − ℓ) on the one side, w₂ℓ + w₁(1 − ℓ) on the other; B ± (w₁ − w₂)ℓ.
fn bet(
    [losses, w1, w2]: [&[f64]; 3],
    bound: Option<f64>,
    shares: Option<&[f64]>,
    x: &mut [f64],
    y: &mut [f64],
    sides: &mut Sides,
) {
    mixed(losses, w1, w2, x, y);
    sides.below.observe(0, x, shares);
    sides.above.observe(0, y, shares);
    if let Some(bound) = bound {
        for i in 0..losses.len() {
            let difference = (w1[i] - w2[i]) * losses[i];
            x[i] = (bound + difference).max(0.0);
            y[i] = (bound - difference).max(0.0);
        }
        sides.below.observe(1, x, shares);
        sides.above.observe(1, y, shares);
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn mixed(losses: &[f64], w1: &[f64], w2: &[f64], x: &mut [f64], y: &mut [f64]) {
    let rows = x.iter_mut().zip(y).zip(losses).zip(w1).zip(w2);
    for ((((x, y), loss), w1), w2) in rows {
        *x = w1 * loss + w2 * (1.0 - loss);
        *y = w2 * loss + w1 * (1.0 - loss);
    }
}

/// Of 1 + v₁ − v₂ and of 1 + v₂ − v₁.
fn empty_sides(bound: Option<f64>) -> Sides {
    let side = match bound {
        None => Side::new(&[0.0]),
        Some(bound) => Side::new(&[0.0, bound - 1.0]),
    };
    Sides {
        below: side.clone(),
        above: side,
    }
}

/// Sums over events.
#[derive(Debug, Clone)]
pub(crate) struct Totals {
    ips: Moments,
    snips: RatioDifference,
    dr: Option<Moments>,
    weights: [WeightSummary; 2],
    sides: Sides,
    path: Path,
}

impl Totals {
    fn new(bound: Option<f64>) -> Self {
        Self {
            ips: Moments::default(),
            snips: RatioDifference::default(),
            dr: None,
            weights: [WeightSummary::new(), WeightSummary::new()],
            sides: empty_sides(bound),
            path: Path::new(),
        }
    }

    fn add(&mut self, later: &Self) {
        self.path.append(self.ips.n, &self.sides, &later.path);
        self.sides.merge(&later.sides);
        self.ips.merge(&later.ips);
        self.snips.merge(&later.snips);
        if let Some(more) = &later.dr {
            self.dr.get_or_insert_default().merge(more);
        }
        for (ours, theirs) in self.weights.iter_mut().zip(&later.weights) {
            ours.merge(theirs);
        }
    }
}
