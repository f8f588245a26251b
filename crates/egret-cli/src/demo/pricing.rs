use egret::{Context, ContextError, EventRng, Loss, Stream};

/// One customer of a market whose truth is known.
///
/// Prices lie in [0, 1]. A customer with features x is worth y(x) = sigmoid(b + ⟨w, x⟩), and a price a
/// loses on average
///
/// f*(x, a) = 0.05 + 0.9 · (a − y)₊ + 0.4 · (y − a)₊
///
/// A price too high loses the sale, one too low leaves money on the table: the first costs more. What
/// is seen is noisy, ℓ = f* + (2u − 1) · min(f*, 1 − f*) with u uniform: in [0, 1], and f* on average.
#[derive(Debug, Clone)]
pub struct Customer {
    /// What the seller knows.
    pub context: Context,
    /// y(x), which the seller has to learn.
    pub worth: f64,
    chance: f64,
}

/// How many features a customer has, each uniform on [−1, 1].
pub const FEATURES: usize = 8;

const BIAS: f64 = 0.2;
const WEIGHTS: [f64; FEATURES] = [1.1, -0.8, 0.6, -0.5, 0.4, 0.3, -0.2, 0.1];
const AT_BEST: f64 = 0.05;
const TOO_HIGH: f64 = 0.9;
const TOO_LOW: f64 = 0.4;

impl Customer {
    /// The customer who comes at `event`: the same for every learner that plays this seed.
    pub fn new(seed: u64, event: u64) -> Result<Self, ContextError> {
        let mut rng = EventRng::new(seed, event, Stream::World);
        let features: Vec<f64> = (0..FEATURES).map(|_| 2.0 * rng.unit() - 1.0).collect();
        let context = Context::dense(features)?;
        let score = BIAS + context.dot(&WEIGHTS);
        Ok(Self {
            worth: 1.0 / (1.0 + libm::exp(-score)),
            chance: rng.unit(),
            context,
        })
    }

    /// f*(x, a).
    pub fn expected_loss(&self, price: f64) -> f64 {
        let gap = price - self.worth;
        AT_BEST + TOO_HIGH * gap.max(0.0) + TOO_LOW * (-gap).max(0.0)
    }

    /// What the price costs this time.
    pub fn loss(&self, price: f64) -> Loss {
        let mean = self.expected_loss(price);
        let noise = (2.0 * self.chance - 1.0) * mean.min(1.0 - mean);
        Loss::new((mean + noise).clamp(0.0, 1.0)).expect("clamped to [0, 1]")
    }

    /// The mean of f* over prices uniform on [low, high], in closed form.
    pub fn mean_loss(&self, (low, high): (f64, f64)) -> f64 {
        let from_worth = |price: f64| {
            let gap = price - self.worth;
            let slope = if 0.0 < gap { TOO_HIGH } else { TOO_LOW };
            AT_BEST * gap + 0.5 * slope * gap * gap.abs()
        };
        (from_worth(high) - from_worth(low)) / (high - low)
    }

    /// The best 1/τ of all prices: the window on whose ends f* is equal, pushed inside [0, 1].
    pub fn best_window(&self, tau: f64) -> (f64, f64) {
        let width = 1.0 / tau;
        let below = width * TOO_HIGH / (TOO_HIGH + TOO_LOW);
        window(self.worth - below, width)
    }
}

/// [low, low + width], pushed inside [0, 1].
pub fn window(low: f64, width: f64) -> (f64, f64) {
    let low = low.clamp(0.0, 1.0 - width);
    (low, low + width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn customers() -> Vec<Customer> {
        (0..200)
            .map(|event| Customer::new(3, event).expect("finite"))
            .collect()
    }

    #[test]
    fn closed_forms_are_those_of_sums() {
        let steps = 2_000;
        for customer in customers() {
            for (low, high) in [(0.0, 1.0), (0.1, 0.3), customer.best_window(8.0)] {
                let at = |step| low + (high - low) * (f64::from(step) + 0.5) / f64::from(steps);
                let sum: f64 = (0..steps).map(|s| customer.expected_loss(at(s))).sum();
                let expected = sum / f64::from(steps);
                assert!((customer.mean_loss((low, high)) - expected).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn no_window_beats_the_best() {
        for customer in customers() {
            for tau in [2.0, 8.0, 32.0] {
                let best = customer.mean_loss(customer.best_window(tau));
                for step in 0..=100 {
                    let other = window(f64::from(step) / 100.0, 1.0 / tau);
                    assert!(best <= customer.mean_loss(other) + 1e-15);
                }
            }
        }
    }

    #[test]
    fn losses_are_right_on_average() {
        // The noise is at most 0.5 either way: beyond 5 standard errors of its largest spread, the
        // mean of a right world lies once in a million times.
        let n = 40_000_u64;
        let off: f64 = (0..n)
            .map(|event| Customer::new(5, event).expect("finite"))
            .map(|customer| customer.loss(0.7).get() - customer.expected_loss(0.7))
            .sum();
        assert!((off / n as f64).abs() < 5.0 * 0.5 / (3.0 * n as f64).sqrt());
    }
}
