use crate::event::{Action, Propensity};
use crate::explorer::{DecideError, Decision};
use crate::learner::Learner;

impl<X: ?Sized, A: Action + PartialEq> Learner<X, A> {
    /// Repeats a past decision from its event and seed, and compares every field bit for bit.
    ///
    /// The learner must hold the model that made the decision: see [`load`](Self::load).
    pub fn replay(&self, x: &X, decision: &Decision<A>) -> Result<(), ReplayError> {
        if decision.batches_learned != self.batches_learned() {
            return Err(ReplayError::Model {
                decision: decision.batches_learned,
                learner: self.batches_learned(),
            });
        }
        if decision.settings_version != self.settings().settings_version {
            return Err(ReplayError::Settings {
                decision: decision.settings_version,
                learner: self.settings().settings_version,
            });
        }
        let limits = decision.limits.as_ref();
        let again = self.decide_seeded(decision.seed, decision.event, x, limits)?;
        match first_difference(decision, &again) {
            None => Ok(()),
            Some(field) => Err(ReplayError::Differs { field }),
        }
    }
}

fn first_difference<A: PartialEq>(a: &Decision<A>, b: &Decision<A>) -> Option<&'static str> {
    let bits = |a: f64, b: f64| a.to_bits() == b.to_bits();
    let density = |decision: &Decision<A>| match decision.propensity {
        Propensity::Density(density) => Some(density.get().to_bits()),
        Propensity::PointMass => None,
    };
    let capped = match (&a.capped_igw, &b.capped_igw) {
        (None, None) => None,
        (Some(a), Some(b)) => {
            let (a_proof, b_proof) = (&a.certificate, &b.certificate);
            [
                ("g", bits(a.g, b.g)),
                ("uniform", bits(a.uniform, b.uniform)),
                ("beta", bits(a_proof.beta, b_proof.beta)),
                ("guarantee", a_proof.certified_by == b_proof.certified_by),
                ("kappa_inf", bits(a_proof.kappa_inf, b_proof.kappa_inf)),
                ("delta", bits(a_proof.delta, b_proof.delta)),
                ("draws of beta", a_proof.draws == b_proof.draws),
                ("z", bits(a.z.value, b.z.value)),
                ("draws of z", a.z.draws == b.z.draws),
            ]
            .into_iter()
            .find(|(_, same)| !same)
        }
        _ => Some(("capped", false)),
    };
    [
        ("tau_index", a.tau_index == b.tau_index),
        ("tau", bits(a.tau, b.tau)),
        (
            "tau_probability",
            bits(a.tau_probability, b.tau_probability),
        ),
        ("gamma", bits(a.gamma, b.gamma)),
        ("action", a.action == b.action),
        ("proposals", a.proposals == b.proposals),
    ]
    .into_iter()
    .find(|(_, same)| !same)
    .or(capped)
    .or_else(|| {
        [
            ("propensity", density(a) == density(b)),
            (
                "largest_inverse_density",
                a.largest_inverse_density.map(f64::to_bits)
                    == b.largest_inverse_density.map(f64::to_bits),
            ),
            ("density_kind", a.density_kind == b.density_kind),
        ]
        .into_iter()
        .find(|(_, same)| !same)
    })
    .map(|(field, _)| field)
}

/// Why a replay failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// Another model made it.
    #[error(
        "the decision was made after {decision} batches and the learner holds {learner}: load the model saved after \
         {decision} batches"
    )]
    Model {
        /// Batches learned when it was made.
        decision: u64,
        /// Batches learned here.
        learner: u64,
    },
    /// Other settings made it.
    #[error(
        "the decision was made under settings version {decision}, the learner has settings version {learner}"
    )]
    Settings {
        /// The decision's.
        decision: u32,
        /// The learner's.
        learner: u32,
    },
    /// The replayed decision is different.
    #[error("the replayed decision differs in {field}")]
    Differs {
        /// The first field that differs.
        field: &'static str,
    },
    /// No decision could be made.
    #[error(transparent)]
    Decide(#[from] DecideError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Density, Loss};
    use crate::explorer::{CappedDraw, Explorer};
    use crate::learner::{Settings, small_world::interval_learner};

    fn explorers() -> [Explorer; 4] {
        [
            Settings::paper().explorer,
            Explorer::SmoothIgw,
            Explorer::Uniform,
            Explorer::EpsilonGreedy { epsilon: 0.5 },
        ]
    }

    #[test]
    fn a_decision_replays_after_a_load() {
        for explorer in explorers() {
            let settings = Settings {
                explorer,
                ..Settings::paper()
            };
            let mut learner = interval_learner(settings.clone());
            let early = learner.decide(1, &0.25).expect("an action");
            let loss = Loss::new(0.5).expect("in range");
            learner
                .learn(&early.observed(&0.25, loss))
                .expect("a good event");
            let saved = learner.save();
            let late = learner.decide(2, &0.75).expect("an action");
            let mut other = interval_learner(Settings {
                seed: 1,
                ..settings
            });
            other.replay(&0.25, &early).expect("the model of the start");
            assert_eq!(
                other.replay(&0.75, &late),
                Err(ReplayError::Model {
                    decision: 1,
                    learner: 0
                })
            );
            other.load(&saved).expect("just saved");
            other.replay(&0.75, &late).expect("the model of that time");
            assert!(other.replay(&0.25, &early).is_err());
        }
    }

    #[test]
    fn what_differs_is_named() {
        let learner = interval_learner(Settings::paper());
        let decision = learner.decide(1, &0.25).expect("an action");
        let named = |spoil: &dyn Fn(&mut Decision<f64>)| {
            let mut spoiled = decision.clone();
            spoil(&mut spoiled);
            match learner.replay(&0.25, &spoiled) {
                Err(ReplayError::Differs { field }) => field,
                other => panic!("{other:?}"),
            }
        };
        let capped = |spoil: &dyn Fn(&mut CappedDraw)| {
            named(&|decision| spoil(decision.capped_igw.as_mut().expect("CappedIGW")))
        };
        let next = |value: f64| f64::from_bits(value.to_bits() + 1);
        assert_eq!(named(&|d| d.action = next(d.action)), "action");
        assert_eq!(named(&|d| d.gamma = next(d.gamma)), "gamma");
        assert_eq!(named(&|d| d.tau = next(d.tau)), "tau");
        assert_eq!(named(&|d| d.tau_index += 1), "tau_index");
        assert_eq!(named(&|d| d.tau_probability = 0.5), "tau_probability");
        assert_eq!(named(&|d| d.proposals += 1), "proposals");
        assert_eq!(named(&|d| d.capped_igw = None), "capped");
        assert_eq!(
            named(&|d| d.propensity = Propensity::PointMass),
            "propensity"
        );
        let two = Density::new(1.0 + 1e-9).expect("positive");
        assert_eq!(
            named(&|d| d.propensity = Propensity::Density(two)),
            "propensity"
        );
        assert_eq!(capped(&|c| c.g = next(c.g)), "g");
        assert_eq!(
            capped(&|c| c.certificate.beta = -c.certificate.beta),
            "beta"
        );
        assert_eq!(capped(&|c| c.certificate.kappa_inf = 5.0), "kappa_inf");
        assert_eq!(capped(&|c| c.certificate.delta = 0.5), "delta");
        assert_eq!(capped(&|c| c.certificate.draws += 1), "draws of beta");
        assert_eq!(capped(&|c| c.z.value = next(c.z.value)), "z");
        assert_eq!(capped(&|c| c.z.draws += 1), "draws of z");
        // Another context or another event is another decision.
        assert!(matches!(
            learner.replay(&0.5, &decision),
            Err(ReplayError::Differs { .. })
        ));
        assert_ne!(named(&|d| d.seed += 1), "");
        let mut other_settings = decision.clone();
        other_settings.settings_version = 3;
        assert_eq!(
            learner.replay(&0.25, &other_settings),
            Err(ReplayError::Settings {
                decision: 3,
                learner: 0
            })
        );
    }
}
