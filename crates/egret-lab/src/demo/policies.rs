use egret_jobs::evaluate::{EvaluateRequest, evaluate as run};
use egret_jobs::{LogSource, NamedPolicy, PolicySpec, Silent};
use egret_offline::{Estimator, IntervalKind, VerdictKind};
use serde::Serialize;

use super::DemoError;
use super::learning::Run;
use super::log::Files;
use super::shop::{Customer, PRICES};

/// A policy that plays uniformly on a window of prices: its density and its value are known exactly.
#[derive(Debug)]
pub struct WindowPolicy {
    /// What it does, in words.
    pub name: String,
    /// The column of the log with its density.
    pub column: &'static str,
    /// The first event that evaluates it. Events that it learned from are left out.
    pub first: usize,
    /// The window of each customer from there on.
    windows: Vec<(f64, f64)>,
}

/// Policies around a price play on this share of all prices.
const SHARE: f64 = 1.0 / 8.0;

/// The rule of thumb: a price for each segment.
const RULE: [f64; 3] = [12.0, 18.0, 25.0];

/// Four policies that were never played.
pub fn all(
    run: &Run,
    customers: &[Customer],
    fixed_price: f64,
) -> Result<[WindowPolicy; 4], DemoError> {
    let (first, model) = &run.halfway;
    let learned = customers[*first..]
        .iter()
        .map(|customer| Ok(around(model.best(&customer.features.clone().into())?)))
        .collect::<Result<_, DemoError>>()?;
    let [student, family, business] = RULE;
    Ok([
        WindowPolicy {
            name: "prices at random".to_owned(),
            column: "q_uniform",
            first: 0,
            windows: vec![PRICES; customers.len()],
        },
        WindowPolicy {
            name: format!("about {fixed_price} for everyone"),
            column: "q_fixed",
            first: 0,
            windows: vec![around(fixed_price); customers.len()],
        },
        WindowPolicy {
            name: format!("by segment: about {student}, {family}, {business}"),
            column: "q_rule",
            first: 0,
            windows: customers
                .iter()
                .map(|customer| around(RULE[customer.segment()]))
                .collect(),
        },
        WindowPolicy {
            name: "what egret had learned by half-time".to_owned(),
            column: "q_learned",
            first: *first,
            windows: learned,
        },
    ])
}

/// The window around a price, moved inside the shop's prices.
fn around(price: f64) -> (f64, f64) {
    let width = SHARE * (PRICES.1 - PRICES.0);
    let low = (price - 0.5 * width).clamp(PRICES.0, PRICES.1 - width);
    (low, low + width)
}

impl WindowPolicy {
    /// Its mean revenue from these customers, which only the demo knows.
    fn truth(&self, customers: &[Customer]) -> f64 {
        let pairs = customers[self.first..].iter().zip(&self.windows);
        let sum: f64 = pairs
            .map(|(customer, &window)| customer.expected_on(window))
            .sum();
        sum / self.windows.len() as f64
    }

    /// q at a price, against uniform prices; none for customers before the first.
    pub fn density(&self, customer: usize, price: f64) -> Option<f64> {
        let (low, high) = *self.windows.get(customer.checked_sub(self.first)?)?;
        Some(if (low..=high).contains(&price) {
            (PRICES.1 - PRICES.0) / (high - low)
        } else {
            0.0
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

/// The value of a policy from a log that another policy made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OffPolicy {
    /// Which policy.
    pub policy: String,
    /// Which densities.
    pub weights: Weights,
    /// Its mean revenue from a customer, known here.
    pub truth: f64,
    /// Estimated from the log.
    pub estimate: f64,
    /// The lower end of the 95% interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Whether to trust it.
    pub trusted: bool,
    /// The same in words.
    pub verdict: String,
}

impl OffPolicy {
    /// Whether the interval contains the truth.
    pub fn covers(&self) -> bool {
        (self.low..=self.high).contains(&self.truth)
    }
}

/// Each policy with correct weights, then with κ̂ = 1, as `egret ope` reports it.
pub fn evaluate(
    files: &Files,
    policies: &[WindowPolicy],
    customers: &[Customer],
) -> Result<Vec<OffPolicy>, DemoError> {
    let mut rows = Vec::new();
    for policy in policies {
        for (weights, log) in [
            (Weights::Correct, &files.log),
            (Weights::KappaHat1, &files.paper_log),
        ] {
            let request = EvaluateRequest {
                log: LogSource::new([log]),
                policies: vec![NamedPolicy {
                    name: policy.name.clone(),
                    policy: PolicySpec::Column {
                        density: policy.column.to_owned(),
                        predicted: None,
                    },
                }],
                estimators: vec![Estimator::Ips],
                intervals: vec![IntervalKind::Normal],
                from_seq: Some(policy.first as u64),
                stabilize: true,
                ..EvaluateRequest::default()
            };
            let row = run(&request, &Silent)?.rows.swap_remove(0);
            rows.push(OffPolicy {
                policy: policy.name.clone(),
                weights,
                truth: policy.truth(customers),
                estimate: row.estimate,
                low: row.low,
                high: row.high,
                trusted: row.verdict_kind == VerdictKind::Reliable,
                verdict: row.verdict,
            });
        }
    }
    Ok(rows)
}
