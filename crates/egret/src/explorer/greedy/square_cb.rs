use crate::explorer::greedy::GreedyMixture;

/// SquareCB (Foster and Rakhlin 2020) on a catalogue:
///
/// P(i) = μᵢ / (1 + γ · μᵢ · (f̂ᵢ − f̂ of the best)) for every item except the best, which gets the rest.
///
/// With K equal items this is 1/(K + γ · gap). The larger μᵢ, the more its gap lowers its probability.
pub(crate) struct SquareCb {
    pub gamma: f64,
}

impl GreedyMixture for SquareCb {
    fn share(&self, gap: f64, probability: f64) -> f64 {
        1.0 / (1.0 + self.gamma * probability * gap)
    }
}

#[cfg(test)]
mod tests {
    use egret_testkit::chi_square_p_value;

    use crate::explorer::{Explorer, GammaSchedule};
    use crate::learner::{Settings, small_world::table_learner};

    /// How often each item was played in 20,000 decisions, and the probability stated for it.
    fn play(gamma: f64, weights: &[f64], losses: &[f64]) -> (Vec<u64>, Vec<f64>) {
        let settings = Settings {
            explorer: Explorer::SquareCb,
            gamma: GammaSchedule::constant(gamma).expect("positive"),
            ..Settings::paper()
        };
        let total: f64 = weights.iter().sum();
        let learner = table_learner(weights, losses, settings);
        let mut counts = vec![0; weights.len()];
        let mut stated = vec![0.0; weights.len()];
        for event in 0..20_000 {
            let decision = learner.decide(event, &()).expect("an action");
            let item = decision.action.0 as usize;
            let density = decision.propensity.density().expect("always one").get();
            counts[item] += 1;
            stated[item] = density * weights[item] / total;
            assert_eq!((decision.tau, decision.tau_probability), (1.0, 1.0));
        }
        (counts, stated)
    }

    #[test]
    fn equal_items_have_the_probabilities_of_square_cb() {
        let losses = [0.5, 0.2, 0.9, 0.2];
        let (counts, stated) = play(20.0, &[1.0; 4], &losses);
        // 1/(4 + 20·gap); of two best items the first takes the rest.
        let expected = [0.1, 1.0 - 0.1 - 1.0 / 18.0 - 0.25, 1.0 / 18.0, 0.25];
        for (stated, expected) in stated.iter().zip(expected) {
            assert!((stated - expected).abs() < 1e-12, "{stated} {expected}");
        }
        // False alarm: one in a million. Power: equal probabilities are refused.
        assert!(1e-6 < chi_square_p_value(&counts, &expected));
        assert!(chi_square_p_value(&counts, &[0.25; 4]) < 1e-6);
    }

    #[test]
    fn weighted_probabilities_sum_to_one() {
        let (weights, losses) = ([3.0, 1.0, 2.0, 4.0], [0.1, 0.4, 0.6, 0.3]);
        let (counts, stated) = play(50.0, &weights, &losses);
        assert!((stated.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        // μ/(1 + γ·μ·gap) with μ = 0.4 and a gap of 0.2.
        assert!((stated[3] - 0.4 / 5.0).abs() < 1e-12);
        assert!(1e-6 < chi_square_p_value(&counts, &stated));
    }

    #[test]
    fn one_item_is_certain() {
        assert_eq!(play(5.0, &[2.0], &[0.5]), (vec![20_000], vec![1.0]));
    }
}
