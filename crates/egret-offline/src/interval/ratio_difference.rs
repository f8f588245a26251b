use crate::sums::quadratic_form;
use crate::sums::{LANES, Lanes, tree};

/// The difference of two self-normalized estimates and its standard error, from sums and second moments of
/// z = h·(w₁ℓ, w₁, w₂ℓ, w₂).
///
/// e = B₁/C₁ − B₂/C₂,  se² = n/(n−1) · Σᵢ (c·zᵢ)²,  c = ∂e/∂(B₁, C₁, B₂, C₂)
///
/// Both estimates come from the same events, so noise that moves both alike mostly cancels in the difference.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct RatioDifference {
    n: u64,
    /// B₁, C₁, B₂, C₂.
    sums: [f64; 4],
    /// Σ zᵢzⱼ, i ≤ j.
    squares: [f64; 10],
}

impl RatioDifference {
    /// The moments of these events alone; without event weights, h = 1.
    pub(crate) fn of(losses: &[f64], weights: [&[f64]; 2], event_weights: Option<&[f64]>) -> Self {
        let ones;
        let event_weights = match event_weights {
            Some(event_weights) => event_weights,
            None => {
                ones = vec![1.0; losses.len()];
                &ones
            }
        };
        let lanes = sums(losses, weights[0], weights[1], event_weights);
        let total: [f64; 14] = lanes.map(tree);
        let (sums, squares) = total.split_at(4);
        Self {
            n: losses.len() as u64,
            sums: sums.try_into().expect("four of fourteen"),
            squares: squares.try_into().expect("the other ten"),
        }
    }

    pub(crate) fn merge(&mut self, later: &Self) {
        self.n += later.n;
        for (sum, more) in self.sums.iter_mut().zip(later.sums) {
            *sum += more;
        }
        for (square, more) in self.squares.iter_mut().zip(later.squares) {
            *square += more;
        }
    }

    /// e: NaN where all weights of a policy are 0.
    pub(crate) fn estimate(&self) -> f64 {
        let [b1, c1, b2, c2] = self.sums;
        b1 / c1 - b2 / c2
    }

    /// The mean of the two estimates.
    pub(crate) fn middle(&self) -> f64 {
        let [b1, c1, b2, c2] = self.sums;
        0.5 * (b1 / c1 + b2 / c2)
    }

    pub(crate) fn standard_error(&self) -> f64 {
        let [b1, c1, b2, c2] = self.sums;
        let gradient = [1.0 / c1, -b1 / (c1 * c1), -1.0 / c2, b2 / (c2 * c2)];
        let n = self.n as f64;
        (quadratic_form(gradient, &self.squares).max(0.0) * n / (n - 1.0)).sqrt()
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn sums(losses: &[f64], w1: &[f64], w2: &[f64], event_weights: &[f64]) -> [[f64; LANES]; 14] {
    let mut sums = [[0.0; LANES]; 14];
    let rows = Lanes::of(losses)
        .zip(Lanes::of(w1))
        .zip(Lanes::of(w2))
        .zip(Lanes::of(event_weights));
    for (((losses, w1), w2), event_weights) in rows {
        for lane in 0..LANES {
            let (c1, c2) = (
                event_weights[lane] * w1[lane],
                event_weights[lane] * w2[lane],
            );
            let z = [c1 * losses[lane], c1, c2 * losses[lane], c2];
            let mut place = 4;
            for i in 0..4 {
                sums[i][lane] += z[i];
                for j in i..4 {
                    sums[place][lane] += z[i] * z[j];
                    place += 1;
                }
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let losses = [0.0, 1.0, 0.5, 0.25, 1.0];
        let w1 = [2.0, 0.0, 1.0, 3.0, 0.5];
        let w2 = [0.5, 2.0, 1.0, 0.0, 1.5];
        let h = [1.0, 0.5, 2.0, 1.0, 0.25];
        let ratio = |w: &[f64; 5]| {
            let c: f64 = (0..5).map(|i| h[i] * w[i]).sum();
            let b: f64 = (0..5).map(|i| h[i] * w[i] * losses[i]).sum();
            let influences = [0, 1, 2, 3, 4].map(|i| h[i] * w[i] * (losses[i] - b / c) / c);
            (b / c, influences)
        };
        let ((one, from_one), (two, from_two)) = (ratio(&w1), ratio(&w2));
        let squares: f64 = from_one
            .iter()
            .zip(from_two)
            .map(|(one, two)| (one - two).powi(2))
            .sum();
        let mut found = RatioDifference::of(&losses[..2], [&w1[..2], &w2[..2]], Some(&h[..2]));
        found.merge(&RatioDifference::of(
            &losses[2..],
            [&w1[2..], &w2[2..]],
            Some(&h[2..]),
        ));
        assert!((found.estimate() - (one - two)).abs() < 1e-15);
        assert!((found.middle() - 0.5 * (one + two)).abs() < 1e-15);
        assert!((found.standard_error() - (squares * 5.0 / 4.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn a_policy_does_not_differ_from_itself() {
        let w = [2.0, 0.0, 1.0, 3.0];
        let found = RatioDifference::of(&[0.0, 1.0, 0.5, 0.25], [&w, &w], None);
        assert_eq!(found.estimate(), 0.0);
        assert!(found.standard_error() < 1e-8);
    }
}
