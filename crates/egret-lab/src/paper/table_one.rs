use egret::{
    CappedIgw, ContextError, Example, Explorer, GammaSchedule, Interval, Learner, LoadError,
    MonotonePieces, Normalization, RegressionOracle, Settings,
};
use rayon::prelude::*;
use serde::Serialize;

use crate::learner::{PlayError, normalizer_name};

/// A row of the paper's Table 1, for one normalizer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableRow {
    /// τ.
    pub tau: f64,
    /// γ.
    pub gamma: f64,
    /// The normalizer.
    pub normalizer: &'static str,
    /// The draws from μ to find β: 2.5, 50 and 97.5% quantiles over the trials.
    pub draws: [f64; 3],
    /// κ = 1/z(β) from the closed form: the same quantiles.
    pub kappa: [f64; 3],
    /// The number of trials with κ outside of [1, κ∞].
    pub violations: usize,
    /// The number of trials.
    pub trials: usize,
}

/// A row of Table 1 as the paper prints it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrintedRow {
    /// τ.
    pub tau: f64,
    /// γ.
    pub gamma: f64,
    /// The draws of Theorem 2.
    pub theorem: f64,
    /// The draws of Algorithm 3: 2.5 and 97.5% quantiles.
    pub draws: [f64; 2],
    /// κ of Algorithm 3: the same quantiles.
    pub kappa: [f64; 2],
}

const fn printed(
    tau: f64,
    gamma: f64,
    theorem: f64,
    draws: [f64; 2],
    kappa: [f64; 2],
) -> PrintedRow {
    PrintedRow {
        tau,
        gamma,
        theorem,
        draws,
        kappa,
    }
}

/// Table 1 as the paper prints it.
pub const PRINTED: [PrintedRow; 3] = [
    printed(2.0, 16.0, 942.0, [18.0, 24.0], [1.3, 3.0]),
    printed(20.0, 304.0, 13_496.0, [123.0, 227.0], [10.2, 11.8]),
    printed(200.0, 6368.0, 177_141.0, [2254.0, 2788.0], [1.8, 23.6]),
];

/// κ∞ in Table 1.
pub const KAPPA_INF: f64 = 24.0;
/// δ in Table 1.
pub const DELTA: f64 = 0.025;

/// Table 1 for every normalizer: f̂(a) = 1{2aτ > 1} on [0, 1], a needle in a haystack.
pub fn table_one(trials: usize) -> Result<Vec<TableRow>, PlayError> {
    let normalizations = [
        Normalization::Betting,
        Normalization::Mixture,
        Normalization::FixedSample,
        Normalization::Exact,
    ];
    let mut rows = Vec::new();
    for PrintedRow { tau, gamma, .. } in PRINTED {
        for normalization in normalizations {
            let settings = Settings {
                explorer: Explorer::CappedIgw(CappedIgw {
                    normalization,
                    kappa_inf: KAPPA_INF,
                    delta: DELTA,
                    ..CappedIgw::default()
                }),
                gamma: GammaSchedule::constant(gamma).expect("positive"),
                taus: vec![tau],
                seed: 1,
                ..Settings::paper()
            };
            let measure = Box::new(Interval::new(0.0, 1.0).expect("0 < 1"));
            let learner = Learner::new(measure, Box::new(Needle { tau }), settings)?;
            let found: Vec<(f64, f64)> = (0..trials as u64)
                .into_par_iter()
                .map(|event| {
                    let decision = learner.decide(event, &())?;
                    let capped = decision.capped_igw.expect("CappedIGW reports its β");
                    let certificate = capped.certificate;
                    let kappa = 1.0 / needle_z(tau, gamma, certificate.beta);
                    Ok((certificate.draws as f64, kappa))
                })
                .collect::<Result<_, PlayError>>()?;
            let (draws, kappas): (Vec<f64>, Vec<f64>) = found.into_iter().unzip();
            // An exact κ is 1 up to rounding.
            let outside = |kappa: &&f64| !(1.0 - 1e-6..=KAPPA_INF).contains(*kappa);
            rows.push(TableRow {
                tau,
                gamma,
                normalizer: normalizer_name(normalization),
                violations: kappas.iter().filter(outside).count(),
                draws: quantiles(draws),
                kappa: quantiles(kappas),
                trials,
            });
        }
    }
    Ok(rows)
}

/// z(β) = (2τ − 1)/(2 + 2γ(1 − β)) + 1/(2 + 2γ(−β)₊) for β ≤ 1.
fn needle_z(tau: f64, gamma: f64, beta: f64) -> f64 {
    (2.0 * tau - 1.0) / (2.0 + 2.0 * gamma * (1.0 - beta))
        + 1.0 / (2.0 + 2.0 * gamma * (-beta).max(0.0))
}

fn quantiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1) as f64;
    [0.025, 0.5, 0.975].map(|share| values[(last * share).round() as usize])
}

/// f̂(a) = 1{2aτ > 1}.
struct Needle {
    tau: f64,
}

impl RegressionOracle<(), f64> for Needle {
    fn prepare(&self, _: &(), _: &mut Vec<f64>) -> Result<(), ContextError> {
        Ok(())
    }

    fn predict(&self, _: &(), _: &[f64], actions: &Vec<f64>, out: &mut [f64]) {
        for (out, action) in out.iter_mut().zip(actions) {
            *out = f64::from(u8::from(1.0 < 2.0 * action * self.tau));
        }
    }

    fn learn(&mut self, _: &[Example<'_, (), f64>]) -> Result<(), ContextError> {
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    fn load(&mut self, _: &[u8]) -> Result<(), LoadError> {
        Ok(())
    }

    fn monotone_pieces(&self) -> Option<&dyn MonotonePieces> {
        Some(self)
    }
}

impl MonotonePieces for Needle {
    fn argmin(&self, _: &[f64]) -> f64 {
        0.0
    }

    fn break_points(&self, _: &[f64], out: &mut Vec<f64>) {
        out.push(0.5 / self.tau);
    }
}

#[cfg(test)]
mod tests {
    use egret_testkit::allowed_misses;

    use super::*;

    #[test]
    fn every_normalizer_keeps_its_guarantee() {
        let rows = table_one(400).expect("it runs");
        assert_eq!(rows.len(), 12);
        for row in &rows {
            assert!(
                row.violations as u64 <= allowed_misses(400, DELTA),
                "{row:?}"
            );
            if row.normalizer == "exact" {
                assert_eq!(row.draws, [0.0; 3]);
                assert!(row.kappa.iter().all(|kappa| (kappa - 1.0).abs() < 1e-6));
            } else {
                // Without a draw there is no guarantee.
                assert!(1.0 < row.draws[0], "{row:?}");
            }
        }
        // Betting takes as many draws as in the paper, mixtures fewer.
        let median = |tau, name| {
            let row = rows
                .iter()
                .find(|row| row.tau == tau && row.normalizer == name);
            row.expect("there").draws[1]
        };
        for PrintedRow {
            tau,
            draws: [low, high],
            ..
        } in PRINTED
        {
            let betting = median(tau, "betting");
            assert!(
                (0.9 * low..=1.1 * high).contains(&betting),
                "{tau} {betting}"
            );
            assert!(median(tau, "mixture") < betting);
        }
    }
}
