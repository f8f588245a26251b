use egret_jobs::evaluate::{EvaluateRequest, evaluate as run};
use egret_jobs::{LogSource, NamedPolicy, PolicySpec, Silent};
use egret_offline::{Estimator, IntervalKind};
use serde::Serialize;

use super::DemoError;
use super::log::Files;
use super::shop::Run;
use crate::environment::Customer;

/// A policy that plays uniformly on a window of prices: its density and its value are known exactly.
#[derive(Debug)]
pub struct WindowPolicy {
    /// What it does, in words.
    pub name: &'static str,
    /// The column of the log with its density.
    pub column: &'static str,
    /// The first event that evaluates it. Events that it learned from are left out.
    pub first: usize,
    /// The window of each customer from there on.
    windows: Vec<(f64, f64)>,
}

/// τ of the policies around a price: they play on an eighth of all prices.
const TAU: f64 = 8.0;

/// Three policies that were never played.
pub fn all(run: &Run, customers: &[Customer]) -> Result<[WindowPolicy; 3], DemoError> {
    let around = |price: f64| Customer::window(price - 0.5 / TAU, 1.0 / TAU);
    let mut first_feature = [0.0; Customer::FEATURES];
    first_feature[0] = 0.25;
    let thumb = |customer: &Customer| around(0.5 + customer.context.dot(&first_feature));
    let (first, model) = &run.halfway;
    let learned = customers[*first..]
        .iter()
        .map(|customer| Ok(around(model.best(&customer.context)?)))
        .collect::<Result<_, DemoError>>()?;
    Ok([
        WindowPolicy {
            name: "uniform on [0, 1]",
            column: "q_uniform",
            first: 0,
            windows: vec![(0.0, 1.0); customers.len()],
        },
        WindowPolicy {
            name: "1/8 around a rule of thumb",
            column: "q_rule",
            first: 0,
            windows: customers.iter().map(thumb).collect(),
        },
        WindowPolicy {
            name: "1/8 around the price learned by half-time",
            column: "q_learned",
            first: *first,
            windows: learned,
        },
    ])
}

impl WindowPolicy {
    /// Its mean loss on these customers, in closed form.
    fn truth(&self, customers: &[Customer]) -> f64 {
        let pairs = customers[self.first..].iter().zip(&self.windows);
        let sum: f64 = pairs
            .map(|(customer, &window)| customer.mean_loss(window))
            .sum();
        sum / self.windows.len() as f64
    }

    /// q at a price; none for customers before the first.
    pub fn density(&self, customer: usize, price: f64) -> Option<f64> {
        let (low, high) = *self.windows.get(customer.checked_sub(self.first)?)?;
        Some(if (low..=high).contains(&price) {
            1.0 / (high - low)
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
    pub policy: &'static str,
    /// Which densities.
    pub weights: Weights,
    /// Its mean loss, known here.
    pub truth: f64,
    /// Inverse propensity scores, stabilized, not clipped.
    pub estimate: f64,
    /// The lower end of the normal 95% interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
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
                    name: policy.name.to_owned(),
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
            let report = run(&request, &Silent)?;
            let row = &report.rows[0];
            rows.push(OffPolicy {
                policy: policy.name,
                weights,
                truth: policy.truth(customers),
                estimate: row.estimate,
                low: row.low,
                high: row.high,
            });
        }
    }
    Ok(rows)
}
