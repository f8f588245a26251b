use egret::{Direction, Objective};
use serde::Serialize;

use crate::estimator::Estimator;
use crate::evaluation::diagnostics::WeightSummary;
use crate::evaluation::report::{NO_VALUE, more};
use crate::evaluation::verdict::{Subject, Terms};
use crate::evaluation::{Diagnostics, EvaluationError, PlanError, Standing, Verdict};
use crate::interval::betting::{DifferenceBet, KnownOfPair, Path, Sides};
use crate::interval::{
    AsymptoticSequence, Confidence, IntervalKind, PathPoint, RatioDifference, normal_quantile_above,
};
use crate::paired_events::PairedEvents;
use crate::sums::{
    Chunked, Moments, PAIRED_ABSENT, PAIRED_COLUMNS, Rest, Rows, Scratch, Terms as MomentTerms,
};
use crate::weighted_events::{WeightedEvents, WeightedEventsError};

/// Estimates the difference v₁ − v₂ between the values of two policies from the same events.
///
/// Both policies are weighed on the same losses, so much of the noise in each value cancels in the difference.
///
/// | estimator | terms                                     | interval                                              |
/// |-----------|-------------------------------------------|-------------------------------------------------------|
/// | `ips`     | (w₁ − w₂)ℓ                                | normal, asymptotic; betting, see below                |
/// | `snips`   | the difference of two ratios              | normal, asymptotic                                    |
/// | `dr`      | E_q₁ f̂ − E_q₂ f̂ + (w₁ − w₂)(ℓ − f̂)        | normal, asymptotic, and betting in place of ips's, if |
/// |           |                                           | all three predictions are given                       |
///
/// Bets are on w₁ℓ + w₂(1 − ℓ), with mean 1 + v₁ − v₂; with bounds on the weights, with predictions and with truncated means on
/// more, in one wealth: `interval/betting/difference_bets.rs` has the formulas. Predictions must be known before the action is drawn.
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
    known: KnownOfPair,
    bet: DifferenceBet,
    total: Totals,
    rest: Rest<PAIRED_COLUMNS>,
    left_out: u64,
    sampled_unequally: bool,
    /// Whether predictions are given; none before the first batch.
    predicted: Option<bool>,
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
        self.events_to_settle_at(self.estimate)
    }

    /// The same if the difference is this. The middle of a skewed betting interval is no good guess of it, and another estimator has
    /// a better one.
    pub fn events_to_settle_at(&self, difference: f64) -> Option<u64> {
        if self.standing != Standing::NotShown {
            return None;
        }
        let reach = match 0.0 < difference {
            true => difference - self.low,
            false => self.high - difference,
        };
        let more = self.n as f64 * ((reach / difference).powi(2) - 1.0);
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

impl PolicyComparison {
    /// With a known upper bound on all weights, at least 1, or without one.
    pub fn new(weight_bound: Option<f64>) -> Result<Self, PlanError> {
        if let Some(bound) = weight_bound
            && !(1.0 <= bound && bound.is_finite())
        {
            return Err(PlanError::WeightBound { bound });
        }
        Ok(Self::knowing(KnownOfPair {
            bound: weight_bound,
            ..KnownOfPair::default()
        }))
    }

    fn knowing(known: KnownOfPair) -> Self {
        let bet = DifferenceBet::new(known);
        Self {
            total: Totals::new(&bet),
            known,
            bet,
            rest: Rest::new(PAIRED_ABSENT),
            left_out: 0,
            sampled_unequally: false,
            predicted: known.predicted.then_some(true),
        }
    }

    /// For events that come with bounds of their own ([`PairedEvents::weight_bounds`]), before the first of them.
    pub fn with_event_bounds(self) -> Self {
        Self::knowing(KnownOfPair {
            event_bounds: true,
            ..self.known
        })
    }

    /// For events that come with predictions, before the first of them. Bets use them where weights have bounds, or where there
    /// are truncated means.
    pub fn with_predictions(self) -> Self {
        Self::knowing(KnownOfPair {
            predicted: true,
            ..self.known
        })
    }

    /// For events that come with predictions and with [`PairedTruncatedMeans`](crate::PairedTruncatedMeans), before the first of
    /// them.
    pub fn with_truncated_means(self) -> Self {
        Self::knowing(KnownOfPair {
            predicted: true,
            truncated: true,
            ..self.known
        })
    }

    /// Adds a batch of events. A batch that is refused leaves no trace.
    pub fn observe(&mut self, events: &PairedEvents<'_>) -> Result<(), EvaluationError> {
        events.check(self.events(), self.known.bound)?;
        let predicted = events.predictions.is_some();
        self.check_predicted(predicted)?;
        if self.known.truncated && events.truncated.is_none() {
            return Err(WeightedEventsError::Missing {
                name: "truncated",
                estimator: Estimator::Dr.to_string(),
            }
            .into());
        }
        self.predicted = Some(predicted);
        // Taken out, so that `self` is free to add chunks.
        let mut rest = self.rest.take();
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
        if self.known != later.known {
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
        let rest = all.rest.take();
        all.add_chunks(&rest.rows());
        all.finished(confidence)
    }

    fn finished(&self, confidence: Confidence) -> PolicyComparisonReport {
        let total = &self.total;
        let diagnostics =
            [0, 1].map(|policy| total.weights[policy].diagnostics(self.left_out, self.known.bound));
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
                    can_bet: !self.sampled_unequally,
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
        let sequence = AsymptoticSequence::new(alpha);
        let events = n as f64;
        let kinds = [
            (
                IntervalKind::Normal,
                normal_quantile_above(0.5 * alpha),
                thrice,
            ),
            (
                IntervalKind::Asymptotic,
                sequence.standard_errors(events),
                thrice.map(|_| more(events, sequence.times_until_half(events))),
            ),
        ];
        let around = |estimator, estimate: f64, error: f64, terms| {
            kinds.map(|(kind, standard_errors, more_events)| {
                let margin = standard_errors * error;
                let ends = (estimate - margin, estimate + margin);
                difference(estimator, kind, estimate, ends, terms, more_events)
            })
        };
        let (low, high) = total.sides.interval(alpha, 2.0).unwrap_or(NO_VALUE);
        let times = total.sides.times_until_half(alpha, 2.0);
        let (ips, snips) = (&total.ips, &total.snips);
        let own = |moments: &Moments| Terms {
            informative: moments.informative(),
            expected: total.unequal.informative_normalizer() * total.weights[0].informative_share(),
            spread: moments.spread(),
            largest: self
                .known
                .bound
                .map(|bound| bound * total.weights[0].largest_event_weight()),
        };
        let corrected = self.bet.is_corrected();
        let betting = difference(
            match corrected {
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
            times.map(|times| more(events, times)),
        );
        // The terms of the difference of two ratios, around the mean of both: (w₁ − w₂)(ℓ − v̄).
        let ratio_terms = Terms {
            informative: total.unequal.informative_around(snips.middle()),
            spread: total.unequal.spread_around(snips.middle()),
            ..own(ips)
        };
        let mut differences = Vec::new();
        if let Some(dr) = &total.dr {
            differences.extend(around(
                Estimator::Dr,
                dr.estimate(),
                dr.standard_error(),
                own(dr),
            ));
        }
        differences.extend(around(
            Estimator::Snips,
            snips.estimate(),
            snips.standard_error(),
            ratio_terms,
        ));
        differences.extend(around(
            Estimator::Ips,
            ips.estimate(),
            ips.standard_error(),
            own(ips),
        ));
        // Terms with a prediction above 1 have no known bound.
        let mut largest = total.weights.iter().map(|one| one.largest_policy_predicted);
        let unbounded = corrected && largest.any(|largest| 1.0 < largest);
        let mut path = Vec::new();
        if !self.sampled_unequally && !unbounded {
            differences.push(betting);
            path = total
                .path
                .intervals(alpha, 2.0, (n, &total.sides), Sides::clone);
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

impl Chunked<PAIRED_COLUMNS> for PolicyComparison {
    type Sums = Totals;

    fn sum(&self, rows: &Rows<'_, PAIRED_COLUMNS>, before: u64, scratch: &mut Scratch) -> Totals {
        let events = PairedEvents::of_rows(rows);
        let n = events.len();
        let (losses, event_weights) = (events.losses, events.event_weights);
        let [w1, w2] = events.weights;
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
        let dr = events.predictions.map(|[predicted, b1, b2]| {
            for i in 0..n {
                u[i] = b1[i] - b2[i];
                r[i] = (w1[i] - w2[i]) * (losses[i] - predicted[i]);
            }
            Moments::of(&MomentTerms {
                r,
                u: Some(u),
                v: None,
                h: event_weights,
            })
        });
        let weights = [0, 1].map(|policy| WeightedEvents {
            predicted: None,
            weight_bounds: None,
            ..events.policy(policy)
        });
        let mut sums = Totals {
            ips,
            unequal,
            snips: RatioDifference::of(losses, [w1, w2], event_weights),
            dr,
            weights: [0, 1]
                .map(|policy| WeightSummary::of(&weights[policy], &self.total.weights[policy])),
            ..Totals::new(&self.bet)
        };
        let mut start = 0;
        while start < n {
            let look = Path::next_after(before + start as u64);
            let end = n.min((look - before) as usize);
            self.bet
                .observe(&events.part(start..end), scratch, &mut sums.sides);
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
    fn new(bet: &DifferenceBet) -> Self {
        Self {
            ips: Moments::default(),
            unequal: Moments::default(),
            snips: RatioDifference::default(),
            dr: None,
            weights: [WeightSummary::new(), WeightSummary::new()],
            sides: bet.empty(),
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
