use crate::greedy_mixture::GreedyMixture;

/// ε-greedy: P = ε·μ + (1 − ε) · δ_â.
pub(crate) struct EpsilonGreedy {
    pub epsilon: f64,
}

impl GreedyMixture for EpsilonGreedy {
    fn share(&self, _: f64, _: f64) -> f64 {
        self.epsilon
    }
}
