use std::sync::Arc;

use super::{Peak, Prior, Side, Sides, scale_of};
use crate::estimator::Estimator;
use crate::sums::Scratch;
use crate::weighted_events::{TRUNCATIONS, WeightedEvents};

/// Which numbers X ≥ 0 the events of an estimator become: several, whose bets share one wealth.
///
/// Every X has the mean v + k, whatever c, s and B an event has, as long as they are known before its action is drawn: for
/// then E w = 1 given them.
///
/// | X                                | with                       | never negative, as |
/// |----------------------------------|----------------------------|--------------------|
/// | wℓ                               | k = 0                      |                    |
/// | w(ℓ − c) + c + k                 | c ≤ k/(B − 1)              | w ≤ B              |
/// | w(ℓ − s·f̂) + s·E_q f̂ + k        | s ≤ min(1, k/B)            | w ≤ B              |
/// | wℓ − min(w·f̂, k) + E min(w·f̂, k) + k | E over the log's actions | always             |
///
/// w(ℓ − c) spreads least where c is near v, so that there are several c. B is a bound for all events, or one for each: where
/// that is too large for k, c and s become smaller. The last X needs no bound but the policy that made the log (Waudby-Smith et
/// al. 2022): with a good f̂, it has the variance of a doubly robust estimate but for the weights that k cuts off. The other side is bounded by the same X of 1 − ℓ, 1 − f̂ and 1 − E_q f̂:
/// the interval of 1 − ℓ is the mirror image.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bet {
    /// IPS or DR.
    pub(crate) on: Estimator,
    parts: Vec<Part>,
    /// Of each side.
    start: Side,
    /// The bound on all weights, or ∞.
    bound: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    Plain,
    Centered { c: f64, k: f64 },
    Corrected { k: f64 },
    Truncated { k: f64 },
}

/// Parts that share what their kind starts with.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    /// c = 1.
    One,
    /// c of ⅞ and more.
    HighCenter,
    OtherCenter,
    Corrected,
    Truncated,
}

impl Kind {
    /// What all parts of the kind start with, up to a factor.
    ///
    /// Rare losses are bounded from above by c near 1, and there are few events that have anything to say of them: what these
    /// parts have is what makes such intervals narrow.
    fn share(self) -> f64 {
        match self {
            Self::Plain | Self::One => 1.0,
            Self::HighCenter => 4.5,
            Self::OtherCenter => 3.5,
            Self::Corrected => 10.0,
            Self::Truncated => 20.0,
        }
    }
}

impl Part {
    fn kind(&self) -> Kind {
        match *self {
            Self::Plain => Kind::Plain,
            Self::Centered { c, .. } if 1.0 <= c => Kind::One,
            Self::Centered { c, .. } if 0.875 <= c => Kind::HighCenter,
            Self::Centered { .. } => Kind::OtherCenter,
            Self::Corrected { .. } => Kind::Corrected,
            Self::Truncated { .. } => Kind::Truncated,
        }
    }

    fn k(&self) -> f64 {
        match *self {
            Self::Plain => 0.0,
            Self::Centered { k, .. } | Self::Corrected { k } | Self::Truncated { k } => k,
        }
    }

    /// What it puts on each bet, where `bound` is on all weights.
    ///
    /// X is at most B, so that bets are in units of 1/B. Bets on wℓ are smaller than those on B less wℓ: where a few hundred
    /// losses are rare, the best bet on the latter is close to the largest.
    fn prior(&self, bound: f64) -> Arc<Prior> {
        let peak = |bound: f64, around: f64, width: f64| {
            Arc::new(Prior::new(Peak {
                share: 0.75,
                // No further than bets go, whatever bound is given.
                around: (around - libm::log2(bound)).clamp(-24.0, 7.0),
                width,
            }))
        };
        match (self.kind(), *self) {
            (Kind::Plain, _) if bound < f64::INFINITY => peak(bound, -0.5, 2.0),
            (Kind::One | Kind::HighCenter, Self::Centered { c, k }) => peak(1.0 + k / c, 0.6, 0.75),
            _ => Arc::clone(Prior::usual()),
        }
    }
}

/// c with one bound for all events.
const CENTERS: [f64; 12] = [
    0.03125, 0.0625, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 0.9375, 0.96875, 1.0,
];

/// c where each event has its own bound.
const FEWER_CENTERS: [f64; 8] = [0.03125, 0.125, 0.25, 0.5, 0.75, 0.875, 0.96875, 1.0];

/// The bounds that k is made for, where each event has its own.
const USUAL_BOUNDS: [f64; 2] = [8.0, 64.0];

/// What is known of the weights besides themselves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownOfWeights {
    /// A bound for all events.
    pub(crate) bound: Option<f64>,
    /// Whether each event has a bound of its own.
    pub(crate) event_bounds: bool,
    /// Whether there are truncated means.
    pub(crate) truncated: bool,
}

impl Bet {
    /// What is bet on for IPS or DR, with what is known of the weights; none for DR with neither bounds nor truncated means.
    pub(crate) fn new(on: Estimator, known: KnownOfWeights) -> Option<Self> {
        let mut parts = vec![Part::Plain];
        let bounds: &[f64] = match &known.bound {
            Some(bound) => std::slice::from_ref(bound),
            None if known.event_bounds => &USUAL_BOUNDS,
            None => &[],
        };
        let centers: &[f64] = match known.bound {
            Some(_) => &CENTERS,
            None => &FEWER_CENTERS,
        };
        for bound in bounds {
            let centered = |&c: &f64| Part::Centered {
                c,
                k: c * (bound - 1.0),
            };
            parts.extend(centers.iter().map(centered));
        }
        if on == Estimator::Dr {
            if bounds.is_empty() && !known.truncated {
                return None;
            }
            parts.extend(bounds.iter().map(|&k| Part::Corrected { k }));
            if known.truncated {
                parts.extend(TRUNCATIONS.iter().map(|&k| Part::Truncated { k }));
            }
        }
        let bound = known.bound.unwrap_or(f64::INFINITY);
        let alike = |kind: Kind| parts.iter().filter(|part| part.kind() == kind).count() as f64;
        let start = Side::with_priors(parts.iter().map(|part| {
            let kind = part.kind();
            (kind.share() / alike(kind), part.k(), part.prior(bound))
        }));
        Some(Self {
            on,
            start,
            parts,
            bound,
        })
    }

    /// Before any event.
    pub(crate) fn empty(&self) -> Sides {
        Sides {
            below: self.start.clone(),
            above: self.start.clone(),
        }
    }

    /// Its sides, from those of a bet that has its parts first and others after them.
    pub(crate) fn sides_of(&self, widest: &Sides) -> Sides {
        widest.started_as(&self.start)
    }

    /// Adds events.
    pub(crate) fn observe(
        &self,
        events: &WeightedEvents<'_>,
        scratch: &mut Scratch,
        sides: &mut Sides,
    ) {
        let (x, y) = scratch.two(events.len());
        for (place, &part) in self.parts.iter().enumerate() {
            self.fill(part, events, x, y);
            sides.below.observe(place, x, events.event_weights);
            sides.above.observe(place, y, events.event_weights);
        }
    }

    /// X of ℓ, and of 1 − ℓ.
    fn fill(&self, part: Part, events: &WeightedEvents<'_>, x: &mut [f64], y: &mut [f64]) {
        let (losses, weights, h) = (events.losses, events.weights, events.event_weights);
        match part {
            Part::Plain => split(losses, weights, x, y),
            Part::Centered { c, k } => match (events.weight_bounds, h) {
                // c = k/(B − 1) but for rounding, where there is one bound for all.
                (None, None) => centered(losses, weights, c, k, x, y),
                (Some(bounds), None) => {
                    centered_within(losses, weights, (bounds, self.bound), c, k, x, y);
                }
                (_, Some(h)) => {
                    for i in 0..events.len() {
                        let (w, loss) = (weights[i], losses[i]);
                        let k = k / scale_of(h[i]);
                        let c = c.min(k / (self.bound_of(events, i) - 1.0).max(0.0));
                        x[i] = (w * (loss - c) + c + k).max(0.0);
                        y[i] = (w * (1.0 - loss - c) + c + k).max(0.0);
                    }
                }
            },
            Part::Corrected { k } => {
                let predicted = events.predicted.unwrap_or_default();
                let policy_predicted = events.policy_predicted.unwrap_or_default();
                for i in 0..events.len() {
                    let (w, loss) = (weights[i], losses[i]);
                    let k = k / h.map_or(1.0, |h| scale_of(h[i]));
                    let s = (k / self.bound_of(events, i)).min(1.0);
                    let (fhat, mean) = (s * predicted[i], s * policy_predicted[i]);
                    // Negative only by rounding, or where E_q f̂ is above 1 and the interval is refused.
                    x[i] = (w * (loss - fhat) + mean + k).max(0.0);
                    y[i] = (w * (1.0 - loss - (s - fhat)) + (s - mean) + k).max(0.0);
                }
            }
            Part::Truncated { k } => {
                let predicted = events.predicted.unwrap_or_default();
                for i in 0..events.len() {
                    let (w, loss, fhat) = (weights[i], losses[i], predicted[i]);
                    let k = k / h.map_or(1.0, |h| scale_of(h[i]));
                    // The mean is v + k at any smaller cut too.
                    let (cut, below, above) = cut_at_most(events, i, k);
                    x[i] = w * loss - (w * fhat).min(cut) + below + k;
                    y[i] = w * (1.0 - loss) - (w * (1.0 - fhat)).min(cut) + above + k;
                }
            }
        }
    }

    fn bound_of(&self, events: &WeightedEvents<'_>, i: usize) -> f64 {
        events
            .weight_bounds
            .map_or(self.bound, |bounds| bounds[i].min(self.bound))
    }
}

/// The largest truncation that is not above k, and its means at an event; nothing is taken off where there is none.
fn cut_at_most(events: &WeightedEvents<'_>, event: usize, k: f64) -> (f64, f64, f64) {
    let place = TRUNCATIONS.iter().rposition(|&cut| cut <= k);
    match (events.truncated, place) {
        (Some(means), Some(place)) => (
            TRUNCATIONS[place],
            means.below[place][event],
            means.above[place][event],
        ),
        _ => (0.0, 0.0, 0.0),
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

/// w(ℓ − c) + c + k and w(1 − ℓ − c) + c + k.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn centered(losses: &[f64], weights: &[f64], c: f64, k: f64, x: &mut [f64], y: &mut [f64]) {
    for (((x, y), loss), w) in x.iter_mut().zip(y).zip(losses).zip(weights) {
        *x = (w * (loss - c) + (c + k)).max(0.0);
        *y = (w * (1.0 - loss - c) + (c + k)).max(0.0);
    }
}

/// The same where each event has a bound, and all have one: c is no larger than k/(B − 1).
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn centered_within(
    losses: &[f64],
    weights: &[f64],
    (bounds, all): (&[f64], f64),
    c: f64,
    k: f64,
    x: &mut [f64],
    y: &mut [f64],
) {
    let rows = x.iter_mut().zip(y).zip(losses).zip(weights).zip(bounds);
    for ((((x, y), loss), w), bound) in rows {
        let c = c.min(k / (bound.min(all) - 1.0).max(0.0));
        *x = (w * (loss - c) + c + k).max(0.0);
        *y = (w * (1.0 - loss - c) + c + k).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weighted_events::TruncatedMeans;

    /// What the log plays, what is valued and what is lost at four actions.
    const P: [f64; 4] = [0.5, 0.25, 0.125, 0.125];
    const Q: [f64; 4] = [0.125, 0.125, 0.25, 0.5];
    const LOSSES: [f64; 4] = [0.0, 1.0, 0.25, 0.75];
    const FHAT: [f64; 4] = [0.125, 0.5, 0.5, 1.0];

    fn mean(q: &[f64; 4], of: impl Fn(usize) -> f64) -> f64 {
        (0..4).map(|action| q[action] * of(action)).sum()
    }

    /// X has the mean v + k and is never negative, whatever is known of the weights: that is all that the bets rest on.
    #[test]
    fn each_part_has_the_mean_that_is_bet_on() {
        let weights: [f64; 4] = std::array::from_fn(|action| Q[action] / P[action]);
        let cut = |fhat: [f64; 4]| {
            TRUNCATIONS.map(|k| [mean(&P, |action| (weights[action] * fhat[action]).min(k)); 4])
        };
        let (below, above) = (cut(FHAT), cut(FHAT.map(|fhat| 1.0 - fhat)));
        let truncated = TruncatedMeans {
            below: below.each_ref().map(|column| &column[..]),
            above: above.each_ref().map(|column| &column[..]),
        };
        let value = mean(&Q, |action| LOSSES[action]);
        for (bound, event_bound) in [
            (Some(4.0), None),
            (Some(7.5), None),
            (None, Some(4.0)),
            (None, Some(90.0)),
            (Some(20.0), Some(4.0)),
            (Some(5.0), Some(600.0)),
        ] {
            for h in [None, Some(1.0), Some(0.3), Some(5.0)] {
                let bounds = event_bound.map(|bound| [bound; 4]);
                let event_weights = h.map(|h| [h; 4]);
                let events = WeightedEvents {
                    losses: &LOSSES,
                    weights: &weights,
                    predicted: Some(&FHAT),
                    policy_predicted: Some(&[mean(&Q, |action| FHAT[action]); 4]),
                    truncated: Some(truncated),
                    weight_bounds: bounds.as_ref().map(|bounds| &bounds[..]),
                    event_weights: event_weights.as_ref().map(|h| &h[..]),
                };
                let bet = Bet::new(
                    Estimator::Dr,
                    KnownOfWeights {
                        bound,
                        event_bounds: event_bound.is_some(),
                        truncated: true,
                    },
                )
                .expect("there are bounds");
                for &part in &bet.parts {
                    let (mut x, mut y) = ([0.0; 4], [0.0; 4]);
                    bet.fill(part, &events, &mut x, &mut y);
                    let k = part.k() / h.map_or(1.0, scale_of);
                    for (terms, value) in [(x, value), (y, 1.0 - value)] {
                        assert!(terms.iter().all(|&x| 0.0 <= x), "{part:?}: {terms:?}");
                        let off = mean(&P, |action| terms[action]) - (value + k);
                        assert!(off.abs() < 1e-12 * (1.0 + k), "{part:?} {h:?}: {off}");
                    }
                }
            }
        }
    }

    #[test]
    fn bounds_beyond_all_use_leave_bets_that_are_placed() {
        for bound in [1.0, 1e16, 1e300] {
            let known = KnownOfWeights {
                bound: Some(bound),
                event_bounds: false,
                truncated: false,
            };
            let bet = Bet::new(Estimator::Ips, known).expect("IPS needs nothing");
            let mut sides = bet.empty();
            let events = WeightedEvents {
                losses: &[0.5; 200],
                weights: &[1.0; 200],
                ..WeightedEvents::default()
            };
            bet.observe(&events, &mut Scratch::default(), &mut sides);
            let (low, high) = sides.interval(0.05, 1.0).expect("it is not empty");
            assert!(0.3 < low && high < 0.7, "{bound}: {low} {high}");
        }
    }

    /// A log in which every action comes up as often as it is likely, and events weigh more or less: the truth is inside, and little
    /// else.
    #[test]
    fn event_weights_move_no_mean() {
        let plays = [0, 0, 0, 0, 1, 1, 2, 3].repeat(2_000);
        let h: Vec<f64> = (0..plays.len())
            .map(|i| [0.3, 1.0, 5.0][i / 8 % 3])
            .collect();
        let of = |column: [f64; 4]| plays.iter().map(|&a| column[a]).collect::<Vec<f64>>();
        let (losses, predicted) = (of(LOSSES), of(FHAT));
        let weights = of([0, 1, 2, 3].map(|a| Q[a] / P[a]));
        let policy_predicted = of([mean(&Q, |a| FHAT[a]); 4]);
        let bounds = of([4.0; 4]);
        let events = WeightedEvents {
            losses: &losses,
            weights: &weights,
            predicted: Some(&predicted),
            policy_predicted: Some(&policy_predicted),
            weight_bounds: Some(&bounds),
            event_weights: Some(&h),
            ..WeightedEvents::default()
        };
        let bet = Bet::new(
            Estimator::Dr,
            KnownOfWeights {
                bound: None,
                event_bounds: true,
                truncated: false,
            },
        )
        .expect("there are bounds");
        let mut sides = bet.empty();
        bet.observe(&events, &mut Scratch::default(), &mut sides);
        let (low, high) = sides.interval(0.05, 1.0).expect("it is not empty");
        let value = mean(&Q, |a| LOSSES[a]);
        assert!(
            low < value && value < high && high - low < 0.05,
            "{low} {high}"
        );
    }
}
