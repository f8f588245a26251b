use crate::explorer::greedy::GreedyMixture;

/// SmoothIGW (Zhu and Mineiro 2022; Algorithm 1 of the paper): P = M + (1 − M(A)) · δ_â with
///
/// dM/dμ(a) = τ / (τ + γ · (f̂(x, a) − f̂(x, â))).
///
/// Draws from M have that density. The greedy action is a point mass. On a catalogue it still has a density,
/// 1 + (1 − M(A))/μ({â}); on an interval it has none.
pub(crate) struct SmoothIgw {
    pub tau: f64,
    pub gamma: f64,
}

impl GreedyMixture for SmoothIgw {
    fn share(&self, gap: f64, _: f64) -> f64 {
        self.tau / (self.tau + self.gamma * gap)
    }
}

#[cfg(test)]
mod tests {
    use egret_testkit::{allowed_misses, chi_square_p_value, kolmogorov_smirnov_p_value};

    use crate::event::Propensity;
    use crate::explorer::{Corral, DensityKind, Explorer, GammaSchedule};
    use crate::learner::{
        Learner, Settings,
        small_world::{Bowl, interval_learner_of, table_learner},
    };
    use crate::measure::Interval;
    use crate::oracle::FunctionOnInterval;

    fn settings(gamma: f64, taus: &[f64]) -> Settings {
        Settings {
            explorer: Explorer::SmoothIgw,
            gamma: GammaSchedule::constant(gamma).expect("positive"),
            taus: taus.to_vec(),
            ..Settings::paper()
        }
    }

    /// f̂(a) = |a − ½| on [0, 1]: M(A) = 2 ∫₀^½ τ/(τ + γu) du = 2 (τ/γ) ln(1 + γ/(2τ)).
    const BOWL: Bowl = Bowl {
        offset: 0.0,
        slope: 1.0,
    };

    /// The gap is to the least f̂, which need not be 0.
    #[test]
    fn what_all_actions_lose_changes_nothing() {
        let raised = |by: f64| {
            let oracle = FunctionOnInterval::new(
                move |x: &f64, actions: &Vec<f64>, out: &mut [f64]| {
                    for (out, action) in out.iter_mut().zip(actions) {
                        *out = by + (action - x).abs();
                    }
                },
                |x: &f64, out: &mut Vec<f64>| {
                    out.push(*x);
                    *x
                },
            );
            let interval = Interval::new(0.0, 1.0).expect("in order");
            Learner::new(Box::new(interval), Box::new(oracle), settings(40.0, &[4.0]))
                .expect("settings fit")
        };
        let (low, high) = (raised(0.0), raised(0.25));
        for event in 0..200 {
            let [low, high] = [&low, &high].map(|learner| learner.decide(event, &0.5));
            let (low, high) = (low.expect("an action"), high.expect("an action"));
            assert_eq!(low.action, high.action);
            match (low.propensity.density(), high.propensity.density()) {
                (Some(low), Some(high)) => assert!((low.get() - high.get()).abs() < 1e-12),
                (low, high) => assert_eq!(low, high),
            }
        }
    }

    #[test]
    fn the_greedy_share_and_the_rest_are_as_the_paper_has_them() {
        let (tau, gamma) = (4.0, 40.0);
        let learner = interval_learner_of(BOWL, settings(gamma, &[tau]));
        let mass = 2.0 * tau / gamma * (1.0 + gamma / (2.0 * tau)).ln();
        let trials = 20_000;
        let mut drawn = Vec::new();
        for event in 0..trials {
            let decision = learner.decide(event, &0.5).expect("an action");
            match decision.propensity {
                Propensity::PointMass => assert_eq!(decision.action, 0.5),
                Propensity::Density(density) => {
                    let gap = (decision.action - 0.5).abs();
                    assert!((density.get() - tau / (tau + gamma * gap)).abs() < 1e-15);
                    drawn.push(decision.action);
                }
            }
        }
        // False alarm: one in a million on either side. A share off by 0.02 is seen all but surely.
        let kept = drawn.len() as u64;
        assert!(kept <= allowed_misses(trials, mass), "{kept}");
        assert!(
            trials - kept <= allowed_misses(trials, 1.0 - mass),
            "{kept}"
        );
        // M/M(A) has a closed form; false alarm one in a million. Power: 2.5τ is seen.
        let cdf = |tau: f64| {
            move |a: f64| {
                let half = |u: f64| tau / gamma * (1.0 + gamma / tau * u).ln();
                0.5 + 0.5 * (a - 0.5).signum() * half((a - 0.5).abs()) / half(0.5)
            }
        };
        assert!(1e-6 < kolmogorov_smirnov_p_value(&mut drawn, cdf(tau)));
        assert!(kolmogorov_smirnov_p_value(&mut drawn, cdf(2.5 * tau)) < 1e-6);
    }

    #[test]
    fn an_argmin_beyond_the_interval_is_played_at_its_end() {
        let bowl = Bowl {
            offset: 2.0,
            slope: 0.25,
        };
        let learner = interval_learner_of(bowl, settings(1e9, &[1.0]));
        let decision = learner.decide(1, &0.5).expect("an action");
        assert_eq!(
            (decision.action, decision.propensity),
            (1.0, Propensity::PointMass)
        );
    }

    #[test]
    fn on_a_catalogue_every_item_has_its_density() {
        let (tau, gamma) = (2.0, 10.0);
        let weights = [0.1, 0.2, 0.3, 0.4];
        let losses = [0.7, 0.1, 0.3, 0.9];
        let learner = table_learner(&weights, &losses, settings(gamma, &[tau]));
        let mut probabilities: Vec<f64> = weights
            .iter()
            .zip(&losses)
            .map(|(weight, loss)| weight * tau / (tau + gamma * (loss - 0.1)))
            .collect();
        probabilities[1] += 1.0 - probabilities.iter().sum::<f64>();
        let mut counts = [0; 4];
        for event in 0..20_000 {
            let decision = learner.decide(event, &()).expect("an action");
            let item = decision.action.0 as usize;
            counts[item] += 1;
            let density = decision.propensity.density().expect("always one").get();
            assert!((density - probabilities[item] / weights[item]).abs() < 1e-12);
        }
        // False alarm: one in a million. Power: μ itself is refused.
        assert!(1e-6 < chi_square_p_value(&counts, &probabilities));
        assert!(chi_square_p_value(&counts, &weights) < 1e-6);
    }

    #[test]
    fn the_marginal_density_is_the_mean_over_the_grid() {
        let marginal = Settings {
            density: DensityKind::Marginal,
            ..settings(40.0, &[2.0, 8.0, 32.0])
        };
        let corral = Corral::new(marginal.taus.clone(), 0.1).expect("in range");
        let learner = interval_learner_of(BOWL, marginal);
        for event in 0..200 {
            let decision = learner.decide(event, &0.5).expect("an action");
            let Propensity::Density(density) = decision.propensity else {
                continue;
            };
            let gap = (decision.action - 0.5).abs();
            let expected: f64 = corral
                .taus()
                .iter()
                .map(|tau| tau / (tau + 40.0 * gap) / 3.0)
                .sum();
            assert!((density.get() - expected).abs() < 1e-14);
        }
    }
}
