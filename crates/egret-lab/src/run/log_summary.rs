use egret::Decision;
use serde::{Deserialize, Serialize};

/// A summary of the log of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LogSummary {
    /// The share of actions that were point masses.
    #[serde(alias = "atoms")]
    pub point_masses: f64,
    /// The number of draws from μ to find β.
    pub draws: Spread,
    /// The number of draws from μ until an action was accepted.
    pub proposals: Spread,
    /// κ = 1/z: by which factor g falls short of a density.
    pub kappa: Option<Spread>,
    /// dP/dμ at the action, where there is a density.
    pub density: Option<Spread>,
    /// The inverse of the density: the importance weight of the uniform policy.
    pub weight: Option<Spread>,
    /// The distance of the action from the greedy one, at every sixteenth decision.
    pub distance: Option<Spread>,
}

/// A mean and five quantiles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// At 5, 25, 50, 75 and 95%.
    pub quantiles: [f64; 5],
}

impl Spread {
    /// The levels of the quantiles.
    pub const LEVELS: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

    /// The spread of numbers in any order; `None` if there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let last = values.len() - 1;
        let quantiles = Self::LEVELS.map(|level| {
            let place = (level * last as f64).round() as usize;
            *values.select_nth_unstable_by(place, f64::total_cmp).1
        });
        Some(Self { mean, quantiles })
    }
}

/// Collects the numbers of a run while it goes on.
#[derive(Debug, Default)]
pub(super) struct LogBuilder {
    decisions: u64,
    point_masses: u64,
    draws: Vec<f64>,
    proposals: Vec<f64>,
    kappas: Vec<f64>,
    densities: Vec<f64>,
    distances: Vec<f64>,
}

impl LogBuilder {
    pub(super) fn add<A>(&mut self, decision: &Decision<A>, distance: Option<f64>) {
        self.decisions += 1;
        self.proposals.push(decision.proposals as f64);
        match decision.propensity.density() {
            Some(density) => self.densities.push(density.get()),
            None => self.point_masses += 1,
        }
        let draws = decision.capped_igw.map_or(0, |capped| {
            self.kappas.push(1.0 / capped.z.value);
            capped.certificate.draws
        });
        self.draws.push(draws as f64);
        self.distances.extend(distance);
    }

    /// `None` without a decision.
    pub(super) fn finish(self) -> Option<LogSummary> {
        let weights = self.densities.iter().map(|density| 1.0 / density).collect();
        Some(LogSummary {
            point_masses: self.point_masses as f64 / self.decisions as f64,
            draws: Spread::of(self.draws)?,
            proposals: Spread::of(self.proposals)?,
            kappa: Spread::of(self.kappas),
            weight: Spread::of(weights),
            density: Spread::of(self.densities),
            distance: Spread::of(self.distances),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_hundred_and_one() {
        let spread = Spread::of((0..=100).rev().map(f64::from).collect()).expect("some");
        assert_eq!(spread.mean, 50.0);
        assert_eq!(spread.quantiles, [5.0, 25.0, 50.0, 75.0, 95.0]);
        assert_eq!(Spread::of(Vec::new()), None);
    }
}
