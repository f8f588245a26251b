//! Your own model of the loss: a demand curve with three parameters, for customers of your own type.
//!
//!     cargo run --release -p egret --example own_oracle

use egret::{
    ContextError, EventRng, Example, Interval, Learner, LoadError, Objective, RegressionOracle,
    Settings, Stream,
};

struct Customer(f64); // income

/// P(buys) = 1/(1 + exp(−u)), u = θ₀ + θ₁ · income/50,000 − θ₂ · price/10.
struct Demand([f64; 3]);

fn inputs(customer: &Customer, price: f64) -> [f64; 3] {
    [1.0, customer.0 / 50_000.0, -price / 10.0]
}

impl Demand {
    fn buys(&self, customer: &Customer, price: f64) -> f64 {
        let terms = self.0.iter().zip(inputs(customer, price));
        1.0 / (1.0 + (-terms.map(|(theta, input)| theta * input).sum::<f64>()).exp())
    }
}

impl RegressionOracle<Customer, f64> for Demand {
    fn prepare(&self, _: &Customer, _: &mut Vec<f64>) -> Result<(), ContextError> {
        Ok(())
    }

    /// The expected loss: 1 without revenue, 0 if 50 is paid.
    fn predict(&self, customer: &Customer, _: &[f64], prices: &Vec<f64>, out: &mut [f64]) {
        for (out, price) in out.iter_mut().zip(prices) {
            *out = 1.0 - price * self.buys(customer, *price) / 50.0;
        }
    }

    /// A step up the log-likelihood; the loss tells who bought.
    fn learn(&mut self, batch: &[Example<'_, Customer, f64>]) -> Result<(), ContextError> {
        for sale in batch {
            let residual = f64::from(sale.loss.get() < 1.0) - self.buys(sale.x, *sale.action);
            for (theta, input) in self.0.iter_mut().zip(inputs(sale.x, *sale.action)) {
                *theta += 0.05 * residual * input;
            }
        }
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        serde_json::to_vec(&self.0).expect("three numbers")
    }

    fn load(&mut self, state: &[u8]) -> Result<(), LoadError> {
        let invalid = |error: serde_json::Error| LoadError::Invalid(error.to_string());
        self.0 = serde_json::from_slice(state).map_err(invalid)?;
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let prices = Box::new(Interval::new(5.0, 50.0)?);
    let revenue = Objective::maximize(0.0, 50.0)?;
    let mut learner = Learner::new(prices, Box::new(Demand([0.0; 3])), Settings::default())?;
    let truth = Demand([2.0, 3.0, 2.0]);
    let mut earned = [0.0; 8]; // by 500 customers each
    for event in 0..4_000 {
        let mut chance = EventRng::new(4, event, Stream::World);
        let customer = Customer(20_000.0 + 60_000.0 * chance.unit());
        let decision = learner.decide(event, &customer)?;
        let buys = truth.buys(&customer, decision.action);
        let paid = decision.action * f64::from(chance.unit() < buys);
        learner.learn(&decision.observed(&customer, revenue.loss(paid)?))?;
        earned[event as usize / 500] += decision.action * buys / 500.0;
    }
    let [first, .., last] = earned;
    println!("mean revenue: {first:.2} of the first 500 customers, {last:.2} of the last 500");
    let best = learner.best(&Customer(50_000.0))?;
    println!("the best price for an income of 50,000: {best:.2}");
    assert!(first < last, "the demand curve was not learned");
    Ok(())
}
