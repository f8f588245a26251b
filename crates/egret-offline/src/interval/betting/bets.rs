use super::{Side, Sides};
use crate::sums::Scratch;
use crate::weighted_events::WeightedEvents;

/// Which numbers X ≥ 0 the events of an estimator become.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bet {
    /// wℓ and w(1 − ℓ).
    Ips { bound: Option<f64> },
    /// E_q f̂ + w(ℓ − f̂), with w ≤ bound.
    Dr { bound: f64 },
}

impl Bet {
    /// Before any event.
    pub(crate) fn empty(self) -> Sides {
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

    /// Adds events.
    pub(crate) fn observe(
        self,
        events: &WeightedEvents<'_>,
        scratch: &mut Scratch,
        sides: &mut Sides,
    ) {
        let n = events.len();
        let (x, y) = scratch.two(n);
        let event_weights = events.event_weights;
        match self {
            Self::Ips { bound } => {
                split(events.losses, events.weights, x, y);
                sides.below.observe(0, x, event_weights);
                sides.above.observe(0, y, event_weights);
                if let Some(bound) = bound {
                    // B − w(1 − ℓ) from below, B − wℓ from above.
                    for value in x.iter_mut().chain(y.iter_mut()) {
                        *value = (bound - *value).max(0.0);
                    }
                    sides.below.observe(1, y, event_weights);
                    sides.above.observe(1, x, event_weights);
                }
            }
            Self::Dr { bound } => {
                let predicted = events.predicted.unwrap_or_default();
                let policy_predicted = events.policy_predicted.unwrap_or_default();
                for i in 0..n {
                    let term =
                        policy_predicted[i] + events.weights[i] * (events.losses[i] - predicted[i]);
                    // Negative only by rounding, or where the policy's predicted loss is above 1 and the interval is refused.
                    x[i] = (bound + term).max(0.0);
                    y[i] = (bound + (1.0 - term)).max(0.0);
                }
                sides.below.observe(0, x, event_weights);
                sides.above.observe(0, y, event_weights);
            }
        }
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
