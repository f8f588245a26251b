use egret::{Dirichlet, EventRng, ModelSpec, Vector};

use crate::worlds::normals::normals;
use crate::worlds::spaces::{CONTEXT, SpaceLoss};

/// A budget split over channels with diminishing returns: 1 − Σ wᵢ√aᵢ / √Σ wᵢ², noise ±.1.
///
/// wᵢ = exp(n₀ + Σ nⱼ(2xⱼ − 1)) with n of each channel standard normal. The best share of a channel is wᵢ²/Σ wⱼ², and loses 0.
#[derive(Debug, Clone, Copy)]
pub struct BudgetLoss {
    name: &'static str,
    channels: usize,
}

impl BudgetLoss {
    /// The names of all.
    pub const NAMES: [&'static str; 2] = ["simplex_6", "simplex_20"];

    /// The loss of this name.
    pub fn named(name: &str) -> Option<Self> {
        let name = Self::NAMES.into_iter().find(|of| *of == name)?;
        let channels = name.rsplit('_').next()?.parse().ok()?;
        Some(Self { name, channels })
    }
}

/// w of each channel.
fn worth<'a>(weights: &'a [f64], x: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    weights.chunks_exact(1 + CONTEXT).map(move |n| {
        let moved = n[1..].iter().zip(x).map(|(n, x)| n * (2.0 * x - 1.0));
        libm::exp(n[0] + moved.sum::<f64>())
    })
}

impl SpaceLoss for BudgetLoss {
    type Action = Vector;

    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> String {
        format!(
            "shares of {} channels, 1 − Σ wᵢ√aᵢ/√Σ wᵢ², w = exp(n₀ + Σ nⱼ(2xⱼ − 1)), n of each channel standard normal, noise ±.1",
            self.channels
        )
    }

    fn spec(&self) -> ModelSpec {
        let shares = Dirichlet::new(&vec![1.0; self.channels]).expect("two or more");
        ModelSpec::new(shares, CONTEXT)
    }

    fn weights(&self, rng: &mut EventRng) -> Vec<f64> {
        normals(self.channels * (1 + CONTEXT), rng).collect()
    }

    fn mean(&self, weights: &[f64], x: &[f64], action: &Vector) -> f64 {
        let (mut earned, mut squares) = (0.0, 0.0);
        for (worth, share) in worth(weights, x).zip(action.iter()) {
            earned += worth * share.sqrt();
            squares += worth * worth;
        }
        (1.0 - earned / squares.sqrt()).clamp(0.0, 1.0)
    }

    fn least(&self, _: &[f64], _: &[f64]) -> f64 {
        0.0
    }

    fn coordinates(&self) -> Option<fn(&Vector) -> Vec<f64>> {
        Some(|action| action.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds::spaces::checks::check_world;

    #[test]
    fn the_best_shares_lose_nothing_and_others_more() {
        for name in BudgetLoss::NAMES {
            let loss = BudgetLoss::named(name).expect("listed");
            check_world(loss, |_, weights, x| {
                let squares: Vec<f64> = worth(weights, x).map(|w| w * w).collect();
                let sum: f64 = squares.iter().sum();
                let shares: Vec<f64> = squares.iter().map(|w| w / sum).collect();
                Vector::new(&shares).expect("finite")
            });
        }
    }
}
