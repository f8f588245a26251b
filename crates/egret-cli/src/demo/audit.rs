use anyhow::Result;
use serde::Serialize;

use super::off_policy::Weights;
use super::online::{BATCH, Logged, PriceLearner, Run};
use super::pricing::Customer;
use super::steady_mean::SteadyMean;

/// What a log says of itself, checked without knowing the world.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audit {
    /// With the densities that egret logs.
    pub correct: Checks,
    /// The same with g in place of the density: it has to fail.
    pub kappa_hat_1: Checks,
    /// The share of CappedIGW's events without a density.
    pub share_of_atoms: f64,
    /// The share of SmoothIGW's: none of them can be reused.
    pub smooth_igw_share_of_atoms: f64,
    /// 1/ẑ over the events: what g is off by.
    pub kappa: Spread,
    /// Draws of μ that an action took, on average.
    pub mean_proposals: f64,
    /// The mean of τ/ẑ, which estimates κτ.
    pub mean_kappa_tau: f64,
    /// Past decisions made again from a saved model.
    pub replay: Replay,
}

/// Checks that belong together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checks {
    /// Whether all did.
    pub passed: bool,
    /// One by one.
    pub checks: Vec<Check>,
}

/// A mean over the log whose expectation is known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// Of what.
    pub mean_of: &'static str,
    /// What it should be.
    pub expected: f64,
    /// What it is.
    pub found: f64,
    /// The difference in standard errors.
    pub z_score: f64,
    /// Whether that is at most [`LARGEST_Z`] either way.
    pub passed: bool,
}

/// A right log exceeds it about once in a thousand checks.
pub const LARGEST_Z: f64 = 3.3;

/// Where numbers lie.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// One in twenty is smaller.
    pub p05: f64,
    /// The middle one.
    pub median: f64,
    /// One in twenty is larger.
    pub p95: f64,
    /// The largest.
    pub max: f64,
}

/// How many decisions came out the same to the bit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replay {
    /// How many were made again.
    pub decisions: usize,
    /// How many were equal in every field.
    pub equal: usize,
}

impl Audit {
    /// Of CappedIGW's run, beside SmoothIGW's. `learner` serves to load models into.
    pub fn new(
        capped: &Run,
        smooth: &Run,
        customers: &[Customer],
        learner: &mut PriceLearner,
    ) -> Result<Self> {
        let z =
            |logged: &Logged| Weights::KappaHat1.density(logged) / Weights::Correct.density(logged);
        let exhaust = &capped.exhaust;
        let mean =
            |of: &dyn Fn(&Logged) -> f64| exhaust.iter().map(of).collect::<SteadyMean>().mean();
        Ok(Self {
            correct: Checks::new(exhaust, Weights::Correct),
            kappa_hat_1: Checks::new(exhaust, Weights::KappaHat1),
            share_of_atoms: capped.share_of_atoms(),
            smooth_igw_share_of_atoms: smooth.share_of_atoms(),
            kappa: Spread::new(exhaust.iter().map(|logged| 1.0 / z(logged)).collect()),
            mean_proposals: mean(&|logged| logged.decision.proposals as f64),
            mean_kappa_tau: mean(&|logged| logged.decision.tau / z(logged)),
            replay: Replay::new(capped, customers, learner)?,
        })
    }
}

impl Spread {
    fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |twentieths: usize| values[(values.len() - 1) * twentieths / 20];
        Self {
            min: at(0),
            p05: at(1),
            median: at(10),
            p95: at(19),
            max: at(20),
        }
    }
}

impl Checks {
    /// E[h/p] = E_μ[h] for several h; and proposals · z/τ, which is 1 on average whatever κ is.
    ///
    /// 1/p spreads ever wider as γ grows, so that events count by their steadiness. Proposals do not.
    fn new(exhaust: &[Logged], weights: Weights) -> Self {
        let density = |logged: &Logged| weights.density(logged);
        let z = |logged: &Logged| Weights::KappaHat1.density(logged) / density(logged);
        let checks = vec![
            check("1/p", exhaust, Logged::steadiness, |e| {
                (1.0 / density(e), 1.0)
            }),
            check("a/p", exhaust, Logged::steadiness, |e| {
                (e.decision.action / density(e), 0.5)
            }),
            check("a²/p", exhaust, Logged::steadiness, |e| {
                (
                    e.decision.action * e.decision.action / density(e),
                    1.0 / 3.0,
                )
            }),
            check("f̂/p", exhaust, Logged::steadiness, |e| {
                (e.fhat / density(e), e.mean_fhat)
            }),
            check(
                "proposals · z/τ",
                exhaust,
                |_| 1.0,
                |e| (e.decision.proposals as f64 * z(e) / e.decision.tau, 1.0),
            ),
        ];
        Self {
            passed: checks.iter().all(|check| check.passed),
            checks,
        }
    }
}

/// `counts` is how much an event counts, `pair` what is found in it and what that is on average.
fn check(
    mean_of: &'static str,
    exhaust: &[Logged],
    counts: impl Fn(&Logged) -> f64,
    pair: impl Fn(&Logged) -> (f64, f64),
) -> Check {
    let mean = |of: &dyn Fn(&Logged) -> f64| -> SteadyMean {
        let pairs = exhaust.iter().map(|e| (counts(e), of(e)));
        pairs.collect()
    };
    let expected = mean(&|e| pair(e).1).mean();
    let off = mean(&|e| pair(e).0 - pair(e).1);
    let z_score = off.mean() / off.standard_error();
    Check {
        mean_of,
        expected,
        found: expected + off.mean(),
        z_score,
        passed: z_score.abs() <= LARGEST_Z,
    }
}

impl Replay {
    /// Loads each saved model and makes the decisions of its batch again.
    fn new(run: &Run, customers: &[Customer], learner: &mut PriceLearner) -> Result<Self> {
        let mut replay = Self {
            decisions: 0,
            equal: 0,
        };
        for (made, model) in &run.checkpoints {
            learner.load(model)?;
            for (logged, customer) in run.exhaust[*made..]
                .iter()
                .zip(&customers[*made..])
                .take(BATCH)
            {
                let again = learner.replay(&customer.context, &logged.decision);
                replay.decisions += 1;
                replay.equal += usize::from(again.is_ok());
            }
        }
        Ok(replay)
    }
}
