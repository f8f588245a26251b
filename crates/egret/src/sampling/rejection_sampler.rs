use crate::event::{Action, Batch};
use crate::numeric::EventRng;
use crate::oracle::NanPrediction;
use crate::sampling::{
    Igw,
    proposer::{Proposals, Proposer},
};

/// Draws a ∼ μ and accepts with probability g(a; β)/τ (Algorithm 4 of the paper).
///
/// The action then has density g/z; it takes κτ proposals on average, and no z is needed. When
/// the budget is spent there is an error, never an action: which action would come next depends on
/// how long it took.
pub(crate) struct RejectionSampler {
    /// The most proposals before giving up.
    pub budget: usize,
}

/// An accepted proposal.
pub(crate) struct Accepted<A> {
    pub action: A,
    pub fhat: f64,
    pub proposals: usize,
}

impl RejectionSampler {
    pub(crate) fn sample<X: ?Sized, A: Action>(
        &self,
        igw: &Igw,
        beta: f64,
        proposer: &Proposer<'_, X, A>,
        rng: &mut EventRng,
        work: &mut Proposals<A>,
    ) -> Result<Accepted<A>, SampleError> {
        // It takes τ proposals or more on average, and what is left of a batch is lost work: a batch is a quarter of
        // that, rounded up to what the generator makes at once.
        let batch = ((0.25 * igw.tau()) as usize)
            .next_multiple_of(32)
            .clamp(32, 512);
        let mut proposals = 0;
        while proposals < self.budget {
            let n = batch.min(self.budget - proposals);
            proposer.draw(n, rng, work)?;
            work.units.resize(n, 0.0);
            rng.fill_unit(&mut work.units);
            if let Some(index) = first_accepted(igw.gamma(), beta, &work.fhats, &work.units) {
                return Ok(Accepted {
                    action: work.actions.get(index),
                    fhat: work.fhats[index],
                    proposals: proposals + index + 1,
                });
            }
            proposals += n;
        }
        Err(SampleError::BudgetSpent { proposals })
    }
}

/// The first i with uᵢ < 1/(1 + γ(f̂ᵢ − β)₊).
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn first_accepted(gamma: f64, beta: f64, fhats: &[f64], units: &[f64]) -> Option<usize> {
    // Multiplied out there is no division, and the test of a block has no branch inside.
    let accepts = |fhat: f64, unit: f64| unit * (1.0 + gamma * (fhat - beta).max(0.0)) < 1.0;
    const BLOCK: usize = 32;
    for (block, (fhats, units)) in fhats.chunks(BLOCK).zip(units.chunks(BLOCK)).enumerate() {
        let mut any = false;
        for (&fhat, &unit) in fhats.iter().zip(units) {
            any |= accepts(fhat, unit);
        }
        if any {
            let inside = fhats
                .iter()
                .zip(units)
                .position(|(&fhat, &unit)| accepts(fhat, unit));
            return inside.map(|index| block * BLOCK + index);
        }
    }
    None
}

/// Why there is no action.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// Too unlucky, or the budget is too small for τ: raise the budget or lower τ.
    #[error("no action accepted in {proposals} proposals, raise the budget or lower tau")]
    BudgetSpent {
        /// How many there were.
        proposals: usize,
    },
    /// β or ẑ wants more draws than there may be: lower τ, or raise κ∞ or ε.
    #[error(
        "beta or z wants {draws} draws where {most} is the most, lower tau or raise kappa_inf or z_error"
    )]
    DrawsSpent {
        /// How many are wanted.
        draws: usize,
        /// How many there may be.
        most: usize,
    },
    /// The oracle's break points do not tell all: z cannot be computed.
    #[error("the predicted loss is not smooth between the oracle's break points, take Mixture")]
    NotSmooth,
    /// The oracle's break points do not tell all: the action would not have its density.
    #[error("the predicted loss is not monotone between the oracle's break points, take Mixture")]
    NotMonotone,
    /// The oracle predicted NaN.
    #[error(transparent)]
    NanPrediction(#[from] NanPrediction),
}
