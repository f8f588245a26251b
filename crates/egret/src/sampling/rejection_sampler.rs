use crate::event::{Action, Batch};
use crate::numeric::EventRng;
use crate::oracle::NanPrediction;
use crate::sampling::{
    Igw,
    proposer::{Proposals, Proposer},
};

/// Draws a ∼ μ and accepts with probability g(a; β)/τ (Algorithm 4 of the paper).
///
/// The action then has density g/z. It takes κτ proposals on average and needs no z. A spent budget is an error; a
/// fallback action would not have the stated density.
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
        // At least τ proposals are needed on average, and the rest of a batch is wasted. So a batch is τ/4, rounded up
        // to what the generator makes at once.
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
    // Multiplied out, so that there is no division and no branch inside a block.
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

/// Why no action was drawn.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// The budget of proposals is spent: raise it, or lower τ.
    #[error("no action was accepted in {proposals} proposals: raise the budget or lower tau")]
    BudgetSpent {
        /// How many there were.
        proposals: usize,
    },
    /// β or ẑ needs more draws than allowed: lower τ, or raise κ∞ or ε.
    #[error(
        "beta or z needs {draws} draws, at most {most} are allowed: lower tau, or raise kappa_inf or z_error"
    )]
    DrawsSpent {
        /// How many are needed.
        draws: usize,
        /// How many are allowed.
        most: usize,
    },
    /// The oracle's break points are incomplete: z cannot be computed.
    #[error(
        "the predicted loss is not smooth between the oracle's break points: correct them, or choose the normalization \
         Mixture"
    )]
    NotSmooth,
    /// The oracle's break points are incomplete: the action would not have the stated density.
    #[error(
        "the predicted loss is not monotone between the oracle's break points: correct them, or choose the normalization \
         Mixture"
    )]
    NotMonotone,
    /// The oracle predicted NaN.
    #[error(transparent)]
    NanPrediction(#[from] NanPrediction),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::Stream;

    #[test]
    fn the_first_accepted_is_the_first() {
        let (gamma, beta, n) = (1e4, 0.05, 300);
        for trial in 0..200 {
            let mut rng = EventRng::new(9, trial, Stream::World);
            let (mut fhats, mut units) = (vec![0.0; n], vec![0.0; n]);
            rng.fill_unit(&mut fhats);
            rng.fill_unit(&mut units);
            let accepts = |i: &usize| units[*i] < 1.0 / (1.0 + gamma * (fhats[*i] - beta).max(0.0));
            assert_eq!(
                first_accepted(gamma, beta, &fhats, &units),
                (0..n).find(accepts)
            );
        }
        assert_eq!(first_accepted(gamma, beta, &[0.9; 70], &[0.5; 70]), None);
    }
}
