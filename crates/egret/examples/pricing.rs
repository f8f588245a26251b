//! A shop sets a price for each customer. Most answers come at once, some come later, some never.
//!
//!     cargo run --release -p egret --example pricing

use std::collections::BTreeMap;
use std::error::Error;

use egret::{
    DecisionLoop, EventRng, FeatureSchema, Features, FieldKind, Interval, Model, Objective, Stream,
};

const CUSTOMERS: u64 = 6_000;

fn main() -> Result<(), Box<dyn Error>> {
    let schema = FeatureSchema::new()
        .with("income", FieldKind::number())?
        .with("country", FieldKind::category(["NZ", "AU"]))?;
    let model = Model::new(Interval::new(5.0, 50.0)?, schema)?
        .with_objective(Objective::maximize(0.0, 50.0)?);
    // Who has not answered when 500 others wait will not answer.
    let mut shop = DecisionLoop::new(model).with_capacity(500);

    let mut answers: BTreeMap<u64, Vec<_>> = BTreeMap::new(); // by when they come
    let (mut learned, mut same) = (0.0, [0.0; 10]); // the last 1,000: learned prices, or 5, 10, … for all
    let (mut weights, mut uniform) = (0.0, 0.0);
    for n in 0..CUSTOMERS {
        let mut chance = EventRng::new(1, n, Stream::World);
        let income = 20_000.0 + 60_000.0 * chance.unit();
        let country = ["NZ", "AU"][n as usize % 2];
        // Only the simulation knows who buys at which price.
        let worth = 8.0 + income / 2_500.0 + if country == "NZ" { 6.0 } else { 0.0 };
        let buys = |price: f64| 1.0 / (1.0 + ((price - worth) / 2.0).exp());

        let customer = Features::from([("income", income)]).with("country", country);
        let decision = shop.decide(customer)?;
        let price = decision.action;
        let revenue = price * f64::from(chance.unit() < buys(price));
        let delay = chance.unit();
        if delay < 0.95 {
            let due = if delay < 0.75 { n } else { n + 200 };
            answers.entry(due).or_default().push((decision, revenue));
        }
        for (decision, revenue) in answers.remove(&n).unwrap_or_default() {
            shop.outcome(decision.event, revenue)?;
            // Uniform prices have density 1. The early decisions explored more, so they count more: 1/gamma.
            let weight = decision.importance_weight(1.0).unwrap_or(0.0) / decision.gamma;
            weights += weight;
            uniform += weight * revenue;
        }
        if CUSTOMERS - 1_000 <= n {
            learned += price * buys(price) / 1_000.0;
            for (step, sum) in (1..).zip(&mut same) {
                let price = 5.0 * f64::from(step);
                *sum += price * buys(price) / 1_000.0;
            }
        }
    }
    let never = shop.expired();
    shop.expire_all()?;
    let same = same.into_iter().fold(0.0, f64::max);
    println!("{never} of {CUSTOMERS} customers never answered");
    println!("mean revenue of the last 1,000: {learned:.2}; of the best price for all: {same:.2}");
    uniform /= weights;
    println!("estimated from these decisions for uniform prices: {uniform:.2}");

    let model = Model::<f64>::load(&shop.model().save())?; // as after a restart
    let customer = Features::new().with("income", 52_000).with("country", "NZ");
    let price = model.best(&customer.into())?;
    println!("the best price for an income of 52,000 in NZ: {price:.2}");
    assert!(same < learned, "the shop has not learned to price");
    Ok(())
}
