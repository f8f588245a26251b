use egret::{
    Action, AnyLearner, Batch, Blueprint, CertifiedBy, Decision, Explorer, Igw, Learner, LossCurve,
    Measure, Model, ModelError, RegressionOracle, Settings,
};

use crate::target::{Chance, Target, TargetError, TargetWork, Use};

/// CappedIGW with a model's f̂, at its own settings or at others: see [`with_settings`].
///
/// q(a) = E[g(a; β)/z(β)], where β, and under Corral τ, are drawn anew for each decision. So q̂ is a mean over fresh
/// decisions. Where z is computed each tells g(a)/z. Elsewhere 1/z has to be estimated: given β the rejection sampler takes a
/// geometric number of proposals K with mean τ/z, and g(a; β)·K/τ is unbiased. (1/ẑ would not be.)
///
/// | z        | a decision tells | bound on q̂ | repetitions          |
/// |----------|------------------|-------------|----------------------|
/// | computed | g/z              | τ           | 1 for one τ, else 16 |
/// | drawn    | g·K/τ            | none        | 16                   |
pub struct CappedTarget<'a, X: ?Sized, A: Action> {
    learner: &'a Learner<X, A>,
    repetitions: usize,
    largest: Option<f64>,
}

/// K/τ has a relative error of 1 at the most: a mean over so many, of ¼.
const REPETITIONS: usize = 16;

impl<'a, X: ?Sized, A: Action> CappedTarget<'a, X, A> {
    /// Plays as this learner would. Refuses explorers that play point masses, or that tell their density nowhere but
    /// at what they played.
    pub fn new(learner: &'a Learner<X, A>) -> Result<Self, TargetError> {
        match learner.settings().explorer {
            Explorer::CappedIgw(_) | Explorer::Uniform => {}
            Explorer::SmoothIgw => {
                return Err(TargetError::PointMass {
                    explorer: "SmoothIGW",
                });
            }
            Explorer::EpsilonGreedy { .. } => {
                return Err(TargetError::PointMass {
                    explorer: "epsilon-greedy",
                });
            }
            Explorer::SquareCb => return Err(TargetError::Untold),
        }
        let taus = learner.corral().taus();
        let exact = learner.computes_z();
        Ok(Self {
            learner,
            repetitions: if exact && taus.len() == 1 {
                1
            } else {
                REPETITIONS
            },
            // Computed, z is within 1e-8 of 1.
            largest: exact.then(|| 1.000_001 * taus.iter().copied().fold(1.0, f64::max)),
        })
    }

    /// With the mean over so many decisions for each q̂; at least one.
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

impl<X: ?Sized, A: Action> Target<X, A> for CappedTarget<'_, X, A> {
    fn density(
        &self,
        chance: Chance,
        x: &X,
        action: &A,
        work: &mut TargetWork<A>,
    ) -> Result<f64, TargetError> {
        let curve = LossCurve::new(self.learner.oracle(), x, &mut work.prepared)?;
        work.actions.clear();
        work.actions.push(action);
        curve.predict(&work.actions, &mut work.fhats)?;
        let fhat = work.fhats[0];
        let mut sum = 0.0;
        for repetition in 0..self.repetitions {
            let seed = chance.seed_for(Use::Density, repetition as u64);
            let decision = self
                .learner
                .decide_seeded(seed, chance.event, x, &mut work.decision)?;
            // The uniform explorer is CappedIGW at τ = 1, and every learner of this target is one of the two.
            let beta = decision
                .capped_igw
                .map_or(1.0, |capped| capped.certificate.beta);
            let igw = Igw::new(decision.tau, decision.gamma)?;
            sum += igw.weight(fhat, beta) * kappa(&decision);
        }
        Ok(sum / self.repetitions as f64)
    }

    fn draw(
        &self,
        chance: Chance,
        x: &X,
        n: usize,
        work: &mut TargetWork<A>,
        out: &mut A::Batch,
    ) -> Result<(), TargetError> {
        for repetition in 0..n {
            let seed = chance.seed_for(Use::Draw, repetition as u64);
            let decision = self
                .learner
                .decide_seeded(seed, chance.event, x, &mut work.decision)?;
            out.push(&decision.action);
        }
        Ok(())
    }

    fn largest_density(&self) -> Option<f64> {
        self.largest
    }

    fn name(&self) -> String {
        let settings = self.learner.settings();
        if settings.explorer == Explorer::Uniform {
            return "uniform".to_owned();
        }
        let taus = self.learner.corral().taus();
        let gamma = settings
            .gamma
            .gamma(self.learner.batches_learned(), taus[0]);
        match taus {
            [tau] => format!("CappedIGW, tau {tau}, gamma {gamma}"),
            taus => format!("CappedIGW, {} values of tau, gamma {gamma}", taus.len()),
        }
    }
}

/// A learner with the model's action space and all that its oracle has learned, at other settings.
///
/// It counts as having learned no batch: give γ as a constant. Corral starts anew; give one τ.
pub fn with_settings(model: &Model, settings: Settings) -> Result<AnyLearner, ModelError> {
    let blueprint: &Blueprint = model.blueprint();
    Ok(match (&model.learner, blueprint.space.measure()?) {
        (AnyLearner::Number(learner), Measure::Number(measure)) => {
            let oracle = copied(learner.oracle(), blueprint.number_oracle()?)?;
            AnyLearner::Number(Learner::new(measure, oracle, settings)?)
        }
        (AnyLearner::Vector(learner), Measure::Vector(measure)) => {
            let oracle = copied(learner.oracle(), blueprint.vector_oracle()?)?;
            AnyLearner::Vector(Learner::new(measure, oracle, settings)?)
        }
        (AnyLearner::Item(learner), Measure::Item(measure)) => {
            let oracle = copied(learner.oracle(), blueprint.item_oracle()?)?;
            AnyLearner::Item(Learner::new(measure, oracle, settings)?)
        }
        _ => unreachable!("a model's learner is of its space"),
    })
}

/// An oracle of the same kind that has learned the same.
fn copied<A: Action>(
    from: &dyn RegressionOracle<egret::Context, A>,
    mut to: Box<dyn RegressionOracle<egret::Context, A>>,
) -> Result<Box<dyn RegressionOracle<egret::Context, A>>, ModelError> {
    to.load(&from.save())?;
    Ok(to)
}
