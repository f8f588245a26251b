use anyhow::Result;
use egret::LossCurve;
use serde::Serialize;

use super::online::{Logged, PriceLearner};
use super::pricing::{Customer, FEATURES, window};
use super::steady_mean::SteadyMean;

/// A policy that plays uniformly on a window of prices: for each customer a density is known exactly.
#[derive(Debug)]
pub struct Policy {
    /// What it does, in words.
    pub name: &'static str,
    /// The first event it is weighed on: what it was learned from is left out.
    pub first: usize,
    /// The window of each customer from there on.
    windows: Vec<(f64, f64)>,
}

/// τ of the policies around a price: they play on an eighth of all prices.
const TAU: f64 = 8.0;

impl Policy {
    /// Any price.
    pub fn uniform(customers: &[Customer]) -> Self {
        Self {
            name: "uniform on [0, 1]",
            first: 0,
            windows: vec![(0.0, 1.0); customers.len()],
        }
    }

    /// Around ½ + ¼ · (the first feature): a rule of thumb.
    pub fn rule_of_thumb(customers: &[Customer]) -> Self {
        let mut features = [0.0; FEATURES];
        features[0] = 0.25;
        let around = |customer: &Customer| 0.5 + customer.context.dot(&features);
        Self {
            name: "1/8 around a rule of thumb",
            first: 0,
            windows: customers
                .iter()
                .map(|customer| window(around(customer) - 0.5 / TAU, 1.0 / TAU))
                .collect(),
        }
    }

    /// Around the price that a model thinks best. It learned from the events before `first`, so that only
    /// later ones can judge it.
    pub fn learned(learner: &PriceLearner, first: usize, customers: &[Customer]) -> Result<Self> {
        let mut buffer = Vec::new();
        let mut windows = Vec::with_capacity(customers.len());
        for customer in &customers[first..] {
            let curve = LossCurve::new(learner.oracle(), &customer.context, &mut buffer)?;
            let best = curve
                .monotone_pieces()
                .map_or(0.5, |(pieces, prepared)| pieces.argmin(prepared));
            windows.push(window(best - 0.5 / TAU, 1.0 / TAU));
        }
        Ok(Self {
            name: "1/8 around the price learned by half-time",
            first,
            windows,
        })
    }

    /// Its mean loss on these customers, in closed form.
    fn truth(&self, customers: &[Customer]) -> f64 {
        let losses: SteadyMean = customers[self.first..]
            .iter()
            .zip(&self.windows)
            .map(|(customer, &window)| customer.mean_loss(window))
            .collect();
        losses.mean()
    }

    /// q at a price, for a customer from `first` on.
    pub fn density(&self, customer: usize, price: f64) -> f64 {
        let (low, high) = self.windows[customer - self.first];
        if (low..=high).contains(&price) {
            1.0 / (high - low)
        } else {
            0.0
        }
    }

    /// (how much it counts, q/p · ℓ) for each event, with the stated idea of p.
    fn weighted_losses<'a>(
        &'a self,
        exhaust: &'a [Logged],
        weights: Weights,
    ) -> impl Iterator<Item = (f64, f64)> + 'a {
        let events = exhaust.iter().enumerate().skip(self.first);
        events.map(move |(customer, logged)| {
            let q = self.density(customer, logged.decision.action);
            let term = q / weights.density(logged) * logged.loss.get();
            (logged.steadiness(), term)
        })
    }
}

/// Which density an event is weighed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// p = g/z, as egret logs it.
    Correct,
    /// g, as if κ were 1: what the paper logs.
    #[serde(rename = "kappa_hat_1")]
    KappaHat1,
}

impl Weights {
    /// The density of a logged action.
    ///
    /// # Panics
    /// If the event was not CappedIGW's.
    pub fn density(self, logged: &Logged) -> f64 {
        let capped = logged.decision.capped_igw.expect("an event of CappedIGW");
        match self {
            Self::Correct => capped.g / capped.z.value,
            Self::KappaHat1 => capped.g,
        }
    }
}

/// The value of a policy from a log that another policy made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OffPolicy {
    /// Which policy.
    pub policy: &'static str,
    /// Which densities.
    pub weights: Weights,
    /// Its mean loss, known here.
    pub truth: f64,
    /// The mean of (q/p) · ℓ, each event counted by its steadiness; nothing is clipped.
    pub estimate: f64,
    /// The lower end of the 95% interval: 1.96 standard errors either way, from normal theory.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl OffPolicy {
    /// Whether the interval holds the truth.
    pub fn covers(&self) -> bool {
        (self.low..=self.high).contains(&self.truth)
    }
}

/// Each policy with correct weights, then with κ̂ = 1.
pub fn evaluate(policies: &[Policy], customers: &[Customer], exhaust: &[Logged]) -> Vec<OffPolicy> {
    let estimate = |policy: &Policy, weights| {
        let terms: SteadyMean = policy.weighted_losses(exhaust, weights).collect();
        let margin = 1.96 * terms.standard_error();
        OffPolicy {
            policy: policy.name,
            weights,
            truth: policy.truth(customers),
            estimate: terms.mean(),
            low: terms.mean() - margin,
            high: terms.mean() + margin,
        }
    };
    policies
        .iter()
        .flat_map(|policy| {
            [Weights::Correct, Weights::KappaHat1].map(|weights| estimate(policy, weights))
        })
        .collect()
}
