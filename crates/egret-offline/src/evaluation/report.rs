use serde::Serialize;

use crate::estimator::{Estimator, Hyperparameter, Rule};
use crate::evaluation::layout::Layout;
use crate::evaluation::totals::Totals;
use crate::evaluation::verdict::{Subject, Terms};
use crate::evaluation::{Diagnostics, Estimate, Plan, Standing, Verdict};
use crate::interval::{
    AsymptoticSequence, Confidence, EmpiricalBernstein, IntervalKind, PathPoint,
    normal_quantile_above, percentile_interval,
};
use crate::sums::Moments;

/// The result of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Each estimator with each interval it can have, in the order of the plan.
    pub estimates: Vec<Estimate>,
    /// The pairs of estimator and interval that are not possible.
    pub skipped: Vec<Skipped>,
    /// What the weights tell.
    pub diagnostics: Diagnostics,
    /// The betting interval over time, for the first estimator that has one. Empty where it is refused.
    pub path: Vec<PathPoint>,
}

/// An interval that an estimator cannot have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Skipped {
    /// Which estimator.
    pub estimator: Estimator,
    /// Which interval.
    pub interval: IntervalKind,
    /// Why.
    pub reason: &'static str,
}

/// What a report is made from.
pub(crate) struct Source<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) layout: &'a Layout,
    pub(crate) total: &'a Totals,
    pub(crate) left_out: u64,
    /// Whether events were kept for the log with unequal probabilities.
    pub(crate) sampled_unequally: bool,
}

impl Source<'_> {
    pub(crate) fn report(&self, confidence: Confidence) -> Report {
        let bound = self
            .plan
            .weight_bound
            .or_else(|| self.total.weights.settled_bound());
        let diagnostics = self.total.weights.diagnostics(self.left_out, bound);
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

    /// Empty where the interval itself is refused.
    fn path(&self, confidence: Confidence) -> Vec<PathPoint> {
        let (Some(sides), Some(bet)) = (&self.total.sides, self.layout.bets.first()) else {
            return Vec::new();
        };
        let unbounded = bet.on == Estimator::Dr && self.policy_predicted_exceeds_one();
        if unbounded || self.sampled_unequally {
            return Vec::new();
        }
        let n = self.total.weights.n();
        let path = &self.total.path;
        path.intervals(confidence.alpha(), 1.0, (n, sides), |all| bet.sides_of(all))
    }

    /// Whether the policy's predicted loss is above 1 at some event, so that terms have no known bound.
    fn policy_predicted_exceeds_one(&self) -> bool {
        1.0 < self.total.weights.largest_policy_predicted
    }

    /// The rule of an estimator with the least estimated bias² + variance.
    fn best_slot(&self, place: usize) -> usize {
        let slots = self.layout.slots[place].clone();
        // The last rule of a grid leaves weights alone: the bias of another is the difference from it.
        let [h, _, unshrunk, _] = self.total.slots[slots.end - 1].sums;
        let score = |slot: usize| {
            let moments = &self.total.slots[slot];
            let bias = (unshrunk - moments.sums[2]) / h;
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
        let moments = &self.total.slots[slot];
        let alpha = confidence.alpha();
        let n = moments.n as f64;
        let thrice = (0 < moments.n).then_some(3 * moments.n);
        let around = |standard_errors: f64, more_events| {
            let (estimate, margin) = (
                moments.estimate(),
                standard_errors * moments.standard_error(),
            );
            Found {
                estimate,
                low: estimate - margin,
                high: estimate + margin,
                more_events,
            }
        };
        match kind {
            IntervalKind::Normal => Ok(around(normal_quantile_above(0.5 * alpha), thrice)),
            IntervalKind::Asymptotic => {
                let sequence = AsymptoticSequence::new(alpha);
                let more_events = thrice.map(|_| more(n, sequence.times_until_half(n)));
                Ok(around(sequence.standard_errors(n), more_events))
            }
            IntervalKind::Bootstrap => {
                let replicates = self.total.replicates.as_ref();
                let replicates = replicates.ok_or("there are no events")?;
                if 0.5 * alpha * (self.plan.replicates as f64) < 1.0 {
                    return Err("too few replicates for this level: ask for at least 2/alpha");
                }
                let (low, high) = percentile_interval(&replicates.estimates(slot, rule), alpha);
                Ok(Found {
                    estimate: moments.estimate(),
                    low,
                    high,
                    more_events: thrice,
                })
            }
            IntervalKind::EmpiricalBernstein => {
                let choices = self.layout.slots[place].len();
                let bernstein = self.bernstein(rule, moments, choices)?;
                let (low, high) = bernstein.interval(alpha).unwrap_or(NO_VALUE);
                Ok(Found {
                    estimate: moments.estimate(),
                    low,
                    high,
                    more_events: bernstein
                        .times_until_half(alpha)
                        .map(|times| more(n, times)),
                })
            }
            IntervalKind::Betting => {
                let bet = self.layout.bet_on(rule.estimator)?;
                if self.sampled_unequally {
                    return Err(SAMPLED_UNEQUALLY);
                }
                if rule.estimator == Estimator::Dr && self.policy_predicted_exceeds_one() {
                    return Err(PREDICTED_EXCEEDS_ONE);
                }
                let widest = self.total.sides.as_ref().expect("there is a bet");
                let sides = bet.sides_of(widest);
                let (low, high) = sides.interval(alpha, 1.0).unwrap_or(NO_VALUE);
                Ok(Found {
                    estimate: sides.least_refuted(1.0),
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
            return Err("a ratio of sums is not a mean of bounded terms");
        }
        if self.total.weights.event_weights_differ() {
            return Err("this interval needs events that all count alike, without event weights");
        }
        let bound = rule.largest_weight(self.plan.weight_bound.unwrap_or(f64::INFINITY));
        if !bound.is_finite() {
            return Err("the weights have no bound: give one, or clip them");
        }
        if rule.has_policy_predicted() && self.policy_predicted_exceeds_one() {
            return Err(PREDICTED_EXCEEDS_ONE);
        }
        // w(ℓ − f̂) is in [−w, w] and E_q f̂ in [0, 1].
        let range = if rule.has_policy_predicted() {
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
            estimate,
            low,
            high,
            more_events,
        } = found;
        let terms = self.terms(slot);
        let logged = self.total.weights.logged(interval, confidence.alpha());
        let subject = Subject {
            diagnostics,
            estimator: used,
            interval,
            low,
            high,
            range: 1.0,
            terms,
            more_events,
            can_bet: !self.sampled_unequally,
        };
        Estimate {
            estimator: used,
            tuned,
            interval,
            estimate: if low.is_nan() { f64::NAN } else { estimate },
            low,
            high,
            level: confidence.level(),
            simultaneous: confidence.policies(),
            n: diagnostics.n,
            ess: diagnostics.ess,
            informative: terms.informative,
            max_weight: self.total.weights.max_weight(),
            mean_weight: diagnostics.mean_weight,
            zero_share: diagnostics.zero_share,
            more_events,
            logged: diagnostics.logged_mean,
            standing: Standing::of(low, high, logged),
            verdict: Verdict::of(&subject),
        }
    }

    /// The terms that move the estimate of a rule.
    fn terms(&self, slot: usize) -> Terms {
        let (rule, moments) = (self.layout.rules[slot], &self.total.slots[slot]);
        let largest = self.plan.weight_bound.map(|bound| {
            let heaviest = rule.largest_weight(bound) * self.total.weights.largest_event_weight();
            // ψ = w(ℓ − v̂), wℓ − v̂ or w(ℓ − f̂).
            let estimate = moments.estimate();
            match rule.has_policy_predicted() {
                true => heaviest,
                false => heaviest * estimate.max(1.0 - estimate),
            }
        });
        Terms {
            informative: moments.informative(),
            expected: self.total.weights.expected_informative(),
            spread: moments.spread(),
            largest,
        }
    }
}

/// The ends of an interval that holds no value.
pub(crate) const NO_VALUE: (f64, f64) = (f64::NAN, f64::NAN);

pub(crate) const SAMPLED_UNEQUALLY: &str = "events were kept for the log with unequal probabilities (passProb), which may depend on what is bet on";

const PREDICTED_EXCEEDS_ONE: &str =
    "the policy's predicted loss is above 1 at some event, so the terms have no known bound";

/// (times − 1) · n, rounded up.
pub(crate) fn more(n: f64, times: f64) -> u64 {
    ((times - 1.0) * n).ceil() as u64
}

/// An interval.
struct Found {
    estimate: f64,
    low: f64,
    high: f64,
    more_events: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::Evaluation;
    use crate::weighted_events::WeightedEvents;

    #[test]
    fn a_refused_interval_has_no_path() {
        let report = |policy_predicted: f64| {
            let mut evaluation = Evaluation::new(Plan {
                estimators: vec![Estimator::Dr],
                intervals: vec![IntervalKind::Betting],
                weight_bound: Some(2.0),
                ..Plan::default()
            })
            .expect("a good plan");
            let policy_predicted = vec![policy_predicted; 100];
            let events = WeightedEvents {
                losses: &[0.5; 100],
                weights: &[1.0; 100],
                predicted: Some(&[0.5; 100]),
                policy_predicted: Some(&policy_predicted),
                ..WeightedEvents::default()
            };
            evaluation.observe(&events).expect("good events");
            evaluation.report(Confidence::new(0.95).expect("a level"))
        };
        let refused = report(1.5);
        assert_eq!((refused.skipped.len(), refused.path.len()), (1, 0));
        let found = report(0.5);
        assert_eq!(found.skipped.len(), 0);
        assert_eq!(found.path.last().map(|last| last.n), Some(100));
    }
}
