use egret::{
    Context, EventRng, Interval, Loss, OracleSpec, OracleSpecError, ReferenceMeasure,
    RegressionOracle, Stream,
};

use crate::environment::simulator::{oracle_over, sigmoid};
use crate::environment::{Environment, World};

/// A shop that sets a price in [0, 1] for each customer.
///
/// A [`Customer`] has 8 features, uniform on [−1, 1]. The event is the number of the round: round `t` of the world of a seed
/// is `Customer::new(seed, t)`.
///
/// ```
/// use egret_lab::{Customer, Environment, PricingSimulator};
///
/// let world = PricingSimulator.world(7, 100);
/// let customer = Customer::new(7, 3);
/// assert_eq!(world.loss(3, &0.5), customer.loss(0.5));
/// assert_eq!(world.regret(3, &customer.worth), Some(0.0));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct PricingSimulator;

impl Environment<f64> for PricingSimulator {
    fn name(&self) -> &str {
        "pricing"
    }

    fn fingerprint(&self) -> String {
        "simulator pricing".to_owned()
    }

    fn context_dim(&self) -> usize {
        Customer::FEATURES
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, f64>> {
        Box::new(prices())
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, f64>>, OracleSpecError> {
        oracle_over(prices(), Customer::FEATURES, spec)
    }

    fn default_oracle(&self, seed: u64) -> OracleSpec {
        OracleSpec::default_on_interval(seed)
    }

    fn world(&self, seed: u64, rounds: usize) -> Box<dyn World<f64> + '_> {
        let customers = (0..rounds as u64).map(|event| Customer::new(seed, event));
        Box::new(Customers(customers.collect()))
    }
}

fn prices() -> Interval {
    Interval::new(0.0, 1.0).expect("0 < 1")
}

struct Customers(Vec<Customer>);

impl World<f64> for Customers {
    fn rounds(&self) -> usize {
        self.0.len()
    }

    fn context(&self, round: usize) -> &Context {
        &self.0[round].context
    }

    fn loss(&self, round: usize, price: &f64) -> Loss {
        self.0[round].loss(*price)
    }

    fn regret(&self, round: usize, price: &f64) -> Option<f64> {
        Some(self.0[round].expected_loss(*price) - AT_BEST)
    }
}

/// One customer of the shop, with everything the shop does not know.
///
/// The customer values the product at y(x) = sigmoid(b + ⟨w, x⟩). A price a has the expected loss
///
/// f*(x, a) = 0.05 + 0.9 · (a − y)₊ + 0.4 · (y − a)₊
///
/// A price that is too high loses the sale, one that is too low leaves money on the table; the first costs more. The observed
/// loss is noisy: ℓ = f* + (2u − 1) · min(f*, 1 − f*) with u uniform on [0, 1]. It lies in [0, 1] and has mean f*.
#[derive(Debug, Clone)]
pub struct Customer {
    /// What the shop knows.
    pub context: Context,
    /// y(x), which the shop has to learn.
    pub worth: f64,
    /// u, the same for every price.
    chance: f64,
}

const BIAS: f64 = 0.2;
const WEIGHTS: [f64; Customer::FEATURES] = [1.1, -0.8, 0.6, -0.5, 0.4, 0.3, -0.2, 0.1];
const AT_BEST: f64 = 0.05;
const TOO_HIGH: f64 = 0.9;
const TOO_LOW: f64 = 0.4;

impl Customer {
    /// The number of features of a customer.
    pub const FEATURES: usize = 8;

    /// The customer who comes at `event`. Every learner that plays this seed meets the same one.
    pub fn new(seed: u64, event: u64) -> Self {
        let mut rng = EventRng::new(seed, event, Stream::World);
        let features = (0..Self::FEATURES).map(|_| 2.0 * rng.unit() - 1.0);
        let context = Context::dense(features.collect()).expect("within [-1, 1]");
        Self {
            worth: sigmoid(BIAS + context.dot(&WEIGHTS)),
            chance: rng.unit(),
            context,
        }
    }

    /// f*(x, a).
    pub fn expected_loss(&self, price: f64) -> f64 {
        let gap = price - self.worth;
        AT_BEST + TOO_HIGH * gap.max(0.0) + TOO_LOW * (-gap).max(0.0)
    }

    /// The observed loss of a price.
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

    /// The best window of width 1/τ: f* is equal at both ends, unless it had to be moved inside [0, 1].
    pub fn best_window(&self, tau: f64) -> (f64, f64) {
        let width = 1.0 / tau;
        let below = width * TOO_HIGH / (TOO_HIGH + TOO_LOW);
        Self::window(self.worth - below, width)
    }

    /// The prices [low, low + width], moved inside [0, 1].
    pub fn window(low: f64, width: f64) -> (f64, f64) {
        let low = low.clamp(0.0, 1.0 - width);
        (low, low + width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn customers() -> Vec<Customer> {
        (0..200).map(|event| Customer::new(3, event)).collect()
    }

    #[test]
    fn closed_forms_equal_sums() {
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
                    let other = Customer::window(f64::from(step) / 100.0, 1.0 / tau);
                    assert!(best <= customer.mean_loss(other) + 1e-15);
                }
            }
        }
    }

    #[test]
    fn losses_are_right_on_average() {
        // The noise is at most 0.5 either way. The mean of a correct world lies beyond 5 standard errors of the largest
        // possible spread once in a million times.
        let n = 40_000_u64;
        let off: f64 = (0..n)
            .map(|event| Customer::new(5, event))
            .map(|customer| customer.loss(0.7).get() - customer.expected_loss(0.7))
            .sum();
        assert!((off / n as f64).abs() < 5.0 * 0.5 / (3.0 * n as f64).sqrt());
    }

    #[test]
    fn a_world_is_the_customers_of_its_seed() {
        let world = PricingSimulator.world(3, 200);
        assert_eq!(world.rounds(), 200);
        for (round, customer) in customers().iter().enumerate() {
            assert_eq!(*world.context(round), customer.context);
            assert_eq!(world.context(round).dim(), Customer::FEATURES);
            assert_eq!(world.regret(round, &customer.worth), Some(0.0));
            for price in [0.0, 0.3, 1.0] {
                assert_eq!(world.loss(round, &price), customer.loss(price));
                assert!(world.regret(round, &price) >= Some(0.0));
            }
        }
    }
}
