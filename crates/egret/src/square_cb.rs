use crate::greedy_mixture::GreedyMixture;

/// SquareCB (Foster and Rakhlin 2020) on a catalogue:
///
/// P(i) = μᵢ / (1 + γ · μᵢ · (f̂ᵢ − f̂ of the best)) for every item but the best, which has the rest.
///
/// With K equal items this is 1/(K + γ · gap). A weight μᵢ = m/K counts as m copies of an
/// item, of which one is looked at: the heavier an item, the sooner its gap is felt.
pub(crate) struct SquareCb {
    pub gamma: f64,
}

impl GreedyMixture for SquareCb {
    fn share(&self, gap: f64, probability: f64) -> f64 {
        1.0 / (1.0 + self.gamma * probability * gap)
    }
}
