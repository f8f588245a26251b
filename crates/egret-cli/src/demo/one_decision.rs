use anyhow::{Context as _, Result};
use egret::{Igw, LossCurve};

use super::off_policy::Weights;
use super::online::{Logged, PriceLearner};
use super::pricing::Customer;

/// What one decision looked like from inside: curves over all prices.
#[derive(Debug)]
pub struct OneDecision {
    /// The prices that the curves are taken at.
    pub prices: Vec<f64>,
    /// f*, the expected loss, which the learner does not know.
    pub truth: Vec<f64>,
    /// f̂, what it predicts.
    pub fhat: Vec<f64>,
    /// dP/dμ = g/ẑ: what goes into the log.
    pub density: Vec<f64>,
    /// g: what would go into it with κ̂ = 1.
    pub g: Vec<f64>,
    /// The price played, and its density.
    pub played: (f64, f64),
    /// Which customer.
    pub event: u64,
    /// The smoothness played.
    pub tau: f64,
    /// The greediness in force.
    pub gamma: f64,
}

impl OneDecision {
    /// `learner` holds the model that made the decision.
    pub fn new(learner: &PriceLearner, customer: &Customer, logged: &Logged) -> Result<Self> {
        const STEPS: usize = 1_000;
        let decision = &logged.decision;
        let capped = decision.capped_igw.context("a decision of CappedIGW")?;
        let igw = Igw::new(decision.tau, decision.gamma)?;
        let prices: Vec<f64> = (0..=STEPS).map(|k| k as f64 / STEPS as f64).collect();
        let (mut buffer, mut fhat) = (Vec::new(), Vec::new());
        LossCurve::new(learner.oracle(), &customer.context, &mut buffer)?
            .predict(&prices, &mut fhat)?;
        let g: Vec<f64> = fhat
            .iter()
            .map(|&fhat| igw.weight(fhat, capped.certificate.beta))
            .collect();
        Ok(Self {
            truth: prices
                .iter()
                .map(|&price| customer.expected_loss(price))
                .collect(),
            density: g.iter().map(|g| g / capped.z.value).collect(),
            played: (decision.action, Weights::Correct.density(logged)),
            event: decision.event,
            tau: decision.tau,
            gamma: decision.gamma,
            prices,
            fhat,
            g,
        })
    }
}
