use serde::{Deserialize, Serialize};

use crate::{
    Certificate, ContextError, Loss, NormalizingConstant, NotANumber, OutOfRange, Propensity,
    SampleError, checked_number,
};

/// An action, how probable it was, and all that is needed to make the decision again.
///
/// | symbol   | where                                        |
/// |----------|----------------------------------------------|
/// | a, dP/dμ | `action`, `propensity` and its `density_kind` |
/// | τ, w, γ  | `tau`, `tau_index`, `tau_probability`, `gamma` |
/// | g        | `capped.g`                                   |
/// | β, κ∞, δ | `capped.certificate`, with the draws it took |
/// | z        | `capped.z`, with its number of fresh draws   |
///
/// With (model, settings, seed, event, context) it is made again to the bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision<A> {
    /// Whose generator made it.
    pub event: u64,
    /// What to do.
    pub action: A,
    /// The density of the action, or that it was a point mass.
    pub propensity: Propensity,
    /// Whether the density is given τ, or over all of the grid.
    pub density_kind: DensityKind,
    /// The smoothness played; 1 for explorers without.
    #[serde(deserialize_with = "checked_number::positive")]
    pub tau: f64,
    /// Its place in the grid.
    pub tau_index: u32,
    /// The probability Corral gave it.
    #[serde(deserialize_with = "checked_number::share")]
    pub tau_probability: f64,
    /// The greediness in force.
    #[serde(deserialize_with = "checked_number::positive")]
    pub gamma: f64,
    /// What CappedIGW worked out; the uniform explorer is CappedIGW at τ = 1.
    pub capped: Option<CappedDraw>,
    /// How many draws of μ the action took.
    pub proposals: usize,
    /// The seed of the generator.
    pub seed: u64,
    /// How many batches the model had learned.
    pub model_version: u64,
    /// Which settings were in force.
    pub epoch: u32,
}

/// The parts of CappedIGW's density g/z.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CappedDraw {
    /// g(a; β): what the paper logs, off by the factor κ.
    #[serde(deserialize_with = "checked_number::positive")]
    pub g: f64,
    /// β, and how it was certified.
    pub certificate: Certificate,
    /// z(β), exact or estimated without bias.
    pub z: NormalizingConstant,
}

/// Which density a log holds, where Corral draws τ first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum DensityKind {
    /// Given the τ played: unbiased always.
    #[default]
    Conditional,
    /// Σ wᵢ pᵢ(a) over the grid: weights vary less.
    ///
    /// 1/Σ wᵢ gᵢ/ẑᵢ is not linear in the ẑᵢ, so that it is right only where each zᵢ is exact.
    Marginal,
}

impl<A> Decision<A> {
    /// q/p: the weight of the event for a policy with density `q` at the action; none for a point mass, nor where `q`
    /// is negative, infinite or NaN.
    pub fn weight_of(&self, q: f64) -> Option<f64> {
        let p = self.propensity.density()?.get();
        (0.0 <= q && q.is_finite()).then_some(q / p)
    }

    /// The event to learn from, once the loss is known.
    pub fn observed<'a, X: ?Sized>(&'a self, x: &'a X, loss: Loss) -> Event<'a, X, A> {
        Event {
            x,
            action: &self.action,
            loss,
            tau_index: self.tau_index,
            tau_probability: self.tau_probability,
            propensity: self.propensity,
        }
    }
}

/// A decision with its loss: what the learner learns from.
#[derive(Debug, PartialEq)]
pub struct Event<'a, X: ?Sized, A> {
    /// The context.
    pub x: &'a X,
    /// The action played.
    pub action: &'a A,
    /// Its loss.
    pub loss: Loss,
    /// The place of the τ played.
    pub tau_index: u32,
    /// The probability that τ had when it was drawn.
    pub tau_probability: f64,
    /// The density the action had.
    pub propensity: Propensity,
}

// By hand, since a derive would ask that contexts and actions can be copied, where references do.
impl<X: ?Sized, A> Clone for Event<'_, X, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<X: ?Sized, A> Copy for Event<'_, X, A> {}

/// Why there is no decision.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecideError {
    /// The oracle cannot read the context.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// No action was accepted, or the oracle predicted NaN.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The measure or the oracle no longer tells what it told when the learner was made.
    #[error("the oracle and the measure cannot tell where the predicted loss is least")]
    NoArgmin,
    /// A marginal density was asked for where z is not computed.
    #[error("the marginal density needs every z exactly, and the measure no longer tells it")]
    NotExact,
    /// γ and τ are too large for numbers.
    #[error("gamma or tau is too large: {0}")]
    Density(#[from] OutOfRange),
}

impl From<NotANumber> for DecideError {
    fn from(error: NotANumber) -> Self {
        Self::Sample(error.into())
    }
}
