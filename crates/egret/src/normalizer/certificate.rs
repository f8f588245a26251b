use serde::{Deserialize, Serialize};

use crate::numeric::checked_number;

/// β, and how sure it is that z(β) ∈ [1/κ∞, 1].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The level that f̂ is compared with.
    #[serde(deserialize_with = "checked_number::finite")]
    pub beta: f64,
    /// How z(β) ∈ [1/κ∞, 1] was established.
    pub certified_by: CertifiedBy,
    /// κ∞: 1/z(β) is in [1, κ∞] unless the procedure failed.
    #[serde(deserialize_with = "checked_number::positive")]
    pub kappa_inf: f64,
    /// A bound on the probability that it failed; 0 if z was computed.
    #[serde(deserialize_with = "checked_number::share")]
    pub delta: f64,
    /// How many draws of μ it took.
    pub draws: usize,
}

impl Certificate {
    /// τ = 1 allows only the uniform density: β = 1 makes g = 1 everywhere, without a draw.
    pub(crate) const UNIFORM: Self = Self {
        beta: 1.0,
        certified_by: CertifiedBy::Exact,
        kappa_inf: 1.0,
        delta: 0.0,
        draws: 0,
    };
}

/// Which normalizer found β, and so what the certificate relies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CertifiedBy {
    /// z(β) = 1 by computation: κ = 1.
    Exact,
    /// The paper's Algorithm 3: two betting martingales, bets by online Newton steps.
    Betting,
    /// Two martingales, each a mixture over a grid of bets.
    Mixture,
    /// As many draws as suffice for any f̂ (Theorem 2 of the paper).
    FixedSample,
}
