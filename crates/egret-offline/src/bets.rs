use crate::Columns;
use crate::chunks::Scratch;
use crate::confidence_sequence::{Side, Sides};

/// What is bet on.
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
    pub(crate) fn observe(self, columns: &Columns<'_>, scratch: &mut Scratch, sides: &mut Sides) {
        let n = columns.len();
        let (x, y) = scratch.two(n);
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
