use serde::Serialize;

use crate::evaluation::pareto_tail::pareto_shape;
use crate::interval::{AsymptoticSequence, IntervalKind, normal_quantile_above};
use crate::sums::{Moments, Terms};
use crate::weighted_events::WeightedEvents;

/// What the weights tell about every estimate made from them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnostics {
    /// How many events were weighed.
    pub n: u64,
    /// How many events of the log could not be weighed and were left out.
    pub left_out: u64,
    /// Effective sample size, (Σ hw)²/Σ (hw)².
    pub ess: f64,
    /// The five largest weights.
    pub largest_weights: Vec<f64>,
    /// The largest hw as a share of their sum.
    pub largest_share: f64,
    /// The share of events with weight 0.
    pub zero_share: f64,
    /// The mean weight Σ hw/Σ h, which should be 1.
    pub mean_weight: f64,
    /// Its standard error.
    pub mean_weight_error: f64,
    /// How many weights that error rests on: (Σψ²)²/Σψ⁴ of ψ = h(w − mean weight).
    pub informative_weights: f64,
    /// The shape k of a generalized Pareto distribution fitted to the largest hw. Above ½ their variance is infinite, above 1
    /// their mean is. None where there are too few, where the largest comes twice, and where a bound is known: such
    /// weights have no tail.
    pub pareto_k: Option<f64>,
    /// The mean loss of the log as it was played, Σ hℓ/Σ h.
    pub logged_mean: f64,
}

/// Sums over weights, in constant memory.
#[derive(Debug, Clone)]
pub(crate) struct WeightSummary {
    moments: Moments,
    /// Of the losses, not weighed.
    logged: Moments,
    zeros: u64,
    /// The smallest and the largest h.
    event_weights: (f64, f64),
    /// The largest hB; ∞ where a bound is not known.
    largest_bound: f64,
    /// The largest w.
    largest: Top,
    /// The largest hw, where there are event weights.
    heaviest: Option<Top>,
    /// The largest E_q f̂.
    pub(crate) largest_policy_predicted: f64,
}

impl WeightSummary {
    pub(crate) fn new() -> Self {
        Self {
            moments: Moments::default(),
            logged: Moments::default(),
            zeros: 0,
            event_weights: (f64::INFINITY, 0.0),
            largest_bound: 0.0,
            largest: Top::new(),
            heaviest: None,
            largest_policy_predicted: 0.0,
        }
    }

    /// The summary of these events alone. Weights that cannot be among the largest beside those of `so_far` are skipped.
    pub(crate) fn of(events: &WeightedEvents<'_>, so_far: &Self) -> Self {
        let weights = events.weights;
        let moments = |r| {
            Moments::of(&Terms {
                r,
                u: None,
                v: None,
                h: events.event_weights,
            })
        };
        let mut largest_weights = Top::new();
        largest_weights.add(weights, so_far.largest.floor());
        let heaviest = events.event_weights.map(|event_weights| {
            let heavy: Vec<f64> = weights
                .iter()
                .zip(event_weights)
                .map(|(w, h)| w * h)
                .collect();
            let mut top = Top::new();
            top.add(&heavy, so_far.heaviest.as_ref().map_or(0.0, Top::floor));
            top
        });
        Self {
            moments: moments(weights),
            logged: moments(events.losses),
            zeros: zeros(weights),
            event_weights: events
                .event_weights
                .map_or((1.0, 1.0), |h| (smallest(h), largest(h))),
            largest_bound: match (events.weight_bounds, events.event_weights) {
                (None, _) => f64::INFINITY,
                (Some(bounds), None) => largest(bounds),
                (Some(bounds), Some(h)) => bounds
                    .iter()
                    .zip(h)
                    .fold(0.0, |most, (b, h)| most.max(b * h)),
            },
            largest: largest_weights,
            heaviest,
            largest_policy_predicted: events.policy_predicted.map_or(0.0, largest),
        }
    }

    pub(crate) fn merge(&mut self, later: &Self) {
        self.moments.merge(&later.moments);
        self.logged.merge(&later.logged);
        self.zeros += later.zeros;
        self.event_weights.0 = self.event_weights.0.min(later.event_weights.0);
        self.event_weights.1 = self.event_weights.1.max(later.event_weights.1);
        self.largest_bound = self.largest_bound.max(later.largest_bound);
        // Where events count alike, hw is w.
        if self.heaviest.is_some() || later.heaviest.is_some() {
            let more = later.heaviest.as_ref().unwrap_or(&later.largest);
            self.heaviest
                .get_or_insert_with(|| self.largest.clone())
                .merge(more);
        }
        self.largest.merge(&later.largest);
        self.largest_policy_predicted = self
            .largest_policy_predicted
            .max(later.largest_policy_predicted);
    }

    pub(crate) fn n(&self) -> u64 {
        self.moments.n
    }

    pub(crate) fn max_weight(&self) -> f64 {
        self.largest.values.first().copied().unwrap_or(0.0)
    }

    /// The mean loss of the log, with a margin such that it and the interval of an estimate both hold.
    pub(crate) fn logged(&self, kind: IntervalKind, alpha: f64) -> (f64, f64) {
        let margin = match kind {
            IntervalKind::Normal | IntervalKind::Bootstrap => {
                normal_quantile_above(0.5 * alpha) * self.logged.standard_error()
            }
            IntervalKind::Asymptotic => {
                let sequence = AsymptoticSequence::new(alpha);
                sequence.standard_errors(self.logged.n as f64) * self.logged.standard_error()
            }
            IntervalKind::Betting | IntervalKind::EmpiricalBernstein => {
                // At all times at once, as losses are in [0, 1]: the normal mixture of Robbins 1970, best near 1,000 events.
                const PRIOR: f64 = 25.0;
                let variance = 0.25 * self.logged.sum_of_squared_event_weights() + PRIOR;
                let log = libm::log(variance / (PRIOR * alpha * alpha));
                (variance * log).sqrt() / self.logged.sums[0]
            }
        };
        (self.logged.estimate(), margin)
    }

    /// (Σψ²)²/Σψ⁴ of the losses alone, as a share of (Σh²)²/Σh⁴, the events that count: small where losses are rare, and not
    /// where many events count little.
    pub(crate) fn informative_share(&self) -> f64 {
        let share = self.logged.informative() / self.logged.informative_normalizer();
        if share < 1.0 { share } else { 1.0 }
    }

    /// (Σψ²)²/Σψ⁴ of ψ = hw(ℓ − v̂) on average, if losses were alike at all weights.
    pub(crate) fn expected_informative(&self) -> f64 {
        self.moments.informative_around(0.0) * self.informative_share()
    }

    /// The largest hB of events with bounds of their own, if weights of that size are too few to matter: then they have no tail.
    pub(crate) fn settled_bound(&self) -> Option<f64> {
        let bound = self.largest_bound;
        let squares = self.moments.sum_of_squares();
        (bound * bound <= 0.1 * squares).then_some(bound)
    }

    pub(crate) fn largest_event_weight(&self) -> f64 {
        self.event_weights.1
    }

    pub(crate) fn event_weights_differ(&self) -> bool {
        self.event_weights.0 < self.event_weights.1
    }

    /// `bound` is a known bound on the weights.
    pub(crate) fn diagnostics(&self, left_out: u64, bound: Option<f64>) -> Diagnostics {
        let n = self.moments.n as f64;
        let [_, _, total, _] = self.moments.sums;
        let heaviest = self.heaviest.as_ref().unwrap_or(&self.largest);
        let most = heaviest.values.first().copied().unwrap_or(0.0);
        Diagnostics {
            n: self.moments.n,
            left_out,
            ess: self.moments.effective_sample_size(),
            largest_weights: self.largest.values.iter().copied().take(5).collect(),
            largest_share: if 0.0 < total { most / total } else { 0.0 },
            zero_share: self.zeros as f64 / n,
            mean_weight: self.moments.estimate(),
            mean_weight_error: self.moments.standard_error(),
            informative_weights: self.moments.informative(),
            pareto_k: match bound {
                Some(_) => None,
                None => pareto_shape(&heaviest.values, self.moments.n),
            },
            logged_mean: self.logged.estimate(),
        }
    }
}

fn smallest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn zeros(weights: &[f64]) -> u64 {
    weights.iter().map(|&w| u64::from(w == 0.0)).sum()
}

/// The largest of many numbers, in falling order.
#[derive(Debug, Clone, PartialEq)]
struct Top {
    values: Vec<f64>,
}

impl Top {
    /// Enough for the tail of 10⁵ events by the rule of [`pareto_shape`].
    const ROOM: usize = 1_024;

    fn new() -> Self {
        Self { values: Vec::new() }
    }

    /// A number that is not above it cannot be among the largest.
    fn floor(&self) -> f64 {
        if self.values.len() < Self::ROOM {
            0.0
        } else {
            self.values[Self::ROOM - 1]
        }
    }

    fn add(&mut self, values: &[f64], floor: f64) {
        self.values
            .extend(values.iter().filter(|&&value| floor < value));
        self.settle();
    }

    fn merge(&mut self, other: &Self) {
        if other.values.is_empty() {
            return;
        }
        self.values.extend_from_slice(&other.values);
        self.settle();
    }

    fn settle(&mut self) {
        if Self::ROOM < self.values.len() {
            self.values
                .select_nth_unstable_by(Self::ROOM - 1, |a, b| b.total_cmp(a));
            self.values.truncate(Self::ROOM);
        }
        self.values.sort_unstable_by(|a, b| b.total_cmp(a));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let events = WeightedEvents {
            losses: &[0.0; 4],
            weights: &[0.0, 1.0, 3.0, 0.0],
            ..WeightedEvents::default()
        };
        let summary = WeightSummary::of(&events, &WeightSummary::new());
        let found = summary.diagnostics(2, None);
        assert_eq!(found.n, 4);
        assert_eq!(found.left_out, 2);
        assert_eq!(found.ess, 1.6);
        assert_eq!(found.largest_weights, [3.0, 1.0]);
        assert_eq!(found.largest_share, 0.75);
        assert_eq!(found.zero_share, 0.5);
        assert_eq!(found.mean_weight, 1.0);
        // Variance (1 + 0 + 4 + 1)/3 = 2.
        assert!((found.mean_weight_error - 0.5_f64.sqrt()).abs() < 1e-15);
        assert_eq!(found.pareto_k, None);
    }

    #[test]
    fn the_mean_of_the_log_has_an_interval_of_the_same_kind() {
        let losses: Vec<f64> = (0..1_000).map(|n| f64::from(n % 2)).collect();
        let events = WeightedEvents {
            losses: &losses,
            weights: &[1.0; 1_000],
            ..WeightedEvents::default()
        };
        let summary = WeightSummary::of(&events, &WeightSummary::new());
        let margin = |kind| {
            let (mean, margin) = summary.logged(kind, 0.05);
            assert_eq!(mean, 0.5);
            margin
        };
        let normal = margin(IntervalKind::Normal);
        assert!((normal - 1.959_964 * (0.25 / 999.0_f64).sqrt()).abs() < 1e-8);
        assert!((margin(IntervalKind::Asymptotic) / normal - 1.548_604).abs() < 1e-6);
        assert!(1.4 * normal < margin(IntervalKind::Betting));
        assert_eq!(margin(IntervalKind::Bootstrap), normal);
    }

    #[test]
    fn losses_that_all_tell_as_much_are_all_informative_whatever_events_count() {
        let h: Vec<f64> = (0..1000).map(|n| 10.0 / (10.0 + f64::from(n))).collect();
        let losses: Vec<f64> = (0..1000).map(|n| f64::from(n % 2)).collect();
        for (event_weights, least) in [(None, 1.0 - 1e-12), (Some(&h[..]), 0.9)] {
            let events = WeightedEvents {
                losses: &losses,
                weights: &[1.0; 1000],
                event_weights,
                ..WeightedEvents::default()
            };
            let share = WeightSummary::of(&events, &WeightSummary::new()).informative_share();
            assert!((least..=1.0).contains(&share), "{share}");
        }
    }

    #[test]
    fn event_weights_enter_what_they_should() {
        let events = WeightedEvents {
            losses: &[0.0; 2],
            weights: &[1.0, 4.0],
            event_weights: Some(&[1.0, 0.25]),
            ..WeightedEvents::default()
        };
        let found = WeightSummary::of(&events, &WeightSummary::new()).diagnostics(0, None);
        assert_eq!(found.ess, 2.0);
        assert_eq!(found.largest_share, 0.5);
        assert_eq!(found.largest_weights, [4.0, 1.0]);
        assert_eq!(found.mean_weight, 1.6);
    }

    #[test]
    fn the_largest_are_found_in_any_parts() {
        let values: Vec<f64> = (0..9_000).map(|i| f64::from(i * 7_919 % 9_001)).collect();
        let mut sorted = values.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let mut top = Top::new();
        for part in values.chunks(700) {
            let mut more = Top::new();
            more.add(part, top.floor());
            top.merge(&more);
        }
        assert_eq!(top.values, sorted[..Top::ROOM]);
    }
}
