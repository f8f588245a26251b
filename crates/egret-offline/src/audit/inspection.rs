use egret::{
    Action, Batch, Density, DensityKind, Learner, LossCurve, ReferenceMeasure, ReplayError,
};

use crate::audit::bins::{Binnable, Bins};
use crate::audit::recorded::Audited;
use crate::policy::{PolicySeed, RngPurpose};

/// What events of one model are inspected with.
pub(crate) struct Inspector<'a, X, A: Action> {
    pub(crate) measure: Option<&'a dyn ReferenceMeasure<X, A>>,
    pub(crate) learner: Option<&'a Learner<X, A>>,
    pub(crate) bins: Option<&'a Bins>,
}

/// What an event shows by itself.
pub(crate) struct Inspection {
    /// 1/p; 0 for a point mass.
    pub(crate) inverse_density: f64,
    /// About how large E[(1/p)²] is; none where it must be estimated from earlier events.
    pub(crate) scale: Option<f64>,
    /// What 1/p cannot exceed.
    pub(crate) largest: Option<f64>,
    /// The bin that the action lies in.
    pub(crate) bin: usize,
    /// Whether the masses of the bins are those of the whole μ.
    pub(crate) whole: bool,
    /// The masses of the bins, where they are estimated from draws.
    pub(crate) masses: Option<Vec<f64>>,
    /// f̂ at the action, and its mean over fresh draws of μ.
    pub(crate) fhat: Option<(f64, f64)>,
    pub(crate) proposals: Option<Drawn>,
    pub(crate) contradiction: Option<&'static str>,
    pub(crate) replay: Option<Result<(), ReplayError>>,
}

/// An action that was drawn by rejection.
#[derive(Clone, Copy)]
pub(crate) struct Drawn {
    pub(crate) proposals: f64,
    pub(crate) tau: f64,
    pub(crate) z: f64,
}

pub(crate) struct Buffers<A: Action> {
    prepared: Vec<f64>,
    actions: A::Batch,
    fhats: Vec<f64>,
}

impl<A: Action> Default for Buffers<A> {
    fn default() -> Self {
        Self {
            prepared: Vec::new(),
            actions: A::Batch::default(),
            fhats: Vec::new(),
        }
    }
}

/// Larger numbers are cut off here: a bet on them is won or lost all the same.
pub(crate) const HUGE: f64 = 1e250;

impl<X: Clone + Send + Sync, A: Binnable + PartialEq> Inspector<'_, X, A> {
    /// `place` is the number of events before this one.
    pub(crate) fn inspect(
        &self,
        event: &Audited<X, A>,
        place: u64,
        replay: bool,
        buffers: &mut Buffers<A>,
    ) -> Inspection {
        let decision = &event.decision;
        let density = decision.propensity().density().map(Density::get);
        let draw = decision.draw();
        // A marginal density does not depend on the τ that was drawn, so its scale must not either.
        let conditional = draw.filter(|draw| draw.density_kind == DensityKind::Conditional);
        let bound = conditional.map(|draw| draw.largest_inverse());
        let largest = conditional.map(|draw| {
            if draw.z_computed && draw.is_exact() {
                draw.largest_inverse()
            } else {
                draw.largest_inverse() * draw.tau
            }
        });
        let largest = largest.or(event.largest_inverse);
        let (fhat, masses) = self.draw(event, place, buffers);
        Inspection {
            inverse_density: density.map_or(0.0, |density| (1.0 / density).min(HUGE)),
            scale: bound.map(|bound| bound.clamp(1.0, HUGE)),
            // A computed z has a tolerance.
            largest: largest.map(|largest| (1.000_001 * largest).clamp(1.0, HUGE)),
            bin: self.bins.map_or(0, |bins| bins.of(decision.action())),
            whole: decision.limits().is_none(),
            masses,
            fhat,
            proposals: draw.filter(|draw| !draw.is_exact()).map(|draw| Drawn {
                proposals: draw.proposals as f64,
                tau: draw.tau,
                z: draw.z,
            }),
            contradiction: draw.and_then(|draw| draw.contradiction(density)),
            replay: self
                .learner
                .filter(|_| replay)
                .zip(decision.replayable())
                .map(|(learner, decision)| learner.replay(&event.x, decision)),
        }
    }

    /// f̂ at the action with its mean, and the masses of the bins, from fresh draws of μ where they are needed: of μ restricted
    /// to the limits, where the event had some. The draws are
    /// seeded by the place in the log. The log's own event numbers may repeat, and an error from repeated draws would not
    /// average out.
    fn draw(
        &self,
        event: &Audited<X, A>,
        place: u64,
        buffers: &mut Buffers<A>,
    ) -> (Option<(f64, f64)>, Option<Vec<f64>>) {
        let limits = event.decision.limits();
        let unknown = self
            .bins
            .filter(|bins| bins.masses.is_none() || limits.is_some());
        let part = limits.and_then(|limits| self.measure?.within(limits).ok());
        let measure = match limits {
            Some(_) => part.as_deref(),
            None => self.measure,
        };
        let Some(measure) = measure else {
            return (None, None);
        };
        if self.learner.is_none() && unknown.is_none() {
            return (None, None);
        }
        let seed = PolicySeed {
            seed: SEED,
            event: place,
        };
        let Buffers {
            prepared,
            actions,
            fhats,
        } = buffers;
        actions.clear();
        let mut rng = seed.rng(RngPurpose::Audit, 0);
        measure.sample_stratified(&event.x, DRAWS, &mut rng, actions);
        let masses = unknown.map(|bins| bins.shares::<A>(actions));
        let fhat = self.learner.and_then(|learner| {
            actions.push(event.decision.action());
            let curve = LossCurve::new(learner.oracle(), &event.x, prepared).ok()?;
            curve.predict(actions, fhats).ok()?;
            let (own, others) = fhats.split_last()?;
            let mean = others.iter().sum::<f64>() / others.len() as f64;
            Some((*own, mean))
        });
        (fhat, masses)
    }
}

/// How many draws of μ estimate E_μ f̂ at each event.
const DRAWS: usize = 32;

/// The seed of these draws: any will do that is not the log's.
const SEED: u64 = 0x61_7564_6974;
