use super::{Side, Sides, scale_of};
use crate::paired_events::{PairedEvents, differing};
use crate::sums::Scratch;
use crate::weighted_events::TRUNCATIONS;

/// Which numbers X ≥ 0 the events of two policies become: several, whose bets share one wealth.
///
/// Every X has the mean 1 + v₁ − v₂ + k, whatever c, s and B an event has, as long as they are known before its action is drawn:
///
/// | X                                                                        | with                 | never negative, as |
/// |--------------------------------------------------------------------------|----------------------|--------------------|
/// | w₁ℓ + w₂(1 − ℓ)                                                          | k = 0                |                    |
/// | w₁(ℓ − c₁) + c₁ + w₂(1 − ℓ − c₂) + c₂ + k                                | cᵢ ≤ k/(Bᵢ − 1)      | wᵢ ≤ Bᵢ            |
/// | w₁(ℓ − s₁f̂) + s₁E_q₁ f̂ + w₂(1 − ℓ − s₂(1 − f̂)) + s₂(1 − E_q₂ f̂) + k     | sᵢ ≤ min(1, k/Bᵢ)    | wᵢ ≤ Bᵢ            |
/// | Z − min(Ẑ, k) + E[min(w₁, w₂) + min(Ẑ, k)] + k                           | E over the log's actions | always         |
///
/// The first spreads even where w₁ = w₂, so that two policies that are alike are not seen to be. With c₁ + c₂ = 1 the second is
/// 1 + (w₁ − w₂)(ℓ − c₁) + k, which does not spread then, and with s = 1 the third has the terms of a doubly robust difference. B
/// is a bound for all events, or one for each and each policy: where that is too large for k, c and s become smaller.
///
/// The last needs no bound but the policy that made the log. It is what Waudby-Smith et al. (2022) do for one policy, of what
/// differs between two: w₁ℓ + w₂(1 − ℓ) is min(w₁, w₂) + Z with
///
/// Z = (w₁ − w₂)₊ ℓ + (w₂ − w₁)₊ (1 − ℓ),  Ẑ = (w₁ − w₂)₊ f̂ + (w₂ − w₁)₊ (1 − f̂)
///
/// What both have in common, however large, is replaced by its mean, and so is Ẑ up to k; as Z ≥ 0, what remains is at least −k.
///
/// The other side is bounded by the same X of 1 − ℓ, 1 − f̂ and 1 − E_q f̂: the interval of 1 − ℓ is the mirror image.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DifferenceBet {
    parts: Vec<Part>,
    /// Of each side.
    start: Side,
    /// The bound on all weights, or ∞.
    bound: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    Plain,
    /// c₁ = c and c₂ = 1 − c.
    Centered {
        c: f64,
        k: f64,
    },
    Corrected {
        k: f64,
    },
    Truncated {
        k: f64,
    },
}

/// What is known of two policies besides their weights.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct KnownOfPair {
    /// A bound on all weights.
    pub(crate) bound: Option<f64>,
    /// Whether each event has bounds of its own.
    pub(crate) event_bounds: bool,
    /// Whether losses are predicted.
    pub(crate) predicted: bool,
    /// Whether there are truncated means.
    pub(crate) truncated: bool,
}

/// The bounds that k is made for, where each event has its own.
const USUAL_BOUNDS: [f64; 3] = [4.0, 16.0, 64.0];

impl DifferenceBet {
    pub(crate) fn new(known: KnownOfPair) -> Self {
        let (bounds, centers): (&[f64], &[f64]) = match &known.bound {
            Some(bound) => (std::slice::from_ref(bound), &[0.0, 0.25, 0.5, 0.75, 1.0]),
            None if known.event_bounds => (&USUAL_BOUNDS, &[0.0, 0.5, 1.0]),
            None => (&[], &[]),
        };
        let mut parts = vec![Part::Plain];
        for bound in bounds {
            parts.extend(centers.iter().map(|&c| Part::Centered {
                c,
                k: f64::max(c, 1.0 - c) * (bound - 1.0),
            }));
        }
        if known.predicted {
            parts.extend(bounds.iter().map(|&k| Part::Corrected { k }));
        }
        if known.predicted && known.truncated {
            let cuts = std::iter::once(0.0).chain(TRUNCATIONS);
            parts.extend(cuts.map(|k| Part::Truncated { k }));
        }
        // Each kind of bet has as much of the wealth.
        let alike = |part: &Part| {
            let kind = std::mem::discriminant(part);
            let same = |other: &&Part| std::mem::discriminant(*other) == kind;
            parts.iter().filter(same).count() as f64
        };
        let start = Side::new(parts.iter().map(|part| (1.0 / alike(part), part.k())));
        Self {
            start,
            parts,
            bound: known.bound.unwrap_or(f64::INFINITY),
        }
    }

    /// Whether predictions are used.
    pub(crate) fn is_corrected(&self) -> bool {
        let corrected =
            |part: &Part| matches!(part, Part::Corrected { .. } | Part::Truncated { .. });
        self.parts.iter().any(corrected)
    }

    /// Before any event.
    pub(crate) fn empty(&self) -> Sides {
        Sides {
            below: self.start.clone(),
            above: self.start.clone(),
        }
    }

    /// Adds events.
    pub(crate) fn observe(
        &self,
        events: &PairedEvents<'_>,
        scratch: &mut Scratch,
        sides: &mut Sides,
    ) {
        let (x, y) = scratch.two(events.len());
        let [w1, w2] = events.weights;
        let h = events.event_weights;
        for (place, part) in self.parts.iter().enumerate() {
            match *part {
                Part::Plain => mixed(events.losses, w1, w2, x, y),
                part => {
                    for i in 0..events.len() {
                        let k = part.k() / h.map_or(1.0, |h| scale_of(h[i]));
                        [x[i], y[i]] = self.of_event(part, k, events, i);
                    }
                }
            }
            sides.below.observe(place, x, h);
            sides.above.observe(place, y, h);
        }
    }

    /// X of ℓ, and of 1 − ℓ.
    fn of_event(&self, part: Part, k: f64, events: &PairedEvents<'_>, i: usize) -> [f64; 2] {
        let loss = events.losses[i];
        let w = events.weights.map(|weights| weights[i]);
        let predicted = |column: usize| events.predictions.map_or(0.0, |all| all[column][i]);
        let bounds = [0, 1].map(|policy| {
            let own = events.weight_bounds.map(|bounds| bounds[policy][i]);
            own.map_or(self.bound, |own| own.min(self.bound))
        });
        match part {
            Part::Plain => [loss, 1.0 - loss].map(|loss| w[0] * loss + w[1] * (1.0 - loss)),
            Part::Centered { c, .. } => {
                let at_most = bounds.map(|bound| k / (bound - 1.0).max(0.0));
                let [c1, c2] = [c.min(at_most[0]), (1.0 - c).min(at_most[1])];
                [loss, 1.0 - loss].map(|loss| {
                    let spread = w[0] * (loss - c1) + w[1] * (1.0 - loss - c2);
                    // Negative only by rounding.
                    (spread + c1 + c2 + k).max(0.0)
                })
            }
            Part::Corrected { .. } => {
                let [s1, s2] = bounds.map(|bound| (k / bound).min(1.0));
                let (fhat, means) = (predicted(0), [predicted(1), predicted(2)]);
                let flipped = [1.0 - means[0], 1.0 - means[1]];
                [
                    (loss, fhat, means, flipped),
                    (1.0 - loss, 1.0 - fhat, flipped, means),
                ]
                .map(|(loss, fhat, means, flipped)| {
                    let first = w[0] * (loss - s1 * fhat) + s1 * means[0];
                    let second = w[1] * (1.0 - loss - s2 * (1.0 - fhat)) + s2 * flipped[1];
                    // Negative only by rounding, or where E_q f̂ is above 1 and the interval is refused.
                    (first + second + k).max(0.0)
                })
            }
            Part::Truncated { .. } => {
                let means = events.truncated.as_ref().expect("no batch lacks them");
                let fhat = predicted(0);
                // The mean is the same at any smaller cut; 0 takes nothing off.
                let place = TRUNCATIONS.iter().rposition(|&cut| cut <= k);
                let cut = place.map_or(0.0, |place| TRUNCATIONS[place]);
                [
                    (loss, fhat, &means.below),
                    (1.0 - loss, 1.0 - fhat, &means.above),
                ]
                .map(|(loss, fhat, means_of_side)| {
                    let mean = place.map_or(0.0, |place| means_of_side[place][i]);
                    let taken = differing(w, fhat).min(cut);
                    differing(w, loss) - taken + means.common[i] + mean + k
                })
            }
        }
    }
}

impl Part {
    fn k(&self) -> f64 {
        match *self {
            Self::Plain => 0.0,
            Self::Centered { k, .. } | Self::Corrected { k } | Self::Truncated { k } => k,
        }
    }
}

/// w₁ℓ + w₂(1 − ℓ), and the same of 1 − ℓ.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn mixed(losses: &[f64], w1: &[f64], w2: &[f64], x: &mut [f64], y: &mut [f64]) {
    let rows = x.iter_mut().zip(y).zip(losses).zip(w1).zip(w2);
    for ((((x, y), loss), w1), w2) in rows {
        *x = w1 * loss + w2 * (1.0 - loss);
        *y = w2 * loss + w1 * (1.0 - loss);
    }
}

#[cfg(test)]
mod tests {
    use egret::{EventRng, Stream};

    use super::*;
    use crate::paired_events::{PairedTruncatedColumns, paired_truncated_means};

    const ACTIONS: usize = 5;

    /// What a log may play, each as likely as the others: every action comes up, some of them once.
    fn plays(rng: &mut EventRng) -> Vec<usize> {
        let others = (0..59).map(|_| (ACTIONS as f64 * rng.unit().powi(4)) as usize);
        (0..ACTIONS).chain(others).collect()
    }

    fn shares(plays: &[usize]) -> [f64; ACTIONS] {
        let count = |action: usize| plays.iter().filter(|&&played| played == action).count();
        std::array::from_fn(|action| count(action) as f64 / plays.len() as f64)
    }

    fn over(q: &[f64; ACTIONS], of: &[f64; ACTIONS]) -> f64 {
        q.iter().zip(of).map(|(q, of)| q * of).sum()
    }

    #[test]
    fn each_part_has_the_mean_that_is_bet_on() {
        for trial in 0..300 {
            let mut rng = EventRng::new(31, trial, Stream::World);
            let log = plays(&mut rng);
            // Every other time the second policy is the log's own, whose mean prediction is that of the action played.
            let own = trial % 2 == 0;
            let [p, q1, q2] = [
                shares(&log),
                shares(&plays(&mut rng)),
                shares(&plays(&mut rng)),
            ];
            let q2 = if own { p } else { q2 };
            let losses = [(); ACTIONS].map(|()| f64::from(u8::from(rng.unit() < 0.5)));
            let fhat = [(); ACTIONS].map(|()| rng.unit());
            let weights = [q1, q2].map(|q| std::array::from_fn::<_, ACTIONS, _>(|a| q[a] / p[a]));
            let bounds = weights.map(|w| [w.into_iter().fold(1.0, f64::max); ACTIONS]);
            let of_second = [over(&q2, &fhat); ACTIONS];
            let means = [
                [over(&q1, &fhat); ACTIONS],
                if own { fhat } else { of_second },
            ];
            let again = log.iter();
            let again = again.map(|&a| ([weights[0][a], weights[1][a]], fhat[a]));
            let truncated = paired_truncated_means(again);
            let mut columns = PairedTruncatedColumns::default();
            (0..ACTIONS).for_each(|_| columns.push(&truncated));
            let events = PairedEvents {
                losses: &losses,
                weights: [&weights[0], &weights[1]],
                predictions: Some([&fhat, &means[0], &means[1]]),
                truncated: Some(columns.means()),
                weight_bounds: Some([&bounds[0], &bounds[1]]),
                event_weights: None,
            };
            let bet = DifferenceBet::new(KnownOfPair {
                bound: (trial % 3 == 0).then_some(bounds[0][0].max(bounds[1][0])),
                event_bounds: true,
                predicted: true,
                truncated: true,
            });
            let difference = over(&q1, &losses) - over(&q2, &losses);
            for &part in &bet.parts {
                // Also at other k than those that it is made for, as event weights make them.
                for k in [part.k(), 0.7 * part.k(), 2.0 * part.k()] {
                    let both: [_; ACTIONS] =
                        std::array::from_fn(|a| bet.of_event(part, k, &events, a));
                    for (side, difference) in [(0, difference), (1, -difference)] {
                        let xs = both.map(|both| both[side]);
                        assert!(xs.iter().all(|&x| 0.0 <= x), "{part:?} {k}: {xs:?}");
                        let off = over(&p, &xs) - (1.0 + difference + k);
                        assert!(off.abs() < 1e-9, "{part:?} {k}: {off}");
                    }
                }
            }
        }
    }

    /// A log in which every action comes up as often as it is likely, and events weigh more or less: the truth is inside, and little
    /// else.
    #[test]
    fn event_weights_move_no_mean() {
        let (p, q1, q2) = ([0.5, 0.25, 0.25], [0.25, 0.25, 0.5], [0.25, 0.5, 0.25]);
        let lost = [0.0, 1.0, 0.5];
        let plays = [0, 0, 1, 2].repeat(2_000);
        let h: Vec<f64> = (0..plays.len())
            .map(|i| [0.3, 1.0, 5.0][i / 4 % 3])
            .collect();
        let of = |column: [f64; 3]| plays.iter().map(|&a| column[a]).collect::<Vec<f64>>();
        let ratio = |q: [f64; 3]| of([0, 1, 2].map(|a| q[a] / p[a]));
        let (losses, w1, w2) = (of(lost), ratio(q1), ratio(q2));
        let bounds = vec![2.0; plays.len()];
        let events = PairedEvents {
            losses: &losses,
            weights: [&w1, &w2],
            weight_bounds: Some([&bounds, &bounds]),
            event_weights: Some(&h),
            ..PairedEvents::default()
        };
        let bet = DifferenceBet::new(KnownOfPair {
            event_bounds: true,
            ..KnownOfPair::default()
        });
        let mut sides = bet.empty();
        bet.observe(&events, &mut Scratch::default(), &mut sides);
        let (low, high) = sides.interval(0.05, 2.0).expect("it is not empty");
        // 1 + v₁ − v₂ = 0.875.
        assert!(
            low < 0.875 && 0.875 < high && high - low < 0.1,
            "{low} {high}"
        );
    }
}
