//! Finding β, the level that predicted losses are compared with.
//!
//! z(β) = ∫ g(a; β) dμ ∈ [1/κ∞, 1],  g(a; β) = τ / (1 + γ (f̂(x, a) − β)₊)
//!
//! z grows with β, so this is a search in one dimension; the difficulty is that z can often only be sampled.
//!
//! | where                                         | normalizer                                              |
//! |-----------------------------------------------|---------------------------------------------------------|
//! | z can be computed                             | `exact/`: solves z(β) = 1, without draws                |
//! | z is sampled                                  | [`MixtureMartingale`], the default                      |
//! | the paper's Algorithm 3                       | [`BettingMartingale`]                                   |
//! | a number of draws fixed in advance            | [`FixedSample`]                                         |
//!
//! Your own implements [`Normalizer`]. Each returns a [`Certificate`]: β, and how sure it is.

pub(crate) mod certificate;
pub(crate) mod exact;
pub(crate) mod fixed_sample;
pub(crate) mod martingale;

pub use certificate::{Certificate, CertifiedBy};
pub use fixed_sample::FixedSample;
pub use martingale::betting::BettingMartingale;
pub use martingale::mixture::MixtureMartingale;

use crate::numeric::{EventRng, OutOfRange};
use crate::oracle::NanPrediction;
use crate::sampling::{Igw, SampleError};

/// Finds β with z(β) = ∫ g(a; β) dμ in [1/κ∞, 1], failing with probability at most δ.
///
/// It sees only predictions f̂(x, a) for a ∼ μ, no context and no action. Plug in your own with
/// [`Learner::with_normalizer`](crate::Learner::with_normalizer).
pub trait Normalizer: Send + Sync {
    /// Draws as often as needed and returns β with its certificate.
    fn certify(&self, igw: &Igw, draws: &mut Draws<'_>) -> Result<Certificate, SampleError>;
}

/// κ∞ and δ: what a normalizer guarantees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    kappa_inf: f64,
    delta: f64,
}

impl Tolerance {
    /// z(β) ∈ [1/κ∞, 1] with probability at least 1 − δ; κ∞ ∈ [1.05, 10⁶], δ ∈ [10⁻⁹, 1).
    ///
    /// The number of draws grows as 1/(κ∞ − 1)²: for κ∞ closer to 1 use exact normalization. Tails below 10⁻⁹ are not
    /// computed precisely enough to guarantee them.
    pub fn new(kappa_inf: f64, delta: f64) -> Result<Self, OutOfRange> {
        OutOfRange::unless(
            (1.05..=1e6).contains(&kappa_inf),
            "kappa_inf",
            kappa_inf,
            "[1.05, 1e6]",
        )?;
        OutOfRange::unless((1e-9..1.0).contains(&delta), "delta", delta, "[1e-9, 1)")?;
        Ok(Self { kappa_inf, delta })
    }

    /// κ∞.
    pub fn kappa_inf(&self) -> f64 {
        self.kappa_inf
    }

    /// δ.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// The same κ∞ at another δ.
    pub(crate) fn with_delta(self, delta: f64) -> Self {
        Self { delta, ..self }
    }

    /// The certificate for a β found under this tolerance.
    pub(crate) fn certificate(
        &self,
        beta: f64,
        certified_by: CertifiedBy,
        draws: usize,
    ) -> Certificate {
        Certificate {
            beta,
            certified_by,
            kappa_inf: self.kappa_inf,
            delta: self.delta,
            draws,
        }
    }
}

/// The certificate at τ = 1; none for other τ.
pub(crate) fn uniform_certificate(igw: &Igw) -> Option<Certificate> {
    (igw.tau() == 1.0).then_some(Certificate::UNIFORM)
}

/// f̂(x, a) for independent draws a ∼ μ: those so far, and more on demand.
pub struct Draws<'a> {
    pub(crate) buffers: &'a mut DrawBuffers,
    rng: &'a mut EventRng,
    more: &'a mut MoreDraws<'a>,
    most: usize,
}

/// Appends the given number of fresh draws of f̂(x, a).
pub type MoreDraws<'a> =
    dyn FnMut(usize, &mut EventRng, &mut Vec<f64>) -> Result<(), NanPrediction> + 'a;

/// The buffers of [`Draws`]; reuse them from one search to the next.
#[derive(Debug, Clone, Default)]
pub struct DrawBuffers {
    pub(crate) fhats: Vec<f64>,
    /// The bets of each side, for a normalizer whose bets change.
    pub(crate) bets: [Vec<f64>; 2],
}

impl<'a> Draws<'a> {
    /// Starts with no draws; `more` appends them.
    pub fn new(
        buffers: &'a mut DrawBuffers,
        rng: &'a mut EventRng,
        more: &'a mut MoreDraws<'a>,
    ) -> Self {
        buffers.fhats.clear();
        Self {
            buffers,
            rng,
            more,
            most: usize::MAX,
        }
    }

    /// Allows at most `most` draws; more is an error.
    pub fn within(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Draws until there are at least `n`.
    pub fn extend_to(&mut self, n: usize) -> Result<(), SampleError> {
        if self.most < n {
            return Err(SampleError::DrawsSpent {
                draws: n,
                most: self.most,
            });
        }
        let fhats = &mut self.buffers.fhats;
        let missing = n.saturating_sub(fhats.len());
        if 0 < missing {
            (self.more)(missing, self.rng, fhats)?;
        }
        Ok(())
    }

    /// The draws so far.
    pub fn seen(&self) -> &[f64] {
        &self.buffers.fhats
    }

    /// The draws so far, the generator and a buffer, for a normalizer that draws random numbers itself.
    pub(crate) fn seen_and_rng(&mut self) -> (&[f64], &mut EventRng, &mut Vec<f64>) {
        let DrawBuffers { fhats, bets } = &mut *self.buffers;
        (fhats, self.rng, &mut bets[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::Stream;

    #[test]
    fn draws_are_made_once_and_within_the_budget() {
        let (mut buffers, mut calls) = (DrawBuffers::default(), Vec::new());
        let mut rng = EventRng::new(1, 1, Stream::Beta);
        let mut more = |n: usize, _: &mut EventRng, out: &mut Vec<f64>| {
            calls.push(n);
            out.resize(out.len() + n, 0.5);
            Ok(())
        };
        let mut draws = Draws::new(&mut buffers, &mut rng, &mut more).within(10);
        for (wanted, seen) in [(4, 4), (2, 4), (4, 4), (10, 10)] {
            assert_eq!(draws.extend_to(wanted), Ok(()));
            assert_eq!(draws.seen().len(), seen);
        }
        let spent = SampleError::DrawsSpent {
            draws: 11,
            most: 10,
        };
        assert_eq!(draws.extend_to(11), Err(spent));
        assert_eq!(calls, [4, 6]);
    }
}
