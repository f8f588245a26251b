use serde::{Deserialize, Serialize};

use crate::event::{ContextError, Limits, LimitsError, Loss, Propensity};
use crate::normalizer::Certificate;
use crate::numeric::{OutOfRange, checked_number};
use crate::oracle::NanPrediction;
use crate::sampling::{NormalizingConstant, SampleError};

/// An action, how probable it was, and everything needed to replay the decision.
///
/// | symbol   | where                                        |
/// |----------|----------------------------------------------|
/// | a, dP/dμ | `action`, `propensity` and its `density_kind` |
/// | τ, w, γ  | `tau`, `tau_index`, `tau_probability`, `gamma` |
/// | g, ε     | `capped_igw.g`, `capped_igw.uniform`             |
/// | β, κ∞, δ | `capped_igw.certificate`, with the draws it took |
/// | z        | `capped_igw.z`, with its number of fresh draws   |
/// | max 1/p  | `largest_inverse_density`                        |
///
/// The same (model, settings, seed, event, context) gives the same decision bit for bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision<A> {
    /// The number of the event; it selects the random numbers.
    pub event: u64,
    /// What to do.
    pub action: A,
    /// What the request allowed; none if all. The density is against μ restricted to it.
    pub limits: Option<Limits>,
    /// The density of the action, or a point mass.
    pub propensity: Propensity,
    /// Whether the density is given τ, or marginal over the grid of τ.
    pub density_kind: DensityKind,
    /// The τ played; 1 for explorers without τ.
    #[serde(deserialize_with = "checked_number::positive")]
    pub tau: f64,
    /// The index of τ in the grid.
    pub tau_index: u32,
    /// The probability that Corral gave τ.
    #[serde(deserialize_with = "checked_number::share")]
    pub tau_probability: f64,
    /// The γ in force.
    #[serde(deserialize_with = "checked_number::positive")]
    pub gamma: f64,
    /// The parts of the density; none for other explorers. Uniform exploration is CappedIGW at τ = 1.
    pub capped_igw: Option<CappedDraw>,
    /// An upper bound on 1/p over all actions, with p the density stated: of the same kind, and with the same z. None for the
    /// greedy explorers. In CappedIGW f̂ is taken to reach 1, but on a catalogue that is summed whole the largest f̂ is known.
    #[serde(deserialize_with = "checked_number::positive_or_none")]
    pub largest_inverse_density: Option<f64>,
    /// How many draws of μ the action took.
    pub proposals: usize,
    /// The seed of the generator.
    pub seed: u64,
    /// How many batches the model had learned.
    pub batches_learned: u64,
    /// Which settings were in force.
    pub settings_version: u32,
}

/// The parts of CappedIGW's density (1 − ε)·g/z + ε.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CappedDraw {
    /// g(a; β). The paper logs this; it is off by the factor κ = 1/z.
    #[serde(deserialize_with = "checked_number::positive")]
    pub g: f64,
    /// ε, the share of decisions drawn from μ; 0 where z is estimated.
    #[serde(deserialize_with = "checked_number::share")]
    pub uniform: f64,
    /// β, and how it was certified.
    pub certificate: Certificate,
    /// z(β), exact or estimated without bias.
    pub z: NormalizingConstant,
}

/// Which density is stated, since τ is drawn before the action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum DensityKind {
    /// The density given the τ played: weights are always unbiased.
    #[default]
    Conditional,
    /// Σ wᵢ pᵢ(a) over the grid: weights vary less.
    ///
    /// Only where each zᵢ is exact: 1/Σ wᵢ gᵢ/ẑᵢ is not linear in the ẑᵢ, so estimates would bias the weights.
    Marginal,
}

impl<A> Decision<A> {
    /// q/p, the importance weight for a policy with density `q` at the action. None for a point mass, and none if `q` is
    /// negative, infinite or NaN.
    pub fn importance_weight(&self, q: f64) -> Option<f64> {
        let p = self.propensity.density()?.get();
        (0.0 <= q && q.is_finite()).then_some(q / p)
    }

    /// The same decision with the action converted.
    pub fn map_action<B>(self, into: impl FnOnce(A) -> B) -> Decision<B> {
        Decision {
            event: self.event,
            action: into(self.action),
            limits: self.limits,
            propensity: self.propensity,
            density_kind: self.density_kind,
            tau: self.tau,
            tau_index: self.tau_index,
            tau_probability: self.tau_probability,
            gamma: self.gamma,
            capped_igw: self.capped_igw,
            largest_inverse_density: self.largest_inverse_density,
            proposals: self.proposals,
            seed: self.seed,
            batches_learned: self.batches_learned,
            settings_version: self.settings_version,
        }
    }

    /// The event to learn from, once the loss is known. The context may be a value or a reference.
    pub fn observed<X>(&self, x: X, loss: Loss) -> Observed<X, A>
    where
        A: Clone,
    {
        Observed {
            x,
            action: self.action.clone(),
            limits: self.limits.clone(),
            loss,
            propensity: self.propensity,
            tau: Some(TauDraw {
                index: self.tau_index,
                probability: self.tau_probability,
            }),
        }
    }
}

/// A decision with its loss: what a learner learns from, online or from a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed<X, A> {
    /// The context, or a reference to it.
    pub x: X,
    /// The action played.
    pub action: A,
    /// What the request allowed; none if all.
    pub limits: Option<Limits>,
    /// Its loss.
    pub loss: Loss,
    /// The density the action had, against μ restricted to the limits.
    pub propensity: Propensity,
    /// How τ was drawn; none if a log does not say. Corral then learns nothing from the event.
    pub tau: Option<TauDraw>,
}

/// Which τ of Corral's grid a decision played.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TauDraw {
    /// Its place in the grid.
    pub index: u32,
    /// The probability it had when it was drawn.
    pub probability: f64,
}

/// Why no decision was made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecideError {
    /// The oracle cannot read the context.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// No action was accepted, or the oracle predicted NaN.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The oracle or the measure no longer gives a minimum, as it did when the learner was made.
    #[error("the oracle and the measure no longer say where the predicted loss is least")]
    NoArgmin,
    /// A marginal density was asked for, but z cannot be computed.
    #[error(
        "the marginal density needs an exact z for every tau, and the oracle or measure no longer allows it"
    )]
    NotExact,
    /// An action is of another kind or length than the model's, or outside its space.
    #[error("{0}")]
    Action(String),
    /// The limits of the request leave no action, or are not known for this space.
    #[error(transparent)]
    Limits(#[from] LimitsError),
    /// γ or τ is too large for an `f64`.
    #[error("gamma or tau is too large: {0}")]
    Density(#[from] OutOfRange),
}

impl From<NanPrediction> for DecideError {
    fn from(error: NanPrediction) -> Self {
        Self::Sample(error.into())
    }
}
