use crate::explorer::greedy::GreedyMixture;

/// ε-greedy: P = ε·μ + (1 − ε) · δ_â.
pub(crate) struct EpsilonGreedy {
    pub epsilon: f64,
}

impl GreedyMixture for EpsilonGreedy {
    fn share(&self, _: f64, _: f64) -> f64 {
        self.epsilon
    }
}

#[cfg(test)]
mod tests {
    use egret_testkit::allowed_misses;

    use crate::event::{Item, Propensity};
    use crate::explorer::Explorer;
    use crate::learner::{
        Settings,
        small_world::{Bowl, interval_learner_of, table_learner},
    };

    fn settings(epsilon: f64) -> Settings {
        Settings {
            explorer: Explorer::EpsilonGreedy { epsilon },
            ..Settings::paper()
        }
    }

    fn as_line(epsilon: f64) -> u64 {
        let bowl = Bowl {
            offset: 0.0,
            slope: 1.0,
        };
        let learner = interval_learner_of(bowl, settings(epsilon));
        (0..10_000)
            .filter(|&event| {
                let decision = learner.decide(event, &0.25).expect("an action");
                match decision.propensity {
                    Propensity::PointMass => assert_eq!(decision.action, 0.25),
                    Propensity::Density(density) => assert_eq!(density.get(), epsilon),
                }
                decision.propensity == Propensity::PointMass
            })
            .count() as u64
    }

    #[test]
    fn it_explores_as_often_as_it_says() {
        let greedy = as_line(0.2);
        // False alarm: one in a million on either side. An ε of 0.23 would be seen all but surely.
        assert!(greedy <= allowed_misses(10_000, 0.8), "{greedy}");
        assert!(10_000 - greedy <= allowed_misses(10_000, 0.2), "{greedy}");
        assert_eq!((as_line(0.0), as_line(1.0)), (10_000, 0));
    }

    #[test]
    fn on_a_catalogue_the_best_item_has_a_density() {
        let learner = table_learner(&[1.0, 3.0], &[0.1, 0.6], settings(0.2));
        for event in 0..100 {
            let decision = learner.decide(event, &()).expect("an action");
            let density = decision.propensity.density().expect("always one").get();
            // 0.2 · ¼ + 0.8 on the best: over ¼, 3.4.
            let expected = if decision.action == Item(0) { 3.4 } else { 0.2 };
            assert!((density - expected).abs() < 1e-12, "{density}");
        }
    }
}
