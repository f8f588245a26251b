use crate::greedy_mixture::GreedyMixture;

/// SmoothIGW (Zhu and Mineiro 2022; Algorithm 1 of the paper): P = M + (1 − M(A)) · δ_â with
///
/// dM/dμ(a) = τ / (τ + γ · (f̂(x, a) − f̂(x, â))).
///
/// What is drawn from M has that density. The greedy action is a point mass: on a
/// catalogue it still has a density, 1 + (1 − M(A))/μ({â}); on the line it has none.
pub(crate) struct SmoothIgw {
    pub tau: f64,
    pub gamma: f64,
}

impl GreedyMixture for SmoothIgw {
    fn share(&self, gap: f64, _: f64) -> f64 {
        self.tau / (self.tau + self.gamma * gap)
    }
}
