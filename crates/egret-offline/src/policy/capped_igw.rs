use egret::{
    Action, Batch, CertifiedBy, DecideError, Decision, Explorer, Igw, Learner, Limits, LossCurve,
};

use crate::policy::{Policy, PolicyBuffers, PolicyError, PolicySeed, RngPurpose};

/// CappedIGW with a model's f̂. For settings other than the model's own, see [`Model::under`](egret::Model::under).
///
/// Where the explorer is [`Zoom`](egret::Zoom), q is known at every action. With CappedIGW, q(a) = E[g(a; β)/z(β)]: each decision draws β anew, and with Corral τ too. So q̂ is a mean over fresh decisions. Where z
/// is computed, each decision gives g(a)/z. Where it is not, 1/z must be estimated: given β, the rejection sampler takes K
/// proposals, geometric with mean τ/z, so g(a; β)·K/τ is unbiased. (1/ẑ would not be.)
///
/// | z         | one decision gives | bound on q̂ | repetitions          |
/// |-----------|--------------------|-------------|----------------------|
/// | computed  | g/z                | τ           | 1 for one τ, else 16 |
/// | estimated | g·K/τ              | none        | 16                   |
pub struct CappedIgwPolicy<'a, X: ?Sized, A: Action> {
    learner: &'a Learner<X, A>,
    repetitions: usize,
    largest: Option<f64>,
    limits: Option<Limits>,
}

/// The relative error of K/τ is at most 1; that of a mean over 16 is at most ¼.
const REPETITIONS: usize = 16;

impl<'a, X: ?Sized, A: Action> CappedIgwPolicy<'a, X, A> {
    /// Plays as this learner would. Refuses an explorer that plays point masses, or that knows its density only at the
    /// action it played.
    pub fn new(learner: &'a Learner<X, A>) -> Result<Self, PolicyError> {
        match learner.explorer() {
            Explorer::CappedIgw(_)
            | Explorer::Uniform
            | Explorer::Zoom(_)
            | Explorer::Auto { .. } => {}
            Explorer::SmoothIgw => {
                return Err(PolicyError::PointMass {
                    explorer: "SmoothIGW",
                });
            }
            Explorer::EpsilonGreedy { .. } => {
                return Err(PolicyError::PointMass {
                    explorer: "epsilon-greedy",
                });
            }
            Explorer::SquareCb => return Err(PolicyError::Untold),
        }
        let taus = learner.corral().taus();
        let exact = learner.computes_z();
        let known = matches!(learner.explorer(), Explorer::Zoom(_));
        Ok(Self {
            learner,
            repetitions: if known || (exact && taus.len() == 1) {
                1
            } else {
                REPETITIONS
            },
            // A computed z is within 1e-8 of 1.
            largest: exact.then(|| 1.000_001 * taus.iter().copied().fold(1.0, f64::max)),
            limits: None,
        })
    }

    fn decide(&self, seed: u64, event: u64, x: &X) -> Result<Decision<A>, DecideError> {
        let limits = self.limits.as_ref();
        self.learner.decide_seeded(seed, event, x, limits)
    }

    /// Takes the mean over so many decisions for each q̂, at least one.
    pub fn with_repetitions(mut self, repetitions: usize) -> Self {
        self.repetitions = repetitions.max(1);
        self
    }
}

/// The factor of g that makes it a density, unbiased given β.
fn kappa<A>(decision: &Decision<A>) -> f64 {
    match decision.capped_igw {
        Some(capped) if capped.certificate.certified_by == CertifiedBy::Exact => {
            1.0 / capped.z.value
        }
        _ => decision.proposals as f64 / decision.tau,
    }
}

impl<X: ?Sized, A: Action> Policy<X, A> for CappedIgwPolicy<'_, X, A> {
    fn density(
        &self,
        seed: PolicySeed,
        x: &X,
        action: &A,
        buffers: &mut PolicyBuffers<A>,
    ) -> Result<f64, PolicyError> {
        if let Some(density) = self.learner.density(x, action, self.limits.as_ref())? {
            return Ok(density);
        }
        let curve = LossCurve::new(self.learner.oracle(), x, &mut buffers.prepared)?;
        buffers.actions.clear();
        buffers.actions.push(action);
        curve.predict(&buffers.actions, &mut buffers.fhats)?;
        let fhat = buffers.fhats[0];
        let mut sum = 0.0;
        for repetition in 0..self.repetitions {
            let decision_seed = seed.seed_for(RngPurpose::Density, repetition as u64);
            let decision = self.decide(decision_seed, seed.event, x)?;
            // `new` allows CappedIGW and the uniform explorer, which is CappedIGW at τ = 1.
            let (beta, uniform) = decision.capped_igw.map_or((1.0, 0.0), |capped| {
                (capped.certificate.beta, capped.uniform)
            });
            let igw = Igw::new(decision.tau, decision.gamma)?;
            sum += (1.0 - uniform) * igw.weight(fhat, beta) * kappa(&decision) + uniform;
        }
        Ok(sum / self.repetitions as f64)
    }

    fn draw(
        &self,
        seed: PolicySeed,
        x: &X,
        n: usize,
        _: &mut PolicyBuffers<A>,
        out: &mut A::Batch,
    ) -> Result<(), PolicyError> {
        for repetition in 0..n {
            let decision_seed = seed.seed_for(RngPurpose::Draw, repetition as u64);
            let decision = self.decide(decision_seed, seed.event, x)?;
            out.push(&decision.action);
        }
        Ok(())
    }

    fn within(&self, limits: &Limits) -> Result<Box<dyn Policy<X, A> + '_>, PolicyError> {
        Ok(Box::new(Self {
            limits: Some(limits.clone()),
            ..*self
        }))
    }

    fn largest_density(&self) -> Option<f64> {
        self.largest
    }

    fn name(&self) -> String {
        let settings = self.learner.settings();
        match settings.explorer {
            Explorer::Uniform => return "uniform".to_owned(),
            _ if matches!(self.learner.explorer(), Explorer::Zoom(_)) => return "Zoom".to_owned(),
            _ => {}
        }
        let taus = self.learner.corral().taus();
        let gamma = settings.gamma.gamma(&self.learner.learned(), taus[0]);
        match taus {
            [tau] => format!("CappedIGW, tau {tau}, gamma {gamma}"),
            taus => format!("CappedIGW, {} values of tau, gamma {gamma}", taus.len()),
        }
    }
}
