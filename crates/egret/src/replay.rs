use crate::{Action, DecideError, Decision, Learner, Propensity, Workspace};

impl<X: ?Sized, A: Action + PartialEq> Learner<X, A> {
    /// Makes a past decision again, from its event and seed, and compares every field to the bit.
    ///
    /// The learner has to hold the model that made it: see [`load`](Self::load).
    pub fn replay(&self, x: &X, decision: &Decision<A>) -> Result<(), ReplayError> {
        if decision.model_version != self.model_version() {
            return Err(ReplayError::Model {
                decision: decision.model_version,
                learner: self.model_version(),
            });
        }
        if decision.epoch != self.settings().epoch {
            return Err(ReplayError::Epoch {
                decision: decision.epoch,
                learner: self.settings().epoch,
            });
        }
        let mut workspace = Workspace::default();
        let again = self.decide_seeded(decision.seed, decision.event, x, &mut workspace)?;
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
        Propensity::Atom => None,
    };
    let capped = match (&a.capped, &b.capped) {
        (None, None) => None,
        (Some(a), Some(b)) => {
            let (a_proof, b_proof) = (&a.certificate, &b.certificate);
            [
                ("g", bits(a.g, b.g)),
                ("beta", bits(a_proof.beta, b_proof.beta)),
                ("guarantee", a_proof.guarantee == b_proof.guarantee),
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
            ("density_kind", a.density_kind == b.density_kind),
        ]
        .into_iter()
        .find(|(_, same)| !same)
    })
    .map(|(field, _)| field)
}

/// Why a decision was not made again.
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
    #[error("the decision was made in epoch {decision}, the learner is in epoch {learner}")]
    Epoch {
        /// The decision's.
        decision: u32,
        /// The learner's.
        learner: u32,
    },
    /// It comes out otherwise.
    #[error("made again, the decision differs in {field}")]
    Differs {
        /// The first that differs.
        field: &'static str,
    },
    /// It cannot be made at all.
    #[error(transparent)]
    Decide(#[from] DecideError),
}
