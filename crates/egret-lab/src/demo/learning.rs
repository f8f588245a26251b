use egret::{
    CappedIgw, Decision, Explorer, FeatureSchema, Model, Normalization, Outcome, Settings,
};

use super::DemoError;
use super::shop::{Customer, prices, revenue};
use crate::learner::{EffectiveEvents, mean_inverse_density};

/// One decision with its outcome.
#[derive(Debug, Clone)]
pub struct Played {
    pub decision: Decision<f64>,
    pub outcome: Outcome,
}

/// The result of a learner's run.
#[derive(Debug)]
pub struct Run {
    /// All decisions in order.
    pub played: Vec<Played>,
    /// The model before anything was learned.
    pub start: Model<f64>,
    /// The model halfway, with the decisions made until then.
    pub halfway: (usize, Model<f64>),
    /// The model that made the last decision.
    pub before_last: Model<f64>,
    /// The model at the end.
    pub last: Model<f64>,
    /// How many of 1,000 decisions at random would say as much about random prices as 1,000 of these.
    pub effective_per_1000: f64,
}

/// The learner that egret recommends. On an interval it computes β, so that κ = 1.
pub fn recommended(seed: u64) -> Settings {
    Settings::default().with_seed(seed)
}

/// The same learner with β by draws, as in spaces where it cannot be computed: κ is up to 4.
pub fn by_draws(seed: u64) -> Settings {
    Settings {
        explorer: Explorer::CappedIgw(CappedIgw {
            normalization: Normalization::Mixture,
            ..CappedIgw::default()
        }),
        ..recommended(seed)
    }
}

/// What features there are, from a table of earlier customers.
fn schema(seed: u64) -> Result<FeatureSchema, DemoError> {
    const EARLIER: u64 = 1 << 40;
    let table: Vec<_> = (0..500)
        .map(|customer| Customer::new(seed, EARLIER + customer).features)
        .collect();
    Ok(FeatureSchema::infer(&table)?)
}

/// Lets a learner price all customers. `tick` is called after each.
pub fn play(
    settings: Settings,
    customers: &[Customer],
    tick: &(impl Fn(usize) + Sync),
) -> Result<Run, DemoError> {
    let schema = schema(settings.seed)?;
    let mut model = Model::with_settings(prices(), schema, settings)?.with_objective(revenue());
    let copy = |model: &Model<f64>| Model::<f64>::load(&model.save());
    let (start, mut halfway, mut before_last) = (copy(&model)?, None, None);
    let mut played: Vec<Played> = Vec::with_capacity(customers.len());
    let mut effective = EffectiveEvents::default();
    for (event, customer) in customers.iter().enumerate() {
        if event == customers.len() / 2 {
            halfway = Some((event, copy(&model)?.with_next_event(event as u64)));
        }
        if event + 1 == customers.len() {
            before_last = Some(copy(&model)?);
        }
        let x = customer.features.clone().into();
        let decision = model.decide(event as u64, &x)?;
        if customers.len() <= event + EffectiveEvents::LAST {
            let inverse = mean_inverse_density(model.learner(), &x, &decision)?;
            effective.add(inverse.expect("a decision of CappedIGW on an interval"));
        }
        let outcome = revenue().outcome(customer.pays(decision.action));
        let outcome = outcome.expect("a price, or nothing");
        model.learn(&decision.observed(&x, outcome.loss))?;
        played.push(Played { decision, outcome });
        tick(1);
    }
    Ok(Run {
        played,
        start,
        halfway: halfway.expect("there is a customer"),
        before_last: before_last.expect("there is a customer"),
        last: model.with_next_event(customers.len() as u64),
        effective_per_1000: effective.per_1000().expect("there is a customer"),
    })
}
