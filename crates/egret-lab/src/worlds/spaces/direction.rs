use egret::{EventRng, ModelSpec, UniformSphere, Vector};

use crate::worlds::normals::normals;
use crate::worlds::spaces::{CONTEXT, SpaceLoss};

/// A direction to be found: ½ − .4·⟨a, u⟩, noise ±.1, with u along n₀ + Σ nⱼ(2xⱼ − 1) and n of each coordinate standard normal.
#[derive(Debug, Clone, Copy)]
pub struct DirectionLoss {
    name: &'static str,
    dim: usize,
}

impl DirectionLoss {
    /// The names of all.
    pub const NAMES: [&'static str; 2] = ["sphere_8", "sphere_20"];

    /// The loss of this name.
    pub fn named(name: &str) -> Option<Self> {
        let name = Self::NAMES.into_iter().find(|of| *of == name)?;
        let dim = name.rsplit('_').next()?.parse().ok()?;
        Some(Self { name, dim })
    }
}

/// u.
fn direction(weights: &[f64], x: &[f64]) -> Vec<f64> {
    let along = weights.chunks_exact(1 + CONTEXT).map(|n| {
        let moved = n[1..].iter().zip(x).map(|(n, x)| n * (2.0 * x - 1.0));
        n[0] + moved.sum::<f64>()
    });
    let along: Vec<f64> = along.collect();
    let length = along.iter().map(|v| v * v).sum::<f64>().sqrt();
    along.iter().map(|v| v / length).collect()
}

impl SpaceLoss for DirectionLoss {
    type Action = Vector;

    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> String {
        format!(
            "unit vectors of {} coordinates, ½ − .4·⟨a, u⟩, u along n₀ + Σ nⱼ(2xⱼ − 1), n of each coordinate standard normal, noise ±.1",
            self.dim
        )
    }

    fn spec(&self) -> ModelSpec {
        ModelSpec::new(UniformSphere::new(self.dim).expect("positive"), CONTEXT)
    }

    fn weights(&self, rng: &mut EventRng) -> Vec<f64> {
        normals(self.dim * (1 + CONTEXT), rng).collect()
    }

    fn mean(&self, weights: &[f64], x: &[f64], action: &Vector) -> f64 {
        let along = direction(weights, x);
        let product: f64 = along.iter().zip(action.iter()).map(|(u, a)| u * a).sum();
        0.5 - 0.4 * product.clamp(-1.0, 1.0)
    }

    fn least(&self, _: &[f64], _: &[f64]) -> f64 {
        0.1
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
    fn the_best_direction_is_the_best() {
        for name in DirectionLoss::NAMES {
            let loss = DirectionLoss::named(name).expect("listed");
            check_world(loss, |_, weights, x| {
                Vector::new(&direction(weights, x)).expect("finite")
            });
        }
    }
}
